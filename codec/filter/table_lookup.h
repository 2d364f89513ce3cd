/*
 * Peer tables: lookups, for engines to include, each with its own way to
 * compare a line. They wait for nobody; see table_state.h for why they miss
 * nothing.
 */
#ifndef SCD_TABLE_LOOKUP_H
#define SCD_TABLE_LOOKUP_H

#include "codec/filter/table_state.h"

#define SCD__TABLE_INLINE static inline __attribute__((always_inline))

/* Where a key is looked for. */
struct scd__table_probe {
	const struct scd__table_segment *segment;
	const struct scd__table_line *line;
	uint16_t want; /* its tag, where slots have theirs */
};

SCD__TABLE_INLINE struct scd__table_probe
scd__table_probe(const struct scd_table *t, const struct scd_key *key)
{
	const struct scd__table_directory *d = scd__table_directory(t);
	/* Twice, as it may be by all 64 bits. */
	const uint64_t place = key->lo >> 1 >> (63 - d->depth);
	const struct scd__table_segment *s = scd__table_segment_at(d, place);
	const uint64_t local = key->lo << s->depth >> (64 - s->local_bits);

	return (struct scd__table_probe){
		s, scd__table_line(s, scd__table_bucket(s, local)),
		(uint16_t)(local << t->code_bits)
	};
}

/* Whether a slot is an entry of the tag, and not an empty one. No branch, see
 * scd__table_first(). */
SCD__TABLE_INLINE unsigned scd__table_is(const struct scd_table *t,
					 unsigned slot, unsigned want)
{
	return (unsigned)(((slot ^ want) & t->tag_mask) == 0) &
	       (unsigned)(slot != want);
}

/*
 * The first slot that was found, or none: without a branch on what the line
 * has, and without a store whose address depends on it, so that the processor
 * goes on with the next lookup while it waits for the line. Returns whether
 * there was one.
 */
SCD__TABLE_INLINE bool scd__table_first(const struct scd_table *t,
					const struct scd__table_line *line,
					unsigned want, uint32_t found,
					uint64_t *out)
{
	const unsigned lane =
		(unsigned)__builtin_ctz(found | ~SCD__TABLE_LANES);
	const unsigned slot = scd__table_slot(line, lane);
	const unsigned is = (unsigned)(found != 0) &
			    scd__table_is(t, slot, want);
	const unsigned peer = (slot & ~(unsigned)t->tag_mask) - 1;

	for (unsigned i = 0; i < t->nwords; i++)
		out[i] = (uint64_t)(is & (unsigned)(peer / 64 == i))
			 << peer % 64;
	return is;
}

/* Those of the slots that were found which are entries of the tag. Returns
 * whether there are any. */
SCD__TABLE_INLINE bool scd__table_name(const struct scd_table *t,
				       const struct scd__table_line *line,
				       unsigned want, uint32_t found,
				       uint64_t *out)
{
	bool any = false;

	for (; found; found &= found - 1) {
		const unsigned slot = scd__table_slot(
			line, (unsigned)__builtin_ctz(found));
		const unsigned peer = (slot & ~(unsigned)t->tag_mask) - 1;

		if (!scd__table_is(t, slot, want))
			continue;
		out[peer / 64] |= UINT64_C(1) << peer % 64;
		any = true;
	}
	return any;
}

/* The answer of a key that may be in other lines, or in narrow lists. */
bool scd__table_lookup_all(const struct scd_table *t, const struct scd_key *key,
			   uint64_t *out);

/* Name all peers of a line that have the tag, or as much of it as their lists
 * have: where there are narrow ones. */
void scd__table_lookup_line(const struct scd_table *t,
			    const struct scd__table_probe *p,
			    const struct scd__table_line *line, uint64_t *out);

SCD__TABLE_INLINE bool scd__table_lookup_by(const struct scd_table *t,
					    const struct scd_key *key,
					    uint64_t *out,
					    scd__table_match_fn *match)
{
	const uint64_t version = scd__table_load(&t->version);
	const struct scd__table_probe p = scd__table_probe(t, key);
	const uint32_t found = match(p.line, p.want, t->tag_mask);
	bool any = scd__table_first(t, p.line, p.want, found, out);

	any |= scd__table_name(t, p.line, p.want, found & (found - 1), out);
	if (__builtin_expect(scd__table_slot(p.line, SCD__TABLE_LINK) ||
				     scd__table_load(&p.segment->narrow) ||
				     scd__table_load(&t->version) != version,
			     0))
		return scd__table_lookup_all(t, key, out);
	return any;
}

