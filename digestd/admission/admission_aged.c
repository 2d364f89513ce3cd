/*
 * The product's own filter, age-partitioned in blocks (codec/admission.h): an
 * object is written when its key has been used before, within the window. As
 * "probation", an object that has not waits in a tier of RAM; its second use
 * may find it there.
 *
 * 2.67 bytes a key of the window.
 */
#include "digestd/admission/admission_policy.h"
#include "digestd/admission/admission_window.h"

struct aged {
	struct admission base;
	struct admission_window seen;
};

static const struct aged *admission_aged_const_aged(const struct admission *a)
{
	return (const struct aged *)a;
}

static int admission_aged_init(struct admission *a)
{
	return admission_window_new(&((struct aged *)a)->seen,
				    a->config.window);
}

static void admission_aged_release(struct admission *a)
{
	admission_window_free(&((struct aged *)a)->seen);
}

static size_t admission_aged_memory(const struct admission *a)
{
	return admission_window_memory(&admission_aged_const_aged(a)->seen);
}

static uint64_t admission_aged_tracked(const struct admission *a)
{
	return admission_window_keys(&admission_aged_const_aged(a)->seen);
}

static bool admission_aged_use(struct admission *a, uint64_t hash)
{
	return admission_window_use(&((struct aged *)a)->seen, hash);
}

static enum admission_decision
admission_aged_decide(struct admission *a, const struct admission_item *r)
{
	return admission_aged_use(a, r->hash) ? ADMISSION_DISK : ADMISSION_NO;
}

static enum admission_decision
admission_aged_decide_ram(struct admission *a, const struct admission_item *r)
{
	return admission_aged_use(a, r->hash) ? ADMISSION_DISK : ADMISSION_RAM;
}

static void admission_aged_note(struct admission *a, uint64_t hash)
{
	admission_aged_use(a, hash);
}

static bool admission_aged_seen(const struct admission *a, uint64_t hash)
{
	return admission_window_seen(&admission_aged_const_aged(a)->seen, hash);
}

static struct scd_admission **admission_aged_filter(struct admission *a)
{
	return &((struct aged *)a)->seen.now;
}

static int admission_aged_resize(struct admission *a,
				 const struct admission_config *next)
{
	return admission_window_resize(&((struct aged *)a)->seen,
				       next->window);
}

static void admission_aged_settle(struct admission *a)
{
	admission_window_settle(&((struct aged *)a)->seen);
}

const struct admission_policy admission_aged = {
	.name = "aged",
	.about = "second use within a window: age-partitioned Bloom filter",
	.options = "window",
	.size = sizeof(struct aged),
	.init = admission_aged_init,
	.release = admission_aged_release,
	.memory = admission_aged_memory,
	.tracked = admission_aged_tracked,
	.decide = admission_aged_decide,
	.note = admission_aged_note,
	.seen = admission_aged_seen,
	.filter = admission_aged_filter,
	.resize = admission_aged_resize,
	.settle = admission_aged_settle,
};

const struct admission_policy admission_probation = {
	.name = "probation",
	.about = "as aged, and a share of RAM for what waits for a second use",
	.options = "window ram",
	.size = sizeof(struct aged),
	.ram = true,
	.init = admission_aged_init,
	.release = admission_aged_release,
	.memory = admission_aged_memory,
	.tracked = admission_aged_tracked,
	.decide = admission_aged_decide_ram,
	.note = admission_aged_note,
	.seen = admission_aged_seen,
	.filter = admission_aged_filter,
	.resize = admission_aged_resize,
	.settle = admission_aged_settle,
};
