/*
 * What a cluster is made of, for the files that build, replay and publish.
 */
#ifndef CACHESIM_SIM_CLUSTER_STATE_H
#define CACHESIM_SIM_CLUSTER_STATE_H

#include "cachesim/protocol/masks.h"
#include "cachesim/sim/sim_cache.h"
#include "cachesim/sim/cluster.h"
#include "cachesim/sim/node.h"
#include "cachesim/sim/numbers.h"
#include "cachesim/sim/proxy_set.h"
#include "cachesim/sim/transport.h"

enum { SIM_NO_FIELD = 0xff, SIM_MILLION = 1000000 };

/* Fields of an object's row, bits of proxies; SIM_NO_FIELD where not needed.
 * With epochs of one request, what peers see is what is so now. */
struct sim_fields {
	uint8_t held;  /* has it */
	uint8_t stale; /* has an old version of it */
	uint8_t seen;  /* was asked for it */
	uint8_t told;  /* has published that it has it */
	uint8_t peer_held, peer_stale, peer_seen; /* as the epoch began */
	unsigned count;
};

struct sim_proxy {
	struct sim_cluster *cluster;
	unsigned number;
	unsigned bit; /* in the fields of objects */
	/* a cache, or one with admission; neither, if only another proxy's is
	 * used */
	struct sim_cache *cache;
	struct sim_node *node;
	struct sim_counters count, before; /* before: when warm-up ended */
	uint64_t held;	   /* objects */
	uint64_t next_s;   /* when the next publication by time is due */
	uint64_t fresh;	   /* stored since the last publication; not beside
			      held, which changes alone, too: both would be
			      loaded at once, waiting for stores before */
	struct numbers changed; /* objects that came or went since the last
				   publication */
};

struct sim_cluster {
	struct sim_config config;
	const struct sim_trace *trace;
	uint64_t at;	      /* next request */
	uint64_t next_change; /* of the trace */
	uint64_t warm;	      /* the first request that is counted */
	uint64_t epoch_end;   /* request that the next epoch begins with */
	uint64_t now_s;
	uint64_t next_s; /* the earliest of the proxies' */
	uint64_t capacity;

	uint16_t *home;	      /* proxy, by client; null: round robin */
	const uint32_t *size; /* by object, now */
	uint32_t *own_size;   /* the same, where it changes */
	struct masks objects;
	struct sim_fields field;

	struct protocol_state *protocol;
	enum protocol_way way;
	void (*prefetch)(struct protocol_state *s, unsigned view,
			 uint32_t object); /* the protocol's; or null */
	bool hashes; /* are asked for by the protocol */
	struct proxy_set dirty; /* proxies that may have to publish */
	bool is_dirty;		/* there are any */
	bool publishes_always;	/* whatever changed, at once */
	struct numbers touched; /* object, proxy: to be seen by peers */
	/* object, peer, request of the epoch: remote hits */
	struct numbers used;
	struct numbers added, removed; /* of a publication being made */
	struct transport transport;
	int error; /* the first */
	/* with other processes; null: alone */
	struct sim_spread *spread;
	uint64_t own;  /* proxies of this process */
	uint64_t name_hash[SIM_MAX_PROXIES]; /* by which peers are ranked */
	bool deferred; /* peers are asked later */
	bool meets;    /* other processes before each epoch */
	struct admission *admission; /* that all share; or null */
	struct sim_proxy *proxy;
};

/* Whether a proxy is this process's. */
static inline bool sim_owns(const struct sim_cluster *s, unsigned proxy)
{
	return !s->spread || (s->own >> proxy & 1);
}

/* What an object takes of the capacity. */
static inline uint32_t sim_size(const struct sim_cluster *s, uint32_t object)
{
	return s->config.objects ? 1 : s->size[object];
}

/* A request at a proxy's cache; is it in? The size is that of now. */
static inline bool sim_proxy_get(struct sim_proxy *p, uint32_t object,
				 uint32_t size)
{
	return p->node ? sim_node_get(p->node, object, size)
		       : sim_cache_get(p->cache, object);
}

