/*
 * Clusters: making one, replaying requests with what they will touch fetched
 * some requests ahead, and reading the counters.
 */
#include "cachesim/sim/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/protocol/rows.h"
#include "cachesim/sim/cluster_state.h"
#include "cachesim/sim/prefetch.h"
#include "cachesim/sim/spread.h"
#include "codec/error.h"
#include "codec/mix.h"
#include "digestd/mesh/peerset.h"

enum { MILLION = 1000000 };

static uint64_t cluster_infinite_bytes(const struct sim_trace *t)
{
	uint64_t sum = 0;

	if (t->totals.unique_bytes)
		return t->totals.unique_bytes;
	for (uint32_t i = 0; i < t->nobjects; i++)
		sum += t->size[i];
	return sum;
}

uint64_t sim_config_capacity(const struct sim_config *c,
			     const struct sim_trace *t)
{
	uint64_t all;

	if (c->capacity)
		return c->capacity;
	all = c->objects ? t->nobjects : cluster_infinite_bytes(t);
	return (uint64_t)((double)all * c->capacity_ppm / MILLION);
}

uint64_t sim_config_warm(const struct sim_config *c, const struct sim_trace *t)
{
	uint64_t warm = (uint64_t)((double)t->nrequests * c->warmup_ppm /
				   MILLION), i = 0;

	while (t->time && i < t->nrequests && t->time[i] < c->warmup_s)
		i++;
	return i > warm ? i : warm;
}

static double cluster_mean_size(const struct sim_cluster *s)
{
	if (s->config.objects || !s->trace->nobjects)
		return 1;
	return (double)cluster_infinite_bytes(s->trace) /
	       (double)s->trace->nobjects;
}

/* Objects of mean size that one proxy holds, at least 1. */
static uint64_t cluster_expected_objects(const struct sim_cluster *s)
{
	uint64_t n = s->trace->nobjects, each;

	each = (uint64_t)((double)(s->capacity / s->config.nproxies) /
			  cluster_mean_size(s));
	if (each > n)
		each = n;
	return each ? each : 1;
}

static uint64_t cluster_prefix_hash(const struct sim_address *a, unsigned bits)
{
	struct sim_address cut = { { 0 } };
	uint64_t half[2];

	memcpy(cut.byte, a->byte, bits / 8);
	if (bits % 8)
		cut.byte[bits / 8] =
			(uint8_t)(a->byte[bits / 8] & 0xff00u >> bits % 8);
	memcpy(half, cut.byte, sizeof(half));
	return scd__mix64(scd__mix64(half[0]) + half[1]);
}

static uint64_t cluster_number_for(const struct sim_config *c,
				   const struct sim_trace *t, uint32_t client)
{
	switch (c->partition) {
	case SIM_BY_CLIENT:
		return scd__mix64(t->client_hash[client]);
	case SIM_BY_PREFIX:
		return cluster_prefix_hash(&t->address[client], c->prefix_bits);
	case SIM_BY_COLUMN:
		return c->column[client];
	case SIM_BY_NUMBER:
	case SIM_ROUND_ROBIN:
	case SIM_PARTITIONS:
		break;
	}
	return client;
}

/* Is there what the partition goes by? */
static bool cluster_has_clients(const struct sim_config *c,
				const struct sim_trace *t)
{
	switch (c->partition) {
	case SIM_BY_CLIENT:
		return t->client && t->client_hash;
	case SIM_BY_NUMBER:
		return t->client;
	case SIM_BY_PREFIX:
		return t->client && t->address;
	case SIM_BY_COLUMN:
		return t->client && c->column;
	case SIM_ROUND_ROBIN:
	case SIM_PARTITIONS:
		break;
	}
	return false;
}

int sim_config_homes(const struct sim_config *c, const struct sim_trace *t,
		     uint16_t **home)
{
	uint32_t n = t->nclients;

	*home = NULL;
	if (!cluster_has_clients(c, t))
		return 0;
	*home = malloc((n + (size_t)1) * sizeof(**home));
	if (!*home)
		return SCD_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		(*home)[i] = (uint16_t)(cluster_number_for(c, t, i) %
					c->nproxies);
	return 0;
}

int sim_config_owners(const struct sim_config *c, const struct sim_trace *t,
		      uint16_t **owner)
{
	const struct protocol_config config = { .nproxies = c->nproxies,
						.nviews = 1,
						.nobjects = t->nobjects,
						.hash = t->hash };
	struct protocol_state *state;
	int err;

	*owner = NULL;
	if (!c->protocol || !c->protocol->front)
		return 0;
	err = protocol_new(&state, c->protocol, &config);
	if (err)
		return err;
	*owner = malloc((t->nobjects + (size_t)1) * sizeof(**owner));
	for (uint32_t i = 0; *owner && i < t->nobjects; i++)
		(*owner)[i] = (uint16_t)c->protocol->owner(state, i);
	protocol_free(&state);
	return *owner ? 0 : SCD_ENOMEM;
}

