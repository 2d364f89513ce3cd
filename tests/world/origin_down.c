/*
 * An origin that is down for an hour, in virtual time: two nodes, clients that
 * ask all the time, and objects of all lifetimes. What was ever fresh is served
 * throughout, as long as its site allows, and not longer.
 *
 * Each answer says by its Date when the origin has sent or confirmed it. What
 * is allowed follows from that, the object's lifetime and its site's
 * stale_on_error; what a node must have follows from what it has answered
 * before. Nobody waits longer than stale_wait for what may be served stale, and
 * not at all once a request has been left unanswered; and when the origin is
 * back, the next answers are its own. An answer that is on its way is waited
 * for, however slowly it comes.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"
#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "tests/unit.h"

enum {
	NODES = 2,
	OBJECTS = 60,
	BODY_BYTES = 700,
	SECOND_US = 1000000,
	WARM_S = 300, /* clients ask, and all is well */
	DOWN_S = 3600,
	BACK_S = 120,
	LONG_S = 7200, /* stale_on_error of the sites */
	SHORT_S = 600,
	SLACK_S = 5, /* a fetch may take so long */
	WAIT_MS = 3000, /* stale_wait */
	SOON_MS = 100,	/* peers may be asked */
	NOTICED_S = 3,	/* that it is back */
	PIECES = 10, /* of a body that crawls: it takes longer than WAIT_MS, */
	PIECE_MS = 1000, /* as none of them does */
	TEXT_BYTES = 64,
};

static const char origin_at[] = "192.0.2.1:80";

static const char options[] =
	"origin_timeout = 60s\norigin_connect_timeout = 1s\nstale_wait = 3s\n"
	"site \"long.example\" {\n\tstale_on_error = 2h\n}\n"
	"site \"short.example\" {\n\tstale_on_error = 10m\n}\n";

/* What fails. */
enum failing { NOTHING, REFUSES, ANSWERS_503, HANGS, CRAWLS, STALLS };

struct connection {
	struct wire *wire;
	bool answered, heard;
	unsigned pieces;	/* that have been sent, of a body that crawls */
	struct world_event piece;
	struct connection *next, **link;
};

static struct {
	enum failing how;
	struct wire_listener listener;
	struct connection *connections;
	uint64_t answers;
} origin;

static struct {
	unsigned under_way;
	int64_t held_s[NODES][OBJECTS]; /* Date of the last answer; 0: none */
	uint64_t fresh, stale, errors;  /* answers while it is down */
	uint64_t waits;			/* of the stale ones, for a moment */
	int64_t wait_ms;		/* which it may take */
	uint64_t old;			/* stale answers while it is well */
} asked;

/* Objects: a tenth must be validated, and a half are of either site. */

static int64_t lifetime_s(unsigned object)
{
	static const int64_t s[] = { 1, 10, 60, 600, 5000 };

	return s[object % NROWS(s)];
}

static const char *host_of(unsigned object)
{
	return object / 5 % 2 ? "long.example" : "short.example";
}

static bool must_be_validated(unsigned object)
{
	return object >= OBJECTS * 9 / 10;
}

/* How old it may be served. */
static int64_t most_s(unsigned object)
{
	int64_t stale_s = object / 5 % 2 ? LONG_S : SHORT_S;

	return lifetime_s(object) + (must_be_validated(object) ? 0 : stale_s);
}

void world_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	nodes_remove_files();
	exit(1);
}

static int64_t now_s(void)
{
	return world_now_us / SECOND_US;
}

static int64_t a_millisecond(void)
{
	return 1000;
}

static int64_t latency(int from, int to)
{
	(void)from;
	(void)to;
	return 500;
}

/* The origin */

static void connection_free(struct connection *c)
{
	world_cancel(&c->piece);
	wire_close(&c->wire, WIRE_ANSWERER);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	free(c);
}

static void add(struct fields *f, const char *name, const char *value)
{
	if (fields_add(f, name, value))
		world_fail("out of memory");
}

static const char body[BODY_BYTES] = "body";

/* All of an answer has been sent. */
static void send_end(struct connection *c)
{
	wire_send_end(c->wire, WIRE_ANSWERER);
	c->answered = true;
	if (c->heard)
		connection_free(c);
}

static void send_piece(void *arg)
{
	struct connection *c = arg;

	wire_send(c->wire, WIRE_ANSWERER, body, BODY_BYTES / PIECES);
	if (++c->pieces < PIECES)
		world_at(&c->piece, world_now_us + PIECE_MS * 1000, send_piece,
			 c);
	else
		send_end(c);
}

