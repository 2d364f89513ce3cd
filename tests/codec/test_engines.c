/*
 * Codings 2 to 5, by every engine that this processor has, against the slow
 * ones (slow.h): on random filters of all sizes and fills, coded with any
 * lanes, classes and chunks, and then damaged. What one of them refuses all
 * refuse, and what they accept is the same array.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/coder/dense.h"
#include "codec/error.h"
#include "codec/coder/sparse.h"
#include "tests/codec/random.h"
#include "tests/codec/slow.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum { DAMAGED = 3 }; /* of each payload */

/* A payload, and the decoders of one coding. */
struct trial {
	enum scd_coding coding;
	struct scd__shape shape;
	uint8_t *bits; /* the array that was coded */
	uint8_t *payload;
	size_t len;
	uint64_t seed;
	unsigned naccepted, nrefused;
};

static size_t array_len(const struct trial *t)
{
	return (size_t)scd__array_bytes(t->shape.nbits);
}

static void *allocate(size_t len)
{
	void *bytes = malloc(len + 1);

	assert_non_null(bytes);
	return bytes;
}

/* The decoder of an engine; false: there is none of that number. */
static bool decode_by(const struct trial *t, size_t engine,
		      struct scd__reader *in, uint8_t *bits, int *error)
{
	switch (t->coding) {
	case SCD_CODING_DENSE:
		if (engine >= scd__dense_nengines)
			return false;
		*error = SCD_EBASE;
		if (scd__dense_engines[engine]->available())
			*error = scd__dense_decode(scd__dense_engines[engine],
						   &t->shape, in, bits, NULL);
		return true;
	case SCD_CODING_SPARSE:
		if (engine >= scd__sparse_nengines)
			return false;
		*error = SCD_EBASE;
		if (scd__sparse_engines[engine]->available())
			*error = scd__sparse_decode(
				scd__sparse_engines[engine], &t->shape, in,
				bits, NULL);
		return true;
	case SCD_CODING_RANGE:
	case SCD_CODING_GAPS:
	case SCD_CODING_EMPTY:
	case SCD_CODING_STORED:
	case SCD_CODING_PARTS:
	case SCD_CODING_LIST:
	case SCD_CODING_MIRRORED_DENSE:
	case SCD_CODING_MIRRORED_GAPS:
	case SCD_CODING_MIRRORED_SPARSE:
		break;
	}
	*error = scd__coding_find(t->coding)->decode(&t->shape, in, bits, NULL);
	return engine == 0;
}

/* What the slow decoder says of some bytes all say. */
static void agree_on(struct trial *t, const uint8_t *bytes, size_t len)
{
	uint8_t *expected = allocate(array_len(t));
	uint8_t *bits = allocate(array_len(t));
	uint8_t *exact = allocate(len);
	const bool good =
		slow_decode(t->coding, &t->shape, bytes, len, expected);
	int error;

	memcpy(exact, bytes, len);
	for (size_t i = 0;; i++) {
		struct scd__reader in = scd__reader(exact, len);

		memset(bits, 0xa5, array_len(t));
		if (!decode_by(t, i, &in, bits, &error))
			break;
		if (error == SCD_EBASE)
			continue;
		assert_int_equal(error, good ? SCD_OK : SCD_EFORMAT);
		if (good)
			assert_memory_equal(bits, expected, array_len(t));
	}
	free(expected);
	free(bits);
	free(exact);
	t->naccepted += good;
	t->nrefused += !good;
}

/* A byte is another one, a bit is flipped, or the end is not there. */
static size_t damage(struct trial *t, uint8_t *bytes)
{
	size_t at = (size_t)random_below(&t->seed, t->len);

	/* The fields of a chunk are few among the words. */
	if (random_below(&t->seed, 2))
		at %= 64;
	memcpy(bytes, t->payload, t->len);
	if (random_below(&t->seed, 8) == 0)
		return (size_t)random_below(&t->seed, t->len);
	if (random_below(&t->seed, 2))
		bytes[at] = (uint8_t)random_next(&t->seed);
	else
		bytes[at] ^= (uint8_t)(1u << random_below(&t->seed, 8));
	return t->len;
}

/* Codings 2 and 4 are not asked about lengths that a header cannot have. */
static bool is_plausible(const struct trial *t, size_t len)
{
	return t->coding == SCD_CODING_DENSE ||
	       t->coding == SCD_CODING_SPARSE ||
	       scd__coding_find(t->coding)->fits(&t->shape, len);
}

