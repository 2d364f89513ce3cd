/*
 * The requests of a trace in a world, and what comes of them.
 */
#include "config.h"

#include "cachesim/world/drive.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/world/drive_bodies.h"
#include "cachesim/world/drive_digests.h"
#include "cachesim/world/drive_origin.h"
#include "cachesim/world/node_set.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"
#include "codec/key.h"
#include "digestd/admin/node_status.h"
#include "digestd/http/fields.h"

enum {
	START_US = 2000000, /* the nodes know each other by then */
	SECOND_US = 1000000,
	MILLION = 1000000,
	WINDOW_BYTES = 4 << 20, /* on its way over a connection */
	MESSAGE_BYTES = 600, /* a request and the head of its reply, as models
				count them */
	TELL_EVERY = 1024,   /* requests */
	TARGET_BYTES = 32,
	USAGE = 2,           /* exit code */
};

static const char drive_host[] = "www.example.com";
static const char drive_scheme[] = "http://";

enum drive_from { FROM_ORIGIN, FROM_NODE, FROM_PEER, FROM_OTHER };

/* A client's request under way. */
struct drive_request {
	struct wire *wire;
	struct drive_request *next_free;
	int64_t asked_us;
	uint64_t received;
	uint32_t object; /* unless it passes */
	uint32_t size;
	uint8_t node;
	bool counts, passes, failed;
	enum drive_from from;
	char target[TARGET_BYTES];
};

static struct {
	const struct drive_plan *plan;
	struct drive_count *count;
	uint16_t *home;        /* of each client; null: in turn */
	uint16_t *owner;       /* of each object; null: clients decide */
	bool peers;            /* nodes know of each other */
	uint32_t *size;        /* of each object, now */
	uint32_t *version;     /* of each object; null: one */
	struct node_set *asked; /* for each object, the nodes that were: others
				   do not have it */
	uint64_t next, pass, change, warm; /* requests; changes */
	uint64_t under_way;
	uint64_t second_first, second_n; /* requests of this second */
	int64_t counts_us;     /* since when */
	struct world_event arrival;
	struct drive_request *free;
	struct node_status before[NODES_MAX];
	struct sim_counters counted[NODES_MAX];
} drive;

void world_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	nodes_remove_files();
	exit(USAGE);
}

/* Times that vary */

/*
 * An exponentially distributed number of mean 2^32, by comparisons alone, so
 * that it is the same everywhere (von Neumann, "Various techniques used in
 * connection with random digits", 1951).
 */
static uint64_t drive_exponential(void)
{
	for (uint64_t whole = 0;; whole += UINT64_C(1) << 32) {
		uint32_t first = world_below(CHOICE_LATENCY, UINT32_MAX);
		uint32_t last = first, next;
		unsigned n = 1;

		while ((next = world_below(CHOICE_LATENCY, UINT32_MAX)) <
		       last) {
			last = next;
			n++;
		}
		if (n % 2)
			return whole + first;
	}
}

static int64_t drive_delay_us(const struct drive_delay *d)
{
	int64_t us = d->least_us;

	if (d->even_us)
		us += world_below(CHOICE_LATENCY, d->even_us + 1);
	if (d->tail_us)
		us += (int64_t)(drive_exponential() * d->tail_us >> 32);
	return us;
}

/* How much later something arrives because it was lost on its way. */
static int64_t drive_lost_us(void)
{
	const uint32_t ppm = drive.plan->lost_ppm;
	int64_t us = 0, again_us = DRIVE_AGAIN_US;

	for (; ppm && world_below(CHOICE_LATENCY, MILLION) < ppm; again_us *= 2)
		us += again_us;
	return us;
}

static int64_t drive_latency(int from, int to)
{
	if (from == WIRE_CLIENTS)
		return drive_delay_us(&drive.plan->client);
	if (to == WIRE_ORIGIN || from == WIRE_ORIGIN)
		return drive_delay_us(&drive.plan->origin) + drive_lost_us();
	if (nodes_location((unsigned)from) != nodes_location((unsigned)to))
		return drive_delay_us(&drive.plan->far) + drive_lost_us();
	return drive_delay_us(&drive.plan->peer) + drive_lost_us();
}

