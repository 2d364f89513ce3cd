/*
 * Clients, and operators who purge.
 */
#include "tests/world/clients.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "cachesim/world/nodes.h"
#include "tests/world/cut.h"
#include "tests/world/h2_gate.h"
#include "tests/world/origin.h"
#include "tests/world/purged.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"

enum {
	DEADLINE_US = 300000000, /* every request has ended by then */
	SLOW_US = 200000,        /* between two reads of a slow client */
	SLOW_BYTES = 2000,
	TOLD_BYTES = 512, /* of the answer to a PURGE */
	LATER_US = 3000000,      /* after a purge, other nodes are asked */
	AGAIN_US = 2500000,      /* after a node is killed, it runs again */
	UPLOAD_BYTES = 100000,
	CLIENTS_PEOPLE = 50,
};

#define CLIENTS_HOST "www.example.com"

struct client {
	struct wire *wire;
	unsigned node;
	uint32_t resource, variant, who;
	bool is_head, unsafe, fresh_only, only_if_cached, purge, slow;
	bool upgrade; /* it asks for another protocol */
	bool ended;   /* the answer has, and it has more to say */
	bool sibling; /* a peer that asks for what may be had from here */
	bool stranger; /* one that has another cluster key */
	uint32_t upload_left, uploaded;
	bool chunked;
	int64_t asked_us, purged_us;
	char etag[ORIGIN_TEXT];
	int64_t range_first, range_last; /* -1: none */

	unsigned status;
	struct version v;
	int64_t sent_us; /* by the origin; -1: nobody says */
	bool checks; /* the body is a version's */
	bool until_close;
	size_t expected, at, first;
	char told[TOLD_BYTES]; /* the answer to a PURGE */
	size_t told_len;
	struct world_event turn, deadline;
	struct client *next, **link;
};

static struct {
	struct clients_plan plan;
	struct clients_count count;
	struct client *list;
	struct world_event arrival, kill;
	unsigned killed_node;
	uint64_t number; /* of the next request */
	unsigned unsafe; /* requests so far */
} clients;

static void client_free(struct client *c)
{
	world_cancel(&c->turn);
	world_cancel(&c->deadline);
	wire_close(&c->wire, WIRE_ASKER);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	clients.count.ended++;
	free(c);
}

_Noreturn static void client_fail(const struct client *c, const char *what)
{
	world_fail("client %" PRIu32 " asked node %u for /r%" PRIu32
		   " (variant %" PRIu32 ") at %.3f s: %s; status %u, version %"
		   PRIu32 " of %" PRIu32 ", byte %zu of %zu", c->who, c->node,
		   c->resource, c->variant, (double)c->asked_us / 1e6, what,
		   c->status, c->v.number, origin_version(c->resource), c->at,
		   c->expected);
}

/* A tunnel that has fallen silent is there until somebody has enough of it. */
static void client_run_deadline(void *arg)
{
	struct client *c = arg;

	if (c->status != 101 || clients.plan.no_errors)
		client_fail(c, "no end in sight");
	clients.count.left++;
	client_free(c);
}

/* The answer */

static void client_judge(struct client *c)
{
	const struct question q = {
		.v = &c->v,
		.asked_us = c->asked_us,
		.fresh_only = c->fresh_only,
		.no_errors = clients.plan.no_errors,
		.purged_us = c->purged_us,
		.sent_us = c->sent_us,
	};
	const char *wrong = origin_judge(&q);

	if (c->v.resource != c->resource)
		client_fail(c, "another resource");
	if (origin_varies(c->resource) && c->v.variant != c->variant)
		client_fail(c, "another variant");
	if (c->v.who && c->v.who != c->who)
		client_fail(c, "somebody else's");
	if (wrong)
		client_fail(c, wrong);
}

/* The last Cache-Status is of the node that was asked. */
static void client_count_source(const struct fields *fields)
{
	const char *status = NULL;

	for (size_t i = 0; i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (field_name_is(f->name, "cache-status"))
			status = f->value;
	}
	clients.count.hits += status && strstr(status, "; hit");
	clients.count.from_peers += status && strstr(status, "peer=");
}

