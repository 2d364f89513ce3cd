/*
 * Requests. Each connection has one or a few of them, whole or torn, after
 * each other or at once, and an end of some kind.
 */
#include "tests/storm/storm_request.h"

#include <stdio.h>

#include "tests/codec/random.h"
#include "tests/storm/storm_body.h"
#include "tests/storm/storm_world.h"

enum {
	STORM_REQUEST_WAIT_MS = 700,
	STORM_REQUEST_SHORT_MS = 60,
	STORM_REQUEST_FLOOD = 300, /* fields */
};

static const char *const storm_request_methods[] = {
	"GET",  "GET",    "GET",     "GET",      "GET",   "GET",     "GET",
	"HEAD", "HEAD",   "GET",     "GET",      "GET",   "GET",     "GET",
	"GET",  "GET",    "GET",     "GET",      "GET",   "POST",    "POST",
	"PUT",  "DELETE", "OPTIONS", "PATCH",    "TRACE", "CONNECT", "PURGE",
	"get",  "PRI",    "G@T",     "M-SEARCH",
};

static const char *const storm_request_ranges[] = {
	"bytes=0-0",
	"bytes=0-",
	"bytes=-1",
	"bytes=-0",
	"bytes=5-2",
	"bytes=0-18446744073709551615",
	"bytes=9223372036854775807-",
	"bytes=0-1,2-3,5-",
	"bytes=0-,0-,0-,0-",
	"bytes=100-200",
	"bytes=",
	"bytes=a-b",
	"lines=1-2",
	"bytes=0-279999",
	"bytes= 0-1",
	"bytes=--1",
	"bytes=-18446744073709551616",
	"bytes=1-1, -1",
	"bytes=2000-70000",
};

static const char *const storm_request_conditions[] = {
	"*",        "\"x\"",  "W/\"x\"", "\"a\", \"b\", W/\"c\"",
	"\"",       "W/",     "x",       "\"x\",,\"y\"",
	"\"\xff\"", "\"v0\"", "\"v1\"",
};

static const char *const storm_request_dates[] = {
	"Sun, 06 Nov 1994 08:49:37 GMT",
	"Sunday, 06-Nov-94 08:49:37 GMT",
	"Sun Nov  6 08:49:37 1994",
	"Thu, 01 Jan 1970 00:00:00 GMT",
	"Fri, 31 Dec 9999 23:59:59 GMT",
	"0",
	"",
	"x",
	"Sun, 06 Nov 2094 08:49:37 GMT",
	"Sun, 99 Nov 1994 99:99:99 GMT",
};

static const char *const storm_request_lines[] = {
	"Cache-Control: no-cache",
	"Cache-Control: no-store",
	"Cache-Control: max-age=0",
	"Cache-Control: max-stale",
	"Cache-Control: max-stale=9999999999",
	"Cache-Control: min-fresh=99999",
	"Cache-Control: max-age=1",
	"Cache-Control: max-age=-1, no-cache=\"x\", ,=,",
	"Pragma: no-cache",
	"Accept: */*",
	"Accept: text/html;q=0.5, x/y",
	"Accept-Encoding: gzip",
	"Accept-Encoding: gzip, br;q=0",
	"Accept-Language: de, en;q=0.3",
	"Accept-Encoding: identity",
	"Accept-Language: x",
	"User-Agent: storm",
	"Cookie: a=b; c=d",
	"Cookie: session=1234",
	"Authorization: Basic eDp5",
	"Authorization: Bearer x",
	"Proxy-Authorization: Bearer 00000000000000000000000000000000",
	"Connection: close",
	"Connection: keep-alive",
	"Connection: Upgrade",
	"Connection: Host, Cookie, close",
	"Connection: ,,,",
	"Connection: x",
	"Connection: Cache-Control, Via, Range",
	"Keep-Alive: timeout=5",
	"Proxy-Connection: keep-alive",
	"Upgrade: websocket",
	"Upgrade: h2c",
	"HTTP2-Settings: AAMAAABkAAQAAP__",
	"Expect: 100-continue",
	"TE: trailers",
	"TE: chunked;q=0",
	"Trailer: X-Sum",
	"Via: 1.1 x",
	"Via: 1.1 storm",
	"CDN-Loop: storm",
	"CDN-Loop: a; b=c",
	"Via: 1.1 a, 1.1 b, 1.1 c",
	"X-Forwarded-For: 1.2.3.4",
	"X-Forwarded-For: \xff",
	"X-Forwarded-Proto: https",
	"X-Forwarded-Host: good.example",
	"X-Original-URL: /good/1",
	"Forwarded: for=1.2.3.4;host=good.example;proto=https",
	"Forwarded: for=\"[::1",
	"Max-Forwards: 0",
	"Max-Forwards: -1",
	"Origin: http://bad.example",
	"Referer: http://bad.example/",
	"Accept-Charset: utf-8",
	"DNT: 1",
	"Sec-Fetch-Mode: navigate",
	"Prefer: wait=0",
	"Prefer: wait=99999999999, respond-async",
	"A-IM: scd",
	"Want-Digest: sha-256",
	"Purge-Tag: a, b",
	"Purge-Prefix: http://bad.example/u/",
	"Purge-Prefix: x",
	"X-Accel-Expires: 0",
	"Date: x",
	"Age: 1",
	"Content-Type: text/plain",
	"Content-Encoding: gzip",
	"Content-Range: bytes 0-1/2",
	"X-Empty:",
};

