/*
 * The inside of a peer table, for table*.c: segments, buckets, slots.
 *
 * A segment has all fingerprints that begin with the same `depth` bits; the
 * directory finds it by them. Of the bits that follow, a table keeps the first
 * local_bits as a number, `local`. Scaled to the number of buckets it chooses
 * one, so buckets are in the order of fingerprints and need not be a power of
 * two; its last tag_bits are the tag. As a bucket spans at most 2^tag_bits of
 * these numbers, no two of them have the same bucket and tag.
 *
 * A line is 31 slots of 16 bits, and the number of the line of the pool that
 * the bucket goes on in. A slot is 0, or tag << code_bits | peer + 1. Of a list
 * that is narrower than that, the missing bits of the tag are 0, and the entry
 * is in each bucket that keys with its fingerprint have. So a lookup compares
 * tags whole; and, as segment->narrow says, cut to what narrower lists have.
 *
 * A slot that several entries of one peer would make stands for them once or
 * twice: twice only so that most removals need not ask the list what is left.
 * More would let a list of many equal fingerprints make a bucket slow for
 * everybody.
 *
 * Words of a line are stored with release and loaded with acquire, which are
 * plain moves on x86. A lookup misses nothing that is there all the while:
 * - A slot keeps its entry until that goes; there is no other move than to a
 *   new segment, which has all entries when the directory comes to name it.
 * - A line of the pool has its first entry before its number is stored.
 * - What narrower lists there are is known before they have entries, and
 *   forgotten after their last one went; `version` grows in between, and a
 *   lookup that sees it grow starts again.
 */
#ifndef SCD_TABLE_STATE_H
#define SCD_TABLE_STATE_H

#include "codec/filter/table_engine.h"
#include "codec/table.h"

enum {
	SCD__TABLE_SLOTS = 31,
	SCD__TABLE_LINK = 31,    /* the place behind the slots */
	SCD__TABLE_TWINS = 2,    /* slots of one value and bucket, at most */
	SCD__TABLE_POOLS = 12,   /* each twice as large as the one before */
	SCD__TABLE_POOL_LOG = 4, /* lines of the first */
	SCD__TABLE_AHEAD = 16,   /* memory accesses under way at a time */
	SCD__TABLE_FETCHED = 64, /* lines that a change fetches in a row */
};

/* What readers may still use, until its epoch is over. */
struct scd__table_retired {
	struct scd__table_retired *next;
	uint64_t epoch;
	void (*release)(struct scd_table *table,
			struct scd__table_retired *item);
};

/* In front of segments that were made together, with all their buckets: so much
 * memory that it may be laid onto huge pages. The last one frees it. */
struct scd__table_slab {
	_Alignas(64) void *memory;
	size_t bytes;
	uint64_t nsegments; /* that are still there */
};

/* In front of its buckets, aligned as these are. */
struct scd__table_segment {
	_Alignas(64) uint64_t nbuckets;
	unsigned depth;
	unsigned local_bits;
	uint64_t prefix; /* the first `depth` bits */
	uint64_t narrow; /* bit d: there are lists of d bits of the tag */
	struct scd__table_line *pools[SCD__TABLE_POOLS];

	/* The writer's alone, in lines of their own. */
	_Alignas(64) uint64_t used; /* slots */
	uint64_t npooled; /* lines of the pools that are in use */
	uint64_t nfirst;  /* of these, as it was made */
	struct scd__table_slab *slab;
	void *pool_memory[SCD__TABLE_POOLS];
	size_t bytes; /* of the pools */
	struct scd__table_retired retired;
};

struct scd__table_directory {
	unsigned depth;
	struct scd__table_retired retired;
	struct scd__table_segment *segments[]; /* 2^depth */
};

struct scd_table {
	struct scd__table_directory *directory;
	uint64_t version;
	const struct scd__table_engine *engine;
	unsigned npeers, nwords, code_bits, tag_bits;
	uint16_t tag_mask; /* of a slot: its tag */
	uint8_t *widths;   /* npeers: the narrowest that its entries have */

	/* The writer's alone; what changes often is far from the above. */
	struct scd_list **lists;                  /* npeers */
	unsigned nwidths[SCD_LIST_MAX_WIDTH + 1]; /* lists of a width */
	uint64_t used;                            /* slots of all segments */
	size_t bytes;
	uint64_t epoch;
	struct scd__table_retired *retired; /* the newest first */
};

static inline uint64_t scd__table_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void scd__table_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The first buckets follow the segment. */
static inline struct scd__table_line *
scd__table_line(const struct scd__table_segment *s, uint64_t bucket)
{
	return (struct scd__table_line *)(uintptr_t)(s + 1) + bucket;
}

