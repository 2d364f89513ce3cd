/*
 * Lists of members: what a line may be, what is refused and where, and how a
 * node introduces itself.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "digestd/mesh/peerset.h"
#include "digestd/peers/member_list.h"
#include "digestd/peers/peer_kind.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

static struct member_list list;
static struct member_fault fault;

static int tear_down(void **state)
{
	(void)state;
	member_list_free(&list);
	return 0;
}

static void lines(void **state)
{
	(void)state;
	assert_int_equal(member_list_read(&list,
					  "# the cluster\n"
					  "\n"
					  "n2   http://192.0.2.2:8081\r\n"
					  "  n1\thttps://n1.example # old\n"
					  "sq http://[2001:db8::1]:3128 squid",
					  &fault),
			 0);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.at[0].name, "n1");
	assert_string_equal(list.at[0].url, "https://n1.example");
	assert_string_equal(list.at[1].name, "n2");
	assert_string_equal(list.at[1].url, "http://192.0.2.2:8081");
	assert_ptr_equal(list.at[1].kind, &peer_kind_digestd);
	assert_ptr_equal(list.at[2].kind, &peer_kind_squid);
	assert_ptr_equal(member_list_find(&list, "sq"), &list.at[2]);
	assert_null(member_list_find(&list, "n3"));
}

static void nobody(void **state)
{
	(void)state;
	assert_int_equal(member_list_read(&list, "", &fault), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(member_list_read(&list, "#\n \n", &fault), 0);
	assert_int_equal(list.n, 0);
}

static const struct {
	const char *text;
	unsigned line;
	const char *what;
} refused[] = {
	{"n1", 1, "\"n1\" has no URL"},
	{"\nn1 n1:80\n", 2, "\"n1:80\" is not a URL such as http://host:port"},
	{"n1 http://h:80/\n", 1,
	 "\"http://h:80/\" is not a URL such as http://host:port"},
	{"n1 http://h:80 icp", 1, "\"icp\" is not a kind of peer"},
	{"n1 http://h:80 squid ams 7", 1,
	 "\"n1\" has more than a URL, a kind and a location"},
	{"n1 http://h:80 digestd a\\b", 1, "\"a\\b\" is not a location"},
	{"a\"b http://h:80", 1, "\"a\"b\" is not a name"},
	{"\x1b[31ma http://h:80", 1, "\"?[31ma\" is not a name"},
	{"\xc3\xa4 http://h:80", 1, "\"\xc3\xa4\" is not a name"},
	{"n1 http://a:80\nn2 http://b:80\nn1 http://c:80\n", 0,
	 "\"n1\" is given twice"},
	{"n1 http://a:80\nn2 http://b:80\nn3 http://a:80\n", 0,
	 "\"http://a:80\" is given twice"},
};

static void faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(refused); i++) {
		assert_int_equal(
			member_list_read(&list, refused[i].text, &fault),
			-EINVAL);
		assert_int_equal(fault.line, refused[i].line);
		assert_string_equal(fault.what, refused[i].what);
		assert_int_equal(list.n, 0);
	}
}

static void as_many_as_a_node_follows(void **state)
{
	enum { LINE_BYTES = 32 };
	static char text[(PEERSET_MAX_PEERS + 1) * LINE_BYTES];
	size_t len = 0;

	(void)state;
	for (unsigned i = 0; i < PEERSET_MAX_PEERS; i++)
		len += (size_t)sprintf(text + len, "n%u http://h:%u\n", i,
				       i + 1);
	assert_int_equal(member_list_read(&list, text, &fault), 0);
	assert_int_equal(list.n, PEERSET_MAX_PEERS);
	member_list_free(&list);
	sprintf(text + len, "more http://h:1\n");
	assert_int_equal(member_list_read(&list, text, &fault), -EINVAL);
	assert_int_equal(fault.line, PEERSET_MAX_PEERS + 1);
}

static void which_lists_are_the_same(void **state)
{
	struct member_list other = {.n = 0};

	(void)state;
	assert_true(member_list_is_same(&list, &other));
	assert_int_equal(
		member_list_read(&list, "a http://h:1\nb http://h:2", &fault),
		0);
	assert_false(member_list_is_same(&list, &other));
	assert_int_equal(
		member_list_read(&other, "b http://h:2\na http://h:1", &fault),
		0);
	assert_true(member_list_is_same(&list, &other));
	member_list_free(&other);
	assert_int_equal(
		member_list_read(&other, "b http://h:2\na http://h:3", &fault),
		0);
	assert_false(member_list_is_same(&list, &other));
	member_list_free(&other);
	assert_int_equal(member_list_read(&other,
					  "a http://h:1\nb http://h:2 squid",
					  &fault),
			 0);
	assert_false(member_list_is_same(&list, &other));
	member_list_free(&other);
}

static void a_name_stays_once(void **state)
{
	static char name1[] = "n1", name2[] = "n2", url[] = "http://h:1";
	const struct upstream one = {
		.name = name1, .url = url, .kind = &peer_kind_digestd,
	};
	const struct upstream two = {
		.name = name2, .url = url, .kind = &peer_kind_digestd,
	};

	(void)state;
	assert_int_equal(member_list_add(&list, &two), 0);
	assert_int_equal(member_list_add(&list, &one), 0);
	assert_int_equal(member_list_add(&list, &two), 0);
	member_list_sort(&list);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.at[0].name, "n1");
	member_list_remove(&list, 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.at[0].name, "n2");
}

static const struct {
	const char *text, *from;
	const char *url; /* null: it is refused */
} introductions[] = {
	{"n7 http://:8081", "192.0.2.7", "http://192.0.2.7:8081"},
	{"n7 https://:8081", "2001:db8::7", "https://[2001:db8::7]:8081"},
	{"n7 https://n7.example:8081", "192.0.2.7", "https://n7.example:8081"},
	{"n7 http://:", "192.0.2.7", NULL},
	{"n7 http://:0", "192.0.2.7", NULL},
	{"n7 http://", "192.0.2.7", NULL},
	{"n7 http", "192.0.2.7", NULL},
	{"n7 x", "192.0.2.7", NULL},
	{"n7", "192.0.2.7", NULL},
	{"", "192.0.2.7", NULL},
	{"n7 http://:8081 squid", "192.0.2.7", NULL},
	{"n7 http://:8081/", "192.0.2.7", NULL},
};

