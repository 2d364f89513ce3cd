/*
 * The two nodes, their origin and their clients.
 */
#include "tests/proxy/two_nodes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/catalog.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/loop.h"
#include "digestd/os/memory.h"
#include "digestd/peers/lease_desk.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/placer.h"
#include "digestd/proxy/collapse.h"
#include "digestd/proxy/worker_inside.h"
#include "digestd/server/server.h"
#include "tests/loopback.h"
#include "tests/unit.h"

enum { REPLY_MAX = 1 << 20, NBITS = 1 << 16, NHASH = 3 };

struct two_nodes at;

/* The origin */

struct slow {
	struct exchange *x;
	struct loop_timer timer;
	const char *bytes;
	size_t len, sent;
	bool ready, cut;
};

static void slow_fire(void *arg)
{
	struct slow *s = arg;

	s->ready = true;
	exchange_wake(s->x);
}

/* Bytes in pieces, a little apart; what is cut ends in the middle. */
static ssize_t slow_read(void *arg, void *buf, size_t cap)
{
	struct slow *s = arg;
	size_t left = (s->cut ? s->len / 2 : s->len) - s->sent;

	if (!left)
		return s->cut ? BODY_FAIL : BODY_END;
	if (!s->ready) {
		loop_timer_set(at.loop, &s->timer, loop_now_ms(at.loop) + 1,
			       slow_fire, s);
		return BODY_WAIT;
	}
	s->ready = false;
	cap = cap < 30000 ? cap : 30000;
	cap = cap < left ? cap : left;
	memcpy(buf, s->bytes + s->sent, cap);
	s->sent += cap;
	return (ssize_t)cap;
}

static void slow_release(void *arg)
{
	struct slow *s = arg;

	loop_timer_clear(at.loop, &s->timer);
	free(s);
}

/* Of a status, with these bytes. */
static void reply_in_pieces(struct exchange *x, unsigned status,
			    const struct fields *fields, const struct slow *of,
			    bool known)
{
	struct slow *s = malloc(sizeof(*s));
	struct body_source source = { .read = slow_read,
				      .release = slow_release,
				      .arg = s };

	*s = *of;
	s->x = x;
	exchange_reply_stream(x, status, fields,
			      known ? (int64_t)of->len : -1, &source);
}

/* 300,000 of them. */
static void reply_slowly(struct exchange *x, const struct fields *fields,
			 bool known, bool cut)
{
	const struct slow big = { .bytes = at.big, .len = BIG, .cut = cut };

	reply_in_pieces(x, 200, fields, &big, known);
}

static void late_fire(void *arg)
{
	struct slow *s = arg;
	struct fields f;

	fields_init(&f);
	fields_add(&f, "Cache-Control", "max-age=60");
	exchange_set_data(s->x, NULL);
	exchange_reply_copy(s->x, 200, &f, "late", 4);
	fields_free(&f);
	free(s);
}

