/*
 * Streams of frames (mesh/digest_stream.h), where they come in. What has come
 * is kept until it is a whole frame and the decoder has done with the ones
 * before; of more than that the peer has to wait.
 */
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/digest_stream.h"
#include "digestd/peers/peer_follower_inside.h"

enum {
	STATUS_DELTA = 226,
	KEPT_BYTES = 65536, /* of whole frames */
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

bool peer_follower_take_stream(struct peer *p, const void *data, size_t len)
{
	const struct digest_expected expected = peer_follower_expected_of(p);
	struct update *u = &p->update;
	size_t had;
	int error;

	u->paused = u->whole && u->body.len >= KEPT_BYTES;
	if (u->paused)
		return false;
	error = digest_body_add(&u->body, &expected, data, len);
	had = u->body.len;
	if (!error)
		error = digest_stream_whole(u->body.bytes, &u->body.len,
					    u->body.most, &u->whole);
	if (error) {
		peer_follower_refuse(p, error);
		return true;
	}
	if (u->body.len < had)
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
