/*
 * The twins. A use of an object in a list that keeps an order of use takes it
 * out and appends it.
 */
#include "tests/store/eviction_twin.h"

#include <string.h>

#include "tests/unit.h"

size_t twin_find(const struct twin_list *l, uint32_t slot)
{
	size_t i = 0;

	while (i < l->n && l->at[i].slot != slot)
		i++;
	assert_true(i < l->n);
	return i;
}

static void append(struct twin_list *l, const struct twin_object *o)
{
	assert_true(l->n < TWIN_MAX);
	l->at[l->n++] = *o;
}

static struct twin_object take(struct twin_list *l, size_t index)
{
	struct twin_object o = l->at[index];

	l->n--;
	memmove(l->at + index, l->at + index + 1,
		(l->n - index) * sizeof(l->at[0]));
	return o;
}

static void renew(struct twin_list *l, size_t index)
{
	struct twin_object o = take(l, index);

	append(l, &o);
}

static void as_newest(struct twin *t, const struct twin_object *o)
{
	append(&t->in, o);
}

static void take_out(struct twin *t, size_t index)
{
	take(&t->in, index);
}

/* LRU, FIFO */

static void lru_hit(struct twin *t, size_t index)
{
	renew(&t->in, index);
}

static void fifo_hit(struct twin *t, size_t index)
{
	(void)t;
	(void)index;
}

static uint32_t evict_oldest(struct twin *t)
{
	return take(&t->in, 0).slot;
}

/* CLOCK, SIEVE */

static void mark(struct twin *t, size_t index)
{
	t->in.at[index].uses = 1;
}

static uint32_t clock_evict(struct twin *t)
{
	while (t->in.at[0].uses) {
		t->in.at[0].uses = 0;
		renew(&t->in, 0);
	}
	return take(&t->in, 0).slot;
}

/* A hand beyond the newest goes back to the oldest. */
static void sieve_remove(struct twin *t, size_t index)
{
	take(&t->in, index);
	if (t->hand > index)
		t->hand--;
	if (t->hand >= t->in.n)
		t->hand = 0;
}

static uint32_t sieve_evict(struct twin *t)
{
	uint32_t slot;

	while (t->in.at[t->hand].uses) {
		t->in.at[t->hand].uses = 0;
		t->hand = (t->hand + 1) % t->in.n;
	}
	slot = t->in.at[t->hand].slot;
	sieve_remove(t, t->hand);
	return slot;
}

/* S3-FIFO: two queues in one list, each in its order. */

enum { SMALL, MAIN };

/* The oldest of a queue; the number of all: none. */
static size_t oldest_of(const struct twin *t, unsigned queue)
{
	size_t i = 0;

	while (i < t->in.n && t->in.at[i].queue != queue)
		i++;
	return i;
}

static uint64_t weight_of(const struct twin_list *l, unsigned queue)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < l->n; i++)
		weight += l->at[i].queue == queue ? l->at[i].item.weight : 0;
	return weight;
}

static void s3fifo_expect(struct twin *t, struct eviction_item item)
{
	t->came_back = false;
	for (size_t i = 0; i < t->ghosts.n; i++) {
		if (t->ghosts.at[i].item.hash != item.hash)
			continue;
		take(&t->ghosts, i);
		t->came_back = true;
		return;
	}
}

static void s3fifo_insert(struct twin *t, const struct twin_object *o)
{
	append(&t->in, o);
	t->in.at[t->in.n - 1].queue = t->came_back ? MAIN : SMALL;
}

static void s3fifo_hit(struct twin *t, size_t index)
{
	t->in.at[index].uses++;
}

static void haunt(struct twin *t, struct twin_object *o)
{
	uint64_t limit = (uint64_t)((double)t->capacity * 0.9);

	o->queue = 0;
	while (t->ghosts.n &&
	       weight_of(&t->ghosts, 0) + o->item.weight > limit)
		take(&t->ghosts, 0);
	if (o->item.weight <= limit)
		append(&t->ghosts, o);
}

static uint32_t s3fifo_evict(struct twin *t)
{
	unsigned queue = weight_of(&t->in, MAIN) >
			 t->capacity - t->capacity / 10;

	for (;;) {
		struct twin_object o;

		if (oldest_of(t, SMALL) == t->in.n)
			queue = MAIN;
		o = take(&t->in, oldest_of(t, queue));
		if (o.uses < (queue == SMALL ? 2 : 1)) {
			if (queue == SMALL)
				haunt(t, &o);
			return o.slot;
		}
		/* in the main queue no more than three uses count */
		if (queue == MAIN)
			o.uses = (o.uses < 3 ? o.uses : 3) - 1;
		else
			o.uses = 0;
		o.queue = MAIN;
		append(&t->in, &o);
	}
}

