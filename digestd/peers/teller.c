/*
 * The teller: its peers, those that were peers a while ago, and a list of who
 * waits.
 */
#include "digestd/peers/teller.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/fetch/fetch.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/peers/heard.h"
#include "digestd/peers/lives.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/teller_inside.h"
#include "digestd/peers/upstream.h"

enum {
	TELLER_PATIENCE_MS = 20, /* for a peer that failed last time */
	TELLER_UNLEASED_MS = 2 * SERVING_TERM_MS, /* a majority may be back */
	TELLER_GONE_MS = 3600000, /* of who is no peer any more; see teller.h */
};

static void teller_turn(struct teller *t);

/* Who waits */

/* Whether its acknowledgement counts; if not it is asked again. */
static bool teller_is_sure(struct teller_peer *p, int64_t now_ms)
{
	const struct teller_settings *s = &p->teller->settings;
	bool sure = now_ms - p->sure_ms <= s->unheard_ms - s->unheard_ms / 4;

	p->confirms |= !sure;
	p->teller->asks_again |= !sure;
	return sure;
}

/* What a peer has come to for who waits; null: it may still answer. */
static json_t *teller_answer_of(struct teller_peer *p,
				const struct teller_wait *w, int64_t now_ms)
{
	if (p->told >= w->seq && teller_is_sure(p, now_ms))
		return json_integer(p->removed < 0 ? 0 : p->removed);
	p->late |= now_ms >= w->due_ms;
	if (now_ms >= w->due_ms ||
	    (p->failures && !teller_peer_is_busy(p)) ||
	    ((p->failures || p->late) && now_ms >= w->patient_ms))
		return json_null();
	return NULL;
}

/* All of them; null: some may still answer. */
static json_t *teller_answers(const struct teller *t,
			      const struct teller_wait *w, int64_t now_ms)
{
	json_t *all = json_object();

	for (size_t i = 0; i < t->npeers; i++) {
		json_t *one = teller_answer_of(t->peers[i], w, now_ms);

		if (!one) {
			json_decref(all);
			return NULL;
		}
		json_object_set_new(all, t->peers[i]->name, one);
	}
	return all;
}

static void teller_unlist(struct teller_wait *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
}

/* In the loop of who has waited. */
static void teller_on_answers(void *arg)
{
	struct teller_wait *w = arg;

	w->done(w->arg, w);
}

static void teller_check_waits(struct teller *t, int64_t now_ms)
{
	struct teller_wait *next;

	for (struct teller_wait *w = t->waits; w; w = next) {
		next = w->next;
		w->refused = !teller_fence_is_closed(t, w, now_ms);
		w->answers = teller_answers(t, w, now_ms);
		if (!w->answers)
			continue;
		if (w->refused && now_ms < w->due_ms) {
			json_decref(w->answers);
			continue;
		}
		teller_unlist(w);
		w->call = (struct loop_call){ .run = teller_on_answers,
					      .arg = w };
		loop_post(w->loop, &w->call);
	}
}

/* In the teller's loop. */
static void teller_on_wait(void *arg)
{
	struct teller_wait *w = arg;
	struct teller *t = w->teller;
	int64_t now_ms = loop_now_ms(t->loop);

	w->due_ms = now_ms + w->timeout_ms;
	if (!serving_desk_may_serve(t->settings.desk) &&
	    w->timeout_ms > TELLER_UNLEASED_MS)
		w->due_ms = now_ms + TELLER_UNLEASED_MS;
	w->patient_ms = now_ms + TELLER_PATIENCE_MS;
	w->next = t->waits;
	w->link = &t->waits;
	if (w->next)
		w->next->link = &w->next;
	t->waits = w;
	for (size_t i = 0; i < t->npeers; i++)
		teller_peer_hurry(t->peers[i]);
	teller_turn(t);
}

void teller_wait(struct teller *t, struct teller_wait *w)
{
	w->teller = t;
	w->call = (struct loop_call){ .run = teller_on_wait, .arg = w };
	loop_post(t->loop, &w->call);
}

static void teller_on_wake(void *arg)
{
	struct teller *t = arg;

	__atomic_store_n(&t->woken, false, __ATOMIC_RELEASE);
	teller_turn(t);
}

void teller_wake(struct teller *t)
{
	if (!__atomic_exchange_n(&t->woken, true, __ATOMIC_ACQ_REL))
		loop_post(t->loop, &t->wake);
}

