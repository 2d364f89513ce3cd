/*
 * The edges of a world by themselves: its server as the contract of
 * server/server.h has it, its origin, and the memory of its bodies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachesim/world/drive_bodies.h"
#include "cachesim/world/drive_origin.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"
#include "digestd/http/fields.h"
#include "digestd/os/body_memory.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"
#include "tests/unit.h"

enum {
	LATENCY_US = 100,
	BODY_BYTES = 100,
	LARGE = 100000, /* more than the window, which is */
	WINDOW = 30000,
	USAGE = 2, /* exit code */
};

static const char server_at[] = "10.0.0.1:80";

/* A client, and what has come to it. */
struct asker {
	struct wire *wire;
	unsigned status;
	size_t bytes;
	bool ended, broken;
	char etag[64];
};

/* What the handler does, and what it has seen. */
static struct {
	struct loop *loop;
	struct server *server;
	struct exchange *x;
	unsigned released, done, aborted, drained;
	size_t body, left; /* of a request; of a source */
	ssize_t then;      /* what the source says after that */
	bool taken_all;
} at;

static int64_t latency(int from, int to)
{
	(void)from;
	(void)to;
	return LATENCY_US;
}

/* Clients */

static void on_head(void *arg, const struct wire_head *head)
{
	struct asker *a = arg;
	const char *etag = fields_get(head->fields, "etag");

	a->status = head->status;
	if (etag)
		snprintf(a->etag, sizeof(a->etag), "%s", etag);
}

static size_t on_bytes(void *arg, const char *data, size_t len)
{
	struct asker *a = arg;

	(void)data;
	a->bytes += len;
	return len;
}

static void on_end(void *arg)
{
	struct asker *a = arg;

	a->ended = true;
	wire_close(&a->wire, WIRE_ASKER);
}

static void on_broken(void *arg, enum wire_end why)
{
	struct asker *a = arg;

	(void)why;
	a->broken = true;
	wire_close(&a->wire, WIRE_ASKER);
}

static const struct wire_ops ops = {
	.on_head = on_head,
	.on_bytes = on_bytes,
	.on_end = on_end,
	.on_broken = on_broken,
};

static void begin(struct asker *a, const char *to, const char *method,
		  const char *target, const char *known, size_t body)
{
	const struct wire_head head = {
		.method = method,
		.target = target,
		.has_body = body > 0,
		.body_len = (int64_t)body,
	};
	struct fields f;

	*a = (struct asker){ .status = 0 };
	fields_init(&f);
	if (known)
		assert_int_equal(fields_add(&f, "If-None-Match", known), 0);
	a->wire = wire_open(WIRE_CLIENTS, to, &ops, a);
	wire_move_head(a->wire, WIRE_ASKER, &head, &f);
}

static void step_for(int64_t us)
{
	const int64_t until_us = world_now_us + us;

	while (world_now_us < until_us && world_step())
		continue;
}

/* Asks, and lets happen what does. */
static struct asker ask(const char *to, const char *method, const char *target,
			const char *known)
{
	static struct asker a;

	begin(&a, to, method, target, known, 0);
	wire_send_end(a.wire, WIRE_ASKER);
	step_for(1000 * LATENCY_US);
	return a;
}

/* The handler */

static void release(void *arg)
{
	(void)arg;
	at.released++;
}

static ssize_t read_source(void *arg, void *buf, size_t cap)
{
	size_t n = at.left < cap ? at.left : cap;

	(void)arg;
	if (!n)
		return at.then;
	memset(buf, 'x', n);
	at.left -= n;
	return (ssize_t)n;
}

