/*
 * Following one peer.
 */
#include "digestd/mesh/following.h"

#include <assert.h>

enum {
	STATUS_FULL = 200,
	STATUS_DELTA = 226,
	STATUS_SAME = 304,
	STATUS_NONE_YET = 503,
};

void following_init(struct following *f, uint64_t seed, int64_t now_ms)
{
	*f = (struct following){.state = FOLLOWING_WAITING};
	f->next = fetch_schedule_init(&f->schedule, seed, now_ms);
	peer_health_init(&f->health);
}

bool following_expects(enum following_state state,
		       enum following_event_kind event)
{
	switch (event) {
	case FOLLOWING_DUE:
	case FOLLOWING_OUTCOME:
	case FOLLOWING_LOOKUPS:
	case FOLLOWING_HELD:
	case FOLLOWING_FREED:
		return true;
	case FOLLOWING_ENDED:
		return state != FOLLOWING_WAITING &&
		       state != FOLLOWING_DECODING;
	case FOLLOWING_STREAM:
		return state == FOLLOWING_FETCHING;
	case FOLLOWING_FRAMES:
		return state == FOLLOWING_STREAMING;
	case FOLLOWING_QUIET:
		return state == FOLLOWING_STREAMING ||
		       state == FOLLOWING_APPLYING;
	case FOLLOWING_REFUSED:
	case FOLLOWING_UNABLE:
		return state != FOLLOWING_WAITING;
	case FOLLOWING_DECODED:
		return state == FOLLOWING_DECODING ||
		       state == FOLLOWING_APPLYING;
	}
	return false;
}

static void following_fetch(struct following *f, int64_t now_ms,
			    struct following_actions *out)
{
	fetch_schedule_begin(&f->schedule, now_ms);
	f->state = FOLLOWING_FETCHING;
	f->conditional = f->has_digest && !f->next.full;
	out->fetch = true;
	out->conditional = f->conditional;
	f->stream = f->conditional && !f->collected;
	out->stream = f->stream;
}

/* An update has ended so. */
static void following_end(struct following *f,
			  const struct following_policy *policy,
			  enum fetched with, int64_t now_ms,
			  struct following_actions *out)
{
	f->state = FOLLOWING_WAITING;
	f->next =
		fetch_schedule_end(&f->schedule, &policy->fetch, with, now_ms);
	out->ended = true;
	out->with = with;
	out->put_off = f->next.put_off;
	out->overspent = f->next.overspent;
}

/* Whether an answer is one about the digest, whatever it says. */
static bool following_is_about_digest(const struct following_event *event)
{
	return event->answer.whole && (event->answer.status == STATUS_FULL ||
				       event->answer.status == STATUS_DELTA ||
				       event->answer.status == STATUS_SAME);
}

static void following_take_state(struct following *f,
				 const struct following_event *event,
				 struct following_actions *out)
{
	if (following_is_about_digest(event)) {
		out->drains = event->answer.drains && !f->drains;
		f->drains = event->answer.drains;
	} else if (event->answer.whole &&
		   event->answer.status != STATUS_NONE_YET) {
		f->answered = true;
	}
	f->answered |= f->unreached == FOLLOWING_GONE;
}

/* Whether somebody was there, and what he says. */
static void following_take_word(struct following *f,
				const struct following_event *event,
				struct following_actions *out)
{
	bool was_gone = following_is_gone(f);

	if (event->answer.reached)
		f->unreached = 0;
	else if (f->unreached < FOLLOWING_GONE)
		f->unreached++;
	out->reach = following_is_gone(f) != was_gone;
	following_take_state(f, event, out);
}

static void following_take_answer(struct following *f,
				  const struct following_policy *policy,
				  const struct following_event *event,
				  int64_t now_ms, struct following_actions *out)
{
	bool whole = event->answer.whole;

	f->collected |= f->stream && event->answer.late;
	following_take_word(f, event, out);
	if (whole && (event->answer.status == STATUS_FULL ||
		      event->answer.status == STATUS_DELTA)) {
		f->state = FOLLOWING_DECODING;
		out->decode = true;
	} else if (whole && event->answer.status == STATUS_SAME &&
		   f->conditional) {
		following_end(f, policy, FETCHED_SAME, now_ms, out);
	} else {
		following_end(f, policy, FETCHED_FAILED, now_ms, out);
	}
}

