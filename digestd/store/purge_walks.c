/*
 * Walks: a list, the newest first.
 */
#include "digestd/store/purge_walks.h"

#include <assert.h>
#include <stdlib.h>

#include "digestd/http/purge_scope.h"

static void purge_walks_note(struct purge_walk *latest,
			     const struct purge_walk *w)
{
	if (latest->begun_s < w->begun_s)
		latest->begun_s = w->begun_s;
	if (latest->ended_s < w->ended_s)
		latest->ended_s = w->ended_s;
	if (latest->ended < w->ended)
		latest->ended = w->ended;
}

static void purge_walks_forget(struct purge_walks *walks,
			       struct purge_walk **link)
{
	struct purge_walk *w = *link;

	*link = w->next;
	walks->nended -= w->ended != 0;
	purge_walks_note(&walks->forgotten, w);
	purge_scope_free(&w->scope);
	free(w);
}

static struct purge_walk **purge_walks_first_ended(struct purge_walks *walks)
{
	struct purge_walk **first = NULL;

	for (struct purge_walk **at = &walks->newest; *at; at = &(*at)->next) {
		if ((*at)->ended && (!first || (*at)->ended < (*first)->ended))
			first = at;
	}
	return first;
}

struct purge_walk *purge_walks_begin(struct purge_walks *walks,
				     struct purge_scope *scope, int64_t now_s)
{
	struct purge_walk *w = malloc(sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct purge_walk){
		.scope = scope,
		.begun_s = now_s,
		.next = walks->newest,
	};
	walks->newest = w;
	return w;
}

void purge_walks_end(struct purge_walks *walks, struct purge_walk *walk,
		     uint64_t stamp, int64_t now_s)
{
	struct purge_walk **first;

	assert(!walk->ended && stamp);
	walk->ended = stamp;
	walk->ended_s = now_s;
	walks->nended++;
	while ((first = purge_walks_first_ended(walks)) &&
	       (walks->nended > PURGE_WALKS_KEPT ||
		(*first)->ended_s + PURGE_WALKS_KEPT_S < now_s))
		purge_walks_forget(walks, first);
}

void purge_walks_free(struct purge_walks *walks)
{
	while (walks->newest)
		purge_walks_forget(walks, &walks->newest);
}

static bool purge_walks_is_since(const struct purge_walk *w, uint64_t stamp)
{
	return !w->ended || w->ended > stamp;
}

bool purge_walks_since(const struct purge_walks *walks, uint64_t stamp)
{
	const struct purge_walk *w = walks->newest;

	while (w && !purge_walks_is_since(w, stamp))
		w = w->next;
	return w || walks->forgotten.ended > stamp;
}

bool purge_walks_meet(const struct purge_walks *walks, uint64_t stamp,
		      const char *uri, const struct fields *fields)
{
	const struct purge_walk *w = walks->newest;

	while (w && !(purge_walks_is_since(w, stamp) &&
		      purge_scope_has(w->scope, uri, fields)))
		w = w->next;
	return w || walks->forgotten.ended > stamp;
}

static bool purge_walks_is_over(const struct purge_walk *w, int64_t now_s)
{
	return w->ended && w->ended_s + PURGE_WALKS_KEPT_S < now_s;
}

static bool purge_walks_is_older(const struct purge_walk *w,
				 const struct purge_walks_copy *copy,
				 int64_t now_s)
{
	return !purge_walks_is_over(w, now_s) &&
	       copy->born_s <= w->begun_s + 1;
}

bool purge_walks_meet_copy(const struct purge_walks *walks,
			   const struct purge_walks_copy *copy, int64_t now_s)
{
	const struct purge_walk *w = walks->newest;

	while (w && !(purge_walks_is_older(w, copy, now_s) &&
		      purge_scope_has(w->scope, copy->uri, copy->fields)))
		w = w->next;
	return w || (walks->forgotten.ended &&
		     purge_walks_is_older(&walks->forgotten, copy, now_s));
}
