/*
 * Files of certificates and keys: which are taken, and what is said of others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

enum { EXPIRES = 2000000000 };

/* Whole files, before anything happens to them. */
static char *ca_text, *host_text, *key_text, *other_key_text;

static int set_up(void **state)
{
	struct certificate ca, host, other;

	certificate_make(&ca, "ca", NULL, EXPIRES);
	certificate_make(&host, "host", &ca, EXPIRES + 1);
	certificate_make(&other, "other", &ca, EXPIRES);
	ca_text = certificate_text(&ca);
	host_text = certificate_text(&host);
	key_text = certificate_key_text(&host);
	other_key_text = certificate_key_text(&other);
	certificate_free(&ca);
	certificate_free(&host);
	certificate_free(&other);
	return certificate_folder_make(state);
}

static int tear_down(void **state)
{
	free(ca_text);
	free(host_text);
	free(key_text);
	free(other_key_text);
	return certificate_folder_remove(state);
}

static void write_all(void)
{
	certificate_write("pem", host_text, strlen(host_text));
	certificate_write("key", key_text, strlen(key_text));
	certificate_write("ca", ca_text, strlen(ca_text));
}

static struct tls_files files(void)
{
	return (struct tls_files){
		.certificate = certificate_path("pem"),
		.key = certificate_path("key"),
		.authorities = certificate_path("ca"),
	};
}

/* Makes both kinds, which have to agree. */
static int make(struct tls_fault *fault)
{
	struct tls_files f = files();
	struct tls_fault other = { 0 };
	struct tls *tls = NULL;
	struct tls_client *client = NULL;
	int err;

	*fault = (struct tls_fault){ 0 };
	err = tls_new(&f, &tls, fault);
	assert_int_equal(tls_client_new(&f, &client, &other), err);
	assert_int_equal(fault->file, other.file);
	assert_string_equal(fault->text, other.text);
	assert_int_equal(!tls, err != 0);
	assert_int_equal(!client, err != 0);
	tls_unref(tls);
	tls_client_unref(client);
	return err;
}

static void whole_files_are_taken(void **state)
{
	struct tls_fault fault;

	(void)state;
	write_all();
	assert_int_equal(make(&fault), 0);
}