static uint8_t cluster_next_field(struct sim_fields *f, bool needed)
{
	return needed ? (uint8_t)f->count++ : SIM_NO_FIELD;
}

/* Whether an object can be in one place only, for which a bit is enough. */
static bool cluster_has_owners(const struct sim_cluster *s)
{
	return s->way == PROTOCOL_OWNER || s->way == PROTOCOL_ONE;
}

static int cluster_make_rows(struct sim_cluster *s)
{
	struct sim_fields *f = &s->field;
	bool stale = s->trace->nchanges > 0;
	bool seen = placement_remembers(s->config.placement);
	bool epochs = s->config.epoch > 1;

	if (s->spread)
		epochs = s->spread->way != SPREAD_APART;
	if (cluster_has_owners(s))
		epochs = false;
	f->held = cluster_next_field(f, true);
	f->stale = cluster_next_field(f, stale);
	f->seen = cluster_next_field(f, seen);
	f->told = cluster_next_field(f, s->way == PROTOCOL_SUMMARY);
	f->peer_held = epochs ? cluster_next_field(f, true) : f->held;
	f->peer_stale = epochs ? cluster_next_field(f, stale) : f->stale;
	f->peer_seen = epochs ? cluster_next_field(f, seen) : f->seen;
	return masks_init(&s->objects, s->trace->nobjects, f->count,
			  cluster_has_owners(s) ? 1 : s->config.nproxies);
}

static int cluster_make_node(struct sim_cluster *s, struct sim_proxy *p,
			     const struct sim_cache_config *c)
{
	struct sim_node_config node = {
		.capacity = c->capacity,
		.tiers = c->tiers,
		.eviction = c->policy,
		.admission = s->config.admission,
		.options = s->config.admission_options,
		.nobjects = c->nobjects,
		.hash = c->hash,
		.hashed = c->hashed,
		.gone = c->evicted,
		.alone = c->alone,
		.arg = c->arg,
	};
	int err = 0;

	node.options.mean_size = (uint64_t)cluster_mean_size(s);
	if (s->config.admission_shared && !s->admission) {
		struct admission_config all = node.options;

		all.capacity = s->capacity;
		all.eviction = c->policy;
		err = admission_new(&s->admission, s->config.admission, &all);
	}
	node.shared = s->admission;
	return err ? err : sim_node_new(&p->node, &node);
}

static int cluster_make_proxy(struct sim_cluster *s, unsigned number)
{
	const struct eviction_policy *lru = eviction_policy_find("lru");
	struct sim_proxy *p = &s->proxy[number];
	struct sim_cache_config c = {
		.policy = s->config.eviction ? s->config.eviction : lru,
		.capacity = s->capacity / s->config.nproxies,
		.nobjects = s->trace->nobjects,
		.hashed = true,
		.hash = s->trace->hash,
		.tiers = s->config.placement == PLACEMENT_AUTO,
		.evicted = sim_evicted,
		.alone = sim_is_alone,
		.arg = p,
		.rows = s->objects.at,
		.row = s->objects.row,
	};

	p->cluster = s;
	p->number = number;
	p->bit = cluster_has_owners(s) ? 0 : number;
	p->next_s = UINT64_MAX;
	if (s->config.publish.period_s)
		p->next_s = (uint64_t)s->config.publish.period_s *
			    (number + 1) / s->config.nproxies;
	if (p->next_s < s->next_s)
		s->next_s = p->next_s;
	if (s->way == PROTOCOL_ONE)
		c.capacity = s->capacity;
	if (s->way == PROTOCOL_ONE && number > 0)
		return 0;
	if (!sim_owns(s, number))
		return 0;
	if (s->config.admission)
		return cluster_make_node(s, p, &c);
	return sim_cache_new(&p->cache, &c);
}

static int cluster_copy_sizes(struct sim_cluster *s)
{
	size_t n = s->trace->nobjects;

	s->size = s->trace->size;
	if (!s->trace->nchanges)
		return 0;
	s->own_size = malloc((n + 1) * sizeof(*s->own_size));
	if (!s->own_size)
		return SCD_ENOMEM;
	memcpy(s->own_size, s->size, n * sizeof(*s->own_size));
	s->size = s->own_size;
	return 0;
}

