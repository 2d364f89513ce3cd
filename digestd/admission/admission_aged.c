/*
 * The product's own filter, age-partitioned in blocks (codec/admission.h): an
 * object is written when its key has been used before, within the window. As
 * "probation", an object that has not waits in a tier of RAM; its second use
 * may find it there.
 *
 * 2.67 bytes a key of the window.
 */
#include "digestd/admission/admission.h"
#include "digestd/admission/admission_window.h"

struct aged {
	struct admission base;
	struct admission_window seen;
};

static const struct aged *const_aged(const struct admission *a)
{
	return (const struct aged *)a;
}

static int init(struct admission *a)
{
	return admission_window_new(&((struct aged *)a)->seen,
				    a->config.window);
}

static void release(struct admission *a)
{
	admission_window_free(&((struct aged *)a)->seen);
}

static size_t memory(const struct admission *a)
{
	return admission_window_memory(&const_aged(a)->seen);
}

static uint64_t tracked(const struct admission *a)
{
	return admission_window_keys(&const_aged(a)->seen);
}

static bool use(struct admission *a, uint64_t hash)
{
	return admission_window_use(&((struct aged *)a)->seen, hash);
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
	return admission_window_seen(&const_aged(a)->seen, hash);
}

static struct scd_admission **filter(struct admission *a)
{
	return &((struct aged *)a)->seen.now;
}

static int resize(struct admission *a, const struct admission_config *next)
{
	return admission_window_resize(&((struct aged *)a)->seen,
				       next->window);
}

static void settle(struct admission *a)
{
	admission_window_settle(&((struct aged *)a)->seen);
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
	.resize = resize,
	.settle = settle,
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
	.resize = resize,
	.settle = settle,
};