static int64_t drive_job_us(void)
{
	return drive_delay_us(&drive.plan->job);
}

/* Names of objects */

/* Puts a number before `end`; returns where it begins. */
static char *drive_put_number(char *end, uint32_t n)
{
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

/* The target of an object's present version. */
static void drive_name_object(uint32_t object, char target[TARGET_BYTES])
{
	char text[TARGET_BYTES], *at = text + TARGET_BYTES - 1;

	*at = '\0';
	if (drive.version && drive.version[object]) {
		at = drive_put_number(at, drive.version[object]);
		*--at = '.';
	}
	at = drive_put_number(at, object);
	*--at = 'o';
	*--at = '/';
	memcpy(target, at, (size_t)(text + TARGET_BYTES - at));
}

/* Answers */

/* The key that nodes have for a target. */
static struct scd_key drive_key_of(const char *target)
{
	char url[sizeof(drive_scheme) + sizeof(drive_host) + TARGET_BYTES];
	size_t before = sizeof(drive_scheme) + sizeof(drive_host) - 2;
	size_t len = strlen(target);
	struct scd_key key;

	memcpy(url, drive_scheme, sizeof(drive_scheme) - 1);
	memcpy(url + sizeof(drive_scheme) - 1, drive_host,
	       sizeof(drive_host) - 1);
	memcpy(url + before, target, len);
	nodes_hash(0, url, before + len, &key);
	return key;
}

/* Whether a peer has what a request was for, in a node that had to ask the
 * origin. */
static bool drive_peer_has(const struct drive_request *r)
{
	const struct node_set *asked = &drive.asked[r->object];
	unsigned node = node_set_from(asked, 0);
	struct scd_key key;

	if (!node_set_has_others(asked, r->node)) /* only saves time */
		return false;
	key = drive_key_of(r->target);
	for (; node < NODES_MAX; node = node_set_from(asked, node + 1)) {
		if (node != r->node && nodes_holds(node, &key))
			return true;
	}
	return false;
}

static bool drive_begins(const char *text, const char *with)
{
	return *text == *with && /* else it only saves the call */
	       !strncmp(text, with, strlen(with));
}

/* Who has answered, by a node's Cache-Status, of which the first parameter that
 * says so counts. */
static enum drive_from drive_who_answered(const char *status)
{
	while ((status = strchr(status, ';'))) {
		while (*status == ';' || *status == ' ')
			status++;
		if (drive_begins(status, "hit"))
			return FROM_NODE;
		if (drive_begins(status, "collapsed"))
			return FROM_OTHER;
		if (drive_begins(status, "detail=\"peer="))
			return FROM_PEER;
	}
	return FROM_ORIGIN;
}

/* The last Cache-Status is of the node that was asked. */
static void drive_on_head(void *arg, const struct wire_head *head)
{
	struct drive_request *r = arg;
	const char *status = NULL;

	for (size_t i = fields_count(head->fields); i-- && !status;) {
		const struct field *f = fields_at(head->fields, i);

		if (field_name_is(f->name, "cache-status"))
			status = f->value;
	}
	r->failed = head->status != 200;
	if (!status)
		return;
	r->from = drive_who_answered(status);
	if (r->counts && r->from == FROM_ORIGIN && !r->passes && drive.peers)
		drive.counted[r->node].false_misses += drive_peer_has(r);
}

static void drive_count_answer(const struct drive_request *r)
{
	struct sim_counters *c = &drive.counted[r->node];

	c->requests++;
	c->bytes += r->size;
	c->latency_us += (uint64_t)(world_now_us - r->asked_us);
	switch (r->from) {
	case FROM_NODE:
		c->local_hits++;
		c->local_bytes += r->size;
		break;
	case FROM_PEER:
		c->remote_hits++;
		c->remote_bytes += r->size;
		break;
	case FROM_OTHER:
		c->collapsed++;
		c->collapsed_bytes += r->size;
		break;
	case FROM_ORIGIN:
		c->origin++;
		c->origin_bytes += r->size;
		c->uncacheable += r->passes;
		c->uncacheable_bytes += r->passes ? r->size : 0;
	}
}

static void drive_end(struct drive_request *r, bool failed)
{
	wire_close(&r->wire, WIRE_ASKER);
	if (r->counts) {
		drive_count_answer(r);
		drive.count->errors += failed;
		if (drive.plan->answered)
			drive.plan->answered(drive.plan->arg, r->node,
					     world_now_us - r->asked_us);
	}
	drive.under_way--;
	r->next_free = drive.free;
	drive.free = r;
}

static void drive_on_length(void *arg, size_t len)
{
	struct drive_request *r = arg;

	r->received += len;
}

static void drive_on_end(void *arg)
{
	struct drive_request *r = arg;

	drive_end(r, r->failed || r->received != r->size);
}

static void drive_on_broken(void *arg, enum wire_end why)
{
	(void)why;
	drive_end(arg, true);
}

/* Questions */

static struct drive_request *drive_new_request(void)
{
	struct drive_request *r = drive.free;

	if (r)
		drive.free = r->next_free;
	else
		r = malloc(sizeof(*r));
	if (!r)
		world_fail("out of memory");
	*r = (struct drive_request){ .asked_us = world_now_us };
	r->counts = drive.next >= drive.warm;
	return r;
}

static void drive_send(struct drive_request *r)
{
	static const struct wire_ops ops = {
		.on_head = drive_on_head,
		.on_length = drive_on_length,
		.on_end = drive_on_end,
		.on_broken = drive_on_broken,
	};
	const struct wire_head head = { .method = "GET", .target = r->target };
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Host", drive_host))
		world_fail("out of memory");
	drive.under_way++;
	r->wire = wire_open(WIRE_CLIENTS, nodes_data_name(r->node), &ops, r);
	wire_move_head(r->wire, WIRE_ASKER, &head, &f);
	wire_send_end(r->wire, WIRE_ASKER);
}

/* The node of a client; requests of nobody go to all in turn. */
static uint8_t drive_node_of(const uint32_t *client, uint64_t i)
{
	if (drive.home && client)
		return (uint8_t)drive.home[client[i]];
	return (uint8_t)(i % drive.plan->config->nproxies);
}

static void drive_send_pass(uint64_t i)
{
	const struct sim_trace *t = drive.plan->trace;
	struct drive_request *r = drive_new_request();

	r->passes = true;
	r->size = t->pass_size[i];
	r->node = drive_node_of(t->pass_client, i);
	snprintf(r->target, TARGET_BYTES, "/p%llu", (unsigned long long)i);
	drive_send(r);
}

/* The object changes: its present version goes from all nodes, which need not
 * tell each other, as they all know it. What is still under way to one of them
 * is not stored there. */
static void drive_change_object(uint32_t object, uint32_t size)
{
	const struct node_set *asked = &drive.asked[object];
	char target[TARGET_BYTES];
	struct scd_key key;

	drive_name_object(object, target);
	key = drive_key_of(target);
	for (unsigned node = node_set_from(asked, 0); node < NODES_MAX;
	     node = node_set_from(asked, node + 1))
		nodes_drop(node, &key);
	drive.version[object]++;
	drive.size[object] = size;
}

static void drive_send_object(uint64_t i)
{
	const struct sim_trace *t = drive.plan->trace;
	uint32_t object = t->object[i];
	struct drive_request *r = drive_new_request();

	for (; drive.version && drive.change < t->nchanges &&
	       t->change[drive.change] <= i; drive.change++)
		drive_change_object(object, t->change_size[drive.change]);
	r->object = object;
	r->size = drive.size[object];
	r->node = drive.owner ? (uint8_t)drive.owner[object]
			      : drive_node_of(t->client, i);
	node_set_add(&drive.asked[object], r->node);
	drive_name_object(object, r->target);
	drive_send(r);
}

/* Arrivals */

/* When a request comes. Those of a second of the trace are spread evenly. */
static int64_t drive_due_us(uint64_t i)
{
	const struct drive_plan *p = drive.plan;
	const uint32_t *time = p->trace->time;
	uint64_t n = p->trace->nrequests;
	double s;

	if (p->rate > 0)
		return START_US + (int64_t)((double)i / p->rate * SECOND_US);
	if (i >= drive.second_first + drive.second_n) {
		drive.second_first = i;
		drive.second_n = 1;
		while (i + drive.second_n < n &&
		       time[i + drive.second_n] <= time[i])
			drive.second_n++;
	}
	s = time[drive.second_first] + (double)(i - drive.second_first) /
					       (double)drive.second_n;
	return START_US + (int64_t)(s / p->speed * SECOND_US);
}

/* From this request on all counts. */
static void drive_begin_counting(void)
{
	drive.counts_us = world_now_us;
	for (unsigned i = 0; i < nodes_count(); i++)
		nodes_status(i, &drive.before[i]);
}

static void drive_arrive(void *arg)
{
	const struct sim_trace *t = drive.plan->trace;
	uint64_t i = drive.next;

	(void)arg;
	world_loop_runs(WIRE_CLIENTS);
	if (i == drive.warm)
		drive_begin_counting();
	while (drive.pass < t->npasses && t->pass[drive.pass] <= i)
		drive_send_pass(drive.pass++);
	if (i == t->nrequests)
		return;
	drive_send_object(i);
	drive.next++;
	if (drive.plan->tell && drive.next % TELL_EVERY == 0)
		drive.plan->tell(drive.plan->arg, drive.next);
	if (drive.next < t->nrequests)
		world_at(&drive.arrival, drive_due_us(drive.next),
			 drive_arrive, NULL);
	else if (drive.pass < t->npasses)
		world_at(&drive.arrival, world_now_us, drive_arrive, NULL);
}

static void drive_replay(void)
{
	const struct sim_trace *t = drive.plan->trace;

	world_at(&drive.arrival, START_US, drive_arrive, NULL);
	while (drive.next < t->nrequests || drive.pass < t->npasses ||
	       drive.under_way) {
		if (!world_step())
			world_fail("requests wait, and nothing happens");
	}
}

/* Results */

static void drive_take_status(unsigned i, struct sim_counters *c)
{
	const struct node_status *was = &drive.before[i];
	struct node_status now;

	nodes_status(i, &now);
#define SINCE(x) (now.x - was->x)
	c->false_hits = SINCE(counters.false_hits);
	c->remote_stale = SINCE(counters.stale_hits);
	c->candidates = SINCE(counters.peer_queries);
	c->false_candidates = c->false_hits;
	c->fetches = c->false_hits + c->remote_stale +
		     SINCE(counters.variant_misses) +
		     SINCE(counters.peer_errors);
	c->fetch_bytes = c->fetches * MESSAGE_BYTES;
	c->updates = SINCE(digests.full_sent) + SINCE(digests.delta_sent);
	c->full_coded = SINCE(digests.full_sent_bytes);
	c->conditional_coded = SINCE(digests.delta_sent_bytes);
	c->update_bytes = c->full_coded + c->conditional_coded +
			  (c->updates + SINCE(digests.not_modified)) *
				  MESSAGE_BYTES;
	c->published = SINCE(publisher.generation);
	c->writes = SINCE(counters.stored);
	c->evicted = SINCE(store.evicted);
#undef SINCE
	c->held = now.store.entries;
	c->held_bytes = now.store.weight;
	c->peer_memory = nodes_peer_bytes(i);
}

/* Copies in the end that a node of a lower number has, too. */
static void drive_count_duplicates(void)
{
	char target[TARGET_BYTES];

	for (uint32_t o = 0; o < drive.plan->trace->nobjects; o++) {
		const struct node_set *asked = &drive.asked[o];
		unsigned i = node_set_from(asked, 0);
		struct scd_key key;
		bool held = false;

		if (!node_set_has_others(asked, i)) /* only saves time */
			continue;
		drive_name_object(o, target);
		key = drive_key_of(target);
		for (; i < NODES_MAX; i = node_set_from(asked, i + 1)) {
			if (!nodes_holds(i, &key))
				continue;
			drive.counted[i].duplicates += held;
			if (held)
				drive.counted[i].duplicate_bytes +=
					drive.size[o];
			held = true;
		}
	}
}

static void drive_result(struct sim_result *out)
{
	out->nproxies = nodes_count();
	out->capacity = sim_config_capacity(drive.plan->config,
					    drive.plan->trace);
	if (drive.peers)
		drive_count_duplicates();
	for (unsigned i = 0; i < out->nproxies; i++) {
		struct sim_counters *c = &drive.counted[i];

		drive_take_status(i, c);
		sim_counters_add(&out->sum, c);
		if (i < SIM_MAX_ROWS)
			out->proxy[i] = *c;
	}
	drive.count->seconds = (double)(world_now_us - drive.counts_us) / 1e6;
}

/* A world begins and ends */

static int drive_begin_objects(void)
{
	const struct drive_plan *p = drive.plan;
	size_t n = p->trace->nobjects + (size_t)1;
	int err = sim_config_homes(p->config, p->trace, &drive.home);

	if (!err)
		err = sim_config_owners(p->config, p->trace, &drive.owner);
	drive.size = malloc(n * sizeof(*drive.size));
	drive.asked = calloc(n, sizeof(*drive.asked));
	if (!p->keep_changed && p->trace->nchanges)
		drive.version = calloc(n, sizeof(*drive.version));
	if (err || !drive.size || !drive.asked ||
	    (!drive.version && !p->keep_changed && p->trace->nchanges))
		return -ENOMEM;
	memcpy(drive.size, p->trace->size, (n - 1) * sizeof(*drive.size));
	return 0;
}

static void drive_begin_nodes(void)
{
	const struct drive_plan *p = drive.plan;
	uint64_t bytes = sim_config_capacity(p->config, p->trace);
	struct nodes_plan nodes = {
		.nnodes = p->config->nproxies,
		.threads = 1,
		.peers = drive.peers,
		.locations = p->locations,
		.cache_bytes = bytes / p->config->nproxies,
		.max_object_bytes = 16 << 20, /* as nodes have it */
		.origin = drive_origin_name,
		.options = p->options,
		.once = true,
	};
	sigset_t mask;

	if (p->config->size_limit)
		nodes.max_object_bytes = p->config->size_limit;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	nodes_start(&nodes);
	sigprocmask(SIG_SETMASK, &mask, NULL); /* as nodes block some */
}

static void drive_begin_world(void)
{
	drive_bodies_start();
	world_reset();
	world_seed(drive.plan->config->seed);
	wire_reset();
	world_memory_limit(UINT64_MAX);
	wire_weather = (struct wire_weather){
		.window = WINDOW_BYTES,
		.latency = drive_latency,
		.whole = true,
		.alike = drive_bodies,
		.nalike = DRIVE_BODIES_BYTES,
		.scratch = drive_bodies_scratch,
		.nscratch = DRIVE_BODIES_SCRATCH,
	};
	world_job_us = drive_job_us;
}

static void drive_free(void)
{
	while (drive.free) {
		struct drive_request *r = drive.free;

		drive.free = r->next_free;
		free(r);
	}
	free(drive.home);
	free(drive.owner);
	free(drive.size);
	free(drive.asked);
	free(drive.version);
}

int drive_run(const struct drive_plan *plan, struct sim_result *out,
	      struct drive_count *count)
{
	const struct sim_trace *t = plan->trace;
	struct drive_objects objects;

	memset(&drive, 0, sizeof(drive));
	*out = (struct sim_result){ 0 };
	*count = (struct drive_count){ 0 };
	drive.plan = plan;
	drive.count = count;
	drive.peers = plan->config->protocol &&
		      plan->config->protocol->way == PROTOCOL_SUMMARY;
	drive.warm = sim_config_warm(plan->config, t);
	if (plan->rate <= 0 && !t->time)
		return -EINVAL;
	if (drive_begin_objects()) {
		drive_free();
		return -ENOMEM;
	}
	objects = (struct drive_objects){
		.size = drive.size,
		.nobjects = t->nobjects,
		.pass_size = t->pass_size,
		.npasses = t->npasses,
		.max_age_s = plan->max_age_s,
	};
	drive_begin_world();
	drive_origin_start(&objects);
	drive_begin_nodes();
	drive_replay();
	drive_result(out);
	nodes_stop();
	drive_digests_stop();
	drive_origin_stop();
	world_reset();
	drive_free();
	return 0;
}