static inline unsigned scd__table_slot(const struct scd__table_line *line,
				       unsigned i)
{
	return (uint16_t)(scd__table_load(&line->words[i / 4]) >> i % 4 * 16);
}

/* A line of the pools, by its number, from 1 on. The first has a place, if no
 * content, before there is a pool. */
static inline struct scd__table_line *
scd__table_pooled(const struct scd__table_segment *s, unsigned number)
{
	const unsigned at = number + (1u << SCD__TABLE_POOL_LOG) - 1;
	const unsigned log = 31 - (unsigned)__builtin_clz(at);

	return __atomic_load_n(&s->pools[log - SCD__TABLE_POOL_LOG],
			       __ATOMIC_RELAXED) +
	       (at - (1u << log));
}

/* The line in which a bucket goes on; null: in none. */
static inline struct scd__table_line *
scd__table_next(const struct scd__table_segment *s,
		const struct scd__table_line *line)
{
	const unsigned number = scd__table_slot(line, SCD__TABLE_LINK);

	return number ? scd__table_pooled(s, number) : NULL;
}

static inline uint64_t scd__table_bucket(const struct scd__table_segment *s,
					 uint64_t local)
{
	return local * s->nbuckets >> s->local_bits;
}

/* The segment of a place, the first bits of a key. */
static inline struct scd__table_segment *
scd__table_segment_at(const struct scd__table_directory *d, uint64_t place)
{
	return __atomic_load_n(&d->segments[place], __ATOMIC_ACQUIRE);
}

static inline const struct scd__table_directory *
scd__table_directory(const struct scd_table *t)
{
	return __atomic_load_n(&t->directory, __ATOMIC_ACQUIRE);
}

/* Bits of the tag that a list has in a segment. */
static inline unsigned scd__table_tag_bits(const struct scd_table *t,
					   const struct scd__table_segment *s,
					   unsigned width)
{
	const unsigned before = s->depth + s->local_bits - t->tag_bits;

	if (width <= before)
		return 0;
	return width - before < t->tag_bits ? width - before : t->tag_bits;
}

/* A tag's first bits. */
static inline unsigned scd__table_tag_cut(const struct scd_table *t,
					  unsigned tag, unsigned bits)
{
	return tag >> (t->tag_bits - bits) << (t->tag_bits - bits);
}

/* Segments: table_segment.c */

/*
 * Make n segments of all lists, for the fingerprints that begin with a prefix
 * of depth bits and the n - 1 that follow it. The errors of
 * scd__table_segment_work(); then none is made.
 */
int scd__table_segments_new(struct scd_table *t, unsigned depth,
			    uint64_t prefix, uint64_t nbuckets, uint64_t n,
			    struct scd__table_segment **out);
void scd__table_segment_free(struct scd_table *t, struct scd__table_segment *s);

/* Say of a segment which narrow lists there are. */
void scd__table_segment_note_widths(const struct scd_table *t,
				    struct scd__table_segment *s);

/* What is done to a peer's slots, for fingerprints one after the other. */
enum scd__table_act {
	SCD__TABLE_ADD,    /* one that the list has not */
	SCD__TABLE_RAISE,  /* at least as many as fingerprints of `list` */
	SCD__TABLE_REMOVE, /* one that the list has no longer */
	SCD__TABLE_LOWER,  /* at most as many as in the list, if any */
};

struct scd__table_work {
	enum scd__table_act act;
	unsigned peer;
	unsigned width; /* of the fingerprints */
	const struct scd_list *list; /* what the peer has then; null: nothing */
};

/*
 * Do it in a segment, for n ascending fingerprints that keys of the segment
 * have; some may be so narrow that keys of other segments have them, too. The
 * lines of the first SCD__TABLE_FETCHED / 2 should have been fetched. Only
 * what adds can fail. SCD_ENOMEM; SCD_ELIMIT: so many are in one segment that
 * its pools are full.
 */
int scd__table_segment_work(struct scd_table *t, struct scd__table_segment *s,
			    const struct scd__table_work *work,
			    const uint64_t *entries, size_t n);

/* The same for all of a list that keys of the segment have. */
int scd__table_segment_work_list(struct scd_table *t,
				 struct scd__table_segment *s,
				 const struct scd__table_work *work,
				 const struct scd_list *list);

/* How many of a list those are. */
uint64_t scd__table_segment_count(const struct scd__table_segment *s,
				  const struct scd_list *list);

#endif
