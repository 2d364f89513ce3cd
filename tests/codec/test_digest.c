/*
 * Full digests: what goes in comes out, and nothing else ever does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codec/digest.h"
#include "tests/codec/alloc.h"
#include "tests/codec/sample.h"
#include "tests/rounds.h"

enum {
	FLIPS = 100000,
	FLIPS_LONG = 1000000, /* with SCD_TEST_LONG in the environment */
};

static const struct scd_limits any = {
	.max_bits = SCD_DIGEST_MAX_BITS,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
};

/* nbits, ones, expected coding */
static const struct {
	uint64_t nbits;
	uint64_t nones;
	enum scd_coding coding;
} shapes[] = {
	{1000, 0, SCD_CODING_EMPTY},    {1000, 1, SCD_CODING_RANGE},
	{1003, 130, SCD_CODING_RANGE},  {4096, 600, SCD_CODING_RANGE},
	{1000, 500, SCD_CODING_STORED}, {1008, 504, SCD_CODING_STORED},
	{1001, 990, SCD_CODING_RANGE},  {1000, 1000, SCD_CODING_RANGE},
	{1, 1, SCD_CODING_RANGE},       {3, 1, SCD_CODING_STORED},
};

enum { NSHAPES = NROWS(shapes) };

struct blob {
	uint8_t *bytes;
	size_t len;
};

static struct blob encode(const struct scd_bloom *bloom, uint64_t generation)
{
	struct scd_digest_info ids = sample_ids(generation, 0);
	struct blob out;

	if (scd_bloom_ones(bloom) == 0)
		ids.nkeys = 0;
	assert_int_equal(scd_digest_encode(bloom, &ids, &out.bytes, &out.len),
			 SCD_OK);
	return out;
}

static void round_trips(void **state)
{
	(void)state;
	for (size_t i = 0; i < NSHAPES; i++) {
		struct scd_bloom in, out;
		struct scd_digest_info info;
		struct blob one, two;

		in = sample_bloom(i, shapes[i].nbits, shapes[i].nones);
		one = encode(&in, 9);
		two = encode(&in, 9);
		assert_int_equal(one.len, two.len);
		assert_memory_equal(one.bytes, two.bytes, one.len);
		assert_int_equal(scd_digest_decode(one.bytes, one.len, &any,
						   &info, &out),
				 SCD_OK);
		sample_same(&in, &out);
		assert_int_equal(info.kind, SCD_FULL);
		assert_true(info.coding == shapes[i].coding ||
			    shapes[i].nbits <= 3);
		assert_true(info.nones == shapes[i].nones);
		assert_true(info.instance == SAMPLE_INSTANCE);
		assert_true(info.generation == 9);
		assert_true(info.checksum == scd_digest_checksum(&in));
		assert_true(one.len ==
			    SCD_DIGEST_HEADER_BYTES + info.payload_bytes);
		assert_true(info.payload_bytes <= (in.nbits + 7) / 8);
		free(one.bytes);
		free(two.bytes);
		scd_bloom_free(&in);
		scd_bloom_free(&out);
	}
}

/* Decoding must fail, and touch nothing. */
static int refused(const uint8_t *bytes, size_t len)
{
	struct scd_bloom out = {.nbits = 5};
	struct scd_digest_info info = {.nbits = 5};
	int error = scd_digest_decode(bytes, len, &any, &info, &out);

	assert_int_not_equal(error, SCD_OK);
	assert_true(out.nbits == 5 && info.nbits == 5);
	return error;
}

static void truncated_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < NSHAPES; i++) {
		struct scd_bloom in;
		struct blob blob;

		in = sample_bloom(i, shapes[i].nbits, shapes[i].nones);
		blob = encode(&in, 9);
		for (size_t len = 0; len < blob.len; len++) {
			/* a copy of just that size, for the sanitizer */
			uint8_t *cut = malloc(len ? len : 1);

			assert_non_null(cut);
			memcpy(cut, blob.bytes, len);
			assert_int_equal(refused(cut, len), SCD_ETRUNC);
			free(cut);
		}
		free(blob.bytes);
		scd_bloom_free(&in);
	}
}

/*
 * A flip must not be noticed only where it changes nothing: the last bits of
 * a range coder's output are free within its last interval.
 */
