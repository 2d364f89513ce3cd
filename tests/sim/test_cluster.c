/*
 * What must hold of any cluster, whatever the protocol; how protocols relate;
 * and what of a configuration does not go. Every counter by itself is
 * test_twin.py's business.
 */
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/cluster.h"
#include "codec/error.h"
#include "tests/codec/alloc.h"
#include "tests/sim/sample.h"

static struct sim_counters run_first(const struct sim_config *c, uint64_t n)
{
	static struct sim_result r;
	struct sim_trace t = sample.trace;

	t.nrequests = n;
	assert_int_equal(sim_run(c, &t, &r), 0);
	return r.sum;
}

static struct sim_counters run(const struct sim_config *c)
{
	return run_first(c, NREQUESTS);
}

/* Objects among the first n requests. */
static unsigned distinct(uint64_t n)
{
	static bool seen[NOBJECTS];
	unsigned found = 0;

	memset(seen, 0, sizeof(seen));
	for (uint64_t i = 0; i < n; i++) {
		found += !seen[sample.object[i]];
		seen[sample.object[i]] = true;
	}
	return found;
}

static void check_sums(const struct sim_counters *c, const struct protocol *p)
{
	assert_int_equal(c->requests,
			 c->local_hits + c->remote_hits + c->origin);
	assert_int_equal(c->bytes, c->local_bytes + c->remote_bytes +
					   c->origin_bytes);
	assert_int_equal(c->queries, c->replies);
	assert_int_equal(c->query_bytes, c->queries * p->sizes.query);
	assert_int_equal(c->reply_bytes, c->replies * p->sizes.reply);
	assert_int_equal(c->fetch_bytes, c->fetches * p->sizes.fetch);
	assert_int_equal(c->updates, c->published * (NPROXIES - 1));
	assert_true(c->false_candidates <= c->candidates);
	assert_true(c->held <= c->writes);
	assert_true(c->duplicates < c->held);
	assert_true(c->latency_us >= c->requests * 1000 + c->origin * 100000);
	if (p->way != PROTOCOL_SUMMARY)
		assert_int_equal(c->published + c->false_hits + c->candidates,
				 0);
}

static void sums_add_up(void **state)
{
	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = usual(protocols[i]->name, true);
		struct sim_counters r = run(&c);

		check_sums(&r, protocols[i]);
		assert_int_equal(r.requests, NREQUESTS);
		c.warmup_ppm = 250000;
		r = run(&c);
		check_sums(&r, protocols[i]);
		assert_int_equal(r.requests, NREQUESTS * 3 / 4);
	}
}

static void blocks_make_no_difference(void **state)
{
	static struct sim_result whole, parts;

	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = usual(protocols[i]->name, true);
		struct sim_cluster *s;

		c.transport.loss_ppm = 100000;
		c.epoch = 1 + i % 3 * 10;
		assert_int_equal(sim_run(&c, &sample.trace, &whole), 0);
		assert_int_equal(sim_cluster_new(&s, &c, &sample.trace), 0);
		for (unsigned k = 0; k < NREQUESTS; k += 777)
			assert_int_equal(sim_cluster_run(s, 777), 0);
		sim_cluster_result(s, &parts);
		sim_cluster_free(&s);
		assert_memory_equal(&whole, &parts, sizeof(whole));
	}
}

/* With room for everything, and word of it at once, only the first request
 * for an object goes to the origin, if the protocol tells of every object. */
static void boundless_caches_miss_once(void **state)
{
	enum { FEW = 500 };

	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = usual(protocols[i]->name, false);
		struct sim_counters r;

		c.capacity = UINT64_C(1) << 40;
		c.publish = (struct sim_publish){ 0 };
		c.tries = 0;
		r = run_first(&c, FEW);
		assert_int_equal(r.evicted + r.false_misses + r.untried, 0);
		if (protocols[i]->way == PROTOCOL_ALONE)
			assert_true(r.origin > distinct(FEW) + FEW / 20);
		else
			assert_int_equal(r.origin, distinct(FEW));
	}
}