/* Behind a header. */
static void send_body(struct connection *c)
{
	if (origin.how == CRAWLS) {
		send_piece(c);
	} else if (origin.how != STALLS) {
		wire_send(c->wire, WIRE_ANSWERER, body, BODY_BYTES);
		send_end(c);
	}
}

static void answer(struct connection *c, unsigned status, unsigned object)
{
	const struct wire_head head = {
		.status = status,
		.has_body = status == 200,
		.body_len = status == 200 ? BODY_BYTES : 0,
	};
	char control[TEXT_BYTES], date[HTTPDATE_LEN + 1];
	struct fields f;

	fields_init(&f);
	snprintf(control, sizeof(control), "max-age=%d%s",
		 (int)lifetime_s(object),
		 must_be_validated(object) ? ", must-revalidate" : "");
	httpdate_format(world_wall_s(), date);
	if (status != 503) {
		add(&f, "Cache-Control", control);
		add(&f, "ETag", "\"e\"");
		add(&f, "Date", date);
	}
	wire_move_head(c->wire, WIRE_ANSWERER, &head, &f);
	if (status == 200)
		send_body(c);
	else
		send_end(c);
}

static void origin_on_head(void *arg, const struct wire_head *head)
{
	unsigned object = (unsigned)strtoul(head->target + 1, NULL, 10);

	origin.answers++;
	if (origin.how == HANGS)
		return;
	if (origin.how == ANSWERS_503)
		answer(arg, 503, object);
	else if (fields_get(head->fields, "if-none-match") &&
		 origin.how == NOTHING)
		answer(arg, 304, object);
	else
		answer(arg, 200, object);
}

static void origin_on_end(void *arg)
{
	struct connection *c = arg;

	c->heard = true;
	if (c->answered)
		connection_free(c);
}

static void origin_on_broken(void *arg, enum wire_end why)
{
	(void)why;
	connection_free(arg);
}

static size_t origin_on_bytes(void *arg, const char *data, size_t len)
{
	(void)arg;
	(void)data;
	return len;
}

static void origin_accept(void *arg, struct wire *wire)
{
	static const struct wire_ops ops = {
		.on_head = origin_on_head,
		.on_bytes = origin_on_bytes,
		.on_end = origin_on_end,
		.on_broken = origin_on_broken,
	};
	struct connection *c = calloc(1, sizeof(*c));

	(void)arg;
	if (!c)
		world_fail("out of memory");
	c->wire = wire;
	c->next = origin.connections;
	c->link = &origin.connections;
	if (c->next)
		c->next->link = &c->next;
	origin.connections = c;
	wire_accept(wire, &ops, c);
}

static void origin_set(enum failing how)
{
	if (origin.how == REFUSES)
		wire_listen(&origin.listener);
	origin.how = how;
	if (how == REFUSES)
		wire_unlisten(&origin.listener);
	while (how == NOTHING && origin.connections) /* that hung */
		connection_free(origin.connections);
}

/* Clients */

struct client {
	struct wire *wire;
	unsigned node, object, status;
	int64_t asked_s, asked_us, sent_s;
	size_t received;
};

static void client_on_head(void *arg, const struct wire_head *head)
{
	const char *date = fields_get(head->fields, "date");
	struct client *c = arg;
	int64_t at_s;

	c->status = head->status;
	if (date && httpdate_parse_exact(date, &at_s))
		c->sent_s = at_s - (world_wall_s() - now_s());
}

static size_t client_on_bytes(void *arg, const char *data, size_t len)
{
	struct client *c = arg;

	(void)data;
	c->received += len;
	return len;
}

/* What is served stale does not wait for the origin. */
static void client_judge_wait(const struct client *c)
{
	int64_t ms = (world_now_us - c->asked_us) / 1000;

	if (ms > asked.wait_ms + SOON_MS)
		world_fail("%lld s: object %u: stale, after %lld ms",
			   (long long)now_s(), c->object, (long long)ms);
	asked.waits += ms > SOON_MS;
}

