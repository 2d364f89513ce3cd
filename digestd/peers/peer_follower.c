/*
 * Following peers. The decisions are those of digestd/mesh/following.h; here
 * are the fetches, the decoding, the counters and the log.
 */
#include "digestd/peers/peer_follower.h"

#include <assert.h>
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
#include "digestd/peers/digest_request.h"
#include "digestd/peers/peer_follower_inside.h"

enum {
	HANDOVER_PACE_MS = 10000,
	SECTOR_PACE_MS = 8, /* between two questions to all peers elsewhere: a
			     * thousand of them are known within 8 s, and cost
			     * some 3 % of a processor, here and there */
	MAX_HEADER_BYTES = 16384,
	STATUS_FULL = 200,
	STATUS_DELTA = 226,
	STATUS_SAME = 304,
	STATUS_NO_TOKEN = 401,
};

static void peer_follower_end_update(struct peer *p)
{
	const struct peer_follower *f = p->follow;
	const bool streams = p->update.streams;

	fetch_cancel(&p->update.fetch);
	digest_job_cancel(&p->update.job);
	digest_body_free(&p->update.body);
	p->update = (struct update){0};
	if (streams && f->settings.on_stream_end)
		f->settings.on_stream_end(f->arg, p->url);
}

/* Events and actions */

enum peer_health_state peer_follower_health_of(const struct peer *p)
{
	return following_health(&p->following)->state;
}

struct following_actions
peer_follower_step(struct peer *p, const struct following_event *event)
{
	return following_step(&p->following, &p->policy, event,
			      loop_now_ms(p->follow->loop));
}

static void peer_follower_fetch(struct peer *p,
				const struct following_actions *actions);
static void peer_follower_decode(struct peer *p);
static void peer_follower_on_timer(void *arg);

/* Only a change costs anything: of many lookups and outcomes, few are one. */
static void peer_follower_set_timer(struct peer *p, int64_t due_ms)
{
	struct loop *loop = p->follow->loop;

	if (due_ms == p->due_ms)
		return;
	p->due_ms = due_ms;
	if (due_ms == INT64_MAX)
		loop_timer_clear(loop, &p->timer);
	else
		loop_timer_set(loop, &p->timer, due_ms, peer_follower_on_timer,
			       p);
}

/* What it hands over then fills this node's store: seldom, or one that drains
 * again and again would push out all else. */
static void peer_follower_pass_drain(struct peer *p)
{
	struct peer_follower *f = p->follow;
	int64_t now_ms = loop_now_ms(f->loop);

	if (!f->settings.on_drain || p->sector.count ||
	    now_ms - p->handed_ms < HANDOVER_PACE_MS)
		return;
	p->handed_ms = now_ms;
	f->settings.on_drain(f->arg, p->url, p->id);
}

/* What its fetches have cost. */
static void peer_follower_note_cost(struct peer *p,
				    const struct following_actions *actions)
{
	p->counters.put_off += actions->put_off;
	if (actions->overspent)
		log_write(LOG_WARNING, "follower",
			  "peer %s: too many full digests, or fetches that "
			  "came to nothing: from now on one in %" PRId64 " s",
			  p->name, p->policy.fetch.price_ms / 1000);
}

void peer_follower_act(struct peer *p, const struct following_actions *actions)
{
	struct peer_follower *f = p->follow;

	if (actions->restarted)
		log_write(LOG_INFO, "follower", "peer %s: restarted, %s",
			  p->name,
			  peer_health_state_text(peer_follower_health_of(p)));
	if (actions->reach && following_is_gone(&p->following))
		log_write(LOG_WARNING, "follower",
			  "peer %s: unreachable: it is not asked", p->name);
	else if (actions->reach)
		log_write(LOG_INFO, "follower",
			  "peer %s: reachable again: it is asked", p->name);
	peer_follower_note_cost(p, actions);
	if (actions->ended)
		peer_follower_end_update(p);
	peer_follower_set_timer(p, actions->due_ms);
	if (actions->drains)
		log_write(LOG_INFO, "follower", "peer %s: drains", p->name);
	if (actions->view)
		f->changed(f->arg);
	if (actions->drains)
		peer_follower_pass_drain(p);
	if (actions->fetch)
		peer_follower_fetch(p, actions);
	if (actions->decode)
		peer_follower_decode(p);
}

