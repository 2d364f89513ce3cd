/*
 * Whether threads share the cache, or get into each other's way: what a lookup
 * and an insertion with eviction cost one process, two processes that share
 * nothing, and two threads that share one cache, in processor time.
 *
 *     bench_cache [OBJECTS [MS [ROUNDS [GATE]]]]
 *
 * by default 1e6 objects and 9 rounds of 400 ms. One process sums up: all of
 * them run in turns, each pinned to its processors, so that what else runs on
 * the machine meets them alike; printed are medians of the rounds. A ratio is
 * what two processes need for an operation over what two threads need for it:
 * 1 means that sharing costs nothing. With a GATE, the exit status is 1 unless
 * all ratios reach it.
 */
#define _GNU_SOURCE /* processors to run on */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/disk/cached.h"
#include "tests/bench/clock.h"
#include "tests/codec/random.h"

enum {
	BODY_BYTES = 64,
	OBJECT_BYTES = 360, /* of which the first insertions fit just so */
	TURN = 16,	    /* operations in a turn of a worker's loop */
	MAX_ROUNDS = 99,
	NTHREADS = 2,
	SHARDS = 32, /* as a node with so many workers has them */
};

/* What is measured. */
enum { RANDOM_GET, HOT_GET, PUT, NOPERATIONS };

static const char *const operations[NOPERATIONS] = {
	"lookup, random keys", "lookup, one hot key", "insertion, eviction",
};

/* Who is measured: children, with a cache each; the last one has threads. */
enum { ALONE, BESIDE, THREADS, NCHILDREN };

/* A thread that uses the cache of its process. */
struct bench_thread {
	struct cache *cache;
	struct cache_reader *reader;
	uint64_t nobjects;
	uint64_t random; /* state */
	uint64_t fresh;	 /* the next key that nobody has put yet */
	int cpu, operation;
	double seconds; /* how long to go on */
	double used_s;	/* processor time an operation */
};

/* A child, as the parent sees it. */
struct bench_child {
	pid_t pid;
	int orders, results; /* pipes */
};

static void bench_fail(const char *what)
{
	fprintf(stderr, "bench_cache: %s\n", what);
	exit(2);
}

static struct scd_key bench_key(uint64_t number)
{
	return (struct scd_key){ scd__mix64(number), scd__mix64(~number) };
}

static struct cached *bench_response(void)
{
	static const struct freshness fresh = { .explicit = true };
	struct fields fields;
	const struct cached_head head = { "http://www.example.com/object",
					  &fields, &fields_none, 200, &fresh,
					  false };
	struct cached *c;

	fields_init(&fields);
	fields_add(&fields, "Content-Type", "text/plain");
	fields_add(&fields, "ETag", "\"abcdef\"");
	c = cached_new(&head);
	fields_free(&fields);
	if (!c)
		bench_fail("no memory");
	cached_set_body(c, malloc(BODY_BYTES), BODY_BYTES);
	c->place = ADMISSION_DISK;
	return c;
}

static void bench_put(struct bench_thread *t, uint64_t number)
{
	struct scd_key key = bench_key(number);
	const struct cache_fill fill = { &key, &fields_none, 0, NULL };
	struct cached *c = bench_response();

	bool stored = t->reader ? cache_store(t->reader, &fill, c) :
				  cache_put(t->cache, &fill, c);

	if (!stored)
		bench_fail("an insertion failed");
	cached_unref(&c);
}

/* Whatever is evicted meanwhile, most of the keys are there. */
static void bench_get(struct bench_thread *t, uint64_t number)
{
	struct scd_key key = bench_key(number);
	struct cache_found found;

	cache_lookup(t->reader, &key, &fields_none, &found);
	if (found.counted)
		cached_unref(&found.c);
}

static void bench_operate(struct bench_thread *t)
{
	switch (t->operation) {
	case RANDOM_GET:
		bench_get(t, random_below(&t->random, t->nobjects));
		break;
	case HOT_GET:
		bench_get(t, t->nobjects - 1);
		break;
	default:
		bench_put(t, t->fresh++);
	}
}

static void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	/* only steadies the figures: on one processor it fails */
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void *bench_run(void *arg)
{
	struct bench_thread *t = arg;
	double end_s = clock_now_s() + t->seconds, begin_s;
	uint64_t n = 0;

	bench_pin(t->cpu);
	if (cache_join(t->cache, &t->reader))
		bench_fail("no memory");
	begin_s = clock_used_s();
	do { /* once at least: its turn may come after the end */
		for (int turn = 0; turn < TURN; turn++) {
			cache_wake(t->reader);
			for (int i = 0; i < TURN; i++)
				bench_operate(t);
			cache_rest(t->reader);
		}
		n += (uint64_t)TURN * TURN;
	} while (clock_now_s() < end_s);
	t->used_s = (clock_used_s() - begin_s) / (double)n;
	cache_quit(&t->reader);
	return NULL;
}

/* Runs so many threads at once; the mean of what they used. */
static double bench_run_threads(struct bench_thread *threads, int n)
{
	pthread_t ids[NTHREADS];
	double sum_s = 0;

	for (int i = 0; i < n; i++) {
		if (pthread_create(&ids[i], NULL, bench_run, &threads[i]))
			bench_fail("no thread");
	}
	for (int i = 0; i < n; i++) {
		pthread_join(ids[i], NULL);
		sum_s += threads[i].used_s;
	}
	return sum_s / n;
}

