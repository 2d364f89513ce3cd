/*
 * Responses. A right one has a mark of its target, so that it is known wherever
 * it turns up, and one that is private a mark of its client.
 */
#include "tests/storm/storm_response.h"

#include "tests/codec/random.h"
#include "tests/storm/storm_body.h"

enum {
	STORM_RESPONSE_MOST = 1200000,   /* bytes of a large body */
	STORM_RESPONSE_ENDLESS = 300000, /* bytes of a header */
	STORM_RESPONSE_STALL_MS = 700,
};

static const char *const storm_response_lines[] = {
	"HTTP/1.1 200 OK",
	"HTTP/1.1 200 OK",
	"HTTP/1.1 200 OK",
	"HTTP/1.1 200 OK",
	"HTTP/1.1 200 OK",
	"HTTP/1.1 200 OK",
	"HTTP/1.1 206 Partial Content",
	"HTTP/1.1 304 Not Modified",
	"HTTP/1.1 204 No Content",
	"HTTP/1.1 301 Moved",
	"HTTP/1.1 404 No",
	"HTTP/1.1 500 Oh",
	"HTTP/1.1 503 Busy",
	"HTTP/1.0 200 OK",
	"HTTP/1.1 416 Range",
	"HTTP/1.1 412 No",
	"HTTP/1.1 205 Reset",
	"HTTP/1.1 203 X",
	"HTTP/1.1 410 Gone",
	"HTTP/1.1 407 Proxy",
	"HTTP/1.1 401 No",
	"HTTP/1.1 226 IM Used",
	"HTTP/1.1 426 Up",
};

static const char *const storm_response_bad_lines[] = {
	"HTTP/1.1 200",
	"HTTP/1.1  200 OK",
	"HTTP/1.1 20 OK",
	"HTTP/2 200",
	"HTTP/1.1 2000 OK",
	"HTTP/1.1 999 X",
	"HTTP/1.1 000 X",
	"ICY 200 OK",
	"HTTP/1.1 600 X",
	"HTTP/1.1 -200 X",
	"HTTP/1.1 200\tOK",
	"\r\n",
	"HTTP/1.1 101 Switching Protocols",
	"HTTP/1.1 100 Continue",
	"HTTP/1.1 199 X",
	"HTTP/1.1 200 \xff\x01",
	"http/1.1 200 OK",
	"",
	"HTTP/1.12 200 OK",
	"HTTP/9.9 200 OK",
	"HTTP/1.1 2 0 0",
};

static const char *const storm_response_fields[] = {
	"Cache-Control: max-age=60",
	"Cache-Control: max-age=1",
	"Cache-Control: max-age=0",
	"Cache-Control: no-store",
	"Cache-Control: no-cache",
	"Cache-Control: private",
	"Cache-Control: s-maxage=10, max-age=1",
	"Cache-Control: public",
	"Cache-Control: max-age=99999999999999999999",
	"Cache-Control: =,\"",
	"Cache-Control: stale-while-revalidate=60, max-age=1",
	"Cache-Control: stale-if-error=60, max-age=0, must-revalidate",
	"Cache-Control: private=\"Set-Cookie\", max-age=9",
	"Cache-Control: no-cache=\"ETag, Vary\", max-age=9",
	"Cache-Control: max-age=5, max-age=6, immutable",
	"Expires: 0",
	"CDN-Cache-Control: max-age=30",
	"CDN-Cache-Control: ((((;a=\"",
	"Surrogate-Control: max-age=10",
	"Expires: Sun, 06 Nov 2094 08:49:37 GMT",
	"Age: 0",
	"Age: 5",
	"Age: 99999999999999999999",
	"Age: -1",
	"Age: x",
	"Date: Sun, 06 Nov 1994 08:49:37 GMT",
	"Date: x",
	"Date:",
	"ETag: \"v1\"",
	"ETag: W/\"v1\"",
	"ETag: v1",
	"ETag: \"",
	"ETag: \"a\"b",
	"ETag: \"x\"",
	"Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
	"Last-Modified: Fri, 31 Dec 9999 23:59:59 GMT",
	"Last-Modified: x",
	"Vary: Accept-Encoding",
	"Vary: Accept-Language, Cookie",
	"Vary: *",
	"Vary: ,,,",
	"Vary: X Y",
	"Vary: Accept-Encoding, Accept-Encoding",
	"Content-Type: text/html",
	"Content-Encoding: gzip",
	"Server: storm",
	"Content-Encoding: x",
	"Set-Cookie: a=b",
	"Set-Cookie: c=d; Path=/",
	"Location: /u/1",
	"Location: http://good.example/good/1",
	"Content-Location: /u/2",
	"Content-Location: http://good.example/good/2",
	"Connection: close",
	"Connection: keep-alive",
	"Connection: ETag, Date",
	"Connection: Content-Length",
	"Keep-Alive: timeout=0, max=0",
	"Link: </u/3>; rel=preload",
	"Via: 1.1 storm",
	"Warning: 110 - x",
	"Trailer: X-Sum",
	"Accept-Ranges: bytes",
	"Accept-Ranges: none",
	"Content-Range: bytes 0-9/10",
	"Content-Range: bytes 5-2/1",
	"Content-Range: bytes */10",
	"Content-Range: bytes 0-99999999999/*",
	"Content-Range: bytes 0-18446744073709551615/18446744073709551616",
	"Retry-After: 1",
	"Retry-After: 99999999999999",
	"Cache-Tag: a,b,news",
	"Surrogate-Key: a b c",
	"Cache-Tag: ,,,",
	"Cache-Status: x; hit",
	"Cache-Status: n2; fwd=stale",
	"Cache-Status: \"",
	"X-Accel-Expires: 9",
	"Upgrade: h2c",
	"Alt-Svc: h3=\":443\"",
	"Proxy-Authenticate: Basic",
	"Strict-Transport-Security: x",
	"X: \x01",
	" folded: x",
	"X Y: z",
	"no colon",
	": empty",
	"X-High\xe4: x",
	"Content-MD5: x",
	"Refresh: 1",
};