static void one_proxy_is_alone(void **state)
{
	struct sim_config c = usual("none", true);
	struct sim_counters alone;

	(void)state;
	c.nproxies = 1;
	alone = run(&c);
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_counters r;

		c = usual(protocols[i]->name, true);
		c.nproxies = 1;
		r = run(&c);
		assert_int_equal(r.local_hits, alone.local_hits);
		assert_int_equal(r.local_stale, alone.local_stale);
		assert_int_equal(r.origin_bytes, alone.origin_bytes);
		assert_int_equal(r.evicted, alone.evicted);
		assert_int_equal(r.remote_hits + r.queries + r.updates, 0);
	}
}

/* A filter without false positives is a directory. */
static void precise_filters_are_directories(void **state)
{
	static const char *const names[] = { "bloom", "golomb" };
	struct sim_config c = usual("directory", true);
	struct sim_counters exact;

	(void)state;
	c.tries = 0;
	exact = run(&c);
	for (size_t i = 0; i < NROWS(names); i++) {
		struct sim_counters r;

		c = usual(names[i], true);
		c.tries = 0;
		c.digest.bits = 300;
		c.digest.nhash = 9;
		c.digest.fp = 1e-9;
		r = run(&c);
		assert_int_equal(r.candidates, exact.candidates);
		assert_int_equal(r.false_candidates, exact.false_candidates);
		assert_int_equal(r.false_misses, exact.false_misses);
		assert_int_equal(r.published, exact.published);
		assert_int_equal(r.remote_bytes, exact.remote_bytes);
		assert_int_equal(r.origin_bytes, exact.origin_bytes);
	}
}

/* Who asks everybody finds at least what summaries find, and one large cache
 * finds more than any cluster that keeps copies. */
static void more_knowledge_finds_more(void **state)
{
	static const char *const order[] = {
		"none", "directory", "icp", "global",
	};
	uint64_t least = 0;

	(void)state;
	for (size_t i = 0; i < NROWS(order); i++) {
		struct sim_config c = usual(order[i], false);
		struct sim_counters r = run(&c);

		assert_true(r.local_hits + r.remote_hits > least);
		least = r.local_hits + r.remote_hits;
	}
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = usual(protocols[i]->name, false);
		struct sim_counters r = run(&c);

		assert_true(r.local_hits + r.remote_hits <= least);
	}
}

static void later_word_finds_less(void **state)
{
	static const uint32_t shares[] = { 0, 50000, 200000, 800000 };
	uint64_t most = UINT64_MAX, false_misses = 0;

	(void)state;
	for (size_t i = 0; i < NROWS(shares); i++) {
		struct sim_config c = usual("directory", false);
		struct sim_counters r;

		c.publish.share_ppm = shares[i];
		r = run(&c);
		assert_true(r.remote_hits < most);
		assert_true(!i || r.false_misses > false_misses);
		most = r.remote_hits;
		false_misses = r.false_misses;
	}
}

/* Fewer copies, more hits; and admitting all is as no admission at all. */
static void placement_and_admission(void **state)
{
	struct sim_config c = usual("icp", false);
	struct sim_counters keep = run(&c), r;

	(void)state;
	c.admission = admission_find("none");
	assert_non_null(c.admission);
	r = run(&c);
	assert_true(r.admission_memory > 0);
	r.admission_memory = 0;
	assert_memory_equal(&r, &keep, sizeof(r));
	c.admission_shared = true;
	r = run(&c);
	r.admission_memory = 0;
	assert_memory_equal(&r, &keep, sizeof(r));
	c = usual("icp", false);
	c.placement = PLACEMENT_SECOND;
	r = run(&c);
	assert_true(r.duplicates < keep.duplicates);
	assert_true(r.writes < keep.writes);
	c.placement = PLACEMENT_SINGLE;
	r = run(&c);
	assert_int_equal(r.duplicates, 0);
	assert_true(r.local_hits + r.remote_hits >
		    keep.local_hits + keep.remote_hits);
}

/* Nearly as many hits as of one copy, and far more of them local; with
 * admission, too. */