static void client_read_range(struct client *c, const struct fields *fields)
{
	const char *text = fields_get(fields, "content-range");
	size_t first, last, len;

	if (!text || sscanf(text, "bytes %zu-%zu/%zu", &first, &last,
			    &len) != 3 || last < first || last >= len ||
	    len != origin_body_len(&c->v))
		client_fail(c, "a wrong Content-Range");
	if (first != (size_t)c->range_first ||
	    (last != (size_t)c->range_last && last + 1 != len))
		client_fail(c, "another range");
	c->first = first;
	c->expected = last + 1 - first;
}

static void client_check_cookie(const struct client *c,
				const struct fields *fields)
{
	const char *cookie = fields_get(fields, "set-cookie");
	uint32_t who;

	if (cookie && (sscanf(cookie, "who=%" SCNu32, &who) != 1 ||
		       who != c->who))
		client_fail(c, "somebody else's cookie");
}

static int64_t client_read_sent(const struct fields *fields)
{
	const char *text = fields_get(fields, ORIGIN_SENT);

	return text ? strtoll(text, NULL, 10) : -1;
}

static void client_read_200(struct client *c, const struct fields *fields)
{
	c->sent_us = client_read_sent(fields);
	if (!origin_read_version(fields_get(fields, ORIGIN_FIELD), &c->v))
		client_fail(c, "an answer that is no version's");
	client_judge(c);
	client_check_cookie(c, fields);
	client_count_source(fields);
	c->checks = true;
	c->expected = c->is_head ? 0 : origin_body_len(&c->v);
	if (c->status == 206)
		client_read_range(c, fields);
}

static void client_read_304(struct client *c, const struct fields *fields)
{
	const char *etag = fields_get(fields, "etag");

	c->sent_us = client_read_sent(fields);
	if (!*c->etag || !etag || strcmp(etag, c->etag) != 0)
		client_fail(c, "a 304 for what it does not have");
	if (sscanf(etag, "\"%" SCNu32 "-%" SCNu32 "-%" SCNu32 "-%" SCNu32,
		   &c->v.resource, &c->v.number, &c->v.variant,
		   &c->v.who) != 4)
		client_fail(c, "a 304 with a tag that is none");
	client_judge(c);
	client_count_source(fields);
}

static void client_push(struct client *c);

/* The origin speaks, and so does the client. */
static void client_read_101(struct client *c, const struct fields *fields)
{
	const char *len = fields_get(fields, ORIGIN_LENGTH);

	if (!c->upgrade || !len ||
	    !fields_has_token(fields, "upgrade", ORIGIN_PROTOCOL))
		client_fail(c, "a protocol that nobody has asked for");
	c->v = (struct version){ .resource = c->resource, .number = 1 };
	c->checks = true;
	c->expected = strtoul(len, NULL, 10);
	c->upload_left = 1 + world_below(CHOICE_EARLY, ORIGIN_TUNNEL_BYTES);
	client_push(c);
}

static void client_on_head(void *arg, const struct wire_head *head)
{
	struct client *c = arg;

	c->status = head->status;
	c->until_close = head->body_len < 0;
	if (c->stranger && (head->status < 400 || head->status == 504))
		client_fail(c, "somebody without the cluster key is answered");
	if (c->unsafe && clients.plan.no_errors && head->status != 200)
		client_fail(c, "an error in a world without any");
	if (c->purge || c->unsafe)
		return;
	switch (head->status) {
	case 101:
		client_read_101(c, head->fields);
		return;
	case 200:
	case 206:
		client_read_200(c, head->fields);
		return;
	case 304:
		client_read_304(c, head->fields);
		return;
	case 416:
		if (c->range_first < 0)
			client_fail(c, "416 without a range");
		return;
	default:
		if (clients.plan.no_errors &&
		    !((c->only_if_cached || c->sibling) && head->status == 504))
			client_fail(c, "an error in a world without any");
	}
}

static void client_run_slow(void *arg)
{
	struct client *c = arg;

	if (c->wire)
		wire_resume(c->wire, WIRE_ASKER);
}

static void client_hear(struct client *c, const char *data, size_t len)
{
	size_t room = TOLD_BYTES - 1 - c->told_len;

	len = len < room ? len : room;
	memcpy(c->told + c->told_len, data, len);
	c->told_len += len;
	c->told[c->told_len] = '\0';
}