static void storm_response_put_fields(struct storm_text *t, uint64_t *random)
{
	uint64_t n = random_below(random, 8);

	while (n-- > 0)
		storm_text_print(t, "%s\r\n",
				 STORM_CHOOSE(random, storm_response_fields));
	if (storm_text_once_in(random, 60)) {
		n = random_below(random, 400);
		while (n-- > 0)
			storm_text_print(t, "X-%llu: y\r\n",
					 (unsigned long long)n);
	}
	if (storm_text_once_in(random, 60)) {
		storm_text_print(t, "Vary: A0");
		n = random_below(random, 400);
		while (n-- > 0)
			storm_text_print(t, ", A%llu", (unsigned long long)n);
		storm_text_print(t, "\r\n");
	}
	if (storm_text_once_in(random, 100)) {
		storm_text_print(t, "ETag: \"");
		storm_text_fill(t, 'e', random_below(random, 9000));
		storm_text_print(t, "\"\r\n");
	}
	if (storm_text_once_in(random, 200)) {
		storm_text_print(t, "X-Endless: ");
		storm_text_fill(t, 'x', STORM_RESPONSE_ENDLESS);
		storm_text_print(t, "\r\n");
	}
}

/* The body: its mark, and more. */
static void storm_response_fill(struct storm_text *body,
				const struct storm_asked *asked,
				uint64_t *random)
{
	storm_body_mark(body, 'x', asked->target, asked->target_len);
	if (storm_text_once_in(random, 50))
		storm_text_fill(body, 'y',
				random_below(random, STORM_RESPONSE_MOST));
	else if (storm_text_once_in(random, 3))
		storm_text_fill(body, 'y', random_below(random, 5000));
}

static void storm_response_chunks(struct storm_text *t, uint64_t *random,
				  const struct storm_text *body)
{
	static const char *const ends[] = {
		"0\r\n\r\n",
		"0\r\n\r\n",
		"0\r\n\r\n",
		"0\r\n\r\n",
		"",
		"0\r\nX-Sum: 1\r\nETag: \"z\"\r\n\r\n",
		"0;x\r\n\r\n",
		"0\n\n",
		"0\r\nContent-Length: 3\r\n\r\n",
		"-1\r\n",
		"0\r\n x\r\n\r\n",
		"ffffffffffffffff\r\nx",
		"8000000000000000\r\nx",
		"zz\r\n",
		"0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz",
	};
	size_t at = 0;

	while (at < body->len) {
		size_t n = 1 + random_below(random, body->len - at);

		storm_text_print(
			t, "%s%zx%s\r\n",
			storm_text_once_in(random, 10) ? "0000" : "", n,
			storm_text_once_in(random, 10) ? " ;e=\"\\\"\"" : "");
		storm_text_add(t, body->at + at, n);
		storm_text_print(t, "\r\n");
		at += n;
	}
	storm_text_print(t, "%s", STORM_CHOOSE(random, ends));
}