static void remember(const struct fields *fields)
{
	size_t used = 0;

	for (size_t i = 0; i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		assert_true(used < sizeof(at.last));
		used += (size_t)snprintf(at.last + used,
					 sizeof(at.last) - used, "%s: %s\n",
					 f->name, f->value);
	}
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void reply_late(struct exchange *x)
{
	struct slow *s = calloc(1, sizeof(*s));

	s->x = x;
	exchange_set_data(x, s);
	loop_timer_set(at.loop, &s->timer, loop_now_ms(at.loop) + 100,
		       late_fire, s);
}

static void reply_validated(struct exchange *x, struct fields *f)
{
	const char *inm = fields_get(exchange_request(x)->fields,
				     "if-none-match");

	/* an origin that fails is not to be hidden by what is stale */
	fields_set(f, "Cache-Control",
		   starts(exchange_request(x)->target, "/etag-mine") ?
			   "max-age=0, must-revalidate, private=\"X-Mine\"" :
			   "max-age=0, must-revalidate");
	fields_add(f, "X-Mine", "1");
	fields_add(f, "ETag", "\"v1\"");
	if (inm && !strcmp(inm, "\"v1\""))
		exchange_reply(x, 304, f, NULL, 0, NULL, NULL);
	else
		exchange_reply_copy(x, 200, f, "tagged", 6);
}

/* "/aged?60,10": what comes first is 60 s old, then 10 s, then new, of which 50
 * are fresh; "/aged-new": then another version; "/aged-long": then of which 500
 * are. "/aged-late" comes late then. */
static void reply_aged(struct exchange *x, struct fields *f, const char *t)
{
	const int before = atomic_load(&at.seen) - 1;
	const bool changed = before && starts(t, "/aged-new");
	const char *tag = changed ? "\"v2\"" : "\"v1\"";
	const char *inm = fields_get(exchange_request(x)->fields,
				     "if-none-match");
	const char *age = before < 2 ? strchr(t, "?,"[before]) : NULL;
	char text[32];

	if (before && starts(t, "/aged-late")) {
		reply_late(x);
		return;
	}
	snprintf(text, sizeof(text), "%d", age ? atoi(age + 1) : 0);
	fields_set(f, "Cache-Control",
		   starts(t, "/aged-late") ?
			   "max-age=50, stale-while-revalidate=1000" :
		   before && starts(t, "/aged-long") ? "max-age=500" :
						       "max-age=50");
	fields_add(f, "Age", text);
	fields_add(f, "ETag", tag);
	if (inm && !strcmp(inm, tag))
		exchange_reply(x, 304, f, NULL, 0, NULL, NULL);
	else
		exchange_reply_copy(x, 200, f, changed ? "changed" : "aged",
				    changed ? 7 : 4);
}

/* The part asked for, or all: false. */
static bool read_range(const struct fields *fields, const char *tag,
		       unsigned *first, unsigned *end)
{
	const char *range = fields_get(fields, "range");
	const char *if_range = fields_get(fields, "if-range");
	int n;

	*first = 0;
	*end = SLICED;
	if (!range || (if_range && strcmp(if_range, tag) != 0))
		return false;
	n = sscanf(range, "bytes=%u-%u", first, end);
	*end = n == 2 && *end < SLICED ? *end + 1 : SLICED;
	return n >= 1 && *first < *end;
}

/*
 * "/sliced": bytes in parts, under a tag. What is behind its name happens to
 * all answers but the first, if it is "-new": another version, "-error": 500,
 * "-cut": it breaks off behind half, "-gone": 404, "-short": no more than 8192
 * bytes of a part come, "-slow": it comes in pieces; or to all: "-whole":
 * ranges are ignored.
 */
static void reply_sliced(struct exchange *x, struct fields *f, const char *t)
{
	const char *how = atomic_load(&at.seen) > 1 ? t + strlen("/sliced") :
						      "";
	const char *tag = starts(how, "-new") ? "\"v2\"" : "\"v1\"";
	unsigned first, end;
	char text[64];
	bool part = read_range(exchange_request(x)->fields, tag, &first, &end);

	if (starts(t, "/sliced-whole")) {
		part = false;
		first = 0;
		end = SLICED;
	}
	fields_add(f, "ETag", tag);
	fields_add(f, "Accept-Ranges", "bytes");
	if (starts(how, "-error") || starts(how, "-gone")) {
		exchange_reply_error(x, starts(how, "-gone") ? 404 : 500, NULL);
		return;
	}
	if (part && starts(how, "-short") && end - first > 8192)
		end = first + 8192;
	if (part) {
		snprintf(text, sizeof(text), "bytes %u-%u/%u", first, end - 1,
			 SLICED);
		fields_add(f, "Content-Range", text);
	}
	if (starts(how, "-cut") || starts(how, "-slow")) {
		const struct slow slow = { .bytes = at.sliced + first,
					   .len = end - first,
					   .cut = starts(how, "-cut") };

		reply_in_pieces(x, part ? 206 : 200, f, &slow, true);
	} else {
		exchange_reply_copy(x, part ? 206 : 200, f, at.sliced + first,
				    end - first);
	}
}

/* The client's X-Echo fields are those of the answer, too. */
static void echo_fields(const struct fields *in, struct fields *out)
{
	for (size_t i = 0; i < fields_count(in); i++) {
		const struct field *line = fields_at(in, i);

		if (!strncasecmp(line->name, "X-Echo", strlen("X-Echo")))
			fields_add(out, line->name, line->value);
	}
}

static void origin_request(void *arg, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const char *t = r->target;
	struct fields f;

	(void)arg;
	atomic_fetch_add(&at.seen, 1);
	remember(r->fields);
	fields_init(&f);
	fields_add(&f, "Cache-Control", "max-age=60");
	echo_fields(r->fields, &f);
	if (starts(t, "/hit")) {
		exchange_reply_copy(x, 200, &f, t, strlen(t));
	} else if (starts(t, "/late")) {
		reply_late(x);
	} else if (starts(t, "/nostore")) {
		fields_set(&f, "Cache-Control", "no-store");
		exchange_reply_copy(x, 200, &f, "no", 2);
	} else if (starts(t, "/private-big")) {
		fields_set(&f, "Cache-Control", "private");
		reply_slowly(x, &f, true, false);
	} else if (starts(t, "/big")) {
		reply_slowly(x, &f, true, false);
	} else if (starts(t, "/chunked")) {
		reply_slowly(x, &f, false, false);
	} else if (starts(t, "/cut")) {
		reply_slowly(x, &f, strchr(t, '?') == NULL, true);
	} else if (starts(t, "/etag")) {
		reply_validated(x, &f);
	} else if (starts(t, "/once")) {
		if (atomic_load(&at.seen) == 1)
			exchange_reply_copy(x, 200, &f, "once", 4);
		else if (starts(t, "/once-error"))
			exchange_reply_error(x, 500, NULL);
		else if (starts(t, "/once-late"))
			reply_late(x);
		else if (starts(t, "/once-abort"))
			exchange_abort(x);
	} else if (starts(t, "/aged")) {
		reply_aged(x, &f, t);
	} else if (starts(t, "/cookie")) {
		fields_add(&f, "Set-Cookie", "a=b");
		exchange_reply_copy(x, 200, &f, "baked", 5);
	} else if (starts(t, "/early")) {
		exchange_interim(x, 103, &f);
		exchange_reply_copy(x, 200, &f, t, strlen(t));
	} else if (starts(t, "/vary")) {
		fields_add(&f, "Vary", "Accept-Language");
		exchange_reply_copy(x, 200, &f, "v", 1);
	} else if (starts(t, "/mine")) {
		fields_set(&f, "Cache-Control",
			   "max-age=60, private=\"X-Mine\"");
		fields_add(&f, "X-Mine", "1");
		exchange_reply_copy(x, 200, &f, "mine", 4);
	} else if (starts(t, "/change")) {
		fields_add(&f, "Location", "/hit");
		fields_add(&f, "Content-Location",
			   strchr(t, '?') ? "http://other/hit" :
					    "http://h/hit2");
		exchange_reply_copy(x, 200, &f, "changed", 7);
	} else if (starts(t, "/sliced")) {
		reply_sliced(x, &f, t);
	} else if (starts(t, "/error")) {
		exchange_reply_error(x, 500, NULL);
	} else if (starts(t, "/abort")) {
		exchange_abort(x);
	} else if (!r->has_body) {
		exchange_reply_copy(x, 200, NULL, "plain", 5);
	}
	fields_free(&f);
}

static size_t origin_body(void *arg, struct exchange *x, const void *data,
			  size_t len)
{
	(void)arg;
	(void)data;
	exchange_set_data(x, (void *)((uintptr_t)exchange_data(x) + len));
	return len;
}

static void origin_body_end(void *arg, struct exchange *x)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "got %zu",
			 (size_t)(uintptr_t)exchange_data(x));

	(void)arg;
	exchange_set_data(x, NULL);
	exchange_reply_copy(x, 200, NULL, text, (size_t)n);
}