static size_t client_on_bytes(void *arg, const char *data, size_t len)
{
	struct client *c = arg;
	const char *right;

	if (c->slow) {
		len = len < SLOW_BYTES ? len : SLOW_BYTES;
		world_at(&c->turn, world_now_us + SLOW_US, client_run_slow, c);
	}
	if (c->purge)
		client_hear(c, data, len);
	for (size_t i = 0, n; c->checks && i < len; i += n) {
		n = len - i;
		if (c->at + n > c->expected)
			client_fail(c, "a body that is too long");
		right = origin_body(&c->v, c->first + c->at, &n);
		if (memcmp(data + i, right, n) != 0)
			client_fail(c, "wrong bytes");
		c->at += n;
	}
	return len;
}

static bool client_chance(unsigned permille)
{
	return world_happens(CHOICE_REQUEST, permille);
}

static void client_new(unsigned node, uint32_t resource);

static struct client *client_make(unsigned node, uint32_t resource);
static void client_start(struct client *c);

static void client_run_start(void *arg)
{
	client_start(arg);
}

static void client_run_kill(void *arg)
{
	(void)arg;
	clients_kill(clients.killed_node, NODES_DISK_KILLED);
}

/* A node that has acknowledged a purge is killed at once: when it runs again,
 * it must not have what was purged. */
static void client_kill_after_purge(const struct client *c)
{
	struct client *again = client_make(c->node, c->resource);

	clients.killed_node = c->node;
	world_at(&clients.kill, world_now_us, client_run_kill, NULL);
	world_at(&again->turn, world_now_us + AGAIN_US, client_run_start,
		 again);
}

/* After a strict purge the other nodes are asked, too, at once or later. */
static void client_ask_others(const struct client *c)
{
	for (unsigned node = 0; node < nodes_count(); node++) {
		struct client *other;

		if (node == c->node || !world_happens(CHOICE_STRICT, 500))
			continue;
		other = client_make(node, c->resource);
		world_at(&other->turn, world_now_us +
			 world_skewed(CHOICE_STRICT, 1, LATER_US),
			 client_run_start, other);
	}
}

/* What was acknowledged counts from now on, and is looked at, mostly at once:
 * else what it left behind might never be seen for what came anew. */
static void client_note_purge(const struct client *c)
{
	bool all = clients.plan.strict ||
		   (c->purge && purged_is_everywhere(c->told));
	const struct purged purged = {
		.asked_us = c->asked_us,
		.told_us = world_now_us,
		.unsafe = c->unsafe,
		.alone = !all && nodes_count() > 1,
	};

	for (unsigned node = 0; node < nodes_count(); node++) {
		if (c->status == 200 && (all || node == c->node))
			purged_note(c->resource, node, &purged);
	}
	clients.count.purged += c->status == 200;
	if (c->purge && c->status == 200 && client_chance(clients.plan.kills))
		client_kill_after_purge(c);
	else if (client_chance(700))
		client_new(c->node, c->resource);
	if (clients.plan.strict && c->status == 200)
		client_ask_others(c);
}

static void client_finish(struct client *c)
{
	world_mix((uint64_t)c->status << 32 | c->v.number);
	if (c->purge)
		client_note_purge(c);
	else if (c->status == 101)
		clients.count.right++;
	else if (c->status == 200 || c->status == 206)
		(*(c->status == 200 ? &clients.count.right :
				      &clients.count.partial))++;
	else if (c->status == 304)
		clients.count.not_modified++;
	else
		clients.count.errors++;
	if (c->unsafe && c->status == 200)
		client_note_purge(c);
	client_free(c);
}

/* Who agrees hears the rest of what the client has to say. */
static void client_on_end(void *arg)
{
	struct client *c = arg;

	if (c->checks && c->at < c->expected)
		client_fail(c, "a body that is too short");
	c->ended = true;
	if (!c->upload_left || c->status >= 300)
		client_finish(c);
}