/* A stream begins. */
static void following_begin_stream(struct following *f,
				   const struct following_event *event,
				   int64_t now_ms,
				   struct following_actions *out)
{
	following_take_word(f, event, out);
	f->state = FOLLOWING_STREAMING;
	f->waits = f->over = false;
	f->heard_ms = f->apply_ms = now_ms;
}

static void following_end_stream(struct following *f,
				 const struct following_policy *policy,
				 bool whole, int64_t now_ms,
				 struct following_actions *out)
{
	following_end(f, policy, whole ? FETCHED_STREAM : FETCHED_FAILED,
		      now_ms, out);
}

static void following_apply(struct following *f, int64_t now_ms,
			    struct following_actions *out)
{
	f->waits = now_ms < f->apply_ms;
	if (f->waits)
		return;
	f->apply_ms = now_ms + FETCH_PACE_MS;
	f->state = FOLLOWING_APPLYING;
	out->decode = true;
}

/* A clock's turn while frames come. */
static void following_watch_stream(struct following *f,
				   const struct following_policy *policy,
				   int64_t now_ms,
				   struct following_actions *out)
{
	if (f->waits) {
		following_apply(f, now_ms, out);
	} else if (now_ms - f->heard_ms >= policy->fetch.silence_ms) {
		f->collected = true;
		following_end_stream(f, policy, false, now_ms, out);
	}
}

static void following_take_end(struct following *f,
			       const struct following_policy *policy,
			       const struct following_event *event,
			       int64_t now_ms, struct following_actions *out)
{
	if (f->state == FOLLOWING_FETCHING) {
		following_take_answer(f, policy, event, now_ms, out);
	} else if (f->state == FOLLOWING_STREAMING) {
		following_end_stream(f, policy, event->answer.whole, now_ms,
				     out);
	} else {
		f->over = true;
		f->over_whole = event->answer.whole;
	}
}

/* Whether views need not tell two estimates apart: by these a peer is chosen of
 * several. */
static bool following_are_close(double a, double b)
{
	static const double step = 1.25;

	return a <= b * step && b <= a * step;
}

static bool following_is_in_view(const struct following *f,
				 const struct following_event *event)
{
	return event->digest.in_place && f->usable &&
	       following_are_close(event->digest.fp, f->viewed_fp) &&
	       following_are_close(peer_health_rtt_ms(&f->health),
				   f->viewed_rtt_ms);
}

static void following_install(struct following *f,
			      const struct following_policy *policy,
			      const struct following_event *event,
			      int64_t now_ms, struct following_actions *out)
{
	if (f->has_digest && f->instance != event->digest.instance)
		out->restarted = peer_health_restarted(&f->health,
						       &policy->health, now_ms);
	f->has_digest = true;
	f->answered = true;
	f->instance = event->digest.instance;
	f->fp = event->digest.fp;
	out->install = true;
	out->view = !following_is_in_view(f, event);
	if (f->state == FOLLOWING_DECODING) {
		following_end(f, policy,
			      event->digest.delta ? FETCHED_DELTA
						  : FETCHED_FULL,
			      now_ms, out);
		return;
	}
	fetch_schedule_confirm(&f->schedule, now_ms);
	f->state = FOLLOWING_STREAMING;
	if (f->over)
		following_end_stream(f, policy, f->over_whole, now_ms, out);
}

/* When the digest becomes too old to be consulted; INT64_MAX: it is. */
static int64_t following_expires_ms(const struct following *f,
				    const struct following_policy *policy,
				    int64_t now_ms)
{
	if (!fetch_schedule_usable(&f->schedule, &policy->fetch, now_ms))
		return INT64_MAX;
	return fetch_schedule_confirmed_ms(&f->schedule) +
	       policy->fetch.max_age_ms + 1;
}

static int64_t following_sooner_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When frames that have come too soon are decoded, or a stream is silent. */
static int64_t following_stream_due_ms(const struct following *f,
				       const struct following_policy *policy)
{
	return f->waits ? f->apply_ms : f->heard_ms + policy->fetch.silence_ms;
}

