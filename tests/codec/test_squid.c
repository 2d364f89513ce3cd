/*
 * Squid's digests: keys as md5sum gives them, every rule of the header, files,
 * and that nothing is lost on the way there and back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "codec/digest.h"
#include "codec/squid.h"
#include "tests/codec/alloc.h"
#include "tests/codec/sample.h"

enum { KEYS = 1000, BITS = 5016, BYTES = 128 + BITS / 8 };

static const struct {
	const char *method, *uri;
	uint64_t lo, hi;
} keys[] = {
	/* md5sum of the octet and the URI */
	{"GET", "http://example.com/", UINT64_C(0x5c9109034c1d089f),
	 UINT64_C(0xb6d92f7258b2f5c3)},
	{"POST", "http://example.com/", UINT64_C(0x110c7b3efff5f766),
	 UINT64_C(0x5c355e23f20b1fea)},
	{"PUT", "http://example.com/", UINT64_C(0x874ab145fa321880),
	 UINT64_C(0x341e51d903a774ba)},
	{"HEAD", "http://example.com/", UINT64_C(0x09f9cbaf232773d5),
	 UINT64_C(0xa8d6dc9ec02b1b12)},
	{"GET", "", UINT64_C(0x55a54008ad1ba589), UINT64_C(0xaa210d2629c1df41)},
};

static void keys_are_those_of_squid(void **state)
{
	struct scd_key key = {1, 2};

	(void)state;
	for (size_t i = 0; i < NROWS(keys); i++) {
		assert_int_equal(scd_squid_key(keys[i].method, keys[i].uri,
					       strlen(keys[i].uri), &key),
				 SCD_OK);
		assert_true(key.lo == keys[i].lo && key.hi == keys[i].hi);
	}
	assert_int_equal(scd_squid_key("get", "http://a/", 9, &key),
			 SCD_EINVAL);
	assert_int_equal(scd_squid_key("DELETE", "http://a/", 9, &key),
			 SCD_EINVAL);
	assert_true(key.lo == keys[NROWS(keys) - 1].lo);
}

static void key_of(unsigned number, struct scd_key *key)
{
	char uri[40];
	int len = snprintf(uri, sizeof(uri), "http://a.example/%u", number);

	assert_int_equal(scd_squid_key("GET", uri, (size_t)len, key), SCD_OK);
}

/* A filter of KEYS keys with 5 bits an entry and some. */
static struct scd_bloom filled(void)
{
	struct scd_bloom b;
	struct scd_key key;

	assert_int_equal(scd_bloom_init(&b, BITS, SCD_SQUID_HASH), SCD_OK);
	b.hashing = SCD_HASHING_SQUID;
	for (unsigned i = 0; i < KEYS; i++) {
		key_of(i, &key);
		scd_bloom_add(&b, &key);
	}
	return b;
}

static uint8_t *encode(const struct scd_bloom *b)
{
	const struct scd_squid_info info = {.count = KEYS};
	uint8_t *bytes;
	size_t len;

	assert_int_equal(scd_squid_encode(b, &info, &bytes, &len), SCD_OK);
	assert_int_equal(len, BYTES);
	return bytes;
}

static void header_is_as_written_down(void **state)
{
	static const uint8_t expected[22] = {
		0, 5, 0, 3,          /* versions */
		0, 0, 3, 0xeb,       /* capacity 1003 */
		0, 0, 3, 0xe8,       /* count 1000 */
		0, 0, 0, 0,          /* deletions */
		0, 0, 2, 0x73, 5, 4, /* 627 bytes */
	};
	struct scd_bloom b = filled();
	uint8_t *bytes = encode(&b);

	(void)state;
	assert_memory_equal(bytes, expected, sizeof(expected));
	for (size_t i = sizeof(expected); i < SCD_SQUID_HEADER_BYTES; i++)
		assert_int_equal(bytes[i], 0);
	assert_memory_equal(bytes + 128, b.bits, BITS / 8);
	free(bytes);
	scd_bloom_free(&b);
}

