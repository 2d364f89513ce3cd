/*
 * Origins. Requests of the node are read strictly: what is malformed, or more
 * than was announced, could be a second request to another server.
 */
#include "config.h"

#include "tests/storm/storm_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "codec/mix.h"
#include "tests/codec/random.h"
#include "tests/storm/storm_body.h"
#include "tests/storm/storm_log.h"
#include "tests/storm/storm_response.h"
#include "tests/storm/storm_text.h"
#include "tests/storm/storm_world.h"

enum { STORM_ORIGIN_VISITS = 65536 };

static const char *storm_origin_head_end(const struct storm_text *in)
{
	const char *end =
		in->len ? memmem(in->at, in->len, "\r\n\r\n", 4) : NULL;

	return end ? end + 4 : NULL;
}

const char *storm_origin_field(const struct storm_text *in, const char *name,
			       size_t *len)
{
	const char *end = storm_origin_head_end(in), *at = in->at;
	size_t n = strlen(name);

	while (end && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		if (!next)
			break;
		if ((size_t)(next - at) > n && !strncasecmp(at, name, n) &&
		    at[n] == ':') {
			at += n + 1;
			while (*at == ' ')
				at++;
			*len = (size_t)(next - 1 - at);
			return at;
		}
		at = next + 1;
	}
	return NULL;
}

/*
 * "METHOD SP target SP HTTP/1.1 CR LF"; 1.0 from libcurl, which asks peers for
 * digests, to one that has answered so before.
 */
static const char *storm_origin_judge_line(const char *at, const char *end)
{
	const char *space = memchr(at, ' ', (size_t)(end - at));
	const char *target = space ? space + 1 : end;
	const char *last = target;

	if (!space || !storm_text_is_token(at, space))
		return "a method that is no token";
	while (last<end && * last> ' ' && *last <= '~')
		last++;
	if (last == target || end - last != 11 ||
	    (memcmp(last, " HTTP/1.1\r\n", 11) &&
	     memcmp(last, " HTTP/1.0\r\n", 11)))
		return "a malformed request line";
	if (*target != '/' && *target != '*' && memcmp(target, "http://", 7) &&
	    memcmp(target, "https://", 8))
		return "a target of no form";
	return NULL;
}

static const char *storm_origin_judge_fields(const char *at, const char *end)
{
	unsigned hosts = 0, lengths = 0, codings = 0;

	while (at + 2 < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		const char *colon = memchr(at, ':', (size_t)(next - at));

		if (next == at || next[-1] != '\r')
			return "a bare LF";
		if (!colon || !storm_text_is_token(at, colon))
			return "a field name that is no token";
		for (const char *c = colon; c < next - 1; c++)
			if (((unsigned char)*c < ' ' && *c != '\t') ||
			    *c == 0x7f)
				return "a control byte in a field";
		hosts += !strncasecmp(at, "Host:", 5);
		lengths += !strncasecmp(at, "Content-Length:", 15);
		codings += !strncasecmp(at, "Transfer-Encoding:", 18);
		at = next + 1;
	}
	if (hosts != 1)
		return "not one Host";
	return lengths + codings > 1 ? "two lengths" : NULL;
}

/* The length of trailers and the line that ends them, behind the last chunk;
 * 0: not whole. A node passes a client's on. */
static size_t storm_origin_measure_trailers(const char *at, size_t len,
					    const char **wrong)
{
	size_t used = 0;

	for (;;) {
		const char *line = at + used, *colon;
		const char *end = memmem(line, len - used, "\r\n", 2);

		if (!end)
			return 0;
		used = (size_t)(end + 2 - at);
		if (end == line)
			return used;
		colon = memchr(line, ':', (size_t)(end - line));
		if (!colon || !storm_text_is_token(line, colon))
			*wrong = "a trailer whose name is no token";
	}
}

/* The length of a chunked body; 0: not whole. */
static size_t storm_origin_measure_chunks(const char *at, size_t len,
					  const char **wrong)
{
	size_t used = 0;

	for (;;) {
		const char *end = memmem(at + used, len - used, "\r\n", 2);
		char *after;
		size_t size;

		if (!end)
			return 0;
		size = strtoul(at + used, &after, 16);
		if (after == at + used || after != end)
			*wrong = "a malformed chunk";
		used = (size_t)(end + 2 - at);
		if (*wrong)
			return len;
		if (!size) {
			size = storm_origin_measure_trailers(at + used,
							     len - used, wrong);
			return size ? used + size : 0;
		}
		if (len - used < 2 || size > len - used - 2)
			return 0;
		used += size + 2;
	}
}

