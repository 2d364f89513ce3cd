/*
 * Purging: one key at once, or a walk over all parts of the store; and the
 * peers, who do the same meanwhile. What comes when is digestd/mesh/purging.h.
 */
#include "digestd/peers/purge.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/http/fields.h"
#include "digestd/http/purge_scope.h"
#include "digestd/http/target.h"
#include "digestd/disk/disk.h"
#include "digestd/mesh/purging.h"
#include "digestd/os/address.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/purge_peers.h"

enum { SUBJECT_BYTES = 512 }; /* of a log line; what is longer is cut */

/* What peers give as the target of a purge by tags: there must be one. */
static const char tags_target[] = "http://all/";

/* A walk under way. */
struct purge {
	struct purger *purger;
	char subject[SUBJECT_BYTES];      /* what is purged, for the log */
	char asker[ADDRESS_TEXT_BYTES];   /* "": not known */
	struct exchange *x;      /* null: its client has left */
	struct purge_walk *walk; /* null: of one target, or it has ended */
	struct keypart part;     /* the next */
	struct purge_asks *asks; /* null: nobody was told */
	struct purging purging;
	struct loop_call step;
	struct disk_sync sync;
	struct purge *next, **link;
};

/* null: no memory */
static char *purge_answer_text(const struct purge *p)
{
	json_t *o = json_object();
	char *text;

	json_object_set_new(o, "purged",
			    json_integer((json_int_t)p->purging.purged));
	if (p->asks)
		json_object_set_new(o, "peers", purge_asks_json(p->asks));
	text = json_dumps(o, 0);
	json_decref(o);
	return text;
}

static void purge_answer(struct purge *p)
{
	struct exchange *x = p->x;
	char *text = purge_answer_text(p);
	struct fields f;

	exchange_set_data(x, NULL);
	p->x = NULL;
	fields_init(&f);
	if (!text || fields_add(&f, "Content-Type", "application/json") ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, 200, &f, text, strlen(text));
	fields_free(&f);
	free(text);
}

static void purge_end_walk(struct purge *p)
{
	if (p->walk)
		cache_purge_end(p->purger->cache, p->walk,
				loop_steady_s(p->purger->loop));
	p->walk = NULL;
}

static void purge_free(struct purge *p)
{
	loop_undefer(p->purger->loop, &p->step);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	if (p->x)
		exchange_set_data(p->x, NULL);
	purge_end_walk(p);
	purge_asks_free(&p->asks);
	free(p);
}

static void purge_act(struct purge *p, enum purging_action action);

static void purge_handle(struct purge *p, enum purging_event_kind kind,
			 size_t purged)
{
	const struct purging_event event = {kind, purged};

	purge_act(p, purging_step(&p->purging, &event));
}

static void purge_on_peer(void *arg)
{
	purge_handle(arg, PURGING_PEER, 0);
}

static void purge_on_synced(void *arg)
{
	purge_handle(arg, PURGING_SYNCED, 0);
}

static void purge_sync(struct purge *p)
{
	p->sync.loop = p->purger->loop;
	p->sync.call = (struct loop_call){.run = purge_on_synced, .arg = p};
	if (!cache_sync(p->purger->cache, &p->sync))
		purge_handle(p, PURGING_SYNCED, 0);
}

static void purge_end(struct purge *p)
{
	size_t n = p->purging.purged;

	log_write(LOG_INFO, "purge", "%s: %zu object%s removed%s%s", p->subject,
		  n, n == 1 ? "" : "s", *p->asker ? ", asked by " : "",
		  p->asker);
	purge_free(p);
}

static void purge_act(struct purge *p, enum purging_action action)
{
	switch (action) {
	case PURGING_WAIT:
		return;
	case PURGING_WALK:
		loop_defer(p->purger->loop, &p->step);
		return;
	case PURGING_SYNC:
		purge_sync(p);
		return;
	case PURGING_ANSWER:
		purge_answer(p);
		purge_end(p);
		return;
	case PURGING_END:
		purge_end(p);
		return;
	}
}

static void purge_walk(void *arg)
{
	struct purge *p = arg;
	size_t purged = cache_purge_part(p->purger->cache, p->walk, &p->part);
	bool last = ++p->part.number == p->part.count;

	if (last)
		purge_end_walk(p);
	purge_handle(p, last ? PURGING_LAST_PART : PURGING_PART, purged);
}

static struct purge *purge_new(struct purger *purger, struct exchange *x)
{
	const struct sockaddr *client = exchange_request(x)->client;
	struct purge *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->purger = purger;
	p->x = x;
	if (!client || !address_text(client, p->asker))
		p->asker[0] = '\0';
	p->step = (struct loop_call){.run = purge_walk, .arg = p};
	p->next = purger->walks;
	p->link = &purger->walks;
	if (p->next)
		p->next->link = &p->next;
	purger->walks = p;
	exchange_set_data(x, p);
	return p;
}

/* Begins, with the peers, if there are any. */
static int purge_begin(struct purge *p, const char *uri)
{
	const struct purge_peers *peers = p->purger->peers;
	int err = 0;

	if (peers)
		err = purge_asks_new(peers, uri,
				     exchange_request(p->x)->fields,
				     purge_on_peer, p, &p->asks);
	purging_init(&p->purging, p->asks ? peers->npeers : 0);
	return err;
}

