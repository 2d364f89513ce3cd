/*
 * Digests for Squids.
 */
#include "digestd/peers/squid_digest.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/error.h"
#include "codec/squid.h"
#include "digestd/cache/cache.h"
#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "digestd/mesh/catalog.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"
#include "digestd/store/blob.h"

static const char squid_digest_path[] =
	"/squid-internal-periodic/store_digest";

enum { SQUID_DIGEST_STEP_MS = 1 }; /* between two parts */

struct squid_digest {
	struct loop *loop;
	struct squid_source source;
	int64_t period_ms;
	struct loop_timer timer;

	/* the one that is being made */
	struct scd_bloom bloom;
	struct keypart part;
	uint64_t nkeys;

	pthread_mutex_t lock; /* guards what follows */
	struct blob *current; /* null: none yet */
	int64_t modified_s, expires_s;
	struct squid_digest_stats stats;
};

/* The cache's keys */

struct squid_walk {
	void (*each)(void *to, const struct scd_key *key);
	void *to;
};

static uint64_t squid_source_count(void *arg)
{
	struct store_stats store;
	struct catalog_stats catalog;

	cache_stats(arg, &store, &catalog);
	return store.keys;
}

static uint64_t squid_source_parts(void *arg)
{
	return cache_parts(arg);
}

static void squid_source_each(void *arg, const char *uri)
{
	const struct squid_walk *walk = arg;
	struct scd_key key;

	if (!scd_squid_key("GET", uri, strlen(uri), &key))
		walk->each(walk->to, &key);
}

static void squid_source_walk(void *arg, const struct keypart *part,
			      int64_t now_s,
			      void (*each)(void *to, const struct scd_key *key),
			      void *to)
{
	struct squid_walk walk = { each, to };

	cache_each_fresh(arg, part, now_s, squid_source_each, &walk);
}

struct squid_source squid_source_of_cache(struct cache *cache)
{
	return (struct squid_source){ cache, squid_source_count,
				      squid_source_parts, squid_source_walk };
}

/* Making one */

static void squid_digest_step(void *arg);

static void squid_digest_later(struct squid_digest *d, int64_t ms)
{
	loop_timer_set(d->loop, &d->timer, loop_now_ms(d->loop) + ms,
		       squid_digest_step, d);
}

