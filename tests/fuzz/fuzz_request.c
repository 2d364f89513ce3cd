/*
 * Any bytes as what a client sends: the first says in which pieces it comes,
 * how much of it is allowed, and whether it is a header of the PROXY protocol.
 * Whole and in pieces it must come to the same, in memory of just that size,
 * and what is accepted the guard takes, too.
 */
#include <string.h>

#include "digestd/http/guard.h"
#include "digestd/http/proxy_protocol.h"
#include "tests/codec/random.h"
#include "tests/fuzz/fuzz.h"
#include "tests/http/request_text.h"

enum { MAX_INPUT = 4096, STEPS = 64, SMALL = 64, PROXY = 128 };

static void read_proxy_header(const uint8_t *data, size_t len)
{
	struct proxy_protocol whole = { 0 }, p = { 0 };
	enum proxy_protocol_event event = PROXY_PROTOCOL_MORE, end;
	size_t n = 0;

	end = proxy_protocol_read(&whole, data, len);
	while (event == PROXY_PROTOCOL_MORE && n < len)
		event = proxy_protocol_read(&p, data, ++n);
	fuzz_must(event == end);
	if (end == PROXY_PROTOCOL_DONE)
		fuzz_must(p.len == n && whole.len == n && n <= len &&
			  n <= PROXY_PROTOCOL_MAX && p.tls == whole.tls &&
			  p.family == whole.family &&
			  p.client.port == whole.client.port &&
			  !memcmp(p.client.bytes, whole.client.bytes, 16));
	fuzz_must(len < PROXY_PROTOCOL_MAX || end != PROXY_PROTOCOL_MORE);
}

/* The guard may refuse what the parser leaves to the server: CONNECT, TRACE. */
static void ask_guard(const char *in, size_t len,
		      const struct request_limits *limits)
{
	struct request_head h;
	struct fields f;
	char *copy = fuzz_allocate(len);
	unsigned status;

	memcpy(copy, in, len);
	request_head_init(&h, limits);
	fields_init(&f);
	if (request_head_read(&h, copy, len) == REQUEST_HEAD_DONE) {
		fuzz_must(h.len <= len && h.header_len <= h.len);
		fuzz_must(!request_head_borrow_fields(&h, copy, &f));
		status = guard_check(&(struct guard_request){
					     copy + h.method.at,
					     copy + h.target.at, h.target.len,
					     h.minor, &f }).status;
		fuzz_must(!status || status == 501);
	}
	fields_free(&f);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char whole[REQUEST_TEXT_MAX], pieces[REQUEST_TEXT_MAX];
	struct request_text_way way = { { 4096, 4096 }, MAX_INPUT };
	enum message_fault fault;
	const char *in = (const char *)data + 1;

	if (len < 1 || len > MAX_INPUT)
		return 0;
	if (data[0] & PROXY) {
		read_proxy_header(data + 1, len - 1);
		return 0;
	}
	if (data[0] & SMALL)
		way.limits = (struct request_limits){ 20, 80 };
	fault = request_text_read(in, len - 1, &way, whole);
	way.step = data[0] % STEPS + 1;
	fuzz_must(request_text_read(in, len - 1, &way, pieces) == fault);
	fuzz_must(!strcmp(whole, pieces));
	ask_guard(in, len - 1, &way.limits);
	return 0;
}

/* What requests are made of, and what they should not be. */
/* clang-format off */
static const char *const words[] = {
	"\r\n", "\r\n\r\n", "\n", "\r", " ", "\t", ":", ",", ";", "\x7f", "\\",
	"GET ", "POST ", "OPTIONS * ", "CONNECT h:1 ", "PRI * HTTP/2.0\r\n\r\n",
	"/", "http://h/", "https://h:443", "?", "#", "%41", " HTTP/1.1\r\n",
	" HTTP/1.0\r\n", " HTTP/1.2\r\n", "Host: h\r\n", "Host: [::1]:80\r\n",
	"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n",
	"Connection: close\r\n", "Connection: keep-alive, upgrade\r\n",
	"Upgrade: x\r\n", "Expect: 100-continue\r\n", "a: b\r\n", " c\r\n",
	"5\r\nhello\r\n", "5;a=b\r\nhello\r\n", "0\r\n\r\n", "0\r\na: b\r\n\r\n",
	"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
};
/* clang-format on */

/* Puts a word somewhere, or does the usual. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	uint64_t random = seed;
	const char *word = words[random_below(&random, sizeof(words) /
							       sizeof(*words))];
	size_t word_len = strlen(word), at;

	if (len < 1 || len + word_len > max || random_below(&random, 2))
		return fuzz_mutate(data, len, max);
	at = 1 + (size_t)random_below(&random, len);
	memmove(data + at + word_len, data + at, len - at);
	memcpy(data + at, word, word_len);
	return len + word_len;
}
