/*
 * PEM files in memory, checked: what listeners and fetches are given.
 */
#ifndef DIGESTD_TLS_TLS_PEM_H
#define DIGESTD_TLS_TLS_PEM_H

#include <gnutls/gnutls.h>

#include "digestd/tls/tls.h"

struct tls_pem {
	gnutls_datum_t certificate, key, authorities; /* empty: not given */
	int64_t expires_s; /* of the chain, INT64_MAX without one */
};

/*
 * Reads those of the files that are given and puts them into credentials,
 * which finds out whether they fit. Errors as those of tls_new();
 * tls_pem_free() in any case.
 */
int tls_pem_load(struct tls_pem *pem, const struct tls_files *files,
		 gnutls_certificate_credentials_t credentials,
		 struct tls_fault *fault);

/* Puts its authorities into other credentials, too. Errors as tls_new()'s. */
int tls_pem_trust(const struct tls_pem *pem,
		  gnutls_certificate_credentials_t credentials,
		  struct tls_fault *fault);

/* Says what is wrong with a file: returns -EINVAL. */
int tls_pem_fail(struct tls_fault *fault, enum tls_file file,
		 const char *format, ...) __attribute__((format(printf, 3, 4)));

void tls_pem_free(struct tls_pem *pem);

/* Whether two hold the same bytes. */
bool tls_pem_same(const struct tls_pem *a, const struct tls_pem *b);

#endif
