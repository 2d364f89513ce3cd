/*
 * Replies that are made once.
 */
#include "digestd/server/shared_reply.h"

#include <assert.h>
#include <stdlib.h>

static void shared_reply_free(struct shared_reply *reply)
{
	if (reply->made)
		reply->unmake(reply->made);
	if (reply->body.release)
		reply->body.release(reply->body.arg);
	reply_head_free(&reply->head);
	free(reply);
}

struct shared_reply *shared_reply_new(unsigned status,
				      const struct fields *fields,
				      const struct body_memory *body)
{
	struct shared_reply *reply = calloc(1, sizeof(*reply));

	assert(status >= 200 && status <= 999);
	assert(body->data || !body->len);
	if (!reply) {
		if (body->release)
			body->release(body->arg);
		return NULL;
	}
	reply->status = status;
	reply->users = 1;
	reply->body = *body;
	reply_head_begin(&reply->head, status);
	reply->dated = reply_head_add_fields(&reply->head, fields);
	reply_head_add_length(&reply->head, body->len);
	reply_head_add_bytes(&reply->head, "\r\n", 2);
	reply->head.len -= 2;
	if (reply->head.failed) {
		shared_reply_free(reply);
		return NULL;
	}
	return reply;
}

struct shared_reply *shared_reply_ref(struct shared_reply *reply)
{
	assert(reply->users);
	reply->users++;
	return reply;
}

void shared_reply_unref(struct shared_reply *reply)
{
	if (reply && !--reply->users)
		shared_reply_free(reply);
}
