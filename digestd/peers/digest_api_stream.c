/*
 * Streams of frames (mesh/digest_stream.h), where they go out.
 *
 * A stream is read by its connection, in the thread of that, as fast as its
 * client takes it. Publications come in another one and only wake it: by a call
 * that is posted to its loop, of which one at most is under way.
 *
 * It is released when its reply is, its exchange has left, and no call is on
 * its way: each of them is a user.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/mesh/digest_stream.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api_inside.h"
#include "digestd/peers/peer_note.h"

enum {
	/* However much there is to tell: whose certificate is no longer taken
	 * is not told for long. */
	STREAM_LIFE_MS = 15 * 60 * 1000,
	/* Streams that have nothing to tell say so in up to so many groups, so
	 * that who has many does not wake up for each. */
	STREAM_GROUPS = 4,
};

struct digest_stream_reply {
	struct digest_pending pending;
	struct digest_api *api;
	struct loop *loop;

	/* the exchange's thread's */
	struct exchange *x; /* null: it has left */
	struct digest_stream stream;
	struct loop_timer timer;
	int64_t quiet_ms; /* without a word, at most */
	uint64_t hears; /* see DIGEST_HEARS */
	int64_t told_ms, ends_ms;
	bool quiet; /* for so long that it says so */
	bool over;  /* its time */

	/* under the interface's lock */
	unsigned users;
	bool posted;
	bool ends; /* the node does, or another process answers for it */
	struct blob *notes[DIGEST_NOTES]; /* to be taken; null: none */
	struct digest_stream_reply *next, **link; /* link null: not listed */

	struct loop_call wake;
};

static void digest_stream_reply_unref(struct digest_stream_reply *s)
{
	unsigned users;

	pthread_mutex_lock(&s->api->lock);
	users = --s->users;
	pthread_mutex_unlock(&s->api->lock);
	if (users)
		return;
	digest_stream_end(&s->stream);
	for (unsigned i = 0; i < DIGEST_NOTES; i++)
		blob_unref(s->notes[i]);
	free(s);
}

/* In the exchange's thread, as all that follows. */
static void digest_stream_reply_on_wake(void *arg)
{
	struct digest_stream_reply *s = arg;

	pthread_mutex_lock(&s->api->lock);
	s->posted = false;
	pthread_mutex_unlock(&s->api->lock);
	if (s->x)
		exchange_wake(s->x);
	digest_stream_reply_unref(s);
}

/* With the lock held, as all to the next function. */
static void digest_stream_reply_wake(struct digest_stream_reply *s)
{
	if (s->posted)
		return;
	s->posted = true;
	s->users++;
	loop_post(s->loop, &s->wake);
}

void digest_api_wake_streams(struct digest_api *api, bool end)
{
	for (struct digest_stream_reply *s = api->streams; s; s = s->next) {
		s->ends |= end;
		digest_stream_reply_wake(s);
	}
}

void digest_api_end_streams(struct digest_api *api)
{
	pthread_mutex_lock(&api->lock);
	digest_api_wake_streams(api, true);
	pthread_mutex_unlock(&api->lock);
}

static void digest_stream_reply_note(struct digest_stream_reply *s,
				     enum digest_note kind, struct blob *note)
{
	blob_unref(s->notes[kind]);
	s->notes[kind] = blob_ref(note);
	digest_stream_reply_wake(s);
}

/* Without memory a stream ends, so that its reader asks, and is answered. */
void digest_api_note_all(struct digest_api *api, enum digest_note kind,
			 const char *text)
{
	struct blob *note = digest_note_make(kind, text, strlen(text));

	for (struct digest_stream_reply *s = api->streams; s && note;
	     s = s->next)
		digest_stream_reply_note(s, kind, note);
	if (!note)
		digest_api_wake_streams(api, true);
	blob_unref(note);
}

/* The last one that began, if there are several: the others may be dead. With
 * the lock held. */
