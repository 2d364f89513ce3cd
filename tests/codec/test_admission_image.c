/*
 * Images of admission filters: what comes back goes on as the saved one does,
 * and what is damaged does not come back.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/admission.h"
#include "codec/cursor.h"
#include "codec/wire/frame.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { WINDOW = 96, MAX_IMAGE = 32 + 64 * 4 + 1, SUM_AT = 24 };

static struct scd_key key_of(uint64_t number)
{
	uint64_t seed = number;
	uint64_t lo = random_next(&seed);

	return (struct scd_key){ lo, random_next(&seed) };
}

/* A filter that has seen so many keys. */
static struct scd_admission *used(uint64_t window, unsigned nkeys)
{
	struct scd_admission *a;

	assert_int_equal(scd_admission_new(&a, window), SCD_OK);
	for (unsigned i = 0; i < nkeys; i++) {
		struct scd_key key = key_of(i);

		scd_admission_note(a, &key);
	}
	return a;
}

static size_t image_of(unsigned nkeys, uint8_t out[MAX_IMAGE])
{
	struct scd_admission *a = used(WINDOW, nkeys);
	size_t len = scd_admission_image_bytes(a);

	assert_true(len < MAX_IMAGE);
	assert_int_equal(scd_admission_save(a, out, len), SCD_OK);
	scd_admission_free(&a);
	return len;
}

static void comes_back_and_goes_on(void **state)
{
	static const unsigned histories[] = { 0, 1, 15, 16, 17, 100, 1000 };

	(void)state;
	for (size_t h = 0; h < NROWS(histories); h++) {
		struct scd_admission *a = used(WINDOW, histories[h]), *b;
		uint8_t bytes[MAX_IMAGE], again[MAX_IMAGE];
		size_t len = scd_admission_image_bytes(a);
		uint64_t seed = h;

		assert_int_equal(scd_admission_save(a, bytes, MAX_IMAGE),
				 SCD_OK);
		assert_int_equal(scd_admission_load(&b, bytes, len, WINDOW),
				 SCD_OK);
		assert_int_equal(scd_admission_window(b), WINDOW);
		assert_int_equal(scd_admission_noted(b),
				 scd_admission_noted(a));
		assert_int_equal(scd_admission_save(b, again, len), SCD_OK);
		assert_memory_equal(bytes, again, len);
		for (int i = 0; i < 1000; i++) {
			struct scd_key key = key_of(random_below(&seed, 1200));

			assert_int_equal(scd_admission_use(b, &key),
					 scd_admission_use(a, &key));
		}
		scd_admission_free(&a);
		scd_admission_free(&b);
	}
}

static void space_is_exact(void **state)
{
	struct scd_admission *a = used(WINDOW, 50);
	size_t len = scd_admission_image_bytes(a);
	uint8_t *out = malloc(len);

	(void)state;
	assert_non_null(out);
	memset(out, 7, len);
	assert_int_equal(scd_admission_save(a, out, len - 1), SCD_ESPACE);
	assert_int_equal(out[0], 7);
	assert_int_equal(scd_admission_save(a, out, len), SCD_OK);
	assert_int_equal(len, 32 + 64 * WINDOW / 24);
	free(out);
	scd_admission_free(&a);
}

static int load(const uint8_t *in, size_t len, uint64_t max_window)
{
	struct scd_admission *a = NULL;
	uint8_t *copy = malloc(len ? len : 1); /* so that ASan knows its end */
	int error;

	assert_non_null(copy);
	memcpy(copy, in, len);
	error = scd_admission_load(&a, copy, len, max_window);
	free(copy);
	assert_int_equal(error == SCD_OK, a != NULL);
	scd_admission_free(&a);
	return error;
}

