/*
 * Header fields: lines that point into blocks of text.
 */
#include "digestd/http/fields.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/field_names.h"
#include "digestd/http/octets.h"

enum {
	FIRST_LINES = 16,
	BLOCK_BYTES = 1000, /* most messages fit one */
	MAX_SECONDS = 2147483647,
	MOST_LINES = INT32_MAX, /* so that twice as many can be counted */
};

/* The lines have the beginning of the oldest block, until there are too many:
 * then they have an allocation of their own. */
struct fields_block {
	struct fields_block *next;
	size_t len, cap;
	char text[];
};

_Static_assert(offsetof(struct fields_block, text) % _Alignof(struct field) ==
		       0,
	       "lines are at the beginning of a block");

const struct fields fields_none;

void fields_init(struct fields *f)
{
	*f = (struct fields){ 0 };
}

static bool fields_lines_are_in(const struct fields *f,
				const struct fields_block *b)
{
	return b && (const char *)f->lines == b->text;
}

/* Frees all blocks but the oldest, which is left, or null. */
static void fields_free_newer(struct fields *f)
{
	while (f->blocks && f->blocks->next) {
		struct fields_block *next = f->blocks->next;

		f->memory -= sizeof(*next) + f->blocks->cap;
		free(f->blocks);
		f->blocks = next;
	}
}

void fields_release(struct fields *f)
{
	fields_free_newer(f);
	if (!fields_lines_are_in(f, f->blocks))
		free(f->lines);
	free(f->blocks);
	fields_init(f);
}

/* Bytes that the lines take of a block. */
static size_t fields_lines_bytes(const struct fields *f,
				 const struct fields_block *b)
{
	return fields_lines_are_in(f, b) ? f->cap * sizeof(*f->lines) : 0;
}

void fields_clear(struct fields *f)
{
	f->nlines = 0;
	f->names = 0;
	fields_free_newer(f);
	if (f->blocks)
		f->blocks->len = fields_lines_bytes(f, f->blocks);
}

/* Adds a block; null without memory. */
static struct fields_block *fields_add_block(struct fields *f, size_t cap)
{
	struct fields_block *b = malloc(sizeof(*b) + cap);

	if (!b)
		return NULL;
	*b = (struct fields_block){ .next = f->blocks, .cap = cap };
	f->blocks = b;
	f->memory += sizeof(*b) + cap;
	return b;
}

/* Gives an empty list room for lines, and text behind them. */
static int fields_begin(struct fields *f, size_t nlines, size_t text)
{
	const size_t bytes = nlines * sizeof(*f->lines);

	if (!fields_add_block(f, bytes + text))
		return -ENOMEM;
	f->blocks->len = bytes;
	f->lines = (struct field *)(void *)f->blocks->text;
	f->cap = (uint32_t)nlines;
	return 0;
}

static struct fields_block *fields_oldest(const struct fields *f)
{
	struct fields_block *b = f->blocks;

	while (b && b->next)
		b = b->next;
	return b;
}

