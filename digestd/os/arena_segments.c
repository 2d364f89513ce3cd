/*
 * Segments of an arena get memory, and are copied so that they have less.
 */
#include "digestd/os/arena_inside.h"

#include <errno.h>

/*
 * Whether the kernel is to be asked for a huge page. One that has none for such
 * files says EINVAL each time; others say that too when something else has
 * happened to the range. So after a few in a row it is asked now and then.
 */
static bool arena_wants_huge(struct arena *a)
{
	unsigned n = __atomic_load_n(&a->invalid, __ATOMIC_RELAXED);

	if (n < INVALID_MANY)
		return true;
	n = __atomic_add_fetch(&a->invalid, 1, __ATOMIC_RELAXED);
	return n % INVALID_EACH == 0;
}

/* With the lock or without. */
static void arena_count_refused(struct arena *a)
{
	__atomic_fetch_add(&a->refused, 1, __ATOMIC_RELAXED);
}

/* What came of asking; returns whether there is one. */
static bool arena_note_huge(struct arena *a, int err)
{
	if (err)
		arena_count_refused(a);
	if (!err)
		__atomic_store_n(&a->invalid, 0, __ATOMIC_RELAXED);
	else if (err == -EINVAL)
		__atomic_fetch_add(&a->invalid, 1, __ATOMIC_RELAXED);
	return !err;
}

/* A huge page for a segment, if that works. Without the lock. */
static bool arena_collapse(struct arena *a, size_t number)
{
	return arena_wants_huge(a) &&
	       arena_note_huge(a, arena_file_collapse(&a->file, number));
}

/* Gives an opening segment its memory. The lock is held but for that. */
static int arena_open_segment(struct arena *a, size_t number)
{
	struct arena_segment *s = &a->segments[number];
	bool huge = false;
	int err = 0;

	pthread_mutex_unlock(&a->lock);
	if (!s->mapped)
		err = arena_file_map(&a->file,
				     (struct arena_place){number, s->place});
	if (!err)
		huge = arena_collapse(a, number);
	pthread_mutex_lock(&a->lock);
	s->mapped = !err;
	arena_set_state(a, s,
			err    ? ARENA_EMPTY
			: huge ? ARENA_HUGE
			       : ARENA_SMALL);
	return err;
}

/* Opens the empty ones among segments of which pages are in use already. Those
 * that are not wanted are given back by who frees these pages. */
static int arena_open_range(struct arena *a, size_t page, size_t end)
{
	int err = 0;

	for (size_t at = page; at < end;) {
		struct arena_part part = arena_part_at(a, at, end);

		if (part.s->state == ARENA_OPENING && !err)
			err = arena_open_segment(a, part.number);
		else if (part.s->state == ARENA_OPENING)
			arena_set_state(a, part.s, ARENA_EMPTY);
		arena_note_room(a, part.number);
		at += part.n;
	}
	return err;
}

bool arena_grow(struct arena *a, size_t n, size_t *page)
{
	size_t end, number;

	if (!arena_find_empty(a, n, page)) {
		arena_count_refused(a);
		return false;
	}
	end = *page + n;
	for (number = *page / PAGE_BITS; number * PAGE_BITS < end; number++) {
		struct arena_segment *s = &a->segments[number];

		if (s->state == ARENA_EMPTY)
			arena_set_state(a, s, ARENA_OPENING);
	}
	if (number > a->top)
		a->top = number;
	arena_begin(a, *page, end);
	if (!arena_open_range(a, *page, end))
		return true;
	arena_end(a, *page, end);
	arena_count_refused(a);
	return false;
}

/* Keeps everybody from sending from it until arena_end_move(); false: somebody
 * sends, or writes. */
static bool arena_begin_move(struct arena *a, size_t number)
{
	struct arena_segment *s = &a->segments[number];
	unsigned none = 0;

	if (a->moves || s->writers || s->state < ARENA_SMALL ||
	    !atomic_compare_exchange_strong(&s->senders, &none, ARENA_MOVES))
		return false;
	a->moves = true;
	arena_note_room(a, number);
	return true;
}

