/*
 * One request's way: its proxy's cache, peers, the origin; and what it leaves
 * behind in the caches.
 */
#include "cachesim/sim/cluster_state.h"
#include "cachesim/sim/spread.h"
#include "digestd/mesh/route.h"

static uint64_t sim_request_bit(unsigned proxy)
{
	return UINT64_C(1) << proxy;
}

/* Whether it makes a difference at which peer a remote hit is. */
static bool sim_request_uses_peer(const struct sim_cluster *s)
{
	return s->config.peer_use || s->config.placement >= PLACEMENT_SINGLE;
}

/*
 * The proxy of a set, which is not empty, that is asked first for an object:
 * of equally near ones a node takes that with the highest weight. Most sets
 * have one member, which needs none: that only saves time.
 */
static unsigned sim_request_first_peer(const struct sim_cluster *s,
				       unsigned asker, uint64_t set,
				       uint32_t object)
{
	unsigned best = (unsigned)__builtin_ctzll(set);
	uint64_t key, most;

	set &= set - 1;
	if (!set)
		return best;
	key = s->trace->hash[object];
	if (placement_has_tiers(s->config.placement))
		key = route_spread(key, s->name_hash[asker]);
	most = route_weight(key, s->name_hash[best]);
	for (; set; set &= set - 1) {
		unsigned p = (unsigned)__builtin_ctzll(set);
		uint64_t weight = route_weight(key, s->name_hash[p]);

		if (weight > most) {
			most = weight;
			best = p;
		}
	}
	return best;
}

/* Bits of proxies in a field that may not be kept: then none. */
static uint64_t sim_request_field(const struct sim_cluster *s, uint32_t object,
				  unsigned f)
{
	return f == SIM_NO_FIELD ? 0 : masks_get(&s->objects, object, f);
}

static bool sim_request_is_stale(const struct sim_cluster *s, uint32_t object,
				 unsigned p)
{
	return s->field.stale != SIM_NO_FIELD &&
	       masks_has(&s->objects, object, s->field.stale, p);
}

/* The object is not in a proxy's cache any more. */
static void sim_request_forget(struct sim_proxy *p, uint32_t object)
{
	struct sim_cluster *s = p->cluster;

	masks_clear(&s->objects, object, s->field.held, p->bit);
	if (s->field.stale != SIM_NO_FIELD)
		masks_clear(&s->objects, object, s->field.stale, p->bit);
	p->held--;
	sim_touch(s, p, object);
}

void sim_evicted(void *arg, uint32_t object)
{
	struct sim_proxy *p = arg;

	if (p->node) { /* a cache by itself counts them */
		p->count.evicted++;
		p->count.evicted_bytes += sim_size(p->cluster, object);
	}
	sim_request_forget(p, object);
}

bool sim_is_alone(void *arg, uint32_t object)
{
	const struct sim_proxy *p = arg;
	const struct sim_cluster *s = p->cluster;

	return !(sim_request_field(s, object, s->field.peer_held) &
		 ~sim_request_bit(p->number));
}

static void sim_request_store(struct sim_cluster *s, struct sim_proxy *p,
			      uint32_t object, bool copy)
{
	uint32_t size = sim_size(s, object);
	int err = SCD_ELIMIT;

	if (!s->config.size_limit || s->size[object] <= s->config.size_limit)
		err = (copy ? sim_proxy_put_copy : sim_proxy_put)(p, object,
								  size);
	if (err == SCD_ELIMIT) {
		p->count.refused++;
		return;
	}
	if (err) {
		s->error = err;
		return;
	}
	p->held++;
	p->fresh++;
	masks_set(&s->objects, object, s->field.held, p->bit);
	sim_touch(s, p, object);
}

/* Whether a proxy had been asked for it; it has been, from now on. */
static bool sim_request_was_asked(struct sim_cluster *s, struct sim_proxy *p,
				  uint32_t object)
{
	if (s->field.seen == SIM_NO_FIELD)
		return false;
	if (masks_has(&s->objects, object, s->field.seen, p->number))
		return true;
	masks_set(&s->objects, object, s->field.seen, p->number);
	sim_touch(s, p, object);
	return false;
}

/* Tiers hear of what they do not have: is it hot enough for a copy? */
static bool sim_request_is_hot(struct sim_cluster *s, struct sim_proxy *p,
			       uint32_t object, bool remote)
{
	const struct tiers_miss miss = {
		.weight = sim_size(s, object),
		.remote = remote,
		.price = eviction_tiers_price(s->config.latency.peer / 1000,
					      s->config.latency.origin / 1000),
		.nodes = s->config.nproxies,
	};

	return placement_has_tiers(s->config.placement) &&
	       sim_proxy_missed(p, object, miss);
}