static const char *const storm_request_bad_lines[] = {
	": x",
	"x",
	"X Y: z",
	"X\xe4: y",
	"X-Y : z",
	" folded",
	"Expect: x",
	"X: \x01",
	"X:\rY: z",
	"TE\t: x",
	"Cache-Control: only-if-cached",
};

static const char *const storm_request_lengths[] = {
	"0",
	"1",
	"4",
	"10",
	"100",
	"4294967296",
	"18446744073709551615",
	"-1",
	"+4",
	"4, 4",
	"4,5",
	"0x4",
	" 4",
	"4 ",
	"",
	"1e1",
	"999999999999999999",
};

static const char *const storm_request_codings[] = {
	"chunked",
	"chunked",
	"chunked",
	"Chunked",
	"gzip, chunked",
	"identity",
	"chunked, chunked",
	"chunked;q=1",
	"xchunked",
	" chunked",
	"\tchunked",
	"chunked, identity",
	"",
};

/* Most requests are to reach an origin. */
static const char *const storm_request_hosts[] = {
	"bad.example",
	"bad.example",
	"bad.example",
	"bad.example",
	"bad.example",
	"bad.example",
	"bad.example",
	"bad.example",
	"bad.example",
	"bad1.example",
	"bad1.example",
	"bad2.example",
	"bad2.example",
	"bad3.example",
	"bad3.example",
	"bad3.example",
	"good.example",
	"good.example",
	"BAD.example",
	"bad.example:80",
	"bad.example:",
	"bad.example:99999",
	"good.example",
	"good.example",
	"",
	"a b",
	"[::1]",
	"127.0.0.1",
	"bad.example, good.example",
	"user@bad.example",
	"bad.example/",
	"unknown.example",
	"bad.example.",
	"\xff",
	"%62ad.example",
};

static void storm_request_target(struct storm_text *t, uint64_t *random,
				 const char *host)
{
	unsigned n = (unsigned)random_below(random, STORM_URLS);

	if (storm_text_once_in(random, 3))
		n %= 64; /* some that are asked for again */
	switch (random_below(random, 50)) {
	case 0:
		storm_text_print(t, "http://%s/u/%u", host, n);
		break;
	case 1:
		storm_text_print(t, "https://%s/u/%u?x", host, n);
		break;
	case 2:
		storm_text_print(t, "*");
		break;
	case 3:
		storm_text_print(t, "/u/%u?a=%%41&b=%%zz&c", n);
		break;
	case 4:
		storm_text_print(t, "//u/../u/./%u;x=1", n);
		break;
	case 5:
		storm_text_print(t, "%s:443", host);
		break;
	case 6:
		storm_text_print(t, "/u/%u/", n);
		storm_text_fill(t, 'x', random_below(random, 9000));
		break;
	case 7:
		storm_text_print(t, "/good/%u", n % STORM_BODY_URLS);
		break;
	case 8:
		storm_text_print(t, "http://user:pw@%s:80/u/%u#f", host, n);
		break;
	default:
		storm_text_print(t, "/u/%u", n);
	}
}

static void storm_request_line(struct storm_text *t, uint64_t *random,
			       const char *method, const char *host)
{
	static const char *const versions[] = {
		"HTTP/1.0", "HTTP/2.0",  "HTTP/1.2",  "HTTP/0.9", "http/1.1",
		"HTTP/11",  "HTTP/1.1 ", "HTTP/1.10", "",         "X",
	};

	storm_text_print(t, "%s ", method);
	storm_request_target(t, random, host);
	storm_text_print(t, " %s\r\n",
			 storm_text_once_in(random, 20)
				 ? STORM_CHOOSE(random, versions)
				 : "HTTP/1.1");
}

