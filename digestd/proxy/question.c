/*
 * What a request and its fill have in common.
 */
#include "digestd/proxy/question.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/request_normal.h"
#include "digestd/proxy/worker_inside.h"

/* Where there is no site. */
static const struct policy question_no_policy;

/* Without a call: nearly all methods are GET. */
static bool question_is_get(const char *method)
{
	return method[0] == 'G' && method[1] == 'E' && method[2] == 'T' &&
	       !method[3];
}

struct question *question_new(struct worker_settings *settings,
			      const char *method)
{
	struct question *q = settings->spare ? settings->spare :
					       malloc(sizeof(*q));

	assert(method);
	if (!q)
		return NULL;
	settings->spare = NULL;
	/* all but the room that the target may take */
	memset(q, 0, offsetof(struct question, target.room));
	q->users = 1;
	q->settings = worker_settings_ref(settings);
	q->policy = &question_no_policy;
	q->method = method;
	q->get = question_is_get(method);
	if (!q->get) { /* else two comparisons are saved */
		q->head = !strcmp(method, "HEAD");
		q->options = !strcmp(method, "OPTIONS");
	}
	q->safe = q->get || q->head || q->options;
	return q;
}

struct question *question_get(const struct question *q)
{
	struct question *get = question_new(q->settings, "GET");

	if (!get)
		return NULL;
	get->key = q->key;
	get->cc = q->cc;
	get->upstream = q->upstream;
	get->origins = q->origins;
	get->forward = q->forward;
	get->cacheable = true;
	if (target_resolve(&get->target, q->target.uri, q->target.uri_len,
			   NULL) ||
	    question_find_site(get))
		question_unref(&get);
	return get;
}

/* Sites */

static const struct worker_origin *
question_origin_of(const struct worker_settings *set, const char *host,
		   size_t len)
{
	for (size_t i = 0; i < set->norigins; i++) {
		const char *name = set->origins[i].host;

		if (strlen(name) == len && !strncmp(name, host, len))
			return &set->origins[i];
	}
	return NULL;
}

int question_stored_key(const struct question *q, const char *uri,
			struct scd_key *key)
{
	size_t len;
	char *stored;
	int err = 0;

	if (uri == q->target.uri && !q->rules) { /* only saves time */
		*key = q->key;
		return 0;
	}
	len = strlen(uri);
	stored = q->rules ? strdup(uri) : NULL;
	if (q->rules)
		err = stored ? site_normalise(q->rules, stored, &len) : -ENOMEM;
	if (!err)
		scd_key_make(q->settings->hash_secret, "GET",
			     stored ? stored : uri, len, key);
	free(stored);
	return err;
}

bool question_has_stored_key(const struct question *q)
{
	struct scd_key key;

	return !question_passes(q) &&
	       !question_stored_key(q, q->target.uri, &key) &&
	       key.lo == q->key.lo && key.hi == q->key.hi;
}

/* Makes what counts for its path. 0 or -ENOMEM. */
static int question_find_policy(struct question *q)
{
	static const struct site_answer none = { 0 };

	if (q->rules->nrules == 1) {
		q->policy = &q->rules->rules[0].policy;
		return 0;
	}
	q->own_policy = malloc(sizeof(*q->own_policy));
	if (!q->own_policy)
		return -ENOMEM;
	site_policy(q->rules, q->target.path, &none, q->own_policy);
	q->policy = q->own_policy;
	return 0;
}

int question_find_site(struct question *q)
{
	const struct target *t = &q->target;

	q->site = question_origin_of(q->settings, t->host, t->host_len);
	if (q->settings->sites)
		q->rules = sites_find(q->settings->sites, t->host, t->host_len);
	if (!q->rules)
		return 0;
	if (!q->site && q->rules->origin)
		q->site = question_origin_of(q->settings, q->rules->names[0],
					     strlen(q->rules->names[0]));
	if (question_find_policy(q))
		return -ENOMEM;
	return (q->get || q->head) && !question_passes(q) ?
		       policy_normalise(q->policy, q->target.uri,
					&q->target.uri_len) : 0;
}

bool question_normalises_fields(const struct question *q)
{
	return (policy_has(q->policy, POLICY_encodings) &&
		q->policy->encodings) || policy_has(q->policy, POLICY_cookies);
}

int question_normalise_fields(const struct question *q, struct fields *request)
{
	const struct policy *p = q->policy;
	int err = 0;

	if (policy_has(p, POLICY_encodings) && p->encodings)
		err = request_normal_encodings(request);
	if (!err && policy_has(p, POLICY_cookies))
		err = request_normal_cookies(request, p->cookies);
	return err;
}

static enum client_no_cache question_no_cache(const struct question *q)
{
	if (policy_has(q->policy, POLICY_client_no_cache))
		return q->policy->client_no_cache;
	return q->rules ? NO_CACHE_VALIDATE : NO_CACHE_OBEY;
}