/* What came from a peer, or from the origin, is kept or not. */
static void sim_request_place(struct sim_cluster *s, struct sim_proxy *p,
			      uint32_t object, bool remote)
{
	struct placement_case c = { .remote = remote };

	if (s->config.placement == PLACEMENT_KEEP) {
		sim_request_store(s, p, object, false);
		return;
	}
	c.asked_at_peers =
		sim_request_field(s, object, s->field.peer_seen) != 0;
	c.asked = sim_request_was_asked(s, p, object);
	c.hot = sim_request_is_hot(s, p, object, remote);
	if (placement_keeps(s->config.placement, &c))
		sim_request_store(s, p, object, c.hot);
	else if (!remote)
		p->count.refused++;
}

/* Peers that have an object; and who asks them. */
struct holders {
	uint64_t any, fresh, stale;
	unsigned asker;
};

/* What asking peers came to. */
struct asked {
	bool hit;
	unsigned peer; /* that had it */
	unsigned tries;
	bool stale; /* one had an old version */
};

/* Most sets here are empty or of one, and counting takes a call. */
static unsigned sim_request_members(uint64_t set)
{
	if (!(set & (set - 1)))
		return set != 0;
	return (unsigned)__builtin_popcountll(set);
}

/* Asks for the object in turn, until one has it. */
static struct asked sim_request_ask_in_turn(const struct sim_cluster *s,
					    uint32_t object, uint64_t peers,
					    const struct holders *h)
{
	struct asked a = { 0 };

	while (peers && (!s->config.tries || a.tries < s->config.tries)) {
		a.peer = sim_request_first_peer(s, h->asker, peers, object);
		a.tries++;
		if (h->fresh & sim_request_bit(a.peer)) {
			a.hit = true;
			break;
		}
		a.stale |= (h->stale & sim_request_bit(a.peer)) != 0;
		peers &= ~sim_request_bit(a.peer);
	}
	return a;
}

/*
 * Asks peers, which are a set of candidates. Their order makes no difference
 * when all have the object and none is used by giving it, or when none has it
 * and all are asked: to know these cases only saves time.
 */
static struct asked sim_request_ask(const struct sim_cluster *s,
				    uint32_t object, uint64_t peers,
				    const struct holders *h)
{
	unsigned n;

	if (!peers)
		return (struct asked){ 0 };
	if (!(peers & ~h->fresh) && !sim_request_uses_peer(s))
		return (struct asked){ .hit = true, .tries = 1 };
	n = sim_request_members(peers);
	if (!(peers & h->fresh) && (!s->config.tries || n <= s->config.tries))
		return (struct asked){ .tries = n,
				       .stale = (peers & h->stale) != 0 };
	return sim_request_ask_in_turn(s, object, peers, h);
}

/* Bytes follow from these: sim_cluster_result(). */
static void sim_request_count_asking(const struct sim_cluster *s,
				     struct sim_counters *c,
				     uint64_t candidates, const struct asked *a)
{
	const struct protocol *protocol = s->protocol->protocol;
	unsigned failed = a->tries - a->hit;
	unsigned queries = 0;

	if (protocol->by_query)
		queries = sim_request_members(candidates);
	c->queries += queries;
	c->fetches += failed;
	c->latency_us += (uint64_t)s->config.latency.peer *
			 (a->tries + (queries > 0));
}

/* Why it came from the origin; fresh: peers with the present version. */
static void sim_request_count_failure(struct sim_counters *c,
				      uint64_t candidates, uint64_t fresh,
				      bool false_hit)
{
	if (false_hit)
		c->false_hits++;
	if (fresh & ~candidates)
		c->false_misses++;
	if (fresh & candidates)
		c->untried++;
}

/* What a summary said, and what of it was wrong. */
static void sim_request_count_candidates(struct sim_counters *c,
					 uint64_t candidates, uint64_t held)
{
	c->candidates += sim_request_members(candidates);
	c->false_candidates += sim_request_members(candidates & ~held);
}

static struct holders sim_request_holders_of(const struct sim_cluster *s,
					     uint32_t object, uint64_t among)
{
	uint64_t any = among & sim_request_field(s, object, s->field.peer_held);
	uint64_t stale =
		any & sim_request_field(s, object, s->field.peer_stale);

	return (struct holders){ any, any & ~stale, stale, 0 };
}

static void sim_request_use_at_peer(struct sim_cluster *s, uint32_t object,
				    unsigned peer)
{
	if (!sim_request_uses_peer(s))
		return;
	if (numbers_push(&s->used, object) || numbers_push(&s->used, peer) ||
	    numbers_push(&s->used, (uint32_t)(s->at + s->config.epoch -
					       s->epoch_end)))
		s->error = SCD_ENOMEM;
}

