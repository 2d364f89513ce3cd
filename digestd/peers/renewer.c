/*
 * Renewals: one request to each peer at a time.
 */
#include "digestd/peers/renewer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/invalidation_wire.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/serving_desk.h"
#include "digestd/peers/teller_inside.h"
#include "digestd/peers/upstream.h"
#include "digestd/peers/token.h"

enum {
	RENEWER_HEADER_MAX = 8192,
	RENEWER_URL_BYTES = 1024,
};

struct renewer_peer {
	struct renewer *renewer;
	char url[RENEWER_URL_BYTES];
	struct fetch *fetch;
	struct heard *answer; /* what has come of it, and is being applied */
	bool granted;	      /* by that */
	int64_t sent_ms;      /* of that, on loop_clock_ms()'s clock */
	int64_t renewed_ms;   /* see serving_lease_end_ms() */
	bool answered, told; /* since the start; by a log that is whole */
	uint8_t message[INVALIDATION_POSITIONS_MAX];
	size_t message_len, sent;
};

struct renewer {
	struct teller *teller;
	struct loop *loop;
	struct serving_desk *desk;
	struct fetcher *fetcher;
	struct teller_settings settings; /* but for the peers */
	struct renewer_peer *peers;
	size_t npeers;
	int64_t *renewed_ms; /* a copy of theirs */
	struct loop_timer timer;
	int64_t epoch_due_ms; /* when it is given up to recover; of the loop */
	struct purge_walk walk; /* then */
	struct keypart part;
	struct loop_call step;
	uint64_t epoch; /* the number of that; 0: none */
	bool lost;	/* the log says that there is no lease */
};

/* What answers come to */

static unsigned renewer_members(const struct renewer *r)
{
	return (unsigned)r->npeers + 1;
}

static void renewer_recover(struct renewer *r, const char *how)
{
	serving_desk_recover(r->desk);
	log_write(LOG_INFO, "purge", "what was purged before is known again%s",
		  how);
}

static void renewer_walk(void *arg)
{
	struct renewer *r = arg;

	cache_purge_part(r->teller->cache, &r->walk, &r->part);
	if (++r->part.number < r->part.count) {
		loop_defer(r->loop, &r->step);
		return;
	}
	cache_purge_end(r->teller->cache, &r->walk);
	teller_wake(r->teller);
}

/* A majority may have lost something: nothing that is stored counts now. */
static void renewer_begin_epoch(struct renewer *r)
{
	const struct invalidation_entry all = {
		.of = {.kind = INVALIDATION_ALL},
	};
	const struct cache_purge purge = {
		.entries = &all,
		.n = 1,
		.now_s = loop_steady_s(r->loop),
	};

	log_write(LOG_WARNING, "purge", "too few peers know what was purged "
		  "before: all that is stored is removed, on all nodes");
	cache_purge_begin(r->teller->cache, &purge, &r->walk);
	r->epoch = r->walk.seq;
	r->part = (struct keypart){.count = cache_parts(r->teller->cache)};
	loop_defer(r->loop, &r->step);
}

static void renewer_check_epoch(struct renewer *r, unsigned answered)
{
	unsigned others = serving_majority(renewer_members(r)) - 1;

	if (!r->epoch && answered >= others &&
	    loop_now_ms(r->loop) >= r->epoch_due_ms)
		renewer_begin_epoch(r);
	else if (r->epoch && !r->walk.walks &&
		 teller_count_told(r->teller, r->epoch) >= others)
		renewer_recover(r, ", as nothing that was stored then is");
}

/* Whether the log of this node is whole. */
static bool renewer_check_recovery(struct renewer *r)
{
	unsigned told = 0, answered = 0;

	if (serving_desk_has_recovered(r->desk))
		return true;
	for (size_t i = 0; i < r->npeers; i++) {
		told += r->peers[i].told;
		answered += r->peers[i].answered;
	}
	if (told >= serving_recovery(renewer_members(r)))
		renewer_recover(r, "");
	else
		renewer_check_epoch(r, answered);
	return serving_desk_has_recovered(r->desk);
}

static void renewer_log_lease(struct renewer *r, int64_t end_ms)
{
	bool lost = end_ms <= loop_clock_ms();

	if (lost && !r->lost)
		log_write(LOG_WARNING, "purge", "a majority of nodes cannot be "
			  "reached: what is stored is validated at its origin");
	if (!lost && r->lost)
		log_write(LOG_INFO, "purge", "a majority of nodes can be "
			  "reached: what is stored is served");
	r->lost = lost;
}