void question_read_wishes(struct question *q, const struct fields *fields)
{
	struct cachecontrol *cc = &q->cc;
	enum client_no_cache mode = question_no_cache(q);

	cachecontrol_request(fields, cc);
	if (mode == NO_CACHE_OBEY)
		return;
	q->rechecks = mode == NO_CACHE_VALIDATE &&
		      (cc->no_cache || cc->max_age == 0);
	cc->no_cache = false;
	if (mode == NO_CACHE_IGNORE)
		cc->min_fresh = CACHECONTROL_NONE;
	if (mode == NO_CACHE_IGNORE || cc->max_age == 0)
		cc->max_age = CACHECONTROL_NONE;
}

const struct policy *question_answer_policy(const struct question *q,
					    unsigned status,
					    const struct fields *fields,
					    struct policy *room)
{
	struct site_answer answer = { .status = status };

	if (!q->rules)
		return NULL;
	answer.type = fields_get(fields, "Content-Type");
	site_policy(q->rules, q->target.path, &answer, room);
	return room;
}

unsigned question_stale_wait_ms(const struct question *q)
{
	return policy_has(q->policy, POLICY_stale_wait_ms) ?
		       (unsigned)q->policy->stale_wait_ms :
		       q->settings->stale_wait_ms;
}

uint64_t question_max_bytes(const struct question *q, const struct policy *p)
{
	return p && policy_has(p, POLICY_max_object_bytes) ?
		       (uint64_t)p->max_object_bytes :
		       q->settings->max_object_bytes;
}

/* Calls for each line of a text; stops at an error. */
static int question_each_line(const char *text, struct fields *fields,
			      int (*act)(struct fields *fields, char *line))
{
	char *copy = strdup(text), *rest = copy, *line;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (line = strsep(&rest, "\n")))
		err = act(fields, line);
	free(copy);
	return err;
}

static int question_drop_field(struct fields *fields, char *name)
{
	fields_remove(fields, name);
	return 0;
}

/* "Name: value", which has been checked. */
static int question_set_field(struct fields *fields, char *line)
{
	char *value = strchr(line, ':');

	assert(value);
	*value++ = '\0';
	return fields_set(fields, line, value + strspn(value, " \t"));
}

int question_edit_response(const struct question *q, unsigned status,
			   struct fields *fields)
{
	struct policy room;
	const struct policy *p = question_answer_policy(q, status, fields,
							&room);
	int err = 0;

	if (p && policy_has(p, POLICY_field_drop))
		err = question_each_line(p->field_drop, fields,
					 question_drop_field);
	if (p && !err && policy_has(p, POLICY_field_set))
		err = question_each_line(p->field_set, fields,
					 question_set_field);
	return err;
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
	if (way == NODE_WAY_SITE)
		q->origins = q->site->origins;
	else if (way == NODE_WAY_DEFAULT)
		q->origins = q->settings->default_origins;
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
	if (question_find_site(q)) {
		question_unref(&q);
		return NULL;
	}
	door.site = q->site;
	door.target = &q->target;
	entry = node_door_enter(&door);
	if (entry.action != NODE_DOOR_ENTER || !entry.cacheable ||
	    question_passes(q)) {
		question_unref(&q);
		return NULL;
	}
	question_take_way(q, entry.way);
	q->cacheable = true;
	scd_key_make(settings->hash_secret, "GET", q->target.uri,
		     q->target.uri_len, &q->key);
	question_read_wishes(q, fields);
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
	struct worker_settings *settings;

	assert(!gone || gone->users);
	*q = NULL;
	if (!gone || --gone->users)
		return;
	target_free(&gone->target);
	if (gone->own_policy) /* only saves the call */
		free(gone->own_policy);
	settings = gone->settings;
	if (settings->spare)
		free(gone);
	else
		settings->spare = gone;
	worker_settings_unref(settings);
}

bool question_is_method(const struct question *q, const char *name)
{
	return !strcmp(q->method, name);
}

const char *question_acts_for_origin(const struct question *q)
{
	return q->forward ? NULL : q->settings->node;
}

bool question_passes(const struct question *q)
{
	return policy_has(q->policy, POLICY_pass) && q->policy->pass;
}

static enum set_cookie question_cookie_of(const struct question *q,
					  const struct policy *p)
{
	if (p && policy_has(p, POLICY_set_cookie))
		return p->set_cookie;
	return q->site ? q->site->set_cookie : q->settings->set_cookie;
}

enum set_cookie question_set_cookie(const struct question *q, unsigned status,
				    const struct fields *fields)
{
	struct policy room;

	return question_cookie_of(q, question_answer_policy(q, status, fields,
							    &room));
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
	struct policy room;
	const struct policy *p = question_answer_policy(q, status, fields,
							&room);

	response_facts_read(facts, status, fields, question_acts_for_origin(q));
	facts->set_cookie = question_cookie_of(q, p);
	if (p)
		facts->rules = policy_freshness(p);
}
