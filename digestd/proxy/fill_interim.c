/*
 * Interim responses of an origin (RFC 9110, 15.2) on their way to the client.
 */
#include "digestd/http/via.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

void fill_pass_interim(void *arg, struct fetch *fetch, unsigned status,
		       const struct fields *fields)
{
	struct fill *f = arg;
	struct fields out;

	(void)fetch;
	/* 100 was sent by the server, so that the body came */
	if (status == 100 || !f->client ||
	    f->node.state != NODE_ASK_ORIGIN || fields_copy(fields, &out))
		return;
	fields_remove_hop_by_hop(&out);
	if (!via_append(&out, "1.1", f->q->settings->node))
		exchange_interim(f->client->x, status, &out);
	fields_free(&out);
}
