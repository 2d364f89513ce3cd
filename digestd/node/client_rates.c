/*
 * Token buckets of clients.
 */
#include "digestd/node/client_rates.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum {
	CLIENT_RATES_WAYS = 8,
	CLIENT_RATES_SETS = CLIENT_RATES_SLOTS / CLIENT_RATES_WAYS,
	CLIENT_RATES_SET_BITS = 13,
	CLIENT_RATES_TAG_BITS = 16,
	CLIENT_RATES_SECOND_US = 1000000,
};

_Static_assert(1 << CLIENT_RATES_SET_BITS == CLIENT_RATES_SETS, "a set each");

/* The time at which a bucket is full [us; 48 bits are nine years], and of whose
 * it is the last bits of the hash. */
typedef _Atomic uint64_t client_rates_slot;

struct client_rates {
	uint64_t secret[2];
	client_rates_slot slots[CLIENT_RATES_SLOTS];
};

struct client_rates *client_rates_new(const uint64_t secret[2])
{
	struct client_rates *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->secret[0] = secret[0];
	t->secret[1] = secret[1];
	return t;
}

void client_rates_free(struct client_rates **rates)
{
	free(*rates);
	*rates = NULL;
}

/* Source: the finalizer of MurmurHash3, a bijection. */
static uint64_t client_rates_mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
	return x ^ x >> 33;
}

static uint64_t client_rates_hash(const struct client_rates *t,
				  const struct client_rates_key *client)
{
	return client_rates_mix(client_rates_mix(client->high ^ t->secret[0]) ^
				client->low ^ t->secret[1]);
}

static uint64_t client_rates_tag_of(uint64_t word)
{
	return word & ((1U << CLIENT_RATES_TAG_BITS) - 1);
}

static int64_t client_rates_full_us(uint64_t word)
{
	return (int64_t)(word >> CLIENT_RATES_TAG_BITS);
}

/* The slot of a tag, with what is in it; else that which is full first. */
static client_rates_slot *client_rates_find(client_rates_slot *set,
					    uint64_t tag, uint64_t *word)
{
	client_rates_slot *first = set;

	*word = UINT64_MAX;
	for (size_t i = 0; i < CLIENT_RATES_WAYS; i++) {
		uint64_t here = atomic_load_explicit(&set[i],
						     memory_order_relaxed);

		if (client_rates_tag_of(here) == tag) {
			*word = here;
			return &set[i];
		}
		if (here < *word) {
			*word = here;
			first = &set[i];
		}
	}
	return first;
}

/* How far ahead of now a bucket is full, which is never more than a refusal
 * needs: before a reload the limit may have been another. */
static int64_t client_rates_ahead(uint64_t word, uint64_t tag, int64_t now_us,
				  int64_t most_us)
{
	int64_t ahead_us = client_rates_full_us(word) - now_us;

	if (client_rates_tag_of(word) != tag || ahead_us < 0)
		return 0;
	return ahead_us < most_us ? ahead_us : most_us;
}

int64_t client_rates_take(struct client_rates *rates,
			  const struct client_rates_key *client,
			  const struct client_rate *limit, int64_t now_us)
{
	const int64_t each_us = (CLIENT_RATES_SECOND_US + limit->per_s / 2) /
				limit->per_s;
	const int64_t room_us = (limit->burst - 1) * each_us;
	const uint64_t hash = client_rates_hash(rates, client);
	const uint64_t tag = client_rates_tag_of(hash);
	client_rates_slot *set = rates->slots +
		CLIENT_RATES_WAYS * (hash >> (64 - CLIENT_RATES_SET_BITS));
	client_rates_slot *slot;
	uint64_t word, next;

	assert(limit->per_s && limit->per_s <= CLIENT_RATE_MAX && now_us > 0);
	assert(limit->burst && limit->burst <= CLIENT_RATES_BURST_MAX);
	do {
		int64_t ahead_us;

		slot = client_rates_find(set, tag, &word);
		ahead_us = client_rates_ahead(word, tag, now_us,
					      room_us + each_us);
		if (ahead_us > room_us)
			return ahead_us - room_us;
		next = (uint64_t)(now_us + ahead_us + each_us)
			       << CLIENT_RATES_TAG_BITS | tag;
	} while (!atomic_compare_exchange_weak_explicit(
		slot, &word, next, memory_order_relaxed,
		memory_order_relaxed));
	return 0;
}
