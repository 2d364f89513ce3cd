/*
 * cachesim advise: what cooperation would save an operator, by the log of what
 * clients asked for, and the configuration of digestd to save it with.
 *
 * The log is simulated five times: each node for itself; with every object
 * that any peer has found (ICP, without delay), which bounds what digests can
 * reach; as one large cache; with a consistent hash in front that sends each
 * request to the node of its object; and with digests. From the second come the
 * objects of a node, what is replaced, and how many lookups a peer could
 * serve, from which the tuner of libscd chooses the digests of the third. How
 * often they are published is then tried: the tuner takes all objects for
 * equally wanted, but new ones are wanted more. All caches evict as digestd
 * does, and try as many peers. Of more nodes than can be told apart in a mask
 * digests are not simulated, nor is asking.
 *
 * With --nodes daemon the log then goes through whole nodes with those digests,
 * which find the placement and how often to publish.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/advise_nodes.h"
#include "cachesim/cachesim.h"
#include "cachesim/results.h"
#include "cachesim/output.h"
#include "cachesim/simulate.h"
#include "cachesim/whole.h"
#include "cachesim/workload.h"
#include "codec/tune.h"
#include "digestd/tool/arguments.h"

const char command_advise_help[] =
	"usage: cachesim advise --log FILE --peers N [OPTIONS]\n"
	"Tells what cooperation would save N nodes between which the requests\n"
	"of an access log are divided, and the configuration of digestd to\n"
	"save it with.\n";

const struct tool_option *const command_advise_options[] = {
	settings_advise, settings_nodes, settings_trace, settings_output, NULL
};

enum {
	TRIES = 3,              /* peer_tries of digestd */
	USUAL_BITS = 32,        /* of digestd, where tuning has no answer */
	USUAL_HASHES = 3,
	LEAST_CACHE = 1 << 16,  /* that digestd takes */
	SHARES = 4,             /* that are tried */
	STEP = 4,               /* each so much smaller than the one before */
};

/* What is compared. */
enum system { ALONE, ASKING, ONE_CACHE, FRONT, DIGESTS, SYSTEMS };

static const struct {
	const char *name, *protocol;
} systems[SYSTEMS] = {
	[ALONE] = { "each alone", "none" },
	[ASKING] = { "perfect knowledge", "icp" },
	[ONE_CACHE] = { "one large cache", "global" },
	[FRONT] = { "hash in front", "hash" },
	[DIGESTS] = { "digests", "compressed" },
};

static const struct report_column columns[] = {
	/* clang-format off */
	{ "system",               REPORT_TEXT,    true },
	{ "hit_ratio",            REPORT_SHARE,   false },
	{ "local_hit_ratio",      REPORT_SHARE,   false },
	{ "remote_hit_ratio",     REPORT_SHARE,   false },
	{ "byte_hit_ratio",       REPORT_SHARE,   false },
	{ "false_hit_ratio",      REPORT_SHARE,   false },
	{ "origin_requests",      REPORT_COUNT,   false },
	{ "origin_bytes",         REPORT_BYTES,   false },
	{ "saved_requests",       REPORT_SHARE,   false },
	{ "saved_bytes",          REPORT_SHARE,   false },
	{ "update_bytes",         REPORT_BYTES,   false },
	{ "summary_memory",       REPORT_BYTES,   false },
	{ "mean_latency",         REPORT_SECONDS, false },
	/* clang-format on */
};

struct advice {
	struct settings *s;
	struct sim_trace trace;
	struct plan_row rows[SYSTEMS];
	struct sim_result results[SYSTEMS];
	struct scd_tuning tuning;
	uint64_t objects; /* of a node */
	bool tuned;
	bool has_nodes;
	struct advice_of_nodes nodes;
};

static void command_advise_prepare(struct advice *a, enum system which)
{
	struct sim_config *c = &a->rows[which].config;
	double value;

	sim_config_init(c);
	parameter_set(PARAMETER_PROTOCOL, systems[which].protocol, c, &value);
	parameter_set(PARAMETER_EVICTION, "sieve", c, &value);
	if (a->s->parameter[PARAMETER_SIZE]) {
		parameter_set(PARAMETER_SIZE, a->s->parameter[PARAMETER_SIZE],
			      c, &value);
		c->capacity *= a->s->peers;
	}
	c->nproxies = (unsigned)a->s->peers;
	c->tries = TRIES;
	c->peer_use = true;
}

