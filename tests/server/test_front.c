/*
 * The strict engine: what libmicrohttpd does otherwise, or not at all.
 */
#include "tests/server/served.h"
#include "tests/server/served_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "digestd/os/memory.h"

#define BOTH(more) "POST /both" more " HTTP/1.1\r\nHost: h\r\n"
#define UPLOAD "POST /upload HTTP/1.1\r\nHost: h\r\n"

static int set_up(void **state)
{
	at.strict = true;
	return served_set_up(state);
}

/* What has to be in a reply, in this order; ends with a null. */
static void assert_order(const char *all, const char *const *parts)
{
	const char *reply = all;

	for (; *parts; parts++) {
		reply = strstr(reply, *parts);
		if (!reply)
			fail_msg("no %s in %s", *parts, all);
		reply += strlen(*parts);
	}
}

/* Requests on a connection, and what has to come of them, in this order. */
/* clang-format off */
static const struct {
	const char *label, *request, *parts[6], *never;
} talks[] = {
	{ "HTTP/1.0 ends",
	  "GET /a%41?q HTTP/1.0\r\n\r\n",
	  { "HTTP/1.1 200 OK\r\n", "Connection: close\r\n\r\n/a%41?q" }, "keep" },
	{ "HTTP/1.0 goes on where it asks for it",
	  "GET /a%41?q HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	  "GET /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	  { "Connection: keep-alive\r\n\r\n/a%41?q", "HTTP/1.1 200",
	    "Connection: close\r\n\r\nddd" }, "chunked" },
	{ "a body that nobody wants is passed over",
	  "POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"
	  "helloGET /late" CLOSE,
	  { "HTTP/1.1 404", "404 Not Found\n", "HTTP/1.1 200",
	    "Connection: close\r\n\r\nlate" }, "HTTP/1.1 400" },
	{ "but not one whose length nobody knows",
	  "POST /nowhere HTTP/1.1\r\nHost: h\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
	  "GET /late" CLOSE,
	  { "HTTP/1.1 404", "Connection: close\r\n" }, "HTTP/1.1 200" },
	{ "nor one that is long",
	  "POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n"
	  "\r\n",
	  { "HTTP/1.1 404", "Connection: close\r\n" }, "HTTP/1.1 200" },
	{ "nor one that was not asked for",
	  "POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n"
	  "Expect: 100-continue\r\n\r\n",
	  { "HTTP/1.1 404", "Connection: close\r\n" }, "100 Continue" },
	{ "a body is asked for",
	  UPLOAD "Connection: close\r\nContent-Length: 0000000003\r\n"
	  "Expect: 100-continue\r\n\r\nabc",
	  { "HTTP/1.1 200", "\r\n\r\n3" }, "HTTP/1.1 404" },
	{ "trailers end a body",
	  UPLOAD "Transfer-Encoding: chunked\r\n\r\n"
	  "3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\nGET /late" CLOSE,
	  { "HTTP/1.1 200", "\r\n\r\n3HTTP/1.1 200", "late" }, "400" },
	{ "trailers of an upload",
	  UPLOAD "Connection: X-Hop\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
	  "0\r\nX-Sum: 7\r\nx-hop: 1\r\nHost: i\r\nX-Real-IP: 1\r\n\r\nGET /late" CLOSE,
	  { "HTTP/1.1 200", "\r\n\r\n3 7HTTP/1.1 200", "late" }, "400" },
	{ "which are not the next one's",
	  UPLOAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
	  "0\r\nX-Sum: 7\r\n\r\n" UPLOAD "Connection: close\r\n"
	  "Content-Length: 1\r\n\r\na",
	  { "\r\n\r\n3 7HTTP/1.1 200", "\r\n\r\n1" }, "1 7" },
	{ "trailers of a reply",
	  "GET /chunks HTTP/1.1\r\nHost: h\r\nTE: gzip, trailers\r\n\r\n"
	  "GET /late" CLOSE,
	  { "chunked", "ddd", "\r\n0\r\nX-Sum: 7\r\n\r\nHTTP/1.1 200",
	    "late" }, "close\r\n\r\nddd" },
	{ "which not all take", "GET /chunks" CLOSE,
	  { "chunked", "ddd", "\r\n0\r\n\r\n" }, "X-Sum" },
	{ "nor HTTP/1.0", "GET /chunks HTTP/1.0\r\nTE: trailers\r\n\r\n",
	  { "HTTP/1.1 200", "ddd" }, "X-Sum" },
	{ "nor bodies that have a length",
	  "GET /drip HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n"
	  "Connection: close\r\n\r\n",
	  { "ength: 5000", "ddd" }, "X-Sum" },
	{ "a chunk that is none",
	  UPLOAD "Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
	  { "HTTP/1.1 400", "Connection: close\r\n" }, "HTTP/1.1 200" },
	{ "a chunk that is none, behind others",
	  UPLOAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n-3\r\n",
	  { "HTTP/1.1 400", "Connection: close\r\n" }, "HTTP/1.1 200" },
	{ "a reply that does not wait for the body that it could have",
	  BOTH("?after") "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
	  { "HTTP/1.1 200", "Connection: close\r\n", "begun ", "0\r\n\r\n" },
	  "100 Continue" },
	{ "CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n",
	  { "HTTP/1.1 501", "Cache-Control: no-store\r\n",
	    "Connection: close\r\n" }, NULL },
	{ "TRACE", "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n",
	  { "HTTP/1.1 501", "Connection: close\r\n" }, NULL },
	{ "HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	  { "HTTP/1.1 505", "Connection: close\r\n" }, NULL },
	{ "a bare LF", "GET /a%41?q HTTP/1.1\nHost: h\n\n",
	  { "HTTP/1.1 400", "Connection: close\r\n" }, "HTTP/1.1 200" },
	{ "what follows a refusal is not read",
	  "GET /a#b" KEEP "GET /late" CLOSE,
	  { "HTTP/1.1 400" }, "HTTP/1.1 200" },
	{ "a reply goes out before a refusal",
	  "GET /a%41?q" KEEP "G(T / HTTP/1.1\r\n\r\n",
	  { "HTTP/1.1 200", "/a%41?q", "HTTP/1.1 400" }, NULL },
};
/* clang-format on */

/* Each of them at once, and then a byte at a time. */
static void conversations(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(talks) / sizeof(talks[0]); i++) {
		const char *request = talks[i / 2].request;
		char *reply;
		int fd = dial();

		if (i % 2) {
			for (; *request; request++) {
				char byte[2] = { *request };

				if (send(fd, byte, 1, MSG_NOSIGNAL) < 0)
					break;
			}
		} else {
			say(fd, request);
		}
		reply = hear(fd, NULL);
		assert_order(reply, talks[i / 2].parts);
		if (talks[i / 2].never && strstr(reply, talks[i / 2].never))
			fail_msg("%s: %s", talks[i / 2].label, reply);
		free(reply);
	}
}

