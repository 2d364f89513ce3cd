/*
 * Any bytes as the code of a set of numbers; bytes that are gaps as a set
 * that is coded. What loads must be a set: as many numbers as it says, found
 * by a decoder that reads bit after bit, and by the lookup.
 */

#include "codec/error.h"
#include "codec/kind/golomb.h"
#include "tests/fuzz/coding.h"

enum { MAX_NUMBERS = 512 };

/* The next number of a code, from a bit on; false: there is none. */
static bool next_number(const struct fuzz_bytes *code, unsigned rice,
			uint64_t *bit, uint64_t *number)
{
	const uint64_t end = 8 * (uint64_t)code->left;
	uint64_t gap = 0;

	while (*bit < end && !(code->at[*bit / 8] >> *bit % 8 & 1)) {
		gap++;
		++*bit;
	}
	if (++*bit + rice > end || gap > UINT64_MAX >> 1 >> rice)
		return false;
	gap <<= rice;
	for (unsigned i = 0; i < rice; i++, ++*bit)
		gap |= (uint64_t)(code->at[*bit / 8] >> *bit % 8 & 1) << i;
	*number += gap + 1;
	return *number < UINT64_MAX >> 1;
}

static void check_loaded(const struct scd__golomb *g,
			 const struct fuzz_bytes *code)
{
	uint64_t number = UINT64_MAX, bit = 0, last = UINT64_MAX;

	for (uint64_t i = 0; i < g->count; i++) {
		fuzz_must(next_number(code, g->rice, &bit, &number));
		fuzz_must(number < g->bound);
		if (i % 64 < 2 || i + 2 > g->count) {
			fuzz_must(scd__golomb_has(g, number));
			fuzz_must(last + 1 == number ||
				  !scd__golomb_has(g, number - 1));
		}
		last = number;
	}
	fuzz_must((bit + 7) / 8 == code->left);
}

static void try_load(const struct scd__golomb *said,
		     const struct fuzz_bytes *code)
{
	struct scd__golomb g = {.bound = said->bound,
				.count = said->count,
				.rice = said->rice};

	if (scd__golomb_load(&g, code->at, code->left) != SCD_OK)
		return;
	check_loaded(&g, code);
	scd__golomb_free(&g);
}

/* Gaps to numbers, coded; loaded again, whole and with a byte another. */
static void try_make(struct fuzz_bytes *b)
{
	const unsigned shift = fuzz_take(b) % 40, at = fuzz_take_u16(b);
	const uint8_t flip = (uint8_t)fuzz_take(b);
	uint64_t numbers[MAX_NUMBERS] = {0}, count = 0, number = 0;
	struct scd__golomb g;
	struct fuzz_bytes code;

	for (; b->left && count < MAX_NUMBERS; number++) {
		number += (uint64_t)fuzz_take(b) << shift;
		numbers[count++] = number;
	}
	if (scd__golomb_make(numbers, count, number + 1, &g) != SCD_OK)
		return;
	for (uint64_t i = 0; i < count; i++)
		fuzz_must(scd__golomb_has(&g, numbers[i]));
	code = (struct fuzz_bytes){g.code, g.len};
	try_load(&g, &code);
	if (g.len) {
		g.code[at % g.len] ^= flip;
		try_load(&g, &code);
	}
	scd__golomb_free(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_bytes b = {data, len};
	const unsigned mode = fuzz_take(&b);
	struct scd__golomb said = {0};

	if (mode % 2) {
		try_make(&b);
		return 0;
	}
	said.rice = fuzz_take(&b) % 64;
	said.count = fuzz_take_u16(&b);
	said.bound = ((uint64_t)fuzz_take_u16(&b) << fuzz_take(&b) % 47) + 1;
	try_load(&said, &b);
	return 0;
}
