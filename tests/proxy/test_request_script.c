/*
 * Origins and peers that say what servers seldom do, see two_nodes.h and
 * scripted.h: what a client sees of it.
 */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "tests/codec/random.h"
#include "tests/proxy/scripted.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

enum { SLICE = 8192, WAITS = 5000 };

#define OK "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" \
	   "Connection: close\r\n"
#define HINTS "HTTP/1.1 100 Continue\r\n\r\n" \
	      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n" \
	      "Connection: x-hop\r\nX-Hop: 1\r\n\r\n"
#define WRONG "Repr-Digest: sha-256=:" \
	      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\r\n"

static struct scripted script;

static int begin(void **state)
{
	log_set_level("error");
	two_nodes_begin(state);
	at.a.settings.slice_bytes = at.b.settings.slice_bytes = SLICE;
	assert_int_equal(worker_reconfigure(at.b.worker, &at.b.settings), 0);
	return 0;
}

/* Node a has an origin that says this, one after the other. */
static void origin_says(const char *first, const char *second)
{
	script = (struct scripted){ .texts = { first, second } };
	scripted_begin(&script);
	at.a.settings.default_origin = script.url;
	assert_int_equal(worker_reconfigure(at.a.worker, &at.a.settings), 0);
}

/* What an origin says first reaches the client, but for what is between them
 * and us. */
static void early_hints(void **state)
{
	char *reply;

	(void)state;
	origin_says(HINTS OK "Content-Length: 2\r\n\r\nok", NULL);
	reply = ask(port_a(), "GET", "/x", "");
	assert_non_null(strstr(reply, "Link: </a>\r\n"));
	assert_non_null(strstr(reply, "Via: 1.1 a\r\n"));
	assert_null(strstr(reply, "X-Hop"));
	assert_null(strstr(reply, "HTTP/1.1 100"));
	assert_non_null(strstr(reply, "HTTP/1.1 200"));
	expect(reply, 103, "\r\n\r\nok");
	scripted_end(&script);
}

/* Nobody is there for the hints of what is renewed in the background. */
static void hints_for_nobody(void **state)
{
	char *reply = NULL;

	(void)state;
	origin_says("HTTP/1.1 200 OK\r\nConnection: close\r\nCache-Control: "
		    "max-age=0, stale-while-revalidate=100\r\n"
		    "Content-Length: 3\r\n\r\nold",
		    HINTS OK "Content-Length: 3\r\n\r\nnew");
	expect(ask(port_a(), "GET", "/x", ""), 200, "\r\n\r\nold");
	for (int i = 0; i < WAITS && (!reply || strstr(reply, "old")); i++) {
		free(reply);
		usleep(1000);
		reply = ask(port_a(), "GET", "/x", "");
		assert_int_equal(strncmp(reply, "HTTP/1.1 200", 12), 0);
	}
	expect(reply, 200, "\r\n\r\nnew");
	scripted_end(&script);
}

/* clang-format off */
static const struct {
	const char *label, *first, *second; /* of the origin's answers */
	const char *fields;
	unsigned status;
	const char *has;
} rows[] = {
	{ "another protocol that nobody has asked for",
	  "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n", NULL,
	  "", 502, NULL },
	{ "another one than was asked for",
	  "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n", NULL,
	  "Connection: upgrade\r\nUpgrade: echo\r\n", 502, NULL },
	{ "a part that is not there, of a version that is named",
	  "HTTP/1.1 416 No\r\nConnection: close\r\nContent-Range: bytes */4\r\nContent-Length: 0\r\n\r\n",
	  OK "ETag: \"v2\"\r\nContent-Length: 4\r\n\r\nfour",
	  "Range: bytes=9000-9001\r\nIf-Range: \"v1\"\r\n", 200, "\r\n\r\nfour" },
	{ "the same, of any version",
	  "HTTP/1.1 416 No\r\nConnection: close\r\nContent-Range: bytes */4\r\nContent-Length: 0\r\n\r\n", NULL,
	  "Range: bytes=9000-9001\r\n", 416, NULL },
	{ "a part, of what is no longer than it",
	  "HTTP/1.1 206 OK\r\nConnection: close\r\nETag: \"v1\"\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\n\r\nfour", NULL,
	  "Range: bytes=1-2\r\n", 206, NULL },
	{ "a part in pieces, of which one says how long it is",
	  OK "Content-Length: 4\r\n\r\nfo\1ur", NULL, "", 200, "\r\n\r\nfour" },
	{ "no body",
	  "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", NULL, "", 204, NULL },
	{ "a body that ends with the connection",
	  OK "\r\nfour", NULL, "", 200, "four" },
	{ "a weak tag",
	  OK "ETag: W/\"v1\"\r\nContent-Length: 4\r\n\r\nfour", NULL, "If-None-Match: \"v1\"\r\n", 304, NULL },
	{ "a cookie for this client alone",
	  OK "Set-Cookie: a=b\r\nContent-Length: 4\r\n\r\nfour", NULL, "", 200, "Set-Cookie: a=b" },
};
/* clang-format on */