/* More than go out at once, of all kinds, in their order. */
static void many_requests_in_one_packet(void **state)
{
	static const char one[] = "GET /a%41?q" KEEP "HEAD /big" KEEP
				  "GET /late" KEEP "GET /chunks" KEEP
				  "GET /304" KEEP "GET /shared" KEEP;
	static const char *const parts[] = {
		"\r\n\r\n/a%41?q", "ength: 3145728\r\n", "\r\n\r\nlate",
		"chunked", "\r\n0\r\n\r\n", "HTTP/1.1 304", "HTTP/1.1 203",
		"\r\n\r\nbbb", NULL,
	};
	enum { ROUNDS = 2, COPIES = 20 };
	char *text = calloc(COPIES, sizeof(one));
	char *reply;

	(void)state;
	for (int i = 0; i < COPIES; i++)
		strcat(text, "GET /a%41?q" KEEP);
	for (int i = 0; i < ROUNDS; i++)
		strcat(text, one);
	strcat(text, "GET /late" CLOSE);
	reply = ask(text, NULL);
	assert_int_equal(count_of(reply, "HTTP/1.1 "),
			 COPIES + 6 * ROUNDS + 1);
	assert_order(reply, parts);
	free(reply);
	free(text);
	wait_for(&at.done, COPIES + 6 * ROUNDS + 1);
}