/* Puts an object in that is not in: 0, SCD_ELIMIT: not kept, SCD_ENOMEM. */
static inline int sim_proxy_put(struct sim_proxy *p, uint32_t object,
				uint32_t size)
{
	if (!p->node)
		return sim_cache_add(p->cache, object, size);
	return sim_node_put(p->node, object, size) == ADMISSION_NO ? SCD_ELIMIT
								   : 0;
}

/* The same of a hot copy; and whether what was missed is to be one. */
static inline int sim_proxy_put_copy(struct sim_proxy *p, uint32_t object,
				     uint32_t size)
{
	if (!p->node)
		return sim_cache_add_copy(p->cache, object, size);
	return sim_node_put_copy(p->node, object, size) == ADMISSION_NO
		       ? SCD_ELIMIT
		       : 0;
}

static inline bool sim_proxy_missed(struct sim_proxy *p, uint32_t object,
				    struct tiers_miss miss)
{
	return p->node ? sim_node_missed(p->node, object, miss)
		       : sim_cache_missed(p->cache, object, miss);
}

static inline void sim_proxy_drop(struct sim_proxy *p, uint32_t object)
{
	if (p->node)
		sim_node_drop(p->node, object);
	else
		sim_cache_drop(p->cache, object);
}

/* The proxy that a request goes to. */
static inline unsigned sim_home(const struct sim_cluster *s,
				uint64_t request)
{
	if (s->home)
		return s->home[s->trace->client[request]];
	return (unsigned)(request % s->config.nproxies);
}

/* The proxy in whose cache an object would be, for a request to a proxy. */
static inline struct sim_proxy *sim_serving(struct sim_cluster *s,
					    unsigned proxy, uint32_t object)
{
	switch (s->way) {
	case PROTOCOL_ALONE:
	case PROTOCOL_ASK_ALL:
	case PROTOCOL_SUMMARY:
		break;
	case PROTOCOL_OWNER:
		proxy = s->protocol->protocol->owner(s->protocol, object);
		break;
	case PROTOCOL_ONE:
		proxy = 0;
		break;
	}
	return &s->proxy[proxy];
}

/* What happens before the request that an epoch begins with. */
void sim_epoch_begin(struct sim_cluster *s);

/* What comes before the next request, which an epoch begins with. */
void sim_next_epoch(struct sim_cluster *s);

/* The modifications up to and with the next request. */
void sim_apply_changes(struct sim_cluster *s);

/* From now on it counts. */
void sim_end_warmup(struct sim_cluster *s);

/* Replays one request. */
void sim_request(struct sim_cluster *s, unsigned proxy, uint32_t object);

/* Whether a proxy stored enough to publish. */
static inline bool sim_reached_share(const struct sim_cluster *s,
				     const struct sim_proxy *p)
{
	uint64_t share = s->config.publish.share_ppm;

	return share && p->fresh && p->fresh * SIM_MILLION >= share * p->held;
}

/* An object of a proxy came or went, or has another version now; what is held
 * and fresh has been counted. */
static inline void sim_touch(struct sim_cluster *s, struct sim_proxy *p,
			     uint32_t object)
{
	int err = 0;

	if (s->field.told != SIM_NO_FIELD) {
		err = numbers_push(&p->changed, object);
		if (s->publishes_always || sim_reached_share(s, p)) {
			proxy_set_add(&s->dirty, p->number);
			s->is_dirty = true;
		}
	}
	if (s->field.peer_held != s->field.held) {
		if (numbers_push(&s->touched, object) ||
		    numbers_push(&s->touched, p->number))
			err = SCD_ENOMEM;
	}
	if (err && !s->error)
		s->error = err;
}

/*
 * A proxy gets an object that it does not have, of that size: from peers, if
 * one has it, which is returned, or the origin. Counted in c.
 */
struct sim_wanted {
	uint32_t object, size;
};
bool sim_fetch(struct sim_cluster *s, struct sim_proxy *p, struct sim_wanted w,
	       struct sim_counters *c);

/* An object has a new version: all copies are old. Peers see it so. */
void sim_change(struct sim_cluster *s, uint32_t object, uint32_t size);
void sim_show_change(struct sim_cluster *s, uint32_t object);

/* Whether no other proxy shows that it has an object: the same. */
bool sim_is_alone(void *arg, uint32_t object);

/* An object left a proxy's cache (arg): as struct sim_cache_config wants. */
void sim_evicted(void *arg, uint32_t object);

#endif
