/*
 * The catalog.
 */
#include "digestd/mesh/catalog.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NOTED_FIRST = 64 }; /* room for changes, at first */

/* Fingerprints noted. */
struct catalog_notes {
	uint64_t *at;
	size_t n, room;
};

struct catalog {
	unsigned nhash;
	struct scd_counting *filter; /* null: none; then changes are noted */
	struct scd_counting *next;   /* null: no rebuild */
	struct keypart part;       /* of the rebuild: those below are in next */
	struct scd_bloom copy;     /* a snapshot under way; else all zero */
	size_t copied;             /* bytes of it that are as the filter's */
	uint64_t nkeys;
	uint64_t changed;
	uint64_t generation;
	int64_t published_ms;
	bool resized; /* since the last generation */
	uint64_t grown, shrunk;
	void (*notify)(void *arg); /* null: nobody waits for changes */
	void *notify_arg;
	uint64_t notify_at; /* when there are so many */
	bool notes, lost;   /* changes are noted; one could not be */
	struct catalog_notes came, went; /* since the last snapshot */
};

int catalog_new(struct catalog **out, uint64_t nbits, unsigned nhash)
{
	struct catalog *c = calloc(1, sizeof(*c));
	int error = SCD_ENOMEM;

	if (c && nbits)
		error = scd_counting_new(&c->filter, nbits, nhash);
	else if (c)
		error = nhash && nhash <= SCD_MAX_HASH ? SCD_OK : SCD_EINVAL;
	if (error) {
		free(c);
		return error;
	}
	c->nhash = nhash;
	*out = c;
	return SCD_OK;
}

void catalog_free(struct catalog **c)
{
	if (!*c)
		return;
	scd_counting_free(&(*c)->filter);
	scd_counting_free(&(*c)->next);
	scd_bloom_free(&(*c)->copy);
	free((*c)->came.at);
	free((*c)->went.at);
	free(*c);
	*c = NULL;
}

/* Whether the next filter is to have a key already, if it is there. */
static bool catalog_is_in_next(const struct catalog *c,
			       const struct scd_key *key)
{
	return c->next && keypart_of(key, c->part.count) < c->part.number;
}

/* A key has come or gone: as far as the snapshot under way has come, its bits
 * are to be the filter's again. */
static void catalog_follow_in_copy(struct catalog *c, const struct scd_key *key)
{
	const struct scd_bloom *b;
	uint64_t at[SCD_MAX_HASH];

	if (!c->copied)
		return; /* only saves time */
	b = scd_counting_bloom(c->filter);
	scd_bloom_positions(b, key, at);
	for (unsigned i = 0; i < b->nhash; i++) {
		if (at[i] / 8 < c->copied)
			c->copy.bits[at[i] / 8] = b->bits[at[i] / 8];
	}
}

void catalog_note_changes(struct catalog *c)
{
	assert(!c->nkeys);
	c->notes = true;
}

struct scd_counting *catalog_drop_filter(struct catalog *c)
{
	struct scd_counting *filter = c->filter;

	assert(c->notes && !c->next && !c->copy.bits);
	c->filter = NULL;
	return filter;
}

/* Notes a key. What cannot be noted once leaves all later lists wrong. */
static void catalog_note(struct catalog *c, struct catalog_notes *notes,
			 const struct scd_key *key)
{
	size_t room = notes->room ? 2 * notes->room : NOTED_FIRST;
	uint64_t *at;

	if (!c->notes || c->lost)
		return;
	if (notes->n == notes->room) {
		at = realloc(notes->at, room * sizeof(*at));
		if (!at) {
			c->lost = true;
			return;
		}
		notes->at = at;
		notes->room = room;
	}
	notes->at[notes->n++] = scd_fingerprint(key, CATALOG_NOTED_WIDTH);
}

/* Hands over what was noted. */
static void catalog_take_notes(struct catalog *c, struct catalog_snapshot *out)
{
	out->changes = (struct scd_list_change){
		.removed = c->went.at,
		.added = c->came.at,
		.nremoved = c->went.n,
		.nadded = c->came.n,
	};
	out->lost = c->lost;
	c->came = (struct catalog_notes){ 0 };
	c->went = (struct catalog_notes){ 0 };
}