/* Moves the lines to where there is room for so many. */
static int fields_move_lines(struct fields *f, size_t cap)
{
	const bool inside = fields_lines_are_in(f, fields_oldest(f));
	struct field *lines = realloc(inside ? NULL : f->lines,
				      cap * sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	if (inside)
		memcpy(lines, f->lines, f->nlines * sizeof(*lines));
	else
		f->memory -= f->cap * sizeof(*lines);
	f->memory += cap * sizeof(*lines);
	f->lines = lines;
	f->cap = (uint32_t)cap;
	return 0;
}

static int fields_grow_lines(struct fields *f, size_t n)
{
	size_t cap = f->cap ? f->cap : FIRST_LINES;

	if (n > MOST_LINES)
		return -ENOMEM;
	while (cap < n)
		cap *= 2;
	return f->lines ? fields_move_lines(f, cap)
			: fields_begin(f, cap, BLOCK_BYTES);
}

/* Room for n lines in all. */
static inline int fields_reserve_lines(struct fields *f, size_t n)
{
	return n <= f->cap ? 0 : fields_grow_lines(f, n);
}

static inline int fields_reserve_line(struct fields *f)
{
	return fields_reserve_lines(f, (size_t)f->nlines + 1);
}

/* A block with room for so many bytes; null without memory. */
static struct fields_block *fields_grow_text(struct fields *f, size_t len)
{
	if (len > SIZE_MAX / 2)
		return NULL;
	return fields_add_block(f, len > BLOCK_BYTES ? len : BLOCK_BYTES);
}

/* Room for len bytes that will not move; null: no memory. */
static inline char *fields_reserve_text(struct fields *f, size_t len)
{
	struct fields_block *b = f->blocks;
	char *text;

	if (!b || b->cap - b->len < len)
		b = fields_grow_text(f, len);
	if (!b)
		return NULL;
	text = b->text + b->len;
	b->len += len;
	return text;
}

/* Room for one more line and its text; null: no memory, or too long. */
static char *fields_reserve(struct fields *f, size_t name_len, size_t value_len)
{
	if (name_len > UINT32_MAX || value_len > UINT32_MAX ||
	    fields_reserve_line(f))
		return NULL;
	return fields_reserve_text(f, name_len + value_len + 2);
}

int fields_add_n(struct fields *f, const char *name, size_t name_len,
		 const char *value, size_t value_len)
{
	struct fields_block *b = f->blocks;
	const size_t len = name_len + value_len + 2;
	char *text;

	/* as nearly always; the rest is a call */
	if (f->nlines < f->cap && b && b->cap - b->len >= len &&
	    (name_len | value_len) <= UINT32_MAX) {
		text = b->text + b->len;
		b->len += len;
	} else {
		text = fields_reserve(f, name_len, value_len);
		if (!text)
			return -ENOMEM;
	}
	memcpy(text, name, name_len);
	text[name_len] = '\0';
	memcpy(text + name_len + 1, value, value_len);
	text[name_len + 1 + value_len] = '\0';
	f->lines[f->nlines++] = (struct field){ text, text + name_len + 1,
						(uint32_t)name_len,
						(uint32_t)value_len };
	f->names |= field_name_bit(text, name_len);
	return 0;
}

int fields_borrow_n(struct fields *f, const char *name, size_t name_len,
		    const char *value, size_t value_len)
{
	if (name_len > UINT32_MAX || value_len > UINT32_MAX ||
	    fields_reserve_line(f))
		return -ENOMEM;
	f->lines[f->nlines++] = (struct field){ name, value,
						(uint32_t)name_len,
						(uint32_t)value_len };
	f->names |= field_name_bit(name, name_len);
	return 0;
}

int fields_set(struct fields *f, const char *name, const char *value)
{
	const bool others = fields_may_have(f, name);
	struct field last;
	int err = fields_add(f, name, value);

	if (err || !others)
		return err;
	last = f->lines[--f->nlines];
	fields_drop(f, name);
	f->lines[f->nlines++] = last;
	return 0;
}

void fields_drop(struct fields *f, const char *name)
{
	const size_t len = strlen(name);
	size_t kept = 0;

	for (size_t i = 0; i < f->nlines; i++) {
		if (!field_has_name(&f->lines[i], name, len))
			f->lines[kept++] = f->lines[i];
	}
	f->nlines = (uint32_t)kept;
}

/* The text of a list's newest block, of which a copy has its own. */
struct fields_text {
	const char *from;
	char *to;
	size_t len;
};

/* A string of so many bytes in the copy; null without memory. */
static const char *fields_copy_string(const struct fields_text *text,
				      struct fields *copy, const char *string,
				      size_t len)
{
	uintptr_t at = (uintptr_t)string - (uintptr_t)text->from;
	char *other;

	if (at < text->len)
		return text->to + at;
	other = fields_reserve_text(copy, len + 1);
	if (other)
		memcpy(other, string, len + 1);
	return other;
}

/* Copies all lines to a list that has room for them. */
static int fields_copy_lines(const struct fields *f, struct fields *copy)
{
	const struct fields_block *b = f->blocks;
	const size_t lines = fields_lines_bytes(f, b);
	struct fields_text text = { 0 };

	if (b && b->len > lines) {
		text.from = b->text + lines;
		text.len = b->len - lines;
		text.to = fields_reserve_text(copy, text.len);
		if (!text.to)
			return -ENOMEM;
		memcpy(text.to, text.from, text.len);
	}
	copy->names = f->names;
	for (size_t i = 0; i < f->nlines; i++) {
		const struct field *from = &f->lines[i];
		struct field to = {
			fields_copy_string(&text, copy, from->name,
					   from->name_len),
			fields_copy_string(&text, copy, from->value,
					   from->value_len),
			from->name_len,
			from->value_len,
		};

		if (!to.name || !to.value)
			return -ENOMEM;
		copy->lines[copy->nlines++] = to;
	}
	return 0;
}

/* Nearly all of a list's text is in one block: that is copied as it is, with
 * what is left there of lines that were removed. */
int fields_copy(const struct fields *f, struct fields *copy)
{
	fields_init(copy);
	if (!f->nlines)
		return 0;
	if (!fields_reserve_lines(copy, f->nlines) &&
	    !fields_copy_lines(f, copy))
		return 0;
	fields_free(copy);
	return -ENOMEM;
}

int fields_lend(const struct fields *f, struct fields *copy)
{
	fields_init(copy);
	/* some will be added: that is why it is wanted */
	if (fields_grow_lines(copy, (size_t)f->nlines + 1))
		return -ENOMEM;
	if (f->nlines)
		memcpy(copy->lines, f->lines, f->nlines * sizeof(*f->lines));
	copy->nlines = f->nlines;
	copy->names = f->names;
	return 0;
}

/* Bytes of all names and values, with their zeros. */
static size_t fields_text_of(const struct fields *f)
{
	size_t text = 0;

	for (size_t i = 0; i < f->nlines; i++)
		text += (size_t)f->lines[i].name_len + f->lines[i].value_len +
			2;
	return text;
}

size_t fields_fitted(const struct fields *f)
{
	return f->nlines ? f->nlines * sizeof(*f->lines) + fields_text_of(f) +
				   sizeof(struct fields_block)
			 : 0;
}

void fields_fit(struct fields *f)
{
	struct fields exact = { 0 };

	if (!f->nlines) {
		fields_free(f);
		return;
	}
	if (fields_begin(&exact, f->nlines, fields_text_of(f)))
		return;
	for (size_t i = 0; i < f->nlines; i++)
		fields_add_n(&exact, f->lines[i].name, f->lines[i].name_len,
			     f->lines[i].value, f->lines[i].value_len);
	fields_free(f);
	*f = exact;
}

const char *fields_find(const struct fields *f, const char *name, size_t len)
{
	for (size_t i = 0; i < f->nlines; i++) {
		if (field_has_name(&f->lines[i], name, len))
			return f->lines[i].value;
	}
	return NULL;
}

size_t fields_lines(const struct fields *f, const char *name)
{
	const size_t len = strlen(name);
	size_t n = 0;

	for (size_t i = 0; i < f->nlines; i++)
		n += field_has_name(&f->lines[i], name, len);
	return n;
}

bool fields_are(const struct fields *f, const char *name, const char *value)
{
	const size_t len = strlen(name), value_len = strlen(value);
	size_t n = 0;

	for (size_t i = 0; i < f->nlines; i++) {
		const struct field *line = &f->lines[i];

		if (!field_has_name(line, name, len))
			continue;
		if (n++ || line->value_len != value_len ||
		    memcmp(line->value, value, value_len) != 0)
			return false;
	}
	return n;
}

const char *field_skip_quoted(const char *at, const char *end)
{
	while (++at < end && *at != '"')
		at += *at == '\\' && at + 1 < end;
	return at < end ? at + 1 : end;
}

bool fields_walk(const struct fields *f, const char *name,
		 struct field_cursor *cursor, struct field_part *element)
{
	const size_t len = strlen(name);

	for (;;) {
		const struct field *line;

		while (cursor->rest.len) {
			*element = field_part_take(&cursor->rest, ',');
			if (element->len)
				return true;
		}
		if (cursor->line == f->nlines)
			return false;
		line = &f->lines[cursor->line++];
		if (field_has_name(line, name, len))
			cursor->rest = (struct field_part){ line->value,
							    line->value_len };
	}
}

bool fields_has_token(const struct fields *f, const char *name,
		      const char *token)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	while (fields_next(f, name, &cursor, &element)) {
		if (field_part_is(element, token))
			return true;
	}
	return false;
}

