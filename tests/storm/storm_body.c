/*
 * Bodies and marks. A mark ends with a hash of what it says, so that a
 * damaged one is none.
 */
#include "config.h"

#include "tests/storm/storm_body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/mix.h"

enum {
	STORM_BODY_LINE = 64,
	STORM_BODY_ROOM = 96,        /* for the largest numbers */
	STORM_BODY_MARK_MOST = 2048, /* bytes of a target in a mark */
};

static const char storm_body_path[] = "/good/";

int storm_body_number(const char *path, size_t len)
{
	size_t skip = sizeof(storm_body_path) - 1;
	int number = 0;

	if (len <= skip || len > skip + 4 ||
	    memcmp(path, storm_body_path, skip))
		return -1;
	for (size_t i = skip; i < len; i++) {
		if (path[i] < '0' || path[i] > '9')
			return -1;
		number = number * 10 + path[i] - '0';
	}
	return number < STORM_BODY_URLS ? number : -1;
}

size_t storm_body_size(unsigned number)
{
	static const size_t sizes[] = {0,    1,     37,    700,  1500,
				       4000, 4097,  9000,  700,  17000,
				       100,  66000, 70000, 3000, 300};

	if (number % 50 == 49)
		return 300000;
	if (number % 100 == 98)
		return 1200000;
	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void storm_body_line(char line[STORM_BODY_ROOM], unsigned number,
			    unsigned version, size_t at)
{
	snprintf(line, STORM_BODY_ROOM,
		 "good.example%s%04u, version %04u, byte %-20zu\n",
		 storm_body_path, number, version, at);
}

void storm_body_add(struct storm_text *t, unsigned number, unsigned version,
		    size_t from, size_t to)
{
	char line[STORM_BODY_ROOM];

	while (from < to) {
		size_t skip = from % STORM_BODY_LINE,
		       n = STORM_BODY_LINE - skip;

		n = n < to - from ? n : to - from;
		storm_body_line(line, number, version, from - skip);
		storm_text_add(t, line + skip, n);
		from += n;
	}
}

bool storm_body_is(unsigned number, unsigned version, size_t from,
		   const char *bytes, size_t len)
{
	char line[STORM_BODY_ROOM];

	while (len) {
		size_t skip = from % STORM_BODY_LINE,
		       n = STORM_BODY_LINE - skip;

		n = n < len ? n : len;
		storm_body_line(line, number, version, from - skip);
		if (memcmp(bytes, line + skip, n))
			return false;
		bytes += n;
		from += n;
		len -= n;
	}
	return true;
}

static uint32_t storm_body_hash(char kind, const char *what, size_t len)
{
	uint64_t hash = (uint64_t)kind;

	for (size_t i = 0; i < len; i++)
		hash = scd__mix64(hash + (unsigned char)what[i]);
	return (uint32_t)hash;
}

void storm_body_mark(struct storm_text *t, char kind, const char *what,
		     size_t len)
{
	if (len > STORM_BODY_MARK_MOST)
		return;
	storm_text_print(t, "{%c %.*s %08x}", kind, (int)len, what,
			 storm_body_hash(kind, what, len));
}

/* A mark that begins here: its length, 0 if there is none. */
static size_t storm_body_read_mark(const char *at, size_t left, char *kind,
				   const char **what, size_t *len)
{
	const char *end = memchr(at, '}', left);
	char hash[9] = "";

	if (!end || end - at < 13 || at[2] != ' ' || end[-9] != ' ')
		return 0;
	memcpy(hash, end - 8, 8);
	*kind = at[1];
	*what = at + 3;
	*len = (size_t)(end - 9 - *what);
	if (strtoul(hash, NULL, 16) != storm_body_hash(*kind, *what, *len))
		return 0;
	return (size_t)(end + 1 - at);
}

char storm_body_next_mark(const struct storm_text *in, size_t *at,
			  const char **what, size_t *len)
{
	char kind;

	while (*at < in->len) {
		const char *from = memchr(in->at + *at, '{', in->len - *at);
		size_t size;

		if (!from)
			break;
		*at = (size_t)(from - in->at);
		size = storm_body_read_mark(from, in->len - *at, &kind, what,
					    len);
		*at += size ? size : 1;
		if (size)
			return kind;
	}
	*at = in->len;
	return 0;
}