static bool sim_request_get_from_peers(struct sim_cluster *s,
				       const struct sim_proxy *p,
				       uint32_t object, struct sim_counters *c)
{
	struct protocol_state *protocol = s->protocol;
	unsigned view = protocol->config.nviews > 1 ? p->number : 0;
	uint64_t others = s->objects.all & ~sim_request_bit(p->number);
	uint64_t candidates = others & protocol->protocol->candidates(
					       protocol, view, object);
	struct holders h = sim_request_holders_of(s, object, others);
	uint64_t peers = candidates;
	struct asked a;

	if (!(candidates | h.fresh))
		return false;
	if (protocol->protocol->by_query)
		peers &= h.any;
	h.asker = p->number;
	a = sim_request_ask(s, object, peers, &h);
	sim_request_count_asking(s, c, candidates, &a);
	if (s->way == PROTOCOL_SUMMARY)
		sim_request_count_candidates(c, candidates, h.any);
	if (a.hit) {
		sim_request_use_at_peer(s, object, a.peer);
		return true;
	}
	c->remote_stale += a.stale;
	sim_request_count_failure(c, candidates, h.fresh,
				  candidates && !a.stale &&
					  s->way == PROTOCOL_SUMMARY);
	return false;
}

bool sim_fetch(struct sim_cluster *s, struct sim_proxy *p, struct sim_wanted w,
	       struct sim_counters *c)
{
	bool remote = s->way != PROTOCOL_ALONE &&
		      sim_request_get_from_peers(s, p, w.object, c);

	if (remote) {
		c->remote_hits++;
		c->remote_bytes += w.size;
	} else {
		c->origin++;
		c->origin_bytes += w.size;
	}
	return remote;
}

/* At the proxy where it belongs, whoever was asked. */
static void sim_request_serve_at(struct sim_cluster *s, struct sim_proxy *p,
				 struct sim_proxy *home, uint32_t object)
{
	struct sim_counters *c = &p->count;
	bool has = masks_has(&s->objects, object, s->field.held, home->bit);
	bool forward = home != p && s->way == PROTOCOL_OWNER;
	uint32_t size = s->size[object];

	if (forward) {
		c->forwards++;
		c->forward_bytes += size;
		c->latency_us += s->config.latency.peer;
	}
	if (has && sim_request_is_stale(s, object, home->bit)) {
		c->local_stale++;
		sim_proxy_drop(home, object);
		sim_request_forget(home, object);
		has = false;
	}
	if (has) {
		sim_proxy_get(home, object, sim_size(s, object));
		*(forward ? &c->remote_hits : &c->local_hits) += 1;
		*(forward ? &c->remote_bytes : &c->local_bytes) += size;
		return;
	}
	if (home->node)
		sim_node_get(home->node, object, sim_size(s, object));
	c->origin++;
	c->origin_bytes += size;
	sim_request_store(s, home, object, false);
}

/* At any proxy that has it, the own one first. */
static void sim_request_serve(struct sim_cluster *s, struct sim_proxy *p,
			      uint32_t object)
{
	struct sim_counters *c = &p->count;
	uint32_t size = s->size[object];
	bool remote = false;

	if (masks_has(&s->objects, object, s->field.held, p->number)) {
		if (!sim_request_is_stale(s, object, p->number)) {
			c->local_hits++;
			c->local_bytes += size;
			sim_proxy_get(p, object, sim_size(s, object));
			return;
		}
		c->local_stale++;
		sim_proxy_drop(p, object);
		sim_request_forget(p, object);
	}
	if (p->node) /* admission counts this request */
		sim_node_get(p->node, object, sim_size(s, object));
	if (s->deferred)
		sim_spread_miss(s, p, object);
	else
		remote = sim_fetch(s, p, (struct sim_wanted){ object, size },
				   c);
	sim_request_place(s, p, object, remote);
}

void sim_request(struct sim_cluster *s, unsigned proxy, uint32_t object)
{
	struct sim_proxy *p = &s->proxy[proxy];

	if (s->config.protocol->front)
		p = sim_serving(s, proxy, object);
	p->count.requests++;
	p->count.bytes += s->size[object];
	switch (s->way) {
	case PROTOCOL_ALONE:
	case PROTOCOL_ASK_ALL:
	case PROTOCOL_SUMMARY:
		sim_request_serve(s, p, object);
		return;
	case PROTOCOL_OWNER:
	case PROTOCOL_ONE:
		sim_request_serve_at(s, p, sim_serving(s, proxy, object),
				     object);
		return;
	}
}

void sim_change(struct sim_cluster *s, uint32_t object, uint32_t size)
{
	const struct sim_fields *f = &s->field;
	struct masks *m = &s->objects;

	/* cached copies keep the size that they have */
	s->own_size[object] = size;
	memcpy(masks_place(m, object, f->stale),
	       masks_place(m, object, f->held), m->stride);
	if (f->peer_held != f->held && !s->deferred)
		sim_show_change(s, object);
}

void sim_show_change(struct sim_cluster *s, uint32_t object)
{
	const struct sim_fields *f = &s->field;
	struct masks *m = &s->objects;

	memcpy(masks_place(m, object, f->peer_stale),
	       masks_place(m, object, f->peer_held), m->stride);
}
