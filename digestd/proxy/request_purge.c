/*
 * What a request has to do with purges: a reply to an unsafe request waits
 * until peers have applied what it invalidates, and it is off the disk; and a
 * peer's request is answered only where all has been applied that the peer
 * knows of.
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

/* Waiting for peers, and for the disk */

/* Why a reply waits. It may outlive its request. */
struct request_hold {
	struct teller_wait wait; /* first: the teller frees it at its end */
	struct disk_sync sync;
	struct worker *worker;
	struct request *r; /* null: it has left */
	struct request_hold *next, **link; /* in the worker */
};

static void request_hold_free(struct request_hold *h)
{
	*h->link = h->next;
	if (h->next)
		h->next->link = h->link;
	free(h);
}

static struct request_hold *request_hold_new(struct request *r)
{
	struct request_hold *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->worker = r->worker;
	h->r = r;
	h->next = r->worker->holds;
	h->link = &r->worker->holds;
	if (h->next)
		h->next->link = &h->next;
	r->worker->holds = h;
	r->held = h;
	return h;
}

/* What it has invalidated may be served somewhere: no answer says that it has
 * succeeded. */
static void request_purge_refuse(struct request *r)
{
	worker_add(&r->worker->counters.invalidations_refused, 1);
	exchange_abort(r->x);
}

/* It is over. */
static void request_purge_on_synced(void *arg)
{
	struct request_hold *h = arg;
	void (*reply)(struct request *r);
	struct request *r = h->r;
	bool refused = h->wait.refused;

	request_hold_free(h);
	if (!r)
		return;
	reply = r->reply;
	r->held = NULL;
	r->reply = NULL;
	r->unheld |= refused;
	if (reply)
		request_purge_reply(r, reply);
}

/* What was dropped must not come back from the disk, either. */
static void request_purge_sync(struct request_hold *h)
{
	h->sync.loop = h->worker->loop;
	h->sync.call = (struct loop_call){ .run = request_purge_on_synced,
					   .arg = h };
	if (!cache_sync(h->worker->shared.cache, &h->sync))
		request_purge_on_synced(h);
}

static void request_purge_on_told(void *arg, struct teller_wait *w)
{
	struct request_hold *h = arg;

	json_decref(w->answers);
	request_purge_sync(h);
}

static void request_purge_wait(struct request_hold *h, uint64_t seq)
{
	h->wait.seq = seq;
	h->wait.timeout_ms = h->worker->shared.serving ? REQUEST_STRICT_MS :
							 REQUEST_PURGE_MS;
	h->wait.loop = h->worker->loop;
	h->wait.done = request_purge_on_told;
	h->wait.arg = h;
	teller_wait(h->worker->shared.teller, &h->wait);
}

void request_purge_tell(struct request *r, uint64_t seq)
{
	struct worker *w = r->worker;
	struct request_hold *h = NULL;

	if (seq && teller_is_alone(w->shared.teller))
		seq = 0; /* saves two changes of the thread */
	if (!seq && !cache_has_disk(w->shared.cache))
		return;
	if (!r->held)
		h = request_hold_new(r);
	if (h && seq)
		request_purge_wait(h, seq);
	else if (h)
		request_purge_sync(h);
	else if (seq) /* without memory nobody waits */
		teller_wake(w->shared.teller);
	r->unheld |= !r->held && w->shared.serving;
}

void request_purge_fail(struct request *r)
{
	r->unheld = true;
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
		r->held->r = NULL;
	r->held = NULL;
	r->reply = NULL;
}

void request_purge_end_all(struct worker *w)
{
	for (struct request_hold *h = w->holds; h; h = h->next)
		cache_sync_wait(w->shared.cache, &h->sync);
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
		/* the cache beside a sidecar has not heard of it */
		r->met = !r->q->settings->sidecar;
	}
	return true;
}
