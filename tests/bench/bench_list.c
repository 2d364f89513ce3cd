/*
 * What an update costs as a list, and as an array of bits with a conditional
 * delta: its size, and the time that owner and reader take. Both have the same
 * keys; the list is as wide as gives it the array's rate of false positives.
 *
 *     bench_list [objects [bits an object [hash functions [replaced...]]]]
 *
 * by default 1e6 32 3 1 100 1e3 1e4 1e5. The number of bits is rounded up to a
 * power of two. Lists and arrays take turns, and each time is the best of
 * several rounds, of what the thread had a processor. What a reader of a list
 * does is "read", which verifies, and "apply", in place; what one of an array
 * does is both, into a copy.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/bloom.h"
#include "codec/delta.h"
#include "codec/list.h"
#include "tests/bench/clock.h"
#include "tests/codec/random.h"

enum { SEED = 2026, ROUNDS = 7, INSTANCE = 1 };

struct bench {
	uint64_t n, nbits;
	unsigned nhash, width;
	struct scd_list *list;
	struct scd_bloom array;
};

/* Bytes, and the best times [s]. */
struct cost {
	size_t bytes;
	double encode_s, read_s, apply_s;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_list: %s\n", what);
	exit(1);
}

static void need(int error)
{
	if (error)
		die(scd_strerror(error));
}

static struct scd_key key_of(uint64_t object)
{
	uint64_t state = SEED ^ object << 8;
	uint64_t lo = random_next(&state);

	return (struct scd_key){lo, random_next(&state)};
}

/* n fingerprints of objects from one on; room for one at least. */
static uint64_t *fingerprints(const struct bench *b, uint64_t first, uint64_t n)
{
	uint64_t *out = malloc((size_t)(n + 1) * sizeof(*out));

	if (!out)
		die("no memory");
	for (uint64_t i = 0; i < n; i++) {
		const struct scd_key key = key_of(first + i);

		out[i] = scd_fingerprint(&key, b->width);
	}
	return out;
}

/* The array of objects from one on. */
static struct scd_bloom array_of(const struct bench *b, uint64_t first)
{
	struct scd_bloom array;

	need(scd_bloom_init(&array, b->nbits, b->nhash));
	for (uint64_t i = first; i < first + b->n; i++) {
		const struct scd_key key = key_of(i);

		scd_bloom_add(&array, &key);
	}
	return array;
}

/* The objects 0..n - 1. */
static void set_up(struct bench *b)
{
	struct scd_list_change c = {.nadded = (size_t)b->n};

	b->array = array_of(b, 0);
	b->width = scd_list_width(b->n, scd_bloom_fp(&b->array));
	if (!b->width)
		die("no width of a list is enough");
	need(scd_list_new(&b->list, b->width, INSTANCE));
	c.added = fingerprints(b, 0, b->n);
	need(scd_list_change_sort(&c));
	need(scd_list_change(b->list, &c, 1));
	scd_list_change_free(&c);
}

static struct cost cost_of_full_list(const struct bench *b)
{
	struct cost cost = {0};

	for (int i = 0; i < ROUNDS; i++) {
		struct scd_list *back;
		uint8_t *out;
		double begin_s = clock_used_s();

		need(scd_list_encode(b->list, &out, &cost.bytes));
		clock_best(&cost.encode_s, begin_s);
		begin_s = clock_used_s();
		need(scd_list_decode(out, cost.bytes, NULL, NULL, &back));
		clock_best(&cost.read_s, begin_s);
		scd_list_free(&back);
		free(out);
	}
	return cost;
}

static struct cost cost_of_full_array(const struct bench *b)
{
	const struct scd_digest_info ids = {
		.instance = INSTANCE, .generation = 1, .nkeys = b->n};
	struct cost cost = {0};

	for (int i = 0; i < ROUNDS; i++) {
		struct scd_bloom back;
		uint8_t *out;
		double begin_s = clock_used_s();

		need(scd_digest_encode(&b->array, &ids, &out, &cost.bytes));
		clock_best(&cost.encode_s, begin_s);
		begin_s = clock_used_s();
		need(scd_digest_decode(out, cost.bytes, NULL, NULL, &back));
		clock_best(&cost.read_s, begin_s);
		scd_bloom_free(&back);
		free(out);
	}
	return cost;
}

static void turn_list(struct bench *b, const struct scd_list_change *c,
		      struct cost *cost)
{
	const struct scd_list_change back = {.removed = c->added,
					     .added = c->removed,
					     .nremoved = c->nadded,
					     .nadded = c->nremoved};
	struct scd_digest_info info;
	struct scd_list_change read;
	uint8_t *out;
	double begin_s = clock_used_s();

