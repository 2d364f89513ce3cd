/*
 * Every protocol with summaries against sets: objects come and go at random,
 * publications are delivered or held back, and at any time the candidates are
 * those that have the object in what was delivered. Where a summary may say
 * yes wrongly, it must be no other that does than libscd's own, made anew.
 */
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/protocol/protocol.h"
#include "codec/bloom.h"
#include "codec/delta.h"
#include "codec/list.h"
#include "codec/mix.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"

enum { PROXIES = 11, OBJECTS = 3000, SERVERS = 200, ROUNDS = 25 };

struct world {
	uint64_t random;
	uint64_t hash[OBJECTS];
	uint32_t server[OBJECTS];
	bool has[PROXIES][OBJECTS];   /* now */
	bool told[PROXIES][OBJECTS];  /* as published last */
	bool known[PROXIES][OBJECTS]; /* as delivered last */
	struct protocol_config config;
	struct protocol_state *state;
	struct protocol_publication *held_back[PROXIES];
};

static void set_up(struct world *w, const char *name, double bits)
{
	memset(w, 0, sizeof(*w));
	w->random = 42;
	for (unsigned i = 0; i < OBJECTS; i++) {
		w->hash[i] = random_next(&w->random);
		w->server[i] = (uint32_t)random_below(&w->random, SERVERS);
	}
	w->config = (struct protocol_config){
		.nproxies = PROXIES,
		.nviews = 1,
		.nobjects = OBJECTS,
		.hash = w->hash,
		.server = w->server,
		.nservers = SERVERS,
		.digest = { .expected = OBJECTS / 3, .bits = bits,
			    .form = PROTOCOL_XOR },
	};
	assert_int_equal(
		protocol_new(&w->state, protocol_find(name), &w->config), 0);
}

static void tear_down(struct world *w)
{
	for (unsigned p = 0; p < PROXIES; p++) {
		if (w->held_back[p])
			protocol_unref(w->state, w->held_back[p]);
	}
	protocol_free(&w->state);
}

static void deliver(struct world *w, unsigned p)
{
	struct protocol_publication *held = w->held_back[p];

	if (!held)
		return;
	assert_int_equal(w->state->protocol->deliver(w->state, 0, held), 0);
	protocol_unref(w->state, held);
	w->held_back[p] = NULL;
}

/* Some objects come, others go. */
static void change(struct world *w, unsigned p)
{
	for (unsigned i = 0; i < 300; i++) {
		unsigned o = (unsigned)random_below(&w->random, OBJECTS);

		w->has[p][o] = random_below(&w->random, 3) == 0;
	}
}

static struct protocol_publication *publish(struct world *w, unsigned p)
{
	uint32_t added[OBJECTS], removed[OBJECTS];
	struct protocol_changes c = { added, removed, 0, 0 };
	struct protocol_publication *out;

	for (uint32_t o = 0; o < OBJECTS; o++) {
		if (w->has[p][o] && !w->told[p][o])
			added[c.nadded++] = o;
		if (!w->has[p][o] && w->told[p][o])
			removed[c.nremoved++] = o;
	}
	memcpy(w->told[p], w->has[p], sizeof(w->has[p]));
	assert_int_equal(
		w->state->protocol->publish(w->state, p, &c, &out), 0);
	return out;
}

/* What the candidates for an object should be. */
typedef uint64_t expected(const struct world *w, uint32_t object);

static void compare(struct world *w, expected *want)
{
	for (uint32_t o = 0; o < OBJECTS; o++) {
		uint64_t got =
			w->state->protocol->candidates(w->state, 0, o, 0);

		if (w->state->protocol->prefetch)
			w->state->protocol->prefetch(w->state, 0, o);
		assert_int_equal(got & ~(UINT64_MAX >> (64 - PROXIES)), 0);
		assert_int_equal(got, want(w, o));
	}
}

static void play(struct world *w, expected *want)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned p = (unsigned)random_below(&w->random, PROXIES);

		deliver(w, p);
		memcpy(w->known[p], w->told[p], sizeof(w->told[p]));
		change(w, p);
		w->held_back[p] = publish(w, p);
		if (i % 3 == 0) {
			deliver(w, p);
			memcpy(w->known[p], w->told[p], sizeof(w->told[p]));
		}
		if (i % 5 == 4)
			compare(w, want);
	}
}