static void flipped_bits_are_found(void **state)
{
	uint8_t bytes[MAX_IMAGE];
	size_t len = image_of(300, bytes);

	(void)state;
	assert_int_equal(load(bytes, len, WINDOW), SCD_OK);
	for (size_t i = 0; i < len * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_int_not_equal(load(bytes, len, WINDOW), SCD_OK);
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}

static void cut_images_are_found(void **state)
{
	uint8_t bytes[MAX_IMAGE] = { 0 };
	size_t len = image_of(300, bytes);

	(void)state;
	for (size_t i = 0; i < len; i++)
		assert_int_equal(load(bytes, i, WINDOW), SCD_ETRUNC);
	assert_int_equal(load(bytes, len + 1, WINDOW), SCD_EFORMAT);
}

/* The checksum of an image as it is now. */
static void seal(uint8_t *image, size_t len)
{
	uint64_t sum = scd__bytes_checksum(image, SUM_AT,
					   UINT64_C(0x736364207365656e));
	struct scd__writer w = scd__writer(image + SUM_AT, 8);

	sum = scd__bytes_checksum(image + 32, len - 32, sum);
	scd__write_u64(&w, sum);
}

/* clang-format off */
static const struct {
	const char *label;
	size_t at, width;
	uint64_t value, max_window;
	int expect;
} forged[] = {
	{ "as it was", 4, 1, 1, WINDOW, SCD_OK },
	{ "smaller limit", 4, 1, 1, WINDOW - 24, SCD_ELIMIT },
	{ "limit within the last block", 4, 1, 1, WINDOW - 1, SCD_OK },
	{ "no limit", 4, 1, 1, UINT64_MAX, SCD_OK },
	{ "magic", 3, 1, 'B', WINDOW, SCD_EFORMAT },
	{ "version 0", 4, 1, 0, WINDOW, SCD_EVERSION },
	{ "version 2", 4, 1, 2, WINDOW, SCD_EVERSION },
	{ "reserved", 5, 1, 1, WINDOW, SCD_EFORMAT },
	{ "reserved, the last", 7, 1, 1, WINDOW, SCD_EFORMAT },
	{ "no blocks", 8, 8, 0, WINDOW, SCD_EFORMAT },
	{ "a block less", 8, 8, 3, WINDOW, SCD_EFORMAT },
	{ "a block more", 8, 8, 5, UINT64_MAX, SCD_ETRUNC },
	{ "a block too many", 8, 8, 5, WINDOW, SCD_ELIMIT },
	{ "2^58 blocks", 8, 8, UINT64_C(1) << 58, UINT64_MAX, SCD_ELIMIT },
	{ "all blocks there are", 8, 8, UINT64_MAX, UINT64_MAX, SCD_ELIMIT },
	{ "last note of a generation", 16, 8, 15, WINDOW, SCD_OK },
	{ "one more", 16, 8, 16, WINDOW, SCD_EFORMAT },
	{ "notes without end", 16, 4, UINT32_MAX, WINDOW, SCD_EFORMAT },
	{ "last generation", 20, 4, UINT32_MAX, WINDOW, SCD_OK },
};
/* clang-format on */

static void forged_fields_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(forged); i++) {
		uint8_t bytes[MAX_IMAGE];
		size_t len = image_of(5, bytes);

		for (size_t j = 0; j < forged[i].width; j++)
			bytes[forged[i].at + j] =
				(uint8_t)(forged[i].value >> j * 8);
		seal(bytes, len);
		if (load(bytes, len, forged[i].max_window) != forged[i].expect)
			fail_msg("%s", forged[i].label);
	}
}

static void loads_without_memory(void **state)
{
	uint8_t bytes[MAX_IMAGE];
	size_t len = image_of(300, bytes);
	unsigned n = 0;

	(void)state;
	do {
		struct scd_admission *a = NULL;
		int error;

		alloc_fail_at(++n);
		error = scd_admission_load(&a, bytes, len, WINDOW);
		assert_int_equal(error, alloc_failed() ? SCD_ENOMEM : SCD_OK);
		assert_int_equal(a != NULL, !alloc_failed());
		scd_admission_free(&a);
	} while (alloc_failed());
	alloc_fail_at(0);
	assert_int_equal(n, 3);
}

/* A lie about the size costs nothing. */
static void lies_are_not_allocated(void **state)
{
	uint8_t bytes[MAX_IMAGE];
	size_t len = image_of(300, bytes);
	struct scd_admission *a;

	(void)state;
	bytes[11] = 1; /* 2^24 blocks, a gigabyte */
	seal(bytes, len);
	alloc_bytes();
	assert_int_equal(scd_admission_load(&a, bytes, len, UINT64_MAX),
			 SCD_ETRUNC);
	assert_int_equal(alloc_bytes(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_and_goes_on),
		cmocka_unit_test(space_is_exact),
		cmocka_unit_test(flipped_bits_are_found),
		cmocka_unit_test(cut_images_are_found),
		cmocka_unit_test(forged_fields_are_found),
		cmocka_unit_test(loads_without_memory),
		cmocka_unit_test(lies_are_not_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