bool teller_tells(const struct teller *t)
{
	return __atomic_load_n(&t->tells, __ATOMIC_RELAXED);
}

bool teller_is_alone(const struct teller *t)
{
	return __atomic_load_n(&t->alone, __ATOMIC_RELAXED);
}

void teller_count(const struct teller *t, struct teller_counters *out)
{
	*out = t->counters;
}

unsigned teller_count_told(const struct teller *t, uint64_t seq)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->npeers; i++)
		n += t->peers[i]->told >= seq;
	return n;
}

size_t teller_peers(const struct teller *t)
{
	return t->npeers;
}

void teller_peer_status(const struct teller *t, size_t i,
			struct teller_peer_status *out)
{
	const struct teller_peer *p = t->peers[i];
	uint64_t position;

	assert(i < t->npeers);
	position = invalidation_log_source(cache_purges_lock(t->cache), 0)
			   .position;
	cache_purges_unlock(t->cache);
	*out = (struct teller_peer_status){
		.name = p->name,
		.acknowledged = p->told,
		.lacking = position - p->told,
		.lacking_ms = p->behind_ms ?
				      loop_now_ms(t->loop) - p->behind_ms : 0,
		.failing = p->failures > 0,
	};
}

/* Starting: until peers have said what they know */

/* Of each peer that there is, but those that have failed to, or have been
 * waited for until `before_ms`. */
static bool teller_has_heard_all(const struct teller *t, bool failures,
				 int64_t before_ms)
{
	for (size_t i = 0; i < t->npeers; i++) {
		const struct teller_peer *p = t->peers[i];

		if (!p->heard && !(failures && p->failures) &&
		    p->listed_ms > before_ms)
			return false;
	}
	return true;
}

/* Whether a peer came a while ago. */
static bool teller_has_new(const struct teller *t, int64_t now_ms)
{
	for (size_t i = 0; i < t->npeers; i++) {
		if (t->peers[i]->listed_ms > now_ms - t->settings.new_ms)
			return true;
	}
	return false;
}

void teller_meet(struct teller *t, uint64_t instance, bool heard)
{
	if (t->lives && instance && lives_meet(t->lives, instance))
		t->met |= heard;
}

static void teller_check_start(struct teller *t, int64_t now_ms)
{
	bool done = teller_has_heard_all(t, true, INT64_MIN) &&
		    (t->npeers || !t->settings.awaits);

	cache_hear_all(t->cache,
		       teller_has_heard_all(t, false,
					    now_ms - t->settings.unheard_ms));
	invalidation_log_hold_floors(cache_purges_lock(t->cache),
				     teller_has_new(t, now_ms));
	cache_purges_unlock(t->cache);
	cache_doubt_disk(t->cache, t->lives && t->npeers && !t->met);
	if (t->caught_up || (!done && now_ms < t->start_due_ms))
		return;
	t->caught_up = true;
	cache_catch_up(t->cache, true);
}

/* When the time changes one of these. */
static int64_t teller_start_due(const struct teller *t, int64_t now_ms)
{
	int64_t due = t->caught_up ? INT64_MAX : t->start_due_ms;

	for (size_t i = 0; i < t->npeers; i++) {
		const struct teller_peer *p = t->peers[i];
		int64_t heard = p->listed_ms + t->settings.unheard_ms;
		int64_t known = p->listed_ms + t->settings.new_ms;

		if (!p->heard && heard > now_ms && heard < due)
			due = heard;
		if (known > now_ms && known < due)
			due = known;
	}
	return due;
}

static void teller_lower(uint64_t *floor, struct teller_peer *const *peers,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (*floor > peers[i]->told)
			*floor = peers[i]->told;
	}
}

/* Asks all again whose acknowledgements do not count any more. */
static bool teller_are_sure(struct teller *t, int64_t now_ms)
{
	bool sure = true;

	for (size_t i = 0; i < t->npeers; i++)
		sure &= teller_is_sure(t->peers[i], now_ms);
	return sure;
}

/* All members have what all peers have, those too that may come back. */
static void teller_set_floor(struct teller *t, int64_t now_ms)
{
	struct invalidation_log *log = cache_purges_lock(t->cache);
	const struct invalidation_source own = invalidation_log_source(log, 0);
	uint64_t floor = own.position;

	teller_lower(&floor, t->peers, t->npeers);
	teller_lower(&floor, t->gone, t->ngone);
	/* without peers: who comes first has nothing of it */
	if (floor < own.floor ||
	    (floor > own.floor && t->npeers && teller_are_sure(t, now_ms)))
		invalidation_log_set_floor(log, floor);
	cache_purges_unlock(t->cache);
}

