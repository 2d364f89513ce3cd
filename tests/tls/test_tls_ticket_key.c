/*
 * The key of session tickets: one for all, and another one after a day.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/tls/tls_ticket_key.h"
#include "tests/unit.h"

enum { KEY_BYTES_MIN = 32 };

/* Uses it for a session at that time; whether it is another than before. */
static bool is_new(struct tls_ticket_key *k, int64_t now_s)
{
	gnutls_datum_t before = { 0 };
	gnutls_session_t session;
	bool other;

	before.size = k->key.size;
	before.data = malloc(before.size + 1);
	memcpy(before.data, k->key.data ? k->key.data : (unsigned char *)"",
	       before.size);
	assert_int_equal(gnutls_init(&session, GNUTLS_SERVER), 0);
	assert_int_equal(tls_ticket_key_use(k, session, now_s), 0);
	gnutls_deinit(session);
	assert_true(k->key.size >= KEY_BYTES_MIN);
	other = before.size != k->key.size ||
		memcmp(before.data, k->key.data, before.size) != 0;
	free(before.data);
	return other;
}

static void it_is_replaced_after_a_day(void **state)
{
	static const struct {
		int64_t now_s;
		bool replaced;
	} rows[] = {
		{ 1000, true },
		{ 1000, false },
		{ 1000 + TLS_TICKET_KEY_S - 1, false },
		{ 1000 + TLS_TICKET_KEY_S, true },
		{ 1000 + TLS_TICKET_KEY_S, false },
		{ 1000 + 2 * TLS_TICKET_KEY_S - 1, false },
		{ 1000 + 5 * TLS_TICKET_KEY_S, true },
	};
	struct tls_ticket_key *k = NULL;

	(void)state;
	assert_int_equal(tls_ticket_key_new(&k), 0);
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(is_new(k, rows[i].now_s), rows[i].replaced);
	tls_ticket_key_unref(tls_ticket_key_ref(k));
	assert_false(is_new(k, rows[NROWS(rows) - 1].now_s));
	tls_ticket_key_unref(k);
	tls_ticket_key_unref(NULL);
}

static void each_has_its_own(void **state)
{
	struct tls_ticket_key *a = NULL, *b = NULL;

	(void)state;
	assert_int_equal(tls_ticket_key_new(&a), 0);
	assert_int_equal(tls_ticket_key_new(&b), 0);
	assert_true(is_new(a, 0));
	assert_true(is_new(b, 0));
	assert_int_equal(a->key.size, b->key.size);
	assert_memory_not_equal(a->key.data, b->key.data, a->key.size);
	tls_ticket_key_unref(a);
	tls_ticket_key_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_replaced_after_a_day),
		cmocka_unit_test(each_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
