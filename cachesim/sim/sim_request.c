/*
 * One request's way: its proxy's cache, peers, the origin; and what it leaves
 * behind in the caches.
 */
#include "cachesim/sim/cluster_state.h"
#include "cachesim/sim/spread.h"
#include "digestd/mesh/route.h"

/* Whether it makes a difference at which peer a remote hit is. */
static bool sim_request_uses_peer(const struct sim_cluster *s)
{
	return s->config.peer_use || s->config.placement >= PLACEMENT_SINGLE;
}

/* The weight of a proxy among those that may be asked for an object. */
static uint64_t sim_request_key(const struct sim_cluster *s, unsigned asker,
				uint32_t object)
{
	uint64_t key = s->trace->hash[object];

	if (placement_has_tiers(s->config.placement))
		key = route_spread(key, s->name_hash[asker]);
	return key;
}

/* The one with the most weight of a set that has several. */
PROXY_SET_INLINE unsigned sim_request_heaviest(const struct sim_cluster *s,
					       uint64_t key,
					       const struct proxy_set *set,
					       unsigned n)
{
	uint64_t most = 0;
	unsigned best = 0;
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		for (uint64_t m = set->word[i]; m; m &= m - 1) {
			unsigned p = i * PROTOCOL_WORD +
				     (unsigned)__builtin_ctzll(m);
			uint64_t weight = route_weight(key, s->name_hash[p]);

			if (!any || weight > most) {
				most = weight;
				best = p;
				any = true;
			}
		}
	}
	return best;
}

/*
 * The proxy of a set, which is not empty, that is asked first for an object:
 * of equally near ones a node takes that with the highest weight. Most sets
 * have one member, which needs none: that only saves time.
 */
PROXY_SET_INLINE unsigned
sim_request_first_peer(const struct sim_cluster *s, unsigned asker,
		       const struct proxy_set *set, uint32_t object, unsigned n)
{
	if (n == 1 && !(set->word[0] & (set->word[0] - 1)))
		return (unsigned)__builtin_ctzll(set->word[0]);
	return sim_request_heaviest(s, sim_request_key(s, asker, object), set,
				    n);
}

/* Proxies in a field that may not be kept: then none. */
PROXY_SET_INLINE struct proxy_set sim_request_field(const struct sim_cluster *s,
						    uint32_t object, unsigned f,
						    unsigned n)
{
	struct proxy_set out = { { 0 } };

	for (unsigned i = 0; i < n; i++)
		out.word[i] = f == SIM_NO_FIELD
				      ? 0
				      : masks_get(&s->objects, object, f, i);
	return out;
}

/* Whether there is a proxy in a field, other than one. There may be more of
 * them than a set has room for. */
