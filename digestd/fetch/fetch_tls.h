/*
 * TLS of one fetch by libcurl.
 */
#ifndef DIGESTD_FETCH_FETCH_TLS_H
#define DIGESTD_FETCH_FETCH_TLS_H

#include <curl/curl.h>
#include <stdbool.h>

#include "digestd/http/trouble.h"

struct tls_client;

/* All zero at first; stays where it is. */
struct fetch_tls {
	CURL *easy;
	struct tls_client *client; /* null: libcurl verifies by itself */
	char *host;                /* whose certificate it should be */
	enum trouble trouble;      /* it was not, and nothing was sent */
};

/*
 * Prepares a transfer of this URL; nothing happens if it is not https. client:
 * see struct fetch_request. Returns 0 or -ENOMEM; fetch_tls_free() after it.
 * Where there is a client, fetch_tls_trusts() must be asked before each request
 * is sent, as libcurl does not verify anything then.
 */
int fetch_tls_set(struct fetch_tls *t, CURL *easy, const char *url,
		  struct tls_client *client);

/*
 * Whether the other end of the connection is who it should be; from libcurl's
 * CURLOPT_PREREQFUNCTION, which runs on kept connections, too.
 */
bool fetch_tls_trusts(struct fetch_tls *t);

void fetch_tls_free(struct fetch_tls *t);

#endif