bool field_is_token(const char *s, size_t len)
{
	return octets_are_token(s, len);
}

int64_t field_seconds(struct field_part part)
{
	int64_t n = 0;

	for (size_t i = 0; i < part.len; i++) {
		if (part.at[i] < '0' || part.at[i] > '9')
			return -1;
		n = n * 10 + (part.at[i] - '0');
		if (n > MAX_SECONDS)
			n = MAX_SECONDS;
	}
	return part.len ? n : -1;
}

bool field_name_begins(const char *name, size_t len, const char *with)
{
	size_t i = 0;

	for (; with[i]; i++) {
		char c = i < len ? name[i] : '\0';

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		else if (c == '_')
			c = '-';
		if (c != with[i])
			return false;
	}
	return true;
}

#define FIELDS_HOP_BY_HOP(X)              \
	X("Connection")                   \
	X("Keep-Alive")                   \
	X("Proxy-Authenticate")           \
	X("Proxy-Authentication-Info")    \
	X("Proxy-Authorization")          \
	X("Proxy-Connection")             \
	X("TE")                           \
	X("Trailer")                      \
	X("Transfer-Encoding")            \
	X("Upgrade")

FIELD_NAMES_HAVE(field_is_hop_by_hop, FIELDS_HOP_BY_HOP)

/* Connection's own lines go later: they are read until then. */
static void fields_mark_named(struct field_names *names, const void *arg)
{
	struct field_cursor cursor = { 0 };
	struct field_part name;

	while (fields_next(arg, "Connection", &cursor, &name)) {
		if (!field_part_is(name, "Connection"))
			field_names_mark(names, name);
	}
}

/* Whether Connection names more than what goes anyway. */
static bool fields_names_others(const struct fields *f)
{
	struct field_cursor cursor = { 0 };
	struct field_part element;

	while (fields_next(f, "Connection", &cursor, &element)) {
		if (!field_part_is(element, "keep-alive"))
			return true;
	}
	return false;
}

void fields_remove_named(struct fields *f, const struct fields *by)
{
	const struct field_names_wanted named = {fields_mark_named, by};

	if (fields_names_others(by))
		field_names_remove(f, &named);
}

void fields_remove_hop_by_hop(struct fields *f)
{
	size_t kept = 0;

	if (!(f->names & FIELD_NAMES_BITS(FIELDS_HOP_BY_HOP)))
		return; /* only saves time */
	fields_remove_named(f, f);
	for (size_t i = 0; i < f->nlines; i++) {
		if (!field_is_hop_by_hop(f->lines[i].name,
					 f->lines[i].name_len))
			f->lines[kept++] = f->lines[i];
	}
	f->nlines = (uint32_t)kept;
}