static void what_is_in_is_found(void **state)
{
	struct scd_bloom b = filled(), back;
	uint8_t *bytes = encode(&b);
	struct scd_squid_info info;
	struct scd_key key;
	unsigned found = 0;

	(void)state;
	assert_int_equal(scd_squid_decode(bytes, BYTES, &info, &back), SCD_OK);
	assert_null(scd_squid_fault(bytes, BYTES));
	assert_true(scd_bloom_equal(&b, &back));
	assert_int_equal(info.version, 5);
	assert_int_equal(info.required, 3);
	assert_int_equal(info.capacity, 1003);
	assert_int_equal(info.count, KEYS);
	assert_int_equal(info.entry_bits, 5);
	for (unsigned i = 0; i < KEYS; i++) {
		key_of(i, &key);
		assert_true(scd_bloom_has(&back, &key));
	}
	for (unsigned i = KEYS; i < 21 * KEYS; i++) {
		key_of(i, &key);
		found += scd_bloom_has(&back, &key);
	}
	/* 9.2 % of 20000, and 5 standard deviations */
	assert_in_range(found, 1840 - 240, 1840 + 240);
	free(bytes);
	scd_bloom_free(&b);
	scd_bloom_free(&back);
}

/* From Squid's file to an scd digest and back: the same bytes. */
static void through_a_digest_and_back(void **state)
{
	struct scd_bloom b = filled(), full;
	uint8_t *bytes = encode(&b), *digest, *again;
	struct scd_digest_info ids = {.instance = 1, .nkeys = KEYS};
	const struct scd_limits any = {.max_bits = SCD_DIGEST_MAX_BITS,
				       .max_hash = 32,
				       .max_fp_ppm = 1000000};
	struct scd_squid_info info;
	size_t len;

	(void)state;
	scd_bloom_free(&b);
	assert_int_equal(scd_squid_decode(bytes, BYTES, &info, &b), SCD_OK);
	assert_int_equal(scd_digest_encode(&b, &ids, &digest, &len), SCD_OK);
	assert_int_equal(scd_digest_decode(digest, len, &any, &ids, &full),
			 SCD_OK);
	assert_int_equal(ids.hashing, SCD_HASHING_SQUID);
	info = (struct scd_squid_info){.count = (int32_t)ids.nkeys};
	assert_int_equal(scd_squid_encode(&full, &info, &again, &len), SCD_OK);
	assert_int_equal(len, BYTES);
	assert_memory_equal(bytes, again, BYTES);
	free(bytes);
	free(digest);
	free(again);
	scd_bloom_free(&b);
	scd_bloom_free(&full);
}

/* Bytes of a header, what they become, and what is said of it. */
static const struct {
	size_t at, len;
	uint8_t bytes[4];
	int expected;
	const char *words;
} headers[] = {
	{0, 2, {0, 2}, SCD_EVERSION, "before 3"},
	{0, 4, {0, 3, 0, 3}, SCD_OK, NULL},
	{0, 4, {0, 3, 0, 4}, SCD_EVERSION, "it requires"},
	{0, 4, {0, 9, 0, 5}, SCD_OK, NULL},
	{0, 4, {0, 9, 0, 6}, SCD_EVERSION, "after 5"},
	{4, 4, {0, 0, 0, 0}, SCD_EFORMAT, "capacity"},
	{4, 4, {255, 255, 255, 255}, SCD_EFORMAT, "capacity"},
	{4, 4, {0, 0, 3, 0xe9}, SCD_EFORMAT, "mask size"},
	{4, 4, {0, 0, 3, 0xea}, SCD_OK, NULL},
	{4, 4, {0, 0, 3, 0xec}, SCD_EFORMAT, "mask size"},
	{4, 4, {0x7f, 255, 255, 255}, SCD_EFORMAT, "2^31"},
	{8, 4, {255, 255, 255, 255}, SCD_OK, NULL},
	{8, 4, {0x7f, 255, 255, 255}, SCD_OK, NULL},
	{12, 4, {0, 0, 0, 9}, SCD_OK, NULL},
	{16, 4, {0, 0, 0, 0}, SCD_EFORMAT, "mask size"},
	{16, 4, {255, 255, 255, 255}, SCD_EFORMAT, "mask size"},
	{16, 4, {0, 0, 2, 0x74}, SCD_EFORMAT, "mask size"},
	{20, 1, {0}, SCD_EFORMAT, "1 to 127"},
	{20, 1, {4}, SCD_EFORMAT, "mask size"},
	{20, 1, {127}, SCD_EFORMAT, "mask size"},
	{20, 1, {128}, SCD_EFORMAT, "1 to 127"},
	{20, 1, {255}, SCD_EFORMAT, "1 to 127"},
	{21, 1, {3}, SCD_EVERSION, "not 4"},
	{21, 1, {5}, SCD_EVERSION, "not 4"},
	{60, 1, {1}, SCD_OK, NULL}, /* reserved, as Squid reads it */
};