static void odd_origins(void **state)
{
	for (size_t i = 0; i < NROWS(rows); i++) {
		if (i) {
			two_nodes_end(state);
			begin(state);
		}
		origin_says(rows[i].first, rows[i].second);
		expect(ask(port_a(), "GET", "/x", rows[i].fields),
		       rows[i].status, rows[i].has);
		scripted_end(&script);
	}
}

/* clang-format off */
/* Responses whose header lines go to clients in some way of their own, or do
 * not. */
static const struct {
	const char *label, *fields, *has, *has_not;
	enum set_cookie set_cookie;
} plain[] = {
	{ "what has a number, in either spelling, and what has none",
	  "ETag: \"v1\"\r\nserver: x\r\nX-Own: 1\r\nX-Own: 2\r\n", "\r\nserver: x\r\nX-Own: 1\r\nX-Own: 2\r\n", NULL, 0 },
	{ "a date", "Expires: Mon, 07 Nov 1994 08:49:37 GMT\r\n", "Expires: Mon, 07 Nov 1994 08:49:37 GMT\r\n", NULL, 0 },
	{ "of other caches", "Age: 7\r\nVia: 1.1 x\r\nCache-Status: x; hit\r\n", "Via: 1.1 x\r\nCache-Status: x; hit\r\n", "Age: 0\r\n", 0 },
	{ "empty ones, which may mean something", "Allow:\r\nX-Own: \r\nX-Other: 1\r\n", "Allow: \r\nX-Own: \r\nX-Other: 1\r\n", NULL, 0 },
	{ "a date that is none", "Date:\r\nX-Own: 1\r\n", "X-Own: 1\r\n", "Date: \r\n", 0 },
	{ "a cookie that is not for all", "Set-Cookie: a=b\r\nX-Own: 1\r\n", "X-Own: 1", "Set-Cookie", SET_COOKIE_STRIP },
	{ "several, and none of them", "Set-Cookie: a=b\r\nX-Own: 1\r\nset-cookie: c=d\r\n", "X-Own: 1", "ookie: ", SET_COOKIE_STRIP },
	{ "several that are for all", "Set-Cookie: a=b\r\nX-Own: 1\r\nset-cookie: c=d\r\n", "Set-Cookie: a=b\r\nX-Own: 1\r\nset-cookie: c=d\r\n", NULL, SET_COOKIE_ALLOW },
	{ "a cookie that is", "Set-Cookie: a=b\r\nX-Own: 1\r\n", "Set-Cookie: a=b\r\nX-Own: 1", NULL, SET_COOKIE_ALLOW },
};
/* clang-format on */

/* What is of its second: what stands behind the last one of these. */
static void mask_times(char *reply)
{
	static const char *const before[] = {
		"\r\nAge: ", "; ttl=", "\r\nDate: ",
	};

	for (size_t i = 0; i < NROWS(before); i++) {
		char *last = NULL;

		for (char *next = reply; (next = strstr(next, before[i]));)
			last = next += strlen(before[i]);
		assert_non_null(last);
		memset(last, '?', strcspn(last, "\r"));
	}
}

/*
 * What a hit without conditions gets, whose header is made from packed fields:
 * the same as one with a condition, which is made from a list of them, and as
 * those after the first in their second. To be freed.
 */
static char *plain_hit(const char *label, const char *fields)
{
	char text[4096], *first, *other, *again;

	snprintf(text, sizeof(text), OK "%sContent-Length: 2\r\n\r\nok",
		 fields);
	origin_says(text, NULL);
	free(ask(port_a(), "GET", "/x", ""));
	first = ask(port_a(), "GET", "/x", "");
	other = ask(port_a(), "GET", "/x", "If-None-Match: \"other\"\r\n");
	again = ask(port_a(), "GET", "/x", "");
	scripted_end(&script);
	mask_times(first);
	mask_times(other);
	mask_times(again);
	if (strcmp(first, other) != 0 || strcmp(first, again) != 0)
		fail_msg("%s: not the same:\n%s\n%s\n%s", label, first, other,
			 again);
	free(other);
	free(again);
	return first;
}

