/*
 * world: whole clusters under a seed.
 *
 *	world [--seed N] [--worlds K] [--requests R] [--verbose] [--shrink]
 *	      [--without WORD,...] [--nodes N] [--urls N] [--only NUMBER,...]
 *
 * Runs K worlds, of the seeds N, N + 1, ..., of R requests each, and prints a
 * line of TAP for each; by default a few, or with SCD_TEST_LONG some thousands,
 * and those that have shown a fault once.
 * Every seed is a kind of world of its own: how many nodes, how far apart, what
 * fails, what is asked for ("swarm testing", Groce et al., 2012). The first
 * wrong answer ends the run and says how to see it again; a seed means the same
 * on every machine and in every build, so no two choices stand in one
 * expression, whose order is the compiler's.
 *
 * The second line of options leaves things out of a world: some of what goes
 * wrong, nodes, URLs, and all requests but some. The rest stays as it was, as
 * far as it does not depend on these. With --shrink a world that fails is
 * tried with less and less, and the least is printed that fails in the same
 * way.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/disk/disk.h"
#include "digestd/os/log.h"
#include "tests/rounds.h"
#include "tests/world/arguments.h"
#include "tests/world/bad_peer.h"
#include "tests/world/clients.h"
#include "cachesim/world/nodes.h"
#include "tests/world/cut.h"
#include "tests/world/failed_once.h"
#include "tests/world/h2_gate.h"
#include "tests/world/locations.h"
#include "tests/world/world_disk.h"
#include "tests/world/invariants.h"
#include "tests/world/origin.h"
#include "tests/world/pairs.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"

enum {
	WORLDS = 1000,
	WORLDS_SLOW = 40,    /* with sanitizers */
	WORLDS_LONG = 100000,
	REQUESTS = 1000, /* of each */
	TEND_US = 100000,
	STEPS_MAX = 6000,    /* for a request: more is a loop without an end */
	HEAL_US = 400000000, /* a quarantine, and a try after it */
	WORLD_NODES = 8,     /* at most */
	AFTERWARDS = 100,    /* requests to the cluster that has healed */
	STREAMS_MAX = 100,   /* of a connection of HTTP/2 at once */
	SHARED_US = 60000000, /* that their bodies may take together */
	FAR_US = 15000,      /* one way: a connection takes three of them */
	BAD_PEER_SEEDS = 10, /* in one world of so many a peer goes bad */
	BAD_PEER_TAKEN_US = 1000000, /* until all have its digest */
	BAD_PEER_WORLDS = BAD_PEER_SEEDS * BAD_PEER_NWAYS, /* meet each way */
	PAIRS_REQUESTS = 1000000, /* that meet every pair, see pairs.h */
};

static struct {
	uint64_t seed;
	bool verbose;
	struct cut cut;
	struct nodes_plan nodes;
	struct origin_plan origin;
	struct clients_plan clients;
	/* in a thousand, ten times a second */
	unsigned restarts, partings, jumps, reloads;
	unsigned deaths; /* of origins, where there are several */
	unsigned keys; /* in a thousand reloads: another cluster key */
	struct world_event tending;
	bool tends;
	bool goes_bad; /* one more peer does */
	unsigned strict; /* purges are */
	unsigned isolations; /* then */
	struct locations_plan locations;
	struct h2_gate_plan streams; /* of clients that speak HTTP/2 */
} world;

/* What can be left out of a world, by CUT_WORDS(). */
static unsigned *const world_words[] = {
#define X(name, at) &at,
	CUT_WORDS(X)
#undef X
};

void world_fail(const char *format, ...)
{
	va_list args;

	printf("not ok - seed %" PRIu64 " at %.6f s: ", world.seed,
	       (double)world_now_us / 1e6);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n# again: tests/world/world --seed %" PRIu64, world.seed);
	cut_print(&world.cut);
	printf("\n");
	exit(1);
}

