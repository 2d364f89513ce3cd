/*
 * A pairing heap of timers.
 */
#include "digestd/os/timer_heap.h"

#include <assert.h>
#include <stddef.h>

/* Makes one heap of two (either may be null); the root is unlinked. */
static struct loop_timer *timer_heap_meld(struct loop_timer *a,
					  struct loop_timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (b->due_ms < a->due_ms) {
		struct loop_timer *swap = a;

		a = b;
		b = swap;
	}
	b->next = a->child;
	if (b->next)
		b->next->link = &b->next;
	a->child = b;
	b->link = &a->child;
	return a;
}

/* Melds a list of siblings into one heap: in pairs, then from the last. */
static struct loop_timer *timer_heap_meld_siblings(struct loop_timer *t)
{
	struct loop_timer *pairs = NULL, *root = NULL;

	while (t) {
		struct loop_timer *a = t, *b = t->next;

		t = b ? b->next : NULL;
		a->next = NULL;
		if (b)
			b->next = NULL;
		a = timer_heap_meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct loop_timer *a = pairs;

		pairs = a->next;
		a->next = NULL;
		root = timer_heap_meld(root, a);
	}
	return root;
}

static void timer_heap_set_root(struct loop_timer **root, struct loop_timer *t)
{
	*root = t;
	if (t)
		t->link = root;
}

void timer_heap_insert(struct loop_timer **root, struct loop_timer *t)
{
	assert(!t->link && !t->child && !t->next);
	timer_heap_set_root(root, timer_heap_meld(*root, t));
}

void timer_heap_remove(struct loop_timer **root, struct loop_timer *t)
{
	struct loop_timer *orphans;

	if (!t->link)
		return;
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	orphans = timer_heap_meld_siblings(t->child);
	t->child = NULL;
	t->next = NULL;
	t->link = NULL;
	timer_heap_set_root(root, timer_heap_meld(*root, orphans));
}
