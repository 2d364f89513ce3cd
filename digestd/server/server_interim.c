/*
 * Interim responses (RFC 9110, 15.2), which the library does not send: they are
 * written past it, to its socket or through its session, while the request
 * waits for its reply. The library has then sent all that it had to.
 *
 * Nothing is kept of one that does not fit into the socket's buffer: hints that
 * are late are of no use. The buffer has room for INTERIM_BYTES in any case, so
 * one is sent whole where no more than that is in it afterwards.
 */
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "digestd/server/server_conn.h"
#include "digestd/tls/tls.h"

enum { INTERIM_BYTES = 8192 };

/* Whether the client takes one now, beside what the library writes. */
static bool server_interim_is_due(const struct exchange *x)
{
	if (!x->started || x->answered || x->aborted || !x->request.minor)
		return false;
	/* a 100 of the library's own may be on its way */
	return !x->request.has_body || x->body_ended ||
	       !fields_get(x->request.fields, "expect");
}

/* All of it, to be freed; null without memory. */
static char *server_interim_write(unsigned status, const struct fields *fields,
				  size_t *len)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, len);

	if (!to)
		return NULL;
	fprintf(to, "HTTP/1.1 %u %s\r\n", status,
		MHD_get_reason_phrase_for(status));
	server_write_fields(fields, to);
	fprintf(to, "\r\n");
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

static bool server_interim_fits(const struct conn *c, size_t len)
{
	int queued;

	return !ioctl(c->fd, SIOCOUTQ, &queued) && queued >= 0 &&
	       (size_t)queued + len <= INTERIM_BYTES;
}

/* False: a part of it has gone, or the connection has. Many small ones can fill
 * a buffer with few bytes; then nothing goes, and it is dropped. */
static bool server_interim_send(const struct conn *c, const char *text,
				size_t len)
{
	ssize_t n;

	if (c->handshake)
		return tls_send(c->handshake, text, len);
	n = send(c->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n == (ssize_t)len ||
	       (n < 0 && errno == EAGAIN);
}

void exchange_interim(struct exchange *x, unsigned status,
		      const struct fields *fields)
{
	struct conn *c = exchange_conn(x);
	size_t len;
	char *text;

	assert(status > 101 && status < 200);
	assert(x->begun);
	if (!server_interim_is_due(x))
		return;
	text = server_interim_write(status, fields, &len);
	/* a part of one would be the beginning of the reply */
	if (text && server_interim_fits(c, len) &&
	    !server_interim_send(c, text, len))
		exchange_abort(x);
	free(text);
}
