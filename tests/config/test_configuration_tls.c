/*
 * TLS in the configuration: which files make which listener, what is told of
 * files that do not fit, and what a reload keeps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/config/config_file.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

#define BASE "node = \"a\"\nlisten_data = \"127.0.0.1:8080\"\nforward = true\n"
#define CRT(set) "tls_" set "_certificate = \"%D/a.crt\"\n"
#define KEY(set) "tls_" set "_key = \"%D/a.key\"\n"
#define CA(set) "tls_" set "_ca = \"%D/a.crt\"\n"
#define AT "%D/conf"
#define TWO "tls_data_certificate = { \"%D/a.crt\", \"%D/b.crt\" }\n"
#define TWO_KEYS "tls_data_key = { \"%D/a.key\", \"%D/b.key\" }\n"

enum { DAY_S = 86400 };

static void write_text(const char *name, char *text)
{
	config_write(name, text, strlen(text), 0600);
	free(text);
}

/* NAME.crt and NAME.key, for so many days. */
static void write_pair(const char *name, int days)
{
	struct certificate c;
	char path[32];

	certificate_make(&c, "localhost", NULL,
			 time(NULL) + (time_t)days * DAY_S);
	snprintf(path, sizeof(path), "%s.crt", name);
	write_text(path, certificate_text(&c));
	snprintf(path, sizeof(path), "%s.key", name);
	write_text(path, certificate_key_text(&c));
	certificate_free(&c);
}

static int set_up(void **state)
{
	if (config_folder_make(state))
		return -1;
	write_pair("a", 365);
	write_pair("b", 365);
	write_pair("old", -1);
	write_pair("last", 3);
	write_pair("today", 1);
	return 0;
}

static const struct {
	const char *label, *text;
	int result;
	const char *findings;
} rows[] = {
	{ "nothing", BASE, 0, "" },
	{ "a listener", BASE CRT("data") KEY("data"), 0, "" },
	{ "and its clients", BASE CRT("data") KEY("data") CA("data"), 0, "" },
	{ "authorities of origins alone", BASE CA("origin"), 0, "" },
	{ "authorities of peers alone", BASE CA("peer"), 0, "" },
	{ "a key without its certificate", BASE KEY("data"), -EINVAL,
	  AT ":4: tls_data_key: needs tls_data_certificate\n" },
	{ "a certificate without its key", BASE CRT("origin"), -EINVAL,
	  AT ":4: tls_origin_certificate: needs tls_origin_key\n" },
	{ "clients to be certified, and no TLS", BASE CA("admin"), -EINVAL,
	  AT ":4: tls_admin_ca: needs tls_admin_certificate\n" },
	{ "an absent certificate",
	  BASE "tls_data_certificate = \"%D/no.crt\"\n" KEY("data"), -EINVAL,
	  AT ":4: tls_data_certificate: %D/no.crt: No such file or "
	  "directory\n" },
	{ "an absent key",
	  BASE CRT("data") "tls_data_key = \"%D/no.key\"\n", -EINVAL,
	  AT ":5: tls_data_key: %D/no.key: No such file or directory\n" },
	{ "absent authorities", BASE "tls_origin_ca = \"%D/no.crt\"\n",
	  -EINVAL,
	  AT ":4: tls_origin_ca: %D/no.crt: No such file or directory\n" },
	{ "it has expired",
	  BASE "tls_data_certificate = \"%D/old.crt\"\n"
	  "tls_data_key = \"%D/old.key\"\n", 0,
	  AT ":4: tls_data_certificate: %D/old.crt: has expired\n" },
	{ "it is about to expire",
	  BASE "tls_data_certificate = \"%D/last.crt\"\n"
	  "tls_data_key = \"%D/last.key\"\n", 0,
	  AT ":4: tls_data_certificate: %D/last.crt: expires within 3 "
	  "days\n" },
	{ "it is about to expire today",
	  BASE "tls_data_certificate = \"%D/today.crt\"\n"
	  "tls_data_key = \"%D/today.key\"\n", 0,
	  AT ":4: tls_data_certificate: %D/today.crt: expires in less than a "
	  "day\n" },
	{ "two of them", BASE TWO TWO_KEYS CA("data"), 0, "" },
	{ "a list of one", BASE "tls_data_certificate = { \"%D/a.crt\" }\n"
	  KEY("data"), 0, "" },
	{ "one added to another",
	  BASE CRT("data") "tls_data_certificate += \"%D/b.crt\"\n" TWO_KEYS,
	  0, "" },
	{ "one in place of another",
	  BASE CRT("data") "tls_data_certificate = \"%D/b.crt\"\n" TWO_KEYS,
	  -EINVAL,
	  AT ":5: tls_data_certificate is given again, after line 4; a list "
	  "has several: \"a\", \"b\"\n" },
	{ "a list in place of another", BASE CRT("data")
	  "tls_data_certificate = { \"%D/b.crt\", \"%D/a.crt\" }\n" TWO_KEYS,
	  -EINVAL,
	  AT ":5: tls_data_certificate is given again, after line 4; a list "
	  "has several: \"a\", \"b\"\n" },
	{ "an empty path", BASE "tls_data_certificate = { \"%D/a.crt\", "
	  "\"\" }\n" TWO_KEYS, -EINVAL,
	  AT ":4: tls_data_certificate: \"\" is not a path\n" },
	{ "an empty list", BASE "tls_data_certificate = {}\n" KEY("data"),
	  -EINVAL, AT ":5: tls_data_key: needs tls_data_certificate\n" },
	{ "a key too few", BASE TWO KEY("data"), -EINVAL,
	  AT ":5: tls_data_key: has 1 files, but there are 2 certificates\n" },
	{ "a key too many", BASE CRT("data") TWO_KEYS, -EINVAL,
	  AT ":5: tls_data_key: has 2 files, but there are 1 certificates\n" },
	{ "keys in another order", BASE TWO
	  "tls_data_key = { \"%D/b.key\", \"%D/a.key\" }\n", -EINVAL,
	  AT ":5: tls_data_key: %D/b.key: is not the key of %D/a.crt\n" },
	{ "the second key is another's", BASE TWO
	  "tls_data_key = { \"%D/a.key\", \"%D/a.key\" }\n", -EINVAL,
	  AT ":5: tls_data_key: %D/a.key: is not the key of %D/b.crt\n" },
	{ "the second is absent", BASE "tls_data_certificate = { "
	  "\"%D/a.crt\", \"%D/no.crt\" }\n" TWO_KEYS, -EINVAL,
	  AT ":4: tls_data_certificate: %D/no.crt: No such file or "
	  "directory\n" },
	{ "the second has expired",
	  BASE CRT("data") "tls_data_certificate += \"%D/old.crt\"\n"
	  KEY("data") "tls_data_key += \"%D/old.key\"\n", 0,
	  AT ":5: tls_data_certificate: %D/old.crt: has expired\n" },
	{ "no list of a peer's",
	  BASE "tls_peer_certificate = \"%D/a.crt\", \"%D/b.crt\"\n"
	  KEY("peer"), -EINVAL,
	  AT ":4: tls_peer_certificate: has one value, not 2\n" },
	{ "faults of two listeners", BASE KEY("data") CRT("peer"), -EINVAL,
	  AT ":4: tls_data_key: needs tls_data_certificate\n"
	  AT ":5: tls_peer_certificate: needs tls_peer_key\n" },
};

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct config *c = NULL;

		assert_int_equal(config_load_finds(rows[i].label, rows[i].text,
						   rows[i].findings, &c),
				 rows[i].result);
		config_free(&c);
	}
}

