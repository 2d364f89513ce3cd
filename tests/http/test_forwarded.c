/*
 * Who a request comes from: what the origin reads.
 */
#include "tests/unit.h"

#include "digestd/http/forwarded.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

static const struct {
	const char *how, *address, *host;
	bool tls;
	const char *request, *sent;
} rows[] = {
	{ "none", "192.0.2.1", "h", true, "X-Forwarded-For: a\n",
	  "X-Forwarded-For: a\n" },
	{ "for", "192.0.2.1", "h", true, "A: b\n",
	  "A: b\nX-Forwarded-For: 192.0.2.1\n" },
	{ "for", "2001:db8::1", "h", false, NULL,
	  "X-Forwarded-For: 2001:db8::1\n" },
	/* one line, whatever came; its other fields are the client's */
	{ "for", "192.0.2.1", "h", false,
	  "x-forwarded-for: a,b\nX-Forwarded-Proto: https\n"
	  "X-Forwarded-For: \nX-Forwarded-For: c\n",
	  "X-Forwarded-Proto: https\nX-Forwarded-For: a, b, c, 192.0.2.1\n" },
	{ "x-forwarded", "192.0.2.1", "h:81", false, NULL,
	  "X-Forwarded-Proto: http\nX-Forwarded-Host: h:81\n"
	  "X-Forwarded-For: 192.0.2.1\n" },
	{ "x-forwarded", "192.0.2.1", "h", true,
	  "X-Forwarded-Proto: ftp\nX-Forwarded-Host: evil\n"
	  "X-Forwarded-For: a\nForwarded: for=b\n",
	  "Forwarded: for=b\nX-Forwarded-Proto: https\n"
	  "X-Forwarded-Host: h\nX-Forwarded-For: a, 192.0.2.1\n" },
	{ "forwarded", "192.0.2.1", "h", true, "X-Forwarded-For: a\n",
	  "X-Forwarded-For: a\n"
	  "Forwarded: for=192.0.2.1;host=h;proto=https\n" },
	/* a comma in quotes does not end a member (RFC 7239, 4) */
	{ "forwarded", "2001:db8::1", "h:81", false,
	  "Forwarded: for=\"_a,b\", for=c\n",
	  "Forwarded: for=\"_a,b\", for=c, "
	  "for=\"[2001:db8::1]\";host=\"h:81\";proto=http\n" },
};

static void adds(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct forwarded_by by = { rows[i].address, rows[i].host,
						 rows[i].tls };
		char text[MESSAGE_MAX];
		enum forwarded how;
		struct fields f;

		message_must(&f, rows[i].request);
		assert_true(forwarded_read(rows[i].how, &how));
		assert_int_equal(forwarded_add(how, &by, &f), 0);
		assert_string_equal(message_text(&f, text), rows[i].sent);
		fields_free(&f);
	}
}

static void words(void **state)
{
	enum forwarded how;

	(void)state;
	assert_false(forwarded_read("", &how));
	assert_false(forwarded_read("For", &how));
	assert_false(forwarded_read("x-forwarded-for", &how));
}

