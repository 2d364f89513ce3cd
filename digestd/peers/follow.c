/*
 * Following peers. The decisions are peer.h's; here are the fetches.
 */
#include "digestd/peers/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/http/fields.h"
#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/digest_decoder.h"
#include "digestd/peers/digest_request.h"

enum {
	HEALTH_TICK_MS = 50,
	MAX_HEADER_BYTES = 16384,
	STATUS_FULL = 200,
	STATUS_DELTA = 226,
	STATUS_NO_TOKEN = 401,
};

/* A fetch under way, and then what it has brought while it is decoded. */
struct update {
	struct fetch *fetch;
	unsigned status;
	struct digest_body body;
	struct digest_job *job;
};

struct peer {
	struct follow *follow;
	uint32_t id;
	char *name, *url, *digest_url;
	struct fetch_schedule follower;
	struct peer_health health;
	struct peer_digest *digest;
	struct next_fetch next;
	struct loop_timer timer;
	struct update update;
	struct follow_counters counters;
	bool was_usable;   /* in the last view */
	char reported[96]; /* its trouble, as it was logged; or empty */
};

struct follow {
	struct loop *loop;
	struct fetcher *fetcher;
	struct digest_decoder *decoder;
	struct follow_settings settings;
	struct peer **peers;
	size_t npeers;
	uint32_t next_id;
	struct peerset *view; /* the last one made */
	struct loop_timer tick;
	void (*changed)(void *arg);
	void *arg;
};

static bool follow_usable(const struct peer *p)
{
	return peer_health_usable(&p->health) &&
	       fetch_schedule_usable(&p->follower,
				     &p->follow->settings.follower,
				     loop_now_ms(p->follow->loop));
}

static void follow_view_changed(struct follow *f)
{
	for (size_t i = 0; i < f->npeers; i++)
		f->peers[i]->was_usable = follow_usable(f->peers[i]);
	f->changed(f->arg);
}

/* The end of a fetch */

static void follow_install(struct peer *p, struct peer_digest *d)
{
	struct follow *f = p->follow;

	if (p->digest && p->digest->instance != d->instance &&
	    peer_health_restarted(&p->health, &f->settings.health,
				  loop_now_ms(f->loop)))
		log_write(LOG_INFO, "follower", "peer %s: restarted, %s",
			  p->name, peer_health_state_text(p->health.state));
	peer_digest_unref(p->digest);
	p->digest = peer_digest_ref(d);
}

/* Each fetch may fail again: only another reason is news. */
static void follow_report_once(struct peer *p, const char *what)
{
	if (!strncmp(p->reported, what, sizeof(p->reported) - 1))
		return;
	log_write(LOG_WARNING, "follower", "peer %s: %s", p->name, what);
	snprintf(p->reported, sizeof(p->reported), "%s", what);
}

static void follow_report_well(struct peer *p)
{
	if (*p->reported)
		log_write(LOG_INFO, "follower", "peer %s: well again", p->name);
	p->reported[0] = '\0';
}

static const char *follow_reason(int error)
{
	return error == SCD_EMISMATCH
		       ? "it has Squid's hashing, which is not looked up here"
		       : scd_strerror(error);
}

static enum fetched follow_refuse(struct peer *p, int error)
{
	char what[128];

	snprintf(what, sizeof(what), "%s refused: %s",
		 p->update.status == STATUS_DELTA ? "delta" : "digest",
		 follow_reason(error));
	follow_report_once(p, what);
	p->counters.unfit++;
	return FETCHED_UNFIT;
}

/* What a digest that came whole has led to. */
static enum fetched follow_take_decoded(struct peer *p,
					const struct digest_decoded *d)
{
	if (d->error)
		return follow_refuse(p, d->error);
	follow_install(p, d->digest);
	if (d->delta) {
		p->counters.delta_received++;
		p->counters.delta_received_bytes += d->len;
	} else {
		p->counters.full_received++;
		p->counters.full_received_bytes += d->len;
	}
	log_write(LOG_DEBUG, "follower",
		  "peer %s: generation %" PRIu64 ", %s of %zu bytes", p->name,
		  d->info.generation, d->delta ? "delta" : "full digest",
		  d->len);
	follow_report_well(p);
	return d->delta ? FETCHED_DELTA : FETCHED_FULL;
}

static enum fetched follow_take_failure(struct peer *p, const char *what)
{
	follow_report_once(p, what);
	p->counters.fetch_failed++;
	return FETCHED_FAILED;
}

/* Whether an answer has a digest for its body. */
static bool follow_brings_digest(const struct update *u)
{
	return u->status == STATUS_FULL || u->status == STATUS_DELTA;
}

static bool follow_is_whole(const struct fetch_done *done)
{
	return done->result == FETCH_COMPLETE && !done->ended_by_close;
}

