/*
 * The resource of purges.
 */
#include "digestd/peers/invalidation_api.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/http/fields.h"
#include "digestd/peers/serving_desk.h"

static bool invalidation_api_is_at(const struct exchange *x, const char *path)
{
	const struct server_request *r = exchange_request(x);

	return r->target_len == strlen(path) &&
	       !memcmp(r->target, path, r->target_len);
}

bool invalidation_api_is_for(const struct exchange *x)
{
	return invalidation_api_is_at(x, INVALIDATION_PATH) ||
	       invalidation_api_is_at(x, RENEWAL_PATH);
}

/* What is known here */

/* Up to where who asks has applied each initiator's; one who does not say has
 * nothing, as it starts. */
struct invalidation_known {
	struct invalidation_position at[INVALIDATION_LOG_SOURCES];
	size_t n;
};

/* From where on an initiator's are told, below the floor none; false: not at
 * all. */
static bool invalidation_api_behind(const struct invalidation_known *known,
				    const struct invalidation_source *s,
				    uint64_t *seq)
{
	*seq = s->floor;
	for (size_t i = 0; known && i < known->n; i++) {
		if (known->at[i].source != s->source)
			continue;
		if (known->at[i].seq >= s->position)
			return false;
		if (known->at[i].seq > *seq)
			*seq = known->at[i].seq;
	}
	return true;
}

static void invalidation_api_write_source(const struct invalidation_log *log,
					  const struct invalidation_source *of,
					  uint64_t from,
					  struct invalidation_entry *entries,
					  struct invalidation_writer *w)
{
	const struct invalidation_source s = *of;
	const struct invalidation_position behind = { s.source, from };
	const struct invalidation_section section = {
		.source = s.source,
		.floor = s.floor,
		.upto = s.position,
		.incomplete = s.lost > from,
		.n = (uint32_t)invalidation_log_since(log, &behind, entries,
						      INVALIDATION_LOG_MAX),
	};
	struct invalidation_section known = section;

	/* what is being applied has no place yet: only what is before it */
	while (known.n && entries[known.n - 1].seq > s.position)
		known.n--;
	(void)invalidation_write_section(w, &known, entries);
}

/* All of it, as a message, to be freed; null: no memory. */
static uint8_t *
invalidation_api_message(struct cache *cache, const uint8_t secret[16],
			 const struct invalidation_known *known, size_t *len)
{
	struct invalidation_entry *entries =
		malloc(INVALIDATION_LOG_MAX * sizeof(*entries));
	uint8_t *bytes = malloc(INVALIDATION_WIRE_MAX);
	struct invalidation_writer w;
	struct invalidation_log *log;

	if (!entries || !bytes) {
		free(entries);
		free(bytes);
		return NULL;
	}
	w = invalidation_write_begin(bytes, INVALIDATION_WIRE_MAX);
	log = cache_purges_lock(cache);
	for (size_t i = 0; i < invalidation_log_sources(log); i++) {
		const struct invalidation_source s =
			invalidation_log_source(log, i);
		uint64_t from;

		if (invalidation_api_behind(known, &s, &from))
			invalidation_api_write_source(log, &s, from, entries,
						      &w);
	}
	cache_purges_unlock(cache);
	*len = invalidation_write_end(&w, secret);
	free(entries);
	return bytes;
}

/* `serving`: of a renewal; null: it is none. */
static void invalidation_api_reply_to(struct exchange *x, const char *type,
				      const char *serving, const void *bytes,
				      size_t len)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Content-Type", type) ||
	    (serving && fields_add(&f, RENEWAL_FIELD, serving)) ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, 200, &f, bytes, len);
	fields_free(&f);
}

static void invalidation_api_reply(struct exchange *x, const char *type,
				   const void *bytes, size_t len)
{
	invalidation_api_reply_to(x, type, NULL, bytes, len);
}

