/*
 * The hash against the vectors of its reference implementation, keys, derived
 * secrets and positions.
 */
#include "tests/unit.h"

#include <string.h>

#include "codec/key.h"
#include "codec/positions.h"
#include "codec/siphash.h"
#include "tests/codec/random.h"

/* Reference vectors: key 00 01 .. 0f, message 00 01 .. (length - 1). */
static const struct {
	unsigned len;
	uint8_t hash[16];
} vectors[] = {
	{ 0, { 0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6,
	       0x72, 0x14, 0xc7, 0x55, 0x02, 0x93 } },
	{ 1, { 0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76,
	       0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45 } },
	{ 2, { 0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3,
	       0x8b, 0xde, 0xf6, 0x0a, 0xff, 0xe4 } },
	{ 3, { 0x9c, 0x70, 0xb6, 0x0c, 0x52, 0x67, 0xa9, 0x4e, 0x5f, 0x33,
	       0xb6, 0xb0, 0x29, 0x85, 0xed, 0x51 } },
	{ 4, { 0xf8, 0x81, 0x64, 0xc1, 0x2d, 0x9c, 0x8f, 0xaf, 0x7d, 0x0f,
	       0x6e, 0x7c, 0x7b, 0xcd, 0x55, 0x79 } },
};

static void counting_bytes(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)i;
}

static void hash_matches_the_reference(void **state)
{
	uint8_t key[16], message[64];

	(void)state;
	counting_bytes(key, sizeof(key));
	counting_bytes(message, sizeof(message));
	for (size_t i = 0; i < NROWS(vectors); i++) {
		struct scd__siphash s;
		uint64_t words[2];

		scd__siphash_init(&s, key);
		scd__siphash_update(&s, message, vectors[i].len);
		scd__siphash_final(&s, words);
		for (unsigned b = 0; b < 16; b++)
			assert_int_equal(words[b / 8] >> b % 8 * 8 & 255,
					 vectors[i].hash[b]);
	}
}

static void pieces_hash_like_the_whole(void **state)
{
	uint8_t key[16], message[64];

	(void)state;
	counting_bytes(key, sizeof(key));
	counting_bytes(message, sizeof(message));
	for (size_t cut = 0; cut <= sizeof(message); cut++) {
		struct scd__siphash whole, parts;
		uint64_t a[2], b[2];

		scd__siphash_init(&whole, key);
		scd__siphash_update(&whole, message, sizeof(message));
		scd__siphash_final(&whole, a);
		scd__siphash_init(&parts, key);
		scd__siphash_update(&parts, message, cut);
		scd__siphash_update(&parts, message + cut,
				    sizeof(message) - cut);
		scd__siphash_final(&parts, b);
		assert_memory_equal(a, b, sizeof(a));
	}
}

/* At once, behind up to seven bytes that are a number, it is the same. */
static void at_once_is_like_in_pieces(void **state)
{
	uint8_t key[16], message[7 + 40];

	(void)state;
	counting_bytes(key, sizeof(key));
	counting_bytes(message, sizeof(message));
	for (unsigned before = 0; before < 8; before++) {
		uint64_t number = 0;

		for (unsigned i = before; i-- > 0;)
			number = number << 8 | message[i];
		for (size_t len = 0; before + len <= sizeof(message); len++) {
			struct scd__siphash pieces;
			uint64_t a[2], b[2];

			scd__siphash_init(&pieces, key);
			scd__siphash_update(&pieces, message, before + len);
			scd__siphash_final(&pieces, a);
			scd__siphash_whole(key, number, before,
					   message + before, len, b);
			assert_memory_equal(a, b, sizeof(a));
		}
	}
}

