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
#include "digestd/http/tags.h"
#include "digestd/http/target.h"
#include "digestd/disk/disk.h"
#include "digestd/mesh/invalidation_log.h"
#include "digestd/mesh/purging.h"
#include "digestd/node/site.h"
#include "digestd/os/address.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/teller.h"

enum {
	SUBJECT_BYTES = 512, /* of a log line; what is longer is cut */
	PURGE_TIMEOUT_MS = 10000, /* a peer's walk over millions of objects */
};

/* What peers give as the target of a purge by tags: there must be one. */
static const char tags_target[] = "http://all/";

/* A walk under way. */
struct purge {
	struct purger *purger;
	char subject[SUBJECT_BYTES];      /* what is purged, for the log */
	char asker[ADDRESS_TEXT_BYTES];   /* "": not known */
	bool local; /* no peer is told */
	struct exchange *x;      /* null: its client has left, or: */
	void (*done)(void *arg, unsigned status, const char *body);
	void *arg;
	struct purge_walk walk;
	struct keypart part;     /* the next */
	struct teller_wait *wait; /* for peers; null: none, or no more */
	json_t *answers; /* of peers; null: nobody was told */
	bool refused; /* it is not final, see struct teller_wait */
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
	if (json_object_size(p->answers))
		json_object_set(o, "peers", p->answers);
	text = json_dumps(o, 0);
	json_decref(o);
	return text;
}

static void purge_reply(struct exchange *x, unsigned status, const char *text)
{
	struct fields f;

	fields_init(&f);
	if (!text || fields_add(&f, "Content-Type", "application/json") ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, status, &f, text, strlen(text));
	fields_free(&f);
}

/* Who has given an order hears of its end, once. */
static void purge_report(struct purge *p, unsigned status, const char *body)
{
	if (p->done)
		p->done(p->arg, status, body);
	p->done = NULL;
}

static void purge_answer(struct purge *p)
{
	const unsigned status = p->refused ? 503 : 200;
	struct exchange *x = p->x;
	char *text = purge_answer_text(p);

	if (x) {
		exchange_set_data(x, NULL);
		p->x = NULL;
		purge_reply(x, status, text);
	}
	purge_report(p, status, text);
	free(text);
}

static void purge_end_walk(struct purge *p)
{
	cache_purge_end(p->purger->cache, &p->walk);
}

static void purge_free(struct purge *p)
{
	loop_undefer(p->purger->loop, &p->step);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	if (p->x)
		exchange_set_data(p->x, NULL);
	purge_report(p, 503, NULL);
	purge_end_walk(p);
	if (p->wait)
		p->wait->arg = NULL;
	json_decref(p->answers);
	free(p);
}

static void purge_act(struct purge *p, enum purging_action action);

static void purge_handle(struct purge *p, enum purging_event_kind kind,
			 size_t purged)
{
	const struct purging_event event = {kind, purged};

	purge_act(p, purging_step(&p->purging, &event));
}

static void purge_on_peers(void *arg, struct teller_wait *w)
{
	struct purge *p = arg;
	json_t *answers = w->answers;
	bool refused = w->refused;

	free(w);
	if (!p) {
		json_decref(answers);
		return;
	}
	p->wait = NULL;
	p->answers = answers;
	p->refused = refused;
	purge_handle(p, PURGING_PEER, 0);
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

	log_write(LOG_INFO, "purge", "%s: %zu object%s removed%s%s%s",
		  p->subject, n, n == 1 ? "" : "s",
		  p->refused ? ", and maybe not everywhere" : "",
		  *p->asker ? ", asked by " : "", p->asker);
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
		if (p->x || p->done) /* somebody has asked for it */
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
	size_t before = p->walk.removed;
	bool last;

	cache_purge_part(p->purger->cache, &p->walk, &p->part);
	last = ++p->part.number == p->part.count;
	if (last)
		purge_end_walk(p);
	purge_handle(p, last ? PURGING_LAST_PART : PURGING_PART,
		     p->walk.removed - before);
}