static void what_is_wrong_is_named(void **state)
{
	const struct {
		const char *label, *name; /* of the file that is not right */
		const char *text;	  /* what is in it; null: no such */
		enum tls_file file;
		const char *says; /* in the beginning */
	} rows[] = {
		{ "no certificate", "pem", NULL, TLS_CERTIFICATE,
		  "No such file or directory" },
		{ "no key", "key", NULL, TLS_KEY, "No such file or directory" },
		{ "no authorities", "ca", NULL, TLS_AUTHORITIES,
		  "No such file or directory" },
		{ "empty certificate", "pem", "", TLS_CERTIFICATE,
		  "has no certificate" },
		{ "a key for certificate", "pem", key_text, TLS_CERTIFICATE,
		  "has no certificate" },
		{ "empty key", "key", "", TLS_KEY,
		  "is no key that can be used: " },
		{ "a certificate for key", "key", host_text, TLS_KEY,
		  "is no key that can be used: " },
		{ "another's key", "key", other_key_text, TLS_KEY,
		  "is not the key of /" },
		{ "another's certificate", "pem", ca_text, TLS_KEY,
		  "is not the key of /" },
		{ "empty authorities", "ca", "", TLS_AUTHORITIES,
		  "has no certificate" },
		{ "a key for authorities", "ca", key_text, TLS_AUTHORITIES,
		  "has no certificate" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct tls_fault fault;

		write_all();
		if (rows[i].text)
			certificate_write(rows[i].name, rows[i].text,
					  strlen(rows[i].text));
		else
			remove(certificate_path(rows[i].name));
		print_message("# %s\n", rows[i].label);
		assert_int_equal(make(&fault), -EINVAL);
		assert_int_equal(fault.file, rows[i].file);
		assert_memory_equal(fault.text, rows[i].says,
				    strlen(rows[i].says));
	}
}

/* Nobody writes to the pipe, and who reads it has clients. */
static void a_pipe_is_no_file(void **state)
{
	static const char *const names[] = { "pem", "key", "ca" };
	struct tls_fault fault;

	(void)state;
	for (size_t i = 0; i < NROWS(names); i++) {
		write_all();
		assert_int_equal(remove(certificate_path(names[i])), 0);
		assert_int_equal(mkfifo(certificate_path(names[i]), 0600), 0);
		assert_int_equal(make(&fault), -EINVAL);
		assert_string_equal(fault.text, "not a regular file");
		assert_int_equal(remove(certificate_path(names[i])), 0);
	}
}

/* A file that is being written: it is refused at every length. */
static void cut_at_every_length(void **state)
{
	const struct {
		const char *name, *text;
		enum tls_file file;
	} rows[] = {
		{ "pem", host_text, TLS_CERTIFICATE },
		{ "key", key_text, TLS_KEY },
		{ "ca", ca_text, TLS_AUTHORITIES },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		/* all bytes are there when the last line begins */
		size_t end = (size_t)(strstr(rows[i].text, "-----END") -
				      rows[i].text);

		write_all();
		for (size_t len = 0; len < end; len += 7) {
			struct tls_fault fault;

			certificate_write(rows[i].name, rows[i].text, len);
			assert_int_equal(make(&fault), -EINVAL);
			assert_int_equal(fault.file, rows[i].file);
			assert_true(*fault.text);
		}
	}
}

static struct tls *listener(void)
{
	struct tls_files f = files();
	struct tls_fault fault;
	struct tls *tls;

	assert_int_equal(tls_new(&f, &tls, &fault), 0);
	return tls;
}

/* A chain expires with the first of its certificates. */
static void a_chain_expires(void **state)
{
	char chain[8192];
	struct tls *tls;

	(void)state;
	write_all();
	tls = listener();
	assert_int_equal(tls_expires_s(tls), EXPIRES + 1);
	tls_unref(tls);
	snprintf(chain, sizeof(chain), "%s%s", host_text, ca_text);
	certificate_write("pem", chain, strlen(chain));
	tls = listener();
	assert_int_equal(tls_expires_s(tls), EXPIRES);
	tls_unref(tls);
}

/* What a reload finds unchanged keeps its connections. */
static void the_same_files_are_the_same(void **state)
{
	struct tls_files f;
	struct tls_fault fault;
	struct tls *a, *b, *c;

	(void)state;
	write_all();
	a = listener();
	b = listener();
	assert_true(tls_same(a, b));
	f = files();
	f.oldest = TLS_1_3;
	assert_int_equal(tls_new(&f, &c, &fault), 0);
	assert_false(tls_same(a, c));
	tls_unref(b);
	tls_unref(c);
	certificate_write("ca", host_text, strlen(host_text));
	b = listener();
	assert_false(tls_same(a, b));
	tls_unref(a);
	tls_unref(b);
}

/* Of clients, too, where it counts whether anything is verified. */
static void clients_of_the_same_files(void **state)
{
	static const struct {
		enum tls_version oldest;
		bool unverified, bare;
	} others[] = {
		{ TLS_1_3, false, false }, { TLS_1_2, true, false },
		{ TLS_1_2, false, true },
	};
	struct tls_client *a, *b;
	struct tls_fault fault;
	struct tls_files f;

	(void)state;
	write_all();
	f = files();
	assert_int_equal(tls_client_new(&f, &a, &fault), 0);
	assert_int_equal(tls_client_new(&f, &b, &fault), 0);
	assert_true(tls_client_same(a, b));
	assert_non_null(tls_client_path(a, TLS_KEY));
	tls_client_unref(b);
	for (size_t i = 0; i < NROWS(others); i++) {
		f = files();
		f.oldest = others[i].oldest;
		f.unverified = others[i].unverified;
		if (others[i].bare)
			f.certificate = f.key = NULL;
		assert_int_equal(tls_client_new(&f, &b, &fault), 0);
		assert_false(tls_client_same(a, b));
		assert_int_equal(!tls_client_path(b, TLS_CERTIFICATE),
				 others[i].bare);
		tls_client_unref(b);
	}
	tls_client_unref(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files_are_taken),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_pipe_is_no_file),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(a_chain_expires),
		cmocka_unit_test(the_same_files_are_the_same),
		cmocka_unit_test(clients_of_the_same_files),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
