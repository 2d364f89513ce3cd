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
		    ask->tags[i].generation == tag->generation &&
		    ask->tags[i].list == tag->list)
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
		const struct digest_tag base = {p->instance, delta->from,
						false};
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

/* The first of the steps that the asker needs; nsteps: there is none. */
static size_t digest_answer_step(const struct digest_ask *ask,
				 const struct publication *p)
{
	const size_t none = p->list->nsteps;
	size_t newest = none;

	for (unsigned i = 0; i < ask->ntags; i++) {
		const struct digest_tag *tag = &ask->tags[i];
		size_t step = none;

		if (tag->list && tag->instance == p->instance)
			step = list_publication_find(p->list, tag->generation);
		if (step != none && (newest == none || step > newest))
			newest = step;
	}
	return newest;
}

/* The frames from the newest generation that the asker has; or the full digest,
 * if there are none, or if it is smaller with those that follow it. */
static struct digest_answer digest_answer_list(const struct digest_ask *ask,
					       const struct publication *p)
{
	const struct list_publication *list = p->list;
	const size_t step = ask->takes_frames ? digest_answer_step(ask, p)
					      : list->nsteps;
	const size_t after = list_publication_find(list, list->full_generation);

	if (step == list->nsteps ||
	    (step < after && /* only saves time */
	     list_publication_bytes(list, step) >
		     list->full->len + list_publication_bytes(list, after)))
		return (struct digest_answer){.kind = DIGEST_ANSWER_FULL,
					      .list = true,
					      .blob = list->full};
	return (struct digest_answer){.kind = DIGEST_ANSWER_DELTA,
				      .list = true,
				      .from = list->steps[step].from,
				      .step = step,
				      .aged = ask->takes_aged};
}

/* Whether somebody wants ages and has the generation that they are of. */
static bool digest_answer_has_ages(const struct digest_ask *ask,
				   const struct publication *p)
{
	const struct digest_tag tag = {p->instance, p->list->full_generation,
				       true};

	return ask->takes_ages && ask->takes_frames && p->list->ages &&
	       digest_ask_has(ask, &tag);
}

/* The ages of the full digest, and the frames from there. */
static struct digest_answer digest_answer_ages(const struct publication *p)
{
	const uint64_t from = p->list->full_generation;

	return (struct digest_answer){
		.kind = DIGEST_ANSWER_DELTA,
		.list = true,
		.from = from,
		.step = list_publication_find(p->list, from),
		.aged = true,
		.ages = true,
	};
}

struct blob *digest_answer_frames(const struct digest_answer *answer,
				  const struct publication *p)
{
	if (!answer->aged)
		return list_publication_frames(p->list, answer->step);
	return list_publication_aged_frames(p->list, answer->step,
					    answer->ages);
}

static struct digest_answer digest_answer_wait(bool list, int64_t wait_s,
					       int64_t max_wait_s)
{
	return (struct digest_answer){
		.kind = DIGEST_ANSWER_WAIT,
		.list = list,
		.wait_s = wait_s < max_wait_s ? wait_s : max_wait_s,
	};
}

struct digest_answer digest_answer_to(const struct digest_ask *ask,
				      const struct publication *p,
				      int64_t max_wait_s)
{
	struct digest_tag tag;
	bool list;

	if (!p)
		return (struct digest_answer){.kind = DIGEST_ANSWER_NONE};
	list = ask->takes_lists && p->list;
	if (!list && !p->full && max_wait_s <= 0)
		return (struct digest_answer){.kind = DIGEST_ANSWER_NO_ARRAY};
	if (!list && !p->full)
		return digest_answer_wait(list, DIGEST_ARRAY_WAIT_S,
					  max_wait_s);
	if (list && digest_answer_has_ages(ask, p))
		return digest_answer_ages(p);
	tag = (struct digest_tag){p->instance, p->generation, list};
	if (!digest_ask_has(ask, &tag))
		return list ? digest_answer_list(ask, p)
			    : digest_answer_body(ask, p);
	if (ask->wait_s <= 0 || max_wait_s <= 0)
		return (struct digest_answer){.kind = DIGEST_ANSWER_UNCHANGED,
					      .list = list};
	return digest_answer_wait(list, ask->wait_s, max_wait_s);
}