static void client_on_broken(void *arg, enum wire_end why)
{
	struct client *c = arg;
	/* what a strict purge cannot promise in time has no answer: a disk
	 * that is slow holds up renewals, too */
	bool unsure = clients.plan.strict && c->unsafe && !c->status;

	if (c->ended) { /* nobody hears the rest */
		client_finish(c);
		return;
	}
	if (clients.plan.no_errors && why == WIRE_BROKEN && !c->purge &&
	    !unsure &&
	    !(c->checks && origin_is_gone_in_slices(&c->v, c->sibling)))
		client_fail(c, "broken off in a world without errors");
	clients.count.broken++;
	client_free(c);
}

static void client_push(struct client *c)
{
	char piece[1024];
	size_t room;

	while (c->upload_left &&
	       (room = wire_room(c->wire, WIRE_ASKER)) > 0) {
		size_t n = room < sizeof(piece) ? room : sizeof(piece);

		if (n > c->upload_left)
			n = c->upload_left;
		for (size_t i = 0; i < n; i++)
			piece[i] = origin_upload_byte(c->uploaded++);
		wire_send(c->wire, WIRE_ASKER, piece, n);
		c->upload_left -= (uint32_t)n;
		if (!c->upload_left)
			wire_send_end(c->wire, WIRE_ASKER);
	}
	if (c->ended && !c->upload_left)
		client_finish(c);
}

static void client_on_room(void *arg)
{
	client_push(arg);
}

static const struct wire_ops client_ops = {
	.on_head = client_on_head,
	.on_bytes = client_on_bytes,
	.on_end = client_on_end,
	.on_broken = client_on_broken,
	.on_room = client_on_room,
};

/* The question */

static void client_add(struct fields *f, const char *name, const char *value)
{
	if (fields_add(f, name, value))
		world_fail("the world itself is out of memory");
}

static void client_add_condition(struct client *c, struct fields *f)
{
	struct version v = { c->resource, origin_version(c->resource),
			     c->variant, 0 };

	if (origin_is_private(c->resource))
		v.who = c->who;
	if (!origin_varies(c->resource))
		v.variant = 0;
	if (v.number > 1)
		v.number -= world_below(CHOICE_REQUEST, 2);
	origin_etag(&v, c->etag);
	client_add(f, "If-None-Match", c->etag);
}

static void client_add_range(struct client *c, struct fields *f)
{
	char text[64];

	c->range_first = world_below(CHOICE_REQUEST, 1000);
	c->range_last = c->range_first + world_below(CHOICE_REQUEST, 1000);
	snprintf(text, sizeof(text), "bytes=%" PRId64 "-%" PRId64,
		 c->range_first, c->range_last);
	client_add(f, "Range", text);
}

static void client_choose(struct client *c, struct fields *f)
{
	const struct clients_plan *plan = &clients.plan;

	c->upgrade = world_happens(CHOICE_EARLY, plan->tunnels);
	if (c->upgrade) {
		client_add(f, "Connection", "upgrade");
		client_add(f, "Upgrade", ORIGIN_PROTOCOL);
		return;
	}
	if (client_chance(plan->posts)) {
		c->unsafe = true;
		c->upload_left = client_chance(500) ? 1 :
			world_below(CHOICE_REQUEST, UPLOAD_BYTES) + 1;
		c->chunked = client_chance(300);
		return;
	}
	c->is_head = client_chance(plan->heads);
	if (!c->is_head && client_chance(plan->uploads))
		c->upload_left = world_below(CHOICE_REQUEST, 100) + 1;
	if (client_chance(plan->validations)) {
		c->fresh_only = true;
		client_add(f, "Cache-Control", "no-cache");
	} else if (client_chance(10)) {
		c->only_if_cached = true;
		client_add(f, "Cache-Control", "only-if-cached");
	}
	if (client_chance(plan->conditions))
		client_add_condition(c, f);
	else if (!c->is_head && client_chance(plan->ranges))
		client_add_range(c, f);
}

/* As a peer that forgets to say only-if-cached: the answer is what the node
 * has, and the origin hears nothing of it. */
static void client_add_sibling(struct client *c, struct fields *f)
{
	unsigned from = world_below(CHOICE_REQUEST, nodes_count());
	char text[ORIGIN_TEXT];

	/* a node that is about to start may get either key */
	if (!nodes_runs(c->node) || !client_chance(500))
		from = c->node;
	c->stranger = strcmp(nodes_token(from), nodes_token(c->node)) != 0;
	snprintf(text, sizeof(text), "Bearer %s", nodes_token(from));
	client_add(f, "Proxy-Authorization", text);
	client_add(f, ORIGIN_UNASKED, "1");
}

