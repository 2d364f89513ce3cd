/*
 * Names and addresses of servers: a resolver that the test plays, a clock that
 * it moves, and a server at all addresses of the loopback, which notes at which
 * of them it was asked.
 */
#include "tests/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "digestd/os/resolver.h"
#include "tests/fetch/accepting.h"
#include "tests/fetch/fetched.h"
#include "tests/loopback.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum { MINUTE_MS = 60000 };

static struct {
	struct accepting server;
	unsigned port;
	atomic_uint asked; /* the end of the last address */
	int64_t later_ms; /* than the clock says */
	unsigned end;	  /* of the address that the name has; 0: none */
	unsigned lookups;
	bool silent; /* lookups have no end */
	unsigned stuck; /* a port: an address with it is the first; 0: none */
	struct loop *loop;
	struct fetcher *fetcher;
} at;

/* The clock */

int64_t __real_loop_now_ms(const struct loop *loop);
int64_t __wrap_loop_now_ms(const struct loop *loop);

int64_t __wrap_loop_now_ms(const struct loop *loop)
{
	return __real_loop_now_ms(loop) + at.later_ms;
}

/* The resolver */

struct resolver_query {
	struct loop_call call;
	unsigned port;
	void (*done)(void *arg, const struct resolver_answer *answer);
	void *arg;
};

static union resolver_address address_of(unsigned end, unsigned port)
{
	union resolver_address a;

	memset(&a, 0, sizeof(a));
	a.in4.sin_family = AF_INET;
	a.in4.sin_port = htons((uint16_t)port);
	a.in4.sin_addr.s_addr = htonl(0x7f000000u + end);
	return a;
}

int __wrap_resolver_start(struct resolver *r, const char *name, unsigned port,
			  void (*done)(void *arg,
				       const struct resolver_answer *answer),
			  void *arg, struct resolver_query **out);
void __wrap_resolver_cancel(struct resolver_query **q);

static void answer_lookup(void *arg)
{
	struct resolver_query *q = arg;
	struct resolver_answer answer = { .n = at.end > 0 };

	answer.addresses[0] = address_of(at.end, q->port);
	if (at.stuck) {
		answer.addresses[answer.n++] = answer.addresses[0];
		answer.addresses[0] = address_of(1, at.stuck);
	}
	q->done(q->arg, &answer);
	free(q);
}

int __wrap_resolver_start(struct resolver *r, const char *name, unsigned port,
			  void (*done)(void *arg,
				       const struct resolver_answer *answer),
			  void *arg, struct resolver_query **out)
{
	struct resolver_query *q = calloc(1, sizeof(*q));

	(void)r;
	assert_string_equal(name, "a.name");
	*q = (struct resolver_query){
		.call = { .run = answer_lookup, .arg = q },
		.port = port, .done = done, .arg = arg,
	};
	at.lookups++;
	if (!at.silent)
		loop_defer(at.loop, &q->call);
	*out = q;
	return 0;
}

void __wrap_resolver_cancel(struct resolver_query **q)
{
	assert_true(!*q || at.silent); /* else they are answered at once */
	free(*q);
	*q = NULL;
}

/* The server */

