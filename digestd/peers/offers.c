/*
 * Offers.
 */
#include "digestd/peers/offers.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/leases.h"
#include "digestd/mesh/peerset.h"
#include "digestd/mesh/route.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/server/server.h"

#define HANDOVER_PATH "/scd/v1/handover/"
#define HOTTEST_PATH "/scd/v1/hottest/"

enum { OFFERS_LOOK_MS = 20 };

/* What is for one peer. */
struct offers_list {
	uint64_t instance;
	char **entries; /* texts, of malloc(); null: given already */
	size_t n, cap, next;
	int64_t asked_ms; /* when it came last, or when this began */
	bool over; /* it has seen the end, */
	bool gone; /* or will not come any more */
};

struct offers {
	struct loop *loop;
	struct cache *cache;
	struct loop_timer timer;
	void (*on_over)(void *arg);
	void *arg;
	pthread_mutex_t lock; /* of what follows */
	bool hands_over;
	int64_t least_ms; /* it is not over before */
	struct offers_list *lists;
	size_t nlists;
	struct offers_counters counters;
};

int offers_new(struct loop *loop, struct cache *cache, struct offers **out)
{
	struct offers *o = calloc(1, sizeof(*o));

	assert(loop && cache);
	if (!o)
		return -ENOMEM;
	o->loop = loop;
	o->cache = cache;
	pthread_mutex_init(&o->lock, NULL);
	*out = o;
	return 0;
}

static void offers_free_list(struct offers_list *list)
{
	for (size_t i = list->next; i < list->n; i++)
		free(list->entries[i]);
	free(list->entries);
}