static void keys_tell_method_and_uri_apart(void **state)
{
	static const uint8_t secret[16] = { 1 }, other[16] = { 2 };
	static const char uri[] = "http://example.com/";
	struct scd_key get, head, post, path, elsewhere;

	(void)state;
	scd_key_make(secret, "GET", uri, strlen(uri), &get);
	scd_key_make(secret, "HEAD", uri, strlen(uri), &head);
	scd_key_make(secret, "POST", uri, strlen(uri), &post);
	scd_key_make(secret, "GET", uri, strlen(uri) - 1, &path);
	scd_key_make(other, "GET", uri, strlen(uri), &elsewhere);
	assert_memory_equal(&get, &head, sizeof(get));
	assert_memory_not_equal(&get, &post, sizeof(get));
	assert_memory_not_equal(&get, &path, sizeof(get));
	assert_memory_not_equal(&get, &elsewhere, sizeof(get));
}

static void derived_secrets_differ_by_label(void **state)
{
	uint8_t key[16], hash[16], token[16];

	(void)state;
	counting_bytes(key, sizeof(key));
	scd_derive(key, "hash", hash);
	scd_derive(key, "token", token);
	assert_memory_not_equal(hash, token, 16);
	assert_memory_not_equal(hash, key, 16);
	scd_derive(key, "token", key);
	assert_memory_equal(key, token, 16);
}

static void positions_follow_their_definition(void **state)
{
	static const struct scd_key key = { UINT64_MAX - 5, 1000 };
	uint64_t at[4];

	(void)state;
	scd_positions(&key, 1000003, 4, at);
	assert_int_equal(at[0], (UINT64_MAX - 5) % 1000003);
	assert_int_equal(at[1], 994);
	assert_int_equal(at[2], 994 + 1001);
	assert_int_equal(at[3], 994 + 1001 + 1003);
}

/* Numbers near which a quotient is next to a whole one. */
static void remainders_are_exact(void **state)
{
	static const uint64_t lengths[] = {
		1, 2, 3, 10, 1000003, UINT32_MAX, UINT64_C(1) << 63,
		(UINT64_C(1) << 63) + 1, UINT64_MAX - 1, UINT64_MAX,
	};
	uint64_t seed = 3;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t n = i < 10000 ? lengths[i % NROWS(lengths)]
				       : random_next(&seed) >> i % 64;
		struct scd__modulus m = scd__modulus_of(n + !n);
		uint64_t x = random_next(&seed) >> i / 10 % 64;
		uint64_t whole = x - x % m.n;

		assert_int_equal(scd__modulo(m, x), x % m.n);
		assert_int_equal(scd__modulo(m, whole), 0);
		assert_int_equal(scd__modulo(m, whole - 1),
				 (whole - 1) % m.n);
		assert_int_equal(scd__modulo(m, UINT64_MAX - i),
				 (UINT64_MAX - i) % m.n);
	}
}

static void positions_stay_inside(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 64, 1000, 1 << 20 };
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t nbits = sizes[i % NROWS(sizes)];
		struct scd_key key = { random_next(&seed), random_next(&seed) };
		uint64_t at[SCD_MAX_HASH];

		scd_positions(&key, nbits, SCD_MAX_HASH, at);
		for (unsigned j = 0; j < SCD_MAX_HASH; j++)
			assert_true(at[j] < nbits);
	}
}

static void smaller_arrays_fold(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct scd_key key = { random_next(&seed), random_next(&seed) };
		uint64_t large[8], small[8];

		scd_positions(&key, 1 << 16, 8, large);
		scd_positions(&key, 1 << 10, 8, small);
		for (unsigned j = 0; j < 8; j++)
			assert_int_equal(small[j], large[j] % (1 << 10));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_matches_the_reference),
		cmocka_unit_test(pieces_hash_like_the_whole),
		cmocka_unit_test(at_once_is_like_in_pieces),
		cmocka_unit_test(keys_tell_method_and_uri_apart),
		cmocka_unit_test(derived_secrets_differ_by_label),
		cmocka_unit_test(positions_follow_their_definition),
		cmocka_unit_test(remainders_are_exact),
		cmocka_unit_test(positions_stay_inside),
		cmocka_unit_test(smaller_arrays_fold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