size_t storm_origin_measure(const struct storm_text *in, const char **wrong)
{
	const char *end = storm_origin_head_end(in), *line, *value;
	size_t head, len, body;

	*wrong = NULL;
	if (!end)
		return 0;
	head = (size_t)(end - in->at);
	line = (const char *)memchr(in->at, '\n', head) + 1;
	*wrong = storm_origin_judge_line(in->at, line);
	if (!*wrong)
		*wrong = storm_origin_judge_fields(line, end);
	value = storm_origin_field(in, "Content-Length", &len);
	if (value) {
		char *after;

		body = strtoul(value, &after, 10);
		if (after != value + len || !len || *value == '-')
			*wrong = "a malformed Content-Length";
		return in->len - head >= body ? head + body : 0;
	}
	value = storm_origin_field(in, "Transfer-Encoding", &len);
	if (!value)
		return head;
	if (len != 7 || strncasecmp(value, "chunked", 7))
		*wrong = "an unknown Transfer-Encoding";
	body = storm_origin_measure_chunks(end, in->len - head, wrong);
	return body ? head + body : 0;
}

void storm_origin_target(const struct storm_text *in, const char **target,
			 size_t *len)
{
	const char *space = memchr(in->at, ' ', in->len);
	const char *end;

	*target = space ? space + 1 : in->at;
	end = memchr(*target, ' ', in->len - (size_t)(*target - in->at));
	*len = end ? (size_t)(end - *target) : 0;
}

uint64_t storm_origin_seed(const char *target, size_t len)
{
	static uint16_t visits[STORM_ORIGIN_VISITS];
	uint64_t hash = storm.seed;

	for (size_t i = 0; i < len; i++)
		hash = scd__mix64(hash + (unsigned char)target[i]);
	return scd__mix64(hash + ++visits[hash % STORM_ORIGIN_VISITS]);
}

/* A single range that is asked for: false when the whole is to be sent. */
static bool storm_origin_range(const struct storm_text *in, size_t size,
			       size_t *from, size_t *to)
{
	size_t len;
	const char *value = storm_origin_field(in, "Range", &len);
	unsigned long long a, b;
	int end = 0;
	char range[64];

	if (!value || len >= sizeof(range) || !size)
		return false;
	memcpy(range, value, len);
	range[len] = '\0';
	if (sscanf(range, "bytes=%llu-%llu%n", &a, &b, &end) != 2 ||
	    (size_t)end != len || a > b || a >= size)
		return false;
	if (storm_origin_field(in, "If-Range", &len))
		return false;
	*from = a;
	*to = b < size - 1 ? b + 1 : size;
	return true;
}

static void storm_origin_print_head(struct storm_text *t, unsigned number,
				    uint64_t *random, const char *status)
{
	static const char *const ages[] = {"0", "1", "1", "60", "600"};

	storm_text_print(t,
			 "HTTP/1.1 %s\r\nETag: \"v%u-%u\"\r\n"
			 "Cache-Control: max-age=%s\r\n",
			 status, storm.version, number,
			 STORM_CHOOSE(random, ages));
}

static void storm_origin_put_body(struct storm_text *t, unsigned number,
				  bool chunked, bool head)
{
	size_t size = storm_body_size(number), at = 0;

	if (!chunked)
		storm_text_print(t, "Content-Length: %zu\r\n\r\n", size);
	else
		storm_text_print(t, "Transfer-Encoding: chunked\r\n\r\n");
	if (head)
		return;
	while (chunked && at < size) {
		size_t n = size - at < 5000 ? size - at : 5000;

		storm_text_print(t, "%zx\r\n", n);
		storm_body_add(t, number, storm.version, at, at + n);
		storm_text_print(t, "\r\n");
		at += n;
	}
	if (chunked)
		storm_text_print(t, "0\r\n\r\n");
	else
		storm_body_add(t, number, storm.version, 0, size);
}

