/*
 * What a node answers to a request for its digest.
 */
#include "digestd/mesh/digest_answer.h"

/* Whether one of the tags is this one. */
static bool digest_ask_has(const struct digest_ask *ask,
			   const struct digest_tag *tag)
{
	for (unsigned i = 0; i < ask->ntags; i++) {
		if (ask->tags[i].instance == tag->instance &&
		    ask->tags[i].generation == tag->generation)
			return true;
	}
	return false;
}

/* The delta from the newest generation that the asker has, if any, in the
 * smallest form that it takes; or else the full digest. */
static struct digest_answer digest_answer_body(const struct digest_ask *ask,
					       const struct publication *p)
{
	for (unsigned i = 0; i < p->ndeltas; i++) {
		const struct publication_delta *delta = &p->deltas[i];
		const struct digest_tag base = {p->instance, delta->from};
		struct blob *blob = publication_smallest(delta, ask->takes);

		if (!blob || !digest_ask_has(ask, &base))
			continue;
		return (struct digest_answer){
			.kind = DIGEST_ANSWER_DELTA,
			.from = delta->from,
			.conditional = blob == delta->conditional,
			.blob = blob,
		};
	}
	return (struct digest_answer){.kind = DIGEST_ANSWER_FULL,
				      .blob = p->full};
}

struct digest_answer digest_answer_to(const struct digest_ask *ask,
				      const struct publication *p,
				      int64_t max_wait_s)
{
	struct digest_tag tag;

	if (!p)
		return (struct digest_answer){.kind = DIGEST_ANSWER_NONE};
	tag = (struct digest_tag){p->instance, p->generation};
	if (!digest_ask_has(ask, &tag))
		return digest_answer_body(ask, p);
	if (ask->wait_s <= 0 || max_wait_s <= 0)
		return (struct digest_answer){.kind = DIGEST_ANSWER_UNCHANGED};
	return (struct digest_answer){
		.kind = DIGEST_ANSWER_WAIT,
		.wait_s = ask->wait_s < max_wait_s ? ask->wait_s : max_wait_s,
	};
}
