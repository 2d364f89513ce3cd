/*
 * The header of a file in a cache folder of nginx: what is in it, and until
 * when nginx takes it for fresh.
 *
 * It is the memory of a structure of nginx, in the machine's byte order: at 0
 * the version (8 bytes), at 8 valid_sec (8 bytes, since 1970); then what this
 * does not need, and "\nKEY: ", the key, and a line feed. Where the key begins
 * is found by looking for it, as that changes from version to version: at 336
 * in version 5, of nginx 1.11.10 to at least 1.26. Versions 3 and 4 are of
 * nginx since 1.7.7.
 * Source: ngx_http_file_cache_header_t in nginx's src/http/ngx_http_cache.h.
 */
#ifndef DIGESTD_SIDECAR_NGINX_ENTRY_H
#define DIGESTD_SIDECAR_NGINX_ENTRY_H

#include <stddef.h>
#include <stdint.h>

enum {
	NGINX_ENTRY_OLDEST = 3, /* versions that are known */
	NGINX_ENTRY_NEWEST = 5,
	NGINX_ENTRY_BYTES = 4096,      /* that are read at first, */
	NGINX_ENTRY_MAX_BYTES = 32768, /* and at most */
};

struct nginx_entry {
	uint64_t version;
	int64_t valid_s; /* stale from then on [s since 1970] */
	const char *key; /* in what was read */
	size_t key_len;
};

/* What is wrong with a file. */
enum nginx_entry_fault {
	NGINX_ENTRY_GOOD,
	NGINX_ENTRY_SHORT,   /* there may be a key, if more is read */
	NGINX_ENTRY_VERSION, /* of a version that is not known; that is set */
	NGINX_ENTRY_NO_KEY,  /* it is no file of nginx's */
};

/* Reads the first len bytes of a file. */
enum nginx_entry_fault nginx_entry_read(const char *bytes, size_t len,
					struct nginx_entry *out);

#endif