static void begin_anew(void **state)
{
	two_nodes_end(state);
	begin(state);
}

static void plain_hits(void **state)
{
	for (size_t i = 0; i < NROWS(plain); i++) {
		char *reply;

		if (i)
			begin_anew(state);
		at.a.settings.set_cookie = plain[i].set_cookie;
		reply = plain_hit(plain[i].label, plain[i].fields);
		assert_non_null(strstr(reply, "a; hit; ttl="));
		assert_non_null(strstr(reply, plain[i].has));
		assert_true(!plain[i].has_not ||
			    !strstr(reply, plain[i].has_not));
		free(reply);
	}
}

/* Any lines, in any order, in either case, and with what is kept as a number
 * and what is not. */
static void plain_hits_of_any_lines(void **state)
{
	static const char *const names[] = {
		"Accept-Ranges", "Age", "CDN-Cache-Control", "Content-Type",
		"ETag", "Expires", "Keep-Alive", "Last-Modified", "Link",
		"Server", "Set-Cookie", "Trailer", "Via", "X-Cache", "X-Own",
		"X-Content-Type-Options", "Y",
	};
	static const char *const values[] = {
		"", "1", "a, b", "bytes", "nosniff", "text/html", "none",
		"Mon, 07 Nov 1994 08:49:37 GMT",
		"mon, 07 Nov 1994 08:49:37 GMT", "\xc3\xa4",
	};
	enum { ROUNDS = 6, LINES = 40 };
	uint64_t random = 1;

	for (unsigned round = 0; round < ROUNDS; round++) {
		char fields[LINES * 64] = "", label[16];

		if (round)
			begin_anew(state);
		at.a.settings.set_cookie = SET_COOKIE_ALLOW;
		for (unsigned n = 0; n < LINES; n++) {
			char *line = fields + strlen(fields);
			const char *name =
				names[random_below(&random, NROWS(names))];

			sprintf(line, "%s: %s\r\n", name,
				values[random_below(&random, NROWS(values))]);
			if (random_below(&random, 2))
				for (; *line != ':'; line++)
					*line = (char)tolower(*line);
		}
		snprintf(label, sizeof(label), "round %u", round);
		free(plain_hit(label, fields));
	}
}

/* clang-format off */
static const struct {
	const char *label, *says; /* of the peer's answer */
	const char *target, *fields;
	unsigned status;
	const char *has;
	enum peer_outcome outcome;
} peers[] = {
	{ "a body of no known length is not what it claims",
	  OK WRONG "Transfer-Encoding: chunked\r\n\r\n4\r\nlies\r\n0\r\n\r\n",
	  "/hit", "", 200, "/hit", OUTCOME_FAILED },
	{ "one in pieces is not, either",
	  OK WRONG "Content-Length: 4\r\n\r\nli\1es",
	  "/hit", "", 200, "/hit", OUTCOME_FAILED },
	{ "it has no such part",
	  "HTTP/1.1 416 No\r\nConnection: close\r\nContent-Range: bytes */4\r\nContent-Length: 0\r\n\r\n",
	  "/hit", "Range: bytes=1-2\r\n", 206, "\r\n\r\nhi", OUTCOME_VARIANT },
	{ "it has heard of what nobody has asked it",
	  OK "SCD-Need: met\r\nContent-Length: 4\r\n\r\n/hit",
	  "/hit", "", 200, "peer=a", OUTCOME_HIT },
	{ "its hints are not passed on",
	  HINTS OK "Content-Length: 4\r\n\r\n/hit",
	  "/hit", "", 200, "peer=a", OUTCOME_HIT },
	{ "it breaks off behind the origin's bytes",
	  OK "ETag: \"v1\"\r\nContent-Length: 4\r\n\r\nag\1",
	  "/aged", "", 200, "aged", OUTCOME_FAILED },
	{ "it breaks off behind bytes that are not the origin's",
	  OK "ETag: \"v1\"\r\nContent-Length: 4\r\n\r\nli\1",
	  "/aged", "", 200, NULL, OUTCOME_FAILED },
	{ "it breaks off behind other bytes",
	  OK "Content-Length: 4\r\n\r\nli\1",
	  "/hit", "", 200, NULL, OUTCOME_FAILED },
};
/* clang-format on */