/* "prefix http://h/a" or "tags a, b". */
static void purge_name_scope(struct purge *p, const struct fields *fields,
			     const char *prefix)
{
	struct field_cursor cursor = { 0 };
	struct field_part tag;
	size_t len = 0;

	if (prefix) {
		snprintf(p->subject, SUBJECT_BYTES, "prefix %s", prefix);
		return;
	}
	while (len < SUBJECT_BYTES &&
	       fields_next(fields, "Purge-Tag", &cursor, &tag))
		len += (size_t)snprintf(p->subject + len, SUBJECT_BYTES - len,
					"%s%.*s", len ? ", " : "tags ",
					(int)tag.len, tag.at);
}

/* It must not look as if it was part of what is purged: a slash, or what a
 * peer has in its place. */
static const char *purge_target_fault(const struct server_request *r,
				      const char *prefix)
{
	const char *same = prefix ? prefix : tags_target;

	if ((r->target_len == 1 && *r->target == '/') ||
	    (r->target_len == strlen(same) &&
	     !memcmp(r->target, same, r->target_len)))
		return NULL;
	return prefix ? "with Purge-Prefix the target must be /" :
			"with Purge-Tag the target must be /";
}

static int purge_begin_walk(struct purge *p, const char **fault)
{
	const struct server_request *r = exchange_request(p->x);
	struct purger *purger = p->purger;
	struct purge_scope *scope;
	const char *prefix;
	int err;

	*fault = purge_scope_fault(r->fields);
	if (*fault)
		return -EINVAL;
	err = purge_scope_new(r->fields, &scope);
	if (err) {
		*fault = "Purge-Prefix must be one whole http or https URI";
		return err;
	}
	prefix = purge_scope_prefix(scope);
	*fault = purge_target_fault(r, prefix);
	if (*fault) {
		purge_scope_free(&scope);
		return -EINVAL;
	}
	purge_name_scope(p, r->fields, prefix);
	p->walk = cache_purge_begin(purger->cache, scope,
				    loop_steady_s(purger->loop));
	if (!p->walk) {
		purge_scope_free(&scope);
		return -ENOMEM;
	}
	err = purge_begin(p, prefix ? prefix : tags_target);
	if (err)
		return err;
	p->part.count = cache_parts(purger->cache);
	loop_defer(purger->loop, &p->step);
	return 0;
}

/* Drops what is stored for a target by either scheme. */
static int purge_drop_target(const struct purge *p, struct target *t,
			     size_t *purged)
{
	struct purger *purger = p->purger;
	const char *other = target_is_https(t) ? "http" : "https";
	struct scd_key key;
	int err;

	scd_key_make(purger->secret, "GET", t->uri, t->uri_len, &key);
	*purged = cache_drop(purger->cache, &key, NULL,
			       loop_steady_s(purger->loop));
	err = target_set_scheme(t, other);
	if (err)
		return err;
	scd_key_make(purger->secret, "GET", t->uri, t->uri_len, &key);
	*purged += cache_drop(purger->cache, &key, NULL,
			      loop_steady_s(purger->loop));
	return 0;
}

static int purge_target(struct purge *p)
{
	const struct server_request *r = exchange_request(p->x);
	size_t purged;
	struct target t;
	int err = target_resolve(&t, r->target, r->target_len,
				 fields_get(r->fields, "Host"));

	if (err)
		return err;
	snprintf(p->subject, SUBJECT_BYTES, "%s", t.uri);
	err = purge_begin(p, t.uri);
	if (!err)
		err = purge_drop_target(p, &t, &purged);
	target_free(&t);
	if (err)
		return err;
	purge_handle(p, PURGING_LAST_PART, purged);
	return 0;
}

/* 400, with a line that says why. */
static void purge_refuse(struct exchange *x, const char *why)
{
	struct fields f;
	char text[128];

	snprintf(text, sizeof(text), "%s\n", why);
	fields_init(&f);
	if (fields_add(&f, "Content-Type", "text/plain") ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_reply_error(x, 503, NULL);
	else
		exchange_reply_copy(x, 400, &f, text, strlen(text));
	fields_free(&f);
}

void purge_serve(struct purger *purger, struct exchange *x)
{
	const struct fields *fields = exchange_request(x)->fields;
	bool many = fields_get(fields, "Purge-Prefix") ||
		    fields_get(fields, "Purge-Tag");
	const char *fault = "the target must be a URI, or a path with Host";
	struct purge *p;
	int err = -ENOMEM;

	assert(purger->loop && purger->cache);
	p = purge_new(purger, x);
	if (p && many)
		err = purge_begin_walk(p, &fault);
	else if (p)
		err = purge_target(p);
	if (!err)
		return;
	if (p)
		purge_free(p);
	if (err == -EINVAL)
		purge_refuse(x, fault);
	else
		exchange_reply_error(x, 503, NULL);
}

void purge_leave(struct exchange *x)
{
	struct purge *p = exchange_data(x);

	if (!p)
		return;
	p->x = NULL;
	purge_handle(p, PURGING_LEFT, 0);
}

void purger_stop(struct purger *purger)
{
	if (!purger->walks)
		return;
	for (struct purge *p = purger->walks; p; p = p->next) {
		loop_undefer(purger->loop, &p->step);
		cache_sync_wait(purger->cache, &p->sync);
	}
	loop_turn(purger->loop, 0); /* their calls */
	while (purger->walks)
		purge_free(purger->walks);
}