/* What a step has led to, whatever it was. */
static void following_finish(struct following *f,
			     const struct following_policy *policy,
			     int64_t now_ms, struct following_actions *out)
{
	bool usable =
		!following_is_gone(f) && !f->drains &&
		peer_health_usable(&f->health) &&
		fetch_schedule_usable(&f->schedule, &policy->fetch, now_ms);

	out->view |= out->health || usable != f->usable;
	f->usable = usable;
	if (out->view) {
		f->viewed_fp = f->fp;
		f->viewed_rtt_ms = peer_health_rtt_ms(&f->health);
	}
	out->due_ms =
		following_sooner_ms(peer_health_due_ms(&f->health),
				    following_expires_ms(f, policy, now_ms));
	if (f->state == FOLLOWING_WAITING)
		out->due_ms = following_sooner_ms(out->due_ms, f->next.due_ms);
	else if (f->state == FOLLOWING_STREAMING)
		out->due_ms = following_sooner_ms(
			out->due_ms, following_stream_due_ms(f, policy));
}

struct following_actions following_step(struct following *f,
					const struct following_policy *policy,
					const struct following_event *event,
					int64_t now_ms)
{
	struct following_actions out = {0};

	assert(following_expects(f->state, event->kind));
	switch (event->kind) {
	case FOLLOWING_DUE:
		out.health = peer_health_tick(&f->health, now_ms);
		if (f->state == FOLLOWING_WAITING && now_ms >= f->next.due_ms)
			following_fetch(f, now_ms, &out);
		else if (f->state == FOLLOWING_STREAMING)
			following_watch_stream(f, policy, now_ms, &out);
		break;
	case FOLLOWING_ENDED:
		following_take_end(f, policy, event, now_ms, &out);
		break;
	case FOLLOWING_STREAM:
		following_begin_stream(f, event, now_ms, &out);
		break;
	case FOLLOWING_QUIET:
		f->heard_ms = now_ms;
		if (f->state == FOLLOWING_STREAMING && !f->waits)
			fetch_schedule_stays(&f->schedule, now_ms);
		break;
	case FOLLOWING_FRAMES:
		f->heard_ms = now_ms;
		following_apply(f, now_ms, &out);
		break;
	case FOLLOWING_REFUSED:
		f->answered = true; /* it has none that would do */
		following_end(f, policy, FETCHED_UNFIT, now_ms, &out);
		break;
	case FOLLOWING_UNABLE:
		following_end(f, policy, FETCHED_FAILED, now_ms, &out);
		break;
	case FOLLOWING_DECODED:
		following_install(f, policy, event, now_ms, &out);
		break;
	case FOLLOWING_OUTCOME:
		out.health = peer_health_outcome(&f->health, &policy->health,
						 event->outcome.kind,
						 event->outcome.rtt_ms, now_ms);
		break;
	case FOLLOWING_LOOKUPS:
		if (f->has_digest)
			peer_health_lookups(&f->health, (double)event->lookups,
					    f->fp, now_ms);
		break;
	case FOLLOWING_HELD:
		out.health = peer_health_hold(&f->health);
		break;
	case FOLLOWING_FREED:
		out.health = peer_health_release(&f->health);
		break;
	}
	following_finish(f, policy, now_ms, &out);
	return out;
}

bool following_is_gone(const struct following *f)
{
	return f->unreached >= FOLLOWING_GONE;
}

bool following_usable(const struct following *f)
{
	return f->usable;
}

bool following_drains(const struct following *f)
{
	return f->drains;
}

bool following_has_settled(const struct following *f)
{
	return f->answered;
}

void following_wake(struct following *f, const struct following_policy *policy,
		    int64_t now_ms)
{
	if (f->state == FOLLOWING_WAITING)
		f->next.due_ms = fetch_schedule_wake(
			&f->schedule, &policy->fetch, f->next.due_ms, now_ms);
}

const struct peer_health *following_health(const struct following *f)
{
	return &f->health;
}

int64_t following_confirmed_ms(const struct following *f)
{
	return fetch_schedule_confirmed_ms(&f->schedule);
}
