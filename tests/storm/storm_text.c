/*
 * Texts and their mutations. What is put in are the bytes that parsers treat
 * specially, more often than any others.
 */
#include "config.h"

#include "tests/storm/storm_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/codec/random.h"

enum { STORM_TEXT_FIRST_BYTES = 256 };

static void storm_text_reserve(struct storm_text *t, size_t more)
{
	size_t cap = t->cap ? t->cap : STORM_TEXT_FIRST_BYTES;

	while (cap < t->len + more)
		cap *= 2;
	if (cap == t->cap)
		return;
	t->at = realloc(t->at, cap);
	if (!t->at)
		abort();
	t->cap = cap;
}

void storm_text_add(struct storm_text *t, const void *bytes, size_t len)
{
	storm_text_reserve(t, len);
	if (len)
		memcpy(t->at + t->len, bytes, len);
	t->len += len;
}

void storm_text_fill(struct storm_text *t, char byte, size_t len)
{
	storm_text_reserve(t, len);
	memset(t->at + t->len, byte, len);
	t->len += len;
}

void storm_text_print(struct storm_text *t, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	storm_text_reserve(t, (size_t)len + 1);
	va_start(args, format);
	vsnprintf(t->at + t->len, (size_t)len + 1, format, args);
	va_end(args);
	t->len += (size_t)len;
}

void storm_text_free(struct storm_text *t)
{
	free(t->at);
	*t = (struct storm_text){0};
}

bool storm_text_has(const struct storm_text *t, const char *bytes, size_t len)
{
	return t->len >= len && memmem(t->at, t->len, bytes, len);
}

const char *storm_text_choose(uint64_t *random, const char *const *from,
			      size_t n)
{
	return from[random_below(random, n)];
}

bool storm_text_once_in(uint64_t *random, unsigned n)
{
	return random_below(random, n) == 0;
}

/* Puts bytes in the place of `cut` others. */
static void storm_text_replace(struct storm_text *t, size_t at, size_t cut,
			       const struct storm_text *by)
{
	size_t rest = t->len - at - cut;

	storm_text_reserve(t, by->len);
	memmove(t->at + at + by->len, t->at + at + cut, rest);
	if (by->len)
		memcpy(t->at + at, by->at, by->len);
	t->len += by->len;
	t->len -= cut;
}

static void storm_text_insert(struct storm_text *t, size_t at, const char *what,
			      size_t len)
{
	struct storm_text by = {(char *)(uintptr_t)what, len, len};

	storm_text_replace(t, at, 0, &by);
}

/* Bytes that mean something to a parser. */
static void storm_text_insert_special(struct storm_text *t, size_t at,
				      uint64_t *random)
{
	static const char *const special[] = {
		"\r\n",
		"\n",
		"\r",
		"\r\n ",
		"\r\n\t",
		"\r\n\r\n",
		"\n\n",
		" ",
		"\t",
		":",
		",",
		";",
		"\"",
		"\\",
		"\x7f",
		"\xff",
		"\x80",
		"\x0b",
		"%00",
		"%0d%0a",
		"0",
		"-1",
		"18446744073709551616",
		"9223372036854775807",
		"4294967296",
		"99999999999999999999",
		"chunked",
		"identity",
		"Content-Length: 4\r\n",
		"\r\nContent-Length: 3\r\n",
		"\r\nTransfer-Encoding: chunked\r\n",
		"\r\nHost: good.example\r\n",
		"GET /good/1 HTTP/1.1\r\n",
		"0\r\n\r\n",
		"1\r\nx\r\n",
		"ffffffffffffffff\r\n",
		"=",
		"*",
		"HTTP/1.1 200 OK\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n",
		"bytes=0-",
		"W/\"",
		"../",
		"//",
		"?",
		"#",
		"@",
		"[",
		"]",
	};
	const char *what = STORM_CHOOSE(random, special);

	if (storm_text_once_in(random, 12))
		storm_text_insert(t, at, "\0", 1);
	else
		storm_text_insert(t, at, what, strlen(what));
}

/* The line that a place lies in, with its end. */
static void storm_text_line(const struct storm_text *t, size_t place,
			    size_t *from, size_t *len)
{
	size_t to = place;

	while (place > 0 && t->at[place - 1] != '\n')
		place--;
	while (to < t->len && t->at[to] != '\n')
		to++;
	*from = place;
	*len = (to < t->len ? to + 1 : to) - place;
}

/* Doubles, removes, moves or folds a line, or takes the CR from its end. */
static void storm_text_change_line(struct storm_text *t, uint64_t *random)
{
	size_t from, len;
	struct storm_text line = {0}, nothing = {0};

	storm_text_line(t, random_below(random, t->len), &from, &len);
	storm_text_add(&line, t->at + from, len);
	switch (random_below(random, 5)) {
	case 0:
		storm_text_replace(t, from, 0, &line);
		break;
	case 1:
		storm_text_replace(t, from, len, &nothing);
		break;
	case 2:
		storm_text_replace(t, from, len, &nothing);
		storm_text_line(t, t->len ? random_below(random, t->len) : 0,
				&from, &len);
		storm_text_replace(t, from, 0, &line);
		break;
	case 3:
		storm_text_insert(t, from, " ", 1);
		break;
	default:
		if (len > 1 && line.at[len - 2] == '\r')
			storm_text_replace(t, from + len - 2, 1, &nothing);
	}
	storm_text_free(&line);
}

static void storm_text_change(struct storm_text *t, uint64_t *random)
{
	size_t at = random_below(random, t->len), cut;
	struct storm_text piece = {0};

	switch (random_below(random, 9)) {
	case 0:
		t->at[at] = (char)random_next(random);
		break;
	case 1:
		t->at[at] ^= (char)(1 << random_below(random, 8));
		break;
	case 2:
	case 3:
		storm_text_insert_special(t, at, random);
		break;
	case 4: /* some bytes less */
		cut = 1 + random_below(random, 8);
		cut = cut < t->len - at ? cut : t->len - at;
		storm_text_replace(t, at, cut, &piece);
		break;
	case 5: /* some bytes again */
		cut = 1 + random_below(random, 40);
		cut = cut < t->len - at ? cut : t->len - at;
		storm_text_add(&piece, t->at + at, cut);
		storm_text_replace(t, random_below(random, t->len), 0, &piece);
		break;
	case 6: /* one byte, many times */
		storm_text_fill(&piece, t->at[at],
				(size_t)1 << random_below(random, 14));
		storm_text_replace(t, at, 0, &piece);
		break;
	default:
		storm_text_change_line(t, random);
	}
	storm_text_free(&piece);
}

void storm_text_mutate(struct storm_text *t, uint64_t *random, unsigned most)
{
	uint64_t changes = 1 + random_below(random, most);

	while (changes-- > 0 && t->len)
		storm_text_change(t, random);
	if (t->len && storm_text_once_in(random, 12))
		t->len = random_below(random, t->len);
}

void storm_text_splice(struct storm_text *t, const struct storm_text *other,
		       uint64_t *random)
{
	size_t keep = t->len ? random_below(random, t->len + 1) : 0;
	size_t from = other->len ? random_below(random, other->len + 1) : 0;

	t->len = keep;
	storm_text_add(t, other->at + from, other->len - from);
}

bool storm_text_is_token(const char *at, const char *end)
{
	if (at == end)
		return false;
	for (; at < end; at++)
		if (*at <= ' ' || *at > '~' ||
		    strchr("()<>@,;:\\\"/[]?={}", *at))
			return false;
	return true;
}