/* Why an answer is not whole. */
static const char *follow_fetch_fault(enum fetch_result result)
{
	switch (result) {
	case FETCH_NOCONNECT:
		return "no digest: no connection to it";
	case FETCH_TIMEOUT:
		return "no digest: no answer in time";
	case FETCH_UNTRUSTED:
		return "no digest: no TLS with it, or its certificate is not "
		       "trusted";
	case FETCH_COMPLETE: /* without a length of its own */
	case FETCH_TRUNCATED:
	case FETCH_REFUSED:
	case FETCH_BAD:
	case FETCH_NOMEM:
		break;
	}
	return "no digest: no complete answer";
}

/* What an answer without a digest has led to. */
static enum fetched follow_judge(struct peer *p, const struct fetch_done *done)
{
	char what[64];

	if (!follow_is_whole(done))
		return follow_take_failure(p, follow_fetch_fault(done->result));
	if (p->update.status == STATUS_NO_TOKEN)
		return follow_take_failure(
			p, "no digest: status 401: its cluster key "
			   "is not ours");
	if (p->update.status == 304) {
		if (!p->digest)
			return follow_take_failure(
				p, "no digest: 304 for nothing");
		p->counters.unchanged++;
		follow_report_well(p);
		return FETCHED_SAME;
	}
	snprintf(what, sizeof(what), "no digest: status %u", p->update.status);
	return follow_take_failure(p, what);
}

static void follow_begin(void *arg);

static void follow_schedule(struct peer *p)
{
	loop_timer_set(p->follow->loop, &p->timer, p->next.due_ms, follow_begin,
		       p);
}

static void follow_end_update(struct peer *p)
{
	fetch_cancel(&p->update.fetch);
	digest_job_cancel(&p->update.job);
	digest_body_free(&p->update.body);
	p->update = (struct update){0};
}

/* An update has ended so, and all that follows from it. */
static void follow_finish(struct peer *p, enum fetched event)
{
	struct follow *f = p->follow;

	p->next = fetch_schedule_end(&p->follower, &f->settings.follower, event,
				     loop_now_ms(f->loop));
	follow_end_update(p);
	follow_schedule(p);
	if (event == FETCHED_FULL || event == FETCHED_DELTA ||
	    follow_usable(p) != p->was_usable)
		follow_view_changed(f);
}

static void follow_on_decoded(void *arg, const struct digest_decoded *d)
{
	struct peer *p = arg;

	p->update.job = NULL;
	follow_finish(p, follow_take_decoded(p, d));
}

static struct digest_expected follow_expected_of(const struct peer *p)
{
	return (struct digest_expected){
		.limits = &p->follow->settings.limits,
		.delta = p->update.status == STATUS_DELTA,
		.base = p->digest,
	};
}

static void follow_decode(struct peer *p)
{
	const struct digest_expected expected = follow_expected_of(p);

	if (!p->update.body.most) {
		follow_finish(p, follow_refuse(p, SCD_ETRUNC));
	} else if (digest_decoder_start(p->follow->decoder, &p->update.body,
					&expected, &p->update.job)) {
		follow_finish(
			p, follow_take_failure(p, "no digest: it could not be "
						  "decoded now"));
	} else {
		digest_job_notify(p->update.job, follow_on_decoded, p);
	}
}

static void follow_on_done(void *arg, struct fetch *fetch,
			   const struct fetch_done *done)
{
	struct peer *p = arg;

	(void)fetch;
	p->update.fetch = NULL;
	if (follow_is_whole(done) && follow_brings_digest(&p->update))
		follow_decode(p);
	else
		follow_finish(p, follow_judge(p, done));
}

/* The fetch itself */

static void follow_on_headers(void *arg, struct fetch *fetch, unsigned status,
			      const struct fields *fields, int64_t body_len)
{
	struct peer *p = arg;

	(void)fetch;
	(void)fields;
	(void)body_len;
	p->update.status = status;
}

/* A digest that will not do ends the fetch at its header. */
static bool follow_on_body(void *arg, struct fetch *fetch, const void *data,
			   size_t len)
{
	struct peer *p = arg;
	const struct digest_expected expected = follow_expected_of(p);
	int error = 0;

	(void)fetch;
	if (follow_brings_digest(&p->update))
		error = digest_body_add(&p->update.body, &expected, data, len);
	if (error)
		follow_finish(p, follow_refuse(p, error));
	return true;
}

static const struct fetch_callbacks callbacks = {
	.on_headers = follow_on_headers,
	.on_body = follow_on_body,
	.on_done = follow_on_done,
};