static void hot_copies_are_few(void **state)
{
	struct sim_config c = usual("icp", false);
	struct sim_counters one, both;

	(void)state;
	for (int admits = 0; admits < 2; admits++) {
		c.admission = admits ? admission_find("none") : NULL;
		c.placement = PLACEMENT_SINGLE;
		one = run(&c);
		c.placement = PLACEMENT_AUTO;
		both = run(&c);
		assert_true(both.duplicates > one.duplicates);
		assert_true(both.duplicates * 4 < both.held);
		assert_true(both.local_hits * 4 > one.local_hits * 5);
		assert_true((both.local_hits + both.remote_hits) * 20 >
			    (one.local_hits + one.remote_hits) * 19);
	}
}

/* The forms of deltas are counted as they are sent. */
static void forms_have_their_sizes(void **state)
{
	struct sim_config c = usual("compressed", false);
	struct sim_counters all, r;
	uint64_t most = 0;

	(void)state;
	c.digest.all_forms = true;
	all = run(&c);
	assert_true(all.conditional_coded < all.xor_coded);
	assert_true(all.xor_coded < all.full_coded);
	assert_true(all.full_coded < all.full_raw);
	c.digest.all_forms = false;
	for (unsigned i = 0; i < PROTOCOL_FORMS; i++) {
		c.digest.form = i;
		r = run(&c);
		assert_int_equal(r.remote_hits, all.remote_hits);
		assert_true(i == 0 || r.update_bytes < most);
		most = r.update_bytes;
		if (i == PROTOCOL_FULL)
			assert_int_equal(most, (NPROXIES - 1) *
						       (600 * r.published +
							r.full_coded));
	}
}

/* A front sends each request where its owner would have been asked. */
static void fronts_find_what_owners_find(void **state)
{
	static struct sim_result front;
	struct sim_config c = usual("carp", true);
	struct sim_counters owners = run(&c), sum = { 0 };

	(void)state;
	c = usual("hash", true);
	assert_int_equal(sim_run(&c, &sample.trace, &front), 0);
	assert_int_equal(front.sum.local_hits,
			 owners.local_hits + owners.remote_hits);
	assert_int_equal(front.sum.local_bytes,
			 owners.local_bytes + owners.remote_bytes);
	assert_int_equal(front.sum.origin_bytes, owners.origin_bytes);
	assert_int_equal(front.sum.evicted, owners.evicted);
	assert_int_equal(front.sum.remote_hits + front.sum.forwards, 0);
	assert_true(owners.forwards > 0);
	assert_int_equal(owners.latency_us - front.sum.latency_us,
			 owners.forwards * c.latency.peer);
	for (unsigned i = 0; i < front.nproxies; i++) {
		assert_true(front.proxy[i].requests > 0);
		assert_int_equal(front.proxy[i].requests,
				 front.proxy[i].local_hits +
					 front.proxy[i].origin);
		sim_counters_add(&sum, &front.proxy[i]);
	}
	assert_memory_equal(&sum, &front.sum, sizeof(sum));
}

/* More than the bits of a word. */
static void many_proxies(void **state)
{
	static const unsigned numbers[] = { 65, 192, SIM_MAX_PROXIES };
	static struct sim_result r;

	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		for (size_t k = 0; k < NROWS(numbers); k++) {
			struct sim_config c = usual(protocols[i]->name, false);
			bool all_known = protocols[i]->way == PROTOCOL_OWNER ||
					 protocols[i]->way == PROTOCOL_ONE ||
					 (protocols[i]->way ==
						  PROTOCOL_ASK_ALL &&
					  k == 0);

			c.nproxies = numbers[k];
			c.partition = SIM_ROUND_ROBIN;
			c.capacity = UINT64_C(1) << 50;
			c.epoch = 1 + k * 20;
			assert_null(sim_config_fault(&c, &sample.trace));
			assert_int_equal(sim_run(&c, &sample.trace, &r), 0);
			if (protocols[i]->way == PROTOCOL_SUMMARY)
				assert_int_equal(r.sum.updates,
						 r.sum.published *
							 (numbers[k] - 1));
			else
				check_sums(&r.sum, protocols[i]);
			assert_int_equal(r.sum.requests, NREQUESTS);
			assert_int_equal(r.sum.evicted, 0);
			assert_int_equal(r.sum.held - r.sum.duplicates,
					 distinct(NREQUESTS));
			if (all_known)
				assert_int_equal(r.sum.origin,
						 distinct(NREQUESTS));
		}
	}
}