static void origin_done(void *arg, struct exchange *x, enum exchange_end end)
{
	struct slow *s = exchange_data(x);

	(void)arg;
	atomic_fetch_add(&at.gone, end == EXCHANGE_ABORTED);
	if (s && (starts(exchange_request(x)->target, "/late") ||
		  starts(exchange_request(x)->target, "/once") ||
		  starts(exchange_request(x)->target, "/aged")))
		slow_release(s);
}

static const struct server_handler origin = {
	origin_request, origin_body, origin_body_end, origin_done, NULL,
};

static void *run_origin(void *arg)
{
	loop_run(at.loop);
	return arg;
}

static void start_origin(void)
{
	const struct server_settings settings = {
		.listen = "127.0.0.1:0", .max_connections = 500,
		.max_header_bytes = 16384, .header_ms = 5000, .idle_ms = 5000,
	};

	assert_int_equal(loop_new(&at.loop), 0);
	assert_int_equal(server_new(at.loop, &settings, &origin, NULL,
				    &at.server), 0);
	snprintf(at.url, sizeof(at.url), "http://127.0.0.1:%u",
		 server_port(at.server));
	assert_int_equal(pthread_create(&at.thread, NULL, run_origin, NULL), 0);
}

/* The nodes */

static void on_outcome(void *arg, const struct worker_outcome *outcome)
{
	struct node *node = arg;

	atomic_fetch_add(&node->outcomes[outcome->kind], 1);
}

