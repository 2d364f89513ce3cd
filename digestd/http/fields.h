/*
 * Header fields: a list of names and values in the order in which they came.
 *
 * Names compare without regard to case (RFC 9110, 5.1). Values are kept as
 * they came, without the white space around them; they may be empty and never
 * hold CR, LF or NUL as long as what fills the list is careful (guard.h).
 *
 * The text is kept in blocks that do not move, so a list of usual size costs
 * one allocation, and what fields_at() and fields_get() gave stays where it
 * is until the list is cleared or freed.
 */
#ifndef DIGESTD_HTTP_FIELDS_H
#define DIGESTD_HTTP_FIELDS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/octets.h"

/* One line. Both strings end with a NUL, which their lengths do not count: they
 * are there for who would else measure them a dozen times. */
struct field {
	const char *name;
	const char *value;
	uint32_t name_len, value_len; /* bytes */
};

/* All fields are private. */
struct fields {
	struct field *lines;
	uint32_t nlines, cap;
	struct fields_block *blocks; /* the newest first */
	uint64_t names; /* the bits of all names, and of some that have gone */
	size_t memory;  /* bytes of lines and blocks */
};

/* A piece of a value, not ended by NUL. */
struct field_part {
	const char *at;
	size_t len;
};

/* A place in a walk over list elements; all zero at its beginning. */
struct field_cursor {
	size_t line;            /* the next to look at */
	struct field_part rest; /* of the one before */
};

/* A list of none, for who has none of its own. */
extern const struct fields fields_none;

/* Makes an empty list. Allocates nothing, cannot fail. */
void fields_init(struct fields *f);

/* Releases everything; the list is empty again. Of one that has nothing, which
 * most are that a request frees, nothing is to be done. */
void fields_release(struct fields *f);
static inline void fields_free(struct fields *f)
{
	if (f->blocks) /* else there are no lines either */
		fields_release(f);
}

/* Empties the list and keeps its memory. */
void fields_clear(struct fields *f);

/*
 * A bit that names which are the same have in common. A request looks for some
 * forty fields, of which most are not there, as the bits of those that are
 * say. Inline, so that it is a constant for a name that is one.
 */
static inline uint64_t field_name_bit(const char *name, size_t len)
{
	return UINT64_C(1) << ((((unsigned char)*name | 0x20) + 11 * len) & 63);
}

/* False: there is no line of that name. True: perhaps there is one. */
static inline bool fields_may_have(const struct fields *f, const char *name)
{
	return f->names & field_name_bit(name, strlen(name));
}

/* Removes all lines of a name. */
void fields_drop(struct fields *f, const char *name);
static inline void fields_remove(struct fields *f, const char *name)
{
	if (fields_may_have(f, name))
		fields_drop(f, name);
}

/* Number of lines. */
static inline size_t fields_count(const struct fields *f)
{
	return f->nlines;
}

/* Line i, from 0; the structure lives until the list changes. */
static inline const struct field *fields_at(const struct fields *f, size_t i)
{
	assert(i < f->nlines);
	return &f->lines[i];
}

/* Bytes of memory that the list holds. */
static inline size_t fields_memory(const struct fields *f)
{
	return f->memory;
}

/*
 * Appends a line. Strings are copied and may be the list's own. Returns 0 or
 * -ENOMEM, and then the list is as it was.
 */
int fields_add_n(struct fields *f, const char *name, size_t name_len,
		 const char *value, size_t value_len);
static inline int fields_add(struct fields *f, const char *name,
			     const char *value)
{
	return fields_add_n(f, name, strlen(name), value, strlen(value));
}

/* Appends a line whose text is not copied: it lives longer than the list. Both
 * strings are ended by NUL, even where their lengths are given. */
int fields_borrow_n(struct fields *f, const char *name, size_t name_len,
		    const char *value, size_t value_len);
static inline int fields_borrow(struct fields *f, const char *name,
				const char *value)
{
	return fields_borrow_n(f, name, strlen(name), value, strlen(value));
}

/* Removes all lines of a name and appends one. As fields_add(). */
int fields_set(struct fields *f, const char *name, const char *value);

/* Makes *copy, which is overwritten, a copy of f. Returns 0 or -ENOMEM. */
int fields_copy(const struct fields *f, struct fields *copy);

/*
 * Makes *copy, which is overwritten, a list with the same lines, whose text
 * stays that of f: f is neither changed nor freed before the copy. Returns 0
 * or -ENOMEM.
 */
int fields_lend(const struct fields *f, struct fields *copy);

/*
 * Gives back the memory that a list does not need which is to be kept: its
 * lines move. Without memory to move them to, it stays as it is.
 */
void fields_fit(struct fields *f);

/* Bytes of memory that it would hold then. */
size_t fields_fitted(const struct fields *f);

/* The value of the first line of a name of so many bytes; null when there is
 * none. */
const char *fields_find(const struct fields *f, const char *name, size_t len);
static inline const char *fields_get(const struct fields *f, const char *name)
{
	return fields_may_have(f, name) ? fields_find(f, name, strlen(name))
					: NULL;
}

