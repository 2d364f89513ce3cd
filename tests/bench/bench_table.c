/*
 * What a lookup in all peers costs in a table of lists, beside an index of
 * filters of as few false positives; what both take of memory; and what it
 * costs to fill a table and to change it.
 *
 *     bench_table [objects [bits an object [hash functions [peers[/holders]
 *                 ...]]]]
 *
 * by default 1e6 32 3 64 64/2 64/4 64/8 64/32 256. The number of bits is
 * rounded up to a power of two. Each object is held by so many peers, by one
 * if nothing is said; half of the keys looked up are held, the others by
 * nobody. Index and table take turns, and each time is the best of several
 * rounds, of what the thread had a processor. BENCH_ENGINE in the environment:
 * the name of the table's engine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/index.h"
#include "codec/table.h"
#include "tests/bench/clock.h"
#include "tests/bench/pages.h"
#include "tests/codec/random.h"

enum {
	SEED = 2026,
	NKEYS = 1 << 19, /* so that no cache has all that they touch */
	ROUNDS = 5,
	MAX_PEERS = SCD_TABLE_MAX_PEERS,
	MAX_WORDS = 16,
	NSMALL = 100, /* entries of a small change */
};

struct bench {
	uint64_t n, nbits;
	unsigned nhash, width, npeers, holders;
	struct scd_list *lists[MAX_PEERS];
	struct scd_index *index;
	struct scd_table *table;
	struct scd_key keys[NKEYS];
	uint64_t *answers; /* NKEYS, MAX_WORDS each */
	uint64_t seed;
};

/* The best times [s]. */
struct cost {
	double index_many_s, index_one_s;
	double table_many_s, table_one_s;
	double fill_s, small_s, large_s;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_table: %s\n", what);
	exit(1);
}

static void need(int error)
{
	if (error)
		die(scd_strerror(error));
}

static struct scd_key key_of(uint64_t group, uint64_t object)
{
	uint64_t state = SEED ^ group << 40 ^ object;
	uint64_t lo = random_next(&state);

	return (struct scd_key){lo, random_next(&state)};
}

static uint64_t *numbers(uint64_t n)
{
	uint64_t *out = malloc((size_t)(n + 1) * sizeof(*out));

	if (!out)
		die("no memory");
	return out;
}

/* Gives a peer's objects to its list, and to its column of the index. */
static void fill_peer(struct bench *b, unsigned peer)
{
	struct scd_list_change c = {.added = numbers(b->n),
				    .nadded = (size_t)b->n};
	struct scd_bloom filter;

	need(scd_bloom_init(&filter, b->nbits, b->nhash));
	for (uint64_t i = 0; i < b->n; i++) {
		const struct scd_key key = key_of(peer / b->holders, i);

		c.added[i] = scd_fingerprint(&key, b->width);
		scd_bloom_add(&filter, &key);
	}
	need(scd_index_set(b->index, peer, &filter));
	need(scd_list_new(&b->lists[peer], b->width, 1));
	need(scd_list_change_sort(&c));
	need(scd_list_change(b->lists[peer], &c, 1));
	scd_list_change_free(&c);
	scd_bloom_free(&filter);
}

/* The width that makes as few false positives as the filters. */
static unsigned width_for(const struct bench *b)
{
	struct scd_bloom filter;
	unsigned width;

	need(scd_bloom_init(&filter, b->nbits, b->nhash));
	for (uint64_t i = 0; i < b->n; i++) {
		const struct scd_key key = key_of(0, i);

		scd_bloom_add(&filter, &key);
	}
	width = scd_list_width(b->n, scd_bloom_fp(&filter));
	scd_bloom_free(&filter);
	if (!width)
		die("no width of a list is enough");
	return width;
}