static void check(struct trial *t)
{
	uint8_t *bytes = allocate(t->len);
	uint8_t *back = allocate(array_len(t));

	assert_true(slow_decode(t->coding, &t->shape, t->payload, t->len,
				back));
	assert_memory_equal(back, t->bits, array_len(t));
	if (is_plausible(t, t->len))
		agree_on(t, t->payload, t->len);
	for (int i = 0; t->len && i < DAMAGED; i++) {
		const size_t len = damage(t, bytes);

		if (is_plausible(t, len))
			agree_on(t, bytes, len);
	}
	free(bytes);
	free(back);
}

/* An array with a share of ones up to most / 2^32. */
static void draw(struct trial *t, uint64_t max_bits, uint64_t most)
{
	uint64_t *seed = &t->seed;
	uint64_t nbits = 1 + random_below(seed, max_bits);
	uint64_t share = random_below(seed, most + 1);

	nbits >>= random_below(seed, 8);
	share >>= random_below(seed, 8);
	t->shape.nbits = nbits ? nbits : 1;
	t->bits = calloc(1, array_len(t));
	assert_non_null(t->bits);
	for (uint64_t i = 0; i < t->shape.nbits; i++) {
		if (random_next(seed) >> 32 < share)
			t->bits[i / 8] |= (uint8_t)(1u << i % 8);
	}
	t->shape.nones = scd__count_ones(t->bits, array_len(t));
}

/* By the library's encoder; null: it does not fit. */
static bool encode(struct trial *t)
{
	const size_t room = 2 * array_len(t) + 65536;
	struct scd__writer w;

	t->payload = allocate(room);
	w = scd__writer(t->payload, room);
	if (scd__coding_find(t->coding)->encode(&t->shape, t->bits, &w,
						    NULL)) {
		free(t->payload);
		return false;
	}
	t->len = scd__writer_len(&w);
	return true;
}

static void encode_slowly(struct trial *t)
{
	struct slow_choice choice = {
		.chunk_log = 16 + (unsigned)random_below(&t->seed, 3),
		.nclasses = 2 + (unsigned)random_below(&t->seed, 7),
	};

	t->payload = allocate(SLOW_ROOM(array_len(t)));
	if (t->coding == SCD_CODING_DENSE) {
		choice.lanes_log = 2 + (unsigned)random_below(&t->seed, 6);
		t->len = slow_encode_dense(&choice, t->bits, array_len(t),
					   t->payload);
	} else {
		choice.lanes_log = 4 + (unsigned)random_below(&t->seed, 3);
		t->len = slow_encode_sparse(&choice, &t->shape, t->bits,
					    t->payload);
	}
}

/* By both encoders, where there are two. */
static void check_array(struct trial *t)
{
	if (encode(t)) {
		check(t);
		free(t->payload);
	}
	if (t->coding == SCD_CODING_RANGE || t->coding == SCD_CODING_GAPS)
		return;
	encode_slowly(t);
	check(t);
	free(t->payload);
}

static void try_coding(enum scd_coding coding, int n, uint64_t max_bits,
		       uint64_t most)
{
	struct trial t = {.coding = coding, .seed = (uint64_t)coding};

	for (int i = 0; i < n; i++) {
		draw(&t, max_bits, most);
		if (scd__coding_find(coding)->fits(&t.shape, 4))
			check_array(&t);
		free(t.bits);
	}
	/* Most payloads as they were made, and most of the damaged ones. */
	assert_in_range(t.naccepted, n / 2, UINT32_MAX);
	assert_in_range(t.nrefused, n, UINT32_MAX);
}

static const uint64_t all = UINT64_C(1) << 32;

static void range(void **state)
{
	(void)state;
	try_coding(SCD_CODING_RANGE, rounds_of(2000, 100000), 6000, all);
}

static void dense(void **state)
{
	(void)state;
	try_coding(SCD_CODING_DENSE, rounds_of(4000, 100000), 20000, all / 2);
}

/* Several chunks, the last of which may be of any length. */
static void dense_chunks(void **state)
{
	(void)state;
	try_coding(SCD_CODING_DENSE, rounds_of(10, 300), 8 * 250000, all / 2);
}

static void gaps(void **state)
{
	(void)state;
	try_coding(SCD_CODING_GAPS, rounds_of(4000, 100000), 100000, all / 32);
}

static void sparse(void **state)
{
	(void)state;
	try_coding(SCD_CODING_SPARSE, rounds_of(4000, 100000), 100000,
		   all / 32);
}

static void sparse_chunks(void **state)
{
	(void)state;
	try_coding(SCD_CODING_SPARSE, rounds_of(10, 300), 8 * 250000, all / 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range),
		cmocka_unit_test(dense),
		cmocka_unit_test(dense_chunks),
		cmocka_unit_test(gaps),
		cmocka_unit_test(sparse),
		cmocka_unit_test(sparse_chunks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
