/*
 * Published generations.
 */
#include "digestd/mesh/generations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/delta.h"
#include "codec/digest.h"

/*
 * A reader refuses a large array of few bytes. With one bit set in FOLD_SHARE
 * an array is coded in more than a 200th of its bytes, and in twice as large a
 * one still in more than a 400th: SCD_DIGEST_MAX_EXPANSION allows both.
 */
enum { FOLD_SHARE = 2048 };

/* Whether anybody may hold a generation: known to its publication, which is
 * sent, and to its array, from which deltas are made. */
struct holders {
	atomic_uint users;
	atomic_bool any;
};

/* A kept array. */
struct base {
	uint64_t generation;
	struct holders *holders;
	struct scd_bloom bloom;
};

struct generations {
	uint64_t instance;
	unsigned keep;
	uint64_t last_nbits; /* of the last array published; 0: none */
	unsigned nbases; /* newest first */
	struct base bases[GENERATIONS_KEEP_MAX];
};

static struct holders *generations_holders_ref(struct holders *h)
{
	atomic_fetch_add_explicit(&h->users, 1, memory_order_relaxed);
	return h;
}

static void generations_holders_unref(struct holders *h)
{
	if (atomic_fetch_sub_explicit(&h->users, 1, memory_order_acq_rel) == 1)
		free(h);
}

/* An empty publication with one user; null without memory. */
static struct publication *generations_publication_new(uint64_t instance,
						       uint64_t generation)
{
	struct publication *p = calloc(1, sizeof(*p));
	struct holders *holders = calloc(1, sizeof(*holders));

	if (!p || !holders) {
		free(p);
		free(holders);
		return NULL;
	}
	atomic_init(&holders->users, 1);
	atomic_init(&p->users, 1);
	p->holders = holders;
	p->instance = instance;
	p->generation = generation;
	return p;
}

struct publication *publication_ref(struct publication *p)
{
	unsigned users = atomic_fetch_add_explicit(&p->users, 1,
						   memory_order_relaxed);

	assert(users);
	return p;
}

void publication_unref(struct publication *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->users, 1,
					    memory_order_acq_rel) != 1)
		return;
	list_publication_free(p->list);
	blob_unref(p->full);
	for (unsigned i = 0; i < p->ndeltas; i++) {
		blob_unref(p->deltas[i].xor);
		blob_unref(p->deltas[i].conditional);
	}
	generations_holders_unref(p->holders);
	free(p);
}

void publication_held(struct publication *p)
{
	atomic_store_explicit(&p->holders->any, true, memory_order_relaxed);
}

const struct publication_delta *publication_delta(const struct publication *p,
						  uint64_t instance,
						  uint64_t from)
{
	assert(p->ndeltas <= GENERATIONS_KEEP_MAX);
	for (unsigned i = 0; i < p->ndeltas && instance == p->instance; i++) {
		if (p->deltas[i].from == from)
			return &p->deltas[i];
	}
	return NULL;
}

struct blob *publication_smallest(const struct publication_delta *delta,
				  struct delta_forms taken)
{
	/* The conditional one is there only if it is the smallest. */
	if (taken.conditional && delta->conditional)
		return delta->conditional;
	return taken.xor ? delta->xor : NULL;
}

int generations_new(struct generations **out, uint64_t instance, unsigned keep)
{
	struct generations *g = calloc(1, sizeof(*g));

	assert(instance && keep <= GENERATIONS_KEEP_MAX);
	if (!g)
		return SCD_ENOMEM;
	g->instance = instance;
	g->keep = keep;
	*out = g;
	return SCD_OK;
}

static bool generations_is_held(const struct base *base)
{
	return atomic_load_explicit(&base->holders->any, memory_order_relaxed);
}

static void generations_base_free(struct base *base)
{
	generations_holders_unref(base->holders);
	scd_bloom_free(&base->bloom);
}

static void generations_drop_oldest(struct generations *g)
{
	generations_base_free(&g->bases[--g->nbases]);
}

/* Drops what no delta leads from to p: nobody holds it, or the full digest is
 * smaller. But for the newest, which somebody may be sent this moment. */
static void generations_drop_useless(struct generations *g,
				     const struct publication *p)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < g->nbases; i++) {
		struct base *base = &g->bases[i];

		if (i == 0 || publication_delta(p, p->instance,
						base->generation))
			g->bases[kept++] = *base;
		else
			generations_base_free(base);
	}
	g->nbases = kept;
}

void generations_free(struct generations **g)
{
	if (!*g)
		return;
	while ((*g)->nbases)
		generations_drop_oldest(*g);
	free(*g);
	*g = NULL;
}

/* Makes a snapshot, published as p, the newest base. No delta leads to another
 * shape, so those of another shape are kept no longer. */
static void generations_keep_base(struct generations *g,
				  struct catalog_snapshot *snapshot,
				  const struct publication *p)
{
	while (g->nbases && !scd_bloom_same_shape(&snapshot->bloom,
						  &g->bases[0].bloom))
		generations_drop_oldest(g);
	generations_drop_useless(g, p);
	if (g->nbases == g->keep && g->nbases)
		generations_drop_oldest(g);
	if (g->keep == 0) {
		scd_bloom_free(&snapshot->bloom);
		return;
	}
	memmove(g->bases + 1, g->bases, g->nbases * sizeof(g->bases[0]));
	g->bases[0] = (struct base){p->generation,
				    generations_holders_ref(p->holders),
				    snapshot->bloom};
	g->nbases++;
	snapshot->bloom = (struct scd_bloom){ 0 };
}

