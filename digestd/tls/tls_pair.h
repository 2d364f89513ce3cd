/*
 * A certificate with its key, and the names of servers that it is for: the DNS
 * names of its subjectAltName. The subject's common name is none (RFC 9525, 2).
 */
#ifndef DIGESTD_TLS_TLS_PAIR_H
#define DIGESTD_TLS_TLS_PAIR_H

#include "digestd/tls/tls_name.h"
#include "digestd/tls/tls_pem.h"

struct tls_pair {
	struct tls_pem pem;
	gnutls_certificate_credentials_t credentials;
	char **names;
	size_t nnames;
};

/* Reads the first pair of `files` and its authorities. Errors as those of
 * tls_new(); tls_pair_free() in any case. */
int tls_pair_load(struct tls_pair *pair, const struct tls_files *files,
		  struct tls_fault *fault);

void tls_pair_free(struct tls_pair *pair);

/* How well it fits to the name that a client asks for. */
enum tls_match tls_pair_match(const struct tls_pair *pair, const char *asked);

#endif