static void arena_end_move(struct arena *a, size_t number)
{
	struct arena_segment *s = &a->segments[number];

	a->moves = false;
	atomic_fetch_and(&s->senders, ~ARENA_MOVES);
	arena_settle(a, number);
}

/* Gives back small pages that were in use before the segment moved, and were
 * freed meanwhile. */
static void arena_punch_freed(struct arena *a, size_t number,
			      const struct page_bits *before)
{
	const struct arena_segment *s = &a->segments[number];

	for (unsigned i = 0; i < PAGE_BITS; i++) {
		if (page_bits_has(before, i) && !page_bits_has(&s->used, i))
			arena_file_punch(&a->file,
					 (struct arena_place){number, s->place},
					 i, 1);
	}
}

/* Copies a segment that is moving to its other place. The lock is held but for
 * that. Returns whether that worked. */
static bool arena_copy(struct arena *a, size_t number, bool to_huge)
{
	struct arena_segment *s = &a->segments[number];
	const struct arena_place from = {number, s->place};
	const struct arena_place to = {number, !s->place};
	const struct page_bits copied = s->used;
	bool huge = false;
	int err;

	pthread_mutex_unlock(&a->lock);
	if (to_huge && arena_wants_huge(a))
		huge = arena_note_huge(a, arena_file_open_huge(&a->file, to));
	err = arena_file_copy(&a->file, to, &copied, huge);
	if (!err)
		arena_file_punch(&a->file, from, 0, PAGE_BITS);
	pthread_mutex_lock(&a->lock);
	if (err) {
		arena_count_refused(a);
		return false;
	}
	s->place = !s->place;
	s->sent = (struct page_bits){{0}};
	arena_set_state(a, s, huge ? ARENA_HUGE : ARENA_SMALL);
	if (!huge)
		arena_punch_freed(a, number, &copied);
	a->moved++;
	return true;
}

static bool arena_move(struct arena *a, size_t number, bool to_huge)
{
	bool moved;

	if (!arena_begin_move(a, number))
		return false;
	moved = arena_copy(a, number, to_huge);
	arena_end_move(a, number);
	return moved;
}

/* The best of some segments, those behind `from`, for one of both moves;
 * a->top: none. */
static size_t arena_pick(const struct arena *a, size_t from, bool to_huge)
{
	size_t n = a->top < SCAN ? a->top : SCAN, best = a->top;
	unsigned most = to_huge ? PAGE_BITS / 8 : 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = (from + i) % a->top;
		const struct arena_segment *s = &a->segments[at];
		unsigned worth =
			to_huge ? a->rooms[at].dirty : PAGE_BITS - s->live;

		if (worth > most && s->state == ARENA_HUGE && s->live &&
		    !s->writers && !arena_is_moving(s)) {
			most = worth;
			best = at;
		}
	}
	return best;
}

/* Whether so many pages are more than this share of the arena. */
static bool arena_is_much(const struct arena *a, uint64_t pages, unsigned share)
{
	return pages > SPARE_PAGES / 2 &&
	       (pages - SPARE_PAGES / 2) * share > a->held;
}

void arena_tidy(struct arena *a)
{
	bool dirty = arena_is_much(a, a->dirty, DIRTY_SHARE);
	size_t number = a->top;

	if (dirty)
		number = arena_pick(a, a->hint, true);
	if (number == a->top) {
		dirty = false;
		if (arena_is_much(a, a->held - a->live, WASTE_SHARE))
			number = arena_pick(a, a->hint, false);
	}
	if (number < a->top)
		arena_move(a, number, dirty);
}

void arena_thicken(struct arena *a, size_t number)
{
	struct arena_segment *s = &a->segments[number];
	struct page_bits before;
	bool huge;

	if (s->state != ARENA_SMALL || s->live < FULL_PAGES ||
	    !arena_wants_huge(a) || !arena_begin_move(a, number))
		return;
	before = s->used;
	pthread_mutex_unlock(&a->lock);
	huge = arena_collapse(a, number);
	pthread_mutex_lock(&a->lock);
	if (huge)
		arena_set_state(a, s, ARENA_HUGE);
	else
		arena_punch_freed(a, number, &before);
	arena_end_move(a, number);
}