static void check_header(const uint8_t *bytes, size_t i)
{
	struct scd_squid_info info = {.capacity = 7};
	struct scd_bloom back = {.nbits = 7};
	const char *fault = scd_squid_fault(bytes, BYTES);
	int error = scd_squid_decode(bytes, BYTES, &info, &back);

	if (error != headers[i].expected)
		fail_msg("header %zu: %s", i, scd_strerror(error));
	assert_int_equal(scd_squid_parse(bytes, BYTES, &info), error);
	assert_int_equal(fault == NULL, error == SCD_OK);
	if (!error) {
		scd_bloom_free(&back);
		return;
	}
	assert_non_null(strstr(fault, headers[i].words));
	assert_true(back.nbits == 7 && info.capacity == 7);
}

static void rules_of_the_header(void **state)
{
	struct scd_bloom b = filled();
	uint8_t *bytes = encode(&b), original[BYTES];

	(void)state;
	memcpy(original, bytes, BYTES);
	for (size_t i = 0; i < NROWS(headers); i++) {
		memcpy(bytes + headers[i].at, headers[i].bytes, headers[i].len);
		check_header(bytes, i);
		memcpy(bytes, original, BYTES);
	}
	free(bytes);
	scd_bloom_free(&b);
}

static void length_is_exact(void **state)
{
	struct scd_bloom b = filled(), back = {.nbits = 7};
	uint8_t *bytes = encode(&b), *more = calloc(1, BYTES + 1);

	(void)state;
	for (size_t len = 0; len < BYTES; len++) {
		uint8_t *part = malloc(len ? len : 1);

		assert_non_null(part);
		memcpy(part, bytes, len);
		assert_int_equal(scd_squid_decode(part, len, NULL, &back),
				 SCD_ETRUNC);
		assert_non_null(scd_squid_fault(part, len));
		free(part);
	}
	assert_non_null(more);
	memcpy(more, bytes, BYTES);
	assert_int_equal(scd_squid_decode(more, BYTES + 1, NULL, &back),
			 SCD_EFORMAT);
	assert_true(back.nbits == 7);
	free(more);
	free(bytes);
	scd_bloom_free(&b);
}

/* 65 % of 5016 are 3260.4. */
static void full_masks_are_refused(void **state)
{
	const struct scd_squid_info info = {0};
	struct scd_bloom b = sample_bloom(1, BITS, 3260), back;
	uint8_t *bytes, *none = NULL;
	size_t len;

	(void)state;
	b.hashing = SCD_HASHING_SQUID;
	assert_int_equal(scd_squid_encode(&b, &info, &bytes, &len), SCD_OK);
	assert_int_equal(scd_squid_decode(bytes, len, NULL, &back), SCD_OK);
	scd_bloom_free(&back);
	for (size_t i = 0;; i++) {
		if (b.bits[i] == 255)
			continue;
		b.bits[i] |= (uint8_t)(b.bits[i] + 1);
		bytes[SCD_SQUID_HEADER_BYTES + i] = b.bits[i];
		break;
	}
	assert_int_equal(scd_squid_decode(bytes, len, NULL, &back), SCD_ELIMIT);
	assert_non_null(strstr(scd_squid_fault(bytes, len), "65 %"));
	assert_int_equal(scd_squid_encode(&b, &info, &none, &len), SCD_ELIMIT);
	assert_null(none);
	free(bytes);
	scd_bloom_free(&b);
}

