/*
 * Which pages of an arena are whose, and where there is room.
 */
#include "digestd/os/arena_inside.h"

#include <assert.h>

struct arena_part arena_part_at(struct arena *a, size_t page, size_t end)
{
	struct arena_part part = {
		.s = &a->segments[page / PAGE_BITS],
		.number = page / PAGE_BITS,
		.first = (unsigned)(page % PAGE_BITS),
	};
	size_t left = PAGE_BITS - part.first;

	part.n = (unsigned)(end - page < left ? end - page : left);
	return part;
}

size_t arena_page_of(const struct arena *a, const char *at)
{
	assert(arena_has(a, at));
	return (size_t)(at - a->file.base) / ARENA_PAGE_BYTES;
}

char *arena_address(const struct arena *a, size_t page)
{
	return a->file.base + page * ARENA_PAGE_BYTES;
}

size_t arena_count_pages(size_t size)
{
	return size / ARENA_PAGE_BYTES + !!(size % ARENA_PAGE_BYTES);
}

bool arena_is_moving(const struct arena_segment *s)
{
	return atomic_load_explicit(&s->senders, memory_order_relaxed) &
	       ARENA_MOVES;
}

/* Pages that the kernel has for it. */
static unsigned arena_held(const struct arena_segment *s)
{
	switch ((enum arena_state)s->state) {
	case ARENA_EMPTY:
		return 0;
	case ARENA_SMALL:
		return s->live;
	case ARENA_OPENING:
	case ARENA_HUGE:
		break;
	}
	return PAGE_BITS;
}

struct page_bits arena_busy(const struct arena_segment *s)
{
	struct page_bits busy;

	for (unsigned i = 0; i < PAGE_BITS_WORDS; i++)
		busy.words[i] =
			s->used.words[i] |
			__atomic_load_n(&s->sent.words[i], __ATOMIC_RELAXED);
	return busy;
}

void arena_note_room(struct arena *a, size_t number)
{
	const struct arena_segment *s = &a->segments[number];
	struct arena_room room = {0};

	if (s->state >= ARENA_SMALL && !arena_is_moving(s)) {
		struct page_bits busy = arena_busy(s);

		room.clean = page_bits_clear_runs(&busy);
		room.dirty = (uint16_t)(page_bits_count(&busy, 0, PAGE_BITS) -
					s->live);
	}
	a->dirty += (uint64_t)room.dirty - a->rooms[number].dirty;
	a->rooms[number] = room;
}

void arena_set_state(struct arena *a, struct arena_segment *s,
		     enum arena_state state)
{
	a->held -= arena_held(s);
	s->state = (uint8_t)state;
	a->held += arena_held(s);
}

static void arena_set_live(struct arena *a, struct arena_segment *s, int change)
{
	a->held -= arena_held(s);
	s->live = (uint16_t)(s->live + change);
	a->held += arena_held(s);
	a->live += (uint64_t)(int64_t)change;
}

void arena_use(struct arena *a, size_t page, size_t end)
{
	while (page < end) {
		struct arena_part part = arena_part_at(a, page, end);

		page_bits_set(&part.s->used, part.first, part.n);
		arena_set_live(a, part.s, (int)part.n);
		arena_note_room(a, part.number);
		page += part.n;
	}
}

/* Its memory goes; its bodies have gone. */
static void arena_empty(struct arena *a, size_t number)
{
	struct arena_segment *s = &a->segments[number];

	assert(!s->live && !arena_is_moving(s));
	arena_file_punch(&a->file, (struct arena_place){number, s->place}, 0,
			 PAGE_BITS);
	s->sent = (struct page_bits){{0}};
	arena_set_state(a, s, ARENA_EMPTY);
	arena_note_room(a, number);
}

/* Whether a segment without bodies is to wait for some. */
static bool arena_is_spare(const struct arena *a, const struct arena_segment *s)
{
	return s->state == ARENA_HUGE &&
	       page_bits_next(&s->sent, 0, true) == PAGE_BITS &&
	       a->held - a->live <= SPARE_PAGES;
}

void arena_settle(struct arena *a, size_t number)
{
	struct arena_segment *s = &a->segments[number];

	if (s->state < ARENA_SMALL || arena_is_moving(s))
		return;
	if (!s->live && !arena_is_spare(a, s))
		arena_empty(a, number);
	else
		arena_note_room(a, number);
}

