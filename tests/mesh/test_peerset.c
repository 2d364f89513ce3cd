/*
 * The view of the peers: lookups against a twin that asks filter by filter,
 * with an index of the digests and without; views that follow each other, also
 * while threads look up in them; and allocations that fail.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "digestd/mesh/peerset.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NPEERS = 40, NKEYS = 300, KEYS_EACH = 60 };

static struct scd_key key_of(uint64_t n)
{
	uint64_t state = n;
	uint64_t lo = random_next(&state);

	return (struct scd_key){ lo, random_next(&state) };
}

/* The same object's in Squid's hashing: an unrelated one. */
static struct scd_key squid_key_of(uint64_t n)
{
	return key_of(~n);
}

/* A digest of KEYS_EACH of the keys; of those with 4 hash functions every other
 * one is of Squid. */
static struct peer_digest *digest_of(uint64_t seed, uint64_t nbits,
				     unsigned nhash)
{
	bool squid = nhash == SCD_SQUID_HASH && seed % 2;
	struct scd_bloom bloom;
	struct peer_digest *d;

	assert_int_equal(scd_bloom_init(&bloom, nbits, nhash), SCD_OK);
	bloom.hashing = squid ? SCD_HASHING_SQUID : SCD_HASHING_DOUBLE;
	for (int i = 0; i < KEYS_EACH; i++) {
		uint64_t n = random_below(&seed, NKEYS);
		struct scd_key key = squid ? squid_key_of(n) : key_of(n);

		scd_bloom_add(&bloom, &key);
	}
	d = peer_digest_take(&bloom);
	assert_non_null(d);
	assert_null(bloom.bits);
	return d;
}

/* Peers of several shapes, some without a digest, some not to be asked. */
static void make_peers(struct peerset_peer *peers)
{
	static const uint64_t nbits[] = { 512, 512, 1024, 1000, 512 };
	static const unsigned nhash[] = { 3, 3, 3, 4, 2 };

	for (uint32_t i = 0; i < NPEERS; i++) {
		size_t shape = i / 2 % NROWS(nbits);

		peers[i] = (struct peerset_peer){
			.id = 100 + i,
			.usable = i % 7 != 3,
			.rtt_ms = i,
			.name = "name",
			.url = "http://peer:1/",
		};
		if (i % 11 != 5)
			peers[i].digest = digest_of(i, nbits[shape],
						    nhash[shape]);
	}
}

static void drop_peers(struct peerset_peer *peers)
{
	for (size_t i = 0; i < NPEERS; i++)
		peer_digest_unref(peers[i].digest);
}

static size_t twin_lookup(const struct peerset_peer *peers,
			  const struct peerset_keys *keys, uint32_t *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < NPEERS; i++) {
		const struct scd_bloom *b;
		const struct scd_key *key;

		if (!peers[i].usable || !peers[i].digest)
			continue;
		b = &peers[i].digest->bloom;
		key = b->hashing == SCD_HASHING_SQUID ? keys->squid : keys->own;
		if (key && scd_bloom_has(b, key))
			out[n++] = i;
	}
	return n;
}

static bool among(const uint32_t *numbers, size_t n, uint32_t wanted)
{
	while (n--) {
		if (numbers[n] == wanted)
			return true;
	}
	return false;
}

static void check_keys(const struct peerset *set,
		       const struct peerset_peer *peers,
		       const struct peerset_keys *keys)
{
	uint32_t got[NPEERS], expected[NPEERS];
	size_t n = twin_lookup(peers, keys, expected);

	assert_int_equal(peerset_lookup(set, keys, got, NPEERS), n);
	for (size_t i = 0; i < n; i++)
		assert_true(among(got, n, expected[i]));
	for (size_t cap = 0; cap <= n; cap++) {
		assert_int_equal(peerset_lookup(set, keys, got, cap), cap);
		for (size_t i = 0; i < cap; i++)
			assert_true(among(expected, n, got[i]));
	}
}

static void check_key(const struct peerset *set,
		      const struct peerset_peer *peers, uint64_t number)
{
	struct scd_key key = key_of(number), squid = squid_key_of(number);

	check_keys(set, peers, &(struct peerset_keys){ &key, &squid });
	check_keys(set, peers, &(struct peerset_keys){ &key, NULL });
}

static void test_lookup(void **state)
{
	struct peerset_peer peers[NPEERS];
	struct peerset *set;

	(void)state;
	make_peers(peers);
	set = peerset_new(peers, NPEERS);
	assert_non_null(set);
	for (uint64_t i = 0; i < 2 * NKEYS; i++) /* half of them nobody has */
		check_key(set, peers, i);
	peerset_unref(set);
	drop_peers(peers);
}

