/*
 * A worker's own copy of its settings, and of the requests that began with it:
 * a reload does not reach a request that is under way.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/cachestatus.h"
#include "digestd/http/targeted.h"
#include "digestd/http/via.h"
#include "digestd/node/site.h"
#include "digestd/peers/upstream.h"
#include "digestd/proxy/worker_inside.h"
#include "digestd/server/reply_head.h"
#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"

/* `set` comes first: what others see is a pointer to it. */
struct settings_copy {
	struct worker_settings set;
	unsigned users; /* all in the worker's thread */
};

/* Replaces a borrowed string by a copy; false without memory. */
static bool worker_settings_own(const char **text)
{
	if (!*text)
		return true;
	*text = strdup(*text);
	return *text != NULL;
}

static void worker_settings_disown(const char *text)
{
	free((void *)(uintptr_t)text);
}

struct worker_settings *worker_settings_ref(struct worker_settings *s)
{
	assert(((struct settings_copy *)s)->users);
	((struct settings_copy *)s)->users++;
	return s;
}

void worker_settings_unref(struct worker_settings *s)
{
	if (!s || --((struct settings_copy *)s)->users)
		return;
	for (size_t i = 0; s->origins && i < s->norigins; i++) {
		worker_settings_disown(s->origins[i].host);
		worker_settings_disown(s->origins[i].url);
	}
	free((void *)(uintptr_t)s->origins);
	sites_unref(s->sites);
	worker_settings_disown(s->default_host);
	worker_settings_disown(s->hit_lines);
	fields_free(&s->marks);
	free(s->spare);
#define X(name, option, what) worker_settings_disown(s->name);
	WORKER_TEXTS(X)
#undef X
#define X(type, name, option, what) type##_unref(s->name);
	WORKER_TLS(X)
#undef X
	free(s);
}

static void worker_settings_own_tls(struct worker_settings *s)
{
#define X(type, name, option, what) \
	if (s->name) \
		type##_ref(s->name);
	WORKER_TLS(X)
#undef X
}

static bool worker_settings_own_origins(struct worker_settings *s)
{
	const struct worker_origin *from = s->origins;
	struct worker_origin *to = calloc(s->norigins + 1, sizeof(*to));
	bool ok = to != NULL;

	s->origins = to;
	for (size_t i = 0; ok && i < s->norigins; i++) {
		to[i].host = from[i].host;
		to[i].set_cookie = from[i].set_cookie;
		to[i].origins = from[i].origins;
		ok = worker_settings_own(&to[i].host);
		to[i].url = ok ? from[i].url : NULL;
		ok = ok && worker_settings_own(&to[i].url);
	}
	return ok;
}

/* The host that requests are for which name none. */
static bool worker_settings_name_host(struct worker_settings *s)
{
	const char *list = s->default_origin, *host;
	size_t len;

	s->default_host = NULL;
	if (!list)
		return true;
	len = upstream_next_url(&list);
	host = strstr(list, "://") + 3;
	s->default_host = strndup(host, len - (size_t)(host - list));
	return s->default_host;
}

/* What a hit says of this node, down to the number behind "ttl". */
static bool worker_settings_make_hit(struct worker_settings *s)
{
	const struct cachestatus hit = { .node = s->node,
					 .how = CACHESTATUS_HIT,
					 .ttl_s = CACHESTATUS_NO_TTL };
	struct reply_head lines = { 0 };
	struct fields f;

	fields_init(&f);
	if (via_append(&f, "1.1", s->node) || cachestatus_append(&f, &hit))
		lines.failed = true;
	reply_head_add_fields(&lines, &f);
	fields_free(&f);
	if (!lines.failed) {
		lines.len -= 2; /* the end of the line */
		reply_head_add_bytes(&lines, "; ttl=", 6);
	}
	s->hit_lines = lines.text;
	s->hit_lines_len = lines.len;
	return !lines.failed;
}

struct worker_settings *worker_settings_copy(const struct worker_settings *from)
{
	struct settings_copy *copy = malloc(sizeof(*copy));
	struct worker_settings *s;
	bool ok;

	if (!copy)
		return NULL;
	copy->users = 1;
	s = &copy->set;
	*s = *from;
	worker_settings_own_tls(s);
	sites_ref(s->sites);
	ok = worker_settings_own_origins(s);
	/* each is owned or null, whatever happened to those before it */
#define X(name, option, what) ok = worker_settings_own(&s->name) && ok;
	WORKER_TEXTS(X)
#undef X
	ok = worker_settings_name_host(s) && ok;
	s->hit_lines = NULL;
	s->spare = NULL;
	fields_init(&s->marks);
	ok = ok && worker_settings_make_hit(s) &&
	     !via_marks_make(&s->marks, s->node) &&
	     !targeted_announce(&s->marks, s->node);
	if (ok)
		return s;
	worker_settings_unref(s);
	return NULL;
}