void peer_follower_handle(struct peer *p, enum following_event_kind kind)
{
	const struct following_event event = {.kind = kind};
	const struct following_actions actions = peer_follower_step(p, &event);

	peer_follower_act(p, &actions);
}

static void peer_follower_count_failure(struct peer *p, enum trouble trouble,
					const char *what)
{
	peer_follower_report(p, trouble, what);
	p->counters.fetch_failed++;
}

static void peer_follower_on_timer(void *arg)
{
	const struct following_event due = {.kind = FOLLOWING_DUE};
	struct following_actions actions;
	struct peer *p = arg;

	p->due_ms = INT64_MAX;
	actions = peer_follower_step(p, &due);
	if (actions.ended)
		peer_follower_count_failure(p, TROUBLE_timeout_answer,
					    "its digest's stream is silent");
	peer_follower_act(p, &actions);
}

/* The end of a fetch */

void peer_follower_refuse(struct peer *p, int error)
{
	char what[128];

	snprintf(what, sizeof(what), "%s refused: %s",
		 p->update.status == STATUS_DELTA ? "delta" : "digest",
		 peer_follower_reason(p, error));
	peer_follower_report(p, peer_follower_trouble_of(p, error), what);
	p->counters.unfit++;
	peer_follower_handle(p, FOLLOWING_REFUSED);
}

/* This node can do nothing with it now. */
static void peer_follower_fail(struct peer *p, const char *what)
{
	peer_follower_count_failure(p, TROUBLE_memory, what);
	peer_follower_handle(p, FOLLOWING_UNABLE);
}

/* The first digest of an instance is here. */
static void peer_follower_meet(const struct peer *p)
{
	const struct peer_follower *f = p->follow;

	if (f->settings.on_met && !p->says.drains && !p->sector.count)
		f->settings.on_met(f->arg, p->url, p->id);
}

static void peer_follower_install(struct peer *p,
				  const struct digest_decoded *d)
{
	bool first = !p->digest || p->digest->instance != d->digest->instance;

	peer_digest_unref(p->digest);
	p->digest = peer_digest_ref(d->digest);
	memcpy(p->modified, p->update.modified, sizeof(p->modified));
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
	peer_follower_report_well(p);
	if (first)
		peer_follower_meet(p);
}

/* Whether a digest is of the list that is followed: views have it already, as
 * it changes in its place. */
static bool peer_follower_has_place(const struct peer *p,
				    const struct peer_digest *d)
{
	return p->digest && peer_digest_is_list(d) &&
	       peer_digest_is_list(p->digest) &&
	       d->instance == p->digest->instance &&
	       d->slot.number == p->digest->slot.number;
}

static bool peer_follower_is_itself(const struct peer_follower *f,
				    const struct peer_digest *d)
{
	return f->settings.on_itself && d->instance == f->settings.instance;
}

/* A node is none of its own peers. It may be gone after this. */
static void peer_follower_meet_itself(struct peer *p)
{
	struct peer_follower *f = p->follow;

	peer_follower_handle(p, FOLLOWING_UNABLE);
	f->settings.on_itself(f->arg, p->url);
}

static void peer_follower_on_decoded(void *arg, const struct digest_decoded *d)
{
	struct following_event event = {.kind = FOLLOWING_DECODED};
	struct following_actions actions;
	struct peer *p = arg;

	p->update.job = NULL;
	if (d->error) {
		peer_follower_refuse(p, d->error);
		return;
	}
	if (peer_follower_is_itself(p->follow, d->digest)) {
		peer_follower_meet_itself(p);
		return;
	}
	event.digest.delta = d->delta;
	event.digest.in_place = peer_follower_has_place(p, d->digest);
	event.digest.instance = d->digest->instance;
	event.digest.fp = d->digest->fp;
	actions = peer_follower_step(p, &event);
	if (actions.install)
		peer_follower_install(p, d);
	if (actions.ended && actions.with == FETCHED_FAILED)
		peer_follower_count_failure(p, TROUBLE_cut_body,
					    "its digest's stream broke off");
	peer_follower_act(p, &actions);
	if (!actions.ended)
		peer_follower_go_on(p);
}