static void bodies_are_asked_for(void **state)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	char text[sizeof(go_on)] = "", *reply;
	int fd = dial();

	(void)state;
	say(fd, UPLOAD "Connection: close\r\nContent-Length: 3\r\n"
		"Expect: 100-continue\r\n\r\n");
	assert_int_equal(recv(fd, text, sizeof(go_on) - 1, MSG_WAITALL),
			 (ssize_t)sizeof(go_on) - 1);
	assert_string_equal(text, go_on);
	say(fd, "abc");
	reply = hear(fd, NULL);
	assert_order(reply, (const char *const[]){ "HTTP/1.1 200",
						   "\r\n\r\n3", NULL });
	free(reply);
}

/* Reads until a text is there. */
static void hear_until(int fd, const char *text)
{
	char have[2048] = "";
	size_t len = 0;

	while (!strstr(have, text)) {
		ssize_t n = recv(fd, have + len, sizeof(have) - 1 - len, 0);

		assert_true(n > 0);
		len += (size_t)n;
		have[len] = '\0';
	}
}

static void send_all(int fd, const char *from, size_t len)
{
	while (len) {
		ssize_t n = send(fd, from, len, MSG_NOSIGNAL);

		assert_true(n > 0);
		from += n;
		len -= (size_t)n;
	}
}

/* A body goes on to the handler while its request is being answered. */
static void uploads_go_on_beside_replies(void **state)
{
	/* clang-format off */
	static const struct {
		const char *head, *end; /* of the body */
		size_t fill;            /* bytes of it in between */
		const char *first;      /* of the reply, before the body */
		const char *then;       /* the next request */
		const char *parts[5];   /* of what comes then */
	} rows[] = {
		{ BOTH("") "Content-Length: 3145728\r\n\r\n", "", BIG,
		  "begun ", "", { "3145728\r\n0\r\n\r\n" } },
		{ BOTH("") "Transfer-Encoding: chunked\r\n\r\n300000\r\n",
		  "\r\n0\r\n\r\n", BIG, "begun ", "", { "3145728\r\n0\r\n\r\n" } },
		{ BOTH("") "Content-Length: 5\r\n\r\n", "hello", 0,
		  "begun ", "GET /late" CLOSE, { "1\r\n5\r\n", "0\r\n\r\n", "\r\n\r\nlate" } },
		/* the reply has ended before: the rest is passed over */
		{ BOTH("?early") "Content-Length: 60000\r\n\r\n", "", 60000,
		  "0\r\n\r\n", "GET /late" CLOSE, { "\r\n\r\nlate" } },
		{ BOTH("?never") "Content-Length: 60000\r\n\r\n", "", 60000,
		  "0\r\n\r\n", "GET /late" CLOSE, { "\r\n\r\nlate" } },
		{ BOTH("?early") "Content-Length: 3145728\r\n\r\n", "", BIG,
		  "0\r\n\r\n", "", { NULL } },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		int fd = dial();
		char *reply;

		say(fd, rows[i].head);
		hear_until(fd, rows[i].first);
		send_all(fd, at.big, rows[i].fill);
		say(fd, rows[i].end);
		say(fd, rows[i].then);
		reply = hear(fd, NULL);
		assert_order(reply, rows[i].parts);
		free(reply);
	}
}

#define HINT "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nEmpty: \r\n\r\n"

