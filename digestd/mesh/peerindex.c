/*
 * The shared index: which size it has, and which column is whose.
 */
#include "digestd/mesh/peerindex.h"

#include <assert.h>
#include <stdlib.h>

#include "codec/index.h"

/* Whose a column is. */
struct owner {
	struct peer_digest *digest; /* what it holds; null: it is free */
	uint32_t id;                /* of the peer */
	bool stays;                 /* for an update: the peer still has it */
	atomic_uint views;          /* that ask for it */
};

struct peerindex {
	atomic_uint users;
	struct scd_index *index;
	struct owner owners[PEERSET_MAX_PEERS];
};

struct shape {
	uint64_t nrows;
	unsigned ncolumns;
};

/* Size */

static bool peerindex_is_power_of_two(uint64_t n)
{
	return !(n & (n - 1));
}

/* Whether a peer has a column in an index of so many rows. */
static bool peerindex_is_member(const struct peerset_peer *p, uint64_t nrows)
{
	const struct scd_bloom *b = p->digest ? &p->digest->bloom : NULL;

	return b && b->hashing == SCD_HASHING_DOUBLE && b->nbits <= nrows &&
	       peerindex_is_power_of_two(b->nbits);
}

struct members {
	unsigned count;
	double bits; /* of their digests */
};

static struct members peerindex_members_of(const struct peerset_peer *peers,
					   size_t n, uint64_t nrows)
{
	struct members m = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (peerindex_is_member(&peers[i], nrows)) {
			m.count++;
			m.bits += (double)peers[i].digest->bloom.nbits;
		}
	}
	return m;
}

static bool peerindex_is_worth_it(const struct members *m, struct shape shape)
{
	double bytes = (double)scd_index_bytes(shape.nrows, shape.ncolumns);

	return m->count >= PEERINDEX_MIN_PEERS && m->count <= shape.ncolumns &&
	       bytes * 8 <= PEERINDEX_MAX_MEMORY * m->bits;
}

/* The most rows that are worth it, so that most digests fit; 0 rows: none. */
static struct shape peerindex_best_shape(const struct peerset_peer *peers,
					 size_t n)
{
	uint64_t nrows = SCD_INDEX_MIN_ROWS;

	for (size_t i = 0; i < n; i++) {
		if (peerindex_is_member(&peers[i], SCD_BLOOM_MAX_BITS) &&
		    peers[i].digest->bloom.nbits > nrows)
			nrows = peers[i].digest->bloom.nbits;
	}
	for (; nrows >= SCD_INDEX_MIN_ROWS; nrows /= 2) {
		struct members m = peerindex_members_of(peers, n, nrows);
		/* With room for those whose digest is still to come. */
		struct shape all = { nrows, (unsigned)n };
		struct shape tight = { nrows, m.count };

		if (peerindex_is_worth_it(&m, all))
			return all;
		if (peerindex_is_worth_it(&m, tight))
			return tight;
	}
	return (struct shape){ 0 };
}

/* Life */

static struct peerindex *peerindex_new(struct shape shape)
{
	struct peerindex *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	atomic_init(&x->users, 1);
	if (scd_index_new(&x->index, shape.nrows, shape.ncolumns)) {
		free(x);
		return NULL;
	}
	return x;
}

