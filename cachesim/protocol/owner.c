/*
 * Protocols that leave no choice: every object has one place.
 *
 * carp: the proxy for which the mix of the object's hash and its own number is
 * highest. If a proxy is lost, only its objects move. An array of two bytes an
 * object has the answers, for which each object is hashed once with each proxy.
 * Source: Thaler, Ravishankar, "Using Name-Based Mappings to Increase Hit
 * Rates", 1998; Valloppillil, Ross, "Cache Array Routing Protocol v1.0".
 *
 * hash: the same proxy, to which something in front of all of them sends the
 * request: no proxy forwards it, and a hit is a local one. Hash rings of load
 * balancers give each proxy its share less exactly.
 *
 * global: one cache of all proxies' capacity, which all of them use as if it
 * were their own: what no cooperation of theirs can surpass, but for luck.
 */
#include <stdlib.h>

#include "cachesim/protocol/rows.h"
#include "codec/error.h"
#include "codec/mix.h"

struct carp {
	struct protocol_state base;
	uint16_t *owner; /* by object */
};

static uint16_t owner_highest(uint64_t hash, const uint64_t *salt, unsigned n)
{
	uint64_t best = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t score = scd__mix64(hash ^ salt[i]);

		if (score > best) {
			best = score;
			at = i;
		}
	}
	return (uint16_t)at;
}

static int owner_init(struct protocol_state *s)
{
	struct carp *c = (struct carp *)s;
	uint64_t salt[PROTOCOL_MAX_PROXIES];

	c->owner = malloc((s->config.nobjects + (size_t)1) * sizeof(*c->owner));
	if (!c->owner)
		return SCD_ENOMEM;
	for (unsigned i = 0; i < s->config.nproxies; i++)
		salt[i] = scd__mix64(i + UINT64_C(1));
	for (uint32_t o = 0; o < s->config.nobjects; o++)
		c->owner[o] = owner_highest(s->config.hash[o], salt,
					    s->config.nproxies);
	return 0;
}

static void owner_release(struct protocol_state *s)
{
	free(((struct carp *)s)->owner);
}

static unsigned owner(const struct protocol_state *s, uint32_t object)
{
	return ((const struct carp *)s)->owner[object];
}

static uint64_t owner_nobody(struct protocol_state *s, unsigned view,
			     uint32_t object, unsigned word)
{
	(void)s, (void)view, (void)object, (void)word;
	return 0;
}

const struct protocol protocol_carp = {
	.name = "carp",
	.about = "consistent hashing: each object has one proxy",
	.way = PROTOCOL_OWNER,
	.size = sizeof(struct carp),
	.init = owner_init,
	.release = owner_release,
	.candidates = owner_nobody,
	.owner = owner,
};

const struct protocol protocol_hash = {
	.name = "hash",
	.about = "consistent hashing in front: requests go to the object's "
		 "proxy",
	.way = PROTOCOL_OWNER,
	.front = true,
	.size = sizeof(struct carp),
	.init = owner_init,
	.release = owner_release,
	.candidates = owner_nobody,
	.owner = owner,
};

const struct protocol protocol_global = {
	.name = "global",
	.about = "one cache for all proxies",
	.way = PROTOCOL_ONE,
	.size = sizeof(struct protocol_state),
	.candidates = owner_nobody,
};
