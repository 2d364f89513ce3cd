/*
 * Connections as a server counts them, whatever speaks on them: who makes room
 * for others, how many an address has, who may connect, and what is logged of
 * all that. Without sockets, and at times that the test sets.
 */
#include "digestd/server/server_engine.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "digestd/os/memory.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum { NOW_MS = 100000, CONN_BYTES = 1000, MAX_CONNS = 1100, MANY = 65 };

static struct {
	struct loop *loop;
	int64_t now_ms;
	struct server server;
	struct conn conns[MAX_CONNS];
	struct sockaddr_in from[MAX_CONNS];
	unsigned nconns;
	char closed[MAX_CONNS + 1]; /* a letter for each, in their order */
	unsigned nclosed, quiesced, drained;
	char logged[200];
	unsigned nlogged;
} at;

int64_t __wrap_loop_now_ms(const struct loop *loop);
int64_t __wrap_loop_now_ms(const struct loop *loop)
{
	(void)loop;
	return at.now_ms;
}

void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
{
	va_list args;

	(void)level;
	(void)part;
	va_start(args, format);
	vsnprintf(at.logged, sizeof(at.logged), format, args);
	va_end(args);
	at.nlogged++;
}

/* An engine that closes at once. */
static void engine_close(struct conn *c)
{
	at.closed[at.nclosed++] = (char)('a' + (c - at.conns) % 26);
	conn_leave(c);
}

static void engine_quiesce(struct server *s)
{
	assert_true(s->draining);
	at.quiesced++;
}

static size_t engine_conn_bytes(const struct server *s)
{
	(void)s;
	return CONN_BYTES;
}

static const struct server_engine engine = {
	.bytes = sizeof(struct server),
	.quiesce = engine_quiesce,
	.close = engine_close,
	.conn_bytes = engine_conn_bytes,
};

