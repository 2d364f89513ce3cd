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

#include "codec/delta.h"
#include "codec/error.h"
#include "digestd/core/fields.h"
#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_request.h"

enum {
	HEALTH_TICK_MS = 50,
	MAX_HEADER_BYTES = 16384,
	FIRST_BODY_BYTES = 4096,
};

/* A fetch under way. */
struct update {
	struct fetch *fetch;
	unsigned status;
	uint8_t *body;
	size_t len, cap;
	bool too_large;
};

struct peer {
	struct follow *follow;
	uint32_t id;
	char *name, *url, *digest_url;
	struct follower follower;
	struct health health;
	struct peer_digest *digest;
	struct follower_action next;
	struct loop_timer timer;
	struct update update;
	struct follow_counters counters;
	bool was_usable; /* in the last view */
	char reported[96]; /* its trouble, as it was logged; or empty */
};

struct follow {
	struct loop *loop;
	struct fetcher *fetcher;
	struct follow_settings settings;
	struct peer **peers;
	size_t npeers;
	uint32_t next_id;
	struct peerset *view; /* the last one made */
	struct loop_timer tick;
	void (*changed)(void *arg);
	void *arg;
};

static bool usable(const struct peer *p)
{
	return health_usable(&p->health) &&
	       follower_usable(&p->follower, &p->follow->settings.follower,
			       loop_now_ms(p->follow->loop));
}

static void view_changed(struct follow *f)
{
	for (size_t i = 0; i < f->npeers; i++)
		f->peers[i]->was_usable = usable(f->peers[i]);
	f->changed(f->arg);
}

/* The end of a fetch */

/* SCD_EMISMATCH: its keys are not those that are looked up here. */
static int decode_full(struct peer *p, struct scd_digest_info *info,
		       struct scd_bloom *bloom)
{
	const struct scd_limits *limits = &p->follow->settings.limits;
	int error = scd_digest_parse(p->update.body, p->update.len, limits,
				     info);

	if (!error && info->hashing != SCD_HASHING_DOUBLE)
		error = SCD_EMISMATCH;
	if (error)
		return error;
	return scd_digest_decode(p->update.body, p->update.len, limits, info,
				 bloom);
}

static int apply_delta(struct peer *p, struct scd_digest_info *info,
		       struct scd_bloom *bloom)
{
	struct scd_base base = { 0 };

	if (!p->digest)
		return SCD_EBASE;
	base.bloom = &p->digest->bloom;
	base.instance = p->digest->instance;
	base.generation = p->digest->generation;
	return scd_delta_apply(p->update.body, p->update.len,
			       &p->follow->settings.limits, &base, info, bloom);
}

static int install(struct peer *p, const struct scd_digest_info *info,
		   struct scd_bloom *bloom)
{
	struct follow *f = p->follow;
	struct peer_digest *d = peer_digest_take(bloom);

	if (!d)
		return SCD_ENOMEM;
	if (p->digest && p->digest->instance != info->instance &&
	    health_restarted(&p->health, &f->settings.health,
			     loop_now_ms(f->loop)))
		log_write(LOG_INFO, "follower", "peer %s: restarted, %s",
			  p->name, health_state_text(p->health.state));
	d->instance = info->instance;
	d->generation = info->generation;
	d->nkeys = info->nkeys;
	peer_digest_unref(p->digest);
	p->digest = d;
	return SCD_OK;
}

/* Each fetch may fail again: only another reason is news. */
static void report_once(struct peer *p, const char *what)
{
	if (!strncmp(p->reported, what, sizeof(p->reported) - 1))
		return;
	log_write(LOG_WARNING, "follower", "peer %s: %s", p->name, what);
	snprintf(p->reported, sizeof(p->reported), "%s", what);
}

static void report_well(struct peer *p)
{
	if (*p->reported)
		log_write(LOG_INFO, "follower", "peer %s: well again", p->name);
	p->reported[0] = '\0';
}

static const char *reason(int error)
{
	return error == SCD_EMISMATCH
		       ? "it has Squid's hashing, which is not looked up here"
		       : scd_strerror(error);
}