static void fill_table(struct bench *b, struct cost *cost)
{
	const char *engine = getenv("BENCH_ENGINE");
	const double begin_s = clock_used_s();

	need(scd_table_new(&b->table, b->npeers));
	if (engine)
		need(scd_table_set_engine(b->table, engine));
	need(scd_table_reserve(b->table, b->npeers * b->n));
	for (unsigned i = 0; i < b->npeers; i++)
		need(scd_table_set(b->table, i, b->lists[i]));
	scd_table_reclaim(b->table, scd_table_epoch(b->table));
	clock_best(&cost->fill_s, begin_s);
}

static void choose_keys(struct bench *b)
{
	for (size_t i = 0; i < NKEYS; i++) {
		uint64_t peer = random_below(&b->seed, b->npeers);
		uint64_t object = random_below(&b->seed, b->n);

		b->keys[i] = key_of(i % 2 ? peer / b->holders : MAX_PEERS,
				    object);
	}
}

static void set_up(struct bench *b, struct cost *cost)
{
	size_t bytes;
	void *rows;

	need(scd_index_new(&b->index, b->nbits, b->npeers));
	rows = scd_index_memory(b->index, &bytes);
	pages_large(rows, bytes);
	for (unsigned i = 0; i < b->npeers; i++)
		fill_peer(b, i);
	fill_table(b, cost);
	b->answers = numbers((uint64_t)NKEYS * MAX_WORDS);
	memset(b->answers, 0, (size_t)NKEYS * MAX_WORDS * 8);
	choose_keys(b);
}

static void tear_down(struct bench *b)
{
	scd_table_free(&b->table);
	scd_index_free(&b->index);
	for (unsigned i = 0; i < b->npeers; i++)
		scd_list_free(&b->lists[i]);
	free(b->answers);
}

/* Lookups */

static void look_up(struct bench *b, struct cost *cost)
{
	uint64_t one[MAX_WORDS];
	double begin_s = clock_used_s();

	scd_index_lookup_many(b->index, b->keys, NKEYS, b->answers);
	clock_best(&cost->index_many_s, begin_s);
	begin_s = clock_used_s();
	for (size_t i = 0; i < NKEYS; i++)
		scd_index_lookup(b->index, &b->keys[i], one);
	clock_best(&cost->index_one_s, begin_s);
	begin_s = clock_used_s();
	for (size_t i = 0; i < NKEYS; i++)
		scd_table_lookup(b->table, &b->keys[i], one);
	clock_best(&cost->table_one_s, begin_s);
	begin_s = clock_used_s();
	scd_table_lookup_many(b->table, b->keys, NKEYS, b->answers);
	clock_best(&cost->table_many_s, begin_s);
}

/* Peers a lookup that do not hold the key; all that do must be there. */
static double lies(const struct bench *b)
{
	const unsigned words = scd_table_words(b->table);
	uint64_t all = 0;

	for (size_t i = 0; i < NKEYS; i++) {
		unsigned n = 0;

		for (unsigned w = 0; w < words; w++)
			n += (unsigned)__builtin_popcountll(
				b->answers[i * words + w]);
		if (i % 2 && n == 0)
			die("a key is missed");
		all += n;
	}
	return (double)all / NKEYS - b->holders / 2.;
}

/* Changes */

/* Of n entries spread over a list, and n at random. */
static struct scd_list_change change_of(struct bench *b, unsigned peer,
					uint64_t n)
{
	struct scd_list_change c = {.removed = numbers(n),
				    .added = numbers(n),
				    .nremoved = (size_t)n,
				    .nadded = (size_t)n};

	for (uint64_t i = 0; i < n; i++) {
		scd_list_entries(b->lists[peer], (b->n - 2) * i / n, 1,
				 &c.removed[i]);
		c.added[i] = random_next(&b->seed) >> (64 - b->width);
	}
	need(scd_list_change_sort(&c));
	return c;
}

static void change(struct bench *b, uint64_t n, double *best_s)
{
	for (unsigned i = 0; i < 2 * ROUNDS; i++) {
		const unsigned peer = i % b->npeers;
		struct scd_list_change c = change_of(b, peer, n);
		const double begin_s = clock_used_s();

		need(scd_table_change(b->table, peer, &c, 2 + i));
		clock_best(best_s, begin_s);
		scd_list_change_free(&c);
	}
}