static void check_flipped(const struct blob *blob, const struct scd_bloom *in)
{
	struct scd_digest_info info;
	struct scd_bloom out;

	if (scd_digest_decode(blob->bytes, blob->len, &any, &info, &out))
		return;
	assert_true(info.generation == 9 && info.nkeys <= 10);
	sample_same(in, &out);
	scd_bloom_free(&out);
}

static void flipped_bits_install_nothing_wrong(void **state)
{
	int flips = rounds_of(FLIPS, FLIPS_LONG);
	uint64_t seed = 11;

	(void)state;
	for (size_t i = 0; i < NSHAPES; i++) {
		struct scd_bloom in;
		struct blob blob;

		in = sample_bloom(i, shapes[i].nbits, shapes[i].nones);
		blob = encode(&in, 9);
		for (int f = 0; f < flips / NSHAPES; f++) {
			uint64_t at = random_below(&seed, 8 * blob.len);
			uint8_t bit = (uint8_t)(1u << at % 8);

			blob.bytes[at / 8] ^= bit;
			check_flipped(&blob, &in);
			blob.bytes[at / 8] ^= bit;
		}
		free(blob.bytes);
		scd_bloom_free(&in);
	}
}

/* The head of one digest with the tail of another of the same length. */
static void spliced_digests_are_refused(void **state)
{
	struct scd_bloom one = sample_bloom(1, 1000, 500);
	struct scd_bloom two = sample_bloom(2, 1000, 500);
	struct blob a = encode(&one, 1), b = encode(&two, 2);
	uint8_t *spliced = malloc(a.len);

	(void)state;
	assert_int_equal(a.len, b.len);
	assert_non_null(spliced);
	for (size_t at = 1; at < a.len; at++) {
		memcpy(spliced, a.bytes, at);
		memcpy(spliced + at, b.bytes + at, a.len - at);
		if (memcmp(spliced, a.bytes, a.len) == 0 ||
		    memcmp(spliced, b.bytes, a.len) == 0)
			continue;
		refused(spliced, a.len);
	}
	free(spliced);
	free(a.bytes);
	free(b.bytes);
	scd_bloom_free(&one);
	scd_bloom_free(&two);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/*
 * 1 KB that claims 2^40 bits, with a correct header: in the golden file. Here,
 * that refusing it costs neither time nor memory.
 */
static void absurd_claim_is_cheap(void **state)
{
	static const char *const names[] = {"claims-2-40", "claims-2-40-half"};
	const char *top = getenv("top_srcdir");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint8_t bytes[4096];
		char path[4096];
		size_t len;
		double start;
		FILE *f;

		snprintf(path, sizeof(path), "%s/tests/vectors/bad/%s.scd",
			 top ? top : ".", names[i]);
		f = fopen(path, "rb");
		assert_non_null(f);
		len = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
		alloc_bytes();
		start = seconds();
		for (int n = 0; n < 1000; n++)
			refused(bytes, len);
		assert_true(seconds() - start < 1); /* 1 ms each */
		assert_true(alloc_bytes() < 65536);
	}
}

static const struct {
	const char *label;
	struct scd_limits limits;
	int expected;
} limited[] = {
	{"just enough", {4096, 4, 50000, 0, {0}}, SCD_OK},
	{"one bit too many", {4095, 4, 50000, 0, {0}}, SCD_ELIMIT},
	{"one hash too many", {4096, 3, 50000, 0, {0}}, SCD_ELIMIT},
	{"false positives .1^4, at most 99", {4096, 4, 99, 0, {0}}, SCD_ELIMIT},
	{"false positives .1^4, at most 100", {4096, 4, 100, 0, {0}}, SCD_OK},
};

static void limits_are_kept(void **state)
{
	struct scd_bloom in = sample_bloom(1, 4096, 409);
	struct blob blob = encode(&in, 1);

	(void)state;
	for (size_t i = 0; i < NROWS(limited); i++) {
		struct scd_digest_info info;

		assert_int_equal(scd_digest_parse(blob.bytes, blob.len,
						  &limited[i].limits, &info),
				 limited[i].expected);
	}
	free(blob.bytes);
	scd_bloom_free(&in);
}

