/*
 * How large a request's header may be, and what becomes of one that is not.
 *
 * The library keeps all of a connection's current request, and the header of
 * its reply, in one block of memory: the header's bytes, a record for each
 * field and for each cookie, and a copy of the cookies. Where the reply does
 * not fit any more it closes the connection without a byte. So the block has
 * room for fields of the size that is allowed, as much for a target or for the
 * copy of the cookies, and for a reply of that size; what has so many fields or
 * cookies that it leaves less is refused with 431, past the library.
 */
#include <assert.h>
#include <netdb.h>
#include <stdarg.h>
#include <string.h>

#include "digestd/os/log.h"
#include "digestd/server/server_conn.h"

enum {
	RECORD_BYTES = 64,     /* for a field or a cookie; measured */
	RECORDS_BYTES = 7168,  /* for all of them, beside what is not used of
				  the rest */
	REPLY_BYTES = 1024,    /* what a reply has beside its origin's fields */
	TARGET_BYTES = 8000,   /* which all should take (RFC 9110, 4.1) */
	LOG_BURST = 5,
	LOG_PERIOD_MS = 10000,
};

size_t server_header_memory(const struct server *s)
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

static void server_header_count_refused(struct server *s)
{
	atomic_fetch_add_explicit(&s->too_large, 1, memory_order_relaxed);
}

static void server_header_log_refused(struct server *s,
				      const struct sockaddr *from,
				      unsigned status)
{
	struct log_limit *limit = &s->too_large_log;
	char host[NI_MAXHOST] = "a client";
	unsigned dropped;

	limit->burst = LOG_BURST;
	limit->period_ms = LOG_PERIOD_MS;
	if (!log_allow(limit, loop_now_ms(s->loop), &dropped))
		return;
	if (from)
		getnameinfo(from, from->sa_family == AF_INET6 ?
				    sizeof(struct sockaddr_in6) :
				    sizeof(struct sockaddr_in),
			    host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	log_write(LOG_WARNING, "server", "port %u: %u to %s: the header is "
		  "larger than max_header_size = %zu, or has too many fields "
		  "(%u more not logged)", s->port, status, host,
		  s->settings.max_header_bytes, dropped);
}

unsigned conn_check_header(struct conn *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	const struct server *s = c->server;
	size_t bytes = info ? info->header_size : 0;
	size_t max = s->settings.max_header_bytes;

	if (c->target_len > (max > TARGET_BYTES ? max : TARGET_BYTES))
		return 414;
	if (bytes > max + c->target_len ||
	    server_header_cost(&c->x.fields, bytes) > 2 * max + RECORDS_BYTES)
		return 431;
	return 0;
}

void conn_refuse_header(struct conn *c, unsigned status)
{
	assert(status == 414 || status == 431);
	assert(!c->x.answered);
	server_header_count_refused(c->server);
	server_header_log_refused(c->server, c->x.request.client, status);
	/* past the library, as if a body were to come */
	c->x.receiving = true;
	exchange_refuse(&c->x, status);
}

/* The connection whose header is whole, but not in the handler's hands. */
static struct conn *server_header_find_whole(const struct server *s)
{
	struct conn *c = s->conns;

	while (c && (c->x.begun || c->x.answered ||
		     !MHD_get_connection_info(
			     c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)))
		c = c->next;
	return c;
}

/*
 * Where there is no memory for the records of cookies, the library's own reply
 * does not go out either: its log is the only place to hear of it.
 */
void server_log_library(void *cls, const char *format, va_list args)
{
	static const char refusal[] =
		"Error processing request (HTTP response code is %u";
	struct server *s = cls;
	struct conn *c;
	unsigned status;
	va_list copy;

	if (strncmp(format, refusal, sizeof(refusal) - 1))
		return;
	va_copy(copy, args);
	status = va_arg(copy, unsigned);
	va_end(copy);
	if (status != 431 && status != 414)
		return;
	c = server_header_find_whole(s);
	if (c) {
		c->x.request.method = "GET"; /* nobody has read it */
		conn_refuse_header(c, status);
	} else {
		server_header_count_refused(s);
		server_header_log_refused(s, NULL, status);
	}
}

uint64_t server_too_large(const struct server *server)
{
	return atomic_load_explicit(&server->too_large, memory_order_relaxed);
}