/* Where it counts what happens to publications under way. */
static struct sim_counters *cluster_counters_of(struct sim_cluster *s,
						unsigned proxy)
{
	return s->deferred ? &s->spread->late[proxy] : &s->proxy[proxy].count;
}

static void cluster_lost(void *arg, unsigned publisher)
{
	cluster_counters_of(arg, publisher)->lost++;
}

static void cluster_resync(void *arg, unsigned receiver, uint64_t bytes)
{
	struct sim_cluster *s = arg;
	struct sim_counters *c = cluster_counters_of(s, receiver);

	c->resyncs++;
	c->resync_bytes += bytes + s->protocol->protocol->sizes.update;
}

static int cluster_make_protocol(struct sim_cluster *s)
{
	bool views = s->config.transport.loss_ppm &&
		     s->way == PROTOCOL_SUMMARY;
	struct protocol_config c = {
		.nproxies = s->config.nproxies,
		.nviews = views ? s->config.nproxies : 1,
		.nobjects = s->trace->nobjects,
		.hash = s->trace->hash,
		.server = s->config.server,
		.nservers = s->config.nservers,
		.digest = s->config.digest,
	};
	int err = protocol_new(&s->protocol, s->config.protocol, &c);

	if (err)
		return err;
	if (!s->protocol->near)
		s->prefetch = s->config.protocol->prefetch;
	s->hashes = s->config.protocol->prefetch;
	s->transport = (struct transport){
		.protocol = s->protocol,
		.loss_ppm = views ? s->config.transport.loss_ppm : 0,
		.seed = s->config.seed,
		.receivers = s->own,
		.lost = cluster_lost,
		.resync = cluster_resync,
		.arg = s,
	};
	return transport_init(&s->transport);
}

/* As cluster.h calls the proxies. */
static void cluster_name_proxies(struct sim_cluster *s)
{
	for (unsigned i = 0; i < s->config.nproxies; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i + 1);
		s->name_hash[i] = peerset_hash_name(name);
	}
}

/* All of it that can fail. */
static int cluster_make_parts(struct sim_cluster *s)
{
	int err;

	s->proxy = calloc(s->config.nproxies, sizeof(*s->proxy));
	if (!s->proxy)
		return SCD_ENOMEM;
	err = s->config.exchange ? sim_spread_new(s) : 0;
	if (!err)
		err = sim_config_homes(&s->config, s->trace, &s->home);
	if (!err)
		err = cluster_copy_sizes(s);
	if (!err)
		err = cluster_make_rows(s);
	for (unsigned i = 0; i < s->config.nproxies && !err; i++)
		err = cluster_make_proxy(s, i);
	return err ? err : cluster_make_protocol(s);
}

static int cluster_make(struct sim_cluster **out, const struct sim_config *c,
			const struct sim_trace *t)
{
	struct sim_cluster *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return SCD_ENOMEM;
	s->config = *c;
	s->trace = t;
	if (!c->protocol)
		s->config.protocol = &protocol_none;
	if (!c->epoch)
		s->config.epoch = 1;
	s->way = s->config.protocol->way;
	s->own = UINT64_MAX;
	s->next_s = UINT64_MAX;
	s->publishes_always = !c->publish.share_ppm && !c->publish.period_s;
	s->warm = sim_config_warm(c, t);
	s->capacity = sim_config_capacity(&s->config, s->trace);
	if (!s->config.digest.expected)
		s->config.digest.expected = cluster_expected_objects(s);
	cluster_name_proxies(s);
	return cluster_make_parts(s);
}

int sim_cluster_new(struct sim_cluster **out, const struct sim_config *c,
		    const struct sim_trace *t)
{
	struct sim_cluster *s;
	int err;

	if (sim_config_fault(c, t))
		return SCD_EINVAL;
	if (c->exchange && sim_config_spread(c) == SPREAD_NOT)
		return SCD_EINVAL;
	err = cluster_make(&s, c, t);
	if (c->exchange)
		err = sim_spread_agree(c->exchange, err);
	if (err)
		sim_cluster_free(&s);
	else
		*out = s;
	return err;
}

