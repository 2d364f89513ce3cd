/*
 * SHA-256 of bodies: the vectors of FIPS 180, in pieces of any length, and what
 * is left where GnuTLS has no memory.
 */
#include "digestd/tls/body_hash.h"

#include <gnutls/crypto.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit.h"

static bool fails;

int __real_gnutls_hash_init(gnutls_hash_hd_t *hash,
			    gnutls_digest_algorithm_t of);
int __wrap_gnutls_hash_init(gnutls_hash_hd_t *hash,
			    gnutls_digest_algorithm_t of);
int __wrap_gnutls_hash_init(gnutls_hash_hd_t *hash,
			    gnutls_digest_algorithm_t of)
{
	return fails ? GNUTLS_E_MEMORY_ERROR :
		       __real_gnutls_hash_init(hash, of);
}

static const struct {
	const char *text, *hash;
} vectors[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb924"
	      "27ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223"
		 "b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039"
	  "a33ce45964ff2167f6ecedd419db06c1" },
};

static void assert_hash(struct body_hash *h, const char *wanted)
{
	uint8_t hash[BODY_HASH_BYTES];
	char text[2 * BODY_HASH_BYTES + 1];

	body_hash_end(h, hash);
	for (int i = 0; i < BODY_HASH_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	assert_string_equal(text, wanted);
}

/* One after the other of the same, too. */
static void known_hashes(void **state)
{
	struct body_hash *h = body_hash_new();

	(void)state;
	assert_non_null(h);
	for (size_t i = 0; i < NROWS(vectors); i++) {
		size_t len = strlen(vectors[i].text);

		for (size_t piece = 1; piece <= len + 1; piece++) {
			for (size_t at = 0; at < len; at += piece)
				body_hash_add(h, vectors[i].text + at,
					      len - at < piece ? len - at :
								 piece);
			assert_hash(h, vectors[i].hash);
		}
	}
	body_hash_free(&h);
	assert_null(h);
	body_hash_free(&h);
}

static void without_memory(void **state)
{
	struct body_hash *h;

	(void)state;
	fails = true;
	h = body_hash_new();
	fails = false;
	assert_null(h);
	body_hash_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_hashes),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