/* Whether there is one line of a name, with exactly this value. */
bool fields_are(const struct fields *f, const char *name, const char *value);

/* Number of lines of a name. */
size_t fields_lines(const struct fields *f, const char *name);

/*
 * Walks the elements of a list field (RFC 9110, 5.6.1) over all its lines, in
 * order, empty ones left out; commas inside quoted strings do not separate.
 * The list must not change meanwhile. Returns false at the end.
 */
bool fields_walk(const struct fields *f, const char *name,
		 struct field_cursor *cursor, struct field_part *element);
static inline bool fields_next(const struct fields *f, const char *name,
			       struct field_cursor *cursor,
			       struct field_part *element)
{
	return fields_may_have(f, name) &&
	       fields_walk(f, name, cursor, element);
}

/* Whether an element of a list field, taken as a token, equals `token`. */
bool fields_has_token(const struct fields *f, const char *name,
		      const char *token);

/*
 * Whether two names are the same, without regard to case. A request compares
 * some hundreds, and nearly all differ in their first letter: to look at that
 * first saves a tenth of what a miss takes in user space.
 */
static inline bool field_name_is(const char *a, const char *b)
{
	return !((*a ^ *b) & ~0x20) && !strcasecmp(a, b);
}

/* Whether a line has a name of so many bytes; its length goes first. */
static inline bool field_has_name(const struct field *line, const char *name,
				  size_t len)
{
	return line->name_len == len && !((*line->name ^ *name) & ~0x20) &&
	       octets_same(line->name, name, len);
}

/* Inline, so that a constant is measured by the compiler. */
static inline bool field_is(const struct field *line, const char *name)
{
	return field_has_name(line, name, strlen(name));
}

#define FIELD_NAMES_BIT(own) | field_name_bit(own, sizeof(own) - 1)
#define FIELD_NAMES_IS(own) \
	|| (len == sizeof(own) - 1 && octets_same(name, own, len))

/* The bits of a list of names, LIST(X), which says X("Name") for each: a
 * constant. */
#define FIELD_NAMES_BITS(LIST) (UINT64_C(0) LIST(FIELD_NAMES_BIT))

/* Makes a function of it: whether a name of len bytes is one of them. Their
 * bits say no to most. */
#define FIELD_NAMES_HAVE(function, LIST)                                      \
	bool function(const char *name, size_t len)                           \
	{                                                                     \
		return (field_name_bit(name, len) & FIELD_NAMES_BITS(LIST)) && \
		       (false LIST(FIELD_NAMES_IS));                          \
	}

/* Whether a part equals a string, without regard to case. As above, for the
 * thousands of elements of a list. */
static inline bool field_part_is(struct field_part part, const char *text)
{
	return part.len && !((*part.at ^ *text) & ~0x20) &&
	       strlen(text) == part.len &&
	       octets_same(part.at, text, part.len);
}

static inline bool field_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Behind the quoted string that begins at a quote, or the end. */
const char *field_skip_quoted(const char *at, const char *end);

/* Without the white space around it. */
static inline struct field_part field_part_trim(struct field_part s)
{
	while (s.len && field_is_blank(*s.at)) {
		s.at++;
		s.len--;
	}
	while (s.len && field_is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

/* Takes the bytes of s up to the first `stop` outside quoted strings, without
 * the white space around them; *s moves behind the stop. Inline, as a list of
 * 8 KB may have thousands of elements, each of them cheaper than a call. */
static inline struct field_part field_part_take(struct field_part *s, char stop)
{
	const char *from = s->at, *end = from + s->len, *at = from, *to;

	while (at < end && *at != stop)
		at = *at == '"' ? field_skip_quoted(at, end) : at + 1;
	to = at;
	at += at < end;
	*s = (struct field_part){ at, (size_t)(end - at) };
	while (from < to && field_is_blank(*from))
		from++;
	while (from < to && field_is_blank(to[-1]))
		to--;
	return (struct field_part){ from, (size_t)(to - from) };
}

/* A token of RFC 9110, 5.6.2: at least one byte, all of them allowed. */
bool field_is_token(const char *s, size_t len);

/*
 * A whole number of seconds, digits only (RFC 9111, 1.2.2): what is above
 * 2^31 - 1 becomes 2^31 - 1. Returns -1 when it is none.
 */
int64_t field_seconds(struct field_part part);

/* Whether a name begins with a text of lower-case letters and "-". "_" counts
 * as "-", which is the same to CGI and to what is modelled on it. */
bool field_name_begins(const char *name, size_t len, const char *with);

/* Whether a field of this name, of so many bytes, belongs to one connection
 * only (RFC 9110, 7.6.1). */
bool field_is_hop_by_hop(const char *name, size_t len);

/* Removes from f the fields that Connection in `by`, which may be f, lists; not
 * Connection itself. */
void fields_remove_named(struct fields *f, const struct fields *by);

/*
 * Removes the fields of the connection: those of RFC 9110, 7.6.1, the proxies'
 * credentials, and those that Connection lists.
 */
void fields_remove_hop_by_hop(struct fields *f);

#endif
