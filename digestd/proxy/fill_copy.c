/*
 * Copies: objects that this node takes over from a peer, for its store alone,
 * as the peer is about to end, or as this node has just begun. The peer is
 * asked as it is for a client, whether it may be asked for those or not, and
 * its answer is judged in the same way; but it is kept whatever placement and
 * admission say of what clients ask for.
 *
 * Requests for the same join it, as they do any fill.
 */

#include "digestd/proxy/fill.h"
#include "digestd/proxy/shared.h"

enum { FILL_COPY_MS = 5000 }; /* to begin its answer: nobody waits for it */

static void fill_copy_done(struct peer_copy *copy)
{
	loop_post(copy->loop, &copy->done);
}

void fill_copy_end(struct fill *f)
{
	struct peer_copy *copy = f->copy;

	if (!copy)
		return;
	f->copy = NULL;
	copy->stored = f->kept;
	copy->bytes = f->stored ? f->stored->body_len : 0;
	fill_copy_done(copy);
}

static const struct peerset_peer *fill_copy_find(const struct peerset *view,
						 uint32_t id)
{
	for (size_t i = 0; view && i < peerset_count(view); i++) {
		if (peerset_at(view, i)->id == id)
			return peerset_at(view, i);
	}
	return NULL;
}

/* Whether the store has it; if not, *lead is its collapse, or null where
 * somebody fetches the same, or another variant. */
static bool fill_copy_is_here(struct worker *w, const struct question *q,
			      const struct peer_copy *copy,
			      struct collapse **lead)
{
	const struct shared_want want = {
		.key = &q->key,
		.uri = q->target.uri,
		.request = &copy->fields,
		.joins = true,
	};
	struct shared_found found;
	enum shared_place place;

	if (cache_has(w->shared.cache, &q->key, &copy->fields))
		return true;
	place = shared_find(&w->shared, &want, &found);
	cache_found_release(&found.stored);
	*lead = found.lead;
	return place == SHARED_STORED;
}

static void fill_copy_ask(struct fill *f, struct peer_copy *copy,
			  const struct peerset_peer *peer)
{
	f->copy = copy;
	f->node.purpose = NODE_FOR_COPY;
	f->past_peers = true;
	f->view = peerset_ref(f->worker->view);
	f->peer = peer;
	f->weighed = true; /* its holder has found it worth a place */
	f->worth = ADMISSION_DISK;
	if (fill_ask_peer(f, FILL_COPY_MS)) {
		fill_end_collapse(f);
		fill_free_if_over(f);
	}
}

static void fill_copy_begin(void *arg)
{
	struct peer_copy *copy = arg;
	struct worker *w = copy->worker;
	const struct peerset_peer *peer = fill_copy_find(w->view, copy->peer);
	struct question *q = peer ? question_of_uri(w->settings, copy->uri,
						    &copy->fields)
				  : NULL;
	struct shared_landing nothing = { 0 };
	struct collapse *lead = NULL;
	struct fill *f = NULL;

	if (q && cache_has_caught_up(w->shared.cache) &&
	    !fill_copy_is_here(w, q, copy, &lead)) {
		f = fill_new(w, q, &copy->fields);
		nothing.lead = &lead;
		if (f)
			f->collapse = lead;
		else
			shared_land(&w->shared, &nothing);
	}
	question_unref(&q);
	if (f)
		fill_copy_ask(f, copy, peer);
	else
		fill_copy_done(copy);
}

void worker_copy(struct worker *worker, struct peer_copy *copy)
{
	copy->worker = worker;
	copy->start = (struct loop_call){ .run = fill_copy_begin, .arg = copy };
	loop_post(worker->loop, &copy->start);
}
