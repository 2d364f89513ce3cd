/*
 * TinyLFU: an object is written when it was used more often than what goes
 * for it. Uses are counted in a count-min sketch of 4-bit counters behind a
 * doorkeeper, a Bloom filter that takes the first use of each key; after a
 * sample of uses all counters are halved and the doorkeeper is emptied.
 *
 * What would go is the eviction policy's secret, so the eight last evicted
 * stand for it: an object has to have been used more often than they were on
 * average. Before anything was evicted, everything is written. Who wants the
 * real comparison takes W-TinyLFU for eviction.
 *
 * The window is the keys that the sketch is made for, and a sample four times
 * as many uses: 2 to 4 bytes a key for the counters, rounded up to a power of
 * two, and 2 for the doorkeeper.
 *
 * Source: Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache
 * Admission Policy", 2017.
 */
#include <stdlib.h>

#include "cachesim/admission/policies.h"
#include "codec/bloom.h"
#include "codec/error.h"

enum {
	ROWS = 4,
	COUNTER_BITS = 4,
	COUNTER_MAX = 15,
	WORD_COUNTERS = 64 / COUNTER_BITS,
	SAMPLE_USES = 4, /* a key of the window */
	DOOR_BITS = 16,	 /* a key: if half of the uses are of new ones, 2 % */
	DOOR_HASH = 4,	 /* of them are falsely let in by the end */
	VICTIMS = 8,
};

struct tinylfu {
	struct admission base;
	uint64_t *words; /* row after row */
	uint64_t width;  /* counters of a row, a power of two */
	struct scd_bloom door;
	uint64_t uses, sample;
	uint64_t victims[VICTIMS]; /* hashes */
	uint64_t nevicted;
};

static const struct tinylfu *tinylfu_const_lfu(const struct admission *a)
{
	return (const struct tinylfu *)a;
}

static uint64_t tinylfu_nwords(const struct tinylfu *t)
{
	return ROWS * t->width / WORD_COUNTERS;
}

static int tinylfu_init(struct admission *a)
{
	struct tinylfu *t = (struct tinylfu *)a;
	uint64_t window = a->config.window;

	for (t->width = WORD_COUNTERS; t->width < window;)
		t->width *= 2;
	t->sample = SAMPLE_USES * window;
	t->words = calloc(tinylfu_nwords(t), sizeof(*t->words));
	if (!t->words)
		return SCD_ENOMEM;
	return scd_bloom_init(&t->door, window * DOOR_BITS + 64, DOOR_HASH);
}

static void tinylfu_release(struct admission *a)
{
	struct tinylfu *t = (struct tinylfu *)a;

	free(t->words);
	scd_bloom_free(&t->door);
}

static size_t tinylfu_memory(const struct admission *a)
{
	const struct tinylfu *t = tinylfu_const_lfu(a);

	return tinylfu_nwords(t) * sizeof(uint64_t) + scd_bloom_bytes(&t->door);
}

static uint64_t tinylfu_tracked(const struct admission *a)
{
	return a->config.window;
}

/* The number of a key's counter in a row. */
static uint64_t tinylfu_counter_of(const struct tinylfu *t, uint64_t hash,
				   unsigned row)
{
	uint64_t h = scd__mix64(hash + row * SCD__SPLITMIX_STEP);

	return row * t->width + (h & (t->width - 1));
}

static unsigned tinylfu_get(const struct tinylfu *t, uint64_t counter)
{
	return t->words[counter / WORD_COUNTERS] >>
		       counter % WORD_COUNTERS * COUNTER_BITS & COUNTER_MAX;
}

/* The least of a key's counters. */
static unsigned tinylfu_least(const struct tinylfu *t, uint64_t hash)
{
	unsigned count = COUNTER_MAX;

	for (unsigned row = 0; row < ROWS; row++) {
		unsigned n = tinylfu_get(t, tinylfu_counter_of(t, hash, row));

		count = n < count ? n : count;
	}
	return count;
}

/* Uses of a key in the sample, as far as is known. */
static unsigned tinylfu_estimate(const struct tinylfu *t, uint64_t hash)
{
	const struct scd_key key = scd__key_of_hash(hash);

	return tinylfu_least(t, hash) + scd_bloom_has(&t->door, &key);
}

/* All counters by half: the bit that comes over from the neighbour is cut. */
static void tinylfu_age(struct tinylfu *t)
{
	for (uint64_t i = 0; i < tinylfu_nwords(t); i++)
		t->words[i] = t->words[i] >> 1 & UINT64_C(0x7777777777777777);
	scd_bloom_clear(&t->door);
	t->uses /= 2;
}

/* Only the counters that are the least grow. */
static void tinylfu_add(struct tinylfu *t, uint64_t hash)
{
	unsigned count = tinylfu_least(t, hash);

	for (unsigned row = 0; row < ROWS && count < COUNTER_MAX; row++) {
		uint64_t i = tinylfu_counter_of(t, hash, row);

		if (tinylfu_get(t, i) == count)
			t->words[i / WORD_COUNTERS] +=
				UINT64_C(1) << i % WORD_COUNTERS * COUNTER_BITS;
	}
}

static void tinylfu_note(struct admission *a, uint64_t hash)
{
	struct tinylfu *t = (struct tinylfu *)a;
	const struct scd_key key = scd__key_of_hash(hash);

	if (scd_bloom_has(&t->door, &key))
		tinylfu_add(t, hash);
	else
		scd_bloom_add(&t->door, &key);
	if (++t->uses >= t->sample)
		tinylfu_age(t);
}

static void tinylfu_request(struct admission *a, const struct admission_item *r,
			    bool hit)
{
	(void)hit;
	tinylfu_note(a, r->hash);
}

static void tinylfu_evicted(struct admission *a, uint64_t hash)
{
	struct tinylfu *t = (struct tinylfu *)a;

	t->victims[t->nevicted++ % VICTIMS] = hash;
}

static enum admission_decision tinylfu_decide(struct admission *a,
					      const struct admission_item *r)
{
	const struct tinylfu *t = tinylfu_const_lfu(a);
	uint64_t n = t->nevicted < VICTIMS ? t->nevicted : VICTIMS;
	uint64_t uses = 0;

	for (uint64_t i = 0; i < n; i++)
		uses += tinylfu_estimate(t, t->victims[i]);
	return n == 0 || tinylfu_estimate(t, r->hash) * n > uses
		       ? ADMISSION_DISK
		       : ADMISSION_NO;
}

/* The request itself has been counted already. */
static bool tinylfu_seen(const struct admission *a, uint64_t hash)
{
	return tinylfu_estimate(tinylfu_const_lfu(a), hash) > 1;
}

const struct admission_policy admission_tinylfu = {
	.name = "tinylfu",
	.about = "if used more often than what was evicted last",
	.options = "window",
	.size = sizeof(struct tinylfu),
	.init = tinylfu_init,
	.release = tinylfu_release,
	.memory = tinylfu_memory,
	.tracked = tinylfu_tracked,
	.decide = tinylfu_decide,
	.request = tinylfu_request,
	.evicted = tinylfu_evicted,
	.note = tinylfu_note,
	.seen = tinylfu_seen,
};
