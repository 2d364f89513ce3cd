/*
 * A trace's fingerprint: that of each column is the seed for the next.
 */
#include "cachesim/sim/fingerprint.h"

#include <xxhash.h>

static uint64_t fingerprint_add(uint64_t sum, const void *column, uint64_t n,
				size_t size)
{
	if (!column)
		return XXH3_64bits_withSeed("", 0, sum);
	return XXH3_64bits_withSeed(column, (size_t)n * size, sum);
}

uint64_t sim_fingerprint(const struct sim_trace *t)
{
	const uint64_t counts[] = { t->nrequests, t->nchanges, t->nobjects,
				    t->nclients, t->npasses };
	uint64_t sum =
		fingerprint_add(0, counts, sizeof(counts) / sizeof(counts[0]),
				sizeof(counts[0]));

	sum = fingerprint_add(sum, t->object, t->nrequests,
			      sizeof(t->object[0]));
	sum = fingerprint_add(sum, t->time, t->nrequests, sizeof(t->time[0]));
	sum = fingerprint_add(sum, t->client, t->nrequests,
			      sizeof(t->client[0]));
	sum = fingerprint_add(sum, t->size, t->nobjects, sizeof(t->size[0]));
	sum = fingerprint_add(sum, t->hash, t->nobjects, sizeof(t->hash[0]));
	sum = fingerprint_add(sum, t->client_hash, t->nclients,
			      sizeof(t->client_hash[0]));
	sum = fingerprint_add(sum, t->address, t->nclients,
			      sizeof(t->address[0]));
	sum = fingerprint_add(sum, t->change, t->nchanges,
			      sizeof(t->change[0]));
	sum = fingerprint_add(sum, t->change_size, t->nchanges,
			      sizeof(t->change_size[0]));
	sum = fingerprint_add(sum, t->pass, t->npasses, sizeof(t->pass[0]));
	sum = fingerprint_add(sum, t->pass_size, t->npasses,
			      sizeof(t->pass_size[0]));
	return fingerprint_add(sum, t->pass_client, t->npasses,
			       sizeof(t->pass_client[0]));
}
