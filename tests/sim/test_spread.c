/*
 * A cluster that is spread over ranks, here threads, has the very result of
 * one process, whatever is simulated; and when one of them cannot go on, all
 * end.
 */
#include "tests/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/admission/admission_table.h"
#include "cachesim/sim/exchange.h"
#include "cachesim/sim/fingerprint.h"
#include "codec/error.h"
#include "digestd/store/eviction.h"
#include "tests/codec/alloc.h"
#include "tests/sim/sample.h"

enum { RANKS = 7, REQUESTS = 5000, BUFFER = 1 << 22 };

/* Where the ranks meet. */
struct place {
	pthread_barrier_t all;
	const void *given[RANKS];
	size_t start[RANKS + 1], len[RANKS];
	uint8_t bytes[BUFFER];
	unsigned nranks;
};

static struct place place;

struct rank {
	struct sim_exchange exchange;
	const struct sim_config *config;
	uint64_t block; /* requests of a call; nothing depends on it */
	struct sim_result result;
	unsigned meetings;
	int err;
	pthread_t thread;
};

static void fill(void)
{
	fill_sample(&sample);
	sample.trace.nrequests = REQUESTS;
}

static void collect(void)
{
	place.start[0] = 0;
	for (unsigned i = 0; i < place.nranks; i++) {
		place.start[i + 1] = place.start[i] + place.len[i];
		assert_true(place.start[i + 1] <= BUFFER);
		if (place.len[i])
			memcpy(place.bytes + place.start[i], place.given[i],
			       place.len[i]);
	}
}

static int gather(void *arg, const void *mine, size_t n,
		  struct sim_gathered *out)
{
	struct rank *r = arg;

	r->meetings++;
	/* until then others may still read what was there */
	pthread_barrier_wait(&place.all);
	place.given[r->exchange.rank] = mine;
	place.len[r->exchange.rank] = n;
	pthread_barrier_wait(&place.all);
	if (r->exchange.rank == 0)
		collect();
	pthread_barrier_wait(&place.all);
	*out = (struct sim_gathered){ place.bytes, place.start };
	return 0;
}

static void *rank_main(void *arg)
{
	struct rank *r = arg;
	struct sim_config c = *r->config;
	struct sim_cluster *s = NULL;

	c.exchange = &r->exchange;
	r->err = sim_cluster_new(&s, &c, &sample.trace);
	for (uint64_t i = 0; i < REQUESTS && !r->err; i += r->block)
		r->err = sim_cluster_run(s, r->block);
	if (!r->err)
		r->err = sim_cluster_result(s, &r->result);
	sim_cluster_free(&s);
	return NULL;
}

static struct rank ranks[RANKS];

/* Ranks that simulate a configuration together. */
static void spread(const struct sim_config *c, unsigned nranks, uint64_t block)
{
	place.nranks = nranks;
	assert_int_equal(pthread_barrier_init(&place.all, NULL, nranks), 0);
	for (unsigned i = 0; i < nranks; i++) {
		struct rank *r = &ranks[i];

		memset(r, 0, sizeof(*r));
		r->exchange = (struct sim_exchange){ i, nranks, gather, r };
		r->config = c;
		r->block = block;
		assert_int_equal(
			pthread_create(&r->thread, NULL, rank_main, r), 0);
	}
	for (unsigned i = 0; i < nranks; i++)
		pthread_join(ranks[i].thread, NULL);
	pthread_barrier_destroy(&place.all);
}

static void name_difference(const struct sim_result *got,
			    const struct sim_result *want, const char *label)
{
	for (unsigned p = 0; p < want->nproxies; p++) {
		for (const struct sim_counter_row *r = sim_counter_rows;
		     r->name; r++) {
			uint64_t a = sim_counter(&got->proxy[p], r);
			uint64_t b = sim_counter(&want->proxy[p], r);

			if (a != b)
				print_error("%s: proxy %u: %s: %llu, not "
					    "%llu\n",
					    label, p, r->name,
					    (unsigned long long)a,
					    (unsigned long long)b);
		}
	}
}

/* With several numbers of ranks the result is that of one process. */
static void check(const struct sim_config *c, const char *label)
{
	static const struct {
		unsigned ranks;
		uint64_t block;
	} rows[] = { { 2, REQUESTS }, { RANKS, 997 } };
	static struct sim_result want;

	assert_int_equal(sim_run(c, &sample.trace, &want), 0);
	for (size_t i = 0; i < NROWS(rows); i++) {
		spread(c, rows[i].ranks, rows[i].block);
		for (unsigned r = 0; r < rows[i].ranks; r++) {
			assert_int_equal(ranks[r].err, 0);
			name_difference(&ranks[r].result, &want, label);
			assert_memory_equal(&ranks[r].result, &want,
					    sizeof(want));
		}
	}
}

/* Digests that are made anew take long. */
static struct sim_config thrifty(const char *protocol)
{
	struct sim_config c = usual(protocol, true);

	if (c.protocol == protocol_find("golomb") ||
	    c.protocol == protocol_find("blocked"))
		c.publish = (struct sim_publish){ .period_s = 700 };
	return c;
}

static void protocols_are_spread(void **state)
{
	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = thrifty(protocols[i]->name);

		if (protocols[i]->way == PROTOCOL_ONE) {
			assert_int_equal(sim_config_spread(&c), SPREAD_NOT);
			continue;
		}
		assert_int_not_equal(sim_config_spread(&c), SPREAD_NOT);
		check(&c, c.protocol->name);
		c.warmup_ppm = 333333;
		c.partition = SIM_ROUND_ROBIN;
		c.epoch = 40;
		check(&c, c.protocol->name);
	}
}

