/*
 * A certificate with its key and its names.
 */
#include "digestd/tls/tls_pair.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256 }; /* of DNS, and more than that */

static int tls_pair_add_name(struct tls_pair *pair, const char *name)
{
	char **grown = realloc(pair->names,
			       (pair->nnames + 1) * sizeof(*grown));
	char *copy = grown ? strdup(name) : NULL;

	if (grown)
		pair->names = grown;
	if (!copy)
		return -ENOMEM;
	pair->names[pair->nnames++] = copy;
	return 0;
}

/* Names that are longer than DNS has, or hold a NUL, are nobody's. */
static int tls_pair_read_names(struct tls_pair *pair, gnutls_x509_crt_t crt)
{
	int kind = 0, err = 0;

	for (unsigned i = 0; !err && (kind >= 0 ||
				      kind == GNUTLS_E_SHORT_MEMORY_BUFFER);
	     i++) {
		char name[NAME_BYTES] = "";
		size_t len = sizeof(name) - 1;

		kind = gnutls_x509_crt_get_subject_alt_name(crt, i, name, &len,
							    NULL);
		if (kind == GNUTLS_SAN_DNSNAME && len == strlen(name))
			err = tls_pair_add_name(pair, name);
	}
	return err;
}

static int tls_pair_find_names(struct tls_pair *pair)
{
	gnutls_x509_crt_t crt;
	gnutls_datum_t raw;
	int err = -ENOMEM;

	if (gnutls_certificate_get_crt_raw(pair->credentials, 0, 0, &raw) ||
	    gnutls_x509_crt_init(&crt))
		return err;
	if (!gnutls_x509_crt_import(crt, &raw, GNUTLS_X509_FMT_DER))
		err = tls_pair_read_names(pair, crt);
	gnutls_x509_crt_deinit(crt);
	return err;
}

int tls_pair_load(struct tls_pair *pair, const struct tls_files *files,
		  struct tls_fault *fault)
{
	int err;

	assert(files->certificate && files->key);
	*pair = (struct tls_pair){ 0 };
	if (gnutls_certificate_allocate_credentials(&pair->credentials))
		return -ENOMEM;
	err = tls_pem_load(&pair->pem, files, pair->credentials, fault);
	return err ? err : tls_pair_find_names(pair);
}

void tls_pair_free(struct tls_pair *pair)
{
	if (pair->credentials)
		gnutls_certificate_free_credentials(pair->credentials);
	tls_pem_free(&pair->pem);
	while (pair->nnames)
		free(pair->names[--pair->nnames]);
	free(pair->names);
}

enum tls_match tls_pair_match(const struct tls_pair *pair, const char *asked)
{
	enum tls_match best = TLS_MATCH_NONE;

	assert(pair->credentials);
	for (size_t i = 0; i < pair->nnames; i++) {
		enum tls_match match = tls_name_match(pair->names[i], asked);

		if (match > best)
			best = match;
	}
	return best;
}