static void storm_response_frame(struct storm_text *t, uint64_t *random,
				 const struct storm_text *body, bool head)
{
	static const char *const lengths[] = {
		"0",
		"1",
		"-1",
		"18446744073709551615",
		"9223372036854775807",
		"4, 4",
		"5,6",
		"",
		"x",
		"0x10",
		"99999999",
		" 7 ",
	};
	static const char *const codings[] = {
		"gzip, chunked", "identity", "Chunked", "chunked, chunked", "x",
	};

	switch (random_below(random, 12)) {
	case 0:
		storm_text_print(t, "Content-Length: %s\r\n",
				 STORM_CHOOSE(random, lengths));
		break;
	case 1:
		storm_text_print(t,
				 "Content-Length: %zu\r\n"
				 "Transfer-Encoding: chunked\r\n",
				 body->len);
		break;
	case 2:
		storm_text_print(t, "Transfer-Encoding: %s\r\n",
				 STORM_CHOOSE(random, codings));
		break;
	case 3: /* to the end of the connection */
		break;
	case 4:
	case 5:
		storm_text_print(t, "Transfer-Encoding: chunked\r\n\r\n");
		if (!head || storm_text_once_in(random, 20))
			storm_response_chunks(t, random, body);
		return;
	default:
		storm_text_print(t, "Content-Length: %zu\r\n", body->len);
	}
	storm_text_print(t, "\r\n");
	if (!head || storm_text_once_in(random, 20))
		storm_text_add(t, body->at, body->len);
}

static void storm_response_interim(struct storm_text *t, uint64_t *random)
{
	static const char *const interim[] = {
		"HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: </u/1>; rel=preload\r\n\r\n",
		"HTTP/1.1 102 Processing\r\n\r\n",
		"HTTP/1.1 199 X\r\nA: b\r\n\r\n",
		"HTTP/1.1 100 X\r\nContent-Length: 5\r\n\r\n",
		("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n"
		 "Connection: Upgrade\r\n\r\n"),
		"HTTP/1.1 100 X\r\nTransfer-Encoding: chunked\r\n\r\n",
	};
	uint64_t n =
		storm_text_once_in(random, 20) ? random_below(random, 200) : 1;
	const char *which = STORM_CHOOSE(random, interim);

	while (n-- > 0)
		storm_text_print(t, "%s", which);
}

/*
 * One that is right: the only kind whose marks count, as a connection on which
 * something else was said may have answers that belong to other requests.
 */
static void storm_response_right(struct storm_text *t,
				 const struct storm_asked *asked,
				 uint64_t *random)
{
	static const char *const only_for_one[] = {
		"Cache-Control: private",
		"Cache-Control: no-store",
		"Cache-Control: private, max-age=60\r\nETag: \"v1\"",
		"Cache-Control: max-age=60, no-store\r\nVary: Cookie",
	};
	static const char *const for_all[] = {
		"Cache-Control: max-age=60",
		"Cache-Control: max-age=1\r\nETag: \"v1\"",
		"Cache-Control: max-age=60\r\nVary: Accept-Encoding",
		"ETag: \"v2\"",
	};
	bool one = asked->own && storm_text_once_in(random, 2);
	struct storm_text body = {0};

	if (one)
		storm_body_mark(&body, 'p', asked->own, 16);
	storm_body_mark(&body, 'u', asked->target, asked->target_len);
	storm_text_print(t,
			 "HTTP/1.1 200 OK\r\n%s\r\nContent-Length: %zu\r\n"
			 "\r\n",
			 one ? STORM_CHOOSE(random, only_for_one)
			     : STORM_CHOOSE(random, for_all),
			 body.len);
	if (!asked->head)
		storm_text_add(t, body.at, body.len);
	storm_text_free(&body);
}

static void storm_response_any(struct storm_text *t,
			       const struct storm_asked *asked,
			       uint64_t *random)
{
	struct storm_text body = {0};

	if (storm_text_once_in(random, 12))
		storm_response_interim(t, random);
	storm_text_print(
		t, "%s\r\n",
		storm_text_once_in(random, 15)
			? STORM_CHOOSE(random, storm_response_bad_lines)
			: STORM_CHOOSE(random, storm_response_lines));
	storm_response_put_fields(t, random);
	storm_response_fill(&body, asked, random);
	storm_response_frame(t, random, &body, asked->head);
	storm_text_free(&body);
	if (storm_text_once_in(random, 3))
		storm_text_mutate(t, random, 3);
	if (storm_text_once_in(random, 40)) /* one more than was asked for */
		storm_text_print(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
				    "Cache-Control: max-age=60\r\n\r\nextra");
}

bool storm_response_make(struct storm_script *s,
			 const struct storm_asked *asked, uint64_t seed)
{
	uint64_t random = seed;
	bool right = asked->trusted && storm_text_once_in(&random, 2);

	if (right)
		storm_response_right(&s->text, asked, &random);
	else
		storm_response_any(&s->text, asked, &random);
	if (storm_text_once_in(&random, 20))
		storm_script_add(
			s, STORM_PAUSE,
			random_below(&random, STORM_RESPONSE_STALL_MS));
	if (storm_text_once_in(&random, 4))
		storm_script_send_torn(s, &random);
	else
		storm_script_send(s);
	if (storm_text_once_in(&random, 5))
		storm_script_add(s, STORM_CLOSE, 0);
	if (storm_text_once_in(&random, 10))
		storm_script_spoil(s, &random);
	return right;
}