/* Keys that are looked up together: their lines are fetched first, then looked
 * at; and then, where there are more, the lines that these name. */
struct scd__table_batch {
	struct scd__table_probe probes[SCD__TABLE_AHEAD];
	const struct scd__table_line *next[SCD__TABLE_AHEAD];
	unsigned going_on[SCD__TABLE_AHEAD]; /* those that have a next one */
	unsigned ngoing_on, n;
	uint64_t *out;
};

SCD__TABLE_INLINE void scd__table_batch_begin(const struct scd_table *t,
					      const struct scd_key *keys,
					      unsigned n,
					      struct scd__table_batch *b)
{
	for (unsigned i = 0; i < n; i++) {
		b->probes[i] = scd__table_probe(t, &keys[i]);
		__builtin_prefetch(b->probes[i].line);
	}
	b->n = n;
	b->ngoing_on = 0;
}

/* Go to the next line of a key, if there is one: without a branch, which would
 * be guessed wrong too often. */
SCD__TABLE_INLINE void
scd__table_batch_go_on(struct scd__table_batch *b, unsigned i,
		       const struct scd__table_line *line)
{
	const unsigned number = scd__table_slot(line, SCD__TABLE_LINK);

	b->next[i] = scd__table_pooled(b->probes[i].segment,
				       number + (number == 0));
	__builtin_prefetch(b->next[i]);
	b->going_on[b->ngoing_on] = i;
	b->ngoing_on += number != 0;
}

SCD__TABLE_INLINE void scd__table_batch_look(const struct scd_table *t,
					     struct scd__table_batch *b,
					     scd__table_match_fn *match)
{
	for (unsigned i = 0; i < b->n; i++) {
		const struct scd__table_probe *p = &b->probes[i];
		uint64_t *out = b->out + i * t->nwords;
		const uint32_t found = match(p->line, p->want, t->tag_mask);

		scd__table_first(t, p->line, p->want, found, out);
		scd__table_name(t, p->line, p->want, found & (found - 1), out);
		if (scd__table_load(&p->segment->narrow))
			scd__table_lookup_line(t, p, p->line, out);
		scd__table_batch_go_on(b, i, p->line);
	}
}

SCD__TABLE_INLINE void scd__table_batch_end(const struct scd_table *t,
					    struct scd__table_batch *b,
					    scd__table_match_fn *match)
{
	while (b->ngoing_on) {
		const unsigned n = b->ngoing_on;

		b->ngoing_on = 0;
		for (unsigned j = 0; j < n; j++) {
			const unsigned i = b->going_on[j];
			const struct scd__table_probe *p = &b->probes[i];
			const struct scd__table_line *line = b->next[i];
			uint64_t *out = b->out + i * t->nwords;

			scd__table_name(t, line, p->want,
					match(line, p->want, t->tag_mask), out);
			if (scd__table_load(&p->segment->narrow))
				scd__table_lookup_line(t, p, line, out);
			scd__table_batch_go_on(b, i, line);
		}
	}
}

/* Three batches are under way: one is fetched while the one before it is looked
 * at, and what that leaves waits for a turn, too. */
SCD__TABLE_INLINE void scd__table_lookup_many_by(const struct scd_table *t,
						 const struct scd_key *keys,
						 size_t n, uint64_t *out,
						 scd__table_match_fn *match)
{
	enum { TURNS = 3 };
	struct scd__table_batch batches[TURNS];
	const size_t nbatches = (n + SCD__TABLE_AHEAD - 1) / SCD__TABLE_AHEAD;

	for (size_t i = 0; i < nbatches + 2; i++) {
		const size_t first = i * SCD__TABLE_AHEAD;

		if (i < nbatches) {
			batches[i % TURNS].out = out + first * t->nwords;
			scd__table_batch_begin(
				t, keys + first,
				n - first < SCD__TABLE_AHEAD
					? (unsigned)(n - first)
					: SCD__TABLE_AHEAD,
				&batches[i % TURNS]);
		}
		if (i >= 1 && i - 1 < nbatches)
			scd__table_batch_look(t, &batches[(i - 1) % TURNS],
					      match);
		if (i >= 2)
			scd__table_batch_end(t, &batches[(i - 2) % TURNS],
					     match);
	}
}

#endif