static void resource_request(void *arg, struct exchange *x)
{
	(void)arg;
	exchange_reply_copy(x, 200, NULL, "resource", 8);
}

static const struct server_handler resources = {
	.on_request = resource_request,
};

static void start_node(struct node *node, const char *name)
{
	static const uint8_t secret[16]; /* as that of the workers */
	const bool is_a = node == &at.a;
	const struct cache_settings cache = {
		.max_bytes = is_a && at.memory_bytes ? at.memory_bytes :
						       1 << 20,
		.max_variants = 4, .policy = "sieve",
		.nbits = NBITS, .nhash = NHASH,
		.disk_path = is_a ? at.disk_path : NULL,
		.disk_bytes = 64 << 20, .disk_queue_bytes = 8 << 20,
		.hash_secret = secret,
	};
	struct worker_hooks hooks = {
		.on_outcome = on_outcome, .arg = node, .resources = &resources,
	};
	const struct placer_settings placing = {
		.placement = at.placement, .window = 100,
	};
	struct worker_shared shared = { 0 };

	node->settings = (struct worker_settings){
		.node = name, .tokens = { { TOKEN }, 1 },
		.data_listen = "127.0.0.1:0", .peer_listen = "127.0.0.1:0",
		.max_connections = 500, .header_ms = 2000, .idle_ms = 5000,
		.min_rate = 100, .max_header_bytes = 16384,
		.default_origin = at.url,
		.origin_connect_ms = 1000, .origin_first_byte_ms = 2000,
		.origin_low_rate_s = 2, .stale_wait_ms = 2000,
		.peer_connect_ms = 10000,
		.peer_first_byte_ms = 10000, .peer_budget_ms = 10000,
		.peer_tries = 2, .lease_wait_ms = 1000,
		.max_object_bytes = 400000,
		.window_bytes = 65536, .max_upload_bytes = 1 << 20,
	};
	for (int i = 0; i < PEER_OUTCOMES; i++)
		atomic_store(&node->outcomes[i], 0);
	assert_int_equal(cache_new(&cache, &node->cache), 0);
	assert_int_equal(collapses_new(&node->collapses), 0);
	shared.cache = node->cache;
	shared.collapses = node->collapses;
	node->instance = is_a ? 1 : 2;
	assert_int_equal(lease_desk_new(node->instance, &node->leases), 0);
	shared.leases = node->leases;
	if (at.placement != PLACEMENT_KEEP)
		assert_int_equal(placer_new(&placing, &node->placer), 0);
	shared.placer = node->placer;
	shared.access_log = at.access_log;
	shared.rates = at.rates;
	shared.ready = at.ready;
	assert_int_equal(worker_new(&node->settings, &hooks, &shared,
				    &node->worker), 0);
	assert_int_equal(worker_start(node->worker), 0);
}

int two_nodes_begin(void **state)
{
	(void)state;
	memory_limit(UINT64_MAX);
	memset(at.big, 'b', BIG);
	for (unsigned i = 0; i < SLICED; i++)
		at.sliced[i] = (char)('a' + (i + i / 257) % 26);
	atomic_store(&at.seen, 0);
	atomic_store(&at.gone, 0);
	at.half_open = false;
	start_origin();
	start_node(&at.a, "a");
	start_node(&at.b, "b");
	return 0;
}