void offers_free(struct offers **out)
{
	struct offers *o = *out;

	*out = NULL;
	if (!o)
		return;
	loop_timer_clear(o->loop, &o->timer);
	for (size_t i = 0; i < o->nlists; i++)
		offers_free_list(&o->lists[i]);
	free(o->lists);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

void offers_count(struct offers *o, struct offers_counters *out)
{
	pthread_mutex_lock(&o->lock);
	*out = o->counters;
	pthread_mutex_unlock(&o->lock);
}

/* Entries as text: the URI, and on lines that begin with a tab the fields of
 * the request that it is for. */

static void offers_write_entry(FILE *to, const struct cached *c)
{
	const struct fields *selecting = cached_selecting(c);

	fprintf(to, "%s\n", cached_uri(c));
	for (size_t i = 0; i < fields_count(selecting); i++) {
		const struct field *line = fields_at(selecting, i);

		if (*line->value)
			fprintf(to, "\t%s: %s\n", line->name, line->value);
	}
}

/* Of malloc(); null: no memory. */
static char *offers_entry(const struct cached *c)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	offers_write_entry(to, c);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* Who gets what */

/* The number of the list of the peer that owns a key among those that have
 * one. */
static size_t offers_owner(const struct offers *o, const struct scd_key *key)
{
	uint64_t best = 0;
	size_t owner = 0;

	for (size_t i = 0; i < o->nlists; i++) {
		uint64_t weight =
			route_weight(key->lo, o->lists[i].instance);

		if (weight >= best) {
			best = weight;
			owner = i;
		}
	}
	return owner;
}

static bool offers_put(struct offers_list *list, const struct cached *c)
{
	size_t cap = list->cap ? 2 * list->cap : 64;
	char **more;

	if (list->n == list->cap) {
		more = realloc(list->entries, cap * sizeof(*more));
		if (!more)
			return false;
		list->entries = more;
		list->cap = cap;
	}
	list->entries[list->n] = offers_entry(c);
	list->n += list->entries[list->n] != NULL;
	return true;
}

/* Whether it is worth handing over: fresh, and no digest has it. */
static bool offers_is_sole(const struct offers *o, const struct peerset *view,
			   const struct cached *c)
{
	const struct peerset_keys keys = { .own = &c->entry.key };
	uint32_t one;

	return freshness_left(&c->freshness, loop_steady_s(o->loop)) > 0 &&
	       !peerset_lookup(view, &keys, &one, 1);
}

/* Those peers that can come for something. False without memory. */
static bool offers_make_lists(struct offers *o, const struct peerset *view)
{
	o->lists = calloc(peerset_count(view) + 1, sizeof(*o->lists));
	if (!o->lists)
		return false;
	for (size_t i = 0; i < peerset_count(view); i++) {
		const struct peerset_peer *p = peerset_at(view, i);

		if (p->usable && !p->half_open && p->kind->purges &&
		    !peerset_is_elsewhere(p) &&
		    p->digest->instance)
			o->lists[o->nlists++] = (struct offers_list){
				.instance = p->digest->instance,
				.asked_ms = loop_now_ms(o->loop),
			};
	}
	return true;
}

static void offers_choose(struct offers *o, const struct peerset *view,
			  struct cached **found, size_t n, uint64_t bytes)
{
	for (size_t i = 0; i < n; i++) {
		const struct cached *c = found[i];
		struct offers_list *list;

		if (c->body_len > bytes || !offers_is_sole(o, view, c))
			continue;
		list = &o->lists[offers_owner(o, &c->entry.key)];
		if (!offers_put(list, c))
			return;
		bytes -= c->body_len;
		o->counters.offered++;
	}
}

static void offers_gather(struct offers *o, const struct peerset *view,
			  uint64_t bytes)
{
	struct cached **found = malloc(OFFERS_MAX * sizeof(struct cached *));
	size_t n = 0;

	if (found && bytes)
		n = cache_hottest(o->cache, found, OFFERS_MAX, UINT64_MAX);
	pthread_mutex_lock(&o->lock);
	if (offers_make_lists(o, view) && o->nlists)
		offers_choose(o, view, found, n, bytes);
	o->hands_over = true;
	pthread_mutex_unlock(&o->lock);
	for (size_t i = 0; i < n; i++)
		cached_unref(&found[i]);
	free(found);
}

/* The end of it */

static bool offers_list_is_over(const struct offers_list *list, int64_t now_ms)
{
	return !list->n || list->over || list->gone ||
	       now_ms > list->asked_ms + OFFERS_PATIENCE_MS;
}

static bool offers_are_over(struct offers *o)
{
	int64_t now_ms = loop_now_ms(o->loop);
	bool late = now_ms >= o->least_ms, over = true, gone = true;

	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->nlists; i++) {
		over &= offers_list_is_over(&o->lists[i], now_ms);
		gone &= o->lists[i].gone;
	}
	pthread_mutex_unlock(&o->lock);
	return gone || (over && late);
}

static void offers_look(void *arg)
{
	struct offers *o = arg;
	struct offers_counters counted;

	if (!offers_are_over(o)) {
		loop_timer_set(o->loop, &o->timer,
			       loop_now_ms(o->loop) + OFFERS_LOOK_MS,
			       offers_look, o);
		return;
	}
	offers_count(o, &counted);
	if (counted.offered)
		log_write(LOG_INFO, "handover", "%" PRIu64 " of %" PRIu64
		  " objects that only this node holds were taken over",
		  counted.fetched, counted.offered);
	o->on_over(o->arg);
}

void offers_hand_over(struct offers *o, const struct peerset *view,
		      uint64_t bytes, void (*over)(void *arg), void *arg)
{
	assert(!o->hands_over && over);
	o->on_over = over;
	o->arg = arg;
	o->least_ms = loop_now_ms(o->loop) + OFFERS_TELL_MS;
	if (view)
		offers_gather(o, view, bytes);
	if (o->nlists)
		offers_look(o);
	else
		over(arg);
}

void offers_follow(struct offers *o, const struct peerset *view)
{
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->nlists; i++)
		o->lists[i].gone = lease_find(view, o->lists[i].instance) < 0;
	pthread_mutex_unlock(&o->lock);
}

/* Requests */

static void offers_reply(struct exchange *x, const char *text, size_t len)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Content-Type", "text/plain") ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, 200, &f, text, len);
	fields_free(&f);
}