/* What a digest that came whole has led to. */
static enum follower_event take_body(struct peer *p, bool delta)
{
	struct scd_digest_info info;
	struct scd_bloom bloom;
	int error = delta ? apply_delta(p, &info, &bloom) :
			    decode_full(p, &info, &bloom);

	if (!error)
		error = install(p, &info, &bloom);
	if (error) {
		char what[128];

		snprintf(what, sizeof(what), "%s refused: %s",
			 delta ? "delta" : "digest", reason(error));
		report_once(p, what);
		p->counters.unfit++;
		return FOLLOWER_UNFIT;
	}
	if (delta) {
		p->counters.delta_received++;
		p->counters.delta_received_bytes += p->update.len;
	} else {
		p->counters.full_received++;
		p->counters.full_received_bytes += p->update.len;
	}
	log_write(LOG_DEBUG, "follower", "peer %s: generation %" PRIu64
		  ", %s of %zu bytes", p->name, info.generation,
		  delta ? "delta" : "full digest", p->update.len);
	report_well(p);
	return delta ? FOLLOWER_NEW_DELTA : FOLLOWER_NEW_FULL;
}

static enum follower_event take_failure(struct peer *p, const char *what)
{
	report_once(p, what);
	p->counters.fetch_failed++;
	return FOLLOWER_FAILED;
}

static enum follower_event judge(struct peer *p, const struct fetch_done *done)
{
	char what[64];

	if (p->update.too_large) {
		report_once(p, "digest larger than the limit");
		p->counters.unfit++;
		return FOLLOWER_UNFIT;
	}
	if (done->result == FETCH_UNTRUSTED)
		return take_failure(p, "no digest: no TLS with it, or its "
				    "certificate is not trusted");
	if (done->result != FETCH_COMPLETE || done->ended_by_close)
		return take_failure(p, "no digest: no complete answer");
	switch (p->update.status) {
	case 200:
		return take_body(p, false);
	case 226:
		return take_body(p, true);
	case 304:
		if (!p->digest)
			return take_failure(p, "no digest: 304 for nothing");
		p->counters.unchanged++;
		report_well(p);
		return FOLLOWER_SAME;
	}
	snprintf(what, sizeof(what), "no digest: status %u", p->update.status);
	return take_failure(p, what);
}

static void begin(void *arg);

static void schedule(struct peer *p)
{
	loop_timer_set(p->follow->loop, &p->timer, p->next.due_ms, begin, p);
}

static void end_update(struct peer *p)
{
	free(p->update.body);
	p->update = (struct update){ 0 };
}

static void on_done(void *arg, struct fetch *fetch,
		    const struct fetch_done *done)
{
	struct peer *p = arg;
	struct follow *f = p->follow;
	enum follower_event event;

	(void)fetch;
	p->update.fetch = NULL;
	event = judge(p, done);
	p->next = follower_end(&p->follower, &f->settings.follower, event,
			       loop_now_ms(f->loop));
	end_update(p);
	schedule(p);
	if (event == FOLLOWER_NEW_FULL || event == FOLLOWER_NEW_DELTA ||
	    usable(p) != p->was_usable)
		view_changed(f);
}

/* The fetch itself */

static void on_headers(void *arg, struct fetch *fetch, unsigned status,
		       const struct fields *fields, int64_t body_len)
{
	struct peer *p = arg;

	(void)fetch;
	(void)fields;
	(void)body_len;
	p->update.status = status;
}

static size_t max_body(const struct follow *f)
{
	return (size_t)(f->settings.limits.max_bits / 8) +
	       SCD_DIGEST_HEADER_BYTES + 1;
}

static bool on_body(void *arg, struct fetch *fetch, const void *data,
		    size_t len)
{
	struct peer *p = arg;
	struct update *u = &p->update;

	(void)fetch;
	if (u->too_large || len > max_body(p->follow) - u->len) {
		u->too_large = true;
		return true; /* and forgotten */
	}
	if (u->len + len > u->cap) {
		size_t cap = u->cap ? u->cap * 2 : FIRST_BODY_BYTES;
		uint8_t *body;

		while (cap < u->len + len)
			cap *= 2;
		body = realloc(u->body, cap);
		if (!body) {
			u->too_large = true;
			return true;
		}
		u->body = body;
		u->cap = cap;
	}
	memcpy(u->body + u->len, data, len);
	u->len += len;
	return true;
}