static void end_node(struct node *node)
{
	worker_stop(&node->worker);
	cache_free(&node->cache);
	collapses_free(&node->collapses);
	lease_desk_free(&node->leases);
	placer_free(&node->placer);
}

int two_nodes_end(void **state)
{
	(void)state;
	end_node(&at.a);
	end_node(&at.b);
	loop_stop(at.loop);
	pthread_join(at.thread, NULL);
	server_free(&at.server);
	loop_free(&at.loop);
	/* everything has been returned, whatever happened */
	for (int use = 0; use < LEDGER_NUSES; use++)
		assert_int_equal(memory_ledger.used[use], 0);
	assert_int_equal(memory_ledger.total, 0);
	return 0;
}

uint64_t memory_held(void)
{
	return __atomic_load_n(&memory_ledger.total, __ATOMIC_RELAXED);
}

static void be_called(void *arg)
{
	atomic_store((atomic_int *)arg, 1);
}

/* Until it has done what it was told before. */
static void await_worker(const struct worker *worker)
{
	atomic_int called = 0;
	struct loop_call call = { .run = be_called, .arg = &called };

	loop_post(worker->loop, &call);
	while (!atomic_load(&called))
		usleep(1000);
}

void reconfigure(const struct node *node, const struct worker_settings *changed)
{
	assert_int_equal(worker_reconfigure(node->worker, changed), 0);
	await_worker(node->worker);
}

static struct peerset *make_view(const char *url)
{
	char own_url[64];
	struct catalog_snapshot snapshot;
	struct peerset_peer peer = { .id = 7, .usable = true, .name = "a",
				     .kind = &peer_kind_digestd,
				     .half_open = at.half_open };
	struct peerset *view;

	snprintf(own_url, sizeof(own_url), "http://127.0.0.1:%u",
		 worker_peer_port(at.a.worker));
	peer.url = url ? url : own_url;
	assert_int_equal(catalog_snapshot(cache_lock(at.a.cache), 1, &snapshot),
			 0);
	cache_unlock(at.a.cache);
	peer.digest = peer_digest_take(&snapshot.bloom);
	peer.digest->instance = at.a.instance;
	view = peerset_new(&peer, 1);
	peer_digest_unref(peer.digest);
	return view;
}

void introduce(const char *url)
{
	struct peerset *view = make_view(url);

	assert_int_equal(worker_set_view(at.b.worker, view), 0);
	peerset_unref(view);
	await_worker(at.b.worker);
}

void show_what_a_was_asked_for(void)
{
	struct peerset *view = make_view(NULL);

	assert_int_equal(worker_set_seen(at.b.worker, view), 0);
	peerset_unref(view);
	await_worker(at.b.worker);
}

/* Clients */

void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 (ssize_t)strlen(text));
}

char *hear(int fd)
{
	char *text = malloc(REPLY_MAX);
	size_t have = 0;
	ssize_t n;

	while ((n = recv(fd, text + have, REPLY_MAX - 1 - have, 0)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	close(fd);
	return text;
}

char *ask(unsigned port, const char *method, const char *target,
	  const char *fields)
{
	char request[2048];
	int fd = loopback_dial(port);

	snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: %s\r\n"
		 "Connection: close\r\n%s\r\n", method, target,
		 starts(target, "http://127") ? target + 7 : "h", fields);
	say(fd, request);
	return hear(fd);
}

unsigned port_a(void)
{
	return worker_data_port(at.a.worker);
}

unsigned port_b(void)
{
	return worker_data_port(at.b.worker);
}

void expect(char *reply, unsigned status, const char *has)
{
	char start[32];

	snprintf(start, sizeof(start), "HTTP/1.1 %u", status);
	if (!starts(reply, start) || (has && !strstr(reply, has)))
		print_message("# wanted %u %s, got:\n%.700s\n", status,
			      has ? has : "", reply);
	assert_true(starts(reply, start));
	if (has)
		assert_non_null(strstr(reply, has));
	free(reply);
}
