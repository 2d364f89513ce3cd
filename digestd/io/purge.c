/*
 * Purging: one key at once, or a walk over all parts of the store.
 */
#include "digestd/io/purge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/uri.h"
#include "digestd/core/fields.h"
#include "digestd/core/tags.h"
#include "digestd/core/target.h"
#include "digestd/io/cache.h"
#include "digestd/io/log.h"
#include "digestd/io/loop.h"

/* A walk under way. */
struct purge {
	struct purger *purger;
	struct exchange *x;   /* null: its client has left */
	char *prefix;         /* canonical; null: by tag */
	struct fields tags;
	struct keypart part;  /* the next */
	size_t purged;
	struct loop_call step;
	struct purge *next, **link;
};

static void answer(struct exchange *x, size_t purged)
{
	char text[64];
	struct fields f;
	int len = snprintf(text, sizeof(text), "{\"purged\": %zu}\n", purged);

	log_write(LOG_INFO, "purge", "%zu objects", purged);
	if (!x)
		return;
	fields_init(&f);
	if (fields_add(&f, "Content-Type", "application/json") ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, 200, &f, text, (size_t)len);
	fields_free(&f);
}

static void purge_free(struct purge *p)
{
	loop_undefer(p->purger->loop, &p->step);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	if (p->x)
		exchange_set_data(p->x, NULL);
	fields_free(&p->tags);
	free(p->prefix);
	free(p);
}

static bool is_meant(void *arg, const struct cached *c)
{
	const struct purge *p = arg;

	if (!p->prefix)
		return tags_match(&c->fields, &p->tags, "Purge-Tag");
	return !strncmp(c->uri, p->prefix, strlen(p->prefix));
}

static void step(void *arg)
{
	struct purge *p = arg;

	p->purged += cache_purge_part(p->purger->cache, &p->part, is_meant, p);
	if (++p->part.number < p->part.count) {
		loop_defer(p->purger->loop, &p->step);
		return;
	}
	answer(p->x, p->purged);
	purge_free(p);
}

static struct purge *purge_new(struct purger *purger, struct exchange *x)
{
	struct purge *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->purger = purger;
	p->x = x;
	p->step = (struct loop_call){ .run = step, .arg = p };
	fields_init(&p->tags);
	p->next = purger->walks;
	p->link = &purger->walks;
	if (p->next)
		p->next->link = &p->next;
	purger->walks = p;
	exchange_set_data(x, p);
	return p;
}

static int set_prefix(struct purge *p, const char *prefix)
{
	size_t len = strlen(prefix);

	p->prefix = malloc(len + 2);
	if (!p->prefix)
		return -ENOMEM;
	return scd_uri_canonical(prefix, len, p->prefix, len + 2, NULL) ?
		       -EINVAL : 0;
}

static void begin_walk(struct purger *purger, struct exchange *x,
		       const char *prefix)
{
	const struct fields *fields = exchange_request(x)->fields;
	struct purge *p = purge_new(purger, x);
	int err = -ENOMEM;

	if (p)
		err = prefix ? set_prefix(p, prefix) :
			       fields_copy(fields, &p->tags);
	if (err) {
		if (p)
			purge_free(p);
		exchange_reply_error(x, err == -EINVAL ? 400 : 503, NULL);
		return;
	}
	cache_purge_begin(purger->cache);
	p->part.count = cache_parts(purger->cache);
	loop_defer(purger->loop, &p->step);
}

static void purge_target(struct purger *purger, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	struct scd_key key;
	struct target t;
	int err = target_resolve(&t, r->target, r->target_len,
				 fields_get(r->fields, "Host"));

	if (err) {
		exchange_reply_error(x, err == -EINVAL ? 400 : 503, NULL);
		return;
	}
	scd_key_make(purger->secret, "GET", t.uri, t.uri_len, &key);
	target_free(&t);
	cache_purge_begin(purger->cache);
	answer(x, cache_drop(purger->cache, &key));
}

void purge_serve(struct purger *purger, struct exchange *x)
{
	const struct fields *fields = exchange_request(x)->fields;
	const char *prefix = fields_get(fields, "Purge-Prefix");

	if (prefix || fields_get(fields, "Purge-Tag"))
		begin_walk(purger, x, prefix);
	else
		purge_target(purger, x);
}

void purge_leave(struct exchange *x)
{
	struct purge *p = exchange_data(x);

	if (p)
		p->x = NULL;
}

void purger_stop(struct purger *purger)
{
	while (purger->walks)
		purge_free(purger->walks);
}
