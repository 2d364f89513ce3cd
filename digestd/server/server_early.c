/*
 * Replies that come before the request's body is in: an upload that the origin
 * refuses, or one that is too large. The library sends none then; it would read
 * the rest of the body first, however long that takes.
 *
 * So a small reply is written past it, in one go, and the connection is closed
 * after it, but not at once: what arrives at a closed socket resets the
 * connection, which can take the reply away before the client has read it
 * (RFC 9112, 9.6). What comes is thrown away until the client has seen the end,
 * and closes too; or until nothing came for LINGER_MS, or something for
 * LINGER_MAX_MS.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "digestd/http/httpdate.h"
#include "digestd/server/server_conn.h"
#include "digestd/tls/tls.h"

enum { LINGER_MS = 5000, LINGER_MAX_MS = 60000 };

bool exchange_is_receiving(const struct exchange *x)
{
	return x->receiving && !x->body_ended;
}

void server_write_fields(const struct fields *fields, FILE *to)
{
	for (size_t i = 0; fields && i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (!server_writes_field(f->name) && *f->value)
			fprintf(to, "%s: %s\r\n", f->name, f->value);
	}
}

static void server_early_write_date(const struct fields *fields, int64_t now_s,
				    FILE *to)
{
	char date[HTTPDATE_LEN + 1];

	if (fields && fields_get(fields, "Date"))
		return;
	httpdate_format(now_s, date);
	fprintf(to, "Date: %s\r\n", date);
}

/* All of it, to be freed; null without memory. */
static char *server_early_write_reply(const struct exchange *x,
				      const struct early_reply *reply,
				      size_t *len)
{
	bool bare = exchange_is_bodiless(x, reply->status);
	char *text = NULL;
	FILE *to = open_memstream(&text, len);

	if (!to)
		return NULL;
	fprintf(to, "HTTP/1.1 %u %s\r\n", reply->status,
		MHD_get_reason_phrase_for(reply->status));
	server_write_fields(reply->fields, to);
	server_early_write_date(
		reply->fields, loop_wall_s(exchange_conn(x)->server->loop), to);
	if (reply->type)
		fprintf(to, "Content-Type: %s\r\n", reply->type);
	fprintf(to, "Connection: close\r\n");
	if (!bare)
		fprintf(to, "Content-Length: %zu\r\n", reply->len);
	fprintf(to, "\r\n");
	if (!bare)
		fwrite(reply->body, 1, reply->len, to);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* A socket that nothing was sent on for a while takes so much at once. */
static bool server_early_send_whole(struct conn *c, const char *text,
				    size_t len)
{
	if (c->handshake)
		return tls_send_last(c->handshake, text, len);
	return send(c->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) ==
		       (ssize_t)len && !shutdown(c->fd, SHUT_WR);
}

void exchange_linger(struct exchange *x)
{
	struct conn *c = exchange_conn(x);
	int64_t end_ms = loop_now_ms(c->server->loop) + LINGER_MS;

	assert(x->early);
	conn_set_deadline(c, end_ms < x->early_end_ms ? end_ms :
							x->early_end_ms);
}

bool exchange_reply_early(struct exchange *x, const struct early_reply *reply)
{
	struct conn *c = exchange_conn(x);
	char *text;
	size_t len;

	assert(reply->status >= 200);
	assert(reply->body || !reply->len);
	if (!exchange_is_receiving(x) || x->answered || x->aborted ||
	    reply->len > EXCHANGE_EARLY_BYTES)
		return false;
	text = server_early_write_reply(x, reply, &len);
	if (!text)
		return false;
	x->answered = true;
	x->early = server_early_send_whole(c, text, len);
	free(text);
	if (x->early) {
		x->early_end_ms = loop_now_ms(c->server->loop) + LINGER_MAX_MS;
		exchange_linger(x);
		conn_resume(c);
	} else {
		exchange_abort(x);
	}
	return true;
}