/* LFU, GDSF: who goes is the first of the lowest priority. */

static uint32_t evict_lowest(struct twin *t)
{
	size_t lowest = 0;

	for (size_t i = 1; i < t->in.n; i++) {
		if (t->in.at[i].priority < t->in.at[lowest].priority)
			lowest = i;
	}
	t->floor = t->in.at[lowest].priority;
	return take(&t->in, lowest).slot;
}

static void lfu_hit(struct twin *t, size_t index)
{
	t->in.at[index].priority++;
	renew(&t->in, index);
}

static void gdsf_hit(struct twin *t, size_t index)
{
	struct twin_object *o = &t->in.at[index];

	o->uses++;
	o->priority = t->floor +
		      (double)o->uses * 1e6 / (double)o->item.weight;
	renew(&t->in, index);
}

static void gdsf_insert(struct twin *t, const struct twin_object *o)
{
	append(&t->in, o);
	gdsf_hit(t, t->in.n - 1);
}

/* W-TinyLFU: three queues in one list. */

enum { WINDOW, PROBATION, PROTECTED };

static void wtinylfu_reserve(struct twin *t, uint32_t nslots)
{
	assert_int_equal(sketch_reserve(&t->sketch,
					nslots > 256 ? nslots : 256), 0);
}

static void wtinylfu_expect(struct twin *t, struct eviction_item item)
{
	sketch_add(&t->sketch, item.hash);
}

static void wtinylfu_move(struct twin *t, size_t index, unsigned queue)
{
	t->in.at[index].queue = queue;
	renew(&t->in, index);
}

static void wtinylfu_hit(struct twin *t, size_t index)
{
	uint64_t room = t->capacity - t->capacity / 100;
	unsigned queue = t->in.at[index].queue;

	sketch_add(&t->sketch, t->in.at[index].item.hash);
	wtinylfu_move(t, index, queue == WINDOW ? WINDOW : PROTECTED);
	while (5 * weight_of(&t->in, PROTECTED) > 4 * room)
		wtinylfu_move(t, oldest_of(t, PROTECTED), PROBATION);
}

static unsigned asked(const struct twin *t, size_t index)
{
	return sketch_estimate(&t->sketch, t->in.at[index].item.hash);
}

static uint32_t wtinylfu_evict(struct twin *t)
{
	uint64_t room = t->capacity - t->capacity / 100;
	size_t none = t->in.n, fresh, old;

	for (;;) {
		fresh = oldest_of(t, WINDOW);
		if (fresh == none || weight_of(&t->in, PROBATION) +
				     weight_of(&t->in, PROTECTED) +
				     t->in.at[fresh].item.weight > room)
			break;
		wtinylfu_move(t, fresh, PROBATION);
	}
	old = oldest_of(t, PROBATION);
	if (old == none)
		old = oldest_of(t, PROTECTED);
	if (old == none ||
	    (fresh != none && asked(t, fresh) <= asked(t, old)))
		return take(&t->in, fresh).slot;
	return take(&t->in, old).slot;
}

/* clang-format off */
const struct twin_policy twin_policies[] = {
	{ "lru",   NULL, as_newest, lru_hit,  take_out,     evict_oldest, NULL },
	{ "fifo",  NULL, as_newest, fifo_hit, take_out,     evict_oldest, NULL },
	{ "clock", NULL, as_newest, mark,     take_out,     clock_evict, NULL },
	{ "sieve", NULL, as_newest, mark,     sieve_remove, sieve_evict, NULL },
	{ "s3fifo", s3fifo_expect, s3fifo_insert, s3fifo_hit, take_out, s3fifo_evict, NULL },
	{ "lfu",   NULL, as_newest, lfu_hit,  take_out,     evict_lowest, NULL },
	{ "gdsf",  NULL, gdsf_insert, gdsf_hit, take_out,   evict_lowest, NULL },
	{ "wtinylfu", wtinylfu_expect, as_newest, wtinylfu_hit, take_out,
	  wtinylfu_evict, wtinylfu_reserve },
	{ 0 },
};
/* clang-format on */