static int set_up(void **state)
{
	(void)state;
	memset(&at, 0, sizeof(at));
	at.now_ms = NOW_MS;
	assert_int_equal(loop_new(&at.loop), 0);
	at.server = (struct server){
		.engine = &engine, .loop = at.loop, .trusts_all = true,
		.idle_end = &at.server.idle,
		.uploads_end = &at.server.uploads, .label = "port 80",
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	memory_limit(UINT64_MAX);
	while (at.server.conns)
		conn_leave(at.server.conns);
	for (size_t i = 0; i < SERVER_CLIENTS; i++)
		assert_null(at.server.clients[i]);
	assert_int_equal(at.server.nconns, 0);
	assert_int_equal(ledger_used(&memory_ledger, LEDGER_connections), 0);
	loop_undefer(at.loop, &at.server.drained);
	loop_free(&at.loop);
	return 0;
}

/* For the next row of a table. */
static void start_again(void)
{
	tear_down(NULL);
	set_up(NULL);
}

/* One from an address of its own, or (0) from the one that all others have. */
static struct conn *add_conn(unsigned address)
{
	struct conn *c = &at.conns[at.nconns];
	struct sockaddr_in *from = &at.from[at.nconns++];

	*from = (struct sockaddr_in){ .sin_family = AF_INET };
	from->sin_addr.s_addr = htonl(0x0a000000 + address);
	*c = (struct conn){ .server = &at.server,
			    .address = (struct sockaddr *)from };
	conn_enter(c);
	return c;
}

/* Who makes room */

enum kind { BUSY, IDLE, UPLOAD, HELD /* an upload */ };

struct waiting {
	enum kind kind;
	unsigned address;
	int64_t for_ms;  /* before now */
	uint64_t bytes;  /* of an upload, that have come */
	unsigned copies; /* more of them, of addresses of their own */
};

static void add_one(const struct waiting *w, unsigned address)
{
	struct conn *c = add_conn(address);

	at.now_ms = NOW_MS - w->for_ms;
	if (w->kind == IDLE)
		conn_idle_enter(c);
	else if (w->kind != BUSY)
		conn_upload_enter(c);
	c->upload_bytes = w->bytes;
	c->held = w->kind == HELD;
	at.now_ms = NOW_MS;
}

static void add_all(const struct waiting *w, size_t n)
{
	for (size_t i = 0; i < n && (w[i].address || w[i].for_ms ||
				     w[i].kind != BUSY); i++) {
		add_one(&w[i], w[i].address);
		for (unsigned copy = 0; copy < w[i].copies; copy++)
			add_one(&w[i], 1000 + copy);
	}
}

/* clang-format off */
static const struct {
	const char *label;
	struct waiting all[4]; /* a, b, ... in the order in which they began */
	const char *closed;    /* for one that comes when all places are taken */
} rooms[] = {
	{ "nobody waits for a client", { { BUSY, 1, 9000, 0, 0 }, { BUSY, 2, 9000, 0, 0 } }, "" },
	{ "who has waited longest", { { IDLE, 1, 9000, 0, 0 }, { IDLE, 2, 8000, 0, 0 } }, "a" },
	{ "or has more connections", { { IDLE, 1, 9000, 0, 0 }, { IDLE, 2, 8000, 0, 0 }, { BUSY, 2, 8000, 0, 0 } }, "b" },
	{ "what has just begun is spared", { { UPLOAD, 1, 5000, 0, 0 }, { IDLE, 2, 999, 0, 0 } }, "a" },
	{ "as long as there is another", { { BUSY, 1, 5000, 0, 0 }, { IDLE, 2, 999, 0, 0 } }, "b" },
	{ "idle ones before uploads", { { UPLOAD, 1, 5000, 0, 0 }, { IDLE, 2, 1001, 0, 0 } }, "b" },
	{ "even if both have just begun", { { UPLOAD, 1, 500, 0, 0 }, { IDLE, 2, 1, 0, 0 } }, "b" },
	{ "the slowest upload", { { UPLOAD, 1, 5000, 900000, 0 }, { UPLOAD, 2, 5000, 10, 0 }, { UPLOAD, 3, 4000, 9, 0 } }, "b" },
	{ "the slowest for its time", { { UPLOAD, 1, 9000, 900, 0 }, { UPLOAD, 2, 2000, 600, 0 } }, "a" },
	{ "or of who has more of them", { { UPLOAD, 1, 5000, 0, 0 }, { UPLOAD, 2, 4000, 900, 0 }, { BUSY, 2, 1, 0, 0 } }, "b" },
	{ "an upload that has just begun", { { UPLOAD, 1, 0, 0, 0 }, { BUSY, 2, 9, 0, 0 } }, "a" },
	{ "not one that waits for its origin", { { HELD, 1, 9000, 0, 0 }, { UPLOAD, 2, 500, 0, 0 } }, "b" },
	{ "nor if there is no other", { { HELD, 1, 9000, 0, 0 }, { HELD, 2, 500, 0, 0 } }, "" },
	{ "only the first are looked at", { { IDLE, 1, 9000, 0, 63 }, { IDLE, 2, 8000, 0, 0 }, { BUSY, 2, 1, 0, 0 } }, "a" },
	{ "which are so many", { { IDLE, 1, 9000, 0, 62 }, { IDLE, 2, 8000, 0, 0 }, { BUSY, 2, 1, 0, 0 } }, "l" },
	{ "the first uploads", { { UPLOAD, 1, 9000, 90000, 63 }, { UPLOAD, 2, 8000, 1, 0 } }, "a" },
	{ "which are as many", { { UPLOAD, 1, 9000, 90000, 62 }, { UPLOAD, 2, 8000, 1, 0 } }, "l" },
};
/* clang-format on */

static void all_places_are_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rooms); i++) {
		bool some = rooms[i].closed[0];

		start_again();
		add_all(rooms[i].all, NROWS(rooms[i].all));
		at.server.settings.max_connections = at.nconns + 1;
		server_make_room(&at.server);
		assert_string_equal(at.closed, "");
		assert_true(server_has_room(&at.server));
		at.server.settings.max_connections = at.nconns;
		if (server_has_room(&at.server) != some)
			fail_msg("%s: room", rooms[i].label);
		server_make_room(&at.server);
		if (strcmp(at.closed, rooms[i].closed) != 0)
			fail_msg("%s: %s", rooms[i].label, at.closed);
		assert_int_equal(server_crowded_out(&at.server), some);
		assert_int_equal(at.server.nconns, at.nconns - some);
	}
}