static bool squid_digest_is_same(const struct blob *a, const struct blob *b)
{
	return a && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* Takes it for the current one, unless nothing has changed. */
static void squid_digest_publish(struct squid_digest *d, struct blob *next)
{
	const int64_t now_s = loop_wall_s(d->loop);
	struct blob *last = next;

	pthread_mutex_lock(&d->lock);
	if (!squid_digest_is_same(d->current, next)) {
		last = d->current;
		d->current = next;
		d->modified_s = now_s;
	}
	d->expires_s = now_s + d->period_ms / 1000;
	d->stats.made++;
	d->stats.keys = d->nkeys;
	d->stats.bytes = d->current->len;
	pthread_mutex_unlock(&d->lock);
	blob_unref(last);
}

static void squid_digest_encode(struct squid_digest *d)
{
	const struct scd_squid_info info = {
		.count = d->nkeys > INT32_MAX ? INT32_MAX : (int32_t)d->nkeys,
		.entry_bits = SQUID_DIGEST_ENTRY_BITS,
	};
	struct blob *next = NULL;
	uint8_t *bytes;
	size_t len;
	int error = scd_squid_encode(&d->bloom, &info, &bytes, &len);

	scd_bloom_free(&d->bloom);
	if (!error)
		next = blob_take(bytes, len);
	if (next)
		squid_digest_publish(d, next);
	else
		log_write(LOG_ERROR, "squid", "no digest for Squids: %s",
			  scd_strerror(error ? error : SCD_ENOMEM));
}

/* An empty filter for what there is now. Returns 0 or an SCD_ error. */
static int squid_digest_begin(struct squid_digest *d)
{
	uint64_t count = d->source.count(d->source.arg);
	uint64_t most = SCD_SQUID_MAX_BITS / SQUID_DIGEST_ENTRY_BITS / 8;
	uint64_t groups = count / 8 + 1; /* whole bytes each */
	int error;

	if (groups > most / 2)
		groups = most / 2;
	error = scd_bloom_init(&d->bloom, groups * 8 * SQUID_DIGEST_ENTRY_BITS,
			       SCD_SQUID_HASH);
	d->bloom.hashing = SCD_HASHING_SQUID;
	d->part = (struct keypart){ 0, d->source.parts(d->source.arg) };
	d->nkeys = 0;
	return error;
}

static void squid_digest_add(void *to, const struct scd_key *key)
{
	struct squid_digest *d = to;

	scd_bloom_add(&d->bloom, key);
	d->nkeys++;
}

static void squid_digest_step(void *arg)
{
	struct squid_digest *d = arg;

	if (!d->bloom.bits && squid_digest_begin(d)) {
		log_write(LOG_ERROR, "squid", "no memory for a digest");
		squid_digest_later(d, d->period_ms);
		return;
	}
	d->source.walk(d->source.arg, &d->part, loop_steady_s(d->loop),
		       squid_digest_add, d);
	if (++d->part.number < d->part.count) {
		squid_digest_later(d, SQUID_DIGEST_STEP_MS);
		return;
	}
	squid_digest_encode(d);
	squid_digest_later(d, d->period_ms);
}

int squid_digest_new(struct loop *loop, const struct squid_source *source,
		     int64_t period_ms, struct squid_digest **out)
{
	struct squid_digest *d = calloc(1, sizeof(*d));

	assert(loop && source->walk && period_ms > 0);
	if (!d)
		return -ENOMEM;
	d->loop = loop;
	d->source = *source;
	d->period_ms = period_ms;
	pthread_mutex_init(&d->lock, NULL);
	squid_digest_later(d, SQUID_DIGEST_STEP_MS);
	*out = d;
	return 0;
}

void squid_digest_free(struct squid_digest **d)
{
	if (!*d)
		return;
	loop_timer_clear((*d)->loop, &(*d)->timer);
	scd_bloom_free(&(*d)->bloom);
	blob_unref((*d)->current);
	pthread_mutex_destroy(&(*d)->lock);
	free(*d);
	*d = NULL;
}

void squid_digest_stats(struct squid_digest *d, struct squid_digest_stats *out)
{
	pthread_mutex_lock(&d->lock);
	*out = d->stats;
	pthread_mutex_unlock(&d->lock);
}

/* Serving it */

/* A body on its way: the header, a pause, the mask. */
struct squid_reply {
	struct exchange *x; /* null: it is over */
	struct blob *blob;
	size_t at;
	struct loop_timer pause;
	bool paused;
};

bool squid_digest_is_meant(const struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const size_t len = sizeof(squid_digest_path) - 1;
	const char *path;

	if (r->target_len < len)
		return false;
	path = r->target + r->target_len - len;
	if (memcmp(path, squid_digest_path, len) != 0)
		return false;
	return path == r->target ||
	       (r->target_len > len + 7 && !memcmp(r->target, "http://", 7) &&
		!memchr(r->target + 7, '/', r->target_len - len - 7));
}

/* Either may be freed from now on, without the other's knowing. */
static void squid_reply_detach(struct squid_reply *reply)
{
	loop_timer_clear(exchange_loop(reply->x), &reply->pause);
	exchange_set_data(reply->x, NULL);
	reply->x = NULL;
}

static void squid_reply_go_on(void *arg)
{
	struct squid_reply *reply = arg;

	reply->paused = true;
	exchange_wake(reply->x);
}

static size_t squid_reply_take(struct squid_reply *reply, size_t end, void *buf,
			       size_t cap)
{
	size_t n = end - reply->at < cap ? end - reply->at : cap;

	memcpy(buf, reply->blob->bytes + reply->at, n);
	reply->at += n;
	return n;
}

static ssize_t squid_reply_read(void *arg, void *buf, size_t cap)
{
	struct squid_reply *reply = arg;
	struct loop *loop = exchange_loop(reply->x);
	size_t n;

	if (reply->at == reply->blob->len)
		return BODY_END;
	if (reply->paused)
		return (ssize_t)squid_reply_take(reply, reply->blob->len, buf,
						 cap);
	if (reply->at == SCD_SQUID_HEADER_BYTES)
		return BODY_WAIT;
	n = squid_reply_take(reply, SCD_SQUID_HEADER_BYTES, buf, cap);
	if (reply->at == SCD_SQUID_HEADER_BYTES)
		loop_timer_set(loop, &reply->pause,
			       loop_now_ms(loop) + SQUID_DIGEST_PAUSE_MS,
			       squid_reply_go_on, reply);
	return (ssize_t)n;
}

/* The exchange may be over or not: one that is aborted for want of memory
 * releases its body first. */
static void squid_reply_free(void *arg)
{
	struct squid_reply *reply = arg;

	if (reply->x)
		squid_reply_detach(reply);
	blob_unref(reply->blob);
	free(reply);
}

/* The fields of an answer; returns 0 or -ENOMEM. */
static int squid_digest_fields(int64_t modified_s, int64_t expires_s,
			       struct fields *f)
{
	char modified[HTTPDATE_LEN + 1], expires[HTTPDATE_LEN + 1];

	httpdate_format(modified_s, modified);
	httpdate_format(expires_s, expires);
	fields_init(f);
	return fields_add(f, "Last-Modified", modified) ||
	       fields_add(f, "Expires", expires) ||
	       fields_add(f, "Content-Type", "application/cache-digest") ?
		       -ENOMEM : 0;
}

static void squid_digest_send(struct exchange *x, const struct fields *f,
			      struct blob *blob)
{
	struct squid_reply *reply = calloc(1, sizeof(*reply));
	struct body_source source = { squid_reply_read, squid_reply_free, reply,
				      NULL };

	if (!reply) {
		blob_unref(blob);
		exchange_abort(x);
		return;
	}
	reply->x = x;
	reply->blob = blob;
	exchange_set_data(x, reply);
	exchange_reply_stream(x, 200, f, (int64_t)blob->len, &source);
}

/* Whether what the client has is the current one. */
static bool squid_digest_is_known(const struct squid_digest *d,
				  const struct exchange *x)
{
	const char *since = fields_get(exchange_request(x)->fields,
				       "If-Modified-Since");
	int64_t since_s;

	return since && httpdate_parse_exact(since, &since_s) &&
	       d->modified_s <= since_s;
}

void squid_digest_on_request(struct squid_digest *d, struct exchange *x)
{
	const char *method = exchange_request(x)->method;
	struct blob *blob = NULL;
	int64_t modified_s = 0, expires_s = 0;
	struct fields f;
	bool known = false;

	exchange_set_data(x, NULL);
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		exchange_reply_error(x, 405, NULL);
		return;
	}
	if (d) {
		pthread_mutex_lock(&d->lock);
		blob = d->current ? blob_ref(d->current) : NULL;
		modified_s = d->modified_s;
		expires_s = d->expires_s;
		known = blob && squid_digest_is_known(d, x);
		d->stats.not_modified += known;
		d->stats.sent += blob && !known;
		pthread_mutex_unlock(&d->lock);
	}
	if (!blob) {
		exchange_reply_error(x, 404, NULL);
		return;
	}
	if (squid_digest_fields(modified_s, expires_s, &f)) {
		blob_unref(blob);
		exchange_abort(x);
	} else if (known) {
		blob_unref(blob);
		exchange_reply_copy(x, 304, &f, "", 0);
	} else {
		squid_digest_send(x, &f, blob);
	}
	fields_free(&f);
}

void squid_digest_on_done(struct exchange *x)
{
	struct squid_reply *reply = exchange_data(x);

	if (reply)
		squid_reply_detach(reply);
}