static uint64_t exactly(const struct world *w, uint32_t object)
{
	uint64_t m = 0;

	for (unsigned p = 0; p < PROXIES; p++)
		m |= (uint64_t)w->known[p][object] << p;
	return m;
}

static uint64_t same_server(const struct world *w, uint32_t object)
{
	uint64_t m = 0;

	for (uint32_t o = 0; o < OBJECTS; o++) {
		if (w->server[o] == w->server[object])
			m |= exactly(w, o);
	}
	return m;
}

/* A filter made anew of what a proxy has. */
static struct scd_bloom filter_of(const struct world *w, const bool *has,
				  unsigned nhash)
{
	double bits = w->config.digest.bits;
	uint64_t nbits = (uint64_t)(bits * (double)w->config.digest.expected);
	struct scd_bloom b;

	assert_int_equal(scd_bloom_init(&b, nbits, nhash), 0);
	for (uint32_t o = 0; o < OBJECTS; o++) {
		struct scd_key key = scd__key_of_hash(w->hash[o]);

		if (has[o])
			scd_bloom_add(&b, &key);
	}
	return b;
}

static struct scd_bloom filters[PROXIES];

static uint64_t by_filters(const struct world *w, uint32_t object)
{
	struct scd_key key = scd__key_of_hash(w->hash[object]);
	unsigned nhash = strcmp(w->state->protocol->name, "bloom") ? 3 : 4;
	uint64_t m = 0;

	for (unsigned p = 0; p < PROXIES; p++) {
		if (object == 0) {
			scd_bloom_free(&filters[p]);
			filters[p] = filter_of(w, w->known[p], nhash);
		}
		m |= (uint64_t)scd_bloom_has(&filters[p], &key) << p;
	}
	return m;
}

/* Who has published an object, or one with the same fingerprint. */
static unsigned list_width;

static uint64_t by_fingerprints(const struct world *w, uint32_t object)
{
	uint64_t m = 0;

	for (uint32_t o = 0; o < OBJECTS; o++) {
		if ((w->hash[o] ^ w->hash[object]) >> (64 - list_width) == 0)
			m |= exactly(w, o);
	}
	return m;
}

static void drop_filters(void)
{
	for (unsigned p = 0; p < PROXIES; p++)
		scd_bloom_free(&filters[p]);
}

static void lists_are_exact(void **state)
{
	static struct world w;

	(void)state;
	set_up(&w, "directory", 0);
	play(&w, exactly);
	tear_down(&w);
	set_up(&w, "servernames", 0);
	play(&w, same_server);
	tear_down(&w);
}

static void filters_are_libscds(void **state)
{
	static const struct {
		const char *name;
		double bits;
	} rows[] = {
		{ "bloom", 4 }, { "bloom", 8 }, { "bloom", 31.3 },
		{ "compressed", 5 }, { "compressed", 14 },
	};
	static struct world w;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		set_up(&w, rows[i].name, rows[i].bits);
		play(&w, by_filters);
		tear_down(&w);
		drop_filters();
	}
}

/* From no twins to rings of several. */
static void lists_are_fingerprints(void **state)
{
	static const double fps[] = { .00001, .01, .031 };
	static struct world w;

	(void)state;
	for (size_t i = 0; i < NROWS(fps); i++) {
		set_up(&w, "directory", 0);
		tear_down(&w);
		w.config.digest.fp = fps[i];
		memset(w.has, 0, sizeof(w.has));
		memset(w.told, 0, sizeof(w.told));
		memset(w.known, 0, sizeof(w.known));
		list_width = scd_list_width(w.config.digest.expected, fps[i]);
		assert_int_equal(protocol_new(&w.state, protocol_find("lists"),
					      &w.config),
				 0);
		play(&w, by_fingerprints);
		tear_down(&w);
	}
}

