/*
 * What a decision of an admission filter costs: scd_admission_use() one by
 * one, and many at a time; and how often strangers are taken for seen.
 *
 *     bench_admission [window...]
 *
 * by default 1e5 1e6 1e7 keys. Before the first round, the filter has seen
 * three windows of keys. Half of the decisions are about keys of the window,
 * the others about new ones. Times are those that the thread had a processor,
 * medians of several rounds. BENCH_SMALL_PAGES=1 in the environment: without
 * asking for large pages.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/admission.h"
#include "tests/bench/clock.h"
#include "tests/bench/pages.h"
#include "tests/codec/random.h"

enum {
	ROUNDS = 9,
	NKEYS = 1 << 20, /* decisions of a round */
	STRANGERS = 1 << 22,
};

struct bench {
	struct scd_admission *a;
	uint64_t window, next; /* number of the next new key */
	struct scd_key keys[NKEYS];
	bool seen[NKEYS];
};

static void die(const char *what)
{
	fprintf(stderr, "bench_admission: %s\n", what);
	exit(1);
}

static struct scd_key key_of(uint64_t number)
{
	uint64_t lo = random_next(&number);

	return (struct scd_key){ lo, random_next(&number) };
}

static void set_up(struct bench *b, uint64_t window)
{
	size_t bytes;
	void *memory;

	if (scd_admission_new(&b->a, window))
		die("no filter");
	memory = scd_admission_memory(b->a, &bytes);
	pages_large(memory, bytes);
	b->window = window;
	for (b->next = 0; b->next < 3 * window; b->next++) {
		struct scd_key key = key_of(b->next);

		scd_admission_note(b->a, &key);
	}
}

static void choose_keys(struct bench *b, uint64_t *seed)
{
	for (size_t i = 0; i < NKEYS; i++) {
		uint64_t ago = 1 + random_below(seed, b->window * 3 / 4);

		b->keys[i] = key_of(i % 2 ? b->next - ago : b->next++);
	}
}

static double one_by_one(struct bench *b)
{
	double begin_s = clock_used_s();

	for (size_t i = 0; i < NKEYS; i++)
		b->seen[i] = scd_admission_use(b->a, &b->keys[i]);
	return clock_used_s() - begin_s;
}

static double many(struct bench *b)
{
	double begin_s = clock_used_s();

	scd_admission_use_many(b->a, b->keys, NKEYS, b->seen);
	return clock_used_s() - begin_s;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_ns(struct bench *b, double (*round)(struct bench *b))
{
	double s[ROUNDS];
	uint64_t seed = 1;

	for (int i = 0; i < ROUNDS; i++) {
		choose_keys(b, &seed);
		s[i] = round(b);
	}
	qsort(s, ROUNDS, sizeof(s[0]), compare);
	return s[ROUNDS / 2] / NKEYS * 1e9;
}

static double false_seen(const struct bench *b)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < STRANGERS; i++) {
		struct scd_key key = key_of((UINT64_C(1) << 60) + i);

		n += scd_admission_seen(b->a, &key);
	}
	return (double)n / STRANGERS;
}

static void run(struct bench *b, uint64_t window)
{
	double one_ns, many_ns;
	size_t bytes;

	set_up(b, window);
	one_ns = median_ns(b, one_by_one);
	many_ns = median_ns(b, many);
	scd_admission_memory(b->a, &bytes);
	printf("%11" PRIu64 " %8.1f %7.2f %9.1f %8.1f %9.1f %8.1f %9.3f\n",
	       window, (double)bytes / 1e6, (double)bytes / (double)window,
	       one_ns, 1e3 / one_ns, many_ns, 1e3 / many_ns,
	       false_seen(b) * 100);
	fflush(stdout);
	scd_admission_free(&b->a);
}

int main(int argc, char **argv)
{
	static const uint64_t windows[] = { 100000, 1000000, 10000000 };
	static struct bench b;

	printf("%11s %8s %7s %18s %18s %9s\n", "window", "memory", "memory",
	       "one by one", "many", "false");
	printf("%11s %8s %7s %9s %8s %9s %8s %9s\n", "[keys]", "[MB]",
	       "[B/key]", "[ns]", "[M/s]", "[ns]", "[M/s]", "seen [%]");
	for (int i = 1; i < argc; i++) {
		double window = strtod(argv[i], NULL);

		if (!(window >= 1e3 && window <= 1e9))
			die("usage: bench_admission [window...]");
		run(&b, (uint64_t)window);
	}
	for (int i = 0; argc == 1 && i < 3; i++)
		run(&b, windows[i]);
	return 0;
}
