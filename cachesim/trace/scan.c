/*
 * See scan.h. All of it is bounded by the length of the record.
 */
#include "cachesim/trace/scan.h"

#include <string.h>
#include <strings.h>

#include "cachesim/trace/swar.h"

static bool scan_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Bytes before the first blank. */
static size_t scan_word_len(struct trace_text t)
{
	size_t i = 0;

	for (; t.len - i >= 8; i += 8) {
		uint64_t x = swar_load(t.at + i);
		uint64_t marks = swar_zeros(x ^ swar_every(' ')) |
				 swar_zeros(x ^ swar_every('\t'));

		if (marks)
			return i + swar_first(marks);
	}
	while (i < t.len && !scan_is_blank(t.at[i]))
		i++;
	return i;
}

struct trace_text scan_word(struct trace_text *rest)
{
	struct trace_text word;

	while (rest->len && scan_is_blank(*rest->at)) {
		rest->at++;
		rest->len--;
	}
	word.at = rest->at;
	word.len = scan_word_len(*rest);
	rest->at += word.len;
	rest->len -= word.len;
	return word;
}

bool scan_until(struct trace_text *rest, char c, struct trace_text *out)
{
	const char *end = rest->len ? memchr(rest->at, c, rest->len) : NULL;

	if (!end)
		return false;
	out->at = rest->at;
	out->len = (size_t)(end - rest->at);
	rest->at = end + 1;
	rest->len -= out->len + 1;
	return true;
}

/* The same of more digits than are sure to fit. */
static bool scan_long(struct trace_text t, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < t.len; i++) {
		unsigned digit = (unsigned)(unsigned char)t.at[i] - '0';

		if (digit > 9 || v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

bool scan_u64(struct trace_text t, uint64_t *out)
{
	enum { FIT = 19 }; /* digits that are sure to */
	bool other = false;
	uint64_t v = 0;

	if (t.len == 0)
		return false;
	if (t.len > FIT)
		return scan_long(t, out);
	for (size_t i = 0; i < t.len; i++) {
		unsigned digit = (unsigned)(unsigned char)t.at[i] - '0';

		other |= digit > 9;
		v = v * 10 + digit;
	}
	if (!other)
		*out = v;
	return !other;
}

bool scan_seconds(struct trace_text t, int64_t *out_ms)
{
	struct trace_text whole;
	uint64_t s, fraction = 0;

	if (!scan_until(&t, '.', &whole)) {
		whole = t;
		t.len = 0;
	}
	if (!scan_u64(whole, &s) || s > 1000000000000000u)
		return false;
	if (t.len) {
		char digits[3] = { '0', '0', '0' };
		uint64_t all;

		memcpy(digits, t.at, t.len < 3 ? t.len : 3);
		if (t.len > 18 || !scan_u64(t, &all))
			return false;
		scan_u64((struct trace_text){ digits, 3 }, &fraction);
	}
	*out_ms = (int64_t)(s * 1000 + fraction);
	return true;
}

bool scan_status(struct trace_text t, unsigned *out)
{
	uint64_t v;

	if (t.len != 3 || !scan_u64(t, &v) || v < 100 || v > 599)
		return false;
	*out = (unsigned)v;
	return true;
}

bool scan_size(struct trace_text t, struct trace_request *req)
{
	if (t.len == 1 && t.at[0] == '-')
		return true;
	if (!scan_u64(t, &req->size) || req->size > INT64_MAX) {
		req->size = 0;
		return false;
	}
	req->has_size = true;
	return true;
}

bool scan_is_token(struct trace_text t)
{
	/* clang-format off */
	static const bool tchar[256] = {
		['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1,
		['\''] = 1, ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,
		['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1, ['~'] = 1,
		['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1,
	};
	/* clang-format on */

	for (size_t i = 0; i < t.len; i++)
		if (!tchar[(unsigned char)t.at[i]])
			return false;
	return t.len > 0;
}

bool scan_is(struct trace_text a, const char *b)
{
	return a.len == strlen(b) && !strncasecmp(a.at, b, a.len);
}

char *scan_room(struct trace_parser *p, size_t len)
{
	char *at = p->scratch + p->used;

	if (len > (size_t)TRACE_SCRATCH_BYTES - p->used)
		return NULL;
	p->used += len;
	return at;
}

static bool scan_has_control(struct trace_text t)
{
	size_t i = 0;

	for (; t.len - i >= 8; i += 8) {
		uint64_t x = swar_load(t.at + i);

		if (swar_controls(x) | swar_zeros(x ^ swar_every(0x7f)))
			return true;
	}
	for (; i < t.len; i++)
		if ((unsigned char)t.at[i] < 0x20 || t.at[i] == 0x7f)
			return true;
	return false;
}

int scan_url(struct trace_parser *p, struct trace_text t,
	     struct trace_request *req)
{
	char *joined;

	if (t.len == 0 || scan_has_control(t))
		return TRACE_EURL;
	if (t.at[0] != '/') {
		trace_request_url(req, t);
		return 0;
	}
	joined = scan_room(p, p->base.len + t.len);
	if (!joined)
		return TRACE_ELONG;
	memcpy(joined, p->base.at, p->base.len);
	memcpy(joined + p->base.len, t.at, t.len);
	trace_request_url(req,
			  (struct trace_text){ joined, p->base.len + t.len });
	return 0;
}

size_t scan_decimal(uint64_t number, char out[SCAN_DECIMAL_MAX])
{
	char digits[SCAN_DECIMAL_MAX];
	size_t n = 0;

	do {
		digits[SCAN_DECIMAL_MAX - ++n] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	memcpy(out, digits + SCAN_DECIMAL_MAX - n, n);
	return n;
}

void scan_number_key(struct trace_parser *p, uint64_t key,
		     struct trace_request *req)
{
	char *text = scan_room(p, SCAN_DECIMAL_MAX);

	req->key = key;
	if (!text)
		return;
	req->url.at = text;
	req->url.len = scan_decimal(key, text);
}

int scan_key(struct trace_parser *p, struct trace_text t,
	     struct trace_request *req)
{
	uint64_t key;

	if (!scan_u64(t, &key))
		return TRACE_EKEY;
	scan_number_key(p, key, req);
	return 0;
}

int64_t scan_which_unit(int64_t ms)
{
	static const int64_t from = 100000000000000; /* the year 5138 */

	return ms >= from ? ms / 1000 : ms;
}

bool scan_is_text(struct trace_text sample)
{
	for (size_t i = 0; i < sample.len; i++) {
		unsigned char c = (unsigned char)sample.at[i];

		if (c < 0x20 && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return true;
}

struct trace_text scan_first_line(struct trace_text sample)
{
	struct trace_text line = sample;
	bool more = true;

	while (more) {
		more = scan_until(&sample, '\n', &line);
		if (!more)
			line = sample;
		if (line.len && *line.at != '#' && *line.at != '\r')
			break;
	}
	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	return line;
}