/* The same proxies, once in one word and once spread over several, among others
 * that have no clients. */
static void words_make_no_difference(void **state)
{
	static const unsigned steps[] = { 16, 64 };
	static uint32_t column[NCLIENTS];
	static struct sim_result few, many;

	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = usual(protocols[i]->name, true);

		if (protocols[i]->way != PROTOCOL_SUMMARY &&
		    protocols[i]->way != PROTOCOL_ASK_ALL)
			continue;
		c.partition = SIM_BY_COLUMN;
		c.column = column;
		c.tries = 0;
		c.digest.fp = .02;
		for (size_t k = 0; k < NROWS(steps); k++) {
			c.placement = k ? PLACEMENT_SECOND : PLACEMENT_KEEP;
			for (uint32_t j = 0; j < NCLIENTS; j++)
				column[j] = j % 4;
			c.nproxies = 4;
			c.capacity = 4 * UINT64_C(100000);
			assert_int_equal(sim_run(&c, &sample.trace, &few), 0);
			for (uint32_t j = 0; j < NCLIENTS; j++)
				column[j] = (j % 4 + 1) * steps[k] - 1;
			c.nproxies = 4 * steps[k];
			c.capacity = c.nproxies * UINT64_C(100000);
			assert_int_equal(sim_run(&c, &sample.trace, &many), 0);
			assert_int_equal(few.expected, many.expected);
#define SAME(counter) assert_int_equal(few.sum.counter, many.sum.counter)
			SAME(local_hits);
			SAME(remote_hits);
			SAME(false_hits);
			SAME(false_misses);
			SAME(published);
			SAME(false_candidates);
			SAME(evicted);
			SAME(duplicates);
			if (protocols[i]->way == PROTOCOL_SUMMARY)
				SAME(candidates);
			assert_true(few.sum.remote_hits > 0);
#undef SAME
		}
	}
}

/* Each of many proxies behind a front is a cache by itself. */
static void proxies_behind_a_front_are_apart(void **state)
{
	enum { FEW = 300 };
	static uint32_t object[NREQUESTS];
	static struct sim_result all, one;
	struct sim_config c = usual("hash", false);
	struct sim_trace t = sample.trace;
	uint16_t *owner;

	(void)state;
	c.nproxies = FEW;
	c.capacity = FEW * UINT64_C(12000);
	assert_int_equal(sim_run(&c, &sample.trace, &all), 0);
	assert_int_equal(sim_config_owners(&c, &sample.trace, &owner), 0);
	for (unsigned p = 0; p < SIM_MAX_ROWS; p += 7) {
		struct sim_config own = usual("none", false);

		t.nrequests = 0;
		t.object = object;
		for (unsigned i = 0; i < NREQUESTS; i++) {
			if (owner[sample.object[i]] == p)
				object[t.nrequests++] = sample.object[i];
		}
		own.nproxies = 1;
		own.capacity = 12000;
		assert_int_equal(sim_run(&own, &t, &one), 0);
		assert_int_equal(one.sum.local_hits, all.proxy[p].local_hits);
		assert_int_equal(one.sum.evicted, all.proxy[p].evicted);
	}
	assert_true(all.sum.evicted > 0 && all.sum.local_hits > 0);
	free(owner);
}

static void faults_are_named(void **state)
{
	struct sim_config good = usual("squid", false), c = good;
	struct sim_trace t = sample.trace;
	static struct sim_result r;

	(void)state;
	assert_null(sim_config_fault(&good, &t));
#define BAD(change)                                                            \
	do {                                                                   \
		c = good;                                                      \
		c.change;                                                      \
		assert_non_null(sim_config_fault(&c, &t));                     \
		assert_int_equal(sim_run(&c, &t, &r), SCD_EINVAL);             \
	} while (0)
	BAD(nproxies = 0);
	BAD(nproxies = SIM_MAX_PROXIES + 1);
	BAD(partition = SIM_PARTITIONS);
	BAD(prefix_bits = 0);
	BAD(placement = PLACEMENTS);
	BAD(capacity_ppm = 0);
	BAD(warmup_ppm = 1000000);
	BAD(warmup_s = UINT32_MAX);
	BAD(transport.loss_ppm = 1000001);
	BAD(digest.form = PROTOCOL_FORMS);
	t.time = NULL;
	BAD(nproxies = 2);
	good = usual("icp", false);
	assert_null(sim_config_fault(&good, &t));
	BAD(warmup_s = 1);
	good.nproxies = SIM_MAX_PROXIES;
	assert_null(sim_config_fault(&good, &t));
	BAD(nproxies = SIM_MAX_PROXIES + 1);
	good.nproxies = 2;
	good.protocol = protocol_find("servernames");
	BAD(server = NULL);
#undef BAD
}

