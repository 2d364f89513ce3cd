/*
 * How often clients ask: a token bucket for each, in a table of fixed size that
 * all threads share.
 *
 * A bucket is one time, at which it will be full again; a request moves that
 * on by the interval of the rate, and is refused if it lies too far ahead then.
 * A full bucket says no more than none: its slot is free, and so the table
 * forgets a client by itself, at most burst / rate seconds after it last asked.
 *
 * A client has the eight slots of its set, by a hash with a secret. If all of
 * them are of others whose buckets are not full, it takes that of the one that
 * would be full first, which begins anew then: with more than some 20,000
 * clients that ask at a time, one in a thousand may ask more often than the
 * limit says. Two clients share a bucket, and its limit, if 29 bits of their
 * hashes are the same.
 *
 * One slot is one word, changed by a single exchange: no locks. Costs: 130
 * instructions, where a hit has 15,300, and a cache line or two; 512 KiB, of
 * which the system gives what has been used.
 * Source of the one time: the generic cell rate algorithm (ITU-T I.371).
 */
#ifndef DIGESTD_NODE_CLIENT_RATES_H
#define DIGESTD_NODE_CLIENT_RATES_H

#include <stdint.h>

struct client_rates;

enum {
	CLIENT_RATES_SLOTS = 65536,
	CLIENT_RATE_MAX = 10000, /* intervals are whole microseconds */
	CLIENT_RATES_BURST_MAX = 1000000,
};

struct client_rate {
	uint32_t per_s; /* 1 to CLIENT_RATE_MAX */
	uint32_t burst; /* at once, 1 to CLIENT_RATES_BURST_MAX */
};

/* Who it is: of an IPv6 address what one subscriber has, see address_block. */
struct client_rates_key {
	uint64_t high, low;
};

/* A table of full buckets; the secret keeps clients from choosing their set.
 * Null: no memory. */
struct client_rates *client_rates_new(const uint64_t secret[2]);
void client_rates_free(struct client_rates **rates);

/*
 * Takes a token for a request at a time (> 0) [us]. Returns 0, or after how
 * long there is one [us]. Limits may differ from call to call.
 */
int64_t client_rates_take(struct client_rates *rates,
			  const struct client_rates_key *client,
			  const struct client_rate *limit, int64_t now_us);

#endif