/* Files that are no PEM, or do not belong together: the library says what it
 * is; which option it is about is said here. */
static void test_wrong_contents(void **state)
{
	struct config_errors errors;
	struct config *c = NULL;

	(void)state;
	config_write("junk", "junk\n", 5, 0600);
	assert_int_equal(config_load_text(
				 BASE "tls_data_certificate = \"%D/junk\"\n"
				 KEY("data"), &c, &errors), -EINVAL);
	assert_non_null(strstr(errors.text,
			       AT ":4: tls_data_certificate: %D/junk: "));
	assert_int_equal(config_load_text(
				 BASE CRT("data")
				 "tls_data_key = \"%D/b.key\"\n",
				 &c, &errors), -EINVAL);
	assert_non_null(strstr(errors.text, AT ":5: tls_data_key: %D/b.key: "));
	assert_null(c);
}

static struct config *load(const char *text)
{
	struct config *c = NULL;

	assert_int_equal(config_load_finds(text, text, "", &c), 0);
	return c;
}

/* The peers' files make a server and a client, the origins' a client only;
 * clients are there without any files, too. */
static void test_who_gets_what(void **state)
{
	struct config *c = load(BASE CRT("peer") KEY("peer"));

	(void)state;
	assert_null(c->tls_data);
	assert_non_null(c->tls_peer);
	assert_null(c->tls_admin);
	assert_non_null(c->tls_peer_client);
	assert_non_null(c->tls_origin);
	config_free(&c);
}

static void test_same_files_are_kept(void **state)
{
	struct config *now = load(BASE CRT("data") KEY("data") CA("origin"));
	struct config *next = load(BASE CRT("data") KEY("data") CA("origin"));
	struct config *other = load(
		BASE "tls_data_certificate = \"%D/b.crt\"\n"
		"tls_data_key = \"%D/b.key\"\ntls_origin_ca = \"%D/b.crt\"\n"
		"tls_oldest = \"1.3\"\n");

	(void)state;
	assert_ptr_not_equal(now->tls_data, next->tls_data);
	config_keep_tls(now, next);
	assert_ptr_equal(now->tls_data, next->tls_data);
	assert_ptr_equal(now->tls_origin, next->tls_origin);
	assert_ptr_equal(now->tls_peer_client, next->tls_peer_client);
	config_keep_tls(now, other);
	assert_ptr_not_equal(now->tls_data, other->tls_data);
	assert_ptr_not_equal(now->tls_origin, other->tls_origin);
	config_free(&now);
	config_free(&next);
	config_free(&other);
}

/* Whether a listener has TLS at all is settled at the start. */
static void test_use_is_kept(void **state)
{
	struct config *with = load(BASE CRT("data") KEY("data"));
	struct config *without = load(BASE);
	struct config_errors kept;

	(void)state;
	config_keep_tls(with, without);
	assert_null(without->tls_data);
	config_keep_started(with, without, &kept);
	assert_string_equal(kept.text, "tls_data_certificate takes effect "
			    "only at the next start\n");
	assert_non_null(without->tls_data);
	assert_null(with->tls_data);
	config_free(&with);
	config_free(&without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_wrong_contents),
		cmocka_unit_test(test_who_gets_what),
		cmocka_unit_test(test_same_files_are_kept),
		cmocka_unit_test(test_use_is_kept),
	};

	return cmocka_run_group_tests(tests, set_up, config_folder_remove);
}