void arena_unuse(struct arena *a, size_t page, size_t end)
{
	while (page < end) {
		struct arena_part part = arena_part_at(a, page, end);
		struct arena_segment *s = part.s;

		page_bits_clear(&s->used, part.first, part.n);
		arena_set_live(a, s, -(int)part.n);
		if (s->state == ARENA_SMALL && !arena_is_moving(s))
			arena_file_punch(
				&a->file,
				(struct arena_place){part.number, s->place},
				part.first, part.n);
		arena_settle(a, part.number);
		page += part.n;
	}
}

size_t arena_end_of(struct arena *a, size_t page)
{
	size_t end = page + 1;

	assert(page_bits_has(&a->segments[page / PAGE_BITS].begins,
			     page % PAGE_BITS));
	for (;;) {
		unsigned from = (unsigned)(end % PAGE_BITS);
		size_t number = end / PAGE_BITS;
		unsigned begin, gap;

		if (number == a->file.n)
			return end;
		begin = page_bits_next(&a->segments[number].begins, from, true);
		gap = page_bits_next(&a->segments[number].used, from, false);
		end += (begin < gap ? begin : gap) - from;
		if (begin < PAGE_BITS || gap < PAGE_BITS)
			return end;
	}
}

void arena_count_writer(struct arena *a, size_t page, size_t end, int change)
{
	while (page < end) {
		struct arena_part part = arena_part_at(a, page, end);

		part.s->writers = (uint16_t)(part.s->writers + change);
		page += part.n;
	}
}

bool arena_is_open(const struct arena *a, size_t page)
{
	return page_bits_has(&a->segments[page / PAGE_BITS].open,
			     page % PAGE_BITS);
}

void arena_close(struct arena *a, size_t page, size_t end)
{
	if (!arena_is_open(a, page))
		return;
	page_bits_clear(&a->segments[page / PAGE_BITS].open, page % PAGE_BITS,
			1);
	arena_count_writer(a, page, end, -1);
}

/* Finds room for n pages in segments that are there, among those from `from`
 * on. */
static bool arena_find_among(struct arena *a, size_t from, size_t to, size_t n,
			     size_t *page)
{
	size_t before = 0; /* clean pages, up to this segment */

	for (size_t i = from; i < to; i++) {
		const struct page_runs *clean = &a->rooms[i].clean;

		if (before + clean->head >= n) {
			*page = i * PAGE_BITS - before;
			return true;
		}
		if (clean->longest >= n) {
			struct page_bits busy = arena_busy(&a->segments[i]);

			*page = i * PAGE_BITS +
				page_bits_find_clear(&busy, (unsigned)n);
			return true;
		}
		before = clean->longest == PAGE_BITS ? before + PAGE_BITS
						     : clean->tail;
	}
	return false;
}

bool arena_find(struct arena *a, size_t n, size_t *page)
{
	size_t middle = a->hint + SCAN < a->top ? a->hint + SCAN : a->top;
	size_t rest = SCAN - (middle - a->hint);

	return arena_find_among(a, a->hint, middle, n, page) ||
	       arena_find_among(a, 0, rest < a->hint ? rest : a->hint, n, page);
}

/* Where n pages begin that are at the end of a segment and in empty ones behind
 * it: the first such. */
bool arena_find_empty(const struct arena *a, size_t n, size_t *page)
{
	size_t before = 0;

	for (size_t i = 0; i < a->file.n; i++) {
		if (a->segments[i].state == ARENA_EMPTY)
			before += PAGE_BITS;
		else
			before = a->rooms[i].clean.tail;
		if (before >= n) {
			*page = (i + 1) * PAGE_BITS - before;
			return true;
		}
	}
	return false;
}

void arena_begin(struct arena *a, size_t page, size_t end)
{
	struct arena_segment *s = &a->segments[page / PAGE_BITS];

	arena_use(a, page, end);
	page_bits_set(&s->begins, page % PAGE_BITS, 1);
	page_bits_set(&s->open, page % PAGE_BITS, 1);
	arena_count_writer(a, page, end, 1);
}

void arena_end(struct arena *a, size_t page, size_t end)
{
	arena_close(a, page, end);
	page_bits_clear(&a->segments[page / PAGE_BITS].begins, page % PAGE_BITS,
			1);
	arena_unuse(a, page, end);
}
