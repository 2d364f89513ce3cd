/*
 * Purges told and heard in the streams between two nodes.
 *
 * A message goes to a peer as a note in the stream that it reads, and its
 * acknowledgement comes as a note in the stream that this node reads of it: so
 * each node has one connection to each, for all its news. Where one of the two
 * streams is missing or ends, or brings nothing for too long, the message is
 * sent by a request, as ever; it may then come twice, which does no harm. A
 * ticket says which message an acknowledgement is of: late ones are of none.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/le64.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/peer_note.h"
#include "digestd/peers/teller_inside.h"

enum {
	STREAM_TICKET_BYTES = 8,
	STREAM_MESSAGE_MAX = 16384, /* a longer one would hold up others */
	STREAM_DEAF_MS = 60000, /* requests only, after one was not answered */
	STREAM_SHARE = 2, /* of the time for a peer's sign, which that has for
			   * a note; the request after it has the rest */
};

/* Telling */

static void teller_stream_write_ticket(uint64_t ticket, uint8_t *out)
{
	for (unsigned i = 0; i < STREAM_TICKET_BYTES; i++)
		out[i] = (uint8_t)(ticket >> 8 * i);
}

/* However often it says that it is at work, that ends, as a request does. */
static void teller_stream_wait(struct teller_peer *p, int64_t now_ms)
{
	const int64_t end_ms = p->sent_ms + TELLER_TOTAL_MS;

	p->silent_ms = now_ms + p->teller->settings.timeout_ms / STREAM_SHARE;
	if (p->silent_ms > end_ms)
		p->silent_ms = end_ms;
}

/* Sends `len` bytes behind a ticket. */
static bool teller_stream_send(const struct teller *t, struct peer_note *note,
			       uint64_t ticket, const void *bytes, size_t len)
{
	const struct teller_streams *s = &t->settings.streams;
	uint8_t *body = malloc(STREAM_TICKET_BYTES + len);
	bool sent;

	if (!body)
		return false;
	teller_stream_write_ticket(ticket, body);
	if (len)
		memcpy(body + STREAM_TICKET_BYTES, bytes, len);
	note->body = body;
	note->len = STREAM_TICKET_BYTES + len;
	sent = s->send(s->arg, note);
	free(body);
	return sent;
}

bool teller_stream_tell(struct teller_peer *p, int64_t now_ms)
{
	struct teller *t = p->teller;
	struct peer_note note = {
		.url = p->url,
		.instance = p->met,
		.kind = DIGEST_NOTE_INVALIDATIONS,
	};

	if (!t->settings.streams.send || !p->met || now_ms < p->deaf_ms ||
	    p->message_len > STREAM_MESSAGE_MAX ||
	    !teller_stream_send(t, &note, t->tickets + 1, p->message,
				p->message_len))
		return false;
	p->ticket = ++t->tickets;
	teller_stream_wait(p, now_ms);
	t->counters.streamed++;
	return true;
}

static void teller_stream_give_up(struct teller_peer *p, int64_t now_ms)
{
	p->deaf_ms = now_ms + STREAM_DEAF_MS;
	teller_peer_drop(p);
}

void teller_stream_check(struct teller_peer *p, int64_t now_ms)
{
	if (!p->ticket || now_ms < p->silent_ms)
		return;
	teller_stream_give_up(p, now_ms);
	p->waited_ms = p->teller->settings.timeout_ms / STREAM_SHARE;
}

void teller_on_stream_end(struct teller *t, const char *url)
{
	bool waited = false;

	for (size_t i = 0; i < t->npeers; i++) {
		struct teller_peer *p = t->peers[i];

		if (!p->ticket || strcmp(p->url, url) != 0)
			continue;
		teller_peer_drop(p);
		waited = true;
	}
	if (waited)
		teller_turn_later(t);
}

/* What it is of: null, if that is not under way any more. */
static struct teller_peer *teller_stream_find(const struct teller *t,
					      const struct peer_note *note)
{
	const uint64_t ticket = scd__load_le64(note->body);

	for (size_t i = 0; i < t->npeers; i++) {
		struct teller_peer *p = t->peers[i];

		if (ticket && p->ticket == ticket &&
		    p->met == note->instance && !strcmp(p->url, note->url))
			return p;
	}
	return NULL;
}