/* Simulates the systems from first to last. */
static int command_advise_simulate_some(struct advice *a, enum system first,
					enum system last)
{
	struct plan plan = { .rows = &a->rows[first],
			     .nrows = last - first + 1u };
	struct simulate_options options = { .threads = simulate_processors(),
					    .quiet = a->s->quiet };

	if (!plan_fits(&plan, &a->trace))
		return TOOL_NO;
	return simulate(&plan, &a->trace, &a->results[first], &options);
}

static double command_advise_span_of(const struct sim_trace *t)
{
	uint32_t last = 0;

	for (uint64_t i = 0; t->time && i < t->nrequests; i++) {
		if (t->time[i] > last)
			last = t->time[i];
	}
	return last;
}

/* What the tuner has to know, for a node. */
static struct scd_goal command_advise_goal_of(const struct advice *a)
{
	const struct sim_counters *c = &a->results[ASKING].sum;
	double n = (double)a->s->peers;
	double misses = (double)(c->requests - c->uncacheable - c->local_hits);

	return (struct scd_goal){
		.expected = a->objects,
		.peers = (unsigned)a->s->peers,
		.false_hit_bytes = ADVISE_FALSE_HIT_BYTES,
		.false_miss_bytes = (double)c->bytes / (double)c->requests,
		.lookups = misses / n,
		.peer_hits = misses > 0 ? (double)c->remote_hits / misses : 0,
		.replaced =
			fmin((double)c->writes / n, 1e3 * (double)a->objects),
		.seconds = command_advise_span_of(&a->trace),
		.max_update = SCD_UPDATE_CONDITIONAL,
	};
}

static void command_advise_tune(struct advice *a)
{
	struct scd_goal goal;

	a->objects = a->results[ASKING].sum.held / a->s->peers;
	if (!a->objects)
		a->objects = 1;
	goal = command_advise_goal_of(a);
	a->tuned = !scd_tune(&goal, &a->tuning);
	if (!a->tuned)
		a->tuning = (struct scd_tuning){ .nbits = USUAL_BITS *
							  a->objects,
						 .nhash = USUAL_HASHES };
}

/* The daemon rounds the array up to a power of two, so the bits an object that
 * are whole give this one. */
static double command_advise_bits_per_object(const struct advice *a)
{
	double bits = floor((double)a->tuning.nbits / (double)a->objects);

	return fmin(1024, fmax(2, bits));
}

static void command_advise_prepare_digests(struct advice *a, double share)
{
	struct sim_config *c = &a->rows[DIGESTS].config;

	command_advise_prepare(a, DIGESTS);
	c->digest.bits = command_advise_bits_per_object(a);
	c->digest.nhash = a->tuning.nhash;
	c->digest.expected = a->objects;
	c->digest.form = PROTOCOL_CONDITIONAL;
	if (share > 0)
		c->publish.share_ppm = (uint32_t)(share * 1e6 + 1);
}

/* Simulates digests that are published more and more often, and takes those
 * with which the fewest bytes are carried. */
static int command_advise_try_shares(struct advice *a)
{
	double share = a->tuning.share, best = share;
	struct sim_result result;
	int code = TOOL_OK;

	for (int i = 0; i < SHARES && !code; i++, share /= STEP) {
		command_advise_prepare_digests(a, share);
		result = a->results[DIGESTS];
		code = command_advise_simulate_some(a, DIGESTS, DIGESTS);
		if (!i || advise_bytes(&a->results[DIGESTS].sum) <
				  advise_bytes(&result.sum))
			best = share;
		else
			a->results[DIGESTS] = result;
		if (!(share > 0))
			break;
	}
	if (best > 0) {
		a->tuning.update_seconds *= best / a->tuning.share;
		a->tuning.share = best;
	}
	return code;
}

static double command_advise_saved(uint64_t now, uint64_t alone)
{
	return alone ? 1 - (double)now / (double)alone : 0;
}

/* What all systems are compared by. */
static void command_advise_add_counts(struct report *r, const struct advice *a,
				      const char *name,
				      const struct sim_counters *c)
{
	const struct sim_counters *alone = &a->results[ALONE].sum;

	report_row(r);
	report_text(r, "system", name);
	for (size_t i = 1; i <= 5; i++)
		report_real(r, columns[i].name,
			    results_ratio(columns[i].name, c));
	report_count(r, "origin_requests", c->origin);
	report_count(r, "origin_bytes", c->origin_bytes);
	report_real(r, "saved_requests",
		    command_advise_saved(c->origin, alone->origin));
	report_real(r, "saved_bytes",
		    command_advise_saved(c->origin_bytes, alone->origin_bytes));
}