static struct purge *purge_new(struct purger *purger)
{
	struct purge *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->purger = purger;
	p->step = (struct loop_call){.run = purge_walk, .arg = p};
	p->next = purger->walks;
	p->link = &purger->walks;
	if (p->next)
		p->next->link = &p->next;
	purger->walks = p;
	return p;
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
static const char *purge_target_fault(const struct purge_order *o,
				      const char *prefix)
{
	const char *same = prefix ? prefix : tags_target;

	if ((o->target.len == 1 && *o->target.at == '/') ||
	    (o->target.len == strlen(same) &&
	     !memcmp(o->target.at, same, o->target.len)))
		return NULL;
	return prefix ? "with Purge-Prefix the target must be /" :
			"with Purge-Tag the target must be /";
}

/* Whether peers are told of it. */
static bool purge_is_for_all(const struct purge *p)
{
	return !p->local && p->purger->teller &&
	       teller_tells(p->purger->teller);
}

/* The peers are told, and apply it while this node does. */
static void purge_tell(struct purge *p)
{
	*p->wait = (struct teller_wait){
		.seq = p->walk.seq,
		.timeout_ms = PURGE_TIMEOUT_MS,
		.loop = p->purger->loop,
		.done = purge_on_peers,
		.arg = p,
	};
	teller_wait(p->purger->teller, p->wait);
}

static int purge_start(struct purge *p,
		       const struct invalidation_entry *entries, size_t n)
{
	struct purger *purger = p->purger;
	const struct cache_purge purge = {
		.entries = entries,
		.n = n,
		.now_s = loop_steady_s(purger->loop),
		.local = !purge_is_for_all(p),
	};

	if (!purge.local) {
		p->wait = calloc(1, sizeof(*p->wait));
		if (!p->wait)
			return -ENOMEM;
	}
	cache_purge_begin(purger->cache, &purge, &p->walk);
	purging_init(&p->purging, p->wait ? 1 : 0);
	if (p->wait)
		purge_tell(p);
	p->part.count = cache_parts(purger->cache);
	if (p->walk.walks)
		loop_defer(purger->loop, &p->step);
	else
		purge_handle(p, PURGING_LAST_PART, p->walk.removed);
	return 0;
}

static int purge_prefix(struct purge *p, const struct purge_order *o,
			const char **fault)
{
	struct invalidation_entry entry = { .seq = 0 };
	char *prefix;
	int err = purge_scope_prefix(o->fields, &prefix);

	if (err) {
		*fault = "Purge-Prefix must be one whole http or https URI";
		return err;
	}
	*fault = purge_target_fault(o, prefix);
	entry.of = invalidation_of_prefix(p->purger->secret, prefix);
	purge_name_scope(p, o->fields, prefix);
	err = *fault ? -EINVAL : purge_start(p, &entry, 1);
	free(prefix);
	return err;
}

/* The tags of a request, one entry each, to be freed; null: no memory. */
static struct invalidation_entry *purge_list_tags(const struct purge *p,
						  const struct fields *fields,
						  size_t *n)
{
	struct invalidation_entry *list = NULL;
	struct field_cursor cursor = { 0 };
	struct field_part tag;

	for (*n = 0; tags_next_purged(fields, &cursor, &tag); ++*n)
		continue;
	list = calloc(*n + 1, sizeof(*list));
	cursor = (struct field_cursor){ 0 };
	for (size_t i = 0; list && i < *n; i++) {
		tags_next_purged(fields, &cursor, &tag);
		list[i].of = invalidation_of_tag(p->purger->secret, tag);
	}
	return list;
}

static int purge_tags(struct purge *p, const struct purge_order *o,
		      const char **fault)
{
	struct invalidation_entry *list;
	size_t n;
	int err;

	*fault = purge_target_fault(o, NULL);
	if (*fault)
		return -EINVAL;
	list = purge_list_tags(p, o->fields, &n);
	if (!list)
		return -ENOMEM;
	purge_name_scope(p, o->fields, NULL);
	err = purge_start(p, list, n);
	free(list);
	return err;
}

static int purge_many(struct purge *p, const struct purge_order *o,
		      const char **fault)
{
	*fault = purge_scope_fault(o->fields);
	if (*fault)
		return -EINVAL;
	return fields_get(o->fields, "Purge-Prefix") ?
		       purge_prefix(p, o, fault) : purge_tags(p, o, fault);
}

static struct invalidation_entry purge_entry_of(const struct purge *p,
						const struct target *t)
{
	struct scd_key key;

	scd_key_make(p->purger->secret, "GET", t->uri, t->uri_len, &key);
	return (struct invalidation_entry){ invalidation_of_key(&key), 0 };
}

void purge_source(struct purger *purger, const char *name)
{
	struct purge *p = purge_new(purger);
	struct invalidation_entry entry = { .seq = 0 };
	char tag[TAGS_SOURCE_BYTES];

	tags_source(name, tag);
	entry.of = invalidation_of_tag(
		purger->secret, (struct field_part){ tag, strlen(tag) });
	if (!p) {
		log_write(LOG_ERROR, "purge", "out of memory");
		return;
	}
	p->local = true;
	snprintf(p->subject, SUBJECT_BYTES, "what came from peer %s", name);
	if (purge_start(p, &entry, 1))
		log_write(LOG_ERROR, "purge", "out of memory");
}

/* The URI of an order's target by its own scheme, or the other one, as a GET
 * for it is stored. Returns 0, -EINVAL or -ENOMEM. */
static int purge_resolve(const struct purge *p, const struct purge_order *o,
			 bool other_scheme, struct target *t)
{
	int err = target_resolve(t, o->target.at, o->target.len,
				 fields_get(o->fields, "Host"));

	if (err)
		return err;
	/* first the scheme: another port may be of another site */
	if (other_scheme)
		err = target_set_scheme(t, target_is_https(t) ? "http" :
								"https");
	if (!err)
		err = sites_normalise(p->purger->sites, t);
	if (err)
		target_free(t);
	return err;
}

/* What is stored for a target by either scheme. */
static int purge_target(struct purge *p, const struct purge_order *o)
{
	struct invalidation_entry entries[2];
	struct target t;

	for (size_t i = 0; i < 2; i++) {
		int err = purge_resolve(p, o, i, &t);

		if (err)
			return err;
		if (!i)
			snprintf(p->subject, SUBJECT_BYTES, "%s", t.uri);
		entries[i] = purge_entry_of(p, &t);
		target_free(&t);
	}
	return purge_start(p, entries, 2);
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

/* Begins what is asked for, or says what is wrong. */
static int purge_begin(struct purge *p, const struct purge_order *o,
		       const char **fault)
{
	bool many = fields_get(o->fields, "Purge-Prefix") ||
		    fields_get(o->fields, "Purge-Tag");

	assert(p->purger->loop && p->purger->cache);
	*fault = "the target must be a URI, or a path with Host";
	return many ? purge_many(p, o, fault) : purge_target(p, o);
}

void purge_serve(struct purger *purger, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const struct purge_order o = {
		.target = { r->target, r->target_len },
		.fields = r->fields,
	};
	struct purge *p = purge_new(purger);
	const char *fault = NULL;
	int err = -ENOMEM;

	if (p) {
		p->x = x;
		exchange_set_data(x, p);
		if (!r->client || !address_text(r->client, p->asker))
			p->asker[0] = '\0';
		err = purge_begin(p, &o, &fault);
	}
	if (!err)
		return;
	if (p)
		purge_free(p);
	if (err == -EINVAL)
		purge_refuse(x, fault);
	else
		exchange_reply_error(x, 503, NULL);
}

void purge_obey(struct purger *purger, const struct purge_order *order)
{
	struct purge *p = purge_new(purger);
	const char *fault = NULL;
	int err = -ENOMEM;

	assert(order->done);
	if (p) {
		snprintf(p->asker, sizeof(p->asker), "%s", order->asker);
		p->done = order->done;
		p->arg = order->arg;
		err = purge_begin(p, order, &fault);
	}
	if (!err)
		return;
	if (err == -EINVAL && p)
		purge_report(p, 400, fault);
	if (p)
		purge_free(p);
	else
		order->done(order->arg, 503, NULL);
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
