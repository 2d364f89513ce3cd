/*
 * Choices of a seed: a hash of seed, kind and number. Integers only, so that a
 * seed means the same on every machine.
 */
#include "cachesim/world/world.h"

static uint64_t choice_seed, choice_numbers[CHOICE_KINDS];

static uint64_t choice_mix(uint64_t z)
{
	/* the finaliser of SplitMix64 (Steele, Lea, Flood, 2014) */
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t world_hash(uint64_t a, uint64_t b)
{
	return choice_mix(choice_mix(a + UINT64_C(0x9e3779b97f4a7c15)) + b);
}

void world_seed(uint64_t seed)
{
	choice_seed = choice_mix(seed + 1);
	for (size_t i = 0; i < CHOICE_KINDS; i++)
		choice_numbers[i] = 0;
}

void world_restart(enum world_choice kind, uint64_t number)
{
	choice_numbers[kind] = choice_mix(number);
}

uint32_t world_below(enum world_choice kind, uint32_t n)
{
	uint64_t z = choice_mix(choice_seed + ((uint64_t)kind << 56) +
				choice_numbers[kind]++);

	return (uint32_t)((z >> 32) * n >> 32);
}

bool world_happens(enum world_choice kind, unsigned permille)
{
	return permille && world_below(kind, 1000) < permille;
}

uint32_t world_skewed(enum world_choice kind, uint32_t lowest,
		      uint32_t highest)
{
	uint32_t doublings = 0;

	while (highest >> doublings > lowest)
		doublings++;
	doublings = world_below(kind, doublings + 1);
	return lowest + world_below(kind, (lowest << doublings) - lowest + 1);
}
