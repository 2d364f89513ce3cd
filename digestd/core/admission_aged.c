/*
 * The product's own filter, age-partitioned in blocks (codec/admission.h): an
 * object is written when its key has been used before, within the window. As
 * "probation", an object that has not waits in a tier of RAM; its second use
 * may find it there.
 *
 * 2.67 bytes a key of the window.
 */
#include "codec/admission.h"
#include "codec/mix.h"
#include "digestd/core/admission.h"

struct aged {
	struct admission base;
	struct scd_admission *filter;
};

static const struct aged *const_aged(const struct admission *a)
{
	return (const struct aged *)a;
}

static int init(struct admission *a)
{
	return scd_admission_new(&((struct aged *)a)->filter,
				 a->config.window);
}

static void release(struct admission *a)
{
	scd_admission_free(&((struct aged *)a)->filter);
}

static size_t memory(const struct admission *a)
{
	size_t bytes;

	scd_admission_memory(const_aged(a)->filter, &bytes);
	return bytes;
}

static uint64_t tracked(const struct admission *a)
{
	return scd_admission_window(const_aged(a)->filter);
}

static bool use(struct admission *a, uint64_t hash)
{
	const struct scd_key key = scd__key_of_hash(hash);

	return scd_admission_use(((struct aged *)a)->filter, &key);
}

static enum admission_decision decide(struct admission *a,
				      const struct admission_item *r)
{
	return use(a, r->hash) ? ADMISSION_DISK : ADMISSION_NO;
}

static enum admission_decision decide_ram(struct admission *a,
					  const struct admission_item *r)
{
	return use(a, r->hash) ? ADMISSION_DISK : ADMISSION_RAM;
}

static void note(struct admission *a, uint64_t hash)
{
	use(a, hash);
}

static bool seen(const struct admission *a, uint64_t hash)
{
	const struct scd_key key = scd__key_of_hash(hash);

	return scd_admission_seen(const_aged(a)->filter, &key);
}

static struct scd_admission **filter(struct admission *a)
{
	return &((struct aged *)a)->filter;
}

const struct admission_policy admission_aged = {
	.name = "aged",
	.about = "second use within a window: age-partitioned Bloom filter",
	.options = "window",
	.size = sizeof(struct aged),
	.init = init,
	.release = release,
	.memory = memory,
	.tracked = tracked,
	.decide = decide,
	.note = note,
	.seen = seen,
	.filter = filter,
};

const struct admission_policy admission_probation = {
	.name = "probation",
	.about = "as aged, and a share of RAM for what waits for a second use",
	.options = "window ram",
	.size = sizeof(struct aged),
	.ram = true,
	.init = init,
	.release = release,
	.memory = memory,
	.tracked = tracked,
	.decide = decide_ram,
	.note = note,
	.seen = seen,
	.filter = filter,
};