/* Fill .473 with 4 hash functions: 5 %. */
static void default_limits_refuse_full_filters(void **state)
{
	static const struct {
		uint64_t nones;
		int expected;
	} rows[] = {{472, SCD_OK}, {473, SCD_ELIMIT}, {1000, SCD_ELIMIT}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct scd_bloom in = sample_bloom(1, 1000, rows[i].nones);
		struct blob blob = encode(&in, 1);
		struct scd_digest_info info;

		assert_int_equal(
			scd_digest_parse(blob.bytes, blob.len, NULL, &info),
			rows[i].expected);
		free(blob.bytes);
		scd_bloom_free(&in);
	}
}

static void bad_ids_are_refused(void **state)
{
	struct scd_bloom some = sample_bloom(1, 1000, 5);
	struct scd_bloom none = sample_bloom(1, 1000, 0);
	struct scd_digest_info ids = sample_ids(1, 0);
	uint8_t *out = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(scd_digest_encode(&none, &ids, &out, &len),
			 SCD_EINVAL);
	ids.instance = 0;
	assert_int_equal(scd_digest_encode(&some, &ids, &out, &len),
			 SCD_EINVAL);
	assert_null(out);
	assert_int_equal(len, 0);
	scd_bloom_free(&some);
	scd_bloom_free(&none);
}

/* How many allocations could fail. */
static unsigned encode_without_memory(uint64_t nbits, uint64_t nones)
{
	struct scd_bloom in = sample_bloom(1, nbits, nones);
	struct scd_digest_info ids = sample_ids(1, 0);
	unsigned n = 0;
	int error;

	ids.nkeys = 1;
	do {
		uint8_t *out = NULL;
		size_t len = 0;

		alloc_fail_at(++n);
		error = scd_digest_encode(&in, &ids, &out, &len);
		if (error) {
			assert_int_equal(error, SCD_ENOMEM);
			assert_null(out);
			assert_int_equal(len, 0);
		} else {
			free(out);
		}
	} while (alloc_failed());
	alloc_fail_at(0);
	scd_bloom_free(&in);
	return n - 1;
}

/* What has mostly ones takes a copy more; both are kept when the buffer cannot
 * be shrunk at the end. */
static void encoding_survives_no_memory(void **state)
{
	(void)state;
	assert_int_equal(encode_without_memory(1000, 100), 2);
	assert_int_equal(encode_without_memory(1 << 19, 400000), 3);
}

static void decoding_survives_no_memory(void **state)
{
	struct scd_bloom in = sample_bloom(1, 1000, 100), out;
	struct blob blob = encode(&in, 1);
	unsigned n = 0;

	(void)state;
	for (;;) {
		int error;

		alloc_fail_at(++n);
		error = scd_digest_decode(blob.bytes, blob.len, NULL, NULL,
					  &out);
		if (!alloc_failed()) {
			assert_int_equal(error, SCD_OK);
			break;
		}
		assert_int_equal(error, SCD_ENOMEM);
	}
	alloc_fail_at(0);
	assert_true(n > 1);
	sample_same(&in, &out);
	scd_bloom_free(&out);
	scd_bloom_free(&in);
	free(blob.bytes);
}

/* Arrays of each coding that engines decode, and of others. */
static const struct {
	uint64_t nbits, nones;
	enum scd_coding coding;
} works[] = {
	{1003, 130, SCD_CODING_RANGE},
	{1000003, 130000, SCD_CODING_DENSE},
	{1000003, 870003, SCD_CODING_MIRRORED_DENSE},
	{4000000, 60000, SCD_CODING_SPARSE},
	{4000000, 3940000, SCD_CODING_MIRRORED_SPARSE},
};

static const char *const engine_names[] = {NULL, "portable", "neon", "avx2",
					   "avx512"};

static void check_work(const struct blob *blob, const struct scd_bloom *in,
		       const struct scd_work *work)
{
	struct scd_digest_info info;
	struct scd_bloom out;
	int error = scd_digest_decode_with(blob->bytes, blob->len, &any, work,
					   &info, &out);

	if (error == SCD_EINVAL && work->engine) {
		assert_string_not_equal(work->engine, "portable");
		return;
	}
	assert_int_equal(error, SCD_OK);
	assert_true(info.nones == scd_bloom_ones(in));
	sample_same(in, &out);
	scd_bloom_free(&out);
}