/* A view keeps what it was made of; the giver may forget it all. */
static void test_view_keeps(void **state)
{
	char name[8], url[32];
	struct peerset_peer peers[2] = {
		{ .id = 7, .usable = true, .rtt_ms = 1.5, .name = name,
		  .url = url, .digest = digest_of(1, 512, 3) },
		{ .id = 8, .usable = true, .name = "", .url = "" },
	};
	const struct peerset_peer *p;
	struct peerset *set, *next;

	(void)state;
	snprintf(name, sizeof(name), "left");
	snprintf(url, sizeof(url), "http://left:8082");
	set = peerset_new(peers, 2);
	next = peerset_new(peers, 1); /* shares the digest */
	assert_ptr_equal(peerset_ref(set), set);
	peer_digest_unref(peers[0].digest);
	peerset_unref(next);
	peerset_unref(set);
	name[0] = url[0] = '\0';
	assert_int_equal(peerset_count(set), 2);
	p = peerset_at(set, 0);
	assert_int_equal(p->id, 7);
	assert_true(p->usable);
	assert_float_equal(p->rtt_ms, 1.5, 0);
	assert_string_equal(p->name, "left");
	assert_string_equal(p->url, "http://left:8082");
	assert_float_equal(p->digest->fp, scd_bloom_fp(&p->digest->bloom), 0);
	/* Nothing is known of it, so it cannot be asked. */
	assert_false(peerset_at(set, 1)->usable);
	peerset_unref(set);
}

/* Peers come, go and change in all ways; each view sees what is in it. */
static void random_change(struct peerset_peer *p, uint64_t *seed)
{
	static const uint64_t nbits[] = { 512, 512, 1024, 256, 1000, 65536 };
	static const unsigned nhash[] = { 3, 3, 3, 6, 4, 2 };
	size_t shape = random_below(seed, NROWS(nbits));
	uint64_t what = random_below(seed, 10);

	if (what == 0) {
		p->usable = !p->usable;
		return;
	}
	if (what == 1)
		p->id += 1000; /* another peer instead */
	peer_digest_unref(p->digest);
	p->digest = what == 2 ? NULL :
				digest_of(random_next(seed), nbits[shape],
					  nhash[shape]);
}

static void test_views_in_turn(void **state)
{
	struct peerset_peer peers[NPEERS];
	struct peerset *set = NULL;
	uint64_t seed = 9;

	(void)state;
	make_peers(peers);
	for (unsigned i = 0; i < 400; i++) {
		struct peerset *last = set;

		for (uint64_t n = random_below(&seed, 4); n > 0; n--)
			random_change(&peers[random_below(&seed, NPEERS)],
				      &seed);
		set = peerset_next(last, peers, NPEERS);
		assert_non_null(set);
		peerset_unref(last);
		for (uint64_t key = 0; key < 20; key++)
			check_key(set, peers, random_below(&seed, NKEYS));
	}
	peerset_unref(set);
	drop_peers(peers);
}

/* As many bytes are asked for as there are digests that changed, not peers. */
static void test_views_share_the_index(void **state)
{
	enum { NBITS = 1 << 20, FEW = 8192 };
	struct peerset_peer peers[NPEERS];
	struct peerset *set, *next;

	(void)state;
	for (uint32_t i = 0; i < NPEERS; i++)
		peers[i] = (struct peerset_peer){
			.id = i,
			.usable = true,
			.digest = digest_of(i, NBITS, 3),
			.name = "",
			.url = "",
		};
	alloc_bytes();
	set = peerset_new(peers, NPEERS);
	assert_true(alloc_bytes() > NBITS / 8 * NPEERS);
	peer_digest_unref(peers[7].digest);
	peers[7].digest = digest_of(77, NBITS, 3);
	alloc_bytes();
	next = peerset_next(set, peers, NPEERS);
	assert_in_range(alloc_bytes(), 1, NBITS / 8 + FEW);
	for (uint64_t i = 0; i < NKEYS; i++)
		check_key(next, peers, i);
	peerset_unref(set);
	peerset_unref(next);
	drop_peers(peers);
}

enum { NVIEWS = 300, NREADERS = 2, STAYS = NKEYS + 1 };

/* The current view, as the workers have it: exchanged under a lock. */
struct current {
	pthread_mutex_t lock;
	struct peerset *set;
	atomic_bool end;
	atomic_uint nlookups, nmissed;
};

static struct peerset *current_get(struct current *c)
{
	struct peerset *set;

	pthread_mutex_lock(&c->lock);
	set = peerset_ref(c->set);
	pthread_mutex_unlock(&c->lock);
	return set;
}

static void current_set(struct current *c, struct peerset *set)
{
	struct peerset *last;

	pthread_mutex_lock(&c->lock);
	last = c->set;
	c->set = set;
	pthread_mutex_unlock(&c->lock);
	peerset_unref(last);
}

/* A key that all digests have is found in all peers of any view. */
static void *look_up(void *arg)
{
	struct current *c = arg;
	struct scd_key key = key_of(STAYS), squid = squid_key_of(STAYS);
	const struct peerset_keys keys = { &key, &squid };

	while (!atomic_load(&c->end)) {
		struct peerset *set = current_get(c);
		uint32_t out[NPEERS];

		for (int i = 0; i < 50; i++) {
			if (peerset_lookup(set, &keys, out, NPEERS) != NPEERS)
				atomic_fetch_add(&c->nmissed, 1);
			atomic_fetch_add(&c->nlookups, 1);
		}
		peerset_unref(set);
	}
	return NULL;
}