static bool sim_request_any_but(const struct sim_cluster *s, uint32_t object,
				unsigned f, unsigned other)
{
	uint64_t any = 0;

	if (f == SIM_NO_FIELD)
		return false;
	for (unsigned i = 0; i < s->objects.nwords; i++) {
		uint64_t word = masks_get(&s->objects, object, f, i);

		if (i == other / PROTOCOL_WORD)
			word &= ~(UINT64_C(1) << other % PROTOCOL_WORD);
		any |= word;
	}
	return any != 0;
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

	return !sim_request_any_but(s, object, s->field.peer_held, p->number);
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

/* Tiers hear of what they do not have: is it worth a place? */
static bool sim_request_is_worthy(struct sim_cluster *s, struct sim_proxy *p,
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
	c.asked_at_peers = sim_request_any_but(s, object, s->field.peer_seen,
					       PROTOCOL_MAX_PROXIES);
	c.asked = sim_request_was_asked(s, p, object);
	c.worthy = sim_request_is_worthy(s, p, object, remote);
	if (placement_keeps(s->config.placement, &c))
		sim_request_store(s, p, object, remote && c.worthy);
	else if (!remote)
		p->count.refused++;
}

/* Peers that have an object; and who asks them. */
struct holders {
	struct proxy_set any, fresh, stale;
	unsigned asker;
};

/* What asking peers came to. */
struct asked {
	bool hit;
	unsigned peer; /* that had it */
	unsigned tries;
	bool stale; /* one had an old version */
};

/* Asks for the object in turn, until one has it. */
PROXY_SET_INLINE struct asked
sim_request_ask_in_turn(const struct sim_cluster *s, uint32_t object,
			struct proxy_set peers, const struct holders *h,
			unsigned n)
{
	struct asked a = { 0 };

	while (!proxy_set_is_empty(&peers, n) &&
	       (!s->config.tries || a.tries < s->config.tries)) {
		a.peer = sim_request_first_peer(s, h->asker, &peers, object, n);
		a.tries++;
		if (proxy_set_has(&h->fresh, a.peer)) {
			a.hit = true;
			break;
		}
		a.stale |= proxy_set_has(&h->stale, a.peer);
		proxy_set_remove(&peers, a.peer);
	}
	return a;
}

/*
 * Asks peers, which are a set of candidates. Their order makes no difference
 * when all have the object and none is used by giving it, or when none has it
 * and all are asked: to know these cases only saves time.
 */
PROXY_SET_INLINE struct asked
sim_request_ask(const struct sim_cluster *s, uint32_t object,
		const struct proxy_set *peers, const struct holders *h,
		unsigned n)
{
	struct proxy_set others = proxy_set_minus(peers, &h->fresh, n);
	unsigned members;

	if (proxy_set_is_empty(peers, n))
		return (struct asked){ 0 };
	if (proxy_set_is_empty(&others, n) && !sim_request_uses_peer(s))
		return (struct asked){ .hit = true, .tries = 1 };
	members = proxy_set_count(peers, n);
	if (!proxy_set_meets(peers, &h->fresh, n) &&
	    (!s->config.tries || members <= s->config.tries))
		return (struct asked){ .tries = members,
				       .stale = proxy_set_meets(
					       peers, &h->stale, n) };
	return sim_request_ask_in_turn(s, object, *peers, h, n);
}

/* Bytes follow from these: sim_cluster_result(). */
PROXY_SET_INLINE void
sim_request_count_asking(const struct sim_cluster *s, struct sim_counters *c,
			 const struct proxy_set *candidates,
			 const struct asked *a, unsigned n)
{
	const struct protocol *protocol = s->protocol->protocol;
	unsigned failed = a->tries - a->hit;
	unsigned queries = 0;

	if (protocol->by_query)
		queries = proxy_set_count(candidates, n);
	c->queries += queries;
	c->fetches += failed;
	c->latency_us += (uint64_t)s->config.latency.peer *
			 (a->tries + (queries > 0));
}

/* Why it came from the origin; fresh: peers with the present version. */
PROXY_SET_INLINE void
sim_request_count_failure(struct sim_counters *c,
			  const struct proxy_set *candidates,
			  const struct proxy_set *fresh, bool false_hit,
			  unsigned n)
{
	struct proxy_set unknown = proxy_set_minus(fresh, candidates, n);

	if (false_hit)
		c->false_hits++;
	if (!proxy_set_is_empty(&unknown, n))
		c->false_misses++;
	if (proxy_set_meets(fresh, candidates, n))
		c->untried++;
}

/* What a summary said, and what of it was wrong. */
PROXY_SET_INLINE void
sim_request_count_candidates(struct sim_counters *c,
			     const struct proxy_set *candidates,
			     const struct proxy_set *held, unsigned n)
{
	struct proxy_set wrong = proxy_set_minus(candidates, held, n);

	c->candidates += proxy_set_count(candidates, n);
	c->false_candidates += proxy_set_count(&wrong, n);
}

/* All but one, who asks. */
PROXY_SET_INLINE struct holders
sim_request_holders_of(const struct sim_cluster *s, uint32_t object,
		       unsigned asker, unsigned n)
{
	struct holders h = {
		.any = sim_request_field(s, object, s->field.peer_held, n),
		.stale = sim_request_field(s, object, s->field.peer_stale, n),
		.asker = asker,
	};

	proxy_set_remove(&h.any, asker);
	h.stale = proxy_set_and(&h.stale, &h.any, n);
	h.fresh = proxy_set_minus(&h.any, &h.stale, n);
	return h;
}

PROXY_SET_INLINE struct proxy_set
sim_request_candidates(const struct sim_cluster *s, unsigned asker,
		       uint32_t object, unsigned n)
{
	struct protocol_state *protocol = s->protocol;
	unsigned view = protocol->config.nviews > 1 ? asker : 0;
	struct proxy_set out = { { 0 } };

	for (unsigned i = 0; i < n; i++)
		out.word[i] = protocol->protocol->candidates(protocol, view,
							     object, i);
	proxy_set_remove(&out, asker);
	return out;
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

/* Asks the peers, whose sets have n words. */
PROXY_SET_INLINE bool sim_request_ask_peers(struct sim_cluster *s,
					    const struct sim_proxy *p,
					    uint32_t object,
					    struct sim_counters *c, unsigned n)
{
	struct proxy_set candidates =
		sim_request_candidates(s, p->number, object, n);
	struct holders h = sim_request_holders_of(s, object, p->number, n);
	struct proxy_set peers = candidates;
	struct asked a;

	if (proxy_set_is_empty(&candidates, n) &&
	    proxy_set_is_empty(&h.fresh, n))
		return false;
	if (s->protocol->protocol->by_query)
		peers = proxy_set_and(&peers, &h.any, n);
	a = sim_request_ask(s, object, &peers, &h, n);
	sim_request_count_asking(s, c, &candidates, &a, n);
	if (s->way == PROTOCOL_SUMMARY)
		sim_request_count_candidates(c, &candidates, &h.any, n);
	if (a.hit) {
		sim_request_use_at_peer(s, object, a.peer);
		return true;
	}
	c->remote_stale += a.stale;
	sim_request_count_failure(c, &candidates, &h.fresh,
				  !proxy_set_is_empty(&candidates, n) &&
					  !a.stale &&
					  s->way == PROTOCOL_SUMMARY,
				  n);
	return false;
}

static bool sim_request_get_from_peers(struct sim_cluster *s,
				       const struct sim_proxy *p,
				       uint32_t object, struct sim_counters *c)
{
	unsigned n = s->objects.nwords;

	/* with a constant, nothing is left of the loops */
	return n == 1 ? sim_request_ask_peers(s, p, object, c, 1)
		      : sim_request_ask_peers(s, p, object, c, n);
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