static struct digest_stream_reply *
digest_stream_reply_of(const struct digest_api *api, uint64_t instance)
{
	struct digest_stream_reply *s = api->streams;

	while (s && (s->hears != instance || s->ends))
		s = s->next;
	return s;
}

bool digest_api_send_note(struct digest_api *api, const struct peer_note *note)
{
	struct digest_stream_reply *s;
	struct blob *bytes;

	if (!note->instance) /* none has it */
		return false;
	bytes = digest_note_make(note->kind, note->body, note->len);
	if (!bytes)
		return false;
	pthread_mutex_lock(&api->lock);
	s = digest_stream_reply_of(api, note->instance);
	if (s)
		digest_stream_reply_note(s, note->kind, bytes);
	pthread_mutex_unlock(&api->lock);
	blob_unref(bytes);
	return s;
}

/* When it has been quiet for too long, at a time of its group's. */
static int64_t digest_stream_reply_quiet_ms(const struct digest_stream_reply *s)
{
	const int64_t due_ms = s->told_ms + s->quiet_ms;

	return due_ms - due_ms % (s->quiet_ms / STREAM_GROUPS);
}

static void digest_stream_reply_on_timer(void *arg);

static void digest_stream_reply_set_timer(struct digest_stream_reply *s)
{
	const int64_t due_ms = digest_stream_reply_quiet_ms(s);

	loop_timer_set(s->loop, &s->timer,
		       due_ms < s->ends_ms ? due_ms : s->ends_ms,
		       digest_stream_reply_on_timer, s);
}

static void digest_stream_reply_on_timer(void *arg)
{
	struct digest_stream_reply *s = arg;
	const int64_t now_ms = loop_now_ms(s->loop);

	s->over = now_ms >= s->ends_ms;
	s->quiet = now_ms >= digest_stream_reply_quiet_ms(s);
	if (s->quiet)
		s->told_ms = now_ms;
	if (!s->over)
		digest_stream_reply_set_timer(s);
	if (s->over || s->quiet)
		exchange_wake(s->x);
}

static void digest_stream_reply_left(struct digest_pending *pending)
{
	struct digest_stream_reply *s = (struct digest_stream_reply *)pending;

	loop_timer_clear(s->loop, &s->timer);
	pthread_mutex_lock(&s->api->lock);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	pthread_mutex_unlock(&s->api->lock);
	s->x = NULL;
	digest_stream_reply_unref(s);
}

static void digest_stream_reply_release(void *arg)
{
	digest_stream_reply_unref(arg);
}

/* With the lock held. */
static void digest_stream_reply_take_notes(struct digest_stream_reply *s)
{
	for (unsigned i = 0; i < DIGEST_NOTES; i++) {
		if (!s->notes[i])
			continue;
		digest_stream_add(&s->stream, i, s->notes[i]);
		s->notes[i] = NULL;
		peers_digest_api_count(&s->api->counters.stream_notes, 1);
	}
}

/* What to read from, with one user more; null: the stream is to end. */
static struct publication *
digest_stream_reply_source(struct digest_stream_reply *s)
{
	struct publication *p = NULL;

	pthread_mutex_lock(&s->api->lock);
	if (!s->ends && !s->over) {
		p = publication_ref(s->api->recent[0]);
		digest_stream_reply_take_notes(s);
	}
	pthread_mutex_unlock(&s->api->lock);
	return p;
}

/* So many bytes of frames have gone out: there is nothing to say about them
 * soon. */
static void digest_stream_reply_count(struct digest_stream_reply *s, size_t n)
{
	if (!n)
		return;
	s->quiet = false;
	s->told_ms = loop_now_ms(s->loop);
	peers_digest_api_count(&s->api->counters.delta_sent, 1);
	peers_digest_api_count(&s->api->counters.delta_sent_bytes, n);
}

