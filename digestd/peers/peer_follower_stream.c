/*
 * Streams of frames (mesh/digest_stream.h), where they come in. What has come
 * is kept until it is a whole frame and the decoder has done with the ones
 * before; of more than that the peer has to wait. Notes are taken as they come.
 */
#include <string.h>

#include "codec/error.h"
#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/digest_stream.h"
#include "digestd/peers/peer_follower_inside.h"
#include "digestd/peers/peer_note.h"

enum {
	STATUS_DELTA = 226,
	KEPT_BYTES = 65536, /* of whole frames */
	NOTES_PACE_MS = 1000,
	NOTES_SAY_MOST = 16, /* of a node on itself and others, in that time:
			      * each may change what is known of all peers */
	NOTES_MOST_BYTES = 8 << 20, /* and of all that is no frame: it is not
				     * made to wait, as frames are, and a
				     * whole log is a quarter of that */
};

bool peer_follower_is_stream(unsigned status, const struct fields *fields)
{
	const char *im = fields_get(fields, "IM");

	return status == STATUS_DELTA && im && !strcmp(im, DIGEST_IM_STREAM);
}

void peer_follower_begin_stream(struct peer *p, struct fetch *fetch)
{
	struct following_event event = {.kind = FOLLOWING_STREAM};
	struct following_actions actions;

	fetch_lift_total(fetch);
	p->update.streams = true;
	event.answer.reached = event.answer.whole = true;
	event.answer.status = p->update.status;
	event.answer.drains = p->update.says.drains;
	peer_follower_take_node(p);
	actions = peer_follower_step(p, &event);
	peer_follower_report_well(p);
	peer_follower_act(p, &actions);
}

/* A new second begins, perhaps. */
static void peer_follower_pace_notes(struct peer *p)
{
	struct update *u = &p->update;
	const int64_t now_ms = loop_now_ms(p->follow->loop);

	if (now_ms - u->notes_since_ms < NOTES_PACE_MS)
		return;
	u->notes_since_ms = now_ms;
	u->notes_bytes = 0;
	u->nsays = 0;
}

/* Whether it may say so much of itself. */
static bool peer_follower_may_say(struct peer *p)
{
	return ++p->update.nsays <= NOTES_SAY_MOST;
}

/* What an answer would have said in a field. */
static void peer_follower_take_said(struct peer *p, const char *name,
				    const uint8_t *body, size_t len)
{
	struct update *u = &p->update;
	struct fields said;

	u->nsuspects = 0;
	fields_init(&said);
	if (!fields_add_n(&said, name, strlen(name), (const char *)body, len)) {
		if (fields_get(&said, DIGEST_NODE))
			digest_node_read(&said, &u->says);
		u->nsuspects = digest_suspects_read(&said, u->suspects);
		peer_follower_take_node(p);
	}
	fields_free(&said);
}

/* What is for others. */
static void peer_follower_pass_note(const struct peer *p,
				    enum digest_note kind, const uint8_t *body,
				    size_t len)
{
	const struct peer_follower *f = p->follow;
	const struct peer_note note = {
		.url = p->url,
		.instance = p->digest ? p->digest->instance : 0,
		.kind = kind,
		.body = body,
		.len = len,
	};

	if (f->settings.on_note)
		f->settings.on_note(f->arg, &note);
}

static void peer_follower_on_note(void *arg, enum digest_note kind,
				  const uint8_t *body, size_t len)
{
	struct peer *p = arg;

	switch (kind) {
	case DIGEST_NOTE_NODE:
		if (peer_follower_may_say(p))
			peer_follower_take_said(p, DIGEST_NODE, body, len);
		return;
	case DIGEST_NOTE_SUSPECTS:
		if (peer_follower_may_say(p))
			peer_follower_take_said(p, DIGEST_SUSPECTS, body, len);
		return;
	case DIGEST_NOTE_INVALIDATIONS:
	case DIGEST_NOTE_ACKNOWLEDGEMENT:
		peer_follower_pass_note(p, kind, body, len);
		return;
	}
}

bool peer_follower_reads(const struct peer_follower *f, const char *url,
			 uint64_t instance)
{
	for (size_t i = 0; i < f->npeers; i++) {
		const struct peer *p = f->peers[i];

		if (p->update.streams && p->update.fetch && p->digest &&
		    p->digest->instance == instance && !strcmp(p->url, url))
			return true;
	}
	return false;
}

static int peer_follower_sort_stream(struct peer *p, bool *quiet)
{
	struct update *u = &p->update;
	struct digest_stream_input in = {
		.bytes = u->body.bytes,
		.len = u->body.len,
		.most = u->body.most,
		.on_note = peer_follower_on_note,
		.arg = p,
	};
	int error;

	peer_follower_pace_notes(p);
	error = digest_stream_sort(&in, quiet);
	u->notes_bytes += u->body.len - in.len;
	u->body.len = in.len;
	u->whole = in.whole;
	if (!error && u->notes_bytes > NOTES_MOST_BYTES)
		error = SCD_ELIMIT;
	return error;
}

bool peer_follower_take_stream(struct peer *p, const void *data, size_t len)
{
	const struct digest_expected expected = peer_follower_expected_of(p);
	struct update *u = &p->update;
	bool quiet = false;
	int error;

	u->paused = u->whole && u->body.len >= KEPT_BYTES;
	if (u->paused)
		return false;
	error = digest_body_add(&u->body, &expected, data, len);
	if (!error)
		error = peer_follower_sort_stream(p, &quiet);
	if (error) {
		peer_follower_refuse(p, error);
		return true;
	}
	if (quiet)
		peer_follower_handle(p, FOLLOWING_QUIET);
	peer_follower_go_on(p);
	return true;
}

int peer_follower_split_stream(struct peer *p, struct digest_body *out)
{
	struct update *u = &p->update;
	int error = digest_body_split(&u->body, u->whole, out);

	if (!error)
		u->whole = 0;
	return error;
}

void peer_follower_go_on(struct peer *p)
{
	struct update *u = &p->update;

	if (u->streams && u->whole &&
	    following_expects(p->following.state, FOLLOWING_FRAMES))
		peer_follower_handle(p, FOLLOWING_FRAMES);
	if (u->paused && !u->whole) {
		u->paused = false;
		if (u->fetch)
			fetch_resume(u->fetch);
	}
}