static double list_bytes(const struct bench *b)
{
	double bytes = 0;

	for (unsigned i = 0; i < b->npeers; i++)
		bytes += (double)scd_list_memory(b->lists[i]);
	return bytes;
}

static void print(const struct bench *b, const struct cost *cost,
		  double table_bytes)
{
	const double ns = 1e9 / NKEYS;
	const double entries = (double)b->npeers * (double)b->n;

	printf("%5u %7u | %6.2f %6.1f %6.1f | %6.2f %5.2f %6.1f %6.1f %6.4f | "
	       "%5.2f %5.2f | %6.1f %7.3f %7.3f\n",
	       b->npeers, b->holders,
	       (double)scd_index_bytes(b->nbits, b->npeers) / entries,
	       cost->index_many_s * ns, cost->index_one_s * ns,
	       table_bytes / entries, list_bytes(b) / entries,
	       cost->table_many_s * ns, cost->table_one_s * ns, lies(b),
	       cost->table_many_s / cost->index_many_s,
	       cost->table_one_s / cost->index_one_s,
	       cost->fill_s * 1e9 / entries, cost->small_s * 1e3,
	       cost->large_s * 1e3);
	fflush(stdout);
}

static void run(struct bench *b)
{
	struct cost cost = {0};
	double bytes;

	b->seed = SEED;
	set_up(b, &cost);
	bytes = (double)scd_table_memory(b->table);
	for (unsigned i = 0; i < ROUNDS; i++)
		look_up(b, &cost);
	change(b, b->n < NSMALL ? 1 : NSMALL, &cost.small_s);
	change(b, b->n < NSMALL ? 1 : b->n / 100, &cost.large_s);
	print(b, &cost, bytes);
	tear_down(b);
}

static double number(const char *text, char **end)
{
	const double value = strtod(text, end);

	if (*end == text || value < 1 || value > 1e9)
		die("usage: bench_table [objects [bits [hashes "
		    "[peers[/holders]...]]]]");
	return value;
}

static double only_number(const char *text)
{
	char *end;
	const double value = number(text, &end);

	if (*end)
		die("a number is wrong");
	return value;
}

/* Peers, and the holders of an object. */
static void choose_peers(struct bench *b, const char *text)
{
	char *end;

	b->npeers = (unsigned)number(text, &end);
	b->holders = *end == '/' ? (unsigned)only_number(end + 1) : 1;
	if (b->npeers > MAX_PEERS || b->npeers % b->holders)
		die("peers: 1 to 1023, a multiple of the holders");
}

static void head(const struct bench *b)
{
	printf("%" PRIu64 " objects a peer; lists of width %u; index of 2^%d "
	       "bits, %u hash functions; seed %d\n",
	       b->n, b->width, __builtin_ctzll(b->nbits), b->nhash, SEED);
	printf("              | index                | table"
	       "                             | table/index | table\n");
	printf("peers holders | B/ent.   many    one | B/ent.  list   many    "
	       "one   lies |  many   one |   fill %3d in,o  1 %% in,o\n",
	       NSMALL);
}

int main(int argc, char **argv)
{
	static const char *const rows[] = {"64",   "64/2",  "64/4",
					   "64/8", "64/32", "256"};
	const int nrows = (int)(sizeof(rows) / sizeof(rows[0]));
	static struct bench b;
	const double bits = argc > 2 ? only_number(argv[2]) : 32;

	b.n = (uint64_t)(argc > 1 ? only_number(argv[1]) : 1e6);
	b.nhash = (unsigned)(argc > 3 ? only_number(argv[3]) : 3);
	for (b.nbits = 64; (double)b.nbits < bits * (double)b.n;)
		b.nbits *= 2;
	b.width = width_for(&b);
	head(&b);
	for (int i = 0; i < (argc > 4 ? argc - 4 : nrows); i++) {
		choose_peers(&b, argc > 4 ? argv[4 + i] : rows[i]);
		run(&b);
	}
	return 0;
}
