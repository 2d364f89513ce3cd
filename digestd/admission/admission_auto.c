/*
 * Which of two ways suits the requests that come: to admit everything, or
 * probation (admission_aged.c). Two miniature caches run over a sample of the
 * keys, one each way; a score, hits - lambda * writes a request, says which
 * does better.
 *
 * One key in `sample` is looked at, but more of them where a miniature would
 * hold fewer than `sample_min` objects, and all where the cache does.
 *
 * As long as there is room, everything is admitted, in both miniatures too:
 * so what they compare is the choice that the cache has, to go on like this or
 * to change over; and a cache that only fills up teaches nothing.
 *
 * Scores are compared each time that the sample has as many requests as a
 * quarter of what a miniature holds, at least 1024. The difference is a moving
 * mean over ten times that, at least 12,288 requests. Everything is admitted
 * only while that is better by 0.1 points or, to begin with, by 0.4: of two
 * that are as good the one with fewer writes is taken, and they do not take
 * turns.
 *
 * A change takes a turnover of the cache to show; so in a cache that was only
 * filled once or twice, what the first choice cost remains.
 *
 * Everything is noted by the filter in both ways. Memory: 2.67 bytes a key of
 * the window, and two miniatures of one in `sample` of the cache's objects, at
 * some 70 bytes each: 2 bytes an object of the cache, 1 MB at least.
 */
#include <stdlib.h>

#include "codec/mix.h"
#include "digestd/admission/admission_policy.h"
#include "digestd/admission/admission_mini.h"
#include "digestd/admission/admission_window.h"
#include "digestd/store/eviction.h"

enum { SPAN_MIN = 1024, SPAN_SHARE = 4 };

/* Of a request, in hits: probation is left, and taken up again. */
static const double leave_below = -.004;
static const double take_above = -.001;
/* What the mean is of, at least. */
static const double memory_spans = 10, memory_requests = 12288;

/* One way in miniature, and how it did in this span. */
struct way {
	struct mini *disk;
	struct mini *ram;	      /* null: everything is admitted */
	struct admission_window seen; /* empty likewise */
	uint64_t hits, writes;
};

struct automatic {
	struct admission base;
	struct admission_window seen;
	struct way all, probation;
	bool on_probation;
	uint64_t sample;       /* one key in so many */
	uint64_t requests;     /* of this span */
	uint64_t span;	       /* at least so many */
	uint64_t nspans;
	double ahead; /* of probation, hits a request: the mean */
};

static const struct automatic *
admission_auto_const_auto(const struct admission *a)
{
	return (const struct automatic *)a;
}

/* So that a miniature has its least number of objects. */
static uint64_t admission_auto_choose_sample(const struct admission_config *c)
{
	uint64_t held = c->capacity / (c->mean_size ? c->mean_size : 1);
	uint64_t most = held / c->sample_min;

	if (most > c->sample)
		most = c->sample;
	return most ? most : 1;
}

/* Both ways, empty, for a cache and window as in *c. */
static int admission_auto_make_ways(const struct automatic *t,
				    const struct admission_config *c,
				    struct way *all, struct way *probation)
{
	const struct eviction_policy *lru = eviction_policy_find("lru");
	const struct eviction_policy *disk = c->eviction ? c->eviction : lru;
	uint64_t capacity = c->capacity / t->sample;
	uint64_t ram = (uint64_t)((double)capacity * c->ram_share);
	uint64_t window = c->window / t->sample;
	int err = mini_new(&all->disk, disk, capacity);

	if (!err)
		err = mini_new(&probation->disk, disk, capacity - ram);
	if (!err)
		err = mini_new(&probation->ram, lru, ram);
	if (!err)
		err = admission_window_new(&probation->seen,
					   window ? window : 1);
	return err;
}

static int admission_auto_init(struct admission *a)
{
	struct automatic *t = (struct automatic *)a;
	int err = admission_window_new(&t->seen, a->config.window);

	t->sample = admission_auto_choose_sample(&a->config);
	t->span = SPAN_MIN;
	return err ? err
		   : admission_auto_make_ways(t, &a->config, &t->all,
					      &t->probation);
}

static void admission_auto_release_way(struct way *w)
{
	mini_free(&w->disk);
	mini_free(&w->ram);
	admission_window_free(&w->seen);
}

static void admission_auto_release(struct admission *a)
{
	struct automatic *t = (struct automatic *)a;

	admission_window_free(&t->seen);
	admission_auto_release_way(&t->all);
	admission_auto_release_way(&t->probation);
}

/* The miniatures of another capacity begin empty, and say nothing until they
 * are full: the way that was chosen stays until then. */
static int admission_auto_remake_ways(struct automatic *t,
				      const struct admission_config *next)
{
	struct way all = { 0 }, probation = { 0 };
	int err = admission_auto_make_ways(t, next, &all, &probation);

	if (err) {
		admission_auto_release_way(&all);
		admission_auto_release_way(&probation);
		return err;
	}
	admission_auto_release_way(&t->all);
	admission_auto_release_way(&t->probation);
	t->all = all;
	t->probation = probation;
	t->requests = 0;
	return 0;
}