static struct peer_digest *digest_with(uint64_t seed, uint64_t nbits,
				       unsigned nhash)
{
	struct peer_digest *d = digest_of(seed, nbits, nhash);
	struct scd_key key = d->bloom.hashing == SCD_HASHING_SQUID ?
				     squid_key_of(STAYS) : key_of(STAYS);

	scd_bloom_add(&d->bloom, &key);
	return d;
}

static void test_readers_and_a_writer(void **state)
{
	struct peerset_peer peers[NPEERS];
	struct current c = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t readers[NREADERS];
	uint64_t seed = 5;

	(void)state;
	for (uint32_t i = 0; i < NPEERS; i++)
		peers[i] = (struct peerset_peer){
			.id = i,
			.usable = true,
			.digest = digest_with(i, 1024, 3),
			.name = "",
			.url = "",
		};
	c.set = peerset_new(peers, NPEERS);
	assert_non_null(c.set);
	for (int i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, look_up, &c),
				 0);
	for (unsigned i = 0; i < NVIEWS || atomic_load(&c.nlookups) < NVIEWS;
	     i++) {
		struct peerset_peer *p = &peers[random_below(&seed, NPEERS)];
		uint64_t nbits = i % 50 ? UINT64_C(1024) >> i % 3 : 1000;

		peer_digest_unref(p->digest);
		p->digest = digest_with(1000 + i, nbits, 2 + i % 3);
		current_set(&c, peerset_next(c.set, peers, NPEERS));
	}
	atomic_store(&c.end, true);
	for (int i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(atomic_load(&c.nmissed), 0);
	peerset_unref(c.set);
	drop_peers(peers);
}

/* Peer 1 half open or not, in the view after `last`, which is given up. */
static struct peerset *view_after(struct peerset *last, bool half_open)
{
	struct peerset_peer peers[] = {
		{ .id = 9, .usable = true, .name = "", .url = "" },
		{ .id = 7, .usable = true, .half_open = half_open, .name = "",
		  .url = "" },
	};
	/* and in another place each time */
	struct peerset *set = peerset_next(last, peers + !last, 2 - !last);

	assert_non_null(set);
	peerset_unref(last);
	return set;
}

/* A new view, for whatever reason, is no reason to ask once more. */
static void test_half_open_outlives_its_view(void **state)
{
	struct peerset *set = view_after(NULL, true);

	(void)state;
	assert_true(peerset_claim_probe(set, 0, 1000));
	set = view_after(set, true);
	assert_false(peerset_claim_probe(set, 1, 1000 + PEERSET_PROBE_MS - 1));
	assert_true(peerset_claim_probe(set, 0, 1000));
	assert_true(peerset_claim_probe(set, 1, 1000 + PEERSET_PROBE_MS));
	set = view_after(set, false);
	set = view_after(set, true); /* half open again */
	assert_true(peerset_claim_probe(set, 1, 1000 + PEERSET_PROBE_MS));
	peerset_unref(set);
}

static void test_empty(void **state)
{
	struct peerset *set = peerset_new(NULL, 0);
	struct scd_key key = key_of(1);
	const struct peerset_keys keys = { .own = &key };
	uint32_t out[1];

	(void)state;
	assert_non_null(set);
	assert_int_equal(peerset_count(set), 0);
	assert_int_equal(peerset_lookup(set, &keys, out, 1), 0);
	peerset_unref(set);
	peerset_unref(NULL);
	peer_digest_unref(NULL);
}

/* Then it is done without. */
static void test_no_memory_for_an_index(void)
{
	struct peerset_peer peers[NPEERS];

	make_peers(peers);
	for (unsigned n = 4, failed = 1; failed; n++) {
		struct peerset *set;

		alloc_fail_at(n);
		set = peerset_new(peers, NPEERS);
		failed = (unsigned)alloc_failed();
		alloc_fail_at(0);
		assert_non_null(set);
		assert_true(failed || n > 5);
		for (uint64_t i = 0; i < NKEYS; i++)
			check_key(set, peers, i);
		peerset_unref(set);
	}
	drop_peers(peers);
}

static void test_no_memory(void **state)
{
	struct peerset_peer peer = { .name = "a", .url = "b",
				     .digest = digest_of(1, 512, 3) };
	struct scd_bloom bloom;

	(void)state;
	for (unsigned n = 1; n <= 3; n++) {
		alloc_fail_at(n);
		assert_null(peerset_new(&peer, 1));
	}
	alloc_fail_at(0);
	peer_digest_unref(peer.digest);
	test_no_memory_for_an_index();
	assert_int_equal(scd_bloom_init(&bloom, 512, 3), SCD_OK);
	alloc_fail_at(1);
	assert_null(peer_digest_take(&bloom));
	alloc_fail_at(0);
	assert_null(bloom.bits); /* freed, or the sanitizer complains */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_view_keeps),
		cmocka_unit_test(test_views_in_turn),
		cmocka_unit_test(test_views_share_the_index),
		cmocka_unit_test(test_readers_and_a_writer),
		cmocka_unit_test(test_half_open_outlives_its_view),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
