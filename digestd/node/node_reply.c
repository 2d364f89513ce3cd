/*
 * The reply that a stored response makes.
 */
#include "digestd/node/node_reply.h"

#include "digestd/http/conditional.h"

struct node_reply node_reply_of(const struct node_reply_facts *f)
{
	struct node_reply reply = {NODE_SENDS_ALL, f->status, {0, f->len}};

	if (f->status != 200)
		return reply;
	if (f->cacheable &&
	    conditional_not_modified(f->request, f->stored, f->wall_s)) {
		reply.kind = NODE_SENDS_NOT_MODIFIED;
		reply.status = 304;
		return reply;
	}
	if (!f->get)
		return reply;
	switch (range_select(f->request, f->stored, f->len, &reply.part)) {
	case RANGE_WHOLE:
		break;
	case RANGE_PART:
		reply.kind = NODE_SENDS_PART;
		reply.status = 206;
		break;
	case RANGE_UNSATISFIABLE:
		reply.kind = NODE_SENDS_NO_PART;
		reply.status = 416;
		break;
	}
	return reply;
}

enum node_reply_rest node_reply_rest_of(const struct node_reply *reply,
					const struct node_reply_slices *slices)
{
	if ((reply->kind != NODE_SENDS_ALL && reply->kind != NODE_SENDS_PART) ||
	    slices->head || slices->fetched)
		return NODE_REST_NONE;
	return slices->alone ? NODE_REST_REFUSED
			     : NODE_REST_FETCHED;
}