/* Kinds made anew: nothing is missed; a few too many are found. */
static void kinds_find_all(void **state)
{
	static const char *const names[] = { "golomb", "blocked", "squid" };
	static struct world w;

	(void)state;
	for (size_t i = 0; i < NROWS(names); i++) {
		unsigned wrong = 0;

		set_up(&w, names[i], 0);
		for (unsigned p = 0; p < PROXIES; p++) {
			for (unsigned j = 0; j < 10; j++)
				change(&w, p);
			w.held_back[p] = publish(&w, p);
			deliver(&w, p);
			memcpy(w.known[p], w.told[p], sizeof(w.told[p]));
		}
		for (uint32_t o = 0; o < OBJECTS; o++) {
			uint64_t got = w.state->protocol->candidates(
				w.state, 0, o, 0);

			assert_int_equal(exactly(&w, o) & ~got, 0);
			got &= ~exactly(&w, o);
			wrong += (unsigned)__builtin_popcountll(got);
		}
		/* 1 % and 9 % of 33000, if Squid's were filled */
		assert_in_range(wrong, 1, 3300);
		tear_down(&w);
	}
}

/* The size of a coded full digest or delta between two sets. */
static size_t coded(const struct world *w, const bool *from, const bool *to,
		    const struct scd_digest_info *ids)
{
	struct scd_bloom a = filter_of(w, from, 3), b = filter_of(w, to, 3);
	uint8_t *bytes;
	size_t len;

	if (!ids->base_generation)
		assert_int_equal(scd_digest_encode(&b, ids, &bytes, &len), 0);
	else
		assert_int_equal(
			scd_delta_encode(&a, &b, ids, &bytes, &len), 0);
	free(bytes);
	scd_bloom_free(&a);
	scd_bloom_free(&b);
	return len;
}

static uint64_t count(const bool *has)
{
	uint64_t n = 0;

	for (uint32_t o = 0; o < OBJECTS; o++)
		n += has[o];
	return n;
}

/* An instance whose digests are coded, or not. */
static void set_up_sizes(struct world *w, const char *name, double bits,
			 bool are_coded)
{
	set_up(w, name, bits);
	protocol_free(&w->state);
	w->config.digest.coded = are_coded;
	assert_int_equal(
		protocol_new(&w->state, protocol_find(name), &w->config), 0);
}

static void bytes_are_the_codecs(void **state)
{
	static struct world w;
	static bool before[OBJECTS];

	(void)state;
	set_up_sizes(&w, "compressed", 14, true);
	memset(before, 0, sizeof(before));
	for (uint64_t generation = 1; generation <= 5; generation++) {
		struct scd_digest_info ids = {
			.instance = 3 + 1,
			.generation = generation,
			.base_generation = generation - 1,
		};
		struct protocol_publication *p;

		change(&w, 3);
		ids.nkeys = count(w.has[3]);
		p = publish(&w, 3);
		assert_int_equal(p->wire,
				 coded(&w, before, w.has[3], &ids));
		assert_int_equal(p->full, generation == 1);
		memcpy(before, w.has[3], sizeof(before));
		protocol_unref(w.state, p);
	}
	tear_down(&w);
}

static struct scd_list_change change_of(const bool *from, const bool *to,
					const struct world *w)
{
	static uint64_t removed[OBJECTS], added[OBJECTS];
	struct scd_list_change c = { removed, added, 0, 0, { 0 } };

	for (uint32_t o = 0; o < OBJECTS; o++) {
		uint64_t fingerprint = w->hash[o] >> (64 - list_width);

		if (from[o] && !to[o])
			removed[c.nremoved++] = fingerprint;
		if (to[o] && !from[o])
			added[c.nadded++] = fingerprint;
	}
	assert_int_equal(scd_list_change_sort(&c), 0);
	return c;
}

/* The first publication is a digest, the others are frames, as libscd makes
 * them. */
static void bytes_are_those_of_lists(void **state)
{
	static const bool nothing[OBJECTS];
	static struct world w;
	static bool before[OBJECTS];
	struct scd_list *list;

	(void)state;
	set_up_sizes(&w, "lists", 100, true);
	list_width = scd_list_width(w.config.digest.expected, .01);
	assert_int_equal(scd_list_new(&list, list_width, 3 + 1), 0);
	memcpy(before, nothing, sizeof(before));
	for (uint64_t generation = 1; generation <= 5; generation++) {
		struct protocol_publication *p;
		struct scd_list_change c;
		uint8_t *bytes;
		size_t len[2];

		change(&w, 3);
		c = change_of(before, w.has[3], &w);
		assert_int_equal(scd_list_frame_encode(list, &c, generation,
						       &bytes, &len[1]),
				 0);
		free(bytes);
		assert_int_equal(scd_list_change(list, &c, generation), 0);
		assert_int_equal(scd_list_encode(list, &bytes, &len[0]), 0);
		free(bytes);
		p = publish(&w, 3);
		assert_int_equal(p->full, generation == 1);
		assert_int_equal(p->wire, len[generation > 1]);
		assert_int_equal(p->whole, generation == 1 ? len[0] : 0);
		memcpy(before, w.has[3], sizeof(before));
		protocol_unref(w.state, p);
	}
	scd_list_free(&list);
	tear_down(&w);
}