static void command_advise_add_row(struct report *r, const struct advice *a,
				   enum system which)
{
	const struct sim_counters *c = &a->results[which].sum;

	command_advise_add_counts(r, a, systems[which].name, c);
	if (which != DIGESTS)
		return;
	report_count(r, "update_bytes", c->update_bytes + c->resync_bytes);
	report_count(r, "summary_memory", c->peer_memory + c->own_memory);
}

/* A row for each placement, and one for how often the best is to publish. */
static void command_advise_add_nodes(struct report *r, const struct advice *a)
{
	for (unsigned i = 0; i <= PLACEMENTS; i++) {
		bool best = i == PLACEMENTS;
		const struct sim_counters *c =
			best ? &a->nodes.best.sum :
			       &a->nodes.placements[i].sum;
		char name[64];

		snprintf(name, sizeof(name), "nodes: %s",
			 best ? "advised" : placement_names[i]);
		command_advise_add_counts(r, a, name, c);
		report_count(r, "update_bytes", c->update_bytes);
		report_real(r, "mean_latency",
			    results_ratio("mean_latency", c));
	}
}

static uint64_t command_advise_cache_bytes(const struct advice *a)
{
	uint64_t each = a->results[DIGESTS].capacity / a->s->peers;

	return each < LEAST_CACHE ? LEAST_CACHE : each;
}

static void command_advise_write_digest(const struct advice *a, FILE *to)
{
	const struct scd_tuning *t = &a->tuning;

	fprintf(to, "expected_objects = \"%" PRIu64 "\"\n", a->objects);
	fprintf(to, "bits_per_object = \"%.0f\"\n",
		command_advise_bits_per_object(a));
	fprintf(to, "hash_functions = \"%u\"\n", t->nhash);
	if (a->has_nodes) {
		fprintf(to, "placement = \"%s\"\n",
			placement_names[a->nodes.placement]);
		if (a->nodes.share > 0)
			fprintf(to, "publish_share = \"%.6f\"\n",
				a->nodes.share);
		return;
	}
	/* the daemon counts a replacement as two changes */
	if (t->share > 0)
		fprintf(to, "publish_share = \"%.6f\"\n",
			fmin(1, t->share * 2));
	if (t->update_seconds > .5)
		fprintf(to, "publish_max = \"%.0fs\"\n",
			fmin(86400, ceil(t->update_seconds)));
}

/* digestd.conf(5) for the first node; the others' differ in names only. */
static void command_advise_write_configuration(const struct advice *a, FILE *to)
{
	fprintf(to,
		"# For the first of %" PRIu64 " nodes, by what %s asked for.\n"
		"# Names, addresses, origin and key are yours to fill in.\n"
		"node = \"cache1\"\n"
		"listen_data = \":8080\"\n"
		"listen_peer = \":8081\"\n"
		"listen_admin = \"127.0.0.1:8082\"\n"
		"# the same on all nodes, and nobody else's to read:\n"
		"# (umask 077; openssl rand -hex 16 >/etc/digestd.key)\n"
		"cluster_key_file = \"/etc/digestd.key\"\n",
		a->s->peers, "the log");
	for (uint64_t i = 2; i <= a->s->peers; i++) /* RFC 2544's network */
		fprintf(to,
			"peer \"cache%" PRIu64 "\" {\n\turl = \"http://"
			"198.18.%" PRIu64 ".%" PRIu64 ":8081\"\n}\n",
			i, i / 256, i % 256);
	fprintf(to,
		"default_origin = \"http://198.51.100.10:80\"\n"
		"cache_size = \"%" PRIu64 "\"\n"
		"eviction = \"sieve\"\n",
		command_advise_cache_bytes(a));
	command_advise_write_digest(a, to);
}

static int command_advise_save_configuration(const struct advice *a,
					     const char *path)
{
	FILE *to = fopen(path, "w");
	bool bad = !to;

	if (to) {
		command_advise_write_configuration(a, to);
		bad = ferror(to);
		bad = fclose(to) || bad;
	}
	if (!bad)
		return TOOL_OK;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, path,
		strerror(errno));
	return TOOL_IO;
}