static void invalidation_api_get(struct heard_by *by, struct exchange *x)
{
	size_t len;
	uint8_t *bytes = invalidation_api_message(by->cache, by->secret, NULL,
						  &len);

	if (bytes)
		invalidation_api_reply(x, "application/scd-invalidations",
				       bytes, len);
	else
		exchange_reply_error(x, 503, NULL);
	free(bytes);
}

/* What is told */

/* A message that is being applied, and its answer: the exchange's. Once it has
 * lasted, the answer begins with spaces, one a beat. */
struct told_message {
	struct heard_by *by;
	struct heard *h; /* null: it has been applied, or refused */
	struct exchange *x;
	struct loop_timer timer;
	bool streams, beats;
	bool renews; /* it is a renewal: it has positions */
	char *answer; /* null: not yet */
	size_t len, sent;
};

static ssize_t invalidation_told_read(void *arg, void *buf, size_t cap)
{
	struct told_message *m = arg;
	size_t n = m->len - m->sent;

	if (m->beats) {
		m->beats = false;
		*(char *)buf = ' ';
		return 1;
	}
	if (!m->answer)
		return BODY_WAIT;
	if (n > cap)
		n = cap;
	memcpy(buf, m->answer + m->sent, n);
	m->sent += n;
	return n ? (ssize_t)n : BODY_END;
}

/* Its header goes out before the end. */
static void invalidation_told_stream(struct told_message *m)
{
	const struct body_source source = {.read = invalidation_told_read,
					   .arg = m};
	struct fields f;

	fields_init(&f);
	m->streams = true;
	if (fields_add(&f, "Content-Type", "application/json") ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(m->x);
	else
		exchange_reply_stream(m->x, 200, &f, -1, &source);
	fields_free(&f);
}

static void invalidation_told_on_beat(void *arg)
{
	struct told_message *m = arg;

	m->beats = true;
	loop_timer_set(m->by->loop, &m->timer,
		       loop_now_ms(m->by->loop) + INVALIDATION_BEAT_MS,
		       invalidation_told_on_beat, m);
	if (m->streams)
		exchange_wake(m->x);
	else
		invalidation_told_stream(m);
}

static uint64_t invalidation_told_instance(const struct heard_by *by)
{
	struct invalidation_log *log = cache_purges_lock(by->cache);
	uint64_t own = invalidation_log_source(log, 0).source;

	cache_purges_unlock(by->cache);
	return own;
}

static json_t *invalidation_told_name(uint64_t instance)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, instance);
	return json_string(text);
}

/* What the fence of a strict purge is made of: whether it is in a log that is
 * whole, and whose leases run that were renewed before. */
static void invalidation_told_add_grants(struct serving_desk *desk,
					 json_t *answer)
{
	uint64_t to[SERVING_GRANTS_MAX];
	json_t *list = json_array();
	size_t n;

	json_object_set_new(answer, "logged",
			    json_boolean(serving_desk_has_recovered(desk)));
	if (serving_desk_grants(desk, to, &n)) {
		for (size_t i = 0; i < n; i++)
			json_array_append_new(list,
					      invalidation_told_name(to[i]));
		json_object_set(answer, "grants", list);
	}
	json_decref(list);
}

char *invalidation_api_answer(const struct heard_by *by, size_t removed)
{
	json_t *o = json_object();
	char *text;

	json_object_set_new(o, "purged", json_integer((json_int_t)removed));
	json_object_set_new(
		o, "instance",
		invalidation_told_name(invalidation_told_instance(by)));
	if (by->desk)
		invalidation_told_add_grants(by->desk, o);
	text = json_dumps(o, 0);
	json_decref(o);
	return text;
}

static void invalidation_api_on_applied(void *arg, struct heard *h)
{
	struct told_message *m = arg;

	m->h = NULL;
	loop_timer_clear(m->by->loop, &m->timer);
	m->answer = invalidation_api_answer(m->by, h->removed);
	m->len = m->answer ? strlen(m->answer) : 0;
	if (m->streams)
		exchange_wake(m->x);
	else if (m->answer)
		invalidation_api_reply(m->x, "application/json", m->answer,
				       m->len);
	else
		exchange_abort(m->x);
}