/* Some purges are by tag or prefix: then the whole store is walked over, and
 * true returned. */
static bool client_add_purge(const struct client *c, struct fields *f)
{
	char path[ORIGIN_TEXT], text[2 * ORIGIN_TEXT];

	if (client_chance(700))
		return false;
	snprintf(text, sizeof(text), "r%" PRIu32, c->resource);
	if (client_chance(500)) {
		client_add(f, "Purge-Tag", text);
		return true;
	}
	snprintf(text, sizeof(text), "http://" CLIENTS_HOST "%s",
		 origin_path(c->resource, path));
	client_add(f, "Purge-Prefix", text);
	return true;
}

static void client_send(struct client *c)
{
	struct wire_head head = { 0 };
	char target[2 * ORIGIN_TEXT], path[ORIGIN_TEXT], text[ORIGIN_TEXT];
	bool many = false;
	struct fields f;

	fields_init(&f);
	client_add(&f, "Host", CLIENTS_HOST);
	snprintf(text, sizeof(text), "%" PRIu32, c->who);
	client_add(&f, "X-Client", text);
	snprintf(text, sizeof(text), "l%" PRIu32, c->variant);
	client_add(&f, "Accept-Language", text);
	if (c->sibling)
		client_add_sibling(c, &f);
	else if (c->purge)
		many = client_add_purge(c, &f);
	else
		client_choose(c, &f);
	if (c->unsafe && !c->purge) {
		snprintf(text, sizeof(text), "%u", clients.unsafe++);
		client_add(&f, ORIGIN_ONCE, text);
	}
	head.method = c->purge ? "PURGE" : c->unsafe ? "POST" :
		      c->is_head ? "HEAD" : "GET";
	snprintf(target, sizeof(target), "%s%s",
		 c->sibling ? "http://" CLIENTS_HOST : "",
		 many ? "/" : origin_path(c->resource, path));
	head.target = target;
	head.fields = &f;
	head.has_body = c->upload_left > 0;
	head.body_len = c->chunked ? -1 : (int64_t)c->upload_left;
	wire_send_head(c->wire, WIRE_ASKER, &head);
	if (head.has_body)
		client_push(c);
	else if (!c->upgrade)
		wire_send_end(c->wire, WIRE_ASKER);
	fields_free(&f);
}

static void client_run_leave(void *arg)
{
	clients.count.left++;
	client_free(arg);
}

/* When a client leaves: at any time, or while its answer is on its way. */
static int64_t client_patience_us(void)
{
	uint32_t trips_us = 10 * (uint32_t)wire_weather.latency_us;

	if (world_below(CHOICE_CLIENT, 2))
		return world_below(CHOICE_CLIENT, trips_us);
	return world_skewed(CHOICE_CLIENT, 1, 2000000);
}

static void client_behave(struct client *c)
{
	const struct clients_plan *plan = &clients.plan;

	if (c->purge)
		return;
	if (world_happens(CHOICE_CLIENT, plan->leaving))
		world_at(&c->turn, world_now_us + client_patience_us(),
			 client_run_leave, c);
	else
		c->slow = world_happens(CHOICE_CLIENT, plan->slow);
}

static uint32_t clients_choose_resource(void)
{
	uint32_t n = clients.plan.resources;

	/* some are asked for often, and all now and then */
	if (world_below(CHOICE_ARRIVAL, 2))
		return world_below(CHOICE_ARRIVAL, n);
	return world_skewed(CHOICE_ARRIVAL, 1, n) - 1;
}

/* Where it connects. */
static const char *client_place(const struct client *c)
{
	bool streams = !c->purge && !c->sibling &&
		       world_happens(CHOICE_H2, clients.plan.streams);

	return c->purge ? nodes_admin_name(c->node) :
	       c->sibling ? nodes_peer_name(c->node) :
	       streams ? h2_gate_name(c->node) : nodes_data_name(c->node);
}