void sim_cluster_free(struct sim_cluster **s)
{
	if (!*s)
		return;
	transport_free(&(*s)->transport);
	protocol_free(&(*s)->protocol);
	for (unsigned i = 0; (*s)->proxy && i < (*s)->config.nproxies; i++) {
		sim_cache_free(&(*s)->proxy[i].cache);
		sim_node_free(&(*s)->proxy[i].node);
		numbers_free(&(*s)->proxy[i].changed);
	}
	admission_free(&(*s)->admission);
	numbers_free(&(*s)->touched);
	numbers_free(&(*s)->used);
	numbers_free(&(*s)->added);
	numbers_free(&(*s)->removed);
	sim_spread_free(*s);
	masks_free(&(*s)->objects);
	free((*s)->own_size);
	free((*s)->home);
	free((*s)->proxy);
	free(*s);
	*s = NULL;
}

static void cluster_prefetch(struct sim_cluster *s, uint64_t at)
{
	uint64_t place = at + SIM_PLACE_AHEAD;
	uint32_t object;
	unsigned proxy;

	if (at + SIM_ROW_AHEAD >= s->trace->nrequests)
		return;
	sim_prefetch_row(s, at + SIM_ROW_AHEAD);
	sim_prefetch_place(s, place);
	if (s->prefetch) {
		object = s->trace->object[place];
		proxy = sim_home(s, place);
		if (!masks_has(&s->objects, object, s->field.held, proxy))
			sim_prefetch_summaries(s, proxy, object);
	}
	sim_prefetch_slot(s, at + SIM_SLOT_AHEAD);
}

static void cluster_add_admission(const struct admission *a,
				  struct sim_counters *c)
{
	struct admission_stats stats;

	admission_stats(a, &stats);
	c->admission_memory = stats.bytes;
	c->admission_keys = stats.tracked;
	c->admission_fresh = stats.fresh;
	c->admission_false_seen = stats.false_seen;
}

static void cluster_add_node(const struct sim_node *node,
			     struct sim_counters *c)
{
	struct sim_node_stats stats;

	sim_node_stats(node, &stats);
	c->writes = stats.writes;
	c->write_bytes = stats.write_bytes;
	c->held = stats.objects;
	c->held_bytes = stats.bytes;
}

/* What a cache counts itself. */
static void cluster_add_stores(const struct sim_proxy *p,
			       struct sim_counters *c)
{
	struct sim_cache_stats stats;

	if (p->node) {
		cluster_add_node(p->node, c);
		return;
	}
	if (!p->cache)
		return;
	sim_cache_stats(p->cache, &stats);
	c->writes = stats.puts;
	c->write_bytes = stats.put_bytes;
	c->evicted = stats.evicted;
	c->evicted_bytes = stats.evicted_bytes;
	c->held = stats.objects;
	c->held_bytes = stats.bytes;
}

void sim_end_warmup(struct sim_cluster *s)
{
	for (unsigned i = 0; i < s->config.nproxies; i++) {
		s->proxy[i].before = s->proxy[i].count;
		cluster_add_stores(&s->proxy[i], &s->proxy[i].before);
	}
}

void sim_apply_changes(struct sim_cluster *s)
{
	const struct sim_trace *t = s->trace;

	while (s->next_change < t->nchanges &&
	       t->change[s->next_change] <= s->at) {
		uint64_t i = s->next_change++;

		sim_change(s, t->object[t->change[i]], t->change_size[i]);
	}
}

/* Most epochs of one request have nothing to begin with. */
static inline void cluster_next_epoch(struct sim_cluster *s)
{
	const uint32_t *time = s->trace->time;

	s->epoch_end = s->at + s->config.epoch;
	if (time && time[s->at] > s->now_s)
		s->now_s = time[s->at];
	if (s->is_dirty || s->touched.n || s->used.n || s->transport.queue.n ||
	    s->now_s >= s->next_s || s->meets)
		sim_epoch_begin(s);
}

void sim_next_epoch(struct sim_cluster *s)
{
	cluster_next_epoch(s);
}

int sim_cluster_run(struct sim_cluster *s, uint64_t n)
{
	const struct sim_trace *t = s->trace;
	uint64_t end = t->nrequests - s->at < n ? t->nrequests : s->at + n;

	if (s->spread)
		return sim_spread_run(s, n);
	for (; s->at < end && !s->error; s->at++) {
		cluster_prefetch(s, s->at);
		if (s->at == s->epoch_end)
			cluster_next_epoch(s);
		if (s->at == s->warm)
			sim_end_warmup(s);
		if (s->next_change < t->nchanges)
			sim_apply_changes(s);
		sim_request(s, sim_home(s, s->at), t->object[s->at]);
	}
	return s->error;
}

/* The proxies in a byte of an object's row have copies that another one has. */
static void cluster_count_copies(const struct sim_cluster *s, uint32_t object,
				 unsigned first, unsigned bits,
				 struct sim_counters *out)
{
	for (; bits; bits &= bits - 1) {
		struct sim_counters *c =
			&out[first + (unsigned)__builtin_ctz(bits)];

		c->duplicates++;
		c->duplicate_bytes += s->config.objects ? 1 : s->size[object];
	}
}

