/*
 * Certificates for tests of TLS. Keys are of P-256: made in no time.
 */
#include "tests/tls/certificate.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"
#include "tests/unit.h"

#define P256 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1)

static char folder[] = "/tmp/scd-test-tls-XXXXXX";

/* What a certificate says, but for whose it is. */
static void set_rest(struct certificate *c, const struct certificate *issuer,
		     time_t expires)
{
	static unsigned char serial[2];

	serial[1]++;
	assert_int_equal(gnutls_x509_crt_set_version(c->crt, 3), 0);
	assert_int_equal(gnutls_x509_crt_set_serial(c->crt, serial, 2), 0);
	assert_int_equal(gnutls_x509_crt_set_activation_time(c->crt, 86400),
			 0);
	assert_int_equal(gnutls_x509_crt_set_expiration_time(c->crt, expires),
			 0);
	assert_int_equal(gnutls_x509_crt_set_basic_constraints(
				 c->crt, !issuer, -1), 0);
	assert_int_equal(gnutls_x509_crt_set_key(c->crt, c->key), 0);
}

static void add_names(struct certificate *c, const char *names)
{
	while (*names) {
		size_t len = strcspn(names, ",");

		assert_int_equal(gnutls_x509_crt_set_subject_alt_name(
					 c->crt, GNUTLS_SAN_DNSNAME, names,
					 (unsigned)len, GNUTLS_FSAN_APPEND), 0);
		names += len + (names[len] == ',');
	}
}

void certificate_make(struct certificate *c, const char *host,
		      const struct certificate *issuer, time_t expires)
{
	const struct certificate *by = issuer ? issuer : c;
	const char *first = host ? host : "nobody";

	assert_int_equal(gnutls_x509_privkey_init(&c->key), 0);
	assert_int_equal(gnutls_x509_privkey_generate(
				 c->key, GNUTLS_PK_ECDSA, P256, 0), 0);
	assert_int_equal(gnutls_x509_crt_init(&c->crt), 0);
	assert_int_equal(gnutls_x509_crt_set_dn_by_oid(
				 c->crt, GNUTLS_OID_X520_COMMON_NAME, 0, first,
				 (unsigned)strlen(first)), 0);
	add_names(c, host ? host : "");
	set_rest(c, issuer, expires);
	assert_int_equal(gnutls_x509_crt_sign2(c->crt, by->crt, by->key,
					       GNUTLS_DIG_SHA256, 0), 0);
}

void certificate_free(struct certificate *c)
{
	gnutls_x509_crt_deinit(c->crt);
	gnutls_x509_privkey_deinit(c->key);
}

static char *text_of(gnutls_datum_t *pem)
{
	char *text = strndup((const char *)pem->data, pem->size);

	assert_non_null(text);
	gnutls_free(pem->data);
	return text;
}

char *certificate_text(const struct certificate *c)
{
	gnutls_datum_t pem;

	assert_int_equal(gnutls_x509_crt_export2(c->crt, GNUTLS_X509_FMT_PEM,
						 &pem), 0);
	return text_of(&pem);
}

char *certificate_key_text(const struct certificate *c)
{
	gnutls_datum_t pem;

	assert_int_equal(gnutls_x509_privkey_export2(
				 c->key, GNUTLS_X509_FMT_PEM, &pem), 0);
	return text_of(&pem);
}

int certificate_folder_make(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

int certificate_folder_remove(void **state)
{
	DIR *dir = opendir(folder);
	const struct dirent *d;

	(void)state;
	while (dir && (d = readdir(dir)))
		unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
	return rmdir(folder);
}

const char *certificate_path(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

void certificate_write(const char *name, const char *text, size_t len)
{
	FILE *f = fopen(certificate_path(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

void certificate_write_text(const char *name, char *text)
{
	certificate_write(name, text, strlen(text));
	free(text);
}

struct tls *certificate_listener(const struct certificate *c)
{
	const struct tls_files files = {
		.certificate = certificate_path("pem"),
		.key = certificate_path("key"),
	};
	struct tls_fault fault;
	struct tls *tls;

	certificate_write_text("pem", certificate_text(c));
	certificate_write_text("key", certificate_key_text(c));
	assert_int_equal(tls_new(&files, &tls, &fault), 0);
	return tls;
}

struct tls_client *certificate_client(const struct certificate *authority)
{
	const struct tls_files files = {
		.authorities = certificate_path("ca"),
	};
	struct tls_client *client;
	struct tls_fault fault;

	certificate_write_text("ca", certificate_text(authority));
	assert_int_equal(tls_client_new(&files, &client, &fault), 0);
	return client;
}