/* Of a client that has been made: it asks now. */
static void client_start(struct client *c)
{
	c->asked_us = world_now_us;
	if (clients.plan.final)
		c->purged_us = purged_asked_us(c->resource, c->node);
	c->wire = wire_open(WIRE_CLIENTS, client_place(c), &client_ops, c);
	client_send(c);
	client_behave(c);
	world_at(&c->deadline, world_now_us + DEADLINE_US, client_run_deadline,
		 c);
}

static struct client *client_make(unsigned node, uint32_t resource)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		world_fail("the world itself is out of memory");
	c->node = node;
	c->resource = resource;
	c->variant = world_below(CHOICE_REQUEST, ORIGIN_VARIANTS);
	c->who = 1 + world_below(CHOICE_REQUEST, CLIENTS_PEOPLE);
	c->range_first = -1;
	c->next = clients.list;
	c->link = &clients.list;
	if (c->next)
		c->next->link = &c->next;
	clients.list = c;
	clients.count.started++;
	return c;
}

static void client_new(unsigned node, uint32_t resource)
{
	struct client *c = client_make(node, resource);

	c->sibling = client_chance(clients.plan.siblings);
	client_start(c);
}

/* A purge after no change shows nothing. */
static void client_run_purge(void *arg)
{
	struct client *c = arg;

	origin_change(c->resource);
	client_start(c);
}

/* At once, or while somebody else's answer is on its way. */
static void client_new_purge(unsigned node, uint32_t resource)
{
	struct client *c = client_make(node, resource);

	c->purge = true;
	if (client_chance(500))
		client_run_purge(c);
	else
		world_at(&c->turn, world_now_us +
			 world_skewed(CHOICE_REQUEST, 1000, 500000),
			 client_run_purge, c);
}

static void clients_make_request(void)
{
	const struct clients_plan *plan = &clients.plan;
	unsigned node = world_below(CHOICE_ARRIVAL, nodes_count());
	uint32_t resource = clients_choose_resource();

	if (plan->urls)
		resource %= plan->urls;
	if (world_happens(CHOICE_ARRIVAL, plan->changes))
		origin_change(resource);
	if (world_happens(CHOICE_ARRIVAL, plan->purges))
		client_new_purge(node, resource);
	client_new(node, resource);
}

static void clients_arrive(void *arg)
{
	const struct clients_plan *plan = &clients.plan;

	(void)arg;
	world_restart(CHOICE_ARRIVAL, clients.number);
	world_restart(CHOICE_REQUEST, clients.number);
	world_restart(CHOICE_CLIENT, clients.number);
	world_restart(CHOICE_EARLY, clients.number);
	world_restart(CHOICE_STRICT, clients.number);
	world_restart(CHOICE_H2, clients.number);
	if (!plan->only || cut_list_has(plan->only, clients.number))
		clients_make_request();
	clients.number++;
	/* whatever was asked for, the next one comes when it would have */
	world_restart(CHOICE_ARRIVAL, ~clients.number);
	if (--clients.plan.requests)
		world_at(&clients.arrival, world_now_us + 1 +
			 world_below(CHOICE_ARRIVAL, 2 * plan->gap_us),
			 clients_arrive, NULL);
}

void clients_go_on(uint64_t requests)
{
	clients.plan.requests = requests;
	clients.plan.no_errors = true;
	clients.plan.kills = 0;
	world_at(&clients.arrival, world_now_us + 1000, clients_arrive, NULL);
}

void clients_start(const struct clients_plan *plan)
{
	clients.plan = *plan;
	clients.count = (struct clients_count){ 0 };
	clients.unsafe = 0;
	clients.number = 0;
	purged_start(plan->resources);
	world_at(&clients.arrival, world_now_us + 1000, clients_arrive, NULL);
}

void clients_kill(unsigned node, enum nodes_disk_end how)
{
	bool lost = nodes_kill(node, how);

	if (clients.plan.strict)
		return;
	purged_forget(node, lost);
	if (!lost)
		return;
	for (struct client *c = clients.list; c; c = c->next) {
		if (c->node == node)
			c->purged_us = 0;
	}
}

bool clients_done(void)
{
	return !clients.plan.requests && !clients.list;
}

const struct clients_count *clients_count(void)
{
	return &clients.count;
}

void clients_stop(void)
{
	while (clients.list)
		client_free(clients.list);
	world_cancel(&clients.arrival);
	world_cancel(&clients.kill);
	purged_stop();
}