/* Copies in the end that a proxy of a lower number has, too. */
static void cluster_count_duplicates(const struct sim_cluster *s,
				     struct sim_counters *out)
{
	for (uint32_t o = 0; o < s->trace->nobjects; o++) {
		const uint8_t *row =
			masks_place(&s->objects, o, s->field.held);
		bool held = false;

		for (unsigned i = 0; i < s->objects.stride; i++) {
			unsigned bits = row[i];

			if (held)
				cluster_count_copies(s, o, i * 8, bits, out);
			else
				cluster_count_copies(s, o, i * 8,
						     bits & (bits - 1), out);
			held |= bits != 0;
		}
	}
}

/* The uncacheable requests, which no cache has any part in. */
static void cluster_count_passes(const struct sim_cluster *s,
				 struct sim_counters *out)
{
	const struct sim_trace *t = s->trace;
	uint64_t i = sim_trace_first_pass(t, s->warm);

	for (; i < t->npasses && t->pass[i] <= s->at; i++) {
		bool known = s->home && t->pass_client;
		unsigned proxy = known ? s->home[t->pass_client[i]]
				       : (unsigned)(i % s->config.nproxies);
		struct sim_counters *c = &out[proxy];

		c->requests++;
		c->origin++;
		c->uncacheable++;
		c->bytes += t->pass_size[i];
		c->origin_bytes += t->pass_size[i];
		c->uncacheable_bytes += t->pass_size[i];
	}
}

/* What follows from other counters, and is not counted with each request. */
static void cluster_derive(const struct sim_cluster *s, struct sim_counters *c)
{
	const struct protocol_sizes *sizes = &s->protocol->protocol->sizes;

	c->replies = c->queries;
	c->query_bytes = c->queries * sizes->query;
	c->reply_bytes = c->replies * sizes->reply;
	c->fetch_bytes = c->fetches * sizes->fetch;
	c->latency_us += c->requests * s->config.latency.local +
			 c->origin * s->config.latency.origin;
}

/* What a proxy has counted since the warm-up. */
static void cluster_count_proxy(const struct sim_cluster *s, unsigned i,
				struct sim_counters *c)
{
	const struct protocol *protocol = s->protocol->protocol;

	*c = s->proxy[i].count;
	cluster_add_stores(&s->proxy[i], c);
	sim_counters_since(c, &s->proxy[i].before);
	if (s->proxy[i].node && (!i || !s->admission))
		cluster_add_admission(sim_node_admission(s->proxy[i].node), c);
	if (protocol->memory && sim_owns(s, i))
		protocol->memory(s->protocol, i, &c->peer_memory,
				 &c->own_memory);
}

/* With what other processes have counted. */
static int cluster_count_all(struct sim_cluster *s, struct sim_counters *all)
{
	for (unsigned i = 0; i < s->config.nproxies; i++)
		cluster_count_proxy(s, i, &all[i]);
	if (s->spread) {
		int err = sim_spread_result(s, all);

		if (err)
			return err;
	} else if (!cluster_has_owners(s)) {
		cluster_count_duplicates(s, all);
	}
	cluster_count_passes(s, all);
	return 0;
}

int sim_cluster_result(struct sim_cluster *s, struct sim_result *out)
{
	unsigned n = s->config.nproxies;
	struct sim_counters *all = calloc(n, sizeof(*all));
	int err = all ? 0 : SCD_ENOMEM;

	memset(out, 0, sizeof(*out));
	out->nproxies = n;
	out->capacity = s->capacity;
	out->expected = s->config.digest.expected;
	if (s->spread)
		err = sim_spread_agree(s->spread->exchange, err);
	if (!err)
		err = cluster_count_all(s, all);
	for (unsigned i = 0; i < n && !err; i++) {
		cluster_derive(s, &all[i]);
		sim_counters_add(&out->sum, &all[i]);
		if (i < SIM_MAX_ROWS)
			out->proxy[i] = all[i];
	}
	free(all);
	return err;
}

int sim_run(const struct sim_config *c, const struct sim_trace *t,
	    struct sim_result *out)
{
	struct sim_cluster *s;
	int err = sim_cluster_new(&s, c, t);

	if (err)
		return err;
	err = sim_cluster_run(s, t->nrequests);
	if (!err)
		err = sim_cluster_result(s, out);
	sim_cluster_free(&s);
	return err;
}