static void catalog_notify_if_many(struct catalog *c)
{
	void (*notify)(void *arg) = c->notify;

	if (!notify || c->changed < c->notify_at)
		return;
	c->notify = NULL;
	notify(c->notify_arg);
}

static void catalog_count_change(struct catalog *c)
{
	c->changed++;
	catalog_notify_if_many(c);
}

void catalog_notify(struct catalog *c, uint64_t changes,
		    void (*changed)(void *arg), void *arg)
{
	c->notify = changed;
	c->notify_arg = arg;
	c->notify_at = changes;
	catalog_notify_if_many(c);
}

void catalog_add(struct catalog *c, const struct scd_key *key)
{
	assert(c->filter || c->notes);
	if (c->filter)
		scd_counting_add(c->filter, key);
	if (catalog_is_in_next(c, key))
		scd_counting_add(c->next, key);
	catalog_follow_in_copy(c, key);
	catalog_note(c, &c->came, key);
	c->nkeys++;
	catalog_count_change(c);
}

void catalog_remove(struct catalog *c, const struct scd_key *key)
{
	assert(c->nkeys);
	if (c->filter)
		scd_counting_remove(c->filter, key);
	if (catalog_is_in_next(c, key))
		scd_counting_remove(c->next, key);
	catalog_follow_in_copy(c, key);
	catalog_note(c, &c->went, key);
	c->nkeys--;
	catalog_count_change(c);
}

/* Null: none. */
static uint64_t catalog_bits_of(const struct scd_counting *filter)
{
	return filter ? scd_counting_bloom(filter)->nbits : 0;
}

/* The rate of false positives to expect of the filter as it is. It decides, so
 * it is multiplied: pow() is not the same on all processors. */
static double catalog_fp_of(const struct scd_counting *filter)
{
	double fill = (double)scd_counting_ones(filter) /
		      (double)catalog_bits_of(filter);
	double fp = 1;

	for (unsigned i = 0; i < scd_counting_bloom(filter)->nhash; i++)
		fp *= fill;
	return fp;
}

/* Whether it is better to wait for a larger filter than to publish this. */
static bool catalog_is_too_full(const struct catalog *c)
{
	return c->next && c->filter &&
	       catalog_bits_of(c->next) > catalog_bits_of(c->filter) &&
	       catalog_fp_of(c->filter) > CATALOG_MAX_FP;
}

double publish_policy_changes(const struct publish_policy *policy,
			      uint64_t nkeys)
{
	const double share = policy->share * (double)nkeys;
	const double worth = policy->readers /
			     (double)PUBLISH_READERS_A_CHANGE;

	return share > worth ? share : worth;
}

/* How long after the last one it is due, if anything changed. */
static int64_t catalog_latest_ms(const struct publish_policy *policy)
{
	if (policy->readers <= PUBLISH_FEW_READERS)
		return policy->max_ms;
	return policy->max_ms * policy->readers / PUBLISH_FEW_READERS;
}

int64_t catalog_due_ms(const struct catalog *c,
		       const struct publish_policy *policy)
{
	const int64_t latest_ms = catalog_latest_ms(policy);
	const bool many = (double)c->changed >=
			  publish_policy_changes(policy, c->nkeys);

	if (!c->generation)
		return INT64_MIN;
	if ((!c->changed && !c->resized) || catalog_is_too_full(c))
		return INT64_MAX;
	if (c->resized || many || latest_ms < policy->min_ms)
		return c->published_ms + policy->min_ms;
	return c->published_ms + latest_ms;
}

bool catalog_due(const struct catalog *c, const struct publish_policy *policy,
		 int64_t now_ms)
{
	return now_ms >= catalog_due_ms(c, policy);
}

void catalog_snapshot_begin(struct catalog *c, struct scd_bloom *copy)
{
	assert(c->filter && !c->copy.bits);
	assert(scd_bloom_same_shape(copy, scd_counting_bloom(c->filter)));
	c->copy = *copy;
	c->copied = 0;
	*copy = (struct scd_bloom){ 0 };
}