/* Array, what is asked for, and what comes of it. */
static const struct {
	uint64_t nbits;
	uint32_t capacity;
	unsigned entry_bits;
	enum scd_hashing hashing;
	int expected;
	uint32_t got_capacity;
	unsigned got_bits;
} sizes[] = {
	{5016, 0, 0, SCD_HASHING_SQUID, SCD_OK, 1003, 5},
	{8, 0, 0, SCD_HASHING_SQUID, SCD_OK, 1, 5},
	{5016, 1002, 0, SCD_HASHING_SQUID, SCD_OK, 1002, 5},
	{5016, 1001, 0, SCD_HASHING_SQUID, SCD_EINVAL, 0, 0},
	{32000, 1000, 0, SCD_HASHING_SQUID, SCD_OK, 1000, 32},
	{32000, 0, 32, SCD_HASHING_SQUID, SCD_OK, 1000, 32},
	{32008, 0, 32, SCD_HASHING_SQUID, SCD_EINVAL, 0, 0},
	{32000, 999, 32, SCD_HASHING_SQUID, SCD_EINVAL, 0, 0},
	{1280, 10, 0, SCD_HASHING_SQUID, SCD_EINVAL, 0, 0},
	{1272, 10, 0, SCD_HASHING_SQUID, SCD_OK, 10, 127},
	{64, 65, 0, SCD_HASHING_SQUID, SCD_EINVAL, 0, 0},
	{5015, 0, 0, SCD_HASHING_SQUID, SCD_EINVAL, 0, 0},
	{5016, 0, 0, SCD_HASHING_DOUBLE, SCD_EINVAL, 0, 0},
};

static void sizes_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		struct scd_squid_info info = {
			.capacity = sizes[i].capacity,
			.entry_bits = sizes[i].entry_bits,
		};
		struct scd_bloom b = sample_bloom(i, sizes[i].nbits, 3);
		uint8_t *bytes = NULL;
		size_t len;
		int error;

		b.hashing = sizes[i].hashing;
		error = scd_squid_encode(&b, &info, &bytes, &len);
		if (error != sizes[i].expected)
			fail_msg("size %zu: %s", i, scd_strerror(error));
		if (!error) {
			assert_int_equal(scd_squid_parse(bytes, len, &info),
					 SCD_OK);
			assert_int_equal(info.capacity, sizes[i].got_capacity);
			assert_int_equal(info.entry_bits, sizes[i].got_bits);
		}
		free(bytes);
		scd_bloom_free(&b);
	}
}

static void no_memory(void **state)
{
	const struct scd_squid_info info = {0};
	struct scd_bloom b = filled(), back = {.nbits = 7};
	uint8_t *bytes = encode(&b), *none = NULL;
	size_t len = 7;

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(scd_squid_encode(&b, &info, &none, &len), SCD_ENOMEM);
	alloc_fail_at(1);
	assert_int_equal(scd_squid_decode(bytes, BYTES, NULL, &back),
			 SCD_ENOMEM);
	alloc_fail_at(0);
	assert_true(!none && len == 7 && back.nbits == 7);
	free(bytes);
	scd_bloom_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_those_of_squid),
		cmocka_unit_test(header_is_as_written_down),
		cmocka_unit_test(what_is_in_is_found),
		cmocka_unit_test(through_a_digest_and_back),
		cmocka_unit_test(rules_of_the_header),
		cmocka_unit_test(length_is_exact),
		cmocka_unit_test(full_masks_are_refused),
		cmocka_unit_test(sizes_are_found),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