static void every_engine_decodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(works); i++) {
		struct scd_bloom in =
			sample_bloom(i, works[i].nbits, works[i].nones);
		struct blob blob = encode(&in, 9);
		struct scd_work work = {0};

		assert_int_equal(blob.bytes[5], works[i].coding);
		for (size_t j = 0; j < NROWS(engine_names); j++) {
			work.engine = engine_names[j];
			check_work(&blob, &in, &work);
		}
		work.engine = "bmi2"; /* decodes nothing by itself */
		assert_int_equal(scd_digest_decode_with(blob.bytes, blob.len,
							&any, &work, NULL, &in),
				 SCD_EINVAL);
		work.engine = "";
		assert_int_equal(scd_digest_decode_with(blob.bytes, blob.len,
							&any, &work, NULL, &in),
				 SCD_EINVAL);
		free(blob.bytes);
		scd_bloom_free(&in);
	}
}

/* The new array is where that of the spare filter was. */
static void spare_memory_is_used(void **state)
{
	struct scd_bloom in = sample_bloom(1, 100001, 9000);
	struct scd_bloom spare = sample_bloom(2, 100007, 50000);
	const uint8_t *const memory = spare.bits;
	const struct scd_work work = {.spare = &spare};
	struct blob blob = encode(&in, 9);
	struct scd_bloom out;

	(void)state;
	assert_int_equal(scd_digest_decode_with(blob.bytes, blob.len, &any,
						&work, NULL, &out),
			 SCD_OK);
	assert_ptr_equal(out.bits, memory);
	assert_true(spare.bits == NULL && spare.nbits == 0);
	sample_same(&in, &out);
	/* A filter may take its own place; one that is all zero gives none. */
	spare = out;
	assert_int_equal(scd_digest_decode_with(blob.bytes, blob.len, &any,
						&work, NULL, &spare),
			 SCD_OK);
	assert_ptr_equal(spare.bits, memory);
	sample_same(&in, &spare);
	scd_bloom_free(&spare);
	assert_int_equal(scd_digest_decode_with(blob.bytes, blob.len, &any,
						&work, NULL, &out),
			 SCD_OK);
	sample_same(&in, &out);
	scd_bloom_free(&out);
	scd_bloom_free(&in);
	free(blob.bytes);
}

/* Of another size it stays as it is; a damaged digest leaves it empty. */
static void spare_memory_is_kept(void **state)
{
	struct scd_bloom in = sample_bloom(1, 100001, 9000);
	struct scd_bloom other = sample_bloom(2, 100009, 50000);
	struct scd_bloom spare = sample_bloom(3, 100001, 50000);
	struct scd_work work = {.spare = &other};
	struct blob blob = encode(&in, 9);
	struct scd_bloom out = {.nbits = 5};

	(void)state;
	assert_int_equal(scd_digest_decode_with(blob.bytes, blob.len, &any,
						&work, NULL, &out),
			 SCD_OK);
	assert_int_equal(scd_bloom_ones(&other), 50000);
	scd_bloom_free(&out);
	out.nbits = 5;
	work.spare = &spare;
	blob.bytes[blob.len / 2] ^= 1;
	assert_int_not_equal(scd_digest_decode_with(blob.bytes, blob.len, &any,
						    &work, NULL, &out),
			     SCD_OK);
	assert_true(out.nbits == 5 && spare.nbits == 100001);
	assert_int_equal(scd_bloom_ones(&spare), 0);
	scd_bloom_free(&spare);
	scd_bloom_free(&other);
	scd_bloom_free(&in);
	free(blob.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(every_engine_decodes),
		cmocka_unit_test(spare_memory_is_used),
		cmocka_unit_test(spare_memory_is_kept),
		cmocka_unit_test(truncated_is_refused),
		cmocka_unit_test(flipped_bits_install_nothing_wrong),
		cmocka_unit_test(spliced_digests_are_refused),
		cmocka_unit_test(absurd_claim_is_cheap),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(default_limits_refuse_full_filters),
		cmocka_unit_test(bad_ids_are_refused),
		cmocka_unit_test(encoding_survives_no_memory),
		cmocka_unit_test(decoding_survives_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
