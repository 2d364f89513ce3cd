/*
 * Two tiers over the slots of one cache: sole copies, which are held for the
 * whole cluster, under any policy; and hot copies of what other nodes have,
 * too, which are here so that nobody has to ask them. The owner says of an
 * object that comes in whether it is such a copy (eviction_config.copy).
 *
 * The hot tier may weigh a share of the capacity, TIERS_LEAST_PPM at least, and
 * more as long as there is room that nobody needs. Its copies wait in a queue
 * and count their uses, up to TIERS_USES. To make room, one of them goes as
 * long as there are too many: the oldest without uses; on the way each loses
 * one, and becomes the newest. One that is the last in the cluster (alone())
 * becomes a sole copy instead. Otherwise the policy of the sole copies chooses.
 *
 * What a peer has sent may become one if it was missed here TIERS_MISSES times
 * of late, as a sketch counts. If there is no room for it, it has to displace
 * the oldest: as long as that has uses it loses one, becomes the newest, and
 * there is no new copy. So a copy stays that is used more often than others are
 * missed in one turn of the queue, and a use takes no more than setting its
 * mark. Until the first eviction a copy displaces nothing: then it comes in
 * after TIERS_MISSES_ROOMY misses, however many copies there are.
 *
 * What an origin has sent becomes a sole copy. But one object that is a good
 * part of the cache makes many others go, at one node after the other: each
 * fetches it anew when it has gone from the last, where a hash in front would
 * spoil one node only. So what weighs more than 1 / TIERS_PARTS of a capacity
 * that has been filled is kept with a probability of that over its weight. It
 * has to be asked of the origin so many times as it has such parts, in the mean
 * and at any nodes, of which none has to hear of the others. A node that has no
 * peers keeps it. In clusters of more than TIERS_NODES_FEW, of which each node
 * has a smaller part of what all of them hold, such objects have more of the
 * bytes, and make fewer of all objects go: there the limit grows with the
 * number of nodes, to 1 / TIERS_PARTS_MANY.
 *
 * Whether a larger tier is worth it, two memories of what went last tell, of
 * TIERS_GHOSTS_PERCENT of the capacity each. A request that a peer answered
 * would have been a hit here with a larger hot tier, if its object is among the
 * copies that went or were not taken: that would have saved R, the time that
 * peers take. One that an origin answered would have been a hit with more room
 * for sole copies, if it is among those that went from here; as those are asked
 * for at all nodes, each that is seen here stands for as many as there are
 * nodes: that would have saved O - R, O being the time of origins, and
 * TIERS_ORIGIN_MS for the work that they are spared. So the former add
 * R / (O - R) (eviction_tiers_price()), and the latter take away 1 for each
 * node.
 *
 * Source: two tiers of that kind, Korupolu and Dahlin, "Coordinated Placement
 * and Replacement for Large-Scale Distributed Caches", 2002; two memories that
 * move a border, Megiddo and Modha, "ARC", 2003; large objects by chance,
 * Berger, Sitaraman and Harchol-Balter, "AdaptSize", 2017.
 *
 * Costs: beside those of the policy, 20 to 33 bytes for each object that is
 * remembered; from the first miss that a peer has answered or could have on, 4
 * to 8 bytes a slot, and from the first hot copy on 10 to 12. A node without
 * peers has neither.
 */
#ifndef DIGESTD_STORE_EVICTION_TIERS_H
#define DIGESTD_STORE_EVICTION_TIERS_H

#include "digestd/store/eviction.h"

enum {
	TIERS_USES = 3,
	TIERS_MISSES = 5,
	TIERS_MISSES_ROOMY = 2,
	TIERS_MILLION = 1000000,
	TIERS_LEAST_PPM = 80000,
	TIERS_MOST_PPM = 800000,
	TIERS_STEP_PPM = 100, /* of the price 1 */
	TIERS_GHOSTS_PERCENT = 2,
	TIERS_PARTS = 8,
	TIERS_PARTS_MANY = 4,
	TIERS_NODES_FEW = 16,
	TIERS_ORIGIN_MS = 30,
	TIERS_PRICE = 1024, /* stands for 1 */
	TIERS_PRICE_MAX = 16 * TIERS_PRICE,
};

/* Makes an instance of these tiers, that holds nothing, with this policy for
 * sole copies. It is used, and freed, as any eviction, but that hot copies are
 * not expected. 0 or SCD_ENOMEM. */
int eviction_tiers_new(struct eviction **out,
		       const struct eviction_policy *sole,
		       const struct eviction_config *config);

/* Whether the instance has tiers; what follows is for those only. */
bool eviction_has_tiers(const struct eviction *e);

/* What a local hit would save in place of one at a peer, in units of what that
 * saves in place of the origin, see above, times TIERS_PRICE; by what peers and
 * origins take to answer [ms]; 0: not known, and then it saves nothing. */
unsigned eviction_tiers_price(int64_t peer_ms, int64_t origin_ms);

/* A request that was no hit. */
struct tiers_miss {
	uint64_t hash, weight; /* of what came */
	bool remote;           /* a peer has sent it; else the origin */
	unsigned price;        /* remote: eviction_tiers_price() */
	unsigned nodes;        /* else: of the cluster */
};

/* One has been answered. Whether what came is to come in: as a hot copy, if a
 * peer has sent it, else as a sole one. */
bool eviction_tiers_missed(struct eviction *e, const struct tiers_miss *miss);

struct tiers_stats {
	uint64_t copies, weight; /* of the hot tier */
	uint64_t limit;          /* what it may weigh, that share: */
	uint32_t share_ppm;
};
void eviction_tiers_stats(const struct eviction *e, struct tiers_stats *out);

#endif