/* An answer is whole, and no older than it may be. */
static void client_judge_answer(const struct client *c)
{
	int64_t age_s = now_s() - c->sent_s;

	if (c->received != BODY_BYTES || !c->sent_s)
		world_fail("%lld s: object %u: not whole", (long long)now_s(),
			   c->object);
	if (age_s > most_s(c->object) + SLACK_S)
		world_fail("%lld s: object %u: %lld s old, of %lld",
			   (long long)now_s(), c->object, (long long)age_s,
			   (long long)most_s(c->object));
	asked.held_s[c->node][c->object] = c->sent_s;
	if (age_s <= lifetime_s(c->object)) {
		asked.fresh++;
		return;
	}
	client_judge_wait(c);
	if (origin.how == NOTHING)
		asked.old++;
	else
		asked.stale++;
}

/* An error is no answer to what the node has and may serve. */
static void client_judge_error(const struct client *c)
{
	int64_t held_s = asked.held_s[c->node][c->object];

	if (origin.how == NOTHING && c->asked_s == now_s())
		world_fail("%lld s: object %u: %u from an origin that is well",
			   (long long)now_s(), c->object, c->status);
	if (held_s && c->asked_s - held_s < most_s(c->object) - SLACK_S)
		world_fail("%lld s: object %u, %lld s old, of %lld: %u",
			   (long long)now_s(), c->object,
			   (long long)(c->asked_s - held_s),
			   (long long)most_s(c->object), c->status);
	asked.errors++;
}

static void client_end(struct client *c)
{
	wire_close(&c->wire, WIRE_ASKER);
	if (c->status == 200)
		client_judge_answer(c);
	else
		client_judge_error(c);
	asked.under_way--;
	free(c);
}

static void client_on_end(void *arg)
{
	client_end(arg);
}

static void client_on_broken(void *arg, enum wire_end why)
{
	struct client *c = arg;

	(void)why;
	c->status = 0;
	client_end(c);
}

static void ask(unsigned node, unsigned object, const char *control)
{
	static const struct wire_ops ops = {
		.on_head = client_on_head,
		.on_bytes = client_on_bytes,
		.on_end = client_on_end,
		.on_broken = client_on_broken,
	};
	char target[TEXT_BYTES];
	const struct wire_head head = { .method = "GET", .target = target };
	struct client *c = calloc(1, sizeof(*c));
	struct fields f;

	if (!c)
		world_fail("out of memory");
	*c = (struct client){ .node = node, .object = object,
			      .asked_s = now_s(),
			      .asked_us = world_now_us };
	snprintf(target, sizeof(target), "/%u", object);
	fields_init(&f);
	add(&f, "Host", host_of(object));
	if (control)
		add(&f, "Cache-Control", control);
	asked.under_way++;
	c->wire = wire_open(WIRE_CLIENTS, nodes_data_name(node), &ops, c);
	wire_move_head(c->wire, WIRE_ASKER, &head, &f);
	wire_send_end(c->wire, WIRE_ASKER);
}

/* Time */

static void stop_waiting(void *arg)
{
	*(bool *)arg = true;
}

static void wait_us(int64_t us)
{
	struct world_event end = { 0 };
	bool over = false;

	world_at(&end, world_now_us + us, stop_waiting, &over);
	while (!over) {
		if (!world_step())
			world_fail("nothing happens any more");
	}
	world_loop_runs(WIRE_CLIENTS);
}

/* Clients ask, four times a second, for all objects in turn at all nodes. */
static void ask_for(int64_t s)
{
	static unsigned turn;

	for (int64_t i = 0; i < 4 * s; i++, turn++) {
		ask(turn % NODES, turn / NODES % OBJECTS, NULL);
		wait_us(SECOND_US / 4);
	}
}

static void begin(void)
{
	const struct nodes_plan plan = {
		.nnodes = NODES,
		.threads = 1,
		.peers = true,
		.cache_bytes = 16 << 20,
		.max_object_bytes = 1 << 20,
		.origin = origin_at,
		.options = options,
		.once = true,
	};
	sigset_t mask;

	memset(&origin, 0, sizeof(origin));
	memset(&asked, 0, sizeof(asked));
	asked.wait_ms = WAIT_MS;
	world_reset();
	world_seed(1);
	wire_reset();
	world_memory_limit(UINT64_MAX);
	wire_weather = (struct wire_weather){
		.window = 1 << 20, .latency = latency, .whole = true,
	};
	world_job_us = a_millisecond;
	origin.listener = (struct wire_listener){
		.name = origin_at, .place = WIRE_ORIGIN,
		.accept = origin_accept,
	};
	wire_listen(&origin.listener);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	nodes_start(&plan);
	sigprocmask(SIG_SETMASK, &mask, NULL); /* as nodes block some */
	wait_us(2 * SECOND_US);
}