/* Whether an answer has a digest for its body. */
static bool peer_follower_brings_digest(const struct update *u)
{
	return u->status == STATUS_FULL || u->status == STATUS_DELTA;
}

static bool peer_follower_is_whole(const struct fetch_done *done)
{
	return done->result == FETCH_COMPLETE && !done->ended_by_close;
}

/* Why an answer led to nothing. */
static void peer_follower_count_bad_answer(struct peer *p,
					   const struct fetch_done *done)
{
	unsigned status = p->update.status;
	char what[64];

	if (!peer_follower_is_whole(done)) {
		peer_follower_count_failure(p, peer_follower_fetch_fault(done),
					    "cannot fetch its digest");
		return;
	}
	snprintf(what, sizeof(what), "cannot fetch its digest: status %u",
		 status);
	peer_follower_count_failure(p, status == STATUS_NO_TOKEN ?
					       TROUBLE_wrong_key :
					       TROUBLE_status, what);
}

/* The peer doubts what another one sends: that is looked at more closely here
 * for a while. It is the peer's word alone, so nothing else follows. */
static void peer_follower_suspect(const struct peer *by, uint64_t instance)
{
	struct peer_follower *f = by->follow;
	int64_t now_ms = loop_now_ms(f->loop);

	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];
		bool before = p->suspect_until_ms > now_ms;

		if (p == by || !p->digest || p->digest->instance != instance)
			continue;
		p->suspect_until_ms =
			now_ms + f->settings.policy.health.quarantine_ms;
		if (before)
			continue;
		log_write(LOG_WARNING, "follower", "peer %s: peer %s says that "
			  "it has sent wrong responses; they are compared with "
			  "the origin's more often", p->name, by->name);
		f->changed(f->arg);
	}
}

/* What a whole answer about the digest says of the peer, and of others. */
void peer_follower_take_node(struct peer *p)
{
	const bool had_leases = p->says.leases;

	for (size_t i = 0; i < p->update.nsuspects; i++)
		peer_follower_suspect(p, p->update.suspects[i]);
	peer_follower_log_leases(p);
	p->says = p->update.says;
	if (p->says.leases != had_leases) /* it owns keys, or no longer does */
		p->follow->changed(p->follow->arg);
}

static bool peer_follower_is_about_digest(const struct peer *p,
					  const struct fetch_done *done)
{
	return peer_follower_is_whole(done) &&
	       (peer_follower_brings_digest(&p->update) ||
		p->update.status == STATUS_SAME);
}

static void peer_follower_on_done(void *arg, struct fetch *fetch,
				  const struct fetch_done *done)
{
	struct following_event event = {.kind = FOLLOWING_ENDED};
	struct following_actions actions;
	struct peer *p = arg;

	(void)fetch;
	p->update.fetch = NULL;
	event.answer.reached = done->result != FETCH_NOCONNECT;
	event.answer.whole = peer_follower_is_whole(done);
	event.answer.late = done->result == FETCH_TIMEOUT;
	event.answer.status = p->update.status;
	event.answer.drains = p->update.says.drains;
	if (peer_follower_is_about_digest(p, done) && !p->update.streams)
		peer_follower_take_node(p);
	actions = peer_follower_step(p, &event);
	if (actions.ended && actions.with == FETCHED_SAME) {
		p->counters.unchanged++;
		peer_follower_report_well(p);
	} else if (actions.ended && actions.with == FETCHED_FAILED) {
		peer_follower_count_bad_answer(p, done);
	}
	peer_follower_act(p, &actions);
}

struct digest_expected peer_follower_expected_of(const struct peer *p)
{
	return (struct digest_expected){
		.kind = p->kind,
		.limits = &p->follow->settings.limits,
		.delta = p->update.status == STATUS_DELTA,
		.base = p->digest,
		.slot = p->slot,
		.threads = p->follow->settings.threads,
	};
}

