/*
 * The counters as a table.
 */
#include <stddef.h>

#include "cachesim/sim/cluster.h"

/* clang-format off */
#define AT(name) offsetof(struct sim_counters, name)
#define SUM(name, about) { #name, about, AT(name), false }
#define END(name, about) { #name, about, AT(name), true }

const struct sim_counter_row sim_counter_rows[] = {
	SUM(requests, "requests of clients"),
	SUM(bytes, "bytes of what they asked for"),
	SUM(local_hits, "served from the proxy's own cache"),
	SUM(local_bytes, "bytes of these"),
	SUM(remote_hits, "served from a peer's cache"),
	SUM(remote_bytes, "bytes of these"),
	SUM(origin, "served by the origin"),
	SUM(origin_bytes, "bytes of these"),
	SUM(uncacheable, "of these, of method or status that is not stored"),
	SUM(uncacheable_bytes, "bytes of these"),
	SUM(collapsed, "served by another request's fetch, with --nodes daemon"),
	SUM(collapsed_bytes, "bytes of these"),
	SUM(local_stale, "misses of which the proxy had an old version"),
	SUM(remote_stale, "misses for which peers had old versions only"),
	SUM(false_hits, "misses for which peers were asked that had nothing"),
	SUM(false_misses, "misses that a peer had and its summary did not say"),
	SUM(untried, "misses that a peer had that was not asked any more"),
	SUM(candidates, "peers that summaries named"),
	SUM(false_candidates, "of these, had not even an old version"),
	SUM(forwards, "requests passed on to the object's owner"),
	SUM(forward_bytes, "bytes of these"),
	SUM(latency_us, "time that clients waited [us]"),
	SUM(queries, "queries to peers"),
	SUM(query_bytes, "bytes of these"),
	SUM(replies, "replies to queries"),
	SUM(reply_bytes, "bytes of these"),
	SUM(fetches, "requests to peers that got no object"),
	SUM(fetch_bytes, "bytes of these, both ways"),
	SUM(updates, "updates of summaries sent, to each receiver"),
	SUM(update_bytes, "bytes of these"),
	SUM(lost, "updates that did not arrive"),
	SUM(resyncs, "full digests fetched after a gap"),
	SUM(resync_bytes, "bytes of these"),
	SUM(published, "publications, for all receivers together"),
	SUM(changes, "entries of publications: objects, servers, bits"),
	SUM(full_raw, "bytes of full summaries, not coded"),
	SUM(delta_raw, "bytes of changes, not coded"),
	SUM(full_coded, "bytes of full digests, coded"),
	SUM(xor_coded, "bytes of XOR deltas, coded"),
	SUM(conditional_coded, "bytes of conditional deltas, coded"),
	SUM(writes, "objects stored"),
	SUM(write_bytes, "bytes of these"),
	SUM(evicted, "objects evicted"),
	SUM(evicted_bytes, "bytes of these"),
	SUM(refused, "objects not stored: too large, or not admitted"),
	END(held, "objects in the cache"),
	END(held_bytes, "bytes of these"),
	END(duplicates, "of these, in the cache of a proxy before it too"),
	END(duplicate_bytes, "bytes of these"),
	END(peer_memory, "memory for the peers' summaries [bytes]"),
	END(own_memory, "memory for its own summary [bytes]"),
	END(admission_memory, "memory of admission [bytes]"),
	END(admission_keys, "keys that this is for"),
	END(admission_fresh, "decisions on keys never used before, measured"),
	END(admission_false_seen, "of these, taken for seen"),
	{ NULL, NULL, 0, false },
};
/* clang-format on */

enum { COUNTERS = sizeof(struct sim_counters) / sizeof(uint64_t) };

_Static_assert(sizeof(sim_counter_rows) / sizeof(sim_counter_rows[0]) ==
		       COUNTERS + 1,
	       "every counter has its row");

static uint64_t *counters_field(struct sim_counters *c,
				const struct sim_counter_row *row)
{
	return (uint64_t *)(void *)((char *)c + row->at);
}

uint64_t sim_counter(const struct sim_counters *c,
		     const struct sim_counter_row *row)
{
	return *(const uint64_t *)(const void *)((const char *)c + row->at);
}

void sim_counters_add(struct sim_counters *sum, const struct sim_counters *c)
{
	for (const struct sim_counter_row *r = sim_counter_rows; r->name; r++)
		*counters_field(sum, r) += sim_counter(c, r);
}

void sim_counters_since(struct sim_counters *now,
			const struct sim_counters *then)
{
	for (const struct sim_counter_row *r = sim_counter_rows; r->name; r++) {
		if (!r->stands)
			*counters_field(now, r) -= sim_counter(then, r);
	}
}
