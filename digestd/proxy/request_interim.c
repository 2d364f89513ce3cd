/*
 * Interim responses of an origin (RFC 9110, 15.2) on their way to the client.
 */
#include "digestd/http/via.h"
#include "digestd/proxy/request.h"

void request_pass_interim(void *arg, struct fetch *f, unsigned status,
			  const struct fields *fields)
{
	struct request *r = arg;
	struct fields out;

	(void)f;
	if (!r->fill.client || r->fill.state != NODE_ASK_ORIGIN ||
	    fields_copy(fields, &out))
		return;
	fields_remove_hop_by_hop(&out);
	if (!via_append(&out, 1, r->settings->node))
		exchange_interim(r->x, status, &out);
	fields_free(&out);
}