static int follow_add_base(struct peer *p, struct fields *fields)
{
	struct digest_tag tag = {p->digest->instance, p->digest->generation};
	char etag[DIGEST_ETAG_BYTES + 1], wait[32];

	digest_tag_write(&tag, etag);
	snprintf(wait, sizeof(wait), "wait=%" PRId64,
		 p->follow->settings.wait_s);
	return fields_add(fields, "If-None-Match", etag) ||
	       fields_add(fields, "A-IM",
			  DIGEST_IM_CONDITIONAL ", " DIGEST_IM_XOR) ||
	       fields_add(fields, "Prefer", wait);
}

static int follow_start(struct peer *p, struct fields *fields)
{
	const struct follow_settings *s = &p->follow->settings;
	int64_t wait_ms = s->wait_s * 1000 + s->timeout_ms;
	struct fetch_limits limits = {
		.connect_ms = (unsigned)s->connect_ms,
		.first_byte_ms = (unsigned)wait_ms,
		.total_ms = (unsigned)wait_ms,
		.max_header_bytes = MAX_HEADER_BYTES,
	};
	struct fetch_request request = {
		.method = "GET",
		.url = p->digest_url,
		.fields = fields,
		.limits = &limits,
		.tls = s->tls,
	};
	char bearer[64];

	snprintf(bearer, sizeof(bearer), "Bearer %s", s->token);
	if (fields_add(fields, "Authorization", bearer))
		return -ENOMEM;
	if (p->digest && !p->next.full && follow_add_base(p, fields))
		return -ENOMEM;
	return fetch_start(p->follow->fetcher, &request, &callbacks, p,
			   &p->update.fetch);
}

static void follow_begin(void *arg)
{
	struct peer *p = arg;
	int64_t now_ms = loop_now_ms(p->follow->loop);
	struct fields fields;

	fields_init(&fields);
	fetch_schedule_begin(&p->follower, now_ms);
	if (follow_start(p, &fields)) {
		follow_take_failure(p,
				    "no digest: the request could not be made");
		p->next = fetch_schedule_end(&p->follower,
					     &p->follow->settings.follower,
					     FETCHED_FAILED, now_ms);
		follow_schedule(p);
	}
	fields_free(&fields);
}

/* Peers */

static void follow_peer_free(struct peer *p)
{
	if (!p)
		return;
	follow_end_update(p);
	loop_timer_clear(p->follow->loop, &p->timer);
	peer_digest_unref(p->digest);
	free(p->name);
	free(p->url);
	free(p->digest_url);
	free(p);
}

static char *follow_digest_url(const char *url, const char *path)
{
	size_t len = strlen(url) + strlen(path) + 1;
	char *text = malloc(len);

	if (text)
		snprintf(text, len, "%s%s", url, path);
	return text;
}

static struct peer *follow_peer_new(struct follow *f,
				    const struct upstream *place)
{
	struct peer *p = calloc(1, sizeof(*p));
	int64_t now_ms = loop_now_ms(f->loop);

	if (!p)
		return NULL;
	p->follow = f;
	p->id = f->next_id++;
	p->name = strdup(place->name);
	p->url = strdup(place->url);
	p->digest_url = follow_digest_url(place->url, f->settings.path);
	if (!p->name || !p->url || !p->digest_url) {
		follow_peer_free(p);
		return NULL;
	}
	peer_health_init(&p->health);
	p->next = fetch_schedule_init(
		&p->follower, (uint64_t)now_ms ^ (uint64_t)p->id << 32, now_ms);
	follow_schedule(p);
	return p;
}

static struct peer *follow_find(const struct follow *f,
				const struct upstream *place)
{
	for (size_t i = 0; i < f->npeers; i++) {
		if (!strcmp(f->peers[i]->name, place->name) &&
		    !strcmp(f->peers[i]->url, place->url))
			return f->peers[i];
	}
	return NULL;
}

static bool follow_holds(struct peer *const *peers, size_t n,
			 const struct peer *p)
{
	for (size_t i = 0; i < n; i++) {
		if (peers[i] == p)
			return true;
	}
	return false;
}

int follow_set_peers(struct follow *f, const struct upstream *places, size_t n)
{
	struct peer **peers = calloc(n ? n : 1, sizeof(*peers));
	size_t made = 0;

	for (; peers && made < n; made++) {
		peers[made] = follow_find(f, &places[made]);
		if (!peers[made])
			peers[made] = follow_peer_new(f, &places[made]);
		if (!peers[made])
			break;
	}
	if (!peers || made < n) {
		for (size_t i = 0; i < made; i++) {
			if (!follow_holds(f->peers, f->npeers, peers[i]))
				follow_peer_free(peers[i]);
		}
		free(peers);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->npeers; i++) {
		if (!follow_holds(peers, n, f->peers[i]))
			follow_peer_free(f->peers[i]);
	}
	free(f->peers);
	f->peers = peers;
	f->npeers = n;
	follow_view_changed(f);
	return 0;
}