static void odd_peers(void **state)
{
	for (size_t i = 0; i < NROWS(peers); i++) {
		if (i) {
			two_nodes_end(state);
			begin(state);
		}
		free(ask(port_a(), "GET", peers[i].target, ""));
		script = (struct scripted){ .texts = { peers[i].says } };
		scripted_begin(&script);
		introduce(script.url);
		expect(ask(port_b(), "GET", peers[i].target, peers[i].fields),
		       peers[i].status, peers[i].has);
		if (atomic_load(&at.b.outcomes[peers[i].outcome]) != 1)
			fail_msg("%s: another outcome", peers[i].label);
		scripted_end(&script);
	}
}

#define HELD(usable) \
	"HTTP/1.1 504 No\r\nConnection: close\r\nContent-Length: 0\r\n" \
	"Cache-Status: a; fwd=stale" usable "\r\n\r\n"
#define COPY(fields) \
	"HTTP/1.1 200 OK\r\nConnection: close\r\nAge: 90\r\n" \
	"Content-Length: 4\r\nCache-Control: max-age=60" fields \
	"\r\n\r\n"

/* clang-format off */
static const struct {
	const char *label, *held, *copy, *target, *fields;
	unsigned status;
	const char *has;
	int hits, stale; /* outcomes at the peer */
} holders[] = {
	{ "its copy is good on an error", HELD("; usable=on-error"), COPY(", stale-if-error=90") "copy", "/once-error", "", 200, "\r\n\r\ncopy", 1, 1 },
	{ "and without a connection", HELD("; usable=on-error"), COPY(", stale-if-error=90") "copy", "/once-abort", "", 200, "\r\n\r\ncopy", 1, 1 },
	{ "it has been renewed meanwhile", HELD("; usable=on-error"), OK "Content-Length: 4\r\n\r\ncopy", "/once-error", "", 200, "\r\n\r\ncopy", 1, 1 },
	{ "its copy is good if the origin is away", HELD("; usable=on-disconnect"), COPY("") "copy", "/once-abort", "", 200, "\r\n\r\ncopy", 1, 1 },
	{ "but not if that answers", HELD("; usable=on-disconnect"), COPY("") "copy", "/once-error", "", 500, NULL, 0, 1 },
	{ "it has said nothing of its copy", HELD(""), COPY(", stale-if-error=90") "copy", "/once-error", "", 500, NULL, 0, 1 },
	{ "a part of it is not asked for", HELD("; usable=on-error"), COPY(", stale-if-error=90") "copy", "/once-error", "Range: bytes=1-2\r\n", 500, NULL, 0, 1 },
	{ "it has promised too much", HELD("; usable=on-error"), COPY(", stale-if-error=30") "copy", "/once-error", "", 500, "b; fwd=uri-miss; detail=\"origin\"", 0, 2 },
	{ "it has lost its copy", HELD("; usable=on-error"), HELD("; usable=on-error"), "/once-error", "", 500, "detail=\"origin\"", 0, 2 },
	{ "it is gone itself", HELD("; usable=on-error"), "", "/once-error", "", 500, "detail=\"origin\"", 0, 1 },
	{ "it breaks off", HELD("; usable=on-error"), COPY(", stale-if-error=90") "co", "/once-error", "", 500, "detail=\"origin\"", 0, 1 },
};
/* clang-format on */

/* A peer has what is wanted, and has it stale; the origin fails. */
static void stale_copies_of_peers(void **state)
{
	for (size_t i = 0; i < NROWS(holders); i++) {
		if (i) {
			two_nodes_end(state);
			begin(state);
		}
		at.b.settings.stale_on_disconnect_s = 60;
		reconfigure(&at.b, &at.b.settings);
		free(ask(port_a(), "GET", holders[i].target, ""));
		script = (struct scripted){
			.texts = { holders[i].held, holders[i].copy }
		};
		scripted_begin(&script);
		introduce(script.url);
		expect(ask(port_b(), "GET", holders[i].target,
			   holders[i].fields),
		       holders[i].status, holders[i].has);
		if (atomic_load(&at.b.outcomes[OUTCOME_HIT]) !=
			    holders[i].hits ||
		    atomic_load(&at.b.outcomes[OUTCOME_STALE]) !=
			    holders[i].stale)
			fail_msg("%s: other outcomes", holders[i].label);
		scripted_end(&script);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, two_nodes_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(early_hints),
		TEST(hints_for_nobody),
		TEST(odd_origins),
		TEST(plain_hits),
		TEST(plain_hits_of_any_lines),
		TEST(odd_peers),
		TEST(stale_copies_of_peers),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