/* Turns */

/* Takes the i-th of those that are gone off their list. */
static struct teller_peer *teller_take_gone(struct teller *t, size_t i)
{
	struct teller_peer *p = t->gone[i];

	t->ngone--;
	memmove(&t->gone[i], &t->gone[i + 1],
		(t->ngone - i) * sizeof(t->gone[0]));
	return p;
}

static void teller_forget_gone(struct teller *t, int64_t now_ms)
{
	while (t->ngone && now_ms - t->gone[0]->gone_ms > TELLER_GONE_MS)
		teller_peer_free(teller_take_gone(t, 0));
}

static void teller_on_timer(void *arg)
{
	teller_turn(arg);
}

static int64_t teller_waits_due(const struct teller *t, int64_t now_ms)
{
	int64_t due = INT64_MAX;

	for (const struct teller_wait *w = t->waits; w; w = w->next) {
		if (w->due_ms < due)
			due = w->due_ms;
		if (w->patient_ms > now_ms && w->patient_ms < due)
			due = w->patient_ms;
		if (w->closed_ms > now_ms && w->closed_ms < due)
			due = w->closed_ms;
	}
	return due;
}

/* The next thing for each peer. Returns when there is more to be done. */
static int64_t teller_turn_peers(struct teller *t, int64_t now_ms)
{
	int64_t due = INT64_MAX;

	t->stopping = true; /* what fails at once comes back here */
	t->asks_again = false;
	for (size_t i = 0; i < t->npeers; i++) {
		int64_t next = teller_peer_next(t->peers[i], now_ms);

		due = next < due ? next : due;
	}
	t->stopping = false;
	return due;
}

/* Does what is to be done now, and sets the timer for the rest. */
static void teller_turn(struct teller *t)
{
	int64_t now_ms = loop_now_ms(t->loop), due;

	if (t->stopping)
		return;
	due = teller_turn_peers(t, now_ms);
	teller_forget_gone(t, now_ms);
	teller_set_floor(t, now_ms);
	teller_check_start(t, now_ms);
	teller_check_waits(t, now_ms);
	if (t->asks_again)
		due = teller_turn_peers(t, now_ms);
	if (teller_waits_due(t, now_ms) < due)
		due = teller_waits_due(t, now_ms);
	if (teller_start_due(t, now_ms) < due)
		due = teller_start_due(t, now_ms);
	loop_timer_clear(t->loop, &t->timer);
	if (due < INT64_MAX)
		loop_timer_set(t->loop, &t->timer,
			       due > now_ms ? due : now_ms + 1,
			       teller_on_timer, t);
}

static void teller_on_later(void *arg)
{
	teller_turn(arg);
}

void teller_turn_later(struct teller *t)
{
	loop_defer(t->loop, &t->later);
}

/* The list of peers */

static struct teller_peer *teller_find(struct teller_peer *const *peers,
				       size_t n, const struct upstream *place)
{
	for (size_t i = 0; i < n; i++) {
		struct teller_peer *p = peers[i];

		if (!p->listed && !strcmp(p->url, place->url) &&
		    !strcmp(p->name, place->name))
			return p;
	}
	return NULL;
}

/* One that is there already, or was, or a new one. */
static struct teller_peer *teller_list(struct teller *t,
				       const struct upstream *place)
{
	struct teller_peer *p = teller_find(t->peers, t->npeers, place);

	if (!p)
		p = teller_find(t->gone, t->ngone, place);
	if (!p)
		p = teller_peer_new(t, place);
	if (p)
		p->listed = true;
	return p;
}

/* It may come back, and lacks what it has not acknowledged. */
static void teller_add_gone(struct teller *t, struct teller_peer *p)
{
	teller_peer_cease(p);
	p->gone_ms = loop_now_ms(t->loop);
	if (t->ngone == TELLER_GONE_MAX)
		teller_peer_free(teller_take_gone(t, 0));
	t->gone[t->ngone++] = p;
}

/* It is a peer again, and may have heard of purges meanwhile. */
static void teller_come_back(struct teller_peer *p)
{
	p->heard = p->late = p->logged = false;
	p->failures = 0;
	p->due_ms = 0;
	p->listed_ms = loop_now_ms(p->teller->loop);
}

