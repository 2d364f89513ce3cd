/*
 * Addresses as text.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "digestd/os/address.h"
#include "tests/unit.h"

/* Text that stands for an address, and what the address is written as. */
static const struct {
	const char *address, *text;
} rows[] = {
	{ "0.0.0.0", "0.0.0.0" },
	{ "127.0.0.1", "127.0.0.1" },
	{ "9.10.99.100", "9.10.99.100" },
	{ "255.255.255.255", "255.255.255.255" },
	{ "::", "::" },
	{ "::1", "::1" },
	{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
	{ "1111:2222:3333:4444:5555:6666:7777:8888",
	  "1111:2222:3333:4444:5555:6666:7777:8888" },
	{ "::ffff:192.0.2.7", "192.0.2.7" },
};

static void test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct sockaddr_in four = { .sin_family = AF_INET };
		struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
		bool is_four = inet_pton(AF_INET, rows[i].address,
					 &four.sin_addr) == 1;
		char text[ADDRESS_TEXT_BYTES];

		assert_true(is_four || inet_pton(AF_INET6, rows[i].address,
						 &six.sin6_addr) == 1);
		assert_true(address_text(is_four ? (const void *)&four :
						   (const void *)&six, text));
		assert_string_equal(text, rows[i].text);
	}
}

static void test_other_families_have_none(void **state)
{
	const struct sockaddr other = { .sa_family = AF_UNIX };
	char text[ADDRESS_TEXT_BYTES];

	(void)state;
	assert_false(address_text(&other, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_other_families_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