static void end(void)
{
	while (asked.under_way)
		wait_us(SECOND_US);
	nodes_stop();
	origin_set(NOTHING);
	while (origin.connections)
		connection_free(origin.connections);
	wire_unlisten(&origin.listener);
	world_reset();
}

static const struct {
	const char *label;
	enum failing how;
} rows[] = {
	{ "it refuses connections", REFUSES },
	{ "it answers 503", ANSWERS_503 },
	{ "it hangs", HANGS },
};

static void test_an_hour_without_the_origin(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		uint64_t before;

		begin();
		ask_for(WARM_S);
		assert_int_equal(asked.errors, 0);
		for (unsigned o = 0; o < OBJECTS; o++)
			assert_true(asked.held_s[0][o] && asked.held_s[1][o]);
		origin_set(rows[i].how);
		before = origin.answers;
		asked.fresh = asked.stale = asked.waits = 0;
		ask_for(DOWN_S);
		print_message("# %s: %llu fresh, %llu stale, of which %llu "
			      "waited, %llu errors, the origin is asked %llu "
			      "times\n", rows[i].label,
			      (unsigned long long)asked.fresh,
			      (unsigned long long)asked.stale,
			      (unsigned long long)asked.waits,
			      (unsigned long long)asked.errors,
			      (unsigned long long)(origin.answers - before));
		/* who asks before it is known that it hangs */
		assert_in_range(asked.waits, rows[i].how == HANGS,
				rows[i].how == HANGS ? 4 * WAIT_MS / 1000 : 0);
		/* all of them occur, or nothing is shown */
		assert_true(asked.fresh > 1000 && asked.stale > 5000);
		assert_true(asked.errors > 1000);
		origin_set(NOTHING);
		ask_for(NOTICED_S);
		while (asked.under_way)
			wait_us(SECOND_US);
		memset(asked.held_s, 0, sizeof(asked.held_s));
		asked.errors = asked.old = 0;
		ask_for(BACK_S);
		assert_int_equal(asked.errors, 0);
		assert_int_equal(asked.old, 0);
		end();
	}
}

/* Twenty clients hold F5 for a minute, each ten times a second, at one node. */
static void test_f5_costs_a_validation_a_second(void **state)
{
	enum { CLIENTS = 20, FOR_S = 60, EACH_S = 10, OBJECT = 4 };
	uint64_t before;

	(void)state;
	begin();
	ask(0, OBJECT, NULL);
	wait_us(SECOND_US);
	before = origin.answers;
	for (int i = 0; i < FOR_S * EACH_S * CLIENTS; i++) {
		ask(0, OBJECT, i % 2 ? "no-cache" : "max-age=0");
		wait_us(SECOND_US / (EACH_S * CLIENTS));
	}
	print_message("# %llu validations in %d s\n",
		      (unsigned long long)(origin.answers - before), FOR_S);
	assert_in_range(origin.answers - before, FOR_S / 2, FOR_S + 1);
	assert_int_equal(asked.errors, 0);
	end();
}

/* Two clients ask for what is stale, the second of them while the first one's
 * answer is on its way. */
static void test_what_comes_slowly_is_not_late(void **state)
{
	enum { OBJECT = 2, MINUTE_US = 60 * SECOND_US };

	(void)state;
	for (enum failing how = CRAWLS; how <= STALLS; how++) {
		begin();
		ask(0, OBJECT, NULL);
		wait_us(MINUTE_US + SECOND_US);
		assert_int_equal(asked.fresh, 1);
		origin_set(how);
		/* its header came, and nothing after it for as long again */
		asked.wait_ms = 2 * WAIT_MS;
		ask(0, OBJECT, NULL);
		wait_us(SECOND_US);
		ask(0, OBJECT, NULL);
		while (asked.under_way)
			wait_us(SECOND_US);
		assert_int_equal(origin.answers, 2);
		assert_int_equal(asked.errors, 0);
		assert_int_equal(asked.fresh, how == CRAWLS ? 3 : 1);
		assert_int_equal(asked.stale, how == CRAWLS ? 0 : 2);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_hour_without_the_origin),
		cmocka_unit_test(test_f5_costs_a_validation_a_second),
		cmocka_unit_test(test_what_comes_slowly_is_not_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