	need(scd_list_delta_encode(b->list, c, 2, &out, &cost->bytes));
	clock_best(&cost->encode_s, begin_s);
	begin_s = clock_used_s();
	need(scd_list_delta_decode(out, cost->bytes, NULL, b->list, &info,
				   &read));
	clock_best(&cost->read_s, begin_s);
	begin_s = clock_used_s();
	need(scd_list_change(b->list, &read, info.generation));
	clock_best(&cost->apply_s, begin_s);
	need(scd_list_change(b->list, &back, 1));
	scd_list_change_free(&read);
	free(out);
}

static void turn_array(const struct bench *b, const struct scd_bloom *next,
		       struct cost *cost)
{
	const struct scd_digest_info ids = {.instance = INSTANCE,
					    .generation = 2,
					    .base_generation = 1,
					    .nkeys = b->n};
	const struct scd_base base = {&b->array, INSTANCE, 1, {0}};
	struct scd_bloom back;
	uint8_t *out;
	double begin_s = clock_used_s();

	need(scd_delta_encode_conditional(&b->array, next, &ids, &out,
					  &cost->bytes));
	clock_best(&cost->encode_s, begin_s);
	begin_s = clock_used_s();
	need(scd_delta_apply(out, cost->bytes, NULL, &base, NULL, &back));
	clock_best(&cost->read_s, begin_s);
	scd_bloom_free(&back);
	free(out);
}

/* The first objects are replaced by others. */
static void run(struct bench *b, uint64_t replaced)
{
	struct scd_list_change c = {.removed = fingerprints(b, 0, replaced),
				    .added = fingerprints(b, b->n, replaced),
				    .nremoved = (size_t)replaced,
				    .nadded = (size_t)replaced};
	struct scd_bloom next = array_of(b, replaced);
	struct cost list = {0}, array = {0};

	need(scd_list_change_sort(&c));
	for (int i = 0; i < ROUNDS; i++) {
		turn_list(b, &c, &list);
		turn_array(b, &next, &array);
	}
	printf("%8" PRIu64 " | %8zu %7.2f %8.3f %8.3f %8.3f | %8zu %7.2f %8.3f "
	       "%8.3f\n",
	       replaced, list.bytes, 8. * (double)list.bytes / (double)replaced,
	       list.encode_s * 1e3, list.read_s * 1e3, list.apply_s * 1e3,
	       array.bytes, 8. * (double)array.bytes / (double)replaced,
	       array.encode_s * 1e3, array.read_s * 1e3);
	fflush(stdout);
	scd_bloom_free(&next);
	scd_list_change_free(&c);
}

static void head(const struct bench *b)
{
	const struct cost list = cost_of_full_list(b);
	const struct cost array = cost_of_full_array(b);
	const double n = (double)b->n;

	printf("%" PRIu64 " objects; list of width %u, f %.3g; array of 2^%d "
	       "bits, %u hash functions, f %.3g; seed %d\n",
	       b->n, b->width, n / ldexp(1, (int)b->width),
	       __builtin_ctzll(b->nbits), b->nhash, scd_bloom_fp(&b->array),
	       SEED);
	printf("list:  %10zu bytes in full, %6.3f bits an object, memory %.2f "
	       "bytes; encode %.1f, read %.1f ns an object\n",
	       list.bytes, 8. * (double)list.bytes / n,
	       (double)scd_list_memory(b->list) / n, list.encode_s * 1e9 / n,
	       list.read_s * 1e9 / n);
	printf("array: %10zu bytes in full, %6.3f bits an object, memory %.2f "
	       "bytes; encode %.1f, read %.1f ns an object\n",
	       array.bytes, 8. * (double)array.bytes / n,
	       (double)b->nbits / 8 / n, array.encode_s * 1e9 / n,
	       array.read_s * 1e9 / n);
	printf("         | list of fingerprints                         | "
	       "array, conditional\n");
	printf("replaced |    bytes bits/ob encode   read ms    apply |    "
	       "bytes bits/ob   encode read, ms\n");
}

static double number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || value < 1 || value > 1e9)
		die("usage: bench_list [objects [bits [hashes "
		    "[replaced...]]]]");
	return value;
}

int main(int argc, char **argv)
{
	static const double shares[] = {1, 100, 1e3, 1e4, 1e5};
	struct bench b = {0};
	double bits = argc > 2 ? number(argv[2]) : 32;

	b.n = (uint64_t)(argc > 1 ? number(argv[1]) : 1e6);
	b.nhash = (unsigned)(argc > 3 ? number(argv[3]) : 3);
	for (b.nbits = 64; (double)b.nbits < bits * (double)b.n;)
		b.nbits *= 2;
	set_up(&b);
	head(&b);
	for (int i = 0; i < (argc > 4 ? argc - 4 : 5); i++) {
		const double replaced =
			argc > 4 ? number(argv[4 + i]) : shares[i];

		if (replaced <= (double)b.n)
			run(&b, (uint64_t)replaced);
	}
	scd_bloom_free(&b.array);
	scd_list_free(&b.list);
	return 0;
}