static void interim_responses(void **state)
{
	static const struct {
		const char *request, *start;
	} rows[] = {
		{ "GET /hints" CLOSE, HINT HINT "HTTP/1.1 200 OK\r\n" },
		{ "HEAD /hints" CLOSE, HINT HINT "HTTP/1.1 200 OK\r\n" },
		{ "GET /hints HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
		{ "PUT /hints HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Content-Length: 3\r\n\r\nabc",
		  HINT HINT "HTTP/1.1 200 OK\r\n" },
		{ "PUT /hints HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		  "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
		  HINT HINT "HTTP/1.1 200 OK\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *reply = ask(rows[i].request, NULL);

		assert_int_equal(strncmp(reply, rows[i].start,
					 strlen(rows[i].start)), 0);
		assert_null(strstr(reply + strlen(rows[i].start), "103"));
		free(reply);
	}
}

/* Waits until nothing more comes, without reading what has. */
static void wait_until_full(int fd)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	int before, now = 0, rounds = 0;

	do {
		assert_true(rounds++ < 50);
		before = now;
		nanosleep(&pause, NULL);
		assert_int_equal(ioctl(fd, FIONREAD, &now), 0);
	} while (!now || now != before);
}

/* A client that does not read gets as many as its buffer takes, whole. */
static void interim_responses_are_dropped(void **state)
{
	const size_t len = sizeof(HINT) - 1;
	int fd = dial();
	char *reply, *at_final;
	unsigned n = 0;

	(void)state;
	say(fd, "GET /flood" CLOSE);
	wait_for(&at.begun, 1);
	wait_until_full(fd);
	reply = hear(fd, NULL);
	for (at_final = reply; !strncmp(at_final, HINT, len); at_final += len)
		n++;
	assert_in_range(n, 1, FLOOD - 1);
	assert_int_equal(strncmp(at_final, "HTTP/1.1 200 OK\r\n", 17), 0);
	assert_non_null(strstr(at_final, "\r\n\r\nhinted"));
	free(reply);
}

static void large_headers_are_refused(void **state)
{
	static const struct {
		const char *before, *after, *status;
		size_t fill; /* bytes in between */
	} rows[] = {
		{ "GET /", KEEP, "HTTP/1.1 404", 16382 },
		{ "GET /", KEEP, "HTTP/1.1 414", 16384 },
		{ "GET /late HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: ",
		  "\r\n\r\n", "HTTP/1.1 200", 16000 },
		{ "GET /late HTTP/1.1\r\nHost: h\r\nX: ", "\r\n\r\n",
		  "HTTP/1.1 431", 16384 },
		{ "GET /late HTTP/1.1\r\nHost: h\r\nX: ", "", "HTTP/1.1 431",
		  16500 },
	};
	char text[20000], part[13];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = dial(), n = snprintf(text, sizeof(text), "%s%0*d%s",
					      rows[i].before, (int)rows[i].fill,
					      0, rows[i].after);

		assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
		assert_int_equal(recv(fd, part, 12, MSG_WAITALL), 12);
		part[12] = '\0';
		assert_string_equal(part, rows[i].status);
		close(fd);
	}
	assert_int_equal(server_too_large(at.server), 3);
}

/* The ledger knows what a header takes, as long as that waits for an answer. */
static void large_headers_are_counted(void **state)
{
	enum { HEADER_BYTES = 12000 };
	uint64_t before = ledger_used(&memory_ledger, LEDGER_connections), more;
	char text[HEADER_BYTES + 200];
	int fd = dial(), n;

	(void)state;
	n = snprintf(text, sizeof(text), "GET /drip HTTP/1.1\r\nHost: h\r\nX: "
		     "%0*d\r\n\r\n", HEADER_BYTES, 0);
	assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
	wait_for(&at.begun, 1);
	more = ledger_used(&memory_ledger, LEDGER_connections) - before;
	assert_in_range(more, HEADER_BYTES, 3 * HEADER_BYTES);
	close(fd);
	wait_for(&at.aborted, 1);
	served_tear_down(state);
	assert_int_equal(ledger_used(&memory_ledger, LEDGER_connections),
			 before);
	set_up(state);
}

/* Until what the ledger has for connections is so much more than before. */
static void await_ledger(uint64_t before, uint64_t least, uint64_t most)
{
	uint64_t more = 0;

	for (int i = 0; i < 5000; i++) {
		more = ledger_used(&memory_ledger, LEDGER_connections) - before;
		if (more >= least && more <= most)
			return;
		usleep(1000);
	}
	assert_in_range(more, least, most);
}

