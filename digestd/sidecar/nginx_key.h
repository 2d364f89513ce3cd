/*
 * From the KEY of an nginx cache file to the URL of what is in it: a template
 * of the KEY, which is nginx's proxy_cache_key, and one of the URL, both of
 * texts and variables:
 *
 *   $scheme        http or https
 *   $host          a host, perhaps with a port; also $http_host, $proxy_host
 *   $request_uri   from the first slash to the end; also $uri$is_args$args
 *   $request_method  GET; what is of another method has no URL
 *
 * The URL's variables are those of the KEY. A $scheme before a $host without a
 * text between them is read as https if it can be, as only a host could tell.
 */
#ifndef DIGESTD_SIDECAR_NGINX_KEY_H
#define DIGESTD_SIDECAR_NGINX_KEY_H

#include <stdbool.h>
#include <stddef.h>

enum {
	NGINX_KEY_PARTS = 16,
	NGINX_KEY_TEXT = 256, /* bytes of all texts of a template */
};

enum nginx_key_kind {
	NGINX_KEY_LITERAL,
	NGINX_KEY_SCHEME,
	NGINX_KEY_HOST,
	NGINX_KEY_URI,
	NGINX_KEY_METHOD,
	NGINX_KEY_KINDS,
};

/* A template. All fields are private. */
struct nginx_key {
	unsigned n;
	struct {
		enum nginx_key_kind kind;
		size_t at, len; /* LITERAL: in text */
	} parts[NGINX_KEY_PARTS];
	char text[NGINX_KEY_TEXT];
};

/* Reads a template. Returns what is wrong with it, in English; null:
 * nothing. */
const char *nginx_key_read(const char *text, struct nginx_key *out);

/* What is wrong with a pair of templates, as the URL's has what the KEY's has
 * not, or is none; null: nothing. */
const char *nginx_key_fault(const struct nginx_key *key,
			    const struct nginx_key *url);

/*
 * Writes the URL of a KEY of len bytes to out, without an end. Returns its
 * length; 0: the KEY is not as its template says, is of another method than
 * GET, or cap bytes are not enough.
 */
size_t nginx_key_url(const struct nginx_key *key, const struct nginx_key *url,
		     const char *text, size_t len, char *out, size_t cap);

#endif