static void *serve_one(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct sockaddr_in here;
	socklen_t len = sizeof(here);
	char request[1000];

	getsockname(fd, (struct sockaddr *)&here, &len);
	while (recv(fd, request, sizeof(request), 0) > 0) {
		atomic_store(&at.asked, ntohl(here.sin_addr.s_addr) & 0xff);
		if (send(fd, OK, strlen(OK), MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static int set_up(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t len = sizeof(any);
	int fd;

	(void)state;
	memset(&at, 0, sizeof(at));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, len), 0);
	assert_int_equal(listen(fd, ACCEPTING_MAX), 0);
	getsockname(fd, (struct sockaddr *)&any, &len);
	at.port = ntohs(any.sin_port);
	accepting_begin(&at.server, fd, serve_one);
	assert_int_equal(loop_new(&at.loop), 0);
	return fetcher_new(at.loop, FETCHER_DATA, 0, &at.fetcher);
}

static int tear_down(void **state)
{
	(void)state;
	fetcher_free(&at.fetcher);
	loop_free(&at.loop);
	accepting_end(&at.server);
	return 0;
}

/* A GET to the name, or to an address in its place, with so much time for a
 * connection. */
static struct fetch_done get_within(unsigned connect_ms,
				    const union resolver_address *address)
{
	const struct fetch_limits limits = {
		.connect_ms = connect_ms,
		.first_byte_ms = 20000,
		.max_header_bytes = 1000,
	};
	struct fetched seen = { 0 };
	char url[64];
	struct fetch_request request = { .method = "GET", .url = url,
					 .address = address,
					 .limits = &limits };

	snprintf(url, sizeof(url), "http://a.name:%u/", at.port);
	fetched_begin(&seen, at.loop, at.fetcher, &request);
	fetched_end(&seen);
	return seen.done;
}

/* A GET to a host that is an address. */
static enum fetch_result get_at(const union resolver_address *address)
{
	const struct fetch_limits limits = {
		.connect_ms = 20000,
		.first_byte_ms = 20000,
		.max_header_bytes = 1000,
	};
	char url[64], host[INET_ADDRSTRLEN];
	struct fetch_request request = { .method = "GET", .url = url,
					 .limits = &limits };
	struct fetched seen = { 0 };

	inet_ntop(AF_INET, &address->in4.sin_addr, host, sizeof(host));
	snprintf(url, sizeof(url), "http://%s:%u/", host, at.port);
	fetched_begin(&seen, at.loop, at.fetcher, &request);
	return fetched_end(&seen);
}

static struct fetch_done get(const union resolver_address *address)
{
	return get_within(20000, address);
}

static void assert_asked(unsigned end, unsigned connections, unsigned lookups)
{
	assert_int_equal(get(NULL).result, FETCH_COMPLETE);
	assert_int_equal(at.asked, end);
	assert_int_equal(at.server.accepted, connections);
	assert_int_equal(at.lookups, lookups);
}

/* Connections are kept busy, so that no new one is ever made. */
static void a_name_moves_under_kept_connections(void **state)
{
	(void)state;
	at.end = 1;
	assert_asked(1, 1, 1);
	at.end = 2;
	at.later_ms = MINUTE_MS / 2;
	assert_asked(1, 1, 1);
	/* it is asked for again, while the old one serves on */
	at.later_ms = MINUTE_MS + 1000;
	assert_asked(1, 1, 2);
	assert_asked(2, 2, 2);
	assert_asked(2, 2, 2);
}

static void no_answer_changes_nothing(void **state)
{
	(void)state;
	at.end = 1;
	assert_asked(1, 1, 1);
	at.end = 0;
	at.later_ms = MINUTE_MS + 1000;
	for (int i = 0; i < 5; i++) /* and is not asked for at each request */
		assert_asked(1, 1, 2);
	at.later_ms += 6000;
	assert_asked(1, 1, 3);
}

static void an_address_in_place_of_the_name(void **state)
{
	union resolver_address one = address_of(1, at.port);
	union resolver_address other = address_of(2, at.port);
	union resolver_address nobody = address_of(3, 1);
	struct fetch_done done;

	(void)state;
	for (int i = 0; i < 2; i++) { /* each has connections of its own */
		done = get(&one);
		assert_int_equal(done.result, FETCH_COMPLETE);
		assert_true(done.sent);
		assert_int_equal(at.asked, 1);
		assert_int_equal(get(&other).result, FETCH_COMPLETE);
		assert_int_equal(at.asked, 2);
	}
	assert_int_equal(at.server.accepted, 2);
	assert_int_equal(at.lookups, 0);
	done = get(&nobody);
	assert_int_equal(done.result, FETCH_NOCONNECT);
	assert_int_equal(done.cause, TROUBLE_refused);
	assert_false(done.sent);
	/* what the name itself stands for is neither of them */
	at.end = 4;
	assert_asked(4, 3, 1);
}

static void a_name_server_is_silent(void **state)
{
	struct fetch_done done;

	(void)state;
	at.silent = true;
	done = get_within(20, NULL);
	assert_int_equal(done.result, FETCH_TIMEOUT);
	assert_int_equal(done.cause, TROUBLE_name_server);
	assert_false(done.sent);
	assert_int_equal(at.lookups, 1);
}

/* A server whose queue has one place, which others have taken. */
enum { WAITING = 4 };

struct full {
	unsigned port;
	int listen_fd, fds[WAITING];
};

static void full_begin(struct full *f)
{
	struct sockaddr_in to;

	f->listen_fd = loopback_listen(&f->port);
	to = address_of(1, f->port).in4;
	assert_int_equal(listen(f->listen_fd, 0), 0);
	for (unsigned i = 0; i < WAITING; i++) {
		f->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_true(f->fds[i] >= 0);
		(void)connect(f->fds[i], (struct sockaddr *)&to, sizeof(to));
	}
}

static void full_end(struct full *f)
{
	for (unsigned i = 0; i < WAITING; i++)
		close(f->fds[i]);
	close(f->listen_fd);
}

static void a_server_takes_no_connection(void **state)
{
	union resolver_address address;
	struct fetch_done done;
	struct full full;

	(void)state;
	full_begin(&full);
	address = address_of(1, full.port);
	done = get_within(20, &address);
	assert_int_equal(done.result, FETCH_TIMEOUT);
	assert_false(done.sent);
	full_end(&full);
}

/* An address that does not answer has its share of the time, which a clock that
 * is almost as late makes 10 ms; then comes the next one. */
static void the_next_address_has_its_turn(void **state)
{
	enum { LATE_MS = 4900, SHARE_MS = LATE_MS + 10 };
	struct full full;

	(void)state;
	full_begin(&full);
	at.end = 2;
	at.stuck = full.port;
	at.later_ms = -LATE_MS;
	assert_int_equal(get_within(2 * SHARE_MS, NULL).result, FETCH_COMPLETE);
	assert_int_equal(at.asked, 2);
	full_end(&full);
}

/* Each host has its connections, however many there are; and is forgotten when
 * it was not asked for a while. */
static void many_hosts(void **state)
{
	enum { HOSTS = 60, LATE_MS = 4990, HOUR_MS = 60 * MINUTE_MS };
	union resolver_address address;

	(void)state;
	at.later_ms = -LATE_MS; /* as below */
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 1; i <= HOSTS; i++) {
			address = address_of(i, at.port);
			assert_int_equal(get_at(&address), FETCH_COMPLETE);
			assert_int_equal(at.asked, i);
		}
		/* they are looked through, and all that is young stays */
		assert_int_equal(loop_turn(at.loop, 20), 0);
		assert_int_equal(at.server.accepted, HOSTS);
	}
	at.later_ms = HOUR_MS;
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_turn(at.loop, 20), 0);
	address = address_of(1, at.port);
	assert_int_equal(get_at(&address), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, HOSTS + 1);
}

/* The pool looks through what it has each 5 s, which a clock that is almost as
 * late makes 10 ms. An hour later nothing is known of a name any more. */
static void what_nobody_uses_is_forgotten(void **state)
{
	enum { LATE_MS = 4990, HOUR_MS = 60 * MINUTE_MS };

	(void)state;
	at.end = 1;
	at.later_ms = -LATE_MS;
	assert_asked(1, 1, 1);
	at.later_ms = HOUR_MS;
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_turn(at.loop, 20), 0);
	at.end = 2;
	assert_asked(2, 2, 2);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_moves_under_kept_connections),
		TEST(no_answer_changes_nothing),
		TEST(an_address_in_place_of_the_name),
		TEST(a_name_server_is_silent),
		TEST(a_server_takes_no_connection),
		TEST(the_next_address_has_its_turn),
		TEST(many_hosts),
		TEST(what_nobody_uses_is_forgotten),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