typedef int encode_delta(const struct scd_bloom *base,
			 const struct scd_bloom *next,
			 const struct scd_digest_info *ids, uint8_t **out,
			 size_t *out_len);

/* One form of the delta from a base, if it is smaller than `below` bytes. */
static int generations_make_delta(encode_delta *encode, const struct base *base,
				  const struct catalog_snapshot *snapshot,
				  const struct scd_digest_info *ids,
				  size_t below, struct blob **out)
{
	uint8_t *bytes;
	size_t len;
	int error = encode(&base->bloom, &snapshot->bloom, ids, &bytes, &len);

	if (error)
		return error;
	if (len >= below) {
		free(bytes);
		return SCD_OK;
	}
	*out = blob_take(bytes, len);
	return *out ? SCD_OK : SCD_ENOMEM;
}

/* Adds the delta from a base, in the forms that are worth it; the conditional
 * one only if it is asked for. */
static int generations_add_delta(struct publication *p, const struct base *base,
				 const struct catalog_snapshot *snapshot,
				 bool conditional)
{
	struct publication_delta *d = &p->deltas[p->ndeltas];
	struct scd_digest_info ids = {
		.instance = p->instance,
		.generation = snapshot->generation,
		.base_generation = base->generation,
		.nkeys = snapshot->nkeys,
	};
	size_t below = p->full->len;
	int error;

	if (!scd_bloom_same_shape(&base->bloom, &snapshot->bloom))
		return SCD_OK; /* the filter has changed its size */
	d->from = base->generation;
	p->ndeltas++; /* so that what there is of it is released */
	error = generations_make_delta(scd_delta_encode, base, snapshot, &ids,
				       below, &d->xor);
	if (error)
		return error;
	if (d->xor)
		below = d->xor->len;
	if (conditional)
		error = generations_make_delta(scd_delta_encode_conditional,
					       base, snapshot, &ids, below,
					       &d->conditional);
	if (!error && !d->xor && !d->conditional)
		p->ndeltas--;
	return error;
}

static int generations_encode_full(struct publication *p,
				   const struct catalog_snapshot *snapshot)
{
	struct scd_digest_info ids = {
		.instance = p->instance,
		.generation = snapshot->generation,
		.nkeys = snapshot->nkeys,
	};
	uint8_t *bytes;
	size_t len;
	int error = scd_digest_encode(&snapshot->bloom, &ids, &bytes, &len);

	if (error)
		return error;
	p->full = blob_take(bytes, len);
	return p->full ? SCD_OK : SCD_ENOMEM;
}

/*
 * The size to publish an array in. The last one stands until half or twice as
 * much would do, so that a few keys that come and go do not move it each time.
 */
static uint64_t generations_folded_bits(const struct generations *g,
					const struct scd_bloom *bloom)
{
	const uint64_t nones = scd_bloom_ones(bloom);
	uint64_t nbits = bloom->nbits;

	while (nbits / 8 > SCD_DIGEST_FREE_BYTES && nbits / FOLD_SHARE > nones)
		nbits /= 2;
	return nbits < bloom->nbits && g->last_nbits == 2 * nbits
		       ? g->last_nbits
		       : nbits;
}

/* An array that is too empty for its size is published in fewer bits, which
 * have the same keys. One that cannot be folded stays as it is. */
static int generations_fold(struct generations *g,
			    struct catalog_snapshot *snapshot)
{
	const uint64_t nbits = generations_folded_bits(g, &snapshot->bloom);
	struct scd_bloom folded;
	int error;

	g->last_nbits = nbits;
	if (nbits == snapshot->bloom.nbits)
		return SCD_OK;
	error = scd_bloom_fold(&snapshot->bloom, nbits, &folded);
	if (error)
		return error == SCD_EINVAL ? SCD_OK : error;
	scd_bloom_free(&snapshot->bloom);
	snapshot->bloom = folded;
	return SCD_OK;
}

/* No array is asked for: none is kept. */
static int generations_publish_none(struct generations *g,
				    const struct catalog_snapshot *snapshot,
				    struct publication **out)
{
	struct publication *p =
		generations_publication_new(g->instance, snapshot->generation);

	while (g->nbases)
		generations_drop_oldest(g);
	if (!p)
		return SCD_ENOMEM;
	*out = p;
	return SCD_OK;
}

static int generations_publish_array(struct generations *g,
				     struct catalog_snapshot *snapshot,
				     struct publication **out)
{
	struct publication *p =
		generations_publication_new(g->instance, snapshot->generation);
	int error = p ? generations_fold(g, snapshot) : SCD_ENOMEM;
	bool newest = true; /* of those that anybody holds */

	if (!error)
		error = generations_encode_full(p, snapshot);
	for (unsigned i = 0; !error && i < g->nbases; i++) {
		if (!generations_is_held(&g->bases[i]))
			continue;
		error = generations_add_delta(p, &g->bases[i], snapshot,
					      newest);
		newest = false;
	}
	if (error) {
		publication_unref(p);
		scd_bloom_free(&snapshot->bloom);
		return error;
	}
	generations_keep_base(g, snapshot, p);
	*out = p;
	return SCD_OK;
}

int generations_publish(struct generations *g,
			struct catalog_snapshot *snapshot,
			struct publication **out)
{
	if (!snapshot->bloom.bits)
		return generations_publish_none(g, snapshot, out);
	return generations_publish_array(g, snapshot, out);
}
