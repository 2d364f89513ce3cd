/*
 * Sources of members: which texts are one, and what each of them gives, from
 * names that the test resolves, a file, and a command.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/os/service_records.h"
#include "digestd/peers/member_source.h"
#include "tests/unit.h"

static struct member_list list;
static struct member_fault fault;
static int resolver_error;
static char path[64];

/* In place of the C library's: a name with three addresses, one of them twice,
 * and an alias that leads to no address. */
int getaddrinfo(const char *name, const char *port,
		const struct addrinfo *hints, struct addrinfo **out)
{
	static struct sockaddr_in in4 = {.sin_family = AF_INET};
	static struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	static struct sockaddr other = {.sa_family = AF_UNIX};
	static struct addrinfo at[4];

	assert_string_equal(name, "cache.example");
	assert_null(port);
	assert_int_equal(hints->ai_socktype, SOCK_STREAM);
	inet_pton(AF_INET, "192.0.2.9", &in4.sin_addr);
	inet_pton(AF_INET6, "2001:db8::9", &in6.sin6_addr);
	at[0] = (struct addrinfo){.ai_addr = (struct sockaddr *)&in6,
				  .ai_next = &at[1]};
	at[1] = (struct addrinfo){.ai_addr = (struct sockaddr *)&in4,
				  .ai_next = &at[2]};
	at[2] = (struct addrinfo){.ai_addr = &other, .ai_next = &at[3]};
	at[3] = (struct addrinfo){.ai_addr = (struct sockaddr *)&in4};
	*out = at;
	return resolver_error;
}

void freeaddrinfo(struct addrinfo *list_of_them)
{
	(void)list_of_them;
}

/* In place of the daemon's, which has a test of its own. */
int service_records_read(const char *name,
			 bool (*each)(void *arg, const char *host,
				      unsigned port),
			 void *arg)
{
	assert_string_equal(name, "_scd._tcp.example");
	if (resolver_error)
		return resolver_error;
	return each(arg, "n2.example", 8081) && each(arg, "n1.example", 8082) &&
			       each(arg, "n 3", 1)
		       ? 0
		       : -ECANCELED;
}

const char *service_records_error(int error)
{
	(void)error;
	return "no such name";
}

static bool read_source(const char *source, bool https)
{
	const struct member_source_ask ask = {source, https, -1};

	member_list_free(&list);
	assert_true(member_source_is(source));
	return member_source_read(&ask, &list, &fault);
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/members-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	member_list_free(&list);
	unlink(path);
	return 0;
}

static const struct {
	const char *text;
	bool is;
} texts[] = {
	{"dns:cache.example:8081", true},
	{"dns:localhost:1", true},
	{"dns:cache.example", false},
	{"dns:cache.example:", false},
	{"dns:cache.example:0", false},
	{"dns::8081", false},
	{"dns:a b:8081", false},
	{"srv:_scd._tcp.example", true},
	{"srv:", false},
	{"srv:_scd._tcp.example:80", false},
	{"file:/etc/members", true},
	{"file:members", false},
	{"file:", false},
	{"command:list-nodes --site a", true},
	{"command:", false},
	{"cache.example:8081", false},
	{"", false},
};

static void what_is_a_source(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++)
		assert_int_equal(member_source_is(texts[i].text), texts[i].is);
	assert_true(member_source_can_be_cancelled("command:true"));
	assert_false(member_source_can_be_cancelled("dns:cache.example:1"));
}

static void addresses(void **state)
{
	(void)state;
	resolver_error = 0;
	assert_true(read_source("dns:cache.example:8081", false));
	assert_int_equal(list.n, 2);
	assert_string_equal(list.at[0].name, "192.0.2.9:8081");
	assert_string_equal(list.at[0].url, "http://192.0.2.9:8081");
	assert_string_equal(list.at[1].name, "[2001:db8::9]:8081");
	assert_string_equal(list.at[1].url, "http://[2001:db8::9]:8081");
	assert_true(read_source("dns:cache.example:8081", true));
	assert_string_equal(list.at[0].url, "https://192.0.2.9:8081");
	resolver_error = EAI_NONAME;
	assert_false(read_source("dns:cache.example:8081", false));
	assert_string_equal(fault.what, gai_strerror(EAI_NONAME));
	assert_int_equal(list.n, 0);
}

static void services(void **state)
{
	(void)state;
	resolver_error = -1;
	assert_false(read_source("srv:_scd._tcp.example", false));
	assert_string_equal(fault.what, "no such name");
	resolver_error = 0;
	assert_false(read_source("srv:_scd._tcp.example", false));
	assert_string_equal(fault.what, "\"n 3\" is not a host");
	assert_int_equal(list.n, 0);
}

static bool read_file_with(const void *text, size_t len)
{
	FILE *file = fopen(path, "w");
	char source[80];

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	snprintf(source, sizeof(source), "file:%s", path);
	return read_source(source, false);
}

static void files(void **state)
{
	static const char two[] = "n2 http://h:2\nn1 http://h:1\n";
	static const char bad[] = "n2 http://h:2\nn1 h:1\n";
	char *large = calloc(1, MEMBER_TEXT_BYTES), source[80];

	(void)state;
	assert_true(read_file_with(two, strlen(two)));
	assert_int_equal(list.n, 2);
	assert_string_equal(list.at[0].name, "n1");
	assert_true(read_file_with("", 0));
	assert_int_equal(list.n, 0);
	assert_false(read_file_with(bad, strlen(bad)));
	assert_string_equal(fault.what, "line 2: \"h:1\" is not a URL such as "
					"http://host:port");
	assert_false(read_file_with("\0", 1));
	assert_string_equal(fault.what, "has a NUL byte");
	assert_non_null(large);
	memset(large, '#', MEMBER_TEXT_BYTES);
	assert_true(read_file_with(large, MEMBER_TEXT_BYTES - 1));
	assert_false(read_file_with(large, MEMBER_TEXT_BYTES));
	assert_string_equal(fault.what, "is larger than 1048575 bytes");
	free(large);
	assert_false(read_source("file:/nonexistent/members", false));
	assert_string_equal(fault.what, "No such file or directory");
	assert_false(read_source("file:/", false));
	assert_string_equal(fault.what, "Is a directory");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(source, sizeof(source), "file:%s", path);
	assert_false(read_source(source, false)); /* and waits for nobody */
	assert_string_equal(fault.what, "not a regular file");
}

static void commands(void **state)
{
	(void)state;
	assert_true(read_source("command:echo n1 http://h:1", false));
	assert_int_equal(list.n, 1);
	assert_false(read_source("command:echo n1 http://h:1; exit 1", false));
	assert_string_equal(fault.what, "ended with status 1");
	assert_false(read_source("command:echo n1", false));
	assert_string_equal(fault.what, "line 1: \"n1\" has no URL");
	assert_false(read_source("command:printf 'n1\\000'", false));
	assert_string_equal(fault.what, "has printed a NUL byte");
	assert_int_equal(list.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_a_source),
		cmocka_unit_test_setup_teardown(addresses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(services, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(commands, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
