/*
 * A server with a handler that replies in all ways, by its request's target,
 * for tests of both engines. Its loop runs in a thread of its own; the tests
 * are blocking clients.
 */
#ifndef TESTS_SERVER_SERVED_H
#define TESTS_SERVER_SERVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"
#include "tests/loopback.h"

enum { BIG = 3 << 20, REPLY_MAX = 8 << 20, FLOOD = 300000,
       FLOW = 64 << 20, TUNNEL_ROOM = 5000 };

struct served {
	struct loop *loop;
	struct server *server;
	pthread_t thread;
	char big[BIG];
	atomic_int begun, done, aborted, released, dropped;
	atomic_int taken; /* of bodies behind their replies */
	struct loop_call stop;
	struct loop_call turn; /* while a flow is read: ends a turn's count */
	size_t turn_bytes, turn_most;
	struct shared_reply *shared;
	struct exchange *waiting;
	struct exchange_account account; /* of the last that is done */
	atomic_int refused; /* the status of the last */
	bool bare; /* a handler with nothing but on_request() */
	struct loop_timer timer; /* that one's */
	char *in_file; /* the same in memory that is sent without a copy */
	bool strict; /* the engine */
	unsigned max_connections, client_connections; /* 0: 1000; any */
	unsigned header_ms; /* 0: 10000 */
	bool http2;         /* with TLS or without */
	struct tls *tls; /* null: none */
	bool proxy_protocol;
	const struct address_prefixes *trusted, *allowed;
	const char *listen; /* null: on a free port of IPv4 */
	unsigned idle_ms; /* 0: 3000 */
	atomic_bool drained;
};

extern struct served at;

#define CLOSE " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define KEEP " HTTP/1.1\r\nHost: h\r\n\r\n"

/* Set-up and tear-down of a test: the server, with at.strict's engine, and the
 * settings that are there. */
int served_set_up(void **state);
int served_tear_down(void **state);

/* Makes such a server in another loop. */
int served_make(struct loop *loop, struct server **out);

/* Has the server drain; for a call in its loop. And waits until it has. */
void served_drain(void *arg);
void served_hand_over(void *arg); /* the same, as another process goes on */
void served_wait_drained(void);

/* With the one shared reply; or, if that cannot be, with another. */
void reply_shared(struct exchange *x);
void drop_shared(void *arg);

/* A client: connects, sends, reads until the server closes (the result ends
 * with a 0), or all of that. */
int dial(void);
void say(int fd, const char *text);
char *hear(int fd, size_t *len);
char *ask(const char *request, size_t *len);

/* Begins again, with a server whose clients have a second for a header. */
void served_be_hasty(void **state);

/* Waits until a counter has a value. */
void wait_for(atomic_int *counter, int value);

/* How often a part is in a text. */
size_t count_of(const char *text, const char *part);

#endif
