/*
 * From the header of a request to what the handler is told of it, the same for
 * all protocols that a client may speak.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/forwarded.h"
#include "digestd/server/front.h"

/* Moves the header into the exchange's own memory. Returns 0 or -ENOMEM. */
static int front_request_take_text(struct front_exchange *fx,
				   struct request_head *h, const char *at)
{
	int err;

	if (fx->text_cap < h->len) {
		free(fx->text);
		fx->text_cap = 0;
		fx->text = malloc(h->len);
		if (!fx->text)
			return -ENOMEM;
		fx->text_cap = h->len;
	}
	memcpy(fx->text, at, h->len);
	request_head_move(h, fx->text);
	err = request_head_borrow_fields(h, fx->text, &fx->x.fields);
	front_exchange_count(fx);
	return err;
}

static void front_request_fill(struct front_exchange *fx,
			       const struct request_head *h)
{
	const struct conn *c = fx->x.conn;
	struct server_request *r = &fx->x.request;

	r->method = request_head_part(h, h->method).at;
	r->target = request_head_part(h, h->target).at;
	r->target_len = h->target.len;
	r->minor = h->minor;
	r->fields = &fx->x.fields;
	r->host = h->host.len ? request_head_part(h, h->host).at : NULL;
	r->host_len = h->host.len;
	r->https = front_conn_of(&fx->x)->tls || front_conn_of(&fx->x)->https;
	r->body_len = h->framing.chunked ? -1 :
		      h->framing.length > 0 ? h->framing.length : 0;
	r->has_body = r->body_len != 0;
	r->upgrade = h->upgrade.len ? request_head_part(h, h->upgrade).at :
				      NULL;
	fx->keeps_old = !h->minor && h->keep;
	forwarded_admit(conn_trust(c), &fx->x.fields, &r->https);
}

int front_request_take(struct front_exchange *fx, struct request_head *h,
		       const char *at)
{
	int err = front_request_take_text(fx, h, at);

	if (!err)
		front_request_fill(fx, h);
	return err;
}
