/*
 * How large a request's header may be, and what becomes of one that is not.
 *
 * The library keeps all of a connection's current request, and the header of
 * its reply, in one block of memory: the header's bytes, a record for each
 * field and for each cookie, and a copy of the cookies. Where the reply does
 * not fit any more it closes the connection without a byte. So the block has
 * room for fields of the size that is allowed, as much for a target or for the
 * copy of the cookies, and for a reply of that size; what has so many fields or
 * cookies that it leaves less is refused with 431.
 */
#include <stdarg.h>
#include <string.h>

#include "digestd/server/server_mhd.h"

enum {
	RECORD_BYTES = 64,     /* for a field or a cookie; measured */
	RECORDS_BYTES = 7168,  /* for all of them, beside what is not used of
				  the rest */
	REPLY_BYTES = 1024,    /* what a reply has beside its origin's fields */
	TARGET_BYTES = 8000,   /* which all should take (RFC 9110, 4.1) */
};

size_t mhd_server_header_memory(const struct server *s)
{
	return 3 * s->settings.max_header_bytes + RECORDS_BYTES + REPLY_BYTES;
}

/* The cookies of a field, of which there is one more than separators. */
static size_t server_header_count_cookies(const char *cookies)
{
	size_t n = 1;

	for (; *cookies; cookies++)
		n += *cookies == ';';
	return n;
}

/* What the library holds of a request whose header is of so many bytes. */
static size_t server_header_cost(const struct fields *fields, size_t bytes)
{
	const char *cookies = fields_get(fields, "Cookie");
	size_t records = fields_count(fields);

	if (cookies) {
		bytes += strlen(cookies);
		records += server_header_count_cookies(cookies);
	}
	return bytes + records * RECORD_BYTES;
}

unsigned mhd_conn_check_header(struct mhd_conn *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	const struct server *s = c->base.server;
	size_t bytes = info ? info->header_size : 0;
	size_t max = s->settings.max_header_bytes;

	if (c->target_len > (max > TARGET_BYTES ? max : TARGET_BYTES))
		return 414;
	if (bytes > max + c->target_len ||
	    server_header_cost(&c->x.fields, bytes) > 2 * max + RECORDS_BYTES)
		return 431;
	return 0;
}

/*
 * Where there is no memory for the records of cookies, the library refuses by
 * itself: its log is the only place to hear of it.
 */
void mhd_server_log_library(void *cls, const char *format, va_list args)
{
	static const char refusal[] =
		"Error processing request (HTTP response code is %u";
	unsigned status;
	va_list copy;

	if (strncmp(format, refusal, sizeof(refusal) - 1))
		return;
	va_copy(copy, args);
	status = va_arg(copy, unsigned);
	va_end(copy);
	if (status == 431 || status == 414)
		server_count_refusal(cls, NULL, status, NULL);
}