static void introducing(void **state)
{
	char text[400] = "n7 http://";

	(void)state;
	for (size_t i = 0; i < NROWS(introductions); i++) {
		const char *url = introductions[i].url;

		assert_int_equal(member_list_introduce(&list,
						       introductions[i].text,
						       introductions[i].from),
				 url ? 0 : -EINVAL);
		assert_int_equal(list.n, url != NULL);
		if (url)
			assert_string_equal(list.at[0].url, url);
		member_list_free(&list);
	}
	memset(text + strlen(text), 'h', sizeof(text) - 1 - strlen(text));
	assert_int_equal(member_list_introduce(&list, text, "192.0.2.7"),
			 -EINVAL);
}

static void without_memory(void **state)
{
	int err = -ENOMEM;

	(void)state;
	for (unsigned i = 1; err; i++) {
		alloc_fail_at(i);
		err = member_list_read(&list, "a http://h:1\nb http://h:2",
				       &fault);
		alloc_fail_at(0);
		assert_true(!err || err == -ENOMEM);
		assert_int_equal(list.n, err ? 0 : 2);
	}
	member_list_free(&list);
	for (unsigned i = 1;; i++) {
		alloc_fail_at(i);
		err = member_list_introduce(&list, "a http://:1", "::1");
		alloc_fail_at(0);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(list.n, 0);
		member_list_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(lines, tear_down),
		cmocka_unit_test_teardown(nobody, tear_down),
		cmocka_unit_test_teardown(faults, tear_down),
		cmocka_unit_test_teardown(as_many_as_a_node_follows, tear_down),
		cmocka_unit_test_teardown(which_lists_are_the_same, tear_down),
		cmocka_unit_test_teardown(a_name_stays_once, tear_down),
		cmocka_unit_test_teardown(introducing, tear_down),
		cmocka_unit_test_teardown(without_memory, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
