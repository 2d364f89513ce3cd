/*
 * What a lookup in all peers costs: filter by filter, and in a peer index one
 * by one and many at a time; and what it costs to bring a column up to date.
 *
 *     bench_index [objects [bits an object [hash functions [peers...]]]]
 *
 * by default 1e6 14 2 4 16 64 256. The number of bits is rounded up to a power
 * of two. Every peer holds objects of its own; half of the keys looked up are
 * held by one, the others by nobody. Dependent: a lookup begins when the one
 * before has ended. Times are those that the thread had a processor, the best
 * of several rounds. BENCH_SMALL_PAGES=1 in the environment: without asking for
 * large pages.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/index.h"
#include "tests/bench/clock.h"
#include "tests/bench/pages.h"
#include "tests/codec/random.h"

enum {
	SEED = 2026,
	NKEYS = 1 << 19, /* so that no cache has all that they touch */
	ROUNDS = 3,
	MAX_PEERS = 1024,
	MAX_WORDS = MAX_PEERS / 64,
};

struct bench {
	uint64_t nobjects, nbits;
	unsigned nhash, npeers;
	struct scd_bloom filters[MAX_PEERS];
	const struct scd_bloom *columns[MAX_PEERS];
	struct scd_index *index;
	struct scd_key keys[NKEYS];
	uint64_t *answers; /* NKEYS, scd_index_words() each */
};

/* What a way of looking up is. */
typedef void lookup_fn(const struct bench *b, const struct scd_key *key,
		       uint64_t *out);

static void die(const char *what)
{
	fprintf(stderr, "bench_index: %s\n", what);
	exit(1);
}

static void need(int error)
{
	if (error)
		die(scd_strerror(error));
}

static struct scd_key key_of(uint64_t peer, uint64_t object)
{
	uint64_t state = SEED ^ peer << 40 ^ object;
	uint64_t lo = random_next(&state);

	return (struct scd_key){ lo, random_next(&state) };
}

/* The filter of objects first..first + n of a peer. */
static void fill(const struct bench *b, struct scd_bloom *filter, uint64_t peer,
		 uint64_t first)
{
	need(scd_bloom_init(filter, b->nbits, b->nhash));
	pages_large(filter->bits, scd_bloom_bytes(filter));
	for (uint64_t i = first; i < first + b->nobjects; i++) {
		struct scd_key key = key_of(peer, i);

		scd_bloom_add(filter, &key);
	}
}

static void choose_keys(struct bench *b)
{
	uint64_t state = SEED;

	for (size_t i = 0; i < NKEYS; i++) {
		uint64_t peer = random_below(&state, b->npeers);
		uint64_t object = random_below(&state, b->nobjects);

		b->keys[i] = key_of(i % 2 ? peer : MAX_PEERS, object);
	}
}

static void set_up(struct bench *b)
{
	size_t bytes;
	void *rows;

	need(scd_index_new(&b->index, b->nbits, b->npeers));
	rows = scd_index_memory(b->index, &bytes);
	pages_large(rows, bytes);
	for (unsigned i = 0; i < b->npeers; i++) {
		fill(b, &b->filters[i], i, 0);
		b->columns[i] = &b->filters[i];
	}
	need(scd_index_fill(b->index, b->columns, b->npeers));
	b->answers = calloc(NKEYS, scd_index_words(b->index) * 8);
	if (!b->answers)
		die("no memory");
	choose_keys(b);
}

static void tear_down(struct bench *b)
{
	for (unsigned i = 0; i < b->npeers; i++)
		scd_bloom_free(&b->filters[i]);
	scd_index_free(&b->index);
	free(b->answers);
}

static bool all_set(const struct scd_bloom *b, const uint64_t *at)
{
	for (unsigned i = 0; i < b->nhash; i++) {
		if (!(b->bits[at[i] >> 3] >> (at[i] & 7) & 1))
			return false;
	}
	return true;
}

static void ask_filters(const struct bench *b, const struct scd_key *key,
			uint64_t *out)
{
	uint64_t at[SCD_MAX_HASH];

	scd_positions(key, b->nbits, b->nhash, at);
	memset(out, 0, scd_index_words(b->index) * 8);
	for (unsigned i = 0; i < b->npeers; i++) {
		if (all_set(&b->filters[i], at))
			out[i / 64] |= UINT64_C(1) << i % 64;
	}
}

static void ask_index(const struct bench *b, const struct scd_key *key,
		      uint64_t *out)
{
	scd_index_lookup(b->index, key, out);
}

/* All ways must agree before any is timed. */
static void compare(const struct bench *b)
{
	unsigned words = scd_index_words(b->index);

	scd_index_lookup_many(b->index, b->keys, NKEYS, b->answers);
	for (size_t i = 0; i < NKEYS; i++) {
		uint64_t plain[MAX_WORDS], one[MAX_WORDS];

		ask_filters(b, &b->keys[i], plain);
		ask_index(b, &b->keys[i], one);
		if (memcmp(plain, one, words * 8) != 0 ||
		    memcmp(plain, b->answers + i * words, words * 8) != 0)
			die("the index and the filters differ");
	}
}

static double time_independent_ns(const struct bench *b, lookup_fn *lookup)
{
	unsigned words = scd_index_words(b->index);
	double best_s = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begin_s = clock_used_s();

		for (size_t i = 0; i < NKEYS; i++)
			lookup(b, &b->keys[i], b->answers + i * words);
		clock_best(&best_s, begin_s);
	}
	return best_s * 1e9 / NKEYS;
}