bool storm_origin_answer_good(struct storm_script *s,
			      const struct storm_text *in, uint64_t *random)
{
	const char *target, *value;
	size_t len, from, to;
	struct storm_text *t = &s->text;
	bool head = in->len > 4 && !memcmp(in->at, "HEAD", 4);
	bool get = in->len > 4 && !memcmp(in->at, "GET ", 4);
	char tag[32];
	int number;

	storm_origin_target(in, &target, &len);
	if (len > 19 && !memcmp(target, "http://good.example", 19)) {
		target += 19;
		len -= 19;
	}
	number = storm_body_number(target, len);
	if (number < 0)
		return false;
	snprintf(tag, sizeof(tag), "\"v%u-%d\"", storm.version, number);
	value = storm_origin_field(in, "If-None-Match", &len);
	if (value && memmem(value, len, tag, strlen(tag)) && (get || head)) {
		storm_origin_print_head(t, (unsigned)number, random,
					"304 Not Modified");
		storm_text_print(t, "\r\n");
	} else if (get &&
		   storm_origin_range(in, storm_body_size((unsigned)number),
				      &from, &to)) {
		storm_origin_print_head(t, (unsigned)number, random,
					"206 Partial Content");
		storm_text_print(t,
				 "Content-Range: bytes %zu-%zu/%zu\r\n"
				 "Content-Length: %zu\r\n\r\n",
				 from, to - 1,
				 storm_body_size((unsigned)number), to - from);
		storm_body_add(t, (unsigned)number, storm.version, from, to);
	} else {
		storm_origin_print_head(t, (unsigned)number, random, "200 OK");
		storm_origin_put_body(t, (unsigned)number,
				      storm_text_once_in(random, 5), head);
	}
	return true;
}

/* Takes a request away that was answered. */
static void storm_origin_consume(struct storm_link *l, size_t len)
{
	memmove(l->in.at, l->in.at + len, l->in.len - len);
	l->in.len -= len;
}

static void storm_origin_good_input(struct storm_link *l)
{
	const char *wrong;
	size_t len;
	uint64_t random;

	storm_world_check_secret(l);
	if (l->script.count)
		return; /* what comes too early is judged with the next */
	len = storm_origin_measure(&l->in, &wrong);
	if (wrong) {
		storm_log_note("asked", l->id, l->in.at, l->in.len);
		storm_log_finding("the origin was sent %s: %.*s", wrong,
				  l->in.len < 200 ? (int)l->in.len : 200,
				  l->in.at);
	}
	if (!len)
		return;
	storm.counts.asked++;
	if (l->in.len > len) {
		storm_log_note("asked", l->id, l->in.at, l->in.len);
		storm_log_finding("the origin was sent more than a request");
	}
	random = storm_origin_seed(l->in.at, len < 40 ? len : 40);
	l->script.text.len = l->script.covered = 0;
	if (!storm_origin_answer_good(&l->script, &l->in, &random))
		storm_text_print(&l->script.text, "HTTP/1.1 404 Not Found\r\n"
						  "Content-Length: 0\r\n\r\n");
	if (storm_text_once_in(&random, 10))
		storm_script_send_torn(&l->script, &random);
	else
		storm_script_send(&l->script);
	storm_log_note("asked", l->id, l->in.at, len);
	storm_log_note("good answer", l->id, l->script.text.at,
		       l->script.text.len < 250 ? l->script.text.len : 250);
	storm_origin_consume(l, len);
	storm_link_play(l);
}

static void storm_origin_hostile_input(struct storm_link *l)
{
	struct storm_asked asked = {0};
	size_t len, at = 0, own_len;
	const char *wrong, *own, *end;
	uint64_t seed;

	storm_world_check_secret(l);
	if (l->script.count)
		return;
	end = storm_origin_head_end(&l->in);
	len = storm_origin_measure(&l->in, &wrong);
	if (!end)
		return;
	storm_origin_target(&l->in, &asked.target, &asked.target_len);
	seed = storm_origin_seed(asked.target, asked.target_len);
	if (!len && seed % 4)
		return; /* else before the body is in */
	asked.trusted = len && !l->data;
	asked.head = !memcmp(l->in.at, "HEAD", 4);
	while (storm_body_next_mark(&l->in, &at, &own, &own_len) &&
	       at < (size_t)(end - l->in.at))
		if (own_len == 16 && own[-2] == 'i')
			asked.own = own;
	l->script.text.len = l->script.covered = 0;
	if (!storm_response_make(&l->script, &asked, seed))
		l->data = l; /* not trusted any more */
	storm_log_note("response", seed, l->script.text.at, l->script.text.len);
	storm.counts.responses++;
	storm_origin_consume(l, len ? len : l->in.len);
	storm_link_play(l);
}

static void storm_origin_rest(struct storm_link *l)
{
	if (l->in.len && !l->ended)
		l->role->on_input(l);
}

const struct storm_role storm_origin_good = {
	.name = "origin",
	.on_input = storm_origin_good_input,
	.on_rest = storm_origin_rest,
};

const struct storm_role storm_origin_hostile = {
	.name = "hostile origin",
	.on_input = storm_origin_hostile_input,
	.on_rest = storm_origin_rest,
};