static void teller_stream_take_answer(struct teller *t,
				      const struct peer_note *note)
{
	const char *text = (const char *)note->body + STREAM_TICKET_BYTES;
	const size_t len = note->len - STREAM_TICKET_BYTES;
	struct teller_peer *p = teller_stream_find(t, note);
	const int64_t now_ms = loop_now_ms(t->loop);

	if (!p)
		return;
	teller_stream_wait(p, now_ms);
	if (!len || teller_peer_take_answer(p, text, len))
		return;
	teller_stream_give_up(p, now_ms);
	teller_turn_later(t);
}

/* Hearing */

/* A message that is being applied: of each peer one. */
struct teller_hearing {
	struct teller *teller;
	char *url;
	uint64_t instance, ticket;
	struct heard *heard;
	struct loop_timer beat;
	struct teller_hearing *next, **link;
};

static void teller_hearing_answer(const struct teller_hearing *h,
				  const char *text)
{
	struct peer_note note = {
		.url = h->url,
		.instance = h->instance,
		.kind = DIGEST_NOTE_ACKNOWLEDGEMENT,
	};

	/* who cannot be told so asks by a request */
	(void)teller_stream_send(h->teller, &note, h->ticket, text,
				 strlen(text));
}

static void teller_hearing_set_beat(struct teller_hearing *h);

static void teller_hearing_on_beat(void *arg)
{
	struct teller_hearing *h = arg;

	teller_hearing_answer(h, "");
	teller_hearing_set_beat(h);
}

static void teller_hearing_set_beat(struct teller_hearing *h)
{
	struct loop *loop = h->teller->loop;

	loop_timer_set(loop, &h->beat, loop_now_ms(loop) + INVALIDATION_BEAT_MS,
		       teller_hearing_on_beat, h);
}

static void teller_hearing_free(struct teller_hearing *h)
{
	loop_timer_clear(h->teller->loop, &h->beat);
	*h->link = h->next;
	if (h->next)
		h->next->link = h->link;
	free(h->url);
	free(h);
}

static void teller_hearing_on_applied(void *arg, struct heard *heard)
{
	struct teller_hearing *h = arg;
	char *text = invalidation_api_answer(heard->by, heard->removed);

	if (text)
		teller_hearing_answer(h, text);
	free(text);
	teller_hearing_free(h);
}

void teller_stream_stop(struct teller *t)
{
	while (t->hearing) {
		t->hearing->heard->arg = NULL; /* it goes on without */
		teller_hearing_free(t->hearing);
	}
}

static struct teller_hearing *teller_hearing_new(struct teller *t,
						 const struct peer_note *note)
{
	struct teller_hearing *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->teller = t;
	h->instance = note->instance;
	h->ticket = scd__load_le64(note->body);
	h->next = t->hearing;
	h->link = &t->hearing;
	if (h->next)
		h->next->link = &h->next;
	t->hearing = h;
	h->url = strdup(note->url);
	h->heard = heard_new(&t->by, teller_hearing_on_applied, h);
	return h;
}

static bool teller_is_hearing(const struct teller *t, const char *url)
{
	for (const struct teller_hearing *h = t->hearing; h; h = h->next) {
		if (!strcmp(h->url, url))
			return true;
	}
	return false;
}

/* What it does not take is not acknowledged: the peer sends it by a request,
 * and hears why. */
static void teller_stream_hear(struct teller *t, const struct peer_note *note)
{
	struct teller_hearing *h;

	if (!t->settings.numbers || !t->settings.streams.send ||
	    teller_is_hearing(t, note->url))
		return;
	h = teller_hearing_new(t, note);
	if (!h)
		return;
	if (!h->url || !h->heard ||
	    heard_add(h->heard, note->body + STREAM_TICKET_BYTES,
		      note->len - STREAM_TICKET_BYTES) ||
	    heard_apply(h->heard)) {
		heard_free(&h->heard);
		teller_hearing_free(h);
		return;
	}
	teller_hearing_set_beat(h);
}

void teller_on_note(struct teller *t, const struct peer_note *note)
{
	if (t->stopping || note->len < STREAM_TICKET_BYTES)
		return;
	if (note->kind == DIGEST_NOTE_INVALIDATIONS)
		teller_stream_hear(t, note);
	else if (note->kind == DIGEST_NOTE_ACKNOWLEDGEMENT)
		teller_stream_take_answer(t, note);
}
