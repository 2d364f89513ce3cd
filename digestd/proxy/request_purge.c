/*
 * What a request has to do with purges: a reply to an unsafe request waits
 * until peers have applied what it invalidates, and a peer's request is
 * answered only where all has been applied that the peer knows of.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/invalidation_log.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/teller.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

enum {
	REQUEST_PURGE_MS = 2000, /* a peer that does not answer costs so much */
	REQUEST_STRICT_MS = 10000, /* and a majority that does not */
	REQUEST_NEED_BYTES = 40, /* 16 digits, a hyphen, 20, a comma, a space */
};

/* Waiting for peers */

/* What it has invalidated may be served somewhere: no answer says that it has
 * succeeded. */
static void request_purge_refuse(struct request *r)
{
	worker_add(&r->worker->counters.invalidations_refused, 1);
	exchange_abort(r->x);
}

static void request_purge_on_told(void *arg, struct teller_wait *w)
{
	void (*reply)(struct request * r);
	struct request *r = arg;
	bool refused = w->refused;

	json_decref(w->answers);
	free(w);
	if (!r)
		return;
	reply = r->reply;
	r->held = NULL;
	r->reply = NULL;
	r->unheld = refused;
	if (reply)
		request_purge_reply(r, reply);
}

void request_purge_tell(struct request *r, uint64_t seq)
{
	struct teller *teller = r->worker->shared.teller;
	struct teller_wait *w = r->held ? NULL : calloc(1, sizeof(*w));

	if (!w) {
		teller_wake(teller); /* without memory nobody waits */
		r->unheld |= r->worker->shared.serving && !r->held;
		return;
	}
	w->seq = seq;
	w->timeout_ms = r->worker->shared.serving ? REQUEST_STRICT_MS :
						    REQUEST_PURGE_MS;
	w->loop = r->worker->loop;
	w->done = request_purge_on_told;
	w->arg = r;
	r->held = w;
	teller_wait(teller, w);
}

void request_purge_reply(struct request *r, void (*reply)(struct request *r))
{
	if (r->held)
		r->reply = reply;
	else if (r->unheld)
		request_purge_refuse(r);
	else
		reply(r);
}

void request_purge_leave(struct request *r)
{
	if (r->held)
		r->held->arg = NULL;
	r->held = NULL;
	r->reply = NULL;
}

/* What peers need */

int fill_add_need(struct fill *f)
{
	struct invalidation_position need[INVALIDATION_NEED_MAX];
	char text[INVALIDATION_NEED_MAX * REQUEST_NEED_BYTES];
	size_t n = cache_need(f->worker->shared.cache, &f->q->key,
			      f->q->target.uri, need);
	size_t len = 0;

	f->needs = n;
	if (!n)
		return 0;
	if (n > INVALIDATION_NEED_MAX)
		return -1;
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s%016" PRIx64 "-%" PRIu64,
					i ? ", " : "", need[i].source,
					need[i].seq);
	return fields_add(&f->out, "SCD-Need", text);
}

bool fill_need_is_met(struct fill *f)
{
	const char *met = fields_get(&f->response, "SCD-Need");
	bool is = f->peer->kind->purges &&
		  (!f->needs || (met && !strcmp(met, "met")));

	fields_remove(&f->response, "SCD-Need");
	return is;
}

/* One position: 16 hexadecimal digits, a hyphen, a number. */
static bool request_purge_read_position(struct field_part text,
					struct invalidation_position *out)
{
	char copy[REQUEST_NEED_BYTES + 1], *end;

	if (text.len < 18 || text.len > 37 || text.at[16] != '-')
		return false;
	memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	if (strspn(copy, "0123456789abcdef") != 16 ||
	    strspn(copy + 17, "0123456789") != text.len - 17)
		return false;
	out->source = strtoull(copy, &end, 16);
	out->seq = strtoull(copy + 17, NULL, 10);
	return end == copy + 16;
}

bool request_meets_need(struct request *r)
{
	struct cache *cache = r->worker->shared.cache;
	struct invalidation_position position;
	struct field_cursor cursor = { 0 };
	struct field_part one;

	if (!cache_has_caught_up(cache))
		return false;
	while (fields_next(request_fields(r), "SCD-Need", &cursor, &one)) {
		if (!request_purge_read_position(one, &position) ||
		    !cache_has_applied(cache, &position))
			return false;
		r->met = true;
	}
	return true;
}