static void handle(void *arg, struct exchange *x)
{
	static char body[LARGE];
	const struct server_request *r = exchange_request(x);
	const struct body_source source = { .read = read_source,
					    .release = release };
	const struct body_memory memory = { .data = body, .len = BODY_BYTES,
					    .release = at.taken_all ? release
								    : NULL };
	struct shared_reply *shared;

	(void)arg;
	at.x = x;
	if (!strcmp(r->target, "/copy"))
		exchange_reply_copy(x, 200, NULL, body, BODY_BYTES);
	else if (!strcmp(r->target, "/alike"))
		exchange_reply_copy(x, 200, NULL, drive_bodies, BODY_BYTES);
	else if (!strcmp(r->target, "/empty"))
		exchange_reply(x, 204, NULL, NULL, 0, release, NULL);
	else if (!strcmp(r->target, "/large"))
		exchange_reply(x, 200, NULL, body, LARGE, release, NULL);
	else if (!strcmp(r->target, "/stream"))
		exchange_reply_stream(x, 200, NULL, LARGE, &source);
	else if (!strcmp(r->target, "/endless"))
		exchange_reply_stream(x, 200, NULL, -1, &source);
	else if (!strcmp(r->target, "/shared")) {
		shared = shared_reply_new(200, NULL, &memory);
		assert_true(exchange_reply_shared(x, shared));
		shared_reply_unref(shared);
	}
}

static size_t on_request_body(void *arg, struct exchange *x, const void *data,
			      size_t len)
{
	(void)arg;
	(void)x;
	(void)data;
	at.body += len;
	return len;
}

static void on_request_end(void *arg, struct exchange *x)
{
	(void)arg;
	exchange_reply_copy(x, 200, NULL, "done", 4);
}

static void on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	(void)arg;
	(void)x;
	at.done++;
	at.aborted += end == EXCHANGE_ABORTED;
}

static void on_drained(void *arg)
{
	(void)arg;
	at.drained++;
}

static const struct server_handler full_handler = {
	.on_request = handle,
	.on_body = on_request_body,
	.on_body_end = on_request_end,
	.on_done = on_done,
};
static const struct server_handler least_handler = { .on_request = handle };

static void serve(const struct server_handler *handler, bool strict)
{
	const struct server_settings settings = { .listen = server_at,
						  .strict = strict };

	memset(&at, 0, sizeof(at));
	world_reset();
	world_seed(1);
	wire_reset();
	wire_weather = (struct wire_weather){ .window = WINDOW,
					      .latency = latency,
					      .piece_bytes = WINDOW };
	assert_int_equal(loop_new(&at.loop), 0);
	assert_int_equal(server_new(at.loop, &settings, handler, NULL,
				    &at.server), 0);
}

static void end(void)
{
	server_free(&at.server);
	server_free(&at.server);
	loop_free(&at.loop);
	loop_free(&at.loop);
	world_reset();
}

/* clang-format off */
static const struct {
	const char *method, *target;
	size_t left; /* of the source, */
	ssize_t then;
	unsigned status;
	size_t bytes;
	bool ended;
	unsigned released;
} rows[] = {
	{ "GET", "/copy", 0, 0, 200, BODY_BYTES, true, 0 },
	{ "HEAD", "/copy", 0, 0, 200, 0, true, 0 },
	{ "GET", "/alike", 0, 0, 200, BODY_BYTES, true, 0 },
	{ "GET", "/empty", 0, 0, 204, 0, true, 1 },
	{ "GET", "/large", 0, 0, 200, LARGE, true, 1 },
	{ "GET", "/shared", 0, 0, 200, BODY_BYTES, true, 0 },
	{ "GET", "/stream", LARGE, BODY_END, 200, LARGE, true, 1 },
	{ "GET", "/stream", LARGE - 1, BODY_END, 200, LARGE - 1, false, 1 },
	{ "GET", "/stream", BODY_BYTES, BODY_FAIL, 200, BODY_BYTES, false, 1 },
	{ "GET", "/endless", BODY_BYTES, BODY_END, 200, BODY_BYTES, true, 1 },
};
/* clang-format on */