/* One that waits goes for its descriptor, however many places are left. */
static void descriptors_are_short(void **state)
{
	const struct waiting all[] = { { BUSY, 1, 9000, 0, 0 },
				       { IDLE, 2, 10, 0, 0 } };

	(void)state;
	at.server.settings.max_connections = MAX_CONNS;
	add_all(all, NROWS(all));
	assert_true(server_give_way(&at.server));
	assert_string_equal(at.closed, "b");
	assert_false(server_give_way(&at.server));
}

/* The limit that leaves so much of itself. */
static void leave_memory(uint64_t percent)
{
	uint64_t used = ledger_used(&memory_ledger, LEDGER_connections);

	memory_limit(used * 100 / (100 - percent));
}

/* Some of those that have waited for a while go for one that comes, until there
 * is more than the quarter that is kept, and not all at once. */
static void memory_is_short(void **state)
{
	const struct waiting old = { IDLE, 1, 5000, 0, 18 };
	const struct waiting new = { IDLE, 2, 500, 0, 0 };

	(void)state;
	at.server.settings.max_connections = MAX_CONNS;
	add_all(&old, 1);
	add_all(&new, 1);
	leave_memory(32);
	server_make_room(&at.server);
	assert_string_equal(at.closed, "");
	leave_memory(26); /* 5 % of it are one connection's */
	server_make_room(&at.server);
	assert_string_equal(at.closed, "ab");
	leave_memory(0);
	server_make_room(&at.server);
	assert_string_equal(at.closed, "abcdef");
	for (int i = 0; i < 10; i++) {
		leave_memory(0);
		server_make_room(&at.server);
	}
	/* what has just begun stays */
	assert_string_equal(at.closed, "abcdefghijklmnopqrs");
	assert_int_equal(at.server.nconns, 1);
	assert_int_equal(server_crowded_out(&at.server), 19);
}

/* Nothing is left: an address that has many loses some of them even if they
 * have just begun, and gets no more. */
static void memory_is_used_up(void **state)
{
	const struct conn *other;

	(void)state;
	at.server.settings.max_connections = MAX_CONNS;
	for (int i = 0; i < MANY; i++)
		add_one(&(struct waiting){ .kind = IDLE }, 7);
	other = add_conn(8);
	assert_true(server_has_memory_for(&at.conns[0]));
	leave_memory(0);
	assert_false(server_has_memory_for(&at.conns[0]));
	assert_true(server_has_memory_for(other));
	server_make_room(&at.server);
	assert_string_equal(at.closed, "a"); /* it has not so many any more */
	leave_memory(0);
	assert_true(server_has_memory_for(&at.conns[1]));
}

/* Addresses */

static struct sockaddr_in6 address_v6(uint8_t net, uint8_t host)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6 };

	a.sin6_addr.s6_addr[0] = 0x20;
	a.sin6_addr.s6_addr[7] = net;
	a.sin6_addr.s6_addr[15] = host;
	return a;
}

static unsigned add_numbered(unsigned address)
{
	add_conn(address);
	return address;
}

/* Against one count for each, of more addresses than there are lists. */
static void connections_of_an_address(void **state)
{
	enum { ADDRESSES = 500 };
	unsigned counts[ADDRESSES] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2 * ADDRESSES; i++)
		counts[add_numbered(i * i % ADDRESSES)]++;
	for (unsigned i = 0; i < 2 * ADDRESSES; i++)
		assert_int_equal(conn_client_count(&at.conns[i]),
				 counts[i * i % ADDRESSES]);
	for (unsigned i = 0; i < 2 * ADDRESSES; i += 3) {
		conn_leave(&at.conns[i]);
		counts[i * i % ADDRESSES]--;
	}
	for (unsigned i = 1; i < 2 * ADDRESSES; i += 3)
		assert_int_equal(conn_client_count(&at.conns[i]),
				 counts[i * i % ADDRESSES]);
}