/* Delay and loss, publication by time and by share, also with epochs. */
static void publications_travel(void **state)
{
	static const uint64_t epochs[] = { 1, 7, 250 };

	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = thrifty(protocols[i]->name);

		if (protocols[i]->way != PROTOCOL_SUMMARY)
			continue;
		for (size_t e = 0; e < NROWS(epochs); e++) {
			c.epoch = epochs[e];
			c.warmup_ppm = 100000;
			c.transport = (struct sim_transport){
				.delay_s = 30,
				.delay_requests = 11,
				.loss_ppm = e == 1 ? 0 : 300000,
			};
			if (c.publish.share_ppm)
				c.publish.period_s = 150 + 50 * (uint32_t)e;
			c.tries = 2;
			check(&c, c.protocol->name);
		}
	}
}

/* Clocks that go back and forth. */
static void times_in_disorder(void **state)
{
	struct sim_config c = usual("directory", true);
	uint64_t random = 5;

	(void)state;
	for (uint32_t i = 0; i < NREQUESTS; i++)
		sample.time[i] =
			i / 3 + (uint32_t)random_below(&random, 400);
	c.publish.period_s = 20;
	c.transport.delay_s = 90;
	c.epoch = 3;
	check(&c, "disorder");
	fill();
}

/* What is kept depends on peers: only with epochs. */
static void placements_in_epochs(void **state)
{
	static const char *const names[] = { "none", "icp", "directory",
					     "bloom" };

	(void)state;
	for (size_t i = 0; i < NROWS(names); i++) {
		struct sim_config c = usual(names[i], true);

		for (unsigned p = 0; p < PLACEMENTS; p++) {
			c.placement = p;
			c.epoch = 40;
			c.peer_use = p % 2 == 0;
			c.warmup_ppm = 100000 * p;
			check(&c, names[i]);
			c.epoch = 1;
			if (i)
				assert_int_equal(
					sim_config_spread(&c) == SPREAD_NOT,
					c.peer_use || p != PLACEMENT_KEEP);
		}
	}
}

static void admission_and_eviction(void **state)
{
	struct sim_config c = usual("compressed", true);

	(void)state;
	c.eviction = eviction_policy_find("s3fifo");
	c.admission = admission_find("probation");
	c.size_limit = 6000;
	check(&c, "probation");
	c.epoch = 30;
	c.peer_use = true;
	check(&c, "probation, used by peers");
	c.admission_shared = true;
	assert_int_equal(sim_config_spread(&c), SPREAD_NOT);
}

static void what_cannot_be_spread_is_refused(void **state)
{
	struct sim_config c = usual("icp", false);

	(void)state;
	c.placement = PLACEMENT_SINGLE;
	spread(&c, 2, REQUESTS);
	assert_int_equal(ranks[0].err, SCD_EINVAL);
	assert_int_equal(ranks[1].err, SCD_EINVAL);
	assert_int_equal(ranks[0].meetings, 0);
}

/* An allocation fails in one of the ranks: all hear of it. */
static void all_end_together(void **state)
{
	static const char *const names[] = { "none", "carp", "directory",
					     "bloom", "squid" };

	(void)state;
	for (size_t i = 0; i < 2 * NROWS(names); i++) {
		struct sim_config c = usual(names[i / 2], true);
		int failed = 1;

		c.publish.period_s = 0;
		c.publish.share_ppm = 500000;
		c.transport.loss_ppm = 300000;
		c.epoch = i % 2 ? 300 : 1;
		c.peer_use = i % 2;
		for (unsigned n = 1; failed; n += 1 + n / 4) {
			alloc_fail_at(n);
			spread(&c, 3, 2000);
			failed = alloc_failed();
			alloc_fail_at(0);
			for (unsigned r = 0; r < 3; r++) {
				assert_int_equal(ranks[r].err,
						 failed ? SCD_ENOMEM : 0);
				assert_int_equal(ranks[r].meetings,
						 ranks[0].meetings);
			}
		}
	}
}

/* Whatever differs of two traces, their fingerprints do. */
static void fingerprints_tell_traces_apart(void **state)
{
	struct sim_trace t = sample.trace;
	uint64_t usual_one;
	uint32_t *const columns[] = { sample.object, sample.time,
				      sample.client, sample.size,
				      sample.change_size };

	(void)state;
	t.nchanges = NCHANGES;
	usual_one = sim_fingerprint(&t);
	for (size_t i = 0; i < NROWS(columns); i++) {
		columns[i][NCHANGES - 1]++;
		assert_int_not_equal(sim_fingerprint(&t), usual_one);
		columns[i][NCHANGES - 1]--;
	}
	t.time = NULL;
	assert_int_not_equal(sim_fingerprint(&t), usual_one);
	t.time = sample.time;
	assert_int_equal(sim_fingerprint(&t), usual_one);
	t.nrequests--;
	assert_int_not_equal(sim_fingerprint(&t), usual_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(protocols_are_spread),
		cmocka_unit_test(publications_travel),
		cmocka_unit_test(times_in_disorder),
		cmocka_unit_test(placements_in_epochs),
		cmocka_unit_test(admission_and_eviction),
		cmocka_unit_test(what_cannot_be_spread_is_refused),
		cmocka_unit_test(all_end_together),
		cmocka_unit_test(fingerprints_tell_traces_apart),
	};

	fill();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