static void a_host_that_is_too_long(void **state)
{
	char host[600];
	const struct forwarded_by by = { "192.0.2.1", host, false };
	struct fields f;

	(void)state;
	memset(host, 'a', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	fields_init(&f);
	assert_int_not_equal(forwarded_add(FORWARDED_STANDARD, &by, &f), 0);
	assert_int_equal(fields_count(&f), 0);
	fields_free(&f);
}

static void without_memory(void **state)
{
	const struct forwarded_by by = { "192.0.2.1", "h", true };

	(void)state;
	for (enum forwarded how = FORWARDED_FOR; how <= FORWARDED_STANDARD;
	     how++) {
		bool failed = true;
		unsigned n = 0;

		while (failed) {
			struct fields f;
			int err;

			message_must(&f, "X-Forwarded-For: a\nForwarded: b\n");
			alloc_fail_at(++n);
			err = forwarded_add(how, &by, &f);
			failed = alloc_failed();
			alloc_fail_at(0);
			assert_int_equal(err != 0, failed);
			fields_free(&f);
		}
		assert_true(n > 1);
	}
}

static void claims(void **state)
{
	static const struct {
		const char *name;
		bool is;
	} names[] = {
		{ "Forwarded", true }, { "forwarded-for", false },
		{ "X-Forwarded-Host", true }, { "x_forwarded_PROTO", true },
		{ "X-Forwarded", true }, { "X-Forward", false },
		{ "X-Original-URL", true }, { "X-Original", false },
		{ "X-Rewrite-URL", true }, { "X-Real-IP", true },
		{ "X-Real-IPs", false }, { "X-Host", true },
		{ "X-Hostname", false }, { "From", false }, { "X-", false },
		{ "CF-Connecting-IP", true }, { "CF-Connecting-IPv6", true },
		{ "cf_connecting_ipv6", true }, { "CF-Connecting-O2O", false },
		{ "Cf-Pseudo-IPv4", true }, { "CF-IPCountry", false },
		{ "X\rForwarded-For", false }, { "", false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(names); i++) {
		if (forwarded_is_claim(names[i].name, strlen(names[i].name)) !=
		    names[i].is)
			fail_msg("%s", names[i].name);
	}
}

/* Of a request by http, whose client says that it is by https. */
static void who_is_believed(void **state)
{
	static const struct {
		enum forwarded_trust trust;
		size_t fields;
		bool https;
	} clients[] = {
		{ FORWARDED_DROP, 2, false },
		{ FORWARDED_PASS, 5, false },
		{ FORWARDED_BELIEVE, 5, true },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(clients); i++) {
		bool https = false;
		struct fields f;

		message_must(&f, "X-Real-IP: 1\nX-Forwarded-Proto: https\n"
				 "Host: h\nAccept: a\nforwarded: for=b");
		forwarded_admit(clients[i].trust, &f, &https);
		assert_int_equal(fields_count(&f), clients[i].fields);
		assert_int_equal(https, clients[i].https);
		assert_non_null(fields_get(&f, "Host"));
		assert_non_null(fields_get(&f, "Accept"));
		fields_free(&f);
	}
}

static void schemes(void **state)
{
	static const struct {
		const char *request;
		int https; /* -1: it does not say */
	} says[] = {
		{ NULL, -1 },
		{ "X-Forwarded-Proto: https", 1 },
		{ "X-Forwarded-Proto: Http", 0 },
		{ "X-Forwarded-Proto: https, http", 0 },
		{ "X-Forwarded-Proto: http\nX-Forwarded-Proto: https", 1 },
		{ "X-Forwarded-Proto: ftp", -1 },
		{ "X-Forwarded-Proto: ", -1 },
		{ "Forwarded: for=a;proto=https", 1 },
		{ "Forwarded: proto=https, for=\"proto=https\"", -1 },
		{ "Forwarded: for=a, PROTO=\"http\" ;by=c", 0 },
		{ "Forwarded: proto=https\nX-Forwarded-Proto: http", 0 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(says); i++) {
		for (int before = 0; before < 2; before++) {
			bool https = before;
			struct fields f;

			message_must(&f, says[i].request);
			forwarded_scheme(&f, &https);
			if (https != (says[i].https < 0 ? before :
				      says[i].https))
				fail_msg("row %zu", i);
			fields_free(&f);
		}
	}
}

/* What is renewed in the background nobody asks for, but by its scheme. */
static void nobody_asks(void **state)
{
	static const struct {
		enum forwarded how;
		const char *sent;
	} all[] = {
		{ FORWARDED_NOTHING, "" },
		{ FORWARDED_FOR, "" },
		{ FORWARDED_X, "X-Forwarded-Proto: https\n"
		  "X-Forwarded-Host: h\n" },
		{ FORWARDED_STANDARD, "Forwarded: host=h;proto=https\n" },
	};
	const struct forwarded_by by = { NULL, "h", true };

	(void)state;
	for (size_t i = 0; i < NROWS(all); i++) {
		char text[MESSAGE_MAX];
		struct fields f;

		fields_init(&f);
		assert_int_equal(forwarded_add(all[i].how, &by, &f), 0);
		assert_string_equal(message_text(&f, text), all[i].sent);
		fields_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds),
		cmocka_unit_test(words),
		cmocka_unit_test(a_host_that_is_too_long),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(claims),
		cmocka_unit_test(schemes),
		cmocka_unit_test(who_is_believed),
		cmocka_unit_test(nobody_asks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
