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

/* Each special range: its first and last address, and those beside it; and
 * what is inside of addresses that embed another one. */
static const struct {
	const char *address;
	bool is_public;
} publics[] = {
	{ "0.0.0.0", false }, { "0.255.255.255", false },
	{ "1.0.0.0", true }, { "9.255.255.255", true },
	{ "10.0.0.0", false }, { "10.255.255.255", false },
	{ "11.0.0.0", true }, { "100.63.255.255", true },
	{ "100.64.0.0", false }, { "100.127.255.255", false },
	{ "100.128.0.0", true }, { "127.0.0.1", false },
	{ "128.0.0.0", true }, { "169.253.255.255", true },
	{ "169.254.0.0", false }, { "169.255.0.0", true },
	{ "172.15.255.255", true }, { "172.16.0.0", false },
	{ "172.31.255.255", false }, { "172.32.0.0", true },
	{ "192.0.0.255", false }, { "192.0.1.0", true },
	{ "192.0.2.1", false }, { "192.88.99.1", false },
	{ "192.167.255.255", true }, { "192.168.0.0", false },
	{ "192.169.0.0", true }, { "198.17.255.255", true },
	{ "198.18.0.0", false }, { "198.19.255.255", false },
	{ "198.51.100.9", false }, { "203.0.113.9", false },
	{ "223.255.255.255", true }, { "224.0.0.0", false },
	{ "255.255.255.255", false },
	{ "::", false }, { "::1", false }, { "::127.0.0.1", false },
	{ "::ffff:10.0.0.1", false }, { "::ffff:9.9.9.9", true },
	{ "64:ff9b::10.0.0.1", false }, { "64:ff9b::9.9.9.9", true },
	{ "64:ff9b:1::9.9.9.9", false },
	{ "2002:0a00:0001::", false }, { "2002:0909:0909::", true },
	{ "100::1", false }, { "2001:1ff::", false }, { "2001:200::", true },
	{ "2001:db8::1", false }, { "2001:db9::1", true },
	{ "fbff::", true }, { "fc00::", false }, { "fdff::", false },
	{ "fe00::", true }, { "fe80::1", false }, { "febf::", false },
	{ "fec0::", false }, { "ff02::1", false },
	{ "2a00:1450::1", true },
};

static void test_public(void **state)
{
	const struct sockaddr local = { .sa_family = AF_UNIX };

	(void)state;
	for (size_t i = 0; i < NROWS(publics); i++) {
		struct sockaddr_in four = { .sin_family = AF_INET };
		struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
		bool is_four = inet_pton(AF_INET, publics[i].address,
					 &four.sin_addr) == 1;

		assert_true(is_four || inet_pton(AF_INET6, publics[i].address,
						 &six.sin6_addr) == 1);
		if (address_is_public(is_four ? (const void *)&four :
						(const void *)&six) !=
		    publics[i].is_public)
			fail_msg("%s", publics[i].address);
	}
	assert_false(address_is_public(&local));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_other_families_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