static void renewer_update(struct renewer *r)
{
	int64_t end_ms;

	if (!renewer_check_recovery(r))
		return;
	for (size_t i = 0; i < r->npeers; i++)
		r->renewed_ms[i] = r->peers[i].renewed_ms;
	end_ms = serving_lease_end_ms(r->renewed_ms, r->npeers);
	serving_desk_set_end(r->desk, end_ms);
	renewer_log_lease(r, end_ms);
}

/* All that the peer knows has been applied. */
static void renewer_count_answer(struct renewer_peer *p)
{
	p->answered = true;
	p->told |= p->granted;
	if (p->granted)
		p->renewed_ms = p->sent_ms;
	renewer_update(p->renewer);
}

static void renewer_on_heard(void *arg, struct heard *h)
{
	struct renewer_peer *p = arg;

	(void)h;
	p->answer = NULL; /* it frees itself */
	renewer_count_answer(p);
}

/* Mostly there is nothing new, and nothing to wait for. */
static void renewer_apply(struct renewer_peer *p)
{
	struct invalidation_message m;
	struct heard *h = p->answer;

	if (!h->bytes || invalidation_read(h->bytes, h->len, h->by->secret, &m))
		heard_free(&p->answer);
	else if (!m.nsections) {
		heard_free(&p->answer);
		renewer_count_answer(p);
	} else if (heard_apply(h)) {
		heard_free(&p->answer); /* no memory */
	}
}

/* Asking */

static void renewer_on_headers(void *arg, struct fetch *f, unsigned status,
			       const struct fields *fields, int64_t body_len)
{
	struct renewer_peer *p = arg;
	const char *serving = fields_get(fields, RENEWAL_FIELD);

	(void)f;
	(void)body_len;
	p->granted = serving && !strcmp(serving, RENEWAL_GRANTED);
	if (status != 200 || !serving)
		heard_free(&p->answer);
}

static bool renewer_on_body(void *arg, struct fetch *f, const void *data,
			    size_t len)
{
	struct renewer_peer *p = arg;

	(void)f;
	if (p->answer && heard_add(p->answer, data, len))
		heard_free(&p->answer);
	return true;
}

static void renewer_on_done(void *arg, struct fetch *f,
			    const struct fetch_done *done)
{
	struct renewer_peer *p = arg;

	(void)f;
	p->fetch = NULL;
	if (done->result != FETCH_COMPLETE)
		heard_free(&p->answer);
	if (p->answer)
		renewer_apply(p);
}

static const struct fetch_callbacks renewer_callbacks = {
	.on_headers = renewer_on_headers,
	.on_body = renewer_on_body,
	.on_done = renewer_on_done,
};

static ssize_t renewer_read_message(void *arg, void *buf, size_t cap)
{
	struct renewer_peer *p = arg;
	size_t n = p->message_len - p->sent;

	if (n > cap)
		n = cap;
	memcpy(buf, p->message + p->sent, n);
	p->sent += n;
	return n ? (ssize_t)n : FETCH_EOF;
}

static void renewer_write_positions(struct renewer_peer *p)
{
	struct cache *cache = p->renewer->teller->cache;

	p->message_len = invalidation_write_positions(
		cache_purges_lock(cache), p->renewer->settings.secret,
		p->message);
	cache_purges_unlock(cache);
	p->sent = 0;
}

static int renewer_start(struct renewer_peer *p, const struct fields *fields)
{
	const struct fetch_limits limits = {
		.connect_ms = SERVING_TERM_MS,
		.first_byte_ms = SERVING_TERM_MS,
		.low_rate = 1,
		.low_rate_s = (SERVING_TERM_MS + 999) / 1000,
		.max_header_bytes = RENEWER_HEADER_MAX,
	};
	const struct fetch_upload upload = {(int64_t)p->message_len,
					    renewer_read_message, NULL};
	const struct fetch_request request = {
		.method = "POST",
		.url = p->url,
		.fields = fields,
		.limits = &limits,
		.upload = &upload,
		.tls = p->renewer->settings.tls,
	};

	return fetch_start(p->renewer->fetcher, &request, &renewer_callbacks, p,
			   &p->fetch);
}

