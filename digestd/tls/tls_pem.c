/*
 * PEM files in memory: read once, so that what was checked is what is used.
 */
#include "digestd/tls/tls_pem.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "digestd/os/plain_file.h"

enum { CHAIN_MAX = 16 }; /* certificates that are looked at for their dates */

int tls_pem_fail(struct tls_fault *fault, enum tls_file file,
		 const char *format, ...)
{
	va_list args;

	fault->file = file;
	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return -EINVAL;
}

static int tls_tls_pem_load(const char *path, enum tls_file file,
			    gnutls_datum_t *out, struct tls_fault *fault)
{
	const char *error;
	FILE *found;

	if (!path)
		return 0;
	found = plain_file_open(path, &error);
	if (!found)
		return tls_pem_fail(fault, file, "%s", error);
	fclose(found);
	errno = 0;
	if (!gnutls_load_file(path, out))
		return 0;
	return tls_pem_fail(fault, file, "%s",
			    errno ? strerror(errno) : "cannot be read");
}

static bool tls_pem_has_certificate(const gnutls_datum_t *pem)
{
	gnutls_x509_crt_t list[CHAIN_MAX];
	unsigned n = CHAIN_MAX;
	int found = gnutls_x509_crt_list_import(list, &n, pem,
						GNUTLS_X509_FMT_PEM, 0);

	for (int i = 0; i < found; i++)
		gnutls_x509_crt_deinit(list[i]);
	return found > 0 || found == GNUTLS_E_SHORT_MEMORY_BUFFER;
}

/* The library says what is wrong, but not with which of the two files. */
static int tls_pem_take_pair(struct tls_pem *pem, const struct tls_files *files,
			     gnutls_certificate_credentials_t credentials,
			     struct tls_fault *fault)
{
	int code;

	if (!tls_pem_has_certificate(&pem->certificate))
		return tls_pem_fail(fault, TLS_CERTIFICATE,
				    "has no certificate");
	code = gnutls_certificate_set_x509_key_mem2(
		credentials, &pem->certificate, &pem->key, GNUTLS_X509_FMT_PEM,
		NULL, 0);
	if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return tls_pem_fail(fault, TLS_KEY, "is not the key of %s",
				    files->certificate);
	if (code == GNUTLS_E_MEMORY_ERROR)
		return -ENOMEM;
	return code < 0 ? tls_pem_fail(fault, TLS_KEY,
				       "is no key that can be used: %s",
				       gnutls_strerror(code))
			: 0;
}

int tls_pem_trust(const struct tls_pem *pem,
		  gnutls_certificate_credentials_t credentials,
		  struct tls_fault *fault)
{
	int n = gnutls_certificate_set_x509_trust_mem(
		credentials, &pem->authorities, GNUTLS_X509_FMT_PEM);

	if (n > 0)
		return 0;
	return tls_pem_fail(fault, TLS_AUTHORITIES, "%s",
			    n && n != GNUTLS_E_NO_CERTIFICATE_FOUND
				    ? gnutls_strerror(n)
				    : "has no certificate");
}

/* A chain is worth nothing from the day on which its first part is not. */
static void tls_pem_find_expiry(struct tls_pem *pem,
				gnutls_certificate_credentials_t credentials)
{
	gnutls_datum_t raw;
	gnutls_x509_crt_t crt;

	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		int64_t expires_s;

		if (gnutls_certificate_get_crt_raw(credentials, 0, i, &raw) ||
		    gnutls_x509_crt_init(&crt))
			return;
		if (!gnutls_x509_crt_import(crt, &raw, GNUTLS_X509_FMT_DER)) {
			expires_s = gnutls_x509_crt_get_expiration_time(crt);
			if (expires_s < pem->expires_s)
				pem->expires_s = expires_s;
		}
		gnutls_x509_crt_deinit(crt);
	}
}

int tls_pem_load(struct tls_pem *pem, const struct tls_files *files,
		 gnutls_certificate_credentials_t credentials,
		 struct tls_fault *fault)
{
	int err;

	assert(credentials);
	*pem = (struct tls_pem){ .expires_s = INT64_MAX };
	err = tls_tls_pem_load(files->certificate, TLS_CERTIFICATE,
			       &pem->certificate, fault);
	if (!err)
		err = tls_tls_pem_load(files->key, TLS_KEY, &pem->key, fault);
	if (!err)
		err = tls_tls_pem_load(files->authorities, TLS_AUTHORITIES,
				       &pem->authorities, fault);
	if (!err && files->certificate)
		err = tls_pem_take_pair(pem, files, credentials, fault);
	if (!err && files->authorities)
		err = tls_pem_trust(pem, credentials, fault);
	if (!err && files->certificate)
		tls_pem_find_expiry(pem, credentials);
	return err;
}

void tls_pem_free(struct tls_pem *pem)
{
	/* keys do not stay in freed memory */
	if (pem->key.data)
		explicit_bzero(pem->key.data, pem->key.size);
	gnutls_free(pem->key.data);
	gnutls_free(pem->certificate.data);
	gnutls_free(pem->authorities.data);
}

static bool tls_tls_pem_same(const gnutls_datum_t *a, const gnutls_datum_t *b)
{
	return a->size == b->size &&
	       (!a->size || !memcmp(a->data, b->data, a->size));
}

bool tls_pem_same(const struct tls_pem *a, const struct tls_pem *b)
{
	return tls_tls_pem_same(&a->certificate, &b->certificate) &&
	       tls_tls_pem_same(&a->key, &b->key) &&
	       tls_tls_pem_same(&a->authorities, &b->authorities);
}
