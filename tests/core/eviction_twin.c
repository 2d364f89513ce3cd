/*
 * The twins. A use of an object in a list that keeps an order of use takes it
 * out and appends it.
 */
#include "tests/core/eviction_twin.h"

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

/* clang-format off */
const struct twin_policy twin_policies[] = {
	{ "lru",   NULL, as_newest, lru_hit,  take_out,     evict_oldest },
	{ "fifo",  NULL, as_newest, fifo_hit, take_out,     evict_oldest },
	{ "clock", NULL, as_newest, mark,     take_out,     clock_evict },
	{ "sieve", NULL, as_newest, mark,     sieve_remove, sieve_evict },
	{ 0 },
};
/* clang-format on */