/* Of IPv6 one subscriber has all that begins with the same 64 bits. */
static void subscribers_of_ipv6(void **state)
{
	const struct sockaddr_in6 from[] = { address_v6(1, 1), address_v6(1, 2),
					     address_v6(2, 1) };

	(void)state;
	for (size_t i = 0; i < NROWS(from); i++)
		conn_set_client(add_conn(1), (const struct sockaddr *)&from[i]);
	assert_int_equal(conn_client_count(&at.conns[0]), 2);
	assert_int_equal(conn_client_count(&at.conns[1]), 2);
	assert_int_equal(conn_client_count(&at.conns[2]), 1);
}

/* Nor have local clients an address in common. */
static void local_clients_are_not_counted(void **state)
{
	const struct sockaddr_un local = { .sun_family = AF_UNIX };

	(void)state;
	for (int i = 0; i < 3; i++)
		conn_set_client(add_conn(1), (const struct sockaddr *)&local);
	for (int i = 0; i < 3; i++)
		assert_int_equal(conn_client_count(&at.conns[i]), 0);
}

/* Without memory for its address a connection is served all the same, as one
 * of a few. */
static void an_address_without_memory(void **state)
{
	struct conn *c;

	(void)state;
	add_conn(1);
	alloc_fail_at(1);
	c = add_conn(2);
	assert_true(alloc_failed());
	alloc_fail_at(0);
	assert_int_equal(conn_client_count(c), 0);
	conn_leave(c);
	assert_int_equal(conn_client_count(add_conn(2)), 1);
}

static void who_may_connect(void **state)
{
	const struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct address_prefixes some;

	(void)state;
	add_conn(1);
	add_conn(0x10001);
	add_conn(2)->address = (const struct sockaddr *)&local;
	assert_true(address_prefixes_read("10.1.0.0/16", &some));
	assert_true(server_allows(&at.server, at.conns[0].address));
	server_set_allowed(&at.server, &some);
	assert_string_equal(at.closed, "a");
	assert_false(server_allows(&at.server, at.conns[0].address));
	at.server.settings.allowed_by = "listed";
	server_count_unlisted(&at.server, at.conns[0].address);
	assert_string_equal(at.logged, "port 80: a connection from 10.0.0.1 is "
			    "closed: its address is not in listed");
	server_set_allowed(&at.server, NULL);
	assert_true(server_allows(&at.server, at.conns[0].address));
	assert_string_equal(at.closed, "a");
}

/* What is logged */

static void count_too_large(struct server *s, const struct sockaddr *from)
{
	server_count_refusal(s, from, 431, NULL);
}

static void count_malformed(struct server *s, const struct sockaddr *from)
{
	server_count_refusal(s, from, 400, "bare LF");
}

static void count_late(struct server *s, const struct sockaddr *from)
{
	server_count_refusal(s, from, 408, "its header is late");
}

static void count_tls_failure(struct server *s, const struct sockaddr *from)
{
	server_count_tls_failure(s, from, "no shared cipher");
}

static void count_unknown_tls_failure(struct server *s,
				      const struct sockaddr *from)
{
	server_count_tls_failure(s, from, "");
}

/* clang-format off */
static const struct {
	void (*count)(struct server *s, const struct sockaddr *from);
	uint64_t (*counted)(const struct server *s);
	const char *logged;
} news[] = {
	{ count_too_large, server_too_large, "port 80: 431 to 10.0.0.5: the header is larger than max_header_size = 0, or has too many fields" },
	{ count_malformed, NULL, "port 80: 400 to 10.0.0.5: bare LF" },
	{ count_late, NULL, "port 80: 408 to 10.0.0.5: its header is late" },
	{ count_tls_failure, server_tls_failures, "port 80: handshake with 10.0.0.5 failed: no shared cipher" },
	{ count_unknown_tls_failure, server_tls_failures, "port 80: handshake with 10.0.0.5 failed" },
	{ server_count_flood, server_floods, "port 80: a connection from 10.0.0.5 is closed: a flood of HTTP/2 frames" },
};
/* clang-format on */