/* Who is not in the new list is gone, and who is, is not. */
static void teller_part(struct teller *t)
{
	for (size_t i = t->ngone; i-- > 0;) {
		if (t->gone[i]->listed)
			teller_come_back(teller_take_gone(t, i));
	}
	for (size_t i = 0; i < t->npeers; i++) {
		if (!t->peers[i]->listed)
			teller_add_gone(t, t->peers[i]);
	}
}

static bool teller_is_known(const struct teller *t,
			    const struct teller_peer *p)
{
	for (size_t i = 0; i < t->npeers; i++) {
		if (t->peers[i] == p)
			return true;
	}
	for (size_t i = 0; i < t->ngone; i++) {
		if (t->gone[i] == p)
			return true;
	}
	return false;
}

/* There is no memory for a list: all is as before. */
static void teller_drop_list(const struct teller *t,
			     struct teller_peer **peers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		peers[i]->listed = false;
		if (!teller_is_known(t, peers[i]))
			teller_peer_free(peers[i]);
	}
	free(peers);
}

static void teller_change_list(struct teller *t, struct teller_peer **peers,
			       size_t n)
{
	teller_part(t);
	free(t->peers);
	t->peers = peers;
	t->npeers = n;
	for (size_t i = 0; i < n; i++)
		peers[i]->listed = false;
}

int teller_set(struct teller *t, const struct teller_settings *settings)
{
	struct teller_peer **peers =
		calloc(settings->npeers + 1, sizeof(*peers));
	size_t n = 0;

	if (!peers)
		return -ENOMEM;
	for (size_t i = 0; i < settings->npeers; i++) {
		if (!settings->peers[i].kind->purges)
			continue;
		peers[n] = teller_list(t, &settings->peers[i]);
		if (!peers[n]) {
			teller_drop_list(t, peers, n);
			return -ENOMEM;
		}
		n++;
	}
	teller_change_list(t, peers, n);
	t->settings = *settings;
	t->settings.peers = NULL; /* not needed any more */
	__atomic_store_n(&t->tells, settings->numbers, __ATOMIC_RELAXED);
	/* the turn takes the log's lock: what is numbered after it, by whoever
	 * takes that then, is seen to have peers, and what before, is told */
	__atomic_store_n(&t->alone, !n && !settings->desk, __ATOMIC_RELAXED);
	teller_turn(t);
	return 0;
}

/* Life */

int teller_new(struct loop *loop, struct cache *cache,
	       const struct teller_settings *settings, struct teller **out)
{
	struct teller *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->loop = loop;
	t->cache = cache;
	t->settings = *settings;
	t->by = (struct heard_by){ .loop = loop, .cache = cache };
	t->by.secret = t->settings.secret;
	t->by.desk = t->settings.desk;
	t->later = (struct loop_call){ .run = teller_on_later, .arg = t };
	t->wake = (struct loop_call){ .run = teller_on_wake, .arg = t };
	t->start_due_ms = loop_now_ms(loop) + settings->start_ms;
	cache_catch_up(cache, false);
	*out = t;
	t->settings.disk_path = NULL; /* not needed any more */
	err = fetcher_new(loop, FETCHER_DATA, 0, &t->fetcher);
	if (!err && settings->disk_path)
		err = lives_new(settings->disk_path, &t->lives);
	if (!err)
		err = teller_set(t, settings);
	if (err)
		teller_free(out);
	return err;
}

void teller_stop(struct teller *t)
{
	if (t)
		t->stopping = true;
}

void teller_free(struct teller **out)
{
	struct teller *t = *out;

	*out = NULL;
	if (!t)
		return;
	t->stopping = true;
	teller_stream_stop(t);
	while (t->waits) {
		struct teller_wait *w = t->waits;

		teller_unlist(w);
		free(w);
	}
	for (size_t i = 0; i < t->npeers; i++)
		teller_peer_free(t->peers[i]);
	for (size_t i = 0; i < t->ngone; i++)
		teller_peer_free(t->gone[i]);
	heard_stop(&t->by);
	loop_undefer(t->loop, &t->later);
	loop_timer_clear(t->loop, &t->timer);
	if (t->fetcher)
		fetcher_free(&t->fetcher);
	lives_free(&t->lives);
	free(t->peers);
	free(t);
}