static struct cache *bench_fill(uint64_t nobjects, unsigned shards)
{
	static const uint8_t secret[16] = { 1 };
	struct cache_settings settings = {
		.max_bytes = nobjects * OBJECT_BYTES,
		.max_variants = 32,
		.policy = "sieve",
		.shards = shards,
		.nbits = 1,
		.nhash = 3,
		.bits_per_key = 32,
		.max_bits = UINT64_C(1) << 40,
		.hash_secret = secret,
	};
	struct bench_thread t = { .nobjects = nobjects };

	while (settings.nbits < nobjects * 32)
		settings.nbits *= 2;
	if (cache_new(&settings, &t.cache))
		bench_fail("no cache");
	for (uint64_t i = 0; i < nobjects; i++)
		bench_put(&t, i);
	return t.cache;
}

/* A child: does what it is told until nobody tells it anything. */
static void bench_child(int who, uint64_t nobjects, double seconds)
{
	struct cache *cache = bench_fill(nobjects, who == THREADS ? SHARDS : 1);
	struct bench_thread threads[NTHREADS];
	double used_s = 0;
	char operation;

	for (int i = 0; i < NTHREADS; i++) {
		threads[i] = (struct bench_thread){
			.cache = cache,
			.nobjects = nobjects,
			.random = (uint64_t)i + 1,
			.fresh = (uint64_t)(i + 1) << 40,
			.cpu = who == BESIDE ? 1 : i,
			.seconds = seconds,
		};
	}
	do {
		if (write(STDOUT_FILENO, &used_s, sizeof(used_s)) < 0)
			exit(2);
		if (read(STDIN_FILENO, &operation, 1) != 1)
			break;
		for (int i = 0; i < NTHREADS; i++)
			threads[i].operation = operation;
		used_s = bench_run_threads(threads, who == THREADS ? NTHREADS :
								     1);
	} while (true);
	cache_free(&cache);
	exit(0);
}

static double bench_result(const struct bench_child *child)
{
	double used_s;

	if (read(child->results, &used_s, sizeof(used_s)) !=
	    (ssize_t)sizeof(used_s))
		bench_fail("a child has died");
	return used_s;
}

static void bench_order(const struct bench_child *child, int operation)
{
	char order = (char)operation;

	if (write(child->orders, &order, 1) != 1)
		bench_fail("a child has died");
}

static void bench_start(struct bench_child children[], int who,
			uint64_t nobjects, double seconds)
{
	int orders[2], results[2];

	if (pipe(orders) || pipe(results))
		bench_fail("no pipe");
	children[who].pid = fork();
	if (children[who].pid < 0)
		bench_fail("no process");
	if (!children[who].pid) {
		for (int i = 0; i < who; i++)
			close(children[i].orders);
		close(orders[1]);
		if (dup2(orders[0], STDIN_FILENO) < 0 ||
		    dup2(results[1], STDOUT_FILENO) < 0)
			exit(2);
		bench_child(who, nobjects, seconds);
	}
	close(orders[0]);
	close(results[1]);
	children[who].orders = orders[1];
	children[who].results = results[0];
	bench_result(&children[who]); /* it is ready */
}

static int bench_compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static double bench_median(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), bench_compare);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Measures one operation, prints its row. Returns the ratio. */
static double bench_row(const struct bench_child children[], int operation,
			unsigned rounds)
{
	double alone[MAX_ROUNDS], beside[MAX_ROUNDS], shared[MAX_ROUNDS];
	double ratio[MAX_ROUNDS], median;

	for (unsigned i = 0; i < rounds; i++) {
		bench_order(&children[ALONE], operation);
		alone[i] = bench_result(&children[ALONE]);
		bench_order(&children[ALONE], operation);
		bench_order(&children[BESIDE], operation);
		beside[i] = (bench_result(&children[ALONE]) +
			     bench_result(&children[BESIDE])) / 2;
		bench_order(&children[THREADS], operation);
		shared[i] = bench_result(&children[THREADS]);
		ratio[i] = beside[i] / shared[i];
	}
	median = bench_median(ratio, rounds);
	printf("| %-19s | %9.0f | %13.0f | %11.0f | %5.2f |\n",
	       operations[operation], bench_median(alone, rounds) * 1e9,
	       bench_median(beside, rounds) * 1e9,
	       bench_median(shared, rounds) * 1e9, median);
	fflush(stdout);
	return median;
}

int main(int argc, char **argv)
{
	double nobjects = argc > 1 ? atof(argv[1]) : 1e6;
	double ms = argc > 2 ? atof(argv[2]) : 400;
	unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 9;
	double gate = argc > 4 ? atof(argv[4]) : 0;
	struct bench_child children[NCHILDREN];
	bool good = true;

	if (nobjects < 1000 || ms < 1 || rounds < 1 || rounds > MAX_ROUNDS)
		bench_fail("usage: bench_cache [OBJECTS [MS [ROUNDS [GATE]]]]");
	for (int who = 0; who < NCHILDREN; who++)
		bench_start(children, who, (uint64_t)nobjects, ms / 1000);
	printf("Processor time an operation [ns], %.0f objects\n\n"
	       "| operation           | a process | two processes | "
	       "two threads | ratio |\n|---|---|---|---|---|\n",
	       nobjects);
	fflush(stdout);
	for (int i = 0; i < NOPERATIONS; i++)
		good &= bench_row(children, i, rounds) >= gate;
	for (int who = 0; who < NCHILDREN; who++) {
		close(children[who].orders);
		waitpid(children[who].pid, NULL, 0);
	}
	return good ? 0 : 1;
}
