/*
 * What a frame of a list costs by rank, and by age where owner and reader keep
 * ages: its size, and the time that they take.
 *
 *     bench_ages [objects [replaced...]]
 *
 * by default 1e6 1 100 1e3 1e4. The list has been replaced twice over, a
 * hundredth at a time. What goes is drawn as caches evict: nine of ten entries
 * are among the oldest, the tenth is any of them. Frames of both forms take
 * turns, and each time is the best of several rounds, of what the thread had a
 * processor. A reader reads, which verifies, and applies in place.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/list.h"
#include "tests/bench/clock.h"
#include "tests/codec/random.h"

enum {
	SEED = 2026,
	ROUNDS = 9,
	INSTANCE = 1,
	TURNOVER = 200, /* changes of a hundredth before all is measured */
	ANY = 10,       /* one of so many goes whatever its age */
	OLDEST = 16,    /* an entry that goes is among the oldest 16th, on
			 * average, of all */
};

static const double FP = 1e-3;
static const uint64_t GONE = UINT64_MAX;

struct bench {
	size_t n;
	unsigned width;
	uint64_t random, generation;
	uint64_t *entries; /* oldest first */
	struct scd_list *list;
};

/* Bytes, and the best times [s]. */
struct cost {
	size_t bytes;
	double encode_s, read_s, apply_s;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_ages: %s\n", what);
	exit(1);
}

static void need(int error)
{
	if (error)
		die(scd_strerror(error));
}

static uint64_t *numbers(size_t n)
{
	uint64_t *out = malloc((n + 1) * sizeof(*out));

	if (!out)
		die("no memory");
	return out;
}

static uint64_t fresh_entry(struct bench *b)
{
	return random_next(&b->random) >> (64 - b->width);
}

/* The age of one that goes: 0 is the oldest. */
static size_t draw_age(struct bench *b)
{
	const double share = ldexp((double)(random_next(&b->random) >> 11),
				   -53);
	const double age = -log1p(-share) * (double)b->n / OLDEST;

	if (random_below(&b->random, ANY) == 0 || age >= (double)b->n)
		return (size_t)random_below(&b->random, b->n);
	return (size_t)age;
}

/* Replace some entries. The change is to be freed. */
static struct scd_list_change replace(struct bench *b, size_t n)
{
	struct scd_list_change c = {.removed = numbers(n),
				    .added = numbers(n),
				    .nremoved = n,
				    .nadded = n};
	size_t left = 0;

	for (size_t i = 0; i < n;) {
		uint64_t *entry = &b->entries[draw_age(b)];

		if (*entry == GONE)
			continue;
		c.removed[i++] = *entry;
		*entry = GONE;
	}
	for (size_t i = 0; i < b->n; i++) {
		if (b->entries[i] != GONE)
			b->entries[left++] = b->entries[i];
	}
	for (size_t i = 0; i < n; i++)
		b->entries[left + i] = c.added[i] = fresh_entry(b);
	need(scd_list_change_sort(&c));
	return c;
}

static void apply(struct bench *b, const struct scd_list_change *c)
{
	need(scd_list_change(b->list, c, ++b->generation));
}

static void set_up(struct bench *b)
{
	struct scd_list_change c = {.nadded = b->n};

	b->random = SEED;
	b->width = scd_list_width(b->n, FP);
	need(scd_list_new(&b->list, b->width, INSTANCE));
	b->entries = numbers(b->n);
	for (size_t i = 0; i < b->n; i++)
		b->entries[i] = fresh_entry(b);
	c.added = numbers(b->n);
	memcpy(c.added, b->entries, b->n * sizeof(*c.added));
	need(scd_list_change_sort(&c));
	apply(b, &c);
	scd_list_change_free(&c);
	need(scd_list_keep_ages(b->list));
	for (int i = 0; i < TURNOVER; i++) {
		c = replace(b, b->n / 100);
		apply(b, &c);
		scd_list_change_free(&c);
	}
}

typedef int encode_fn(const struct scd_list *base,
		      const struct scd_list_change *change,
		      uint64_t generation, uint8_t **out, size_t *out_len);

static void turn(const struct bench *b, const struct scd_list_change *c,
		 encode_fn *encode, struct cost *cost)
{
	struct scd_list_change read;
	uint64_t generation;
	uint8_t *out;
	size_t used;
	double begin_s = clock_used_s();

	need(encode(b->list, c, b->generation + 1, &out, &cost->bytes));
	clock_best(&cost->encode_s, begin_s);
	begin_s = clock_used_s();
	need(scd_list_frame_decode(out, cost->bytes, NULL, b->list, &used,
				   &generation, &read));
	clock_best(&cost->read_s, begin_s);
	scd_list_change_free(&read);
	free(out);
}

static void run(struct bench *b, size_t replaced)
{
	struct cost by_rank = {0}, by_age = {0};
	double sum_rank = 0, sum_age = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct scd_list_change c = replace(b, replaced);
		double begin_s;

		turn(b, &c, scd_list_frame_encode, &by_rank);
		turn(b, &c, scd_list_aged_frame_encode, &by_age);
		sum_rank += 8 * (double)by_rank.bytes;
		sum_age += 8 * (double)by_age.bytes;
		begin_s = clock_used_s();
		apply(b, &c);
		clock_best(&by_age.apply_s, begin_s);
		scd_list_change_free(&c);
	}
	sum_rank /= ROUNDS * (double)replaced;
	sum_age /= ROUNDS * (double)replaced;
	printf("%8zu | %7.2f %9.3f %9.3f | %7.2f %9.3f %9.3f | %9.3f\n",
	       replaced, sum_rank, by_rank.encode_s * 1e3,
	       by_rank.read_s * 1e3, sum_age, by_age.encode_s * 1e3,
	       by_age.read_s * 1e3, by_age.apply_s * 1e3);
	fflush(stdout);
}

static void head(const struct bench *b)
{
	uint8_t *out;
	size_t len;

	need(scd_list_ages_encode(b->list, &out, &len));
	free(out);
	printf("%zu objects; list of width %u with ages, memory %.2f bytes an "
	       "object; ages take %.2f bits an object; seed %d\n",
	       b->n, b->width,
	       (double)scd_list_memory(b->list) / (double)b->n,
	       8 * (double)len / (double)b->n, SEED);
	printf("         | by rank                     | by age"
	       "                      |\n");
	printf("replaced | bits/ob encode ms   read ms | bits/ob encode ms"
	       "   read ms |  apply ms\n");
}

static size_t number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || value < 1 || value > 1e9)
		die("usage: bench_ages [objects [replaced...]]");
	return (size_t)value;
}

int main(int argc, char **argv)
{
	static const size_t replaced[] = {1, 100, 1000, 10000};
	struct bench b = {.n = argc > 1 ? number(argv[1]) : 1000000};

	set_up(&b);
	head(&b);
	for (int i = 0; i < (argc > 2 ? argc - 2 : 4); i++) {
		const size_t n = argc > 2 ? number(argv[2 + i]) : replaced[i];

		if (n <= b.n / 2)
			run(&b, n);
	}
	scd_list_free(&b.list);
	free(b.entries);
	return 0;
}