/* Once it has been refused the rest is thrown away. */
static void invalidation_api_refuse(struct told_message *m, unsigned status)
{
	heard_free(&m->h);
	exchange_reply_error(m->x, status, NULL);
}

/* A list of nodes that is the same for all has this one, too, perhaps by a name
 * by which it does not know itself yet: nobody is a majority with himself. */
static bool invalidation_told_grants(const struct told_message *m,
				     uint64_t instance)
{
	return instance != invalidation_told_instance(m->by) &&
	       serving_desk_grant(m->by->desk, instance);
}

/* The lease is granted first: who acknowledges a purge later says so. */
static void invalidation_told_renew(struct told_message *m)
{
	struct heard_by *by = m->by;
	struct invalidation_known known;
	const char *serving = "recovering";
	uint8_t *bytes = NULL;
	size_t len;

	if (!m->h->bytes ||
	    invalidation_read_positions(m->h->bytes, m->h->len, by->secret,
					known.at, &known.n)) {
		invalidation_api_refuse(m, 400);
		return;
	}
	heard_free(&m->h);
	if (invalidation_told_grants(m, known.at[0].source))
		serving = RENEWAL_GRANTED;
	bytes = invalidation_api_message(by->cache, by->secret, &known, &len);
	if (bytes)
		invalidation_api_reply_to(m->x, "application/scd-invalidations",
					  serving, bytes, len);
	else
		exchange_reply_error(m->x, 503, NULL);
	free(bytes);
}

/* Null: no memory. */
static struct told_message *invalidation_told_new(struct heard_by *by,
					     struct exchange *x)
{
	struct told_message *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->by = by;
	m->x = x;
	m->h = heard_new(by, invalidation_api_on_applied, m);
	if (m->h)
		return m;
	free(m);
	return NULL;
}

void invalidation_api_on_request(struct heard_by *by, struct exchange *x,
				 bool takes)
{
	const struct server_request *r = exchange_request(x);
	bool renews = invalidation_api_is_at(x, RENEWAL_PATH);
	bool post = !strcmp(r->method, "POST");
	bool body = r->has_body; /* else its end is never told */
	struct told_message *m = NULL;

	exchange_set_data(x, NULL);
	if (renews && !by->desk) {
		exchange_reply_error(x, 404, NULL);
		return;
	}
	if (!renews && !strcmp(r->method, "GET")) {
		invalidation_api_get(by, x);
		return;
	}
	if (post && takes && body)
		m = invalidation_told_new(by, x);
	if (m)
		m->renews = renews;
	exchange_set_data(x, m);
	if (!m)
		exchange_reply_error(x, !post ? 405 : !takes ? 403 : !body ?
				     400 : 503, NULL);
}

size_t invalidation_api_on_body(struct exchange *x, const void *data,
				size_t len)
{
	struct told_message *m = exchange_data(x);
	int err = m && m->h ? heard_add(m->h, data, len) : 0;

	if (err)
		invalidation_api_refuse(m, err == -ENOMEM ? 503 : 413);
	return len;
}

void invalidation_api_on_body_end(struct exchange *x)
{
	struct told_message *m = exchange_data(x);
	int err;

	if (!m || !m->h)
		return;
	if (m->renews) {
		invalidation_told_renew(m);
		return;
	}
	err = heard_apply(m->h);
	if (err)
		invalidation_api_refuse(m, err == SCD_ENOMEM ? 503 : 400);
	else
		loop_timer_set(m->by->loop, &m->timer,
			       loop_now_ms(m->by->loop) + INVALIDATION_BEAT_MS,
			       invalidation_told_on_beat, m);
}

/* Who has told it may leave: it is applied all the same, once it is whole. */
void invalidation_api_on_done(struct exchange *x)
{
	struct told_message *m = exchange_data(x);

	if (!m)
		return;
	loop_timer_clear(m->by->loop, &m->timer);
	if (m->h)
		m->h->arg = NULL;
	if (m->h && !m->h->entries)
		heard_free(&m->h);
	free(m->answer);
	free(m);
}