static void test_replies(void **state)
{
	(void)state;
	drive_bodies_start();
	for (size_t i = 0; i < 2 * NROWS(rows); i++) {
		const size_t k = i / 2;
		struct asker a;

		serve(i % 2 ? &full_handler : &least_handler, i % 2);
		wire_weather.alike = k == 2 ? drive_bodies : NULL;
		wire_weather.nalike = DRIVE_BODIES_BYTES;
		at.left = rows[k].left;
		at.then = rows[k].then;
		a = ask(server_at, rows[k].method, rows[k].target, NULL);
		assert_int_equal(a.status, rows[k].status);
		/* what breaks off may take some of it along */
		assert_true(rows[k].ended ? a.bytes == rows[k].bytes
					  : a.bytes <= rows[k].bytes);
		assert_int_equal(a.ended, rows[k].ended);
		assert_int_equal(a.broken, !rows[k].ended);
		assert_int_equal(at.released, rows[k].released);
		assert_int_equal(at.done, i % 2);
		assert_int_equal(at.aborted, i % 2 && !rows[k].ended);
		end();
	}
}

/* Who replies to an exchange that was given up gets back what it replies with,
 * and no client sees it. */
static void test_replies_after_an_abort(void **state)
{
	const struct body_memory memory = { .data = "x", .len = 1 };
	const struct body_source nothing = { .read = read_source };
	const struct body_source source = { .read = read_source,
					    .release = release };
	struct shared_reply *shared;
	struct asker a;

	(void)state;
	serve(&full_handler, true);
	begin(&a, server_at, "GET", "/wait", NULL, 0);
	wire_send_end(a.wire, WIRE_ASKER);
	step_for(4 * LATENCY_US);
	assert_non_null(at.x);
	assert_false(exchange_answered(at.x));
	exchange_end_upload(at.x, EXCHANGE_DONE); /* nothing to end */
	exchange_abort(at.x);
	assert_true(exchange_answered(at.x));
	shared = shared_reply_new(200, &fields_none, &memory);
	assert_true(exchange_reply_shared(at.x, shared));
	shared_reply_unref(shared);
	shared_reply_unref(NULL);
	exchange_reply(at.x, 200, NULL, "x", 1, NULL, NULL);
	exchange_reply(at.x, 200, NULL, "x", 1, release, NULL);
	exchange_reply_stream(at.x, 200, NULL, 1, &nothing);
	exchange_reply_stream(at.x, 200, NULL, 1, &source);
	assert_int_equal(at.released, 2);
	step_for(100 * LATENCY_US);
	assert_true(a.broken && !a.status);
	assert_int_equal(at.aborted, 1);
	end();
}

/* A body goes to who takes one, and away where nobody does. */
static void test_bodies_of_requests(void **state)
{
	static const char body[BODY_BYTES];

	(void)state;
	for (int full = 0; full < 2; full++) {
		struct asker a;

		serve(full ? &full_handler : &least_handler, full);
		begin(&a, server_at, "POST", full ? "/post" : "/large", NULL,
		      BODY_BYTES);
		wire_send(a.wire, WIRE_ASKER, body, BODY_BYTES);
		wire_send_end(a.wire, WIRE_ASKER);
		step_for(1000 * LATENCY_US);
		assert_int_equal(a.status, 200);
		assert_int_equal(at.body, full ? BODY_BYTES : 0);
		assert_int_equal(a.bytes, full ? 4 : LARGE);
		end();
	}
}

/* It has drained when the last exchange is over, which may be at once. */
static void test_drain(void **state)
{
	const struct body_memory memory = { .data = "x", .len = 1 };
	struct shared_reply *shared;
	struct asker a;

	(void)state;
	serve(&full_handler, true);
	server_drain(at.server, on_drained, NULL);
	step_for(LATENCY_US);
	assert_int_equal(at.drained, 1);
	a = ask(server_at, "GET", "/copy", NULL);
	assert_true(a.broken);
	end();

	serve(&full_handler, true);
	begin(&a, server_at, "GET", "/wait", NULL, 0);
	wire_send_end(a.wire, WIRE_ASKER);
	step_for(4 * LATENCY_US);
	server_hand_over(at.server, on_drained, NULL);
	step_for(LATENCY_US);
	assert_int_equal(at.drained, 0);
	shared = shared_reply_new(200, NULL, &memory);
	assert_false(exchange_reply_shared(at.x, shared));
	shared_reply_unref(shared);
	exchange_reply_copy(at.x, 200, NULL, NULL, 0);
	step_for(100 * LATENCY_US);
	assert_true(a.ended);
	assert_int_equal(at.drained, 1);
	end();
}