static double time_dependent_ns(const struct bench *b, lookup_fn *lookup)
{
	volatile uint64_t zero = 0;
	uint64_t none = zero;
	double best_s = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t out[MAX_WORDS] = { 0 };
		double begin_s = clock_used_s();

		for (size_t i = 0; i < NKEYS; i++) {
			struct scd_key key = b->keys[i];

			key.lo ^= out[0] & none;
			lookup(b, &key, out);
		}
		clock_best(&best_s, begin_s);
	}
	return best_s * 1e9 / NKEYS;
}

static double time_many_ns(const struct bench *b)
{
	double best_s = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begin_s = clock_used_s();

		scd_index_lookup_many(b->index, b->keys, NKEYS, b->answers);
		clock_best(&best_s, begin_s);
	}
	return best_s * 1e9 / NKEYS;
}

/* A column goes over to other objects of the peer, and back. */
static double time_set_ms(struct bench *b)
{
	struct scd_bloom other;
	double best_s = 0;

	fill(b, &other, 0, b->nobjects);
	for (int round = 0; round < ROUNDS; round++) {
		double begin_s = clock_used_s();

		need(scd_index_set(b->index, 0,
				   round % 2 ? &b->filters[0] : &other));
		clock_best(&best_s, begin_s);
	}
	need(scd_index_set(b->index, 0, &b->filters[0]));
	scd_bloom_free(&other);
	return best_s * 1e3;
}

/* All columns at once. */
static double time_fill_ms(struct bench *b)
{
	double best_s = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begin_s = clock_used_s();

		need(scd_index_fill(b->index, b->columns, b->npeers));
		clock_best(&best_s, begin_s);
	}
	return best_s * 1e3;
}

/* A column of which one object in a hundred is replaced; it is flipped, and
 * flipped back, an even number of times. */
static double time_flip_ms(struct bench *b, uint64_t *nflips)
{
	struct scd_bloom flips;
	double best_s = 0;

	fill(b, &flips, 0, b->nobjects / 100);
	need(scd_bloom_xor(&flips, &b->filters[0]));
	*nflips = scd_bloom_ones(&flips);
	for (int round = 0; round < ROUNDS * 2; round++) {
		double begin_s = clock_used_s();

		need(scd_index_flip(b->index, 0, &flips));
		clock_best(&best_s, begin_s);
	}
	scd_bloom_free(&flips);
	return best_s * 1e3;
}

static void run(struct bench *b)
{
	double megabytes, plain[2], one[2], many, fill_ms, set_ms, flip_ms;
	uint64_t nflips;

	set_up(b);
	compare(b);
	plain[0] = time_independent_ns(b, ask_filters);
	plain[1] = time_dependent_ns(b, ask_filters);
	one[0] = time_independent_ns(b, ask_index);
	one[1] = time_dependent_ns(b, ask_index);
	many = time_many_ns(b);
	fill_ms = time_fill_ms(b);
	set_ms = time_set_ms(b);
	flip_ms = time_flip_ms(b, &nflips);
	compare(b);
	megabytes = (double)scd_index_bytes(b->nbits, b->npeers) / 1e6;
	printf("%5u %5u %7.1f %7.1f | %7.1f %7.1f | %7.1f %7.1f %7.1f |"
	       " %7.1f %7.2f %7.3f %8" PRIu64 "\n",
	       b->npeers, scd_index_columns(b->index) / 8,
	       (double)(b->nbits / 8 * b->npeers) / 1e6, megabytes, plain[0],
	       plain[1], one[0], one[1], many, fill_ms, set_ms, flip_ms,
	       nflips);
	fflush(stdout);
	tear_down(b);
}

static double number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || value < 1 || value > 1e12)
		die("usage: bench_index [objects [bits [hashes [peers...]]]]");
	return value;
}

static void head(const struct bench *b, double bits)
{
	printf("%" PRIu64 " objects a peer, %g bits an object: 2^%d bits; "
	       "%u hash functions; seed %d\n",
	       b->nobjects, bits, __builtin_ctzll(b->nbits), b->nhash, SEED);
	printf("            filters   index | filters [ns]    | index [ns]"
	       "              | all [ms] a column [ms]\n");
	printf("peers row/B      MB      MB |    free  depend |    free  depend"
	       "    many |    fill     set 1%%-flip    flips\n");
}

int main(int argc, char **argv)
{
	static const unsigned peers[] = { 4, 16, 64, 256 };
	static struct bench b;
	double bits = argc > 2 ? number(argv[2]) : 14;

	b.nobjects = (uint64_t)(argc > 1 ? number(argv[1]) : 1e6);
	b.nhash = (unsigned)(argc > 3 ? number(argv[3]) : 2);
	b.nbits = SCD_INDEX_MIN_ROWS;
	while ((double)b.nbits < bits * (double)b.nobjects)
		b.nbits *= 2;
	head(&b, bits);
	for (int i = 0; i < (argc > 4 ? argc - 4 : 4); i++) {
		b.npeers = argc > 4 ? (unsigned)number(argv[4 + i]) : peers[i];
		if (b.npeers > MAX_PEERS)
			die("too many peers");
		run(&b);
	}
	return 0;
}
