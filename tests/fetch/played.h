/*
 * A fetcher and the server that it talks to, which the test plays in the same
 * thread, so that what it reads and says comes in the order that a test needs.
 */
#ifndef TESTS_FETCH_PLAYED_H
#define TESTS_FETCH_PLAYED_H

#include "tests/unit.h"

#include <stdbool.h>

#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/os/loop.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum {
	BIG = 8000000, /* more than a socket's buffers take */
	GOT_MAX = BIG + 200000, /* with heads and chunks */
	TURNS_MAX = 20000,
};

extern char pattern[BIG], got[GOT_MAX + 1];
extern unsigned first_byte_ms, tunnel_idle_ms; /* long, if not set */

struct played {
	struct loop *loop;
	struct fetcher *fetcher;
	int listen_fd, fd; /* fd -1: no connection yet */
	unsigned port, connections;
	size_t ngot;

	/* the fetch */
	struct fetch *fetch;
	struct fetch_upload upload;
	size_t len, piece; /* of its body; at most so much at a time */
	size_t ready, read;
	bool gives_up, over, pauses;
	bool cancels_at_read, cancels_at_half; /* itself, in a callback */
	unsigned status, interim, half_closed, trailers;
	const struct fields *behind; /* the body */
	char body[100001];
	size_t nbody;
	struct fetch_done done;
};

extern struct played at;

int played_set_up(void **state);
int played_tear_down(void **state);

/* The client begins one with a body of so many bytes, of which `ready` are
 * there; a POST of that; more of them are there. */
void begin(struct fetch_request request, int64_t announced, size_t len,
	   size_t ready);
void post(int64_t announced, size_t len, size_t ready);
void upload_more(size_t ready);

/* Turns until it is over, with this result. */
void finish(enum fetch_result result);

/* The server: a turn, in which it reads what there is (whether it did); turns
 * until nothing comes any more; what it says; its end. */
bool serve_turn(void);
void serve_read(void);
void serve_say(const char *text);
void serve_close(bool reset);

/* Behind the head of what it got; and chunks there taken apart in place, their
 * length together. */
const char *body_got(void);
size_t unchunk(char *at_chunk, bool *ended);

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, played_set_up, \
					played_tear_down)

#endif
