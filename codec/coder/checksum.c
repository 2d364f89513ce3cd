/*
 * The beginning and the end of a checksum, and what no decoder has added.
 */
#include "codec/coder/checksum.h"

enum {
	CHECKSUM_BLOCK = 1024, /* in the nearest cache when it is read again */
	CHECKSUM_AHEAD = 4096, /* of it, what is fetched meanwhile */
	CHECKSUM_LINE = 64,    /* of a cache */
};

static const uint64_t prime1 = SCD__CHECKSUM_PRIME1;
static const uint64_t prime2 = SCD__CHECKSUM_PRIME2;
static const uint64_t prime3 = UINT64_C(0x165667b19e3779f9);
static const uint64_t prime4 = UINT64_C(0x85ebca77c2b2ae63);
static const uint64_t prime5 = UINT64_C(0x27d4eb2f165667c5);

static uint64_t checksum_rotate(uint64_t word, unsigned n)
{
	return word << n | word >> (64 - n);
}

void scd__checksum_begin(struct scd__checksum *sum, const uint8_t *first,
			 uint64_t seed)
{
	*sum = (struct scd__checksum){
		.first = first,
		.next = first,
		.seed = seed,
		.lane = {seed + prime1 + prime2, seed + prime2, seed,
			 seed - prime1},
	};
}

/*
 * Have what is added next but some fetched. The checksum has multiplications to
 * wait for, so that takes no time; but the processor fetches too late by itself
 * if another has made the bytes. It may be an address beyond the end.
 */
static void checksum_fetch(const uint8_t *at, size_t n)
{
	for (size_t i = 0; i < n; i += CHECKSUM_LINE)
		__builtin_prefetch(
			(const void *)((uintptr_t)at + CHECKSUM_AHEAD + i));
}

void scd__checksum_reach(struct scd__checksum *sum, const uint8_t *end)
{
	size_t left = (size_t)(end - sum->next);

	left -= left % SCD__CHECKSUM_STRIPE;
	while (left > 0) {
		const size_t n = left < CHECKSUM_BLOCK ? left : CHECKSUM_BLOCK;
		const uint8_t *const at = sum->next;

		checksum_fetch(at, n);
		scd__checksum_add(sum, n);
		sum->ones += scd__count_ones(at, n);
		left -= n;
	}
}

/* The four lanes as one; what is shorter than a stripe has used none. */
static uint64_t checksum_merge(const struct scd__checksum *sum)
{
	const uint64_t *const v = sum->lane;
	uint64_t hash;

	if (sum->next == sum->first)
		return sum->seed + prime5;
	hash = checksum_rotate(v[0], 1) + checksum_rotate(v[1], 7) +
	       checksum_rotate(v[2], 12) + checksum_rotate(v[3], 18);
	for (unsigned i = 0; i < 4; i++) {
		hash ^= scd__checksum_round(0, v[i]);
		hash = hash * prime1 + prime4;
	}
	return hash;
}

/* The n bytes that are no whole stripe. */
static uint64_t checksum_tail(uint64_t hash, const uint8_t *at, size_t n)
{
	for (; n >= 8; at += 8, n -= 8) {
		hash ^= scd__checksum_round(0, scd__load_bits(at, 8));
		hash = checksum_rotate(hash, 27) * prime1 + prime4;
	}
	if (n >= 4) {
		hash ^= scd__load_bits(at, 4) * prime1;
		hash = checksum_rotate(hash, 23) * prime2 + prime3;
		at += 4;
		n -= 4;
	}
	for (; n > 0; at++, n--) {
		hash ^= *at * prime5;
		hash = checksum_rotate(hash, 11) * prime1;
	}
	return hash;
}

uint64_t scd__checksum_finish(struct scd__checksum *sum, const uint8_t *end)
{
	uint64_t hash;

	scd__checksum_reach(sum, end);
	sum->ones += scd__count_ones(sum->next, (size_t)(end - sum->next));
	hash = checksum_merge(sum) + (uint64_t)(end - sum->first);
	hash = checksum_tail(hash, sum->next, (size_t)(end - sum->next));
	hash = (hash ^ hash >> 33) * prime2;
	hash = (hash ^ hash >> 29) * prime3;
	return hash ^ hash >> 32;
}
