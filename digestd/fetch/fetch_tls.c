/*
 * TLS of one fetch, over libcurl with GnuTLS.
 *
 * The other end is verified here and not by libcurl, which would load all
 * authorities for each connection: it is told not to, and every request goes
 * through fetch_tls_trusts(), on kept connections too.
 */
#include "digestd/fetch/fetch_tls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "digestd/tls/tls_client.h"

bool fetch_tls_trusts(struct fetch_tls *t)
{
	struct curl_tlssessioninfo *info = NULL;

	if (!t->client)
		return true;
	if (curl_easy_getinfo(t->easy, CURLINFO_TLS_SSL_PTR, &info) || !info ||
	    info->backend != CURLSSLBACKEND_GNUTLS || !info->internals)
		t->trouble = TROUBLE_tls_untrusted;
	else
		t->trouble = tls_client_judge(t->client, info->internals,
					      t->host);
	return !t->trouble;
}

/* The host of a URL, without brackets; null without memory. */
static char *fetch_tls_host_of(const char *url)
{
	CURLU *parsed = curl_url();
	char *part = NULL, *host = NULL;

	if (parsed && !curl_url_set(parsed, CURLUPART_URL, url, 0) &&
	    !curl_url_get(parsed, CURLUPART_HOST, &part, 0))
		host = *part == '[' ? strndup(part + 1, strlen(part) - 2) :
				      strdup(part);
	curl_free(part);
	curl_url_cleanup(parsed);
	return host;
}

static void fetch_tls_verify_here(CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	/* what is resumed may come without the certificates to look at */
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
}

static long fetch_tls_oldest_of(const struct tls_client *client)
{
	return client && tls_client_oldest(client) == TLS_1_3 ?
		       CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2;
}

int fetch_tls_set(struct fetch_tls *t, CURL *easy, const char *url,
		  struct tls_client *client)
{
	assert(!t->client && !t->host);
	if (strncasecmp(url, "https:", 6) != 0)
		return 0;
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, fetch_tls_oldest_of(client));
	if (!client)
		return 0;
	t->easy = easy;
	t->client = tls_client_ref(client);
	t->host = fetch_tls_host_of(url);
	if (!t->host)
		return -ENOMEM;
	curl_easy_setopt(easy, CURLOPT_SSLCERT,
			 tls_client_path(client, TLS_CERTIFICATE));
	curl_easy_setopt(easy, CURLOPT_SSLKEY,
			 tls_client_path(client, TLS_KEY));
	fetch_tls_verify_here(easy);
	return 0;
}

void fetch_tls_free(struct fetch_tls *t)
{
	tls_client_unref(t->client);
	free(t->host);
}