static void storm_request_flood(struct storm_text *t, uint64_t *random)
{
	uint64_t n = random_below(random, STORM_REQUEST_FLOOD);
	uint64_t kind = random_below(random, 4);

	for (uint64_t i = 0; i < n; i++) {
		if (kind == 0)
			storm_text_print(t, "X-%llu: %llu\r\n",
					 (unsigned long long)i,
					 (unsigned long long)i);
		else if (kind == 1)
			storm_text_print(t, "Cookie: c%llu=1\r\n",
					 (unsigned long long)i);
		else if (kind == 2)
			storm_text_print(t, "%sX-%llu",
					 i ? ", " : "Connection: ",
					 (unsigned long long)i);
		else
			storm_text_print(t, "%s\"t%llu\"",
					 i ? ", " : "If-None-Match: ",
					 (unsigned long long)i);
	}
	if (n && kind > 1)
		storm_text_print(t, "\r\n");
}

static void storm_request_field(struct storm_text *t, uint64_t *random)
{
	static const char *const conditions[] = {
		"If-None-Match",
		"If-Match",
		"If-Range",
	};
	static const char *const dates[] = {
		"If-Modified-Since",
		"If-Unmodified-Since",
		"If-Range",
	};

	switch (random_below(random, 10)) {
	case 0:
	case 1:
		storm_text_print(t, "Range: %s\r\n",
				 STORM_CHOOSE(random, storm_request_ranges));
		break;
	case 2:
		storm_text_print(
			t, "%s: %s\r\n", STORM_CHOOSE(random, conditions),
			STORM_CHOOSE(random, storm_request_conditions));
		break;
	case 3:
		storm_text_print(t, "%s: %s\r\n", STORM_CHOOSE(random, dates),
				 STORM_CHOOSE(random, storm_request_dates));
		break;
	default:
		storm_text_print(t, "%s\r\n",
				 STORM_CHOOSE(random, storm_request_lines));
	}
	if (storm_text_once_in(random, 60))
		storm_text_print(t, "%s\r\n",
				 STORM_CHOOSE(random, storm_request_bad_lines));
	if (storm_text_once_in(random, 60))
		storm_request_flood(t, random);
}

static void storm_request_chunks(struct storm_text *t, uint64_t *random)
{
	static const char *const ends[] = {
		"0\r\n\r\n",
		"0\r\n\r\n",
		"0\r\n\r\n",
		"0\r\nX-Sum: 1\r\n\r\n",
		"0;x=y\r\n\r\n",
		"00000000\r\n\r\n",
		"",
		"-1\r\n\r\n",
		"0\r\nContent-Length: 4\r\nHost: x\r\n\r\n",
		"0\n\n",
		"10000000000000000\r\nx\r\n0\r\n\r\n",
		"g\r\n\r\n",
		"ffffffffffffffff\r\nx",
		"7fffffffffffffff\r\nx",
	};
	uint64_t n = random_below(random, 6);

	while (n-- > 0) {
		size_t len = random_below(random, storm_text_once_in(random, 20)
							  ? 70000
							  : 200) +
			     1;

		storm_text_print(t, "%zx%s\r\n", len,
				 storm_text_once_in(random, 8) ? ";a=\"b\""
							       : "");
		storm_text_fill(t, 'c', len);
		storm_text_print(t, "\r\n");
	}
	storm_text_print(t, "%s", STORM_CHOOSE(random, ends));
}

/* The empty line, and a body: as announced, or not. */
static void storm_request_body(struct storm_text *t, uint64_t *random)
{
	size_t len = random_below(random, 300);

	switch (random_below(random, 10)) {
	default: /* a right one */
		if (storm_text_once_in(random, 20))
			len += random_below(random, 600000);
		storm_text_print(t, "Content-Length: %zu\r\n\r\n", len);
		storm_text_fill(t, 'b', len);
		break;
	case 2:
		storm_text_print(t, "Content-Length: %s\r\n\r\n",
				 STORM_CHOOSE(random, storm_request_lengths));
		storm_text_fill(t, 'l', len % 12);
		break;
	case 3:
		storm_text_print(t, "Transfer-Encoding: chunked\r\n\r\n");
		storm_request_chunks(t, random);
		break;
	case 4:
		storm_text_print(t, "Transfer-Encoding: %s\r\n",
				 STORM_CHOOSE(random, storm_request_codings));
		if (storm_text_once_in(random, 2))
			storm_text_print(
				t, "Content-Length: %s\r\n",
				STORM_CHOOSE(random, storm_request_lengths));
		storm_text_print(t, "\r\n");
		storm_request_chunks(t, random);
		break;
	case 5: /* none announced, but there */
		storm_text_print(t, "\r\n");
		storm_text_fill(t, 'n', len % 40);
	}
}

