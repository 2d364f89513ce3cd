/*
 * How long the catalog is locked for a snapshot: copied in one go into memory
 * asked for under the lock, and slice by slice into memory that was touched
 * before, with a pause after each slice, as the publisher does it.
 *
 *     bench_snapshot [bits [objects [rounds]]]
 *
 * by default 2^25, 1e6 and 20. The longest hold of each round counts: printed
 * are the median and the maximum of those, which may be somebody else's doing.
 * Before each snapshot the processor's caches are filled with other things, and
 * the last few snapshots are kept, as a node keeps its generations.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/catalog.h"
#include "tests/bench/clock.h"
#include "tests/codec/random.h"

enum {
	SEED = 2026,
	NHASH = 4,
	MAX_ROUNDS = 1000,
	KEEP = 8,
	OTHER_BYTES = 64 << 20, /* more than caches hold */
};

static const struct timespec pause_time = { 0, 1000000 };

static void need(int error)
{
	if (!error)
		return;
	fprintf(stderr, "bench_snapshot: %s\n", scd_strerror(error));
	exit(1);
}

static void fill(struct catalog *c, uint64_t nkeys)
{
	uint64_t state = SEED;

	for (uint64_t i = 0; i < nkeys; i++) {
		uint64_t lo = random_next(&state);
		struct scd_key key = { lo, random_next(&state) };

		catalog_add(c, &key);
	}
}

static double hold_in_one_go(struct catalog *c, struct scd_bloom *out)
{
	struct catalog_snapshot snapshot;
	double begin_s = clock_now_s(), s;

	need(catalog_snapshot(c, 0, &snapshot));
	s = clock_now_s() - begin_s;
	*out = snapshot.bloom;
	return s;
}

static double hold_in_slices(struct catalog *c, struct scd_bloom *out)
{
	struct catalog_snapshot snapshot;
	struct catalog_stats now;
	struct scd_bloom copy;
	double longest_s = 0;
	bool last = false;

	catalog_stats(c, &now);
	need(scd_bloom_init(&copy, now.nbits, now.nhash));
	scd_bloom_clear(&copy);
	catalog_snapshot_begin(c, &copy);
	while (!last) {
		double begin_s = clock_now_s(), s;

		last = catalog_snapshot_slice(c, 0, &snapshot);
		s = clock_now_s() - begin_s;
		if (s > longest_s)
			longest_s = s;
		nanosleep(&pause_time, NULL);
	}
	*out = snapshot.bloom;
	return longest_s;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void run(struct catalog *c, unsigned rounds, const char *label,
		double (*hold)(struct catalog *c, struct scd_bloom *out))
{
	struct scd_bloom kept[KEEP] = { 0 };
	char *other = malloc(OTHER_BYTES);
	double s[MAX_ROUNDS];

	need(other ? SCD_OK : SCD_ENOMEM);
	for (unsigned i = 0; i < rounds; i++) {
		memset(other, (int)i, OTHER_BYTES);
		scd_bloom_free(&kept[i % KEEP]);
		s[i] = hold(c, &kept[i % KEEP]);
	}
	for (size_t i = 0; i < KEEP; i++)
		scd_bloom_free(&kept[i]);
	free(other);
	qsort(s, rounds, sizeof(s[0]), by_size);
	printf("%-12s %9.1f us %9.1f us\n", label, s[rounds / 2] * 1e6,
	       s[rounds - 1] * 1e6);
}

int main(int argc, char **argv)
{
	uint64_t nbits = argc > 1 ? strtoull(argv[1], NULL, 0) : 1 << 25;
	double nkeys = argc > 2 ? strtod(argv[2], NULL) : 1e6;
	unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 20;
	struct catalog *c;

	if (rounds < 1 || rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	need(catalog_new(&c, nbits, NHASH));
	fill(c, (uint64_t)nkeys);
	printf("%" PRIu64 " bits, longest hold of %u snapshots: "
	       "median, maximum\n", nbits, rounds);
	run(c, rounds, "in one go", hold_in_one_go);
	run(c, rounds, "in slices", hold_in_slices);
	catalog_free(&c);
	return 0;
}
