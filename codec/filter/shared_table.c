/*
 * Shared tables, for who reads them.
 */
#include "codec/shared_table.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "codec/filter/shared_table_state.h"
#include "codec/uri.h"

enum {
	MOST_TRIES = 3, /* widths change when a peer gets its first digest */
	MOST_CANDIDATES = 64,
	NEAR_SHIFT = 9, /* below 512 us, all peers are equally near */
};

static const struct scd__shared_head *
shared_table_head(const struct scd_shared_table *t)
{
	return t->memory;
}

int scd_shared_table_open(const void *memory, size_t len,
			  struct scd_shared_table *out)
{
	const struct scd__shared_head *head = memory;
	uint64_t nlines;

	assert((uintptr_t)memory % 64 == 0);
	if (len < sizeof(*head))
		return SCD_ETRUNC;
	if (scd__shared_load(&head->magic) != SCD__SHARED_MAGIC)
		return SCD_EFORMAT;
	if (head->version != SCD__SHARED_VERSION)
		return SCD_EVERSION;
	nlines = head->nlines;
	if (nlines < SCD__SHARED_TABLE_MIN_LINES || nlines & (nlines - 1) ||
	    nlines >> SCD__SHARED_MAX_LINES_LOG)
		return SCD_ELIMIT;
	if ((len - sizeof(*head)) / sizeof(struct scd__shared_line) < nlines)
		return SCD_ETRUNC;
	*out = (struct scd_shared_table){ .memory = memory,
					  .nlines = nlines,
					  .lines = head + 1 };
	return SCD_OK;
}

enum scd_shared_table_state
scd_shared_table_state(const struct scd_shared_table *table, uint64_t now_ms)
{
	const struct scd__shared_head *head = shared_table_head(table);
	const uint64_t silent_ms = now_ms - scd__shared_load(&head->beat_ms);

	/* A beat may be some ms newer than the caller's time; one far in the
	 * future is of before the machine started. This comes first: a writer
	 * that ends retires its table, and perhaps none comes after it. */
	if (silent_ms + SCD_SHARED_TABLE_SILENT_MS >
	    2 * SCD_SHARED_TABLE_SILENT_MS)
		return SCD_SHARED_TABLE_SILENT;
	if (scd__shared_load(&head->retired))
		return SCD_SHARED_TABLE_RETIRED;
	return SCD_SHARED_TABLE_LIVE;
}

int scd_shared_table_key(const struct scd_shared_table *table, const char *uri,
			 size_t len, struct scd_key *out)
{
	char canonical[SCD_SHARED_TABLE_URI_BYTES + 2];
	size_t n;
	int error;

	if (len > SCD_SHARED_TABLE_URI_BYTES)
		return SCD_ELIMIT;
	error = scd_uri_canonical(uri, len, canonical, sizeof(canonical), &n);
	if (error)
		return SCD_EURI;
	scd_key_make(shared_table_head(table)->secret, "GET", canonical, n,
		     out);
	return SCD_OK;
}

/* Adds the peers of a line's entries that have a tag. */
static void shared_table_match(const struct scd_shared_table *t, uint64_t line,
			       uint32_t tag, uint64_t found[SCD__SHARED_WORDS])
{
	const struct scd__shared_line *l =
		(const struct scd__shared_line *)t->lines + line;

	for (unsigned i = 0; i < SCD__SHARED_TABLE_SLOTS; i++) {
		const uint32_t slot =
			__atomic_load_n(&l->slots[i], __ATOMIC_ACQUIRE);
		const uint32_t peer =
			(slot & ((1 << SCD__SHARED_PEER_BITS) - 1)) - 1;

		if ((slot ^ tag) >> SCD__SHARED_PEER_BITS ||
		    peer >= SCD__SHARED_TABLE_PEERS)
			continue;
		found[peer / 64] |= UINT64_C(1) << peer % 64;
	}
}

/* The peers with the key, by the widths that are in use. */
static void shared_table_find(const struct scd_shared_table *t, uint64_t widths,
			      const struct scd_key *key,
			      uint64_t found[SCD__SHARED_WORDS])
{
	const uint64_t salt = shared_table_head(t)->salt;

	widths &= (UINT64_C(1) << 63) - 2; /* of 1 to 62 bits */
	for (; widths; widths &= widths - 1) {
		const unsigned width = (unsigned)__builtin_ctzll(widths);
		const struct scd__shared_places at = scd__shared_places_of(
			salt, t->nlines, width, scd_fingerprint(key, width));

		__builtin_prefetch((const struct scd__shared_line *)t->lines +
				   at.lines[1]);
		for (unsigned i = 0; i < 2; i++)
			shared_table_match(t, at.lines[i], at.tag, found);
	}
}