static void storm_request_rest(struct storm_text *t, uint64_t *random,
			       bool body)
{
	uint64_t n = random_below(random, 7);

	while (n-- > 0)
		storm_request_field(t, random);
	if (body)
		storm_request_body(t, random);
	else
		storm_text_print(t, "\r\n");
}

static void storm_request_data(struct storm_text *t, uint64_t *random,
			       uint64_t id)
{
	const char *method = STORM_CHOOSE(random, storm_request_methods);
	const char *host = storm_text_once_in(random, 4)
				   ? STORM_CHOOSE(random, storm_request_hosts)
				   : "bad.example";
	bool reads = *method == 'G' || *method == 'H';
	char own[40];

	storm_request_line(t, random, method, host);
	if (!storm_text_once_in(random, 40))
		storm_text_print(t, "Host: %s\r\n", host);
	if (storm_text_once_in(random, 60))
		storm_text_print(t, "Host: good.example\r\n");
	snprintf(own, sizeof(own), "%016llx", (unsigned long long)id);
	storm_text_print(t, "X-Storm: ");
	storm_body_mark(t, 'i', own, 16);
	storm_text_print(t, "\r\n");
	storm_request_rest(t, random,
			   storm_text_once_in(random, reads ? 8 : 1));
}

/* The node's own tag, or one near it. */
static void storm_request_tag(struct storm_text *t, uint64_t *random)
{
	const char *tag = *storm.tag ? storm.tag : "\"0000000000000001-1\"";

	storm_text_print(t, "If-None-Match: %s", tag);
	if (storm_text_once_in(random, 3))
		storm_text_print(t, ", \"%016llx-%llu\"",
				 (unsigned long long)random_next(random),
				 (unsigned long long)random_below(random, 99));
	if (storm_text_once_in(random, 4))
		t->at[t->len - 2] = (char)('0' + random_below(random, 10));
	storm_text_print(t, "\r\n");
}

static void storm_request_peer(struct storm_text *t, uint64_t *random)
{
	static const char *const paths[] = {
		"/scd/v1/digest",
		"/scd/v1/digest",
		"/scd/v1/digest",
		"/scd/v1/seen",
		"/scd/v1/delta/0000000000000001/1-2",
		"/scd/v1/seen-delta/0000000000000001/1-2",
		"/scd/v1/delta/",
		"/scd/v1/delta/ffffffffffffffff/0-18446744073709551616",
		"/scd/v1/digest?x",
		"/scd/",
		"/",
		"/metrics",
	};
	bool object = storm_text_once_in(random, 3);
	const char *method =
		storm_text_once_in(random, 10)
			? STORM_CHOOSE(random, storm_request_methods)
			: "GET";

	if (object && storm_text_once_in(random, 2))
		storm_text_print(t,
				 "%s http://good.example/good/%llu "
				 "HTTP/1.1\r\nHost: good.example\r\n"
				 "Cache-Control: only-if-cached\r\n",
				 method,
				 (unsigned long long)random_below(
					 random, STORM_BODY_URLS));
	else if (object)
		storm_request_data(t, random, random_next(random));
	else
		storm_text_print(t, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n",
				 method, STORM_CHOOSE(random, paths));
	if (!storm_text_once_in(random, 6))
		storm_text_print(t, "%s: Bearer %s\r\n",
				 object ? "Proxy-Authorization"
					: "Authorization",
				 storm.token);
	if (!object) {
		if (storm_text_once_in(random, 2))
			storm_request_tag(t, random);
		storm_text_print(t, "Prefer: wait=%llu\r\n",
				 (unsigned long long)random_below(random, 2));
		storm_text_print(t, "A-IM: %s\r\n",
				 storm_text_once_in(random, 2)
					 ? "scd-conditional, scd"
					 : "scd, x;q=0, ,\"");
	}
	storm_request_rest(t, random, storm_text_once_in(random, 6));
}