/* What is computed is as long as what is coded, nearly. */
static void sizes_are_computed(void **state)
{
	static const struct {
		const char *name;
		double bits;
	} rows[] = {
		{ "compressed", 8 }, { "compressed", 32 }, { "lists", 100 },
		{ "lists", 10000 }, { "lists", 40 },
	};
	static struct world w[2];

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		uint64_t sum[2] = { 0 };

		for (unsigned k = 0; k < 2; k++) {
			set_up_sizes(&w[k], rows[i].name, rows[i].bits, k);
			for (unsigned j = 0; j < ROUNDS; j++) {
				struct protocol_publication *p;

				change(&w[k], 3);
				p = publish(&w[k], 3);
				sum[k] += p->wire;
				protocol_unref(w[k].state, p);
			}
			tear_down(&w[k]);
		}
		assert_in_range(sum[0], sum[1] * 995 / 1000 - 6 * ROUNDS,
				sum[1] * 1005 / 1000 + 6 * ROUNDS);
	}
}

/* A publication as another instance gets it: through its bytes. */
static int carry(struct protocol_state *to,
		 const struct protocol_publication *p,
		 struct protocol_publication **out)
{
	uint8_t *bytes;
	size_t len;
	int err = to->protocol->pack(p, &bytes, &len);

	if (err)
		return err;
	err = to->protocol->unpack(to, p, bytes, len, out);
	free(bytes);
	return err;
}

/* All that another instance is told comes to the same there. */
static void carry_all(struct world *w, struct protocol_state *far)
{
	const struct protocol *protocol = far->protocol;

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned p = i % PROXIES;
		struct protocol_publication *copy;

		change(w, p);
		w->held_back[p] = publish(w, p);
		assert_int_equal(carry(far, w->held_back[p], &copy), 0);
		assert_int_equal(copy->wire, w->held_back[p]->wire);
		deliver(w, p);
		assert_int_equal(protocol->deliver(far, 0, copy), 0);
		protocol_unref(far, copy);
	}
	for (uint32_t o = 0; o < OBJECTS; o++)
		assert_int_equal(protocol->candidates(far, 0, o, 0),
				 protocol->candidates(w->state, 0, o, 0));
}

static void publications_are_carried(void **state)
{
	static struct world w;

	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		struct protocol_state *far;
		uint64_t here[2], there[2];

		if (protocols[i]->way != PROTOCOL_SUMMARY)
			continue;
		set_up(&w, protocols[i]->name, 0);
		assert_int_equal(protocol_new(&far, protocols[i], &w.config),
				 0);
		carry_all(&w, far);
		protocols[i]->memory(w.state, 1, &here[0], &here[1]);
		protocols[i]->memory(far, 1, &there[0], &there[1]);
		assert_memory_equal(here, there, sizeof(here));
		protocol_free(&far);
		tear_down(&w);
	}
}

/* A proxy publishes twice, while an allocation fails. */
static int publish_failing(struct world *w, unsigned fail, bool *failed)
{
	uint32_t added[] = { 5, 1, 3 }, removed[] = { 1 };
	struct protocol_changes c = { added, removed, 3, 0 };
	struct protocol_publication *out = NULL;
	const struct protocol *p = w->state->protocol;
	struct protocol_state *s;
	int err;

	alloc_fail_at(fail);
	err = protocol_new(&s, p, &w->config);
	if (!err) {
		err = p->publish(s, 2, &c, &out);
		if (!err)
			err = p->deliver(s, 0, out);
		if (out)
			protocol_unref(s, out);
		out = NULL;
		c = (struct protocol_changes){ added, removed, 0, 1 };
		if (!err)
			err = p->publish(s, 2, &c, &out);
		if (out && !err) {
			struct protocol_publication *copy;

			err = carry(s, out, &copy);
			if (!err)
				protocol_unref(s, copy);
			protocol_unref(s, out);
		}
		protocol_free(&s);
	}
	*failed = alloc_failed();
	alloc_fail_at(0);
	return err;
}

