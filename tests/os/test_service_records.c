/*
 * SRV records: answers of a name server as bytes, cut everywhere, and what the
 * resolver says when there is none. The resolver here is the test's.
 */
#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "digestd/os/service_records.h"
#include "tests/unit.h"

static unsigned char answer[512];
static size_t len;
static int word; /* of an answer that does not come; 0: it does */
static char told[512];
static unsigned most;

/* In place of the C library's. */
int res_nquery(res_state state, const char *name, int class, int type,
	       unsigned char *to, int room)
{
	assert_string_equal(name, "_scd._tcp.example");
	assert_int_equal(class, ns_c_in);
	assert_int_equal(type, ns_t_srv);
	assert_true((size_t)room >= len);
	state->res_h_errno = word;
	if (word)
		return -1;
	memcpy(to, answer, len);
	return (int)len;
}

static bool each(void *arg, const char *host, unsigned port)
{
	size_t at = strlen(told);

	(void)arg;
	snprintf(told + at, sizeof(told) - at, "%s:%u ", host, port);
	return --most;
}

static void put(const void *bytes, size_t n)
{
	assert_true(len + n <= sizeof(answer));
	memcpy(answer + len, bytes, n);
	len += n;
}

static void put16(unsigned value)
{
	const unsigned char bytes[] = {(unsigned char)(value >> 8),
				       (unsigned char)value};

	put(bytes, 2);
}

/* The question is at 12, where names of records point. */
static void begin(unsigned nrecords)
{
	static const char question[] = "\4_scd\4_tcp\7example";

	len = 0;
	told[0] = '\0';
	most = 100;
	word = 0;
	put16(7);      /* id */
	put16(0x8180); /* an answer */
	put16(1);
	put16(nrecords);
	put16(0);
	put16(0);
	put(question, sizeof(question));
	put16(ns_t_srv);
	put16(ns_c_in);
}

static void record(unsigned type, const void *data, size_t n)
{
	put16(0xc00c);
	put16(type);
	put16(ns_c_in);
	put16(0);
	put16(5); /* seconds to live */
	put16((unsigned)n);
	put(data, n);
}

#define SRV(port, target) "\0\1\0\2" port target

static void services(void)
{
	static const char one[] = SRV("\x1f\x91", "\2n1\7example");
	static const char two[] = SRV("\0\x50", "\2n2\xc0\x16");

	begin(2);
	record(ns_t_srv, one, sizeof(one));
	record(ns_t_srv, two, sizeof(two) - 1);
}

static int read_them(void)
{
	return service_records_read("_scd._tcp.example", each, NULL);
}

static void hosts_and_ports(void **state)
{
	(void)state;
	services();
	assert_int_equal(read_them(), 0);
	assert_string_equal(told, "n1.example:8081 n2.example:80 ");
}

static void an_alias_on_the_way(void **state)
{
	static const char alias[] = "\5other\7example";
	static const char one[] = SRV("\x1f\x91", "\2n1\7example");

	(void)state;
	begin(2);
	record(ns_t_cname, alias, sizeof(alias));
	record(ns_t_srv, one, sizeof(one));
	assert_int_equal(read_them(), 0);
	assert_string_equal(told, "n1.example:8081 ");
}

static void no_such_service(void **state)
{
	static const char none[] = SRV("\0\0", "");

	(void)state;
	begin(1);
	record(ns_t_srv, none, sizeof(none)); /* the target is "." */
	assert_int_equal(read_them(), 0);
	assert_string_equal(told, "");
	begin(0);
	assert_int_equal(read_them(), -ENODATA);
}

static void stopping(void **state)
{
	(void)state;
	services();
	most = 1;
	assert_int_equal(read_them(), -ECANCELED);
	assert_string_equal(told, "n1.example:8081 ");
}

static void cut_anywhere(void **state)
{
	size_t whole;

	(void)state;
	services();
	whole = len;
	for (len = 0; len < whole; len++) {
		told[0] = '\0';
		most = 100;
		assert_int_equal(read_them(), -EBADMSG);
	}
	begin(1);
	record(ns_t_srv, "\0\1\0\2\0\1", 6); /* without a target */
	assert_int_equal(read_them(), -EBADMSG);
	begin(1);
	record(ns_t_srv, "\0\1\0\2\0\1\xc1\xff", 8); /* which is nowhere */
	assert_int_equal(read_them(), -EBADMSG);
}

static const struct {
	int word, error;
	const char *text;
} failures[] = {
	{HOST_NOT_FOUND, -ENOENT, "no such name"},
	{NO_DATA, -ENODATA, "the name has no SRV record"},
	{TRY_AGAIN, -EAGAIN, "no name server answers"},
	{NO_RECOVERY, -EAGAIN, "no name server answers"},
};

static void no_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(failures); i++) {
		services();
		word = failures[i].word;
		assert_int_equal(read_them(), failures[i].error);
		assert_string_equal(service_records_error(failures[i].error),
				    failures[i].text);
		assert_string_equal(told, "");
	}
	assert_string_equal(service_records_error(-EBADMSG),
			    "a name server's answer makes no sense");
	assert_string_equal(service_records_error(-ENOMEM), strerror(ENOMEM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_and_ports),
		cmocka_unit_test(an_alias_on_the_way),
		cmocka_unit_test(no_such_service),
		cmocka_unit_test(stopping),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