void peerindex_unref(struct peerindex *x)
{
	if (!x || atomic_fetch_sub_explicit(&x->users, 1,
					    memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < PEERSET_MAX_PEERS; i++)
		peer_digest_unref(x->owners[i].digest);
	scd_index_free(&x->index);
	free(x);
}

/* Columns */

static bool peerindex_flip(struct scd_index *index, unsigned column,
			   const struct scd_bloom *from,
			   const struct scd_bloom *to)
{
	struct scd_bloom flips;
	int error;

	if (!scd_bloom_same_shape(from, to) || scd_bloom_copy(from, &flips))
		return false;
	error = scd_bloom_xor(&flips, to);
	if (!error)
		error = scd_index_flip(index, column, &flips);
	scd_bloom_free(&flips);
	return !error;
}

/* A column in use goes over to another digest, by the difference if there is
 * one. */
static void peerindex_change(struct peerindex *x, unsigned column,
			     struct peer_digest *digest)
{
	struct owner *o = &x->owners[column];
	int error = 0;

	if (o->digest == digest)
		return;
	if (!peerindex_flip(x->index, column, &o->digest->bloom,
			    &digest->bloom))
		error = scd_index_set(x->index, column, &digest->bloom);
	assert(!error); /* it fits, or it were no member */
	(void)error;
	peer_digest_unref(o->digest);
	o->digest = peer_digest_ref(digest);
}

static void peerindex_own(struct owner *o, const struct peerset_peer *p)
{
	o->id = p->id;
	o->digest = peer_digest_ref(p->digest);
}

/* Fills the columns that have just been given to peers. */
static void peerindex_fill(struct peerindex *x, const bool *is_new)
{
	const struct scd_bloom *filters[PEERSET_MAX_PEERS] = { NULL };
	unsigned n = scd_index_columns(x->index);
	int error;

	for (unsigned i = 0; i < n; i++) {
		if (is_new[i])
			filters[i] = &x->owners[i].digest->bloom;
	}
	error = scd_index_fill(x->index, filters, n);
	assert(!error);
	(void)error;
}

/* The column of a peer, or a free one, or PEERINDEX_NONE. */
static unsigned peerindex_column_of(const struct peerindex *x, uint32_t id)
{
	unsigned free_one = PEERINDEX_NONE;

	for (unsigned i = scd_index_columns(x->index); i-- > 0;) {
		const struct owner *o = &x->owners[i];

		if (o->digest && o->id == id)
			return i;
		if (!o->digest)
			free_one = i;
	}
	return free_one;
}

/* Frees the columns that peers have left and no view asks for. */
static void peerindex_free_columns(struct peerindex *x)
{
	for (unsigned i = 0; i < scd_index_columns(x->index); i++) {
		struct owner *o = &x->owners[i];

		if (o->digest && !o->stays &&
		    !atomic_load_explicit(&o->views, memory_order_acquire)) {
			scd_index_remove(x->index, i);
			peer_digest_unref(o->digest);
			o->digest = NULL;
		}
		o->stays = false;
	}
}

/* Whether the old index will do for what is best now. */
static bool peerindex_will_do(const struct peerindex *x,
			      const struct peerset_peer *peers, size_t n,
			      struct shape best)
{
	struct shape shape = { scd_index_rows(x->index),
			       scd_index_columns(x->index) };
	struct members m = peerindex_members_of(peers, n, shape.nrows);

	return shape.nrows >= best.nrows && peerindex_is_worth_it(&m, shape);
}

/* Gives all members their columns; false: there are too few. */
static bool peerindex_assign(struct peerindex *x,
			     const struct peerset_peer *peers, size_t n,
			     uint16_t *columns)
{
	uint64_t nrows = scd_index_rows(x->index);
	bool is_new[PEERSET_MAX_PEERS] = { false };
	bool enough = true;

	for (size_t i = 0; i < n && enough; i++) {
		unsigned column = PEERINDEX_NONE;

		if (peerindex_is_member(&peers[i], nrows)) {
			column = peerindex_column_of(x, peers[i].id);
			enough = column != PEERINDEX_NONE;
		}
		columns[i] = (uint16_t)column;
		if (column == PEERINDEX_NONE)
			continue;
		is_new[column] = !x->owners[column].digest;
		if (is_new[column])
			peerindex_own(&x->owners[column], &peers[i]);
		else
			peerindex_change(x, column, peers[i].digest);
		x->owners[column].stays = true;
	}
	peerindex_fill(x, is_new);
	peerindex_free_columns(x);
	return enough;
}

struct peerindex *peerindex_update(struct peerindex *old,
				   const struct peerset_peer *peers, size_t n,
				   uint16_t *columns)
{
	struct shape best = peerindex_best_shape(peers, n);
	struct peerindex *x;

	assert(n <= PEERSET_MAX_PEERS);
	for (size_t i = 0; i < n; i++)
		columns[i] = PEERINDEX_NONE;
	if (!best.nrows)
		return NULL;
	if (old && peerindex_will_do(old, peers, n, best) &&
	    peerindex_assign(old, peers, n, columns)) {
		atomic_fetch_add_explicit(&old->users, 1, memory_order_relaxed);
		return old;
	}
	x = peerindex_new(best);
	if (x) {
		bool enough = peerindex_assign(x, peers, n, columns);

		assert(enough);
		(void)enough;
	}
	return x;
}

void peerindex_hold(struct peerindex *x, unsigned column)
{
	assert(column < PEERSET_MAX_PEERS);
	atomic_fetch_add_explicit(&x->owners[column].views, 1,
				  memory_order_relaxed);
}

void peerindex_release(struct peerindex *x, unsigned column)
{
	assert(column < PEERSET_MAX_PEERS);
	atomic_fetch_sub_explicit(&x->owners[column].views, 1,
				  memory_order_release);
}

unsigned peerindex_words(const struct peerindex *x)
{
	return scd_index_words(x->index);
}

void peerindex_lookup(const struct peerindex *x, const struct scd_key *key,
		      uint64_t *out)
{
	scd_index_lookup(x->index, key, out);
}