static int admission_auto_resize(struct admission *a,
				 const struct admission_config *next)
{
	struct automatic *t = (struct automatic *)a;
	uint64_t window = next->window / t->sample;
	int err = next->capacity != a->config.capacity
			  ? admission_auto_remake_ways(t, next)
			  : admission_window_resize(&t->probation.seen,
						    window ? window : 1);

	return err ? err : admission_window_resize(&t->seen, next->window);
}

static void admission_auto_settle(struct admission *a)
{
	struct automatic *t = (struct automatic *)a;

	admission_window_settle(&t->seen);
	admission_window_settle(&t->probation.seen);
}

static size_t admission_auto_memory(const struct admission *a)
{
	const struct automatic *t = admission_auto_const_auto(a);

	return admission_window_memory(&t->seen) +
	       admission_window_memory(&t->probation.seen) +
	       mini_memory(t->all.disk) + mini_memory(t->probation.disk) +
	       mini_memory(t->probation.ram);
}

static uint64_t admission_auto_tracked(const struct admission *a)
{
	return admission_window_keys(&admission_auto_const_auto(a)->seen);
}

static void admission_auto_write_disk(struct way *w,
				      const struct admission_item *r)
{
	if (mini_put(w->disk, r->hash, r->size))
		w->writes++;
}

static void admission_auto_ask_all(struct way *w,
				   const struct admission_item *r)
{
	if (mini_get(w->disk, r->hash))
		w->hits++;
	else
		admission_auto_write_disk(w, r);
}

static void admission_auto_ask_probation(struct way *w,
					 const struct admission_item *r)
{
	bool in_ram, seen;

	if (mini_get(w->disk, r->hash)) {
		w->hits++;
		return;
	}
	in_ram = mini_get(w->ram, r->hash);
	seen = admission_window_use(&w->seen, r->hash) || !mini_full(w->disk);
	w->hits += in_ram;
	if (seen && in_ram)
		mini_drop(w->ram, r->hash);
	if (seen)
		admission_auto_write_disk(w, r);
	else if (!in_ram)
		mini_put(w->ram, r->hash, r->size);
}

/* The score of a way in this span, times its requests. */
static double admission_auto_score(const struct automatic *t,
				   const struct way *w)
{
	return (double)w->hits - t->base.config.lambda * (double)w->writes;
}

/* The span is over: which way from now on? */
static void admission_auto_judge(struct automatic *t)
{
	double ahead = (admission_auto_score(t, &t->probation) -
			admission_auto_score(t, &t->all)) /
		       (double)t->requests;
	double spans = memory_requests / (double)t->requests;

	if (spans < memory_spans)
		spans = memory_spans;
	if (spans > (double)++t->nspans)
		spans = (double)t->nspans;
	t->ahead += (ahead - t->ahead) / spans;
	if (t->ahead > take_above)
		t->on_probation = true;
	else if (t->ahead < leave_below)
		t->on_probation = false;
}

static void admission_auto_end_span(struct automatic *t)
{
	uint64_t length = mini_objects(t->all.disk) / SPAN_SHARE;

	if (mini_full(t->probation.disk))
		admission_auto_judge(t);
	t->all.hits = t->all.writes = 0;
	t->probation.hits = t->probation.writes = 0;
	t->requests = 0;
	t->span = length > SPAN_MIN ? length : SPAN_MIN;
}

static void admission_auto_request(struct admission *a,
				   const struct admission_item *r, bool hit)
{
	struct automatic *t = (struct automatic *)a;

	(void)hit;
	if (scd__mix64(r->hash ^ a->config.seed) % t->sample)
		return;
	admission_auto_ask_all(&t->all, r);
	admission_auto_ask_probation(&t->probation, r);
	if (++t->requests >= t->span)
		admission_auto_end_span(t);
}

static enum admission_decision
admission_auto_decide(struct admission *a, const struct admission_item *r)
{
	struct automatic *t = (struct automatic *)a;
	bool was_seen = admission_window_use(&t->seen, r->hash);

	return was_seen || !t->on_probation ? ADMISSION_DISK : ADMISSION_RAM;
}

static void admission_auto_note(struct admission *a, uint64_t hash)
{
	admission_window_use(&((struct automatic *)a)->seen, hash);
}

static bool admission_auto_seen(const struct admission *a, uint64_t hash)
{
	return admission_window_seen(&admission_auto_const_auto(a)->seen, hash);
}

static struct scd_admission **admission_auto_filter(struct admission *a)
{
	return &((struct automatic *)a)->seen.now;
}

static bool admission_auto_admits_all(const struct admission *a)
{
	return !admission_auto_const_auto(a)->on_probation;
}

const struct admission_policy admission_auto = {
	.name = "auto",
	.about = "all or probation, whichever does better on a sample of keys",
	.options = "window ram lambda sample sample-min seed",
	.size = sizeof(struct automatic),
	.ram = true,
	.init = admission_auto_init,
	.release = admission_auto_release,
	.memory = admission_auto_memory,
	.tracked = admission_auto_tracked,
	.decide = admission_auto_decide,
	.request = admission_auto_request,
	.note = admission_auto_note,
	.seen = admission_auto_seen,
	.filter = admission_auto_filter,
	.resize = admission_auto_resize,
	.settle = admission_auto_settle,
	.admits_all = admission_auto_admits_all,
};
