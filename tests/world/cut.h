/*
 * What is left out of a world, and how to find the least that still fails.
 *
 * A choice is a hash of the seed, its kind and the number of what it is about,
 * so that leaving some out does not change the others.
 */
#ifndef TESTS_WORLD_CUT_H
#define TESTS_WORLD_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row each: name, how often it happens. */
/* clang-format off */
#define CUT_WORDS(X) \
	X(refused,     wire_weather.faults.refused) \
	X(black_hole,  wire_weather.faults.black_hole) \
	X(cut,         wire_weather.faults.cut) \
	X(silent,      wire_weather.faults.silent) \
	X(restarts,    world.restarts) \
	X(partings,    world.partings) \
	X(jumps,       world.jumps) \
	X(reloads,     world.reloads) \
	X(keys,        world.keys) \
	X(full,        world_disk_faults.full) \
	X(write_errors, world_disk_faults.write_errors) \
	X(read_errors, world_disk_faults.read_errors) \
	X(flips,       world_disk_faults.flips) \
	X(failing,     world.origin.failing) \
	X(others,      world.origin.others) \
	X(deaths,      world.deaths) \
	X(pausing,     world.origin.pausing) \
	X(early,       world.origin.early) \
	X(leaving,     world.clients.leaving) \
	X(slow,        world.clients.slow) \
	X(posts,       world.clients.posts) \
	X(ranges,      world.clients.ranges) \
	X(conditions,  world.clients.conditions) \
	X(validations, world.clients.validations) \
	X(heads,       world.clients.heads) \
	X(uploads,     world.clients.uploads) \
	X(tunnels,     world.clients.tunnels) \
	X(siblings,    world.clients.siblings) \
	X(purges,      world.clients.purges) \
	X(kills,       world.clients.kills) \
	X(strict,      world.strict) \
	X(isolations,  world.isolations) \
	X(locations,   world.nodes.locations) \
	X(splits,      world.locations.splits) \
	X(streams,     world.clients.streams) \
	X(changes,     world.clients.changes)
/* clang-format on */

enum cut_word {
#define X(name, at) CUT_##name,
	CUT_WORDS(X)
#undef X
	CUT_NWORDS
};

/* Numbers of requests, in ascending order. */
struct cut_list {
	size_t n;
	uint64_t at[];
};

struct cut {
	uint64_t requests;
	uint64_t without;      /* words, a bit each */
	unsigned nodes;        /* at most; 0: as many as there are */
	uint32_t urls;         /* the same */
	struct cut_list *only; /* null: all of the requests */
};

bool cut_list_has(const struct cut_list *list, uint64_t number);

/* Of the command line. */
void cut_add_only(struct cut *cut, uint64_t number);
bool cut_add_word(struct cut *cut, const char *word);

/* Prints it as options. */
void cut_print(const struct cut *cut);

/*
 * Runs a world, in processes of their own, with less and less, and prints the
 * least that fails as the whole does. False: the whole does not fail.
 */
bool cut_shrink(struct cut *cut, void (*run)(void));

#endif
