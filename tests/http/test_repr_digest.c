/*
 * Repr-Digest: the hash, or none.
 */
#include "tests/unit.h"

#include "digestd/http/repr_digest.h"
#include "tests/http/message.h"

#define ONE "dpLDrTVAu4A8Ags67mbNiIcSMjTqDG5xQ8Ct1z/0Me0="
#define TWO "P8TM/nRYcOLA2Z9x8w/wZWyN7dQcwdfT03aw2+aF4vM="

/* clang-format off */
static const struct {
	const char *text;
	bool found;
	uint8_t first; /* byte of the hash */
} rows[] = {
	{ NULL, false, 0 },
	{ "Repr-Digest: sha-256=:" ONE ":", true, 0x76 },
	{ "Repr-Digest: sha-256=:" TWO ":", true, 0x3f },
	{ "repr-digest: sha-512=:" ONE ONE ":, sha-256=:" ONE ":;x=1", true, 0x76 },
	{ "Repr-Digest: sha-256=:" ONE ":\nRepr-Digest: sha-256=:" TWO ":", true, 0x3f },
	{ "Content-Digest: sha-256=:" ONE ":", false, 0 },
	{ "Repr-Digest: sha-512=:" ONE ":", false, 0 },
	{ "Repr-Digest: sha-256=" ONE, false, 0 },
	{ "Repr-Digest: sha-256=:" ONE, false, 0 },
	{ "Repr-Digest: sha-256=:" ONE "=:", false, 0 },
	{ "Repr-Digest: sha-256=::", false, 0 },
	{ "Repr-Digest: sha-256", false, 0 },
	{ "Repr-Digest: ", false, 0 },
	{ "Repr-Digest: sha-256=:!AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:", false, 0 },
	{ "Repr-Digest: sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA:", false, 0 },
	{ "Repr-Digest: sha-256=:////////////////////////////////////////////:", false, 0 },
	{ "Repr-Digest: sha-256=:///////////////////////////////////////////=:", true, 0xff },
};
/* clang-format on */

static void reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		uint8_t hash[REPR_DIGEST_BYTES] = { 0 };
		struct fields f;

		message_must(&f, rows[i].text);
		if (repr_digest_read(&f, hash) != rows[i].found ||
		    (rows[i].found && hash[0] != rows[i].first))
			fail_msg("row %zu: %02x", i, hash[0]);
		fields_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