static void peer_follower_decode(struct peer *p)
{
	const struct digest_expected expected = peer_follower_expected_of(p);
	struct digest_body body = p->update.body;

	if (!p->update.streams) {
		p->update.body = (struct digest_body){0};
	} else if (peer_follower_split_stream(p, &body)) {
		peer_follower_fail(p, "no memory for a frame of its digest");
		return;
	}
	if (!body.most) {
		digest_body_free(&body);
		peer_follower_refuse(p, SCD_ETRUNC);
	} else if (digest_decoder_start(p->follow->decoder, &body, &expected,
				      &p->update.job)) {
		peer_follower_fail(p, "cannot decode its digest now");
	} else {
		digest_job_notify(p->update.job, peer_follower_on_decoded, p);
	}
}

/* The fetch itself */

/* What came in the way of one connection says nothing of the next: of a packet
 * that was lost, and of how busy this loop was. */
static void peer_follower_measure_trip(struct peer *p, struct fetch *fetch)
{
	const int64_t ms = fetch_trip_ms(fetch);

	if (ms && (!p->trip_ms || ms < p->trip_ms))
		p->trip_ms = ms;
}

static void peer_follower_on_headers(void *arg, struct fetch *fetch,
				     unsigned status,
				     const struct fields *fields,
				     int64_t body_len)
{
	const char *modified = fields_get(fields, "Last-Modified");
	const char *hash_name = fields_get(fields, DIGEST_HASH_NAME);
	struct peer *p = arg;

	(void)body_len;
	p->update.status = status;
	peer_follower_measure_trip(p, fetch);
	peer_follower_look_at_clock(p, fields);
	digest_node_read(fields, &p->update.says);
	p->update.nsuspects = digest_suspects_read(fields, p->update.suspects);
	p->update.foreign =
		hash_name &&
		strcmp(hash_name, p->follow->settings.hash_name) != 0;
	if (modified && strlen(modified) == HTTPDATE_LEN)
		memcpy(p->update.modified, modified, HTTPDATE_LEN + 1);
	if (!p->update.foreign && peer_follower_is_stream(status, fields))
		peer_follower_begin_stream(p, fetch);
}

/* A digest that will not do ends the fetch at its header. */
static bool peer_follower_on_body(void *arg, struct fetch *fetch,
				  const void *data, size_t len)
{
	struct peer *p = arg;
	const struct digest_expected expected = peer_follower_expected_of(p);
	int error = 0;

	(void)fetch;
	if (p->update.streams)
		return peer_follower_take_stream(p, data, len);
	if (p->update.foreign)
		error = SCD_EMISMATCH;
	else if (peer_follower_brings_digest(&p->update))
		error = digest_body_add(&p->update.body, &expected, data, len);
	if (error)
		peer_follower_refuse(p, error);
	return true;
}

static const struct fetch_callbacks callbacks = {
	.on_headers = peer_follower_on_headers,
	.on_body = peer_follower_on_body,
	.on_done = peer_follower_on_done,
};

static int peer_follower_start(struct peer *p,
			       const struct following_actions *how,
			       struct fields *fields)
{
	const struct peer_follower_settings *s = &p->follow->settings;
	const bool conditional = how->conditional;
	const int64_t wait_s = p->sector.count ? 0 : s->wait_s;
	int64_t wait_ms = (p->kind->holds ? wait_s * 1000 : 0) + s->timeout_ms;
	const struct digest_query query = {
		.token = s->token,
		.introduction = conditional ? "" : s->introduction,
		.base = conditional ? p->digest : NULL,
		.base_modified = p->modified,
		.wait_s = wait_s,
		.lists = p->slot.table,
		.stream = how->stream && p->slot.table && !p->sector.count,
		.hears = s->on_note ? s->instance : 0,
	};
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

	if (p->kind->query(&query, fields))
		return -ENOMEM;
	return fetch_start(p->follow->fetcher, &request, &callbacks, p,
			   &p->update.fetch);
}