static ssize_t digest_stream_reply_read(void *arg, void *buf, size_t cap)
{
	struct digest_stream_reply *s = arg;
	struct publication *p = digest_stream_reply_source(s);
	const size_t noted = s->stream.noted;
	bool over = !p;
	size_t n = over ? digest_stream_finish(&s->stream, buf, cap)
			: digest_stream_read(&s->stream, p, buf, cap, &over);

	publication_unref(p);
	if (!n && !over && s->quiet) {
		s->quiet = false;
		*(uint8_t *)buf = DIGEST_STREAM_QUIET;
		return 1;
	}
	if (!n)
		return over ? BODY_END : BODY_WAIT;
	digest_stream_reply_count(s, n - (s->stream.noted - noted));
	return (ssize_t)n;
}

/* Lists a stream, if it may begin: under the lock, so that none is missed of
 * the publications that come. */
static bool digest_stream_reply_begin(struct digest_stream_reply *s,
				      const struct digest_request *r,
				      struct publication **p,
				      struct digest_answer *answer)
{
	struct digest_api *api = s->api;
	bool begins;

	pthread_mutex_lock(&api->lock);
	*answer = digest_api_answer_to(api, &r->ask);
	begins = !api->draining && !api->handed_over && api->max_wait_s &&
		 api->recent[0] &&
		 digest_stream_begin(&s->stream, &r->ask, api->recent[0],
				     answer);
	if (begins) {
		*p = publication_ref(api->recent[0]);
		s->next = api->streams;
		s->link = &api->streams;
		if (s->next)
			s->next->link = &s->next;
		api->streams = s;
	}
	pthread_mutex_unlock(&api->lock);
	return begins;
}

static void digest_stream_reply_start(struct digest_stream_reply *s,
				      const struct fields *f)
{
	const struct body_source source = {
		.read = digest_stream_reply_read,
		.release = digest_stream_reply_release,
		.arg = s,
	};

	exchange_set_data(s->x, &s->pending);
	s->told_ms = loop_now_ms(s->loop);
	s->ends_ms = s->told_ms + STREAM_LIFE_MS;
	digest_stream_reply_set_timer(s);
	peers_digest_api_count(&s->api->counters.streams, 1);
	exchange_reply_stream(s->x, 226, f, -1, &source);
}

/* Whether a stream comes through to who asks: a proxy in between may collect
 * it, and HTTP/1.0 has no end for it. */
static bool digest_api_can_stream(const struct server_request *request)
{
	return !strcmp(request->method, "GET") && request->minor &&
	       !fields_get(request->fields, "Via");
}

static struct digest_stream_reply *
digest_stream_reply_new(struct digest_api *api, struct exchange *x,
			const struct digest_request *r)
{
	struct digest_stream_reply *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->pending.left = digest_stream_reply_left;
	s->api = api;
	s->loop = exchange_loop(x);
	s->x = x;
	s->users = 2; /* the exchange, and its reply */
	s->quiet_ms = 1000 * r->ask.wait_s;
	s->hears = r->hears;
	s->wake.run = digest_stream_reply_on_wake;
	s->wake.arg = s;
	return s;
}

bool digest_api_start_stream(struct digest_api *api, struct exchange *x,
			     const struct digest_request *r)
{
	struct digest_stream_reply *s = NULL;
	struct digest_answer answer;
	struct publication *p;
	struct fields f;

	if (r->ask.takes_stream && digest_api_can_stream(exchange_request(x)))
		s = digest_stream_reply_new(api, x, r);
	if (!s)
		return false;
	if (!digest_stream_reply_begin(s, r, &p, &answer)) {
		free(s);
		return false;
	}
	answer.from = s->stream.generation;
	if (digest_api_delta_fields(api, x, p, &answer, DIGEST_IM_STREAM, &f)) {
		digest_stream_reply_left(&s->pending);
		digest_stream_reply_unref(s);
		exchange_abort(x);
	} else {
		digest_stream_reply_start(s, &f);
	}
	fields_free(&f);
	publication_unref(p);
	return true;
}