/* The copy is whole, or none is asked for: it is the next generation. */
static void catalog_end_snapshot(struct catalog *c, int64_t now_ms,
				 struct catalog_snapshot *out)
{
	*out = (struct catalog_snapshot){
		.bloom = c->copy,
		.generation = ++c->generation,
		.nkeys = c->nkeys,
		.fp = c->filter ? catalog_fp_of(c->filter) : 0,
	};
	catalog_take_notes(c, out);
	c->copy = (struct scd_bloom){ 0 };
	c->copied = 0;
	c->changed = 0;
	c->resized = false;
	c->published_ms = now_ms;
}

bool catalog_snapshot_slice(struct catalog *c, int64_t now_ms,
			    struct catalog_snapshot *out)
{
	size_t left = scd_bloom_bytes(&c->copy) - c->copied;
	size_t len = left < CATALOG_SLICE_BYTES ? left : CATALOG_SLICE_BYTES;

	assert(c->copy.bits);
	memcpy(c->copy.bits + c->copied,
	       scd_counting_bloom(c->filter)->bits + c->copied, len);
	c->copied += len;
	if (len < left)
		return false;
	catalog_end_snapshot(c, now_ms, out);
	return true;
}

void catalog_snapshot_changes(struct catalog *c, int64_t now_ms,
			      struct catalog_snapshot *out)
{
	assert(c->notes && !c->copy.bits);
	catalog_end_snapshot(c, now_ms, out);
}

void catalog_snapshot_free(struct catalog_snapshot *snapshot)
{
	scd_bloom_free(&snapshot->bloom);
	scd_list_change_free(&snapshot->changes);
}

int catalog_snapshot(struct catalog *c, int64_t now_ms,
		     struct catalog_snapshot *out)
{
	const struct scd_bloom *b = scd_counting_bloom(c->filter);
	struct scd_bloom copy;
	int error = scd_bloom_init(&copy, b->nbits, b->nhash);

	if (error)
		return error;
	catalog_snapshot_begin(c, &copy);
	while (!catalog_snapshot_slice(c, now_ms, out))
		;
	return SCD_OK;
}

void catalog_rebuild(struct catalog *c, struct scd_counting *next,
		     uint64_t nparts)
{
	assert(!c->next && nparts && !(nparts & (nparts - 1)));
	assert(scd_counting_bloom(next)->nhash == c->nhash);
	assert(!scd_counting_ones(next));
	c->part = (struct keypart){ 0, nparts };
	c->next = next;
}

const struct keypart *catalog_rebuild_part(const struct catalog *c)
{
	return c->next ? &c->part : NULL;
}

void catalog_rebuild_key(struct catalog *c, const struct scd_key *key)
{
	assert(c->next && keypart_of(key, c->part.count) == c->part.number);
	scd_counting_add(c->next, key);
}

bool catalog_rebuild_next(struct catalog *c, struct scd_counting **old)
{
	assert(c->next);
	*old = NULL;
	if (++c->part.number < c->part.count)
		return false;
	assert(!c->copy.bits);
	if (c->filter && catalog_bits_of(c->next) > catalog_bits_of(c->filter))
		c->grown++;
	else if (c->filter)
		c->shrunk++;
	*old = c->filter;
	c->filter = c->next;
	c->next = NULL;
	c->resized = true;
	return true;
}

void catalog_stats(const struct catalog *c, struct catalog_stats *out)
{
	*out = (struct catalog_stats){
		.nbits = catalog_bits_of(c->filter),
		.nhash = c->nhash,
		.nkeys = c->nkeys,
		.changed = c->changed,
		.generation = c->generation,
		.next_nbits = catalog_bits_of(c->next),
		.grown = c->grown,
		.shrunk = c->shrunk,
	};
	if (!c->filter)
		return;
	out->nones = scd_counting_ones(c->filter);
	out->saturated = scd_counting_saturated(c->filter);
	out->fp = catalog_fp_of(c->filter);
}