static void peer_follower_fetch(struct peer *p,
				const struct following_actions *actions)
{
	struct fields fields;

	fields_init(&fields);
	peer_follower_seat(p);
	if (peer_follower_start(p, actions, &fields))
		peer_follower_fail(p,
				   "cannot fetch its digest: the request could "
				   "not be made");
	fields_free(&fields);
}

/* Peers */

static void peer_follower_peer_free(struct peer *p)
{
	if (!p)
		return;
	peer_follower_end_update(p);
	peer_follower_unseat(p);
	loop_timer_clear(p->follow->loop, &p->timer);
	peer_digest_unref(p->digest);
	free(p->name);
	free(p->url);
	free(p->digest_url);
	free(p);
}

static char *peer_follower_digest_url(const char *url,
				      const struct digest_paths *paths,
				      const struct sector *sector)
{
	char of_sector[DIGEST_SECTOR_PATH_BYTES];
	const char *path = sector->count ? of_sector : paths->current;
	size_t len;
	char *text;

	if (sector->count)
		digest_sector_path_write(paths, sector, of_sector);
	len = strlen(url) + strlen(path) + 1;
	text = malloc(len);
	if (text)
		snprintf(text, len, "%s%s", url, path);
	return text;
}

/* The settings, as they are for a peer of its kind. */
static void peer_follower_set_policy(struct peer *p)
{
	const int64_t pace_ms =
		(int64_t)p->follow->nelsewhere * SECTOR_PACE_MS;

	p->policy = p->follow->settings.policy;
	p->policy.fetch.polled = !p->kind->holds || p->sector.count;
	p->policy.fetch.silence_ms = p->follow->settings.wait_s * 1000 +
				     p->follow->settings.timeout_ms;
	if (p->sector.count && p->policy.fetch.poll_ms < pace_ms)
		p->policy.fetch.poll_ms = pace_ms;
}

static struct peer *peer_follower_peer_new(struct peer_follower *f,
					   const struct upstream *place,
					   const struct sector *sector)
{
	struct peer *p = calloc(1, sizeof(*p));
	int64_t now_ms = loop_now_ms(f->loop);

	if (!p)
		return NULL;
	p->follow = f;
	p->id = f->next_id++;
	p->since_ms = now_ms;
	p->handed_ms = now_ms - HANDOVER_PACE_MS;
	p->kind = place->kind;
	p->sector = *sector;
	peer_follower_set_policy(p);
	p->name = strdup(place->name);
	p->url = strdup(place->url);
	p->digest_url = peer_follower_digest_url(
		place->url, place->kind->paths[f->settings.subject], sector);
	if (!p->name || !p->url || !p->digest_url) {
		peer_follower_peer_free(p);
		return NULL;
	}
	following_init(&p->following, (uint64_t)now_ms ^ (uint64_t)p->id << 32,
		       now_ms);
	p->due_ms = INT64_MAX;
	peer_follower_set_timer(p, now_ms);
	return p;
}

static struct peer *peer_follower_find(const struct peer_follower *f,
				       const struct upstream *place,
				       const struct sector *sector)
{
	for (size_t i = 0; i < f->npeers; i++) {
		const struct sector *s = &f->peers[i]->sector;

		if (f->peers[i]->kind == place->kind &&
		    s->count == sector->count && s->number == sector->number &&
		    !strcmp(f->peers[i]->name, place->name) &&
		    !strcmp(f->peers[i]->url, place->url))
			return f->peers[i];
	}
	return NULL;
}

static bool peer_follower_holds(struct peer *const *peers, size_t n,
				const struct peer *p)
{
	for (size_t i = 0; i < n; i++) {
		if (peers[i] == p)
			return true;
	}
	return false;
}

/* Fills a list, which a null ends, with the peers that have such a digest:
 * those that stay, and new ones. False without memory. */
static bool peer_follower_list(struct peer_follower *f,
			       const struct upstream *places, size_t n,
			       struct peer **peers)
{
	for (size_t i = 0; i < n; i++) {
		const struct sector sector =
			peer_follower_sector(f, &places[i], places, n);
		struct peer *p = peer_follower_find(f, &places[i], &sector);

		/* what peers elsewhere were asked for is not followed */
		if (!places[i].kind->paths[f->settings.subject] ||
		    (sector.count && f->settings.subject != DIGEST_OF_HELD))
			continue;
		if (!p)
			p = peer_follower_peer_new(f, &places[i], &sector);
		if (!p)
			return false;
		*peers++ = p;
	}
	return true;
}

