/*
 * Sorted names. Two are compared by their first sixteen bytes as two numbers,
 * and only where those are the same byte by byte.
 */
#include "digestd/http/field_names.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum {
	WORD = 8,   /* bytes */
	HEAD = 2 * WORD,
	RECENT = 64, /* names that were looked up */
};

struct field_names_key {
	uint64_t head[2]; /* in lower case, the first byte on top */
	struct field_part name;
};

struct field_name {
	struct field_names_key key;
	uint16_t line; /* behind the first that is looked at */
	bool marked;   /* for all lines of the name, which follow it */
};

/*
 * A list that names the same few fields a thousand times is remembered by their
 * heads, which are all of a name of up to eight bytes.
 */
struct field_names {
	size_t count;
	uint64_t recent[RECENT]; /* by their hash; 0: none */
	struct field_name sorted[FIELD_NAMES_LINES];
};

/* Up to eight bytes of a name. */
static uint64_t field_names_word(const char *name, size_t len)
{
	size_t n = len < WORD ? len : WORD;
	uint64_t word = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)name[i];

		c |= c >= 'A' && c <= 'Z' ? 0x20 : 0;
		word = word << 8 | c;
	}
	return n ? word << 8 * (WORD - n) : 0;
}

static struct field_names_key field_names_key(struct field_part name)
{
	struct field_names_key key = { .name = name };

	key.head[0] = field_names_word(name.at, name.len);
	if (name.len > WORD)
		key.head[1] = field_names_word(name.at + WORD,
					       name.len - WORD);
	return key;
}

static int field_names_order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* As strcmp(); names have no zero byte. */
static int field_names_compare(const struct field_names_key *a,
			       const struct field_names_key *b)
{
	size_t shorter = a->name.len < b->name.len ? a->name.len : b->name.len;
	int order = field_names_order(a->head[0], b->head[0]);

	if (!order)
		order = field_names_order(a->head[1], b->head[1]);
	if (!order && shorter > HEAD)
		order = strncasecmp(a->name.at + HEAD, b->name.at + HEAD,
				    shorter - HEAD);
	return order ? order : field_names_order(a->name.len, b->name.len);
}

/* Shell's sort with Ciura's gaps: no recursion, no memory, no bad case that
 * matters for so few. */
static void field_names_sort(struct field_name *at, size_t n)
{
	static const size_t gaps[] = { 132, 57, 23, 10, 4, 1 };

	for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
		for (size_t i = gaps[g]; i < n; i++) {
			struct field_name x = at[i];
			size_t j = i;

			for (; j >= gaps[g] &&
			       field_names_compare(&at[j - gaps[g]].key,
						   &x.key) > 0; j -= gaps[g])
				at[j] = at[j - gaps[g]];
			at[j] = x;
		}
	}
}

static void field_names_take(struct field_names *names, const struct fields *f,
			     size_t first)
{
	size_t n = fields_count(f) - first;

	names->count = n < FIELD_NAMES_LINES ? n : FIELD_NAMES_LINES;
	memset(names->recent, 0, sizeof(names->recent));
	for (size_t i = 0; i < names->count; i++) {
		const char *name = fields_at(f, first + i)->name;

		names->sorted[i] = (struct field_name){
			.key = field_names_key((struct field_part){
				name, strlen(name) }),
			.line = (uint16_t)i,
		};
	}
	field_names_sort(names->sorted, names->count);
}

/* Whether a name was looked up lately; now it was. */
static bool field_names_was_recent(struct field_names *names, uint64_t head)
{
	uint64_t *recent = &names->recent[head * 0x9e3779b97f4a7c15 >> 58];
	bool was = *recent == head;

	_Static_assert(RECENT == 64, "the upper six bits");
	*recent = head;
	return was;
}

void field_names_mark(struct field_names *names, struct field_part name)
{
	struct field_names_key key = field_names_key(name);
	size_t low = 0, high = names->count;

	if (name.len <= WORD && field_names_was_recent(names, key.head[0]))
		return;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (field_names_compare(&names->sorted[middle].key, &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < names->count &&
	    !field_names_compare(&names->sorted[low].key, &key))
		names->sorted[low].marked = true;
}

/* Whether each of the lines is marked, in the order of the list. */
static void field_names_marked(const struct field_names *names,
			       bool marked[static FIELD_NAMES_LINES])
{
	const struct field_name *group = names->sorted;

	for (size_t i = 0; i < names->count; i++) {
		const struct field_name *at = &names->sorted[i];

		if (field_names_compare(&group->key, &at->key))
			group = at;
		marked[at->line] = group->marked;
	}
}

size_t field_names_find(const struct fields *f, size_t first,
			const struct field_names_wanted *wanted,
			bool found[static FIELD_NAMES_LINES])
{
	struct field_names names;

	field_names_take(&names, f, first);
	if (!names.count)
		return 0;
	wanted->mark(&names, wanted->arg);
	field_names_marked(&names, found);
	return names.count;
}

void field_names_remove(struct fields *f,
			const struct field_names_wanted *wanted)
{
	bool found[FIELD_NAMES_LINES];
	size_t kept = 0, n;

	/* a line moves before its place is taken: f can be read all the time */
	for (size_t first = 0;
	     (n = field_names_find(f, first, wanted, found)); first += n) {
		for (size_t i = 0; i < n; i++) {
			if (!found[i])
				f->lines[kept++] = f->lines[first + i];
		}
	}
	f->nlines = (uint32_t)kept;
}