static void partitions(void **state)
{
	static struct sim_address address[NCLIENTS];
	static uint32_t column[NCLIENTS];
	static struct sim_result r;
	struct sim_config c = usual("none", false);
	struct sim_trace t = sample.trace;

	(void)state;
	for (unsigned i = 0; i < NCLIENTS; i++) {
		address[i].byte[14] = (uint8_t)(i % 4);
		address[i].byte[15] = (uint8_t)i;
		column[i] = 2;
	}
	t.address = address;
	c.nproxies = 3;
	c.prefix_bits = 128;
	for (unsigned p = 0; p < SIM_PARTITIONS; p++) {
		c.partition = p;
		c.column = column;
		assert_int_equal(sim_run(&c, &t, &r), 0);
		for (unsigned i = 0; i < 3 && p != SIM_BY_COLUMN; i++)
			assert_true(r.proxy[i].requests > 0);
		assert_int_equal(r.proxy[2].requests == NREQUESTS,
				 p == SIM_BY_COLUMN);
	}
	c.partition = SIM_BY_PREFIX;
	c.prefix_bits = 112;
	assert_int_equal(sim_run(&c, &t, &r), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_true(r.proxy[i].requests % NREQUESTS == 0);
	c.partition = SIM_ROUND_ROBIN;
	t.client = NULL;
	assert_int_equal(sim_run(&c, &t, &r), 0);
	assert_int_equal(r.proxy[0].requests, (NREQUESTS + 2) / 3);
	assert_int_equal(r.proxy[2].requests, NREQUESTS / 3);
}

/* Whatever allocation fails, that is said, and nothing is lost or kept. */
static void allocations_may_fail(void **state)
{
	static struct sim_result r;
	struct sim_trace t = sample.trace;

	(void)state;
	t.nrequests = 60;
	for (size_t i = 0; protocols[i]; i++) {
		struct sim_config c = usual(protocols[i]->name, true);
		int err = SCD_ENOMEM;

		t.nchanges = 2;
		c.nproxies = 3;
		c.epoch = 5;
		c.transport.loss_ppm = 300000;
		for (unsigned n = 1; err; n += 1 + n / 16) {
			alloc_fail_at(n);
			err = sim_run(&c, &t, &r);
			if (!alloc_failed())
				assert_int_equal(err, 0);
			else if (strcmp(protocols[i]->name, "compressed"))
				assert_int_equal(err, SCD_ENOMEM);
			else /* the coder can do without some */
				assert_true(err == SCD_ENOMEM || err == 0);
			if (alloc_failed() && !err)
				err = SCD_ENOMEM;
			alloc_fail_at(0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_add_up),
		cmocka_unit_test(blocks_make_no_difference),
		cmocka_unit_test(boundless_caches_miss_once),
		cmocka_unit_test(one_proxy_is_alone),
		cmocka_unit_test(precise_filters_are_directories),
		cmocka_unit_test(more_knowledge_finds_more),
		cmocka_unit_test(later_word_finds_less),
		cmocka_unit_test(placement_and_admission),
		cmocka_unit_test(hot_copies_are_few),
		cmocka_unit_test(forms_have_their_sizes),
		cmocka_unit_test(fronts_find_what_owners_find),
		cmocka_unit_test(many_proxies),
		cmocka_unit_test(words_make_no_difference),
		cmocka_unit_test(proxies_behind_a_front_are_apart),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(partitions),
		cmocka_unit_test(allocations_may_fail),
	};

	fill_sample(&sample);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