/* Returns at how many allocations a protocol failed. */
static unsigned fail_each(struct world *w, const char *name, bool are_coded)
{
	/* libscd's coders can do without some of their memory */
	bool spares = are_coded && (strcmp(name, "compressed") == 0 ||
				    strcmp(name, "lists") == 0);
	unsigned n = 1, nfailed = 0;
	bool failed = true;

	set_up_sizes(w, name, 0, are_coded);
	for (; failed; n++) {
		int err = publish_failing(w, n, &failed);

		if (failed && err == 0 && spares)
			continue;
		assert_int_equal(err, failed ? SCD_ENOMEM : 0);
		nfailed += failed;
	}
	tear_down(w);
	return nfailed;
}

static void allocations_may_fail(void **state)
{
	static struct world w;

	(void)state;
	for (size_t i = 0; protocols[i]; i++) {
		if (protocols[i]->way != PROTOCOL_SUMMARY)
			continue;
		assert_true(fail_each(&w, protocols[i]->name, false) > 3);
		assert_true(fail_each(&w, protocols[i]->name, true) > 3);
	}
}

static void what_makes_no_sense_is_refused(void **state)
{
	static struct world w;
	struct protocol_state *s = NULL;
	struct protocol_config c;
	const struct protocol *p = protocol_find("bloom");

	(void)state;
	set_up(&w, "bloom", 8);
	c = w.config;
	c.nproxies = 0;
	assert_int_equal(protocol_new(&s, p, &c), SCD_EINVAL);
	c.nproxies = PROTOCOL_MAX_PROXIES + 1;
	assert_int_equal(protocol_new(&s, p, &c), SCD_EINVAL);
	c = w.config;
	c.nviews = 2;
	assert_int_equal(protocol_new(&s, p, &c), SCD_EINVAL);
	c = w.config;
	c.digest.nhash = SCD_MAX_HASH + 1;
	assert_int_equal(protocol_new(&s, p, &c), SCD_EINVAL);
	c = w.config;
	c.digest.bits = 1e9;
	assert_int_equal(protocol_new(&s, p, &c), SCD_EINVAL);
	c = w.config;
	c.server = NULL;
	assert_int_equal(protocol_new(&s, protocol_find("servernames"), &c),
			 SCD_EINVAL);
	c = w.config;
	p = protocol_find("hash");
	c.nproxies = PROTOCOL_MAX_PROXIES + 1;
	assert_int_equal(protocol_new(&s, p, &c), SCD_EINVAL);
	assert_null(s);
	c.nproxies = PROTOCOL_MAX_PROXIES;
	assert_int_equal(protocol_new(&s, p, &c), 0);
	assert_true(p->owner(s, 0) < PROTOCOL_MAX_PROXIES);
	protocol_free(&s);
	assert_null(protocol_find("bloo"));
	tear_down(&w);
}

/* Each object has its owner, evenly; one proxy more takes only what is its. */
static void owners_stay(void **state)
{
	static struct world w;
	struct protocol_state *few, *more;
	const struct protocol *carp = protocol_find("carp");
	unsigned n[PROXIES] = { 0 };

	(void)state;
	set_up(&w, "carp", 0);
	w.config.nproxies = PROXIES - 1;
	assert_int_equal(protocol_new(&few, carp, &w.config), 0);
	more = w.state;
	for (uint32_t o = 0; o < OBJECTS; o++) {
		unsigned now = carp->owner(more, o);

		n[now]++;
		if (now != PROXIES - 1)
			assert_int_equal(now, carp->owner(few, o));
	}
	for (unsigned p = 0; p < PROXIES; p++)
		assert_in_range(n[p], OBJECTS / PROXIES * 3 / 4,
				OBJECTS / PROXIES * 5 / 4);
	protocol_free(&few);
	tear_down(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_exact),
		cmocka_unit_test(filters_are_libscds),
		cmocka_unit_test(lists_are_fingerprints),
		cmocka_unit_test(kinds_find_all),
		cmocka_unit_test(bytes_are_the_codecs),
		cmocka_unit_test(bytes_are_those_of_lists),
		cmocka_unit_test(sizes_are_computed),
		cmocka_unit_test(publications_are_carried),
		cmocka_unit_test(allocations_may_fail),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(owners_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