/* The passing of time may open what was closed, and age digests. */
static void follow_tick(void *arg)
{
	struct follow *f = arg;
	int64_t now_ms = loop_now_ms(f->loop);
	bool changed = false;

	for (size_t i = 0; i < f->npeers; i++) {
		changed |= peer_health_tick(&f->peers[i]->health, now_ms);
		changed |=
			follow_usable(f->peers[i]) != f->peers[i]->was_usable;
	}
	if (changed)
		follow_view_changed(f);
	loop_timer_set(f->loop, &f->tick, now_ms + HEALTH_TICK_MS, follow_tick,
		       f);
}

int follow_new(struct loop *loop, struct fetcher *fetcher,
	       const struct follow_settings *settings,
	       const struct upstream *places, size_t n,
	       void (*changed)(void *arg), void *arg, struct follow **out)
{
	struct follow *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->loop = loop;
	f->fetcher = fetcher;
	f->settings = *settings;
	f->changed = changed;
	f->arg = arg;
	*out = f; /* changed() may use it */
	err = digest_decoder_new(loop, &f->decoder);
	if (!err)
		err = follow_set_peers(f, places, n);
	if (err) {
		follow_free(out);
		return err;
	}
	loop_timer_set(loop, &f->tick, loop_now_ms(loop) + HEALTH_TICK_MS,
		       follow_tick, f);
	return 0;
}

void follow_free(struct follow **f)
{
	if (!*f)
		return;
	for (size_t i = 0; i < (*f)->npeers; i++)
		follow_peer_free((*f)->peers[i]);
	digest_decoder_free(&(*f)->decoder);
	loop_timer_clear((*f)->loop, &(*f)->tick);
	peerset_unref((*f)->view);
	free((*f)->peers);
	free(*f);
	*f = NULL;
}

void follow_set(struct follow *f, const struct follow_settings *settings)
{
	f->settings = *settings;
}

struct peerset *follow_view(struct follow *f)
{
	struct peerset_peer *peers =
		calloc(f->npeers ? f->npeers : 1, sizeof(*peers));
	struct peerset *view;

	if (!peers)
		return NULL;
	for (size_t i = 0; i < f->npeers; i++) {
		const struct peer *p = f->peers[i];

		peers[i] = (struct peerset_peer){
			.id = p->id,
			.usable = follow_usable(p),
			.half_open = peer_health_is_half_open(&p->health),
			.rtt_ms = peer_health_rtt_ms(&p->health),
			.digest = p->digest,
			.name = p->name,
			.url = p->url,
		};
	}
	view = peerset_next(f->view, peers, f->npeers);
	free(peers);
	if (view) {
		peerset_unref(f->view);
		f->view = peerset_ref(view);
	}
	return view;
}

static void follow_count_outcome(struct peer *p, enum peer_outcome event,
				 uint64_t body_bytes)
{
	switch (event) {
	case OUTCOME_HIT:
		p->counters.remote_hits++;
		p->counters.remote_hit_bytes += body_bytes;
		return;
	case OUTCOME_FALSE_HIT:
		p->counters.false_hits++;
		return;
	case OUTCOME_STALE:
		p->counters.stale_hits++;
		return;
	case OUTCOME_VARIANT:
		p->counters.variant_misses++;
		return;
	case OUTCOME_FAILED:
		p->counters.query_failed++;
		return;
	}
}

void follow_outcome(struct follow *f, uint32_t id, enum peer_outcome event,
		    double rtt_ms, uint64_t body_bytes)
{
	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];

		if (p->id != id)
			continue;
		follow_count_outcome(p, event, body_bytes);
		log_write(LOG_DEBUG, "follower", "peer %s: %s", p->name,
			  peer_outcome_text(event));
		if (!peer_health_outcome(&p->health, &f->settings.health, event,
					 rtt_ms, loop_now_ms(f->loop)))
			return;
		log_write(LOG_INFO, "follower",
			  "peer %s: %s (%" PRIu64 " hits, %" PRIu64
			  " false hits, %" PRIu64 " stale hits so far)",
			  p->name, peer_health_state_text(p->health.state),
			  p->counters.remote_hits, p->counters.false_hits,
			  p->counters.stale_hits);
		follow_view_changed(f);
		return;
	}
}

void follow_lookups(struct follow *f, uint64_t lookups)
{
	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];

		if (p->digest && lookups)
			peer_health_lookups(&p->health, (double)lookups,
					    p->digest->fp);
	}
}

size_t follow_count(const struct follow *f)
{
	return f->npeers;
}

void follow_status(const struct follow *f, size_t i, struct follow_status *out)
{
	const struct peer *p = f->peers[i];

	*out = (struct follow_status){
		.name = p->name,
		.url = p->url,
		.digest = p->digest,
		.health = p->health.state,
		.rtt_ms = peer_health_rtt_ms(&p->health),
		.confirmed_ms = fetch_schedule_confirmed_ms(&p->follower),
		.counters = p->counters,
	};
}