static int command_advise_report(const struct advice *a)
{
	struct report r;
	char peers[24];
	int code;

	report_init(&r, "advise", columns,
		    sizeof(columns) / sizeof(columns[0]));
	snprintf(peers, sizeof(peers), "%" PRIu64, a->s->peers);
	report_note(&r, "log", a->s->trace);
	report_note(&r, "nodes", peers);
	for (enum system i = 0; i < SYSTEMS; i++)
		command_advise_add_row(&r, a, i);
	if (a->has_nodes)
		command_advise_add_nodes(&r, a);
	code = output_report(&r, a->s);
	if (!code && a->s->configuration)
		return command_advise_save_configuration(a,
							 a->s->configuration);
	if (!code && !output_is_data(a->s)) {
		puts("\nThe configuration for digests:\n");
		command_advise_write_configuration(a, stdout);
	}
	return code;
}

/* Tries whole nodes with the digests that were chosen. */
static int command_advise_try_nodes(struct advice *a)
{
	char bits[32], hashes[32], expected[32];
	const struct advise_nodes_plan plan = {
		.s = a->s,
		.trace = &a->trace,
		.config = &a->rows[DIGESTS].config,
		.bits = bits,
		.hashes = hashes,
		.expected = expected,
		/* the daemon counts a replacement as two changes */
		.share = fmin(1, a->tuning.share * 2),
	};

	snprintf(bits, sizeof(bits), "%.0f", command_advise_bits_per_object(a));
	snprintf(hashes, sizeof(hashes), "%u", a->tuning.nhash);
	snprintf(expected, sizeof(expected), "%" PRIu64, a->objects);
	a->has_nodes = true;
	return advise_nodes(&plan, &a->nodes);
}

static int command_advise_advise(struct advice *a)
{
	int code;

	for (enum system i = ALONE; i < DIGESTS; i++)
		command_advise_prepare(a, i);
	code = command_advise_simulate_some(a, ALONE, FRONT);
	if (code)
		return code;
	command_advise_tune(a);
	code = command_advise_try_shares(a);
	if (!code && a->s->nodes == WHOLE_DAEMON)
		code = command_advise_try_nodes(a);
	return code ? code : command_advise_report(a);
}

static int command_advise_check(const struct settings *s, const char *help)
{
	const char *size = s->parameter[PARAMETER_SIZE], *why = NULL;
	struct sim_config c = { 0 };
	double value;

	if (!s->trace)
		return arguments_wrong("advise", "--log is needed", help);
	if (!s->peers)
		return arguments_wrong("advise", "--peers is needed", help);
	if (s->peers < 2 || s->peers > SIM_MAX_PROXIES)
		why = "--peers: is not 2 to 1024, which cachesim can simulate";
	else if (s->peers > WHOLE_MAX_NODES && s->nodes == WHOLE_DAEMON)
		why = "--peers: is not 2 to 256, as many whole nodes as there "
		      "can be";
	else if (size && (parameter_set(PARAMETER_SIZE, size, &c, &value) ||
			  (c.capacity &&
			   c.capacity > UINT64_MAX / SIM_MAX_PROXIES)))
		why = "--size: is not a size";
	if (!why)
		return TOOL_OK;
	fprintf(stderr, "%s: advise: %s\n", program_invocation_short_name, why);
	return TOOL_USAGE;
}

/*
 * A log from behind a proxy may name that proxy alone: then one node gets all,
 * and what peers save is nothing, whatever they would save.
 */
static void command_advise_warn_of_few_clients(const struct advice *a)
{
	if (!a->trace.nclients || a->trace.nclients >= a->s->peers)
		return;
	fprintf(stderr,
		"%s: advise: %s: clients in it: %" PRIu32 ", nodes: %" PRIu64
		": requests are divided by client, so some nodes get none; "
		"a log that names more clients tells more\n",
		program_invocation_short_name, a->s->trace, a->trace.nclients,
		a->s->peers);
}

int command_advise(int argc, char **argv)
{
	struct sim_config usual = { 0 }; /* whose defaults are for models */
	struct settings s = { 0 };
	struct advice *a;
	int code = settings_read(&s, command_advise_options, argc, argv);

	if (!code)
		code = command_advise_check(&s, command_advise_help);
	if (!code)
		code = whole_prepare(&s, &usual);
	if (code)
		return code;
	a = calloc(1, sizeof(*a));
	if (!a) {
		fprintf(stderr, "%s: out of memory\n",
			program_invocation_short_name);
		return TOOL_IO;
	}
	a->s = &s;
	code = workload_load(&a->trace, &s);
	if (!code) {
		command_advise_warn_of_few_clients(a);
		code = command_advise_advise(a);
		sim_trace_free(&a->trace);
	}
	free(a);
	return code;
}