/* All are counted, the first of ten seconds are logged, and then how many were
 * not. */
static void floods_of_news(void **state)
{
	enum { NEWS = 20, LOGGED = 5 };

	(void)state;
	for (size_t i = 0; i < NROWS(news); i++) {
		start_again();
		add_conn(5);
		for (int n = 0; n < NEWS; n++)
			news[i].count(&at.server, at.conns[0].address);
		if (news[i].counted)
			assert_int_equal(news[i].counted(&at.server), NEWS);
		assert_int_equal(at.nlogged, LOGGED);
		assert_string_equal(at.logged, news[i].logged);
		at.now_ms += 11000;
		news[i].count(&at.server, at.conns[0].address);
		if (!strstr(at.logged, " (15 similar messages suppressed)"))
			fail_msg("%s", at.logged);
	}
}

static void nobody_knows_who(void **state)
{
	const struct sockaddr_un local = { .sun_family = AF_UNIX };
	uint64_t sums[REFUSAL_COUNT] = { 0 };

	(void)state;
	server_count_refusal(&at.server, NULL, 414, NULL);
	assert_non_null(strstr(at.logged, "414 to a client: "));
	server_count_refusal(&at.server, (const struct sockaddr *)&local, 400,
			     "bare LF");
	assert_non_null(strstr(at.logged, "400 to a local client: "));
	server_count_refusal(&at.server, NULL, 418, "no reason has this");
	server_refusals(&at.server, sums);
	for (int i = 0; i < REFUSAL_COUNT; i++)
		assert_int_equal(sums[i], i == REFUSAL_target_size ||
						  i == REFUSAL_malformed);
}

/* A server's end */

static void count_drained(void *arg)
{
	(void)arg;
	at.drained++;
}

static void a_drain_closes_the_idle(void **state)
{
	const struct waiting all[] = { { IDLE, 1, 10, 0, 0 },
				       { UPLOAD, 2, 10, 0, 0 } };

	(void)state;
	add_all(all, NROWS(all));
	server_drain(&at.server, count_drained, NULL);
	assert_int_equal(at.quiesced, 1);
	assert_string_equal(at.closed, "a");
}

/* Who is idle when another process goes on has a moment for a request that may
 * be on its way; less, if its time is over before. */
static void a_hand_over_leaves_time(void **state)
{
	const struct waiting all[] = { { IDLE, 1, 10, 0, 0 },
				       { IDLE, 2, 10, 0, 0 },
				       { IDLE, 3, 10, 0, 0 } };

	(void)state;
	add_all(all, NROWS(all));
	conn_set_deadline(&at.conns[1], NOW_MS + 60000);
	conn_set_deadline(&at.conns[2], NOW_MS + 100);
	server_hand_over(&at.server, count_drained, NULL);
	assert_string_equal(at.closed, "");
	assert_int_equal(at.conns[0].deadline_ms,
			 NOW_MS + SERVER_LAST_REQUEST_MS);
	assert_int_equal(at.conns[1].deadline_ms,
			 NOW_MS + SERVER_LAST_REQUEST_MS);
	assert_int_equal(at.conns[2].deadline_ms, NOW_MS + 100);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_places_are_taken),
		TEST(descriptors_are_short),
		TEST(memory_is_short),
		TEST(memory_is_used_up),
		TEST(connections_of_an_address),
		TEST(subscribers_of_ipv6),
		TEST(local_clients_are_not_counted),
		TEST(an_address_without_memory),
		TEST(who_may_connect),
		TEST(floods_of_news),
		TEST(nobody_knows_who),
		TEST(a_drain_closes_the_idle),
		TEST(a_hand_over_leaves_time),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
