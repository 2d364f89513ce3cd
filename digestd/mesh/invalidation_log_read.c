/*
 * What the log says: which entries are of a subject, what peers must have
 * applied, and what is told to them.
 */
#include <assert.h>
#include <string.h>

#include "digestd/http/tags.h"
#include "digestd/mesh/invalidation_log_inside.h"

/* Questions */

/* Who is asked of each entry that is of a subject. */
struct log_visit {
	const struct invalidation_log *log;
	void (*meet)(struct log_visit *v, const struct log_entry *e);
	struct invalidation_newest newest;
	uint64_t from, to;
	bool met;
	struct invalidation_position *need;
	size_t nneed;
	bool holds_floors;
};

static void mesh_log_visit_hash(struct log_visit *v,
				const struct invalidation *of)
{
	uint32_t i = *mesh_log_list(v->log, &of->hash);

	for (; i != log_none; i = v->log->entries[i].next) {
		if (mesh_log_is_of(&v->log->entries[i], of))
			v->meet(v, &v->log->entries[i]);
	}
}

static void mesh_log_visit_prefixes(struct log_visit *v, const char *uri)
{
	const struct invalidation_log *log = v->log;
	const char *text = invalidation_behind_scheme(uri);
	size_t len = strnlen(text, INVALIDATION_PREFIX_MAX);

	for (size_t i = 0; i < log->nlens && log->lens[i] <= len; i++) {
		const struct invalidation of = {
			invalidation_hash_prefix(log->secret, text,
						 log->lens[i]),
			log->lens[i], INVALIDATION_PREFIX};

		mesh_log_visit_hash(v, &of);
	}
}

static void mesh_log_visit_tags(struct log_visit *v,
				const struct fields *fields)
{
	struct tags_cursor cursor = {0};
	struct field_part tag;

	while (v->log->ntags && tags_next(fields, &cursor, &tag)) {
		const struct invalidation of =
			invalidation_of_tag(v->log->secret, tag);

		mesh_log_visit_hash(v, &of);
	}
}

static void mesh_log_visit_all(struct log_visit *v,
			       const struct invalidation_subject *subject)
{
	const struct invalidation of = invalidation_of_key(subject->key);

	if (!v->log->nlive)
		return;
	mesh_log_visit_hash(v, &of);
	if (v->log->nlens && subject->uri)
		mesh_log_visit_prefixes(v, subject->uri);
	if (subject->fields)
		mesh_log_visit_tags(v, subject->fields);
}

static void mesh_log_meet_newest(struct log_visit *v, const struct log_entry *e)
{
	mesh_log_raise_newest(&v->newest, e);
}

/* The later of each. */
static void mesh_log_join_newest(struct invalidation_newest *to,
				 const struct invalidation_newest *other)
{
	mesh_log_raise(&to->added, other->added);
	mesh_log_raise(&to->settled, other->settled);
	mesh_log_raise_s(&to->at_s, other->at_s);
	to->local |= other->local;
	mesh_log_raise_s(&to->local_at_s, other->local_at_s);
}

struct invalidation_newest
invalidation_log_newest(const struct invalidation_log *log,
			const struct invalidation_subject *subject)
{
	struct log_visit v = {.log = log, .meet = mesh_log_meet_newest};

	v.newest = log->all;
	if (!subject->fields)
		mesh_log_join_newest(&v.newest, &log->tag);
	if (!subject->uri)
		mesh_log_join_newest(&v.newest, &log->prefix);
	mesh_log_visit_all(&v, subject);
	return v.newest;
}

static void mesh_log_meet_counts(struct log_visit *v, const struct log_entry *e)
{
	v->met |= e->added >= v->from && e->added <= v->to;
}

bool invalidation_log_meets(const struct invalidation_log *log,
			    const struct invalidation_subject *subject,
			    uint64_t first, uint64_t last)
{
	struct log_visit v = {.log = log, .meet = mesh_log_meet_counts};

	assert(subject->fields && subject->uri);
	v.from = first;
	v.to = last;
	mesh_log_visit_all(&v, subject);
	/* an entry that was lost meanwhile could be of anything */
	return v.met || (log->all.added >= first && log->all.added <= last);
}

bool invalidation_log_has_tags(const struct invalidation_log *log)
{
	return log->ntags;
}

/* What peers need */

static void mesh_log_need(struct log_visit *v, const struct log_source *s,
			  uint64_t seq)
{
	size_t i = 0;

	if (seq <= (v->holds_floors ? 0 : s->is.floor))
		return;
	while (i < v->nneed && i < INVALIDATION_NEED_MAX &&
	       v->need[i].source != s->is.source)
		i++;
	if (i == INVALIDATION_NEED_MAX) {
		v->nneed = INVALIDATION_NEED_MAX + 1;
		return;
	}
	if (i == v->nneed)
		v->need[v->nneed++] =
			(struct invalidation_position){s->is.source, 0};
	mesh_log_raise(&v->need[i].seq, seq);
}

static void mesh_log_meet_need(struct log_visit *v, const struct log_entry *e)
{
	if (e->source != LOG_NOWHERE)
		mesh_log_need(v, &v->log->sources[e->source], e->seq);
}

static size_t mesh_log_list_need(const struct invalidation_log *log,
				 const struct invalidation_subject *subject,
				 struct invalidation_position *need,
				 bool holds_floors)
{
	struct log_visit v = {.log = log, .meet = mesh_log_meet_need};

	v.need = need;
	v.holds_floors = holds_floors;
	for (size_t i = 0; i < log->nsources; i++) {
		const struct log_source *s = &log->sources[i];

		mesh_log_need(&v, s, s->latest_all);
		mesh_log_need(&v, s, s->is.lost);
		if (!subject->fields)
			mesh_log_need(&v, s, s->latest_tag);
	}
	mesh_log_visit_all(&v, subject);
	return v.nneed;
}

size_t invalidation_log_need(const struct invalidation_log *log,
			     const struct invalidation_subject *subject,
			     struct invalidation_position *need)
{
	size_t n = mesh_log_list_need(log, subject, need, log->holds_floors);

	if (n > INVALIDATION_NEED_MAX && log->holds_floors)
		n = mesh_log_list_need(log, subject, need, false);
	return n;
}

/* What is told to others */

size_t invalidation_log_since(const struct invalidation_log *log,
			      const struct invalidation_position *behind,
			      struct invalidation_entry *out, size_t cap)
{
	size_t source = mesh_log_find_source(log, behind->source), n = 0;
	uint32_t i = source == LOG_NOWHERE ? 0 : log->n;

	for (; i; i--) {
		const struct log_entry *e =
			&log->entries[(log->first + i - 1) % log->max];

		if (e->source == source && e->seq <= behind->seq)
			break;
	}
	for (; source != LOG_NOWHERE && i < log->n && n < cap; i++) {
		const struct log_entry *e =
			&log->entries[(log->first + i) % log->max];

		if (e->source == source && e->next != log_dead)
			out[n++] = (struct invalidation_entry){
				{e->hash, e->len, e->kind}, e->seq};
	}
	return n;
}
