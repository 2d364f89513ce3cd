/*
 * SHA-256 by GnuTLS, which uses what the processor has for it.
 */
#include "digestd/tls/body_hash.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

struct body_hash; /* a struct hash_hd_st */

static gnutls_hash_hd_t body_hash_handle(struct body_hash *h)
{
	return (gnutls_hash_hd_t)(void *)h;
}

struct body_hash *body_hash_new(void)
{
	gnutls_hash_hd_t handle;

	if (gnutls_hash_init(&handle, GNUTLS_DIG_SHA256))
		return NULL;
	return (struct body_hash *)(void *)handle;
}

void body_hash_add(struct body_hash *h, const void *bytes, size_t len)
{
	(void)gnutls_hash(body_hash_handle(h), bytes, len);
}

void body_hash_end(struct body_hash *h, uint8_t out[BODY_HASH_BYTES])
{
	gnutls_hash_output(body_hash_handle(h), out);
}

void body_hash_free(struct body_hash **h)
{
	if (*h)
		gnutls_hash_deinit(body_hash_handle(*h), NULL);
	*h = NULL;
}
