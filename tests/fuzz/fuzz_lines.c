/*
 * Any names and values, each with a zero behind it, as the header of an HTTP/2
 * request: the first byte says over which connection it comes, and how much of
 * it is allowed. What is accepted is one header of HTTP/1.1, to its last byte,
 * with the method and the fields that came, in their order, and no others.
 */
#include <string.h>

#include "digestd/http/request_lines.h"
#include "tests/codec/random.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_INPUT = 4096, SECURE = 1, SMALL = 2 };

static struct field_part next_word(const char **at, const char *end)
{
	const char *stop = memchr(*at, '\0', (size_t)(end - *at));
	struct field_part word;

	if (!stop)
		stop = end;
	word = (struct field_part){ *at, (size_t)(stop - *at) };
	*at = stop + (stop < end);
	return word;
}

static int is(struct field_part part, const char *text)
{
	return part.len == strlen(text) && !memcmp(part.at, text, part.len);
}

static int same(struct field_part a, struct field_part b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

/* Whether a field of the input is a line of its own in what was read. */
static int is_line(struct field_part name)
{
	return *name.at != ':' && !is(name, "host") && !is(name, "cookie");
}

/* The fields that came are those that were read. */
static void compare(const struct request_head *h, const char *at,
		    const char *end)
{
	unsigned i = 0;

	while (at < end) {
		struct field_part name = next_word(&at, end);
		struct field_part value = next_word(&at, end);

		if (is(name, ":method"))
			fuzz_must(same(value, request_head_part(h, h->method)));
		if (!is_line(name))
			continue;
		while (i < h->nfields &&
		       is(request_head_part(h, h->fields[i].name), "host"))
			i++;
		fuzz_must(i < h->nfields);
		fuzz_must(same(name,
			       request_head_part(h, h->fields[i].name)));
		fuzz_must(same(value,
			       request_head_part(h, h->fields[i].value)));
		i++;
	}
	for (; i < h->nfields; i++) {
		struct field_part name = request_head_part(h,
							   h->fields[i].name);

		fuzz_must(is(name, "host") || is(name, "cookie"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct request_limits limits = { 4096, 4096 };
	struct request_lines l = { .came = 0 };
	const char *at = (const char *)data + 1, *end;
	struct field_part lines;
	struct request_head h;

	if (len < 1 || len > MAX_INPUT)
		return 0;
	end = (const char *)data + len;
	if (data[0] & SMALL)
		limits = (struct request_limits){ 20, 80 };
	request_lines_begin(&l, &limits, data[0] & SECURE);
	while (at < end) {
		struct field_part name = next_word(&at, end);

		request_lines_add(&l, name, next_word(&at, end));
	}
	if (!request_lines_end(&l, &lines) && !l.failed) {
		request_head_init(&h, &limits);
		switch (request_head_read(&h, lines.at, lines.len)) {
		case REQUEST_HEAD_DONE:
			fuzz_must(h.len == lines.len);
			compare(&h, (const char *)data + 1, end);
			break;
		case REQUEST_HEAD_REFUSED:
			break;
		case REQUEST_HEAD_MORE:
		case REQUEST_HEAD_PREFACE:
			fuzz_must(0);
		}
	}
	request_lines_free(&l);
	return 0;
}

/* clang-format off */
static const char *const words[] = {
	":method", ":scheme", ":authority", ":path", "GET", "CONNECT", "http",
	"https", "h", "h:443", "/", "*", "cookie", "host", "te", "trailers",
	"connection", "content-length", "5", "a", "\r\n", "a: b", " ", "A",
};
/* clang-format on */

/* Puts a word somewhere, with or without its end, or does the usual. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	uint64_t random = seed;
	const char *word = words[random_below(&random, sizeof(words) /
							       sizeof(*words))];
	size_t word_len = strlen(word) + (size_t)random_below(&random, 2), at;

	if (len < 1 || len + word_len > max || random_below(&random, 2))
		return fuzz_mutate(data, len, max);
	at = 1 + (size_t)random_below(&random, len);
	memmove(data + at + word_len, data + at, len - at);
	memcpy(data + at, word, word_len);
	return len + word_len;
}