/* Without memory it is asked next time. */
static void renewer_ask(struct renewer_peer *p)
{
	struct fields f;

	fields_init(&f);
	p->granted = false;
	p->answer = heard_new(&p->renewer->teller->by, renewer_on_heard, p);
	renewer_write_positions(p);
	p->sent_ms = loop_clock_ms();
	if (!p->answer || token_add_field(p->renewer->settings.token, &f) ||
	    renewer_start(p, &f))
		heard_free(&p->answer);
	fields_free(&f);
}

static void renewer_on_timer(void *arg)
{
	struct renewer *r = arg;

	loop_timer_set(r->loop, &r->timer,
		       loop_now_ms(r->loop) + SERVING_RENEW_MS,
		       renewer_on_timer, r);
	for (size_t i = 0; i < r->npeers; i++) {
		if (!r->peers[i].fetch && !r->peers[i].answer)
			renewer_ask(&r->peers[i]);
	}
	renewer_update(r);
}

/* Life */

/* What is under way ends; what a peer has said already is applied. */
static void renewer_drop_peers(struct renewer *r)
{
	for (size_t i = 0; i < r->npeers; i++) {
		struct renewer_peer *p = &r->peers[i];

		fetch_cancel(&p->fetch);
		if (p->answer && p->answer->entries)
			p->answer->arg = NULL;
		else
			heard_free(&p->answer);
	}
	free(r->peers);
	free(r->renewed_ms);
	r->peers = NULL;
	r->renewed_ms = NULL;
	r->npeers = 0;
}

static size_t renewer_fill_peers(struct renewer *r,
				 const struct teller_settings *settings,
				 struct renewer_peer *peers)
{
	size_t n = 0;

	for (size_t i = 0; i < settings->npeers; i++) {
		if (!settings->peers[i].kind->purges)
			continue;
		peers[n].renewer = r;
		peers[n].renewed_ms = INT64_MIN;
		snprintf(peers[n].url, RENEWER_URL_BYTES, "%s" RENEWAL_PATH,
			 settings->peers[i].url);
		n++;
	}
	return n;
}

/* Takes over what the peers have granted if they are those of before. */
static bool renewer_keep_grants(const struct renewer *r,
				struct renewer_peer *peers, size_t n)
{
	if (n != r->npeers)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(peers[i].url, r->peers[i].url) != 0)
			return false;
	}
	for (size_t i = 0; i < n; i++) {
		peers[i].renewed_ms = r->peers[i].renewed_ms;
		peers[i].answered = r->peers[i].answered;
		peers[i].told = r->peers[i].told;
	}
	return true;
}

int renewer_set(struct renewer *r, const struct teller_settings *settings)
{
	struct renewer_peer *peers =
		calloc(settings->npeers + 1, sizeof(*peers));
	int64_t *renewed_ms =
		calloc(settings->npeers + 1, sizeof(*renewed_ms));
	size_t n;

	if (!peers || !renewed_ms) {
		free(peers);
		free(renewed_ms);
		return -ENOMEM;
	}
	n = renewer_fill_peers(r, settings, peers);
	if (!renewer_keep_grants(r, peers, n))
		serving_desk_set_end(r->desk, INT64_MIN);
	renewer_drop_peers(r);
	r->peers = peers;
	r->renewed_ms = renewed_ms;
	r->npeers = n;
	r->settings = *settings;
	r->settings.peers = NULL; /* not needed any more */
	renewer_on_timer(r);
	return 0;
}

int renewer_new(struct teller *teller, struct serving_desk *desk,
		const struct teller_settings *settings, struct renewer **out)
{
	struct renewer *r = calloc(1, sizeof(*r));
	int err;

	*out = r;
	if (!r)
		return -ENOMEM;
	r->teller = teller;
	r->loop = teller->loop;
	r->desk = desk;
	r->lost = true;
	r->step = (struct loop_call){.run = renewer_walk, .arg = r};
	r->epoch_due_ms = loop_now_ms(r->loop) + SERVING_EPOCH_MS;
	err = fetcher_new(r->loop, FETCHER_DATA, 0, &r->fetcher);
	if (!err)
		err = renewer_set(r, settings);
	if (err)
		renewer_free(out);
	return err;
}

void renewer_free(struct renewer **out)
{
	struct renewer *r = *out;

	*out = NULL;
	if (!r)
		return;
	renewer_drop_peers(r);
	loop_timer_clear(r->loop, &r->timer);
	loop_undefer(r->loop, &r->step);
	cache_purge_end(r->teller->cache, &r->walk);
	if (r->fetcher)
		fetcher_free(&r->fetcher);
	free(r);
}
