/*
 * Lists of addresses and prefixes.
 */
#include "tests/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "digestd/os/address_prefix.h"

static const struct {
	const char *list, *address;
	bool has;
} rows[] = {
	{ NULL, "192.0.2.1", false },
	{ "", "192.0.2.1", false },
	{ "192.0.2.1", "192.0.2.1", true },
	{ "192.0.2.1", "192.0.2.2", false },
	{ "192.0.2.1", "::ffff:192.0.2.1", true },
	{ "::ffff:192.0.2.1", "192.0.2.1", true },
	{ "10.0.0.0/8", "10.255.255.255", true },
	{ "10.0.0.0/8", "11.0.0.0", false },
	{ "10.0.0.0/9", "10.127.0.0", true },
	{ "10.0.0.0/9", "10.128.0.0", false },
	{ "0.0.0.0/0", "192.0.2.1", true },
	{ "0.0.0.0/0", "2001:db8::1", false },
	{ "::/0", "192.0.2.1", true },
	{ "2001:db8::/33", "2001:db8:7fff::", true },
	{ "2001:db8::/33", "2001:db8:8000::", false },
	{ " 10.0.0.1,,\t192.0.2.0/24 ::1", "192.0.2.9", true },
	{ " 10.0.0.1,,\t192.0.2.0/24 ::1", "::1", true },
	{ " 10.0.0.1,,\t192.0.2.0/24 ::1", "10.0.0.2", false },
	{ "unix:", "::", false },
	{ "unix:", "0.0.0.0", false },
};

static void members(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct sockaddr_in four = { .sin_family = AF_INET };
		struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
		const void *addr = &four;
		struct address_prefixes list;

		if (inet_pton(AF_INET, rows[i].address, &four.sin_addr) != 1) {
			assert_int_equal(inet_pton(AF_INET6, rows[i].address,
						   &six.sin6_addr), 1);
			addr = &six;
		}
		assert_true(address_prefixes_read(rows[i].list, &list));
		if (address_prefixes_have(&list, addr) != rows[i].has)
			fail_msg("row %zu", i);
	}
}

static void others_are_refused(void **state)
{
	static const char *const texts[] = {
		"localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "/8",
		"10.0.0.0/x", "10.0.0.0/8x", "10.0.0.1/8", "::1/127", "::/129",
		"10.0.0.0/4294967200", "10.0.0.1;10.0.0.2", "10.0.0",
		"[::1]", "10.0.0.1:80", "::1,::2,x", "unix", "unix:/a",
	};
	char many[ADDRESS_PREFIXES_MAX * 4 + 8] = "";
	struct address_prefixes list;

	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		if (address_prefixes_read(texts[i], &list))
			fail_msg("%s", texts[i]);
	}
	for (int i = 0; i < ADDRESS_PREFIXES_MAX; i++)
		strcat(many, "::1 ");
	assert_true(address_prefixes_read(many, &list));
	assert_false(address_prefixes_read(strcat(many, "::1"), &list));
}

static void unix_sockets_are_named(void **state)
{
	const struct sockaddr addr = { .sa_family = AF_UNIX };
	const struct sockaddr other = { .sa_family = AF_UNSPEC };
	struct address_prefixes list;

	(void)state;
	assert_true(address_prefixes_read("::/0", &list));
	assert_false(address_prefixes_have(&list, &addr));
	assert_true(address_prefixes_read("::1, unix:", &list));
	assert_int_equal(list.count, 2);
	assert_true(address_prefixes_have(&list, &addr));
	assert_false(address_prefixes_have(&list, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(unix_sockets_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
