/*
 * What the arena of bodies costs while it is full and bodies come and go:
 *
 *   bench_arena [MIB]     of bodies (400)
 *
 * Some of them are sent, to nowhere. Those that go are the oldest, as of a
 * queue; any, which is the worst there is; or any of the oldest tenth but for
 * one in ten, as where what is used lives longer. `held` is what the kernel has
 * for a byte of bodies, at its highest; `copied` the segments that were moved,
 * for each segment's worth of new bodies; then the processor's time for a MiB
 * of these, which is copied in.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/arena.h"
#include "tests/bench/clock.h"
#include "tests/codec/random.h"

enum { KIB = 1024, MIB = 1 << 20, SEGMENT = 2 * MIB, TIMES = 4 };

enum order { OLDEST, ANY, RATHER_OLD, ORDERS };

static const char *const orders[ORDERS] = { "the oldest", "any",
					    "rather old ones" };

struct bench_body {
	char *at;
	size_t size;
};

/* Bodies in the order in which they came. */
static struct bench {
	struct arena *arena;
	struct bench_body *bodies;
	size_t n, bytes, stored;
	double held; /* at its highest */
	uint64_t x;
	int nowhere;
	char source[MIB];
} at;

static size_t pick(enum order order)
{
	switch (order) {
	case OLDEST:
		break;
	case ANY:
		return random_below(&at.x, at.n);
	case RATHER_OLD:
		if (random_below(&at.x, 10))
			return random_below(&at.x, at.n / 10 + 1);
		return random_below(&at.x, at.n);
	case ORDERS:
		break;
	}
	return 0;
}

static void drop(size_t i)
{
	at.bytes -= at.bodies[i].size;
	arena_drop(at.arena, at.bodies[i].at);
	at.n--;
	memmove(&at.bodies[i], &at.bodies[i + 1],
		(at.n - i) * sizeof(at.bodies[0]));
}

static void store(size_t size, unsigned sent_percent)
{
	struct bench_body b = { arena_take(at.arena, size), size };
	size_t sent = random_below(&at.x, 100) < sent_percent ? 0 : size;

	if (!b.at) {
		fprintf(stderr, "bench_arena: no memory\n");
		exit(1);
	}
	memcpy(b.at, at.source, size);
	arena_seal(at.arena, b.at);
	while (sent < size) {
		ssize_t n = arena_send(at.arena, at.nowhere, b.at + sent,
				       size - sent);

		if (n < 0)
			exit(1);
		sent += (size_t)n;
	}
	at.bodies[at.n++] = b;
	at.bytes += size;
	at.stored += size;
}

static void note_held(void)
{
	struct arena_stats s;

	arena_stats(at.arena, &s);
	if (at.held < (double)s.held / (double)at.bytes)
		at.held = (double)s.held / (double)at.bytes;
}

struct row {
	size_t least, most; /* bytes of a body */
	unsigned sent_percent;
};

/* Stores so many bytes in place of others. */
static void turn_over(const struct row *row, enum order order, size_t full,
		      size_t bytes)
{
	at.stored = 0;
	while (at.stored < bytes) {
		size_t size = row->least +
			      random_below(&at.x, row->most - row->least + 1);

		while (at.bytes + size > full)
			drop(pick(order));
		store(size, row->sent_percent);
		if (bytes > full)
			note_held();
	}
}

static void measure(const struct row *row, enum order order, size_t full)
{
	struct arena_stats before, after;
	double begin;

	at.held = 0;
	if (arena_new(&at.arena, 4 * full + 64 * (size_t)MIB))
		exit(1);
	turn_over(row, order, full, full);
	arena_stats(at.arena, &before);
	begin = clock_used_s();
	turn_over(row, order, full, TIMES * full);
	arena_stats(at.arena, &after);
	printf("| %zu to %zu KiB | %u %% | %s | %.2f | %.2f | %.0f us |\n",
	       row->least / KIB, row->most / KIB, row->sent_percent,
	       orders[order], at.held,
	       (double)(after.moved - before.moved) * SEGMENT /
		       (double)at.stored,
	       (clock_used_s() - begin) / (double)at.stored * MIB * 1e6);
	fflush(stdout);
	while (at.n)
		drop(at.n - 1);
	arena_free(&at.arena);
}

int main(int argc, char **argv)
{
	static const struct row rows[] = {
		{ 33 * KIB, 300 * KIB, 0 },
		{ 33 * KIB, 300 * KIB, 30 },
		{ 33 * KIB, 300 * KIB, 100 },
		{ MIB, MIB, 50 },
	};
	size_t full = (argc > 1 ? strtoul(argv[1], NULL, 10) : 400) * MIB;

	at.nowhere = open("/dev/null", O_WRONLY);
	at.bodies = calloc(full / (32 * KIB) + 1, sizeof(at.bodies[0]));
	if (at.nowhere < 0 || !at.bodies || !full)
		return 1;
	printf("| bodies | sent | those that go | held | copied | a MiB |\n"
	       "|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int order = 0; order < ORDERS; order++)
			measure(&rows[i], (enum order)order, full);
	free(at.bodies);
	return 0;
}
