/*
 * Headers of nginx's cache files.
 */
#define _GNU_SOURCE /* memmem() */
#include "digestd/sidecar/nginx_entry.h"

#include <string.h>

/* The version, valid_sec, and what all versions have behind them at least. */
enum {
	NGINX_ENTRY_VALID_AT = 8,
	NGINX_ENTRY_MIN_HEADER = 64,
	NGINX_ENTRY_MAX_HEADER = 1024,
};

static const char nginx_entry_mark[] = "\nKEY: ";

static uint64_t nginx_entry_word(const char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

enum nginx_entry_fault nginx_entry_read(const char *bytes, size_t len,
					struct nginx_entry *out)
{
	const size_t mark_len = sizeof(nginx_entry_mark) - 1;
	size_t header_len = len < NGINX_ENTRY_MAX_HEADER ?
				    len : NGINX_ENTRY_MAX_HEADER;
	const char *mark, *end;

	*out = (struct nginx_entry){ .version = 0 };
	if (len < NGINX_ENTRY_MIN_HEADER)
		return NGINX_ENTRY_NO_KEY;
	out->version = nginx_entry_word(bytes);
	if (out->version < NGINX_ENTRY_OLDEST ||
	    out->version > NGINX_ENTRY_NEWEST)
		return NGINX_ENTRY_VERSION;
	out->valid_s = (int64_t)nginx_entry_word(bytes + NGINX_ENTRY_VALID_AT);
	mark = memmem(bytes, header_len, nginx_entry_mark, mark_len);
	if (!mark)
		return NGINX_ENTRY_NO_KEY;
	out->key = mark + mark_len;
	end = memchr(out->key, '\n', len - (size_t)(out->key - bytes));
	if (!end)
		return NGINX_ENTRY_SHORT;
	out->key_len = (size_t)(end - out->key);
	return NGINX_ENTRY_GOOD;
}
