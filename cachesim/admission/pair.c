/*
 * Two plain Bloom filters: keys go into the newer, and are looked for in both;
 * when the newer has as many as the window, it becomes the older, and the
 * older, cleared at once, the newer. So a key is remembered for one to two
 * windows.
 *
 * 2.76 bytes a key of the window at a rate of 1 %: each filter is made for
 * half of it.
 */
#include <math.h>

#include "cachesim/admission/policies.h"
#include "codec/bloom.h"

struct pair {
	struct admission base;
	struct scd_bloom filters[2];
	unsigned newer;
	uint64_t n; /* keys in the newer */
};

static const struct pair *pair_const_pair(const struct admission *a)
{
	return (const struct pair *)a;
}

static int pair_init(struct admission *a)
{
	struct pair *p = (struct pair *)a;
	double bits = log(2 / a->config.false_seen) / (log(2) * log(2));
	uint64_t nbits = (uint64_t)ceil(bits * (double)a->config.window);
	unsigned nhash = (unsigned)ceil(bits * log(2) - .5);
	int err = scd_bloom_init(&p->filters[0], nbits, nhash);

	return err ? err : scd_bloom_init(&p->filters[1], nbits, nhash);
}

static void pair_release(struct admission *a)
{
	struct pair *p = (struct pair *)a;

	scd_bloom_free(&p->filters[0]);
	scd_bloom_free(&p->filters[1]);
}

static size_t pair_memory(const struct admission *a)
{
	return 2 * scd_bloom_bytes(&pair_const_pair(a)->filters[0]);
}

static uint64_t pair_tracked(const struct admission *a)
{
	return a->config.window;
}

static bool pair_seen(const struct admission *a, uint64_t hash)
{
	const struct scd_key key = scd__key_of_hash(hash);

	return scd_bloom_has(&pair_const_pair(a)->filters[0], &key) ||
	       scd_bloom_has(&pair_const_pair(a)->filters[1], &key);
}

static void pair_note(struct admission *a, uint64_t hash)
{
	struct pair *p = (struct pair *)a;
	const struct scd_key key = scd__key_of_hash(hash);

	if (scd_bloom_has(&p->filters[p->newer], &key))
		return;
	scd_bloom_add(&p->filters[p->newer], &key);
	if (++p->n < a->config.window)
		return;
	p->newer ^= 1;
	p->n = 0;
	scd_bloom_clear(&p->filters[p->newer]);
}

const struct admission_policy admission_pair = {
	.name = "pair",
	.about = "second use within a window: two Bloom filters in turn",
	.options = "window false-seen",
	.size = sizeof(struct pair),
	.init = pair_init,
	.release = pair_release,
	.memory = pair_memory,
	.tracked = pair_tracked,
	.decide = admission_second_use,
	.note = pair_note,
	.seen = pair_seen,
};
