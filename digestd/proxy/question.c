/*
 * What a request and its fill have in common.
 */
#include "digestd/proxy/question.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/proxy/worker_inside.h"

struct question *question_new(struct worker_settings *settings,
			      const char *method)
{
	struct question *q = malloc(sizeof(*q));

	assert(settings && method);
	if (q)
		*q = (struct question){
			.users = 1,
			.settings = worker_settings_ref(settings),
			.method = method,
			.get = !strcmp(method, "GET"),
			.head = !strcmp(method, "HEAD"),
		};
	return q;
}

struct question *question_get(const struct question *q)
{
	struct question *get = question_new(q->settings, "GET");

	if (!get)
		return NULL;
	get->key = q->key;
	get->cc = q->cc;
	get->site = q->site;
	get->upstream = q->upstream;
	get->forward = q->forward;
	get->cacheable = true;
	if (target_resolve(&get->target, q->target.uri, q->target.uri_len,
			   NULL))
		question_unref(&get);
	return get;
}

const struct worker_origin *
question_find_site(const struct worker_settings *set, const struct target *t)
{
	for (size_t i = 0; i < set->norigins; i++) {
		const char *name = set->origins[i].host;

		if (strlen(name) == t->host_len &&
		    !strncmp(name, t->host, t->host_len))
			return &set->origins[i];
	}
	return NULL;
}

/* The base URL of where a request goes; null: it is its target. */
static const char *question_upstream(const struct question *q,
				     enum node_way way)
{
	switch (way) {
	case NODE_WAY_SITE:
		return q->site->url;
	case NODE_WAY_DEFAULT:
		return q->settings->default_origin;
	case NODE_WAY_NONE:
	case NODE_WAY_TARGET:
		break;
	}
	return NULL;
}

void question_take_way(struct question *q, enum node_way way)
{
	q->upstream = question_upstream(q, way);
	q->forward = way == NODE_WAY_TARGET;
}

struct question *question_of_uri(struct worker_settings *settings,
				 const char *uri, const struct fields *fields)
{
	struct question *q = question_new(settings, "GET");
	struct node_door door = {
		.node = settings->node,
		.forward = settings->forward,
		.has_default = settings->default_origin,
		.get = true,
		.fields = fields,
		.has_host = true,
	};
	struct node_entry entry;

	if (!q || target_resolve(&q->target, uri, strlen(uri), NULL)) {
		question_unref(&q);
		return NULL;
	}
	q->site = question_find_site(settings, &q->target);
	door.site = q->site;
	door.target = &q->target;
	entry = node_door_enter(&door);
	if (entry.action != NODE_DOOR_ENTER || !entry.cacheable) {
		question_unref(&q);
		return NULL;
	}
	question_take_way(q, entry.way);
	q->cacheable = true;
	scd_key_make(settings->hash_secret, "GET", q->target.uri,
		     q->target.uri_len, &q->key);
	cachecontrol_request(fields, &q->cc);
	return q;
}

struct question *question_ref(struct question *q)
{
	assert(q->users);
	q->users++;
	return q;
}

void question_unref(struct question **q)
{
	struct question *gone = *q;

	assert(!gone || gone->users);
	*q = NULL;
	if (!gone || --gone->users)
		return;
	target_free(&gone->target);
	worker_settings_unref(gone->settings);
	free(gone);
}

bool question_is_method(const struct question *q, const char *name)
{
	return !strcmp(q->method, name);
}

const char *question_acts_for_origin(const struct question *q)
{
	return q->forward ? NULL : q->settings->node;
}

enum set_cookie question_set_cookie(const struct question *q)
{
	return q->site ? q->site->set_cookie : q->settings->set_cookie;
}

char *question_slice(const struct question *q, const struct slices *s,
		     uint64_t number, struct scd_key *key)
{
	char *name = malloc(q->target.uri_len + SLICES_NAME);

	if (!name)
		return NULL;
	memcpy(name, q->target.uri, q->target.uri_len);
	slices_name(s, number, name + q->target.uri_len);
	scd_key_make(q->settings->hash_secret, "GET", name, strlen(name), key);
	return name;
}

bool question_slice_key(const struct question *q, const struct slices *s,
			uint64_t number, struct scd_key *key)
{
	char *name = question_slice(q, s, number, key);
	bool made = name;

	free(name);
	return made;
}

bool question_is_ranged(struct question *q, const struct fields *fields)
{
	if (q->ranged == QUESTION_UNKNOWN)
		q->ranged = fields_get(fields, "Range") ? QUESTION_RANGED
							: QUESTION_WHOLE;
	return q->ranged == QUESTION_RANGED;
}

struct node_ask question_ask(struct question *q, const struct fields *fields)
{
	return (struct node_ask){
		.request = fields,
		.cc = &q->cc,
		.get = q->get,
		.cacheable = q->cacheable,
		.ranged = question_is_ranged(q, fields),
		.slice_bytes = q->settings->slice_bytes,
	};
}

void question_read_response(const struct question *q, unsigned status,
			    const struct fields *fields,
			    struct response_facts *facts)
{
	response_facts_read(facts, status, fields, question_acts_for_origin(q));
	facts->set_cookie = question_set_cookie(q);
}
