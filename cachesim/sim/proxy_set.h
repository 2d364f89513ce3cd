/*
 * Sets of proxies, a bit for each. All functions take the number of words that
 * are in use, and are inlined, so that a caller with a constant number, one for
 * up to 64 proxies, pays for no loop.
 */
#ifndef CACHESIM_SIM_PROXY_SET_H
#define CACHESIM_SIM_PROXY_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "cachesim/protocol/protocol.h"

struct proxy_set {
	uint64_t word[PROTOCOL_MAX_WORDS];
};

#define PROXY_SET_INLINE __attribute__((always_inline)) static inline

PROXY_SET_INLINE bool proxy_set_is_empty(const struct proxy_set *s, unsigned n)
{
	uint64_t any = s->word[0];

	for (unsigned i = 1; i < n; i++)
		any |= s->word[i];
	return !any;
}

/* Most sets are empty or of one, and counting takes a call. */
PROXY_SET_INLINE unsigned proxy_set_count(const struct proxy_set *s, unsigned n)
{
	unsigned members = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t word = s->word[i];

		if (!(word & (word - 1)))
			members += word != 0;
		else
			members += (unsigned)__builtin_popcountll(word);
	}
	return members;
}

/* Those of a that are in b. */
PROXY_SET_INLINE struct proxy_set
proxy_set_and(const struct proxy_set *a, const struct proxy_set *b, unsigned n)
{
	struct proxy_set out = { { 0 } };

	for (unsigned i = 0; i < n; i++)
		out.word[i] = a->word[i] & b->word[i];
	return out;
}

/* Those of a that are not in b. */
PROXY_SET_INLINE struct proxy_set
proxy_set_minus(const struct proxy_set *a, const struct proxy_set *b,
		unsigned n)
{
	struct proxy_set out = { { 0 } };

	for (unsigned i = 0; i < n; i++)
		out.word[i] = a->word[i] & ~b->word[i];
	return out;
}

PROXY_SET_INLINE bool proxy_set_meets(const struct proxy_set *a,
				      const struct proxy_set *b, unsigned n)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < n; i++)
		any |= a->word[i] & b->word[i];
	return any != 0;
}

PROXY_SET_INLINE bool proxy_set_has(const struct proxy_set *s, unsigned proxy)
{
	return s->word[proxy >> 6] >> (proxy & 63) & 1;
}

PROXY_SET_INLINE void proxy_set_add(struct proxy_set *s, unsigned proxy)
{
	s->word[proxy >> 6] |= UINT64_C(1) << (proxy & 63);
}

PROXY_SET_INLINE void proxy_set_remove(struct proxy_set *s, unsigned proxy)
{
	s->word[proxy >> 6] &= ~(UINT64_C(1) << (proxy & 63));
}

#endif