/* What follows a path in the target, or null. */
static const char *offers_behind(const struct server_request *r,
				 const char *path)
{
	return strncmp(r->target, path, strlen(path)) ?
		       NULL : r->target + strlen(path);
}

bool offers_are_asked_for(const struct exchange *x)
{
	const struct server_request *r = exchange_request(x);

	return offers_behind(r, HANDOVER_PATH) ||
	       offers_behind(r, HOTTEST_PATH);
}

static struct offers_list *offers_find(const struct offers *o,
				       const char *instance)
{
	char text[17];

	for (size_t i = 0; i < o->nlists; i++) {
		snprintf(text, sizeof(text), "%016" PRIx64,
			 o->lists[i].instance);
		if (!strcmp(text, instance))
			return &o->lists[i];
	}
	return NULL;
}

/* The next piece of a list; with the lock. */
static void offers_write_piece(struct offers *o, struct offers_list *list,
			       FILE *to)
{
	size_t end = list->next + OFFERS_PIECE;

	list->over = list->next == list->n;
	for (; list->next < list->n && list->next < end; list->next++) {
		fputs(list->entries[list->next], to);
		free(list->entries[list->next]);
		o->counters.fetched++;
	}
}

static void offers_reply_stream(struct exchange *x, FILE *to, char **text,
				const size_t *len)
{
	if (!to || fclose(to))
		exchange_reply_error(x, 503, NULL);
	else
		offers_reply(x, *text, *len);
	free(*text);
}

static void offers_serve_handover(struct offers *o, struct exchange *x,
				  const char *instance)
{
	struct offers_list *list;
	char *text = NULL;
	size_t len = 0;
	FILE *to;

	pthread_mutex_lock(&o->lock);
	list = o->hands_over ? offers_find(o, instance) : NULL;
	to = list ? open_memstream(&text, &len) : NULL;
	if (to) {
		list->asked_ms = loop_now_ms(exchange_loop(x));
		offers_write_piece(o, list, to);
	}
	pthread_mutex_unlock(&o->lock);
	if (list)
		offers_reply_stream(x, to, &text, &len);
	else
		exchange_reply_error(x, 404, NULL);
}

/* Decimal; 0: it is none. */
static uint64_t offers_read_bytes(const char *text)
{
	size_t len = strspn(text, "0123456789");

	return len && len <= 18 && !text[len] ? strtoull(text, NULL, 10) : 0;
}

static void offers_write_hottest(struct offers *o, uint64_t bytes,
				 int64_t now_s, FILE *to)
{
	struct cached **found = malloc(OFFERS_MAX * sizeof(struct cached *));
	size_t n = found ? cache_hottest(o->cache, found, OFFERS_MAX, bytes)
			 : 0;

	for (size_t i = 0; i < n; i++) {
		if (freshness_left(&found[i]->freshness, now_s) > 0 &&
		    ftell(to) < OFFERS_BYTES_MAX / 2)
			offers_write_entry(to, found[i]);
		cached_unref(&found[i]);
	}
	free(found);
}

static void offers_serve_hottest(struct offers *o, struct exchange *x,
				 const char *number)
{
	uint64_t bytes = offers_read_bytes(number);
	char *text = NULL;
	size_t len = 0;
	FILE *to;

	if (!bytes) {
		exchange_reply_error(x, 404, NULL);
		return;
	}
	to = open_memstream(&text, &len);
	if (to)
		offers_write_hottest(o, bytes,
				     loop_steady_s(exchange_loop(x)), to);
	offers_reply_stream(x, to, &text, &len);
}

void offers_on_request(struct offers *o, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const char *handover = offers_behind(r, HANDOVER_PATH);

	exchange_set_data(x, NULL);
	if (strcmp(r->method, "GET") != 0)
		exchange_reply_error(x, 405, NULL);
	else if (handover)
		offers_serve_handover(o, x, handover);
	else
		offers_serve_hottest(o, x, offers_behind(r, HOTTEST_PATH));
}