static const struct fetch_callbacks callbacks = {
	.on_headers = on_headers,
	.on_body = on_body,
	.on_done = on_done,
};

static int add_base(struct peer *p, struct fields *fields)
{
	struct digest_tag tag = { p->digest->instance, p->digest->generation };
	char etag[DIGEST_ETAG_BYTES + 1], wait[32];

	digest_tag_write(&tag, etag);
	snprintf(wait, sizeof(wait), "wait=%" PRId64,
		 p->follow->settings.wait_s);
	return fields_add(fields, "If-None-Match", etag) ||
	       fields_add(fields, "A-IM",
			  DIGEST_IM_CONDITIONAL ", " DIGEST_IM_XOR) ||
	       fields_add(fields, "Prefer", wait);
}

static int start(struct peer *p, struct fields *fields)
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
	if (p->digest && !p->next.full && add_base(p, fields))
		return -ENOMEM;
	return fetch_start(p->follow->fetcher, &request, &callbacks, p,
			   &p->update.fetch);
}

static void begin(void *arg)
{
	struct peer *p = arg;
	int64_t now_ms = loop_now_ms(p->follow->loop);
	struct fields fields;

	fields_init(&fields);
	follower_begin(&p->follower, now_ms);
	if (start(p, &fields)) {
		take_failure(p, "no digest: the request could not be made");
		p->next = follower_end(&p->follower,
				       &p->follow->settings.follower,
				       FOLLOWER_FAILED, now_ms);
		schedule(p);
	}
	fields_free(&fields);
}

/* Peers */

static void peer_free(struct peer *p)
{
	if (!p)
		return;
	fetch_cancel(&p->update.fetch);
	end_update(p);
	loop_timer_clear(p->follow->loop, &p->timer);
	peer_digest_unref(p->digest);
	free(p->name);
	free(p->url);
	free(p->digest_url);
	free(p);
}

static char *digest_url(const char *url, const char *path)
{
	size_t len = strlen(url) + strlen(path) + 1;
	char *text = malloc(len);

	if (text)
		snprintf(text, len, "%s%s", url, path);
	return text;
}

static struct peer *peer_new(struct follow *f, const struct upstream *place)
{
	struct peer *p = calloc(1, sizeof(*p));
	int64_t now_ms = loop_now_ms(f->loop);

	if (!p)
		return NULL;
	p->follow = f;
	p->id = f->next_id++;
	p->name = strdup(place->name);
	p->url = strdup(place->url);
	p->digest_url = digest_url(place->url, f->settings.path);
	if (!p->name || !p->url || !p->digest_url) {
		peer_free(p);
		return NULL;
	}
	health_init(&p->health);
	p->next = follower_init(&p->follower,
				(uint64_t)now_ms ^ (uint64_t)p->id << 32,
				now_ms);
	schedule(p);
	return p;
}

static struct peer *find(const struct follow *f,
			 const struct upstream *place)
{
	for (size_t i = 0; i < f->npeers; i++) {
		if (!strcmp(f->peers[i]->name, place->name) &&
		    !strcmp(f->peers[i]->url, place->url))
			return f->peers[i];
	}
	return NULL;
}

static bool holds(struct peer *const *peers, size_t n, const struct peer *p)
{
	for (size_t i = 0; i < n; i++) {
		if (peers[i] == p)
			return true;
	}
	return false;
}

int follow_set_peers(struct follow *f, const struct upstream *places,
		     size_t n)
{
	struct peer **peers = calloc(n ? n : 1, sizeof(*peers));
	size_t made = 0;

	for (; peers && made < n; made++) {
		peers[made] = find(f, &places[made]);
		if (!peers[made])
			peers[made] = peer_new(f, &places[made]);
		if (!peers[made])
			break;
	}
	if (!peers || made < n) {
		for (size_t i = 0; i < made; i++) {
			if (!holds(f->peers, f->npeers, peers[i]))
				peer_free(peers[i]);
		}
		free(peers);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->npeers; i++) {
		if (!holds(peers, n, f->peers[i]))
			peer_free(f->peers[i]);
	}
	free(f->peers);
	f->peers = peers;
	f->npeers = n;
	view_changed(f);
	return 0;
}