/* And what a trailer does, until its exchange is over. */
static void large_trailers_are_counted(void **state)
{
	enum { TRAILER_BYTES = 12000 };
	uint64_t before = ledger_used(&memory_ledger, LEDGER_connections);
	char text[TRAILER_BYTES + 200];
	int fd = dial();

	(void)state;
	say(fd, "POST /upload HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		"Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n");
	wait_for(&at.begun, 1);
	usleep(20000); /* the handler has paused, and nothing waits for it */
	snprintf(text, sizeof(text), "X: %0*d\r\n", TRAILER_BYTES, 0);
	say(fd, text);
	await_ledger(before, TRAILER_BYTES, 3 * TRAILER_BYTES);
	say(fd, "\r\n");
	free(hear(fd, NULL));
	await_ledger(before, 1, TRAILER_BYTES);
}

/* A client that has ended its half: what is ready is sent, what is not, not. */
static void who_leaves_gets_what_is_ready(void **state)
{
	static const struct {
		const char *request, *part;
	} rows[] = {
		{ "GET /a%41?q" KEEP, "\r\n\r\n/a%41?q" },
		{ "GET /big" KEEP, "bbb" },
		{ "GET /late" KEEP, NULL },
		{ "GET /drip" KEEP, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = dial();
		char *reply;

		say(fd, rows[i].request);
		shutdown(fd, SHUT_WR);
		reply = hear(fd, NULL);
		if (rows[i].part)
			assert_non_null(strstr(reply, rows[i].part));
		else
			assert_null(strstr(reply, "\r\n\r\nlate"));
		free(reply);
	}
	wait_for(&at.done, 2);
	wait_for(&at.aborted, 2);
}

/* What breaks a request off leaves the replies before it alone. */
static void replies_before_go_out(void **state)
{
	static const struct {
		const char *request;
		bool ends; /* and then the client sends no more */
		const char *last; /* of what comes */
	} rows[] = {
		{ "GET /big" KEEP "GET /never" KEEP, true, "bbb" },
		{ "GET /big" KEEP UPLOAD "Content-Length: 9\r\n\r\nabc", true,
		  "bbb" },
		{ "GET /big" KEEP UPLOAD "Transfer-Encoding: chunked\r\n\r\n"
		  "x", false, "400 Bad Request\n" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		size_t len, last = strlen(rows[i].last);
		int fd = dial();
		char *reply;

		say(fd, rows[i].request);
		if (rows[i].ends)
			shutdown(fd, SHUT_WR);
		reply = hear(fd, &len);
		assert_in_range(len, BIG, BIG + 1000);
		assert_string_equal(reply + len - last, rows[i].last);
		free(reply);
		wait_for(&at.aborted, (int)i + 1);
	}
	assert_int_equal(atomic_load(&at.done), 3);
}

/* The reply to an upload that turns out to be malformed breaks off. */
static void a_bad_chunk_breaks_a_reply_off(void **state)
{
	int fd = dial();
	char *reply;

	(void)state;
	say(fd, BOTH("") "Transfer-Encoding: chunked\r\n\r\n");
	hear_until(fd, "begun ");
	say(fd, "-3\r\nabc\r\n");
	reply = hear(fd, NULL);
	assert_null(strstr(reply, "0\r\n\r\n"));
	assert_null(strstr(reply, "HTTP/1.1"));
	free(reply);
	wait_for(&at.aborted, 1);
}

/* A client that can see the end of a reply only by the connection's. */
static void incomplete_replies_are_reset(void **state)
{
	static const struct {
		const char *request;
		bool reset;
	} rows[] = {
		{ "GET /chunks HTTP/1.0\r\n\r\n", false },
		{ "GET /broken HTTP/1.0\r\n\r\n", true },
		{ "GET /stuck HTTP/1.0\r\n\r\n", true },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		int fd = dial();
		char text[4096];
		ssize_t n;

		say(fd, rows[i].request);
		while ((n = recv(fd, text, sizeof(text), 0)) > 0)
			;
		assert_int_equal(n < 0 ? errno : 0,
				 rows[i].reset ? ECONNRESET : 0);
		close(fd);
	}
}

/* The beginning of a second request has no more time than a first one. */
static void slow_second_headers_are_cut_off(void **state)
{
	int fd;

	served_be_hasty(state);
	fd = dial();
	say(fd, "GET /a%41?q" KEEP "GET /a%41?q HTTP/1.1\r\nHost: ");
	for (int i = 0; send(fd, "h", 1, MSG_NOSIGNAL) == 1; i++) {
		served_pass(20);
		usleep(1000); /* the kernel has its own time */
		assert_true(i < 1000); /* 20 s */
	}
	free(hear(fd, NULL));
}

/* A client that takes all that there is has no turn of the loop to itself. */
static void fast_clients_leave_turns_to_others(void **state)
{
	size_t len = 0;
	int fd = dial();
	ssize_t n;

	(void)state;
	say(fd, "GET /flow" CLOSE);
	/* which throws away what it takes, and so is faster than the server */
	while ((n = recv(fd, NULL, 1 << 20, MSG_TRUNC)) > 0)
		len += (size_t)n;
	assert_in_range(len, FLOW, FLOW + 1000);
	wait_for(&at.done, 1);
	assert_in_range(at.turn_most, 1, 1 << 20);
	close(fd);
}

/* Lets clients come before it looks. */
static void drain_late(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5000 && !atomic_load(&at.dropped); i++)
		usleep(1000);
	served_drain(NULL);
}

/* Who has connected when a drain begins is served. */
static void a_drain_serves_the_whole_queue(void **state)
{
	int fds[100];

	(void)state;
	at.stop = (struct loop_call){ .run = drain_late };
	loop_post(at.loop, &at.stop);
	for (size_t i = 0; i < NROWS(fds); i++) {
		fds[i] = dial();
		say(fds[i], "GET /a%41?q" KEEP);
	}
	atomic_store(&at.dropped, 1);
	for (size_t i = 0; i < NROWS(fds); i++) {
		char *reply = hear(fds[i], NULL);

		assert_non_null(strstr(reply, "/a%41?q"));
		free(reply);
	}
	wait_for(&at.done, NROWS(fds));
}

static int set_up_few(void **state)
{
	at.max_connections = 4;
	at.client_connections = 2;
	return set_up(state);
}

static int tear_down_few(void **state)
{
	at.max_connections = at.client_connections = 0;
	return served_tear_down(state);
}

static int dial_from(const char *address)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	int fd = loopback_socket();

	assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	loopback_connect(fd, server_port(at.server));
	return fd;
}

static void reply_to_waiting(void *arg)
{
	(void)arg;
	exchange_reply_copy(at.waiting, 200, NULL, "waited", 6);
}

/* Who has too many connections takes nobody else's place with another one. */
static void surplus_connections_evict_nobody(void **state)
{
	int busy[2] = { dial(), dial() }, idle[2], fd;
	char *reply;

	(void)state;
	say(busy[0], "GET /never" KEEP);
	say(busy[1], "GET /never" KEEP);
	wait_for(&at.begun, 2);
	idle[0] = dial_from("127.0.0.2");
	say(idle[0], "GET /wait" KEEP);
	wait_for(&at.begun, 3);
	idle[1] = dial_from("127.0.0.2");
	say(idle[1], "GET /a%41?q" KEEP);
	hear_until(idle[1], "/a%41?q");
	at.stop = (struct loop_call){ .run = reply_to_waiting };
	loop_post(at.loop, &at.stop);
	hear_until(idle[0], "waited");
	/* now all places are taken, and two of them could be had */
	reply = hear(dial(), NULL);
	assert_string_equal(reply, "");
	free(reply);
	assert_int_equal(server_crowded_out(at.server), 0);
	/* by others, who are not too many */
	fd = dial_from("127.0.0.3");
	say(fd, "GET /a%41?q" CLOSE);
	reply = hear(fd, NULL);
	assert_non_null(strstr(reply, "\r\n\r\n/a%41?q"));
	free(reply);
	assert_int_equal(server_crowded_out(at.server), 1);
	for (int i = 0; i < 2; i++) {
		close(busy[i]);
		close(idle[i]);
	}
}

/* Who has begun a header is told that it comes too late; who has not, may have
 * connected in advance. */
static void late_headers_are_answered(void **state)
{
	static const struct {
		const char *request, *parts[5];
	} rows[] = {
		{ "GET /a%41?q HTTP/1.1\r\nHost: ",
		  { "HTTP/1.1 408 Request Timeout\r\n",
		    "Connection: close\r\n\r\n408 Request Timeout\n" } },
		{ "GET /a%41?q" KEEP "G",
		  { "HTTP/1.1 200 OK\r\n", "/a%41?q", "HTTP/1.1 408 " } },
		{ "", { NULL } },
	};
	int fds[NROWS(rows)];

	served_be_hasty(state);
	for (size_t i = 0; i < NROWS(rows); i++) {
		fds[i] = dial();
		say(fds[i], rows[i].request);
	}
	wait_for(&at.done, 1);
	served_pass(1100);
	for (size_t i = 0; i < NROWS(rows); i++) {
		char *reply = hear(fds[i], NULL);

		assert_order(reply, rows[i].parts);
		if (!rows[i].parts[0])
			assert_string_equal(reply, "");
		free(reply);
	}
	assert_int_equal(atomic_load(&at.begun), 1);
}

/* Leaves none but what is open. Returns the limit that was before. */
static struct rlimit take_descriptors(void)
{
	int last = dup(1); /* all below it are in use */
	struct rlimit before, few;

	assert_true(last >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)last;
	close(last);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	return before;
}

static long system_time_us(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_stime.tv_sec * 1000000 + used.ru_stime.tv_usec;
}

/* Who comes is told so, and the processor is not kept busy with it. */
static void no_descriptors_are_left(void **state)
{
	int first = loopback_socket(), second = loopback_socket();
	struct rlimit before = take_descriptors();
	long from_us = system_time_us();
	char *reply;

	(void)state;
	loopback_connect(first, server_port(at.server));
	say(first, "GET /late" CLOSE);
	reply = hear(first, NULL); /* which frees one */
	assert_order(reply, (const char *const[]){
		"HTTP/1.1 503 ", "Retry-After: ", "\r\n\r\n", NULL });
	free(reply);
	assert_int_equal(atomic_load(&at.begun), 0);
	assert_true(system_time_us() - from_us < 150000);
	loopback_connect(second, server_port(at.server));
	say(second, "GET /late" CLOSE);
	reply = hear(second, NULL);
	assert_non_null(strstr(reply, "late"));
	free(reply);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void idle_connections_leave_their_descriptors(void **state)
{
	int fd = loopback_socket(), idle = dial();
	struct rlimit before;
	char *reply;

	(void)state;
	say(idle, "GET /a%41?q" KEEP);
	hear_until(idle, "/a%41?q");
	before = take_descriptors();
	loopback_connect(fd, server_port(at.server));
	say(fd, "GET /late" CLOSE);
	reply = hear(fd, NULL);
	assert_non_null(strstr(reply, "late"));
	free(reply);
	assert_int_equal(server_crowded_out(at.server), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	close(idle);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, served_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(conversations),
		CASE(many_requests_in_one_packet),
		CASE(bodies_are_asked_for),
		CASE(uploads_go_on_beside_replies),
		CASE(interim_responses),
		CASE(interim_responses_are_dropped),
		CASE(large_headers_are_refused),
		CASE(large_headers_are_counted),
		CASE(large_trailers_are_counted),
		CASE(who_leaves_gets_what_is_ready),
		CASE(replies_before_go_out),
		CASE(a_bad_chunk_breaks_a_reply_off),
		CASE(incomplete_replies_are_reset),
		CASE(slow_second_headers_are_cut_off),
		CASE(fast_clients_leave_turns_to_others),
		CASE(a_drain_serves_the_whole_queue),
		cmocka_unit_test_setup_teardown(
			surplus_connections_evict_nobody, set_up_few,
			tear_down_few),
		CASE(late_headers_are_answered),
		CASE(no_descriptors_are_left),
		CASE(idle_connections_leave_their_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