/* The origin of traces */

static const uint32_t sizes[] = { BODY_BYTES, LARGE, 0 };

static void test_origin(void **state)
{
	const struct drive_objects objects = {
		.size = sizes,
		.nobjects = 2,
		.pass_size = sizes + 2,
		.npasses = 1,
		.max_age_s = 60,
	};
	char etag[64];
	struct asker a;

	(void)state;
	drive_bodies_start();
	serve(&least_handler, false);
	wire_weather.alike = drive_bodies;
	wire_weather.nalike = DRIVE_BODIES_BYTES;
	drive_origin_start(&objects);
	a = ask(drive_origin_name, "GET", "/o0", NULL);
	assert_int_equal(a.status, 200);
	assert_int_equal(a.bytes, BODY_BYTES);
	snprintf(etag, sizeof(etag), "%s", a.etag);
	a = ask(drive_origin_name, "GET", "/o0.7", etag);
	assert_int_equal(a.status, 304);
	assert_string_equal(a.etag, etag);
	a = ask(drive_origin_name, "GET", "/o1", etag);
	assert_int_equal(a.status, 200);
	assert_int_equal(a.bytes, LARGE);
	assert_string_not_equal(a.etag, etag);
	a = ask(drive_origin_name, "GET", "/p0", NULL);
	assert_int_equal(a.status, 200);
	assert_true(a.ended && !a.bytes);
	/* who leaves, and who is still there at its end */
	begin(&a, drive_origin_name, "GET", "/o1", NULL, 0);
	step_for(5 * LATENCY_US);
	wire_close(&a.wire, WIRE_ASKER);
	step_for(100 * LATENCY_US);
	begin(&a, drive_origin_name, "GET", "/o1", NULL, 0);
	step_for(5 * LATENCY_US);
	drive_origin_stop();
	step_for(100 * LATENCY_US);
	assert_true(a.broken);
	end();
}

/* What a trace does not have ends the process. */
static void test_origin_without_it(void **state)
{
	static const char *const targets[] = { "/x0", "/o2", "/p1" };
	const struct drive_objects objects = { .size = sizes, .nobjects = 2,
					       .pass_size = sizes,
					       .npasses = 1 };

	(void)state;
	for (size_t i = 0; i < NROWS(targets); i++) {
		const pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			if (!freopen("/dev/null", "w", stderr))
				exit(EXIT_FAILURE);
			serve(&least_handler, false);
			drive_origin_start(&objects);
			ask(drive_origin_name, "GET", targets[i], NULL);
			exit(EXIT_SUCCESS);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), USAGE);
	}
}

/* All of them are the same zeros, and what is no body is memory as ever. */
static void test_memory_of_bodies(void **state)
{
	char text[] = "text", other[sizeof(text)] = "";
	char *body;

	(void)state;
	drive_bodies_start();
	body = body_memory_resize(NULL, 0, LARGE);
	assert_ptr_equal(body, drive_bodies);
	assert_ptr_equal(body_memory_fit(body, 0, BODY_BYTES), body);
	assert_null(body_memory_resize(NULL, 0, DRIVE_BODIES_BYTES));
	body_memory_copy(body, text, sizeof(text)); /* stays zeros */
	assert_int_equal(*body, 0);
	body_memory_copy(other, text, sizeof(text));
	assert_string_equal(other, text);
	body_memory_copy(other, body, sizeof(other));
	assert_int_equal(*other, 0);
	body_memory_seal(body);
	assert_false(body_memory_is_in_file(body));
	body_memory_free(body);
	body_memory_free(malloc(1));
	assert_int_equal(*body, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_replies_after_an_abort),
		cmocka_unit_test(test_bodies_of_requests),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_origin),
		cmocka_unit_test(test_origin_without_it),
		cmocka_unit_test(test_memory_of_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