/* A candidate, and what speaks for it: less distance, then more weight. */
struct shared_table_rank {
	unsigned peer;
	unsigned distance;
	uint64_t weight;
};

static struct shared_table_rank
shared_table_rank_of(const struct scd__shared_head *head, unsigned peer,
		     const struct scd_key *key)
{
	const struct scd__shared_row *row = &head->peers[peer];
	const uint64_t far = scd__shared_load(&row->rtt_us) >> NEAR_SHIFT;

	return (struct shared_table_rank){
		.peer = peer,
		.distance = far ? 64 - (unsigned)__builtin_clzll(far) : 0,
		.weight = scd__mix64(key->lo ^
				     scd__shared_load(&row->name_hash)),
	};
}

static bool shared_table_is_better(const struct shared_table_rank *a,
				   const struct shared_table_rank *b)
{
	return a->distance != b->distance ? a->distance < b->distance
					  : a->weight > b->weight;
}

/* The best ones, in order: each is put where it belongs among them. */
struct shared_table_best {
	struct shared_table_rank ranks[MOST_CANDIDATES];
	size_t n, cap;
};

static void shared_table_put(struct shared_table_best *best,
			     const struct shared_table_rank *rank)
{
	size_t i;

	if (best->n < best->cap)
		best->n++;
	else if (!best->cap ||
		 !shared_table_is_better(rank, &best->ranks[best->n - 1]))
		return;
	for (i = best->n - 1;
	     i && shared_table_is_better(rank, &best->ranks[i - 1]); i--)
		best->ranks[i] = best->ranks[i - 1];
	best->ranks[i] = *rank;
}

static size_t shared_table_choose(const struct scd__shared_head *head,
				  const struct scd_key *key,
				  const uint64_t found[SCD__SHARED_WORDS],
				  unsigned *out, size_t cap)
{
	struct shared_table_best best = { .cap = cap };

	for (unsigned w = 0; w < SCD__SHARED_WORDS; w++) {
		uint64_t bits = found[w] & scd__shared_load(&head->usable[w]);

		for (; bits; bits &= bits - 1) {
			const unsigned peer =
				64 * w + (unsigned)__builtin_ctzll(bits);
			const struct shared_table_rank rank =
				shared_table_rank_of(head, peer, key);

			shared_table_put(&best, &rank);
		}
	}
	for (size_t i = 0; i < best.n; i++)
		out[i] = best.ranks[i].peer;
	return best.n;
}

size_t scd_shared_table_lookup(const struct scd_shared_table *table,
			       const struct scd_key *key, uint64_t now_ms,
			       unsigned *out, size_t cap)
{
	const struct scd__shared_head *head = shared_table_head(table);
	uint64_t found[SCD__SHARED_WORDS] = { 0 };
	uint64_t widths = scd__shared_load(&head->widths), before;
	unsigned tries = 0;

	assert(cap <= MOST_CANDIDATES);
	if (scd_shared_table_state(table, now_ms) == SCD_SHARED_TABLE_SILENT)
		return 0;
	do {
		before = widths;
		shared_table_find(table, widths, key, found);
		widths = scd__shared_load(&head->widths);
	} while (widths != before && ++tries < MOST_TRIES);
	return shared_table_choose(head, key, found, out, cap);
}

size_t scd_shared_table_name(const struct scd_shared_table *table,
			     unsigned peer,
			     char out[SCD_SHARED_TABLE_NAME_BYTES])
{
	const struct scd__shared_head *head = shared_table_head(table);
	uint64_t words[SCD__SHARED_NAME_WORDS];

	out[0] = '\0';
	if (peer >= SCD__SHARED_TABLE_PEERS)
		return 0;
	for (unsigned i = 0; i < SCD__SHARED_NAME_WORDS; i++)
		words[i] = scd__shared_load(&head->peers[peer].name[i]);
	memcpy(out, words, sizeof(words));
	out[SCD_SHARED_TABLE_NAME_BYTES - 1] = '\0';
	return strlen(out);
}