static void storm_request_admit(struct storm_text *t, uint64_t *random)
{
	static const char *const ends[] = {
		"\n",
		"\r\n",
		" 4096\n",
		"\t99\n",
		" x\n",
		" 999999999999999\n",
		" 9999999999999999\n",
		"\n\n",
		" 1 2\n",
		"",
	};
	struct storm_text body = {0};
	uint64_t n = random_below(random,
				  storm_text_once_in(random, 20) ? 3000 : 12);

	while (n-- > 0)
		storm_text_print(&body, "http%s://%s/u/%llu%s",
				 storm_text_once_in(random, 9) ? "s" : "",
				 STORM_CHOOSE(random, storm_request_hosts),
				 (unsigned long long)random_below(random, 999),
				 storm_text_once_in(random, 9)
					 ? STORM_CHOOSE(random, ends)
					 : "\n");
	storm_text_print(t,
			 "POST /v1/admit HTTP/1.1\r\nHost: a\r\n"
			 "Content-Length: %zu\r\n\r\n",
			 body.len);
	storm_text_add(t, body.at, body.len);
	storm_text_free(&body);
}

static void storm_request_admin(struct storm_text *t, uint64_t *random)
{
	static const char *const targets[] = {
		"/metrics",
		"/status.json",
		"/healthz",
		"/readyz",
		"/v1/admit",
		"/v1/admit?uri=http%3A%2F%2Fbad.example%2F",
		"/v1/admit?uri=",
		"/v1/admit?uri=http://a/&size=1&note=no",
		"/v1/admit?size=x",
		"/v1/admit?uri=%&uri=%0",
		"/v1/admit?uri=http://a/%00",
		"/v1/admit?uri=http://a/&size=999999999999999",
		"/",
		"*",
	};

	if (storm_text_once_in(random, 3)) {
		storm_request_admit(t, random);
		return;
	}
	if (storm_text_once_in(random, 3))
		storm_text_print(
			t,
			"PURGE http://bad.example/u/%llu HTTP/1.1"
			"\r\nHost: bad.example\r\n",
			(unsigned long long)random_below(random, STORM_URLS));
	else
		storm_text_print(
			t, "%s %s HTTP/1.1\r\nHost: a\r\n",
			storm_text_once_in(random, 5)
				? STORM_CHOOSE(random, storm_request_methods)
				: "GET",
			STORM_CHOOSE(random, targets));
	storm_request_rest(t, random, storm_text_once_in(random, 8));
}

/* One message, mutated every third time: most of those reach nobody. */
static void storm_request_one(struct storm_text *t,
			      enum storm_request_kind kind, uint64_t *random,
			      uint64_t id)
{
	struct storm_text one = {0}, other = {0};

	for (int i = 0; i < 2; i++) {
		struct storm_text *to = i ? &other : &one;

		if (kind == STORM_TO_DATA)
			storm_request_data(to, random, id);
		else if (kind == STORM_TO_PEER)
			storm_request_peer(to, random);
		else
			storm_request_admin(to, random);
		if (!storm_text_once_in(random, 10))
			break;
	}
	if (other.len)
		storm_text_splice(&one, &other, random);
	if (storm_text_once_in(random, 3))
		storm_text_mutate(&one, random, 3);
	storm_text_add(t, one.at, one.len);
	storm_text_free(&one);
	storm_text_free(&other);
}

void storm_request_make(struct storm_script *s, enum storm_request_kind kind,
			uint64_t seed)
{
	uint64_t random = seed;
	uint64_t n = storm_text_once_in(&random, 3)
			     ? 1 + random_below(&random, 5)
			     : 1;
	bool at_once = storm_text_once_in(&random, 2);

	while (n-- > 0) {
		storm_request_one(&s->text, kind, &random, seed);
		if (at_once && n)
			continue;
		if (storm_text_once_in(&random, 5))
			storm_script_send_torn(s, &random);
		else
			storm_script_send(s);
		if (storm_text_once_in(&random, 40))
			storm_script_add(s, STORM_DEAF,
					 random_below(&random, 300));
		storm_script_add(s, STORM_WAIT,
				 storm_text_once_in(&random, 4)
					 ? STORM_REQUEST_SHORT_MS
					 : STORM_REQUEST_WAIT_MS);
	}
	if (storm_text_once_in(&random, 3))
		storm_script_add(s, STORM_RESET, 0);
	if (storm_text_once_in(&random, 8))
		storm_script_spoil(s, &random);
}