static size_t peer_follower_list_len(struct peer *const *peers)
{
	size_t n = 0;

	while (peers[n])
		n++;
	return n;
}

/* Ends the peers of a list that are not in the other one. */
static void peer_follower_drop(struct peer *const *peers, size_t n,
			       struct peer *const *kept, size_t nkept)
{
	for (size_t i = 0; i < n; i++) {
		if (!peer_follower_holds(kept, nkept, peers[i]))
			peer_follower_peer_free(peers[i]);
	}
}

int peer_follower_set_peers(struct peer_follower *f,
			    const struct upstream *places, size_t n)
{
	struct peer **peers = calloc(n + 1, sizeof(*peers));
	bool all = peers && peer_follower_list(f, places, n, peers);
	size_t npeers = peers ? peer_follower_list_len(peers) : 0;

	if (!all) {
		peer_follower_drop(peers, npeers, f->peers, f->npeers);
		free(peers);
		return -ENOMEM;
	}
	peer_follower_drop(f->peers, f->npeers, peers, npeers);
	free(f->peers);
	f->peers = peers;
	f->npeers = npeers;
	peer_follower_divide(f, places, n);
	for (size_t i = 0; i < npeers; i++)
		peer_follower_set_policy(peers[i]);
	f->changed(f->arg);
	return 0;
}

/* Copies what this node is called and where it is. */
static int peer_follower_take_place(struct peer_follower *f)
{
	const struct peer_follower_settings *s = &f->settings;

	if (!s->node || !s->location)
		return 0;
	f->node = strdup(s->node);
	f->location = strdup(s->location);
	return f->node && f->location ? 0 : -ENOMEM;
}

int peer_follower_new(struct loop *loop, struct fetcher *fetcher,
		      const struct peer_follower_settings *settings,
		      const struct upstream *places, size_t n,
		      void (*changed)(void *arg), void *arg,
		      struct peer_follower **out)
{
	struct peer_follower *f = calloc(1, sizeof(*f));
	int err;

	assert(loop && fetcher && changed);
	if (!f)
		return -ENOMEM;
	f->loop = loop;
	f->fetcher = fetcher;
	f->settings = *settings;
	f->changed = changed;
	f->arg = arg;
	*out = f; /* changed() may use it */
	err = peer_follower_take_place(f);
	if (!err)
		err = digest_decoder_new(loop, &f->decoder);
	if (!err && settings->subject == DIGEST_OF_HELD &&
	    peer_table_new(&f->table, n ? (unsigned)n : 1))
		err = -ENOMEM;
	if (!err && f->table && f->location &&
	    peer_table_new(&f->sectors, n ? (unsigned)n : 1))
		err = -ENOMEM;
	if (!err && f->table)
		peer_table_watch(f->table, &settings->watcher);
	if (!err)
		err = peer_follower_set_peers(f, places, n);
	if (err) {
		peer_follower_free(out);
		return err;
	}
	return 0;
}

void peer_follower_free(struct peer_follower **f)
{
	if (!*f)
		return;
	for (size_t i = 0; i < (*f)->npeers; i++)
		peer_follower_peer_free((*f)->peers[i]);
	digest_decoder_free(&(*f)->decoder);
	peerset_unref((*f)->view);
	peer_table_unref((*f)->table);
	peer_table_unref((*f)->sectors);
	free((*f)->node);
	free((*f)->location);
	free((*f)->peers);
	free(*f);
	*f = NULL;
}

void peer_follower_set(struct peer_follower *f,
		       const struct peer_follower_settings *settings)
{
	f->settings = *settings;
	for (size_t i = 0; i < f->npeers; i++) {
		peer_follower_set_policy(f->peers[i]);
		peer_follower_handle(f->peers[i], FOLLOWING_DUE);
	}
}