/* What a node logs, as that reloads keep another cluster key out. */
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
{
	va_list args;

	if (!world.verbose || level > LOG_ERROR)
		return;
	printf("# %.6f s, %s: ", (double)world_now_us / 1e6, part);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* Mostly none, else few or many. */
static unsigned world_permille_of(enum world_choice kind, unsigned often,
				  unsigned most)
{
	return world_happens(kind, often) ? world_skewed(kind, 1, most) : 0;
}

static unsigned world_permille(unsigned often, unsigned most)
{
	return world_permille_of(CHOICE_SWARM, often, most);
}

/* A body comes in so many pieces and not many more. */
static uint32_t world_least_piece(uint32_t body_bytes)
{
	enum { PIECES = 50, PIECE_MIN_BYTES = 16 };

	return PIECE_MIN_BYTES + body_bytes / PIECES;
}

static void world_choose_weather(bool faults, uint32_t body_bytes)
{
	struct wire_weather *w = &wire_weather;

	*w = (struct wire_weather){ 0 };
	w->latency_us = world_skewed(CHOICE_SWARM, 50, 60000);
	w->piece_us = world_skewed(CHOICE_SWARM, 1, 20000);
	w->piece_bytes = world_skewed(CHOICE_SWARM,
				      world_least_piece(body_bytes), 262144);
	w->window = world_skewed(CHOICE_SWARM, 1024, 262144);
	if (!faults)
		return;
	w->faults.refused = world_permille(300, 200);
	w->faults.black_hole = world_permille(300, 100);
	w->faults.cut = world_permille(500, 200);
	w->faults.silent = world_permille(300, 100);
}

static struct clients_plan world_choose_clients(bool faults)
{
	struct clients_plan c = { .requests = world.cut.requests,
				  .only = world.cut.only };

	c.no_errors = !faults;
	c.gap_us = world_skewed(CHOICE_SWARM, 200, 200000);
	c.resources = world_skewed(CHOICE_SWARM, 1, 2000);
	c.leaving = world_permille(500, 300);
	c.slow = world_permille(300, 100);
	c.posts = world_permille(500, 100);
	c.ranges = world_permille(500, 200);
	c.conditions = world_permille(500, 200);
	c.validations = world_permille(500, 200);
	c.heads = world_permille(300, 100);
	c.uploads = world_permille(300, 50);
	c.purges = world_permille(500, 50);
	c.changes = world_permille(700, 300);
	return c;
}

/* Options that a world sets, or leaves as they are by default. */
static const char *world_choose_options(void)
{
	static const char *const lines[] = {
		"stream_window = 1K\n",     "stream_window = 32K\n",
		"placement = \"keep\"\n",   "placement = \"second\"\n",
		"placement = \"single\"\n", "placement = \"auto\"\n",
		"admission = \"aged\"\n",
		"admission = \"probation\"\n", "eviction = \"lru\"\n",
		"publish_min = 10ms\npublish_max = 20ms\n",
		"vary_limit = 1\n",         "purge_peers = true\n",
		"leases = true\n",          "leases = true\n",
		"slice_size = 4K\n",        "slice_size = 16K\n",
		"peer_check = 1\n",         "warm = 1M\n",
		("peer_budget = 1s\npeer_timeout = 500ms\n"
		 "peer_connect_timeout = 500ms\n"),
	};
	static char text[1024];
	size_t len = 0, n = sizeof(lines) / sizeof(lines[0]);
	/* most have a small filter, which grows and is soon coded */
	bool small = world_happens(CHOICE_SWARM, 800);
	/* at first nodes wait 100 ms for each other: they could hardly meet */
	bool far = wire_weather.latency_us > FAR_US;
	const char *last = "";

	text[0] = '\0';
	if (small)
		len = (size_t)snprintf(text, sizeof(text), "%s",
				       "filter_min = 128\n"
				       "expected_objects = 20\n");
	for (size_t i = 0; i < n; i++) {
		size_t name = strcspn(lines[i], " ");

		if (!world_happens(CHOICE_SWARM, 250) &&
		    !(far && !strncmp(lines[i], "peer_budget", name)))
			continue;
		if (!strncmp(last, lines[i], name)) /* set already */
			continue;
		last = lines[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
					last);
	}
	return text;
}

static void world_choose_disks(struct nodes_plan *nodes, bool faults)
{
	struct world_disk_faults *f = &world_disk_faults;

	*f = (struct world_disk_faults){ 0 };
	if (!world_happens(CHOICE_SWARM, 300))
		return;
	nodes->disks = &world_disk_nodes;
	nodes->disk_bytes = world_skewed(CHOICE_SWARM, 1 << 20, 1 << 26);
	/* what is in memory, too, is never read */
	if (world_happens(CHOICE_SWARM, 700))
		nodes->cache_bytes = world_skewed(CHOICE_SWARM, 1 << 16,
						  1 << 20);
	if (!faults)
		return;
	world.restarts = world_skewed(CHOICE_SWARM, 5, 100);
	f->full = world_permille(300, 300);
	f->write_errors = world_permille(300, 300);
	f->read_errors = world_permille(300, 300);
	f->flips = world_happens(CHOICE_SWARM, 500) ?
			   world_skewed(CHOICE_SWARM, 20, 500) :
			   0;
}

static void world_part(unsigned node)
{
	int other = (int)world_below(CHOICE_EVENT, nodes_count() + 1) - 1;
	int64_t for_us = world_skewed(CHOICE_EVENT, 1000, 20000000);

	wire_part((int)node, other < 0 ? WIRE_ORIGIN : other,
		  world_now_us + for_us);
}

/* A node that clients reach, and the origin, and no other node. */
static void world_isolate(unsigned node)
{
	int64_t for_us = world_skewed(CHOICE_STRICT, 100000, 10000000);

	for (unsigned i = 0; i < nodes_count(); i++) {
		if (i != node)
			wire_part((int)node, (int)i, world_now_us + for_us);
	}
}

/* What can be set again while a node runs. */
static void world_reload(unsigned node)
{
	static const char *const options[] = {
		"vary_limit = 1\n", "purge_peers = true\n",
		"publish_min = 50ms\npublish_max = 5s\n",
		"stream_window = 2K\n", "peer_budget = 200ms\n",
	};
	uint32_t n = sizeof(options) / sizeof(options[0]);
	const char *line = options[world_below(CHOICE_EVENT, n)];
	unsigned without = world_below(CHOICE_EVENT, 1 << WORLD_NODES);
	uint64_t bytes = world_skewed(CHOICE_EVENT, 1 << 16, 1 << 26);

	if (world_happens(CHOICE_EVENT, 300))
		line = world.nodes.options;
	if (world_happens(CHOICE_EVENT, 500) || world.strict)
		without = 0;
	if (world_happens(CHOICE_EVENT, world.keys))
		nodes_set_key(node, world_below(CHOICE_EVENT, NODES_KEYS));
	nodes_reload(node, bytes, line, without);
}

static void world_tend(void *arg)
{
	unsigned node = world_below(CHOICE_EVENT, nodes_count());

	(void)arg;
	if (world_happens(CHOICE_EVENT, world.restarts))
		clients_kill(node, world_below(CHOICE_DISK, NODES_DISK_ENDS));
	if (world_happens(CHOICE_EVENT, world.partings))
		world_part(node);
	if (world_happens(CHOICE_STRICT, world.isolations))
		world_isolate(node);
	locations_tend(node);
	if (world_happens(CHOICE_EVENT, world.jumps))
		nodes_jump(node, (int64_t)world_below(CHOICE_EVENT, 7200) -
					 3600);
	if (world_happens(CHOICE_EVENT, world.reloads))
		world_reload(node);
	if (world_happens(CHOICE_ORIGINS, world.deaths))
		origin_die();
	nodes_tend();
	if (world.tends)
		world_at(&world.tending, world_now_us + TEND_US, world_tend,
			 NULL);
}

static void world_run(void)
{
	uint64_t steps = 0, most = STEPS_MAX * (world.cut.requests + 1000);

	while (!clients_done()) {
		if (!world_step())
			world_fail("nothing happens any more");
		invariants_step();
		if (++steps > most)
			world_fail("%" PRIu64 " steps, and no end", steps);
	}
}

static void world_run_waited(void *arg)
{
	*(bool *)arg = true;
}

/* Lets time pass, in which clients ask for nothing. */
static void world_wait(int64_t for_us)
{
	struct world_event end = { 0 };
	bool waited = false;

	world_at(&end, world_now_us + for_us, world_run_waited, &waited);
	while (!waited)
		world_step();
}

/*
 * All faults end. After a while nothing of them must be left: no errors, and
 * no answer that only errors excuse.
 */
static void world_heal(void)
{
	wire_weather.calm = true;
	h2_gate_heal();
	world_memory_limit(UINT64_MAX);
	world_disk_faults = (struct world_disk_faults){ 0 };
	wire_reset();
	world.restarts = 0;
	world.partings = 0;
	world.jumps = 0;
	world.reloads = world.deaths = world.isolations = 0;
	world.locations.splits = 0;
	nodes_restore();
	for (unsigned i = 0; i < nodes_count(); i++) {
		if (nodes_has_another_key(i))
			clients_kill(i, NODES_DISK_CLOSED);
	}
	world_wait(HEAL_US);
	nodes_tend();
	invariants_healed(world.goes_bad);
	clients_go_on(AFTERWARDS);
	world_run();
}

/*
 * A few large bodies, which all nodes soon have, and which break off on their
 * way from one to the other.
 */
static void world_choose_torn(void)
{
	enum { BODY_BYTES = 560000, PIECE_BYTES = 16384 };

	world.origin.resources = world.clients.resources =
		world_skewed(CHOICE_SWARM, 4, 40);
	world.origin.large = 1000;
	world.origin.body_bytes = BODY_BYTES;
	world.origin.lifetime_s = 1000;
	world.nodes.nnodes = world_skewed(CHOICE_SWARM, 2, 8);
	world.nodes.peers = true;
	world.nodes.cache_bytes = 1 << 26;
	world.nodes.max_object_bytes = 1 << 20;
	world.nodes.options = "publish_min = 10ms\npublish_max = 20ms\n";
	world.clients.no_errors = false;
	world.clients.kills = 0;
	world.clients.changes = 20;
	world.clients.leaving = 100;
	wire_weather.latency_us = world_skewed(CHOICE_SWARM, 50, FAR_US);
	wire_weather.faults.cut = 300;
	wire_weather.piece_bytes = PIECE_BYTES;
	wire_weather.window = 4 * PIECE_BYTES;
	world_memory_limit(UINT64_MAX);
}

/* The cluster key changes, node by node. */
static void world_choose_keys(void)
{
	world.restarts = world_skewed(CHOICE_SWARM, 10, 100);
	world.reloads = world_skewed(CHOICE_SWARM, 20, 200);
	world.clients.siblings = 50;
}

/*
 * One node, whose disk keeps nearly all, and which is killed behind some of the
 * PURGEs that it has acknowledged.
 */
static void world_choose_killed(void)
{
	world.origin.resources = world.clients.resources =
		world_skewed(CHOICE_SWARM, 10, 200);
	world.origin.lifetime_s = world_happens(CHOICE_SWARM, 500) ? 1000 : 5;
	world.origin.failing = 0;
	world.nodes.nnodes = 1;
	world.nodes.peers = false;
	world.nodes.disks = &world_disk_nodes;
	world.nodes.disk_bytes = 1 << 26;
	world.nodes.cache_bytes = world_skewed(CHOICE_SWARM, 1 << 16, 1 << 24);
	world_disk_faults = (struct world_disk_faults){ 0 };
	world.restarts = 0;
	world.clients.final = true;
	world.clients.siblings = 0;
	world.clients.no_errors = false;
	world.clients.purges = 100;
	world.clients.kills = 300;
	world.tends = true;
	world_memory_limit(UINT64_MAX);
}

/*
 * One peer goes bad, as soon as all nodes have its digest, and nothing else
 * fails: no client notices. The origin does not change, so that it can go on
 * where the peer breaks off.
 */
static void world_choose_bad(void)
{
	static const char *const options[] = {
		"", "stream_window = 1K\n", "placement = \"keep\"\n",
		"filter_min = 128\nexpected_objects = 20\n",
	};
	struct clients_plan *c = &world.clients;
	uint32_t least_piece;

	world.origin.resources = c->resources =
		world_skewed(CHOICE_SWARM, 200, 2000);
	world.origin.large = 100;
	world.origin.body_bytes = world_skewed(CHOICE_SWARM, 70000, 200000);
	least_piece = world_least_piece(world.origin.body_bytes);
	world.origin.tags = true;
	world.origin.lifetime_s = 1000;
	world.origin.failing = 0;
	world.origin.slow_ms = 20;
	world.nodes.nnodes = 1 + world_below(CHOICE_SWARM, 3);
	world.nodes.peers = true;
	world.nodes.disks = NULL;
	world.nodes.max_object_bytes = 1 << 20;
	world.nodes.stranger = bad_peer_place;
	world.nodes.options = options[world_below(CHOICE_SWARM, 4)];
	c->final = false;
	c->no_errors = true;
	c->changes = c->purges = c->kills = c->posts = 0;
	c->gap_us = world_skewed(CHOICE_SWARM, 1000, 10000);
	wire_weather.latency_us = world_skewed(CHOICE_SWARM, 50, 5000);
	if (wire_weather.piece_bytes < least_piece)
		wire_weather.piece_bytes = least_piece;
	wire_weather.faults = (struct wire_faults){ 0 };
	world.restarts = world.partings = world.jumps = world.reloads = 0;
	world.deaths = 0;
	world.keys = 0;
	world.tends = false;
	world_memory_limit(UINT64_MAX);
}

/*
 * Purges are strict: few objects, which nodes keep for long, and many purges.
 * All nodes are members of one cluster, and stay so.
 */
static void world_choose_strict(bool faults)
{
	struct clients_plan *c = &world.clients;

	if (world.nodes.nnodes < 2 || world.keys ||
	    !world_happens(CHOICE_STRICT, 200))
		return;
	world.strict = 1;
	world.nodes.nnodes = 2 + world_below(CHOICE_STRICT, 4);
	world.origin.resources = c->resources =
		world_skewed(CHOICE_STRICT, 2, 50);
	world.origin.lifetime_s = 1000;
	c->siblings = 0; /* they name no purges */
	c->purges = world_skewed(CHOICE_STRICT, 10, 100);
	c->gap_us = world_skewed(CHOICE_STRICT, 1000, 50000);
	/* within a lease that others have, or after it */
	world.nodes.down_us = world_skewed(CHOICE_STRICT, 1000, 2000000);
	if (!faults)
		return;
	c->kills = world_permille_of(CHOICE_STRICT, 500, 300);
	world.restarts = world_permille_of(CHOICE_STRICT, 600, 60);
	world.partings = world_permille_of(CHOICE_STRICT, 600, 100);
	world.jumps = world_permille_of(CHOICE_STRICT, 300, 50);
	world.isolations = world_permille_of(CHOICE_STRICT, 800, 100);
}

/* Answers that come before their request has ended, and tunnels. */
static void world_choose_early(bool faults)
{
	world.origin.early = world_happens(CHOICE_EARLY, 200) ? 500 : 0;
	world.origin.early_errors = faults;
	world.clients.tunnels = world_happens(CHOICE_EARLY, 200) ? 50 : 0;
	if (world.goes_bad)
		world.clients.tunnels = 0;
}

/* How many bodies share a connection at most, so that each has come long before
 * its client has had enough. */
static uint32_t world_most_streams(void)
{
	const struct wire_weather *w = &wire_weather;
	uint64_t windows = 1 + world.origin.body_bytes / w->window;
	uint64_t pieces = 1 + world.origin.body_bytes / w->piece_bytes;
	uint64_t body_us = windows * w->latency_us +
			   (windows + pieces) * w->piece_us;
	uint64_t n = SHARED_US / (body_us + 1);

	return n < 1 ? 1 : n < STREAMS_MAX ? (uint32_t)n : STREAMS_MAX;
}

/* Clients that speak HTTP/2, which has no tunnels. */
static void world_choose_streams(bool faults)
{
	uint32_t least = world_least_piece(world.origin.body_bytes);

	world.clients.streams = 0;
	if (!world_happens(CHOICE_H2, 150))
		return;
	world.clients.streams = world_happens(CHOICE_H2, 500) ? 1000 : 500;
	world.clients.tunnels = 0;
	world.streams = (struct h2_gate_plan){
		.window = world_skewed(CHOICE_H2, least, 65535),
		.visits = world_skewed(CHOICE_H2, 1, 1000),
		.streams = world_most_streams(),
	};
	if (faults && !world.goes_bad)
		world.streams.cuts = world_skewed(CHOICE_H2, 1, 100);
}

/* Leaves out what is not wanted, after all has been chosen. */
static void world_cut(const struct cut *cut)
{
	for (unsigned i = 0; i < CUT_NWORDS; i++) {
		if (cut->without & UINT64_C(1) << i)
			*world_words[i] = 0;
	}
	if (cut->nodes && cut->nodes < world.nodes.nnodes)
		world.nodes.nnodes = cut->nodes;
	world.clients.urls = cut->urls;
}

/* In some worlds there are several, and one dies or comes back now and then. */
static void world_choose_origins(bool faults)
{
	if (!world_happens(CHOICE_ORIGINS, 300))
		return;
	world.origin.others = 1 + world_below(CHOICE_ORIGINS,
					      ORIGIN_OTHERS_MAX);
	world.deaths = faults ? 200 : 0;
	world.tends = world.tends || world.deaths;
}

static void world_choose_bodies(void)
{
	/* those above 64 KiB are on their way while others ask for them */
	world.origin.large = world_happens(CHOICE_SWARM, 400) ? 300 : 0;
	world.origin.body_bytes = world.origin.large ?
		world_skewed(CHOICE_SWARM, 70000, 300000) :
		world_skewed(CHOICE_SWARM, 64, 100000);
	/* what peers send of such a length is not collected */
	if (world.origin.large && world_happens(CHOICE_SWARM, 50))
		world.origin.body_bytes += 260000;
}

static void world_begin(void)
{
	bool faults, alone;

	world.nodes = (struct nodes_plan){ 0 };
	world.origin = (struct origin_plan){ 0 };
	world.deaths = world.strict = world.isolations = 0;
	world_reset();
	world_seed(world.seed);
	wire_reset();
	faults = world_happens(CHOICE_SWARM, 500);
	alone = world_happens(CHOICE_SWARM, 300);
	world_choose_bodies();
	world_choose_weather(faults, world.origin.body_bytes);
	world.clients = world_choose_clients(faults);
	world.origin.resources = world.clients.resources;
	world.origin.lifetime_s = world_skewed(CHOICE_SWARM, 1, 1000);
	world.origin.pausing = world_permille(300, 500);
	world.origin.slow_ms = world_skewed(CHOICE_SWARM, 1, 3000);
	world.origin.failing = faults ? world_permille(300, 100) : 0;
	world.nodes.nnodes =
		alone ? 1 : world_skewed(CHOICE_SWARM, 2, WORLD_NODES);
	world.nodes.threads = 1 + world_below(CHOICE_SWARM, 3);
	world.nodes.peers = !alone;
	world.nodes.cache_bytes = world_skewed(CHOICE_SWARM, 1 << 16, 1 << 26);
	world.nodes.max_object_bytes = 1 << 20;
	world.nodes.origin = origin_name;
	if (world_happens(CHOICE_SWARM, 300))
		world.nodes.max_object_bytes =
			world_skewed(CHOICE_SWARM, 1 << 10, 1 << 20);
	world.nodes.clocks_differ = world_happens(CHOICE_SWARM, 500);
	world.nodes.options = world_choose_options();
	world.clients.final = true;
	world.clients.siblings = alone ? 0 : world_permille(300, 100);
	world.restarts = faults ? world_permille(300, 50) : 0;
	world_choose_disks(&world.nodes, faults);
	world.partings = faults ? world_permille(300, 50) : 0;
	world.jumps = world_permille(200, 50);
	world.reloads = world_permille(200, 100);
	world.keys = faults && !alone && world_happens(CHOICE_SWARM, 150) ?
			     300 : 0;
	if (world.keys) /* it is taken at a start, and not by a reload */
		world_choose_keys();
	world.tends = faults || world.jumps || world.reloads;
	world_choose_origins(faults);
	world_memory_limit(UINT64_MAX);
	if (faults && world_happens(CHOICE_SWARM, 300))
		world_memory_limit(world_skewed(CHOICE_SWARM, 1 << 18,
						1 << 26));
	world.goes_bad = world.seed % BAD_PEER_SEEDS == 0;
	if (world.goes_bad)
		world_choose_bad();
	else if (world_happens(CHOICE_SWARM, 80))
		world_choose_torn();
	else if (world_happens(CHOICE_SWARM, 40))
		world_choose_killed();
	else
		world_choose_strict(faults);
	locations_choose(&world.nodes, &world.locations, FAR_US, faults);
	world_choose_early(faults);
	world_choose_streams(faults);
	world_cut(&world.cut);
	world.nodes.strict = world.clients.strict =
		world.strict && world.nodes.nnodes > 1;
	world.nodes.more_origins = origin_more(world.origin.others);
	origin_start(&world.origin);
	if (world.goes_bad)
		bad_peer_start(world.seed / BAD_PEER_SEEDS % BAD_PEER_NWAYS,
			       world.origin.resources, world.clients.gap_us);
	nodes_start(&world.nodes);
	if (world.clients.streams)
		h2_gate_start(world.nodes.nnodes, &world.streams);
	if (world.goes_bad) {
		world_wait(BAD_PEER_TAKEN_US);
		bad_peer_befall();
	}
	clients_start(&world.clients);
	if (world.tends)
		world_at(&world.tending, TEND_US, world_tend, NULL);
}

static void world_report_disks(void)
{
	const struct world_disk_count *c = world_disk_count();

	printf("# disks: %u bodies written, %u read, %u calls failed, %u bits "
	       "flipped, %u bodies torn\n", c->written, c->read, c->failed,
	       c->flipped, c->torn);
}

static void world_end(void)
{
	world.tends = false;
	world_cancel(&world.tending);
	if (world.verbose)
		world_report_disks();
	clients_stop();
	h2_gate_stop();
	invariants_walk();
	nodes_stop();
	bad_peer_stop();
	world_memory_check();
	origin_stop();
}

static void world_report_streams(void)
{
	const struct h2_gate_count *c = h2_gate_count();

	printf("# HTTP/2 so far: %" PRIu64 " streams ended whole, %" PRIu64
	       " did not, %" PRIu64 " connections were cut\n", c->whole,
	       c->broken, c->cut);
}

static void world_report(uint64_t number)
{
	const struct clients_count *c = clients_count();

	printf("ok %" PRIu64 " - seed %" PRIu64 ": %" PRIu64 " requests, %"
	       PRIu64 " right, sum %016" PRIx64 "\n", number, world.seed,
	       c->started, c->right + c->partial + c->not_modified,
	       world_sum());
	if (world.verbose)
		printf("# %u nodes, %.1f s: %" PRIu64 " hits, %" PRIu64
		       " from peers, %" PRIu64 " parts, %" PRIu64
		       " not modified, %" PRIu64 " errors, %" PRIu64
		       " left, %" PRIu64 " broken, %" PRIu64 " purges\n",
		       nodes_count(), (double)world_now_us / 1e6, c->hits,
		       c->from_peers, c->partial, c->not_modified, c->errors,
		       c->left, c->broken, c->purged);
	if (world.verbose && world.clients.streams)
		world_report_streams();
	fflush(stdout);
}

static void world_whole(void)
{
	world_begin();
	world_run();
	bad_peer_check();
	world_heal();
	world_end();
}

/* Whether so many worlds should have met something that they have not: a
 * handler that nobody needs, or a way to go bad that does not come about. */
static bool world_has_missed(uint64_t worlds)
{
	uint64_t requests = worlds * world.cut.requests;
	unsigned missed = 0;

	if (worlds >= WORLDS_SLOW && world.cut.requests >= REQUESTS)
		missed += invariants_report();
	if (worlds >= BAD_PEER_WORLDS && world.cut.requests >= REQUESTS)
		missed += bad_peer_report();
	if (requests >= PAIRS_REQUESTS)
		missed += pairs_report(false);
	return missed;
}

/* Of the i-th world, from 0 on. */
static uint64_t world_seed_of(const struct arguments *a, uint64_t i)
{
	return i < a->worlds ? a->seed + i : failed_once[i - a->worlds];
}

int main(int argc, char **argv)
{
	struct arguments a = { .seed = 1, .cut.requests = REQUESTS };
	uint64_t n;

	a.worlds = (uint64_t)(rounds_slowness() > 1 ?
				      WORLDS_SLOW :
				      rounds_of(WORLDS, WORLDS_LONG));
	arguments_read(argc, argv, &a);
	world.cut = a.cut;
	world.verbose = a.verbose;
	n = a.worlds + (a.chosen ? 0 : failed_once_count);
	printf("1..%" PRIu64 "\n", n);
	for (uint64_t i = 1; i <= n; i++) {
		world.seed = world_seed_of(&a, i - 1);
		if (a.shrinks && cut_shrink(&world.cut, world_whole))
			return 1;
		world_whole();
		world_report(i);
	}
	if (world.verbose)
		pairs_report(true);
	return world_has_missed(a.worlds) ? 1 : 0;
}
