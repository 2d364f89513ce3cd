/*
 * Certificates for tests of TLS, made by GnuTLS in a folder.
 */
#ifndef TEST_TLS_CERTIFICATE_H
#define TEST_TLS_CERTIFICATE_H

#include <gnutls/x509.h>
#include <stddef.h>
#include <time.h>

struct tls;
struct tls_client;

struct certificate {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
};

/*
 * A new key and its certificate for a host of that name, or names with commas
 * between them, or null for none; signed by an issuer, null: by itself, and it
 * may sign others.
 */
void certificate_make(struct certificate *c, const char *host,
		      const struct certificate *issuer, time_t expires);
void certificate_free(struct certificate *c);

/* As PEM, ended by a zero; to be released with free(). */
char *certificate_text(const struct certificate *c);
char *certificate_key_text(const struct certificate *c);

/* Makes an empty folder: group set-up and tear-down of cmocka. */
int certificate_folder_make(void **state);
int certificate_folder_remove(void **state);

/* The path of a file in it; valid for the next three calls. */
const char *certificate_path(const char *name);

/* Writes the first len bytes there, in place of what there is. */
void certificate_write(const char *name, const char *text, size_t len);

/* Writes a text, and frees it. */
void certificate_write_text(const char *name, char *text);

/* A listener with a certificate, in files "pem" and "key"; a client that trusts
 * an authority, in "ca". */
struct tls *certificate_listener(const struct certificate *c);
struct tls_client *certificate_client(const struct certificate *authority);

#endif