/* The passing of time may open what was closed, and age digests. */
static void tick(void *arg)
{
	struct follow *f = arg;
	int64_t now_ms = loop_now_ms(f->loop);
	bool changed = false;

	for (size_t i = 0; i < f->npeers; i++) {
		changed |= health_tick(&f->peers[i]->health, now_ms);
		changed |= usable(f->peers[i]) != f->peers[i]->was_usable;
	}
	if (changed)
		view_changed(f);
	loop_timer_set(f->loop, &f->tick, now_ms + HEALTH_TICK_MS, tick, f);
}

int follow_new(struct loop *loop, struct fetcher *fetcher,
	       const struct follow_settings *settings,
	       const struct upstream *places, size_t n,
	       void (*changed)(void *arg), void *arg, struct follow **out)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->loop = loop;
	f->fetcher = fetcher;
	f->settings = *settings;
	f->changed = changed;
	f->arg = arg;
	*out = f; /* changed() may use it */
	if (follow_set_peers(f, places, n)) {
		follow_free(out);
		return -ENOMEM;
	}
	loop_timer_set(loop, &f->tick, loop_now_ms(loop) + HEALTH_TICK_MS, tick,
		       f);
	return 0;
}

void follow_free(struct follow **f)
{
	if (!*f)
		return;
	for (size_t i = 0; i < (*f)->npeers; i++)
		peer_free((*f)->peers[i]);
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
	struct peerset_peer *peers = calloc(f->npeers ? f->npeers : 1,
					    sizeof(*peers));
	struct peerset *view;

	if (!peers)
		return NULL;
	for (size_t i = 0; i < f->npeers; i++) {
		const struct peer *p = f->peers[i];

		peers[i] = (struct peerset_peer){
			.id = p->id,
			.usable = usable(p),
			.trial = health_on_trial(&p->health),
			.rtt_ms = health_rtt_ms(&p->health),
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

static void count_outcome(struct peer *p, enum health_event event,
			  uint64_t body_bytes)
{
	switch (event) {
	case HEALTH_HIT:
		p->counters.remote_hits++;
		p->counters.remote_hit_bytes += body_bytes;
		return;
	case HEALTH_FALSE_HIT:
		p->counters.false_hits++;
		return;
	case HEALTH_STALE:
		p->counters.stale_hits++;
		return;
	case HEALTH_VARIANT:
		p->counters.variant_misses++;
		return;
	case HEALTH_FAILED:
		p->counters.query_failed++;
		return;
	}
}

void follow_outcome(struct follow *f, uint32_t id, enum health_event event,
		    double rtt_ms, uint64_t body_bytes)
{
	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];

		if (p->id != id)
			continue;
		count_outcome(p, event, body_bytes);
		log_write(LOG_DEBUG, "follower", "peer %s: %s", p->name,
			  health_event_text(event));
		if (!health_outcome(&p->health, &f->settings.health, event,
				    rtt_ms, loop_now_ms(f->loop)))
			return;
		log_write(LOG_INFO, "follower",
			  "peer %s: %s (%" PRIu64 " hits, %" PRIu64
			  " false hits, %" PRIu64 " stale hits so far)",
			  p->name, health_state_text(p->health.state),
			  p->counters.remote_hits, p->counters.false_hits,
			  p->counters.stale_hits);
		view_changed(f);
		return;
	}
}

void follow_lookups(struct follow *f, uint64_t lookups)
{
	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];

		if (p->digest && lookups)
			health_lookups(&p->health, (double)lookups,
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
		.rtt_ms = health_rtt_ms(&p->health),
		.confirmed_ms = follower_confirmed_ms(&p->follower),
		.counters = p->counters,
	};
}
