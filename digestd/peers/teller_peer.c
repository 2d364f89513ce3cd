/*
 * One peer of a teller: one message under way, or one question for what the
 * peer knows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/backoff.h"
#include "digestd/os/log.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/teller_inside.h"
#include "digestd/peers/token.h"
#include "digestd/peers/upstream.h"

enum {
	TELLER_BATCH = 4096, /* entries of a message */
	TELLER_HEADER_MAX = 8192,
	TELLER_RETRY_MS = 100, /* first; doubles */
	TELLER_RETRY_MAX_MS = 1000, /* one that is back is told so soon */
};

/* The end of a message, or of a question */

void teller_peer_drop(struct teller_peer *p)
{
	fetch_cancel(&p->fetch);
	heard_free(&p->question);
	free(p->message);
	p->message = NULL;
	p->asking = false;
	p->ticket = 0;
	p->waited_ms = 0;
	p->status = 0;
	p->answer_len = 0;
	p->sent = 0;
}

/* Why it has refused, as far as the status says. */
static const char *teller_refusal(unsigned status)
{
	switch (status) {
	case 400:
		return ": it runs another version, or makes keys of objects by "
		       "another cluster key";
	case 401:
		return ": its cluster key is not ours";
	case 403:
		return ": it has purge_peers off";
	default:
		return "";
	}
}

static void teller_log_failure(struct teller_peer *p)
{
	if (p->asking || p->logged)
		return;
	p->logged = true;
	if (p->status)
		log_write(LOG_WARNING, "purge",
			  "peer %s refused the purge (%u)%s", p->name,
			  p->status, teller_refusal(p->status));
	else
		log_write(LOG_WARNING, "purge",
			  "peer %s did not answer the purge", p->name);
}

static void teller_fail(struct teller_peer *p)
{
	int64_t now_ms = loop_now_ms(p->teller->loop);

	p->failed_ms = now_ms;
	p->due_ms = now_ms + backoff_ms(TELLER_RETRY_MS, p->failures,
					TELLER_RETRY_MAX_MS);
	p->teller->counters.failed += !p->asking && !p->counted;
	p->counted |= !p->asking;
	p->failures++;
	teller_log_failure(p);
	teller_peer_drop(p);
	teller_turn_later(p->teller);
}

static void teller_succeed(struct teller_peer *p)
{
	if (p->logged)
		log_write(LOG_INFO, "purge", "peer %s answers again", p->name);
	p->failures = 0;
	p->late = p->logged = p->counted = false;
	teller_peer_drop(p);
	teller_turn_later(p->teller);
}

/* What it has acknowledged in another life, and all have not, it may lack: it
 * has its disk only. */
static void teller_live(struct teller_peer *p, uint64_t life)
{
	struct invalidation_log *log;

	if (life != p->life && p->life) {
		log = cache_purges_lock(p->teller->cache);
		p->told = invalidation_log_source(log, 0).floor;
		cache_purges_unlock(p->teller->cache);
	} else {
		p->told = p->telling;
	}
	p->life = p->met = life;
	teller_meet(p->teller, life, false);
	p->sure_ms = p->sent_ms;
	p->confirms = false;
}

/* 0: it is of a version that does not say. */
static uint64_t teller_read_life(const json_t *answer)
{
	const char *text = json_string_value(json_object_get(answer,
							     "instance"));

	return text ? strtoull(text, NULL, 16) : 0;
}

/* Of a node whose purges are not strict, nothing is known. */
static void teller_read_grants(struct teller_peer *p, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "grants");
	struct teller_grants *g = &p->grants;

	g->known = json_is_array(list) &&
		   json_array_size(list) <= SERVING_GRANTS_MAX;
	g->n = g->known ? json_array_size(list) : 0;
	for (size_t i = 0; i < g->n; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		g->to[i] = text ? strtoull(text, NULL, 16) : 0;
	}
	p->logs = json_is_true(json_object_get(answer, "logged"));
}

/* In a stream, one of another life than was told is none. */
static bool teller_read_answer(struct teller_peer *p, const char *text,
			       size_t len)
{
	json_t *o = json_loadb(text, len, 0, NULL);
	json_int_t removed;
	bool good = !json_unpack(o, "{s:I}", "purged", &removed) &&
		    removed >= 0 &&
		    (!p->ticket || teller_read_life(o) == p->met);

	if (good) {
		if (p->removed < 0)
			p->removed = removed;
		teller_live(p, teller_read_life(o));
		teller_read_grants(p, o);
	}
	json_decref(o);
	return good;
}

/* What the peer knew has been applied. */
static void teller_on_heard(void *arg, struct heard *h)
{
	struct teller_peer *p = arg;

	p->question = NULL; /* it frees itself */
	teller_meet(p->teller, h->first, true);
	p->met = h->first;
	p->heard = true;
	p->teller->counters.replayed++;
	teller_succeed(p);
}

static void teller_on_headers(void *arg, struct fetch *f, unsigned status,
			      const struct fields *fields, int64_t body_len)
{
	struct teller_peer *p = arg;

	(void)f;
	(void)fields;
	(void)body_len;
	p->status = status;
}

/* What is too long is no answer. */
static bool teller_on_body(void *arg, struct fetch *f, const void *data,
			   size_t len)
{
	struct teller_peer *p = arg;

	(void)f;
	if (p->asking) {
		if (p->question && heard_add(p->question, data, len))
			heard_free(&p->question);
		return true;
	}
	/* before it there are spaces, as long as the peer is at work */
	for (size_t i = 0; i < len && p->answer_len < TELLER_ANSWER_MAX; i++) {
		const char byte = ((const char *)data)[i];

		if (p->answer_len || byte != ' ')
			p->answer[p->answer_len++] = byte;
	}
	return true;
}

/* It is a node of a version that has nothing to say, see PROTOCOL.md. */
static bool teller_knows_nothing(const struct teller_peer *p)
{
	return p->status == 404 || p->status == 405;
}

static void teller_end_question(struct teller_peer *p, bool whole)
{
	if (whole && teller_knows_nothing(p)) {
		p->heard = true;
		teller_succeed(p);
	} else if (!whole || p->status != 200 || !p->question ||
		   heard_apply(p->question)) {
		teller_fail(p);
	}
}

static void teller_on_done(void *arg, struct fetch *f,
			   const struct fetch_done *done)
{
	struct teller_peer *p = arg;
	bool whole = done->result == FETCH_COMPLETE;

	(void)f;
	p->fetch = NULL;
	if (p->asking) {
		teller_end_question(p, whole);
	} else if (!whole || p->status != 200 ||
		   !teller_peer_take_answer(p, p->answer, p->answer_len)) {
		teller_fail(p);
	}
}

static const struct fetch_callbacks teller_callbacks = {
	.on_headers = teller_on_headers,
	.on_body = teller_on_body,
	.on_done = teller_on_done,
};

bool teller_peer_take_answer(struct teller_peer *p, const char *text,
			     size_t len)
{
	if (!teller_read_answer(p, text, len))
		return false;
	p->teller->counters.told++;
	teller_succeed(p);
	return true;
}

/* A message, or a question */

static ssize_t teller_read_message(void *arg, void *buf, size_t cap)
{
	struct teller_peer *p = arg;
	size_t n = p->message_len - p->sent;

	if (n > cap)
		n = cap;
	memcpy(buf, p->message + p->sent, n);
	p->sent += n;
	return n ? (ssize_t)n : FETCH_EOF;
}

static int teller_start(struct teller_peer *p, const char *method,
			const struct fields *fields)
{
	const struct teller_settings *s = &p->teller->settings;
	const unsigned timeout_ms = s->timeout_ms - p->waited_ms;
	const struct fetch_limits limits = {
		.connect_ms = timeout_ms,
		.first_byte_ms = timeout_ms,
		.total_ms = TELLER_TOTAL_MS,
		.low_rate = 1,
		.low_rate_s = (timeout_ms + 999) / 1000,
		.max_header_bytes = TELLER_HEADER_MAX,
	};
	const struct fetch_upload upload = { (int64_t)p->message_len,
					     teller_read_message, NULL };
	struct fetch_request request = {
		.method = method,
		.fields = fields,
		.limits = &limits,
		.upload = p->message ? &upload : NULL,
		.tls = s->tls,
	};
	char url[1024];

	snprintf(url, sizeof(url), "%s" INVALIDATION_PATH, p->url);
	request.url = url;
	return fetch_start(p->teller->fetcher, &request, &teller_callbacks, p,
			   &p->fetch);
}

static void teller_send(struct teller_peer *p, const char *method)
{
	struct fields f;

	fields_init(&f);
	if (token_add_field(p->teller->settings.token, &f) ||
	    teller_start(p, method, &f))
		teller_fail(p);
	fields_free(&f);
}

static void teller_ask(struct teller_peer *p)
{
	p->asking = true;
	p->question = heard_new(&p->teller->by, teller_on_heard, p);
	teller_send(p, "GET");
}

/* What the peer has not acknowledged, up to a batch of it. */
static struct invalidation_section
teller_section(const struct teller_peer *p, struct invalidation_entry *entries)
{
	struct invalidation_log *log = cache_purges_lock(p->teller->cache);
	const struct invalidation_source own = invalidation_log_source(log, 0);
	const struct invalidation_position behind = { own.source, p->told };
	struct invalidation_section s = {
		.source = own.source,
		.floor = own.floor,
		.upto = own.position,
		.incomplete = own.lost > p->told,
	};

	s.n = (uint32_t)invalidation_log_since(log, &behind, entries,
					       TELLER_BATCH);
	if (s.n == TELLER_BATCH)
		s.upto = entries[s.n - 1].seq;
	cache_purges_unlock(p->teller->cache);
	return s;
}

static uint8_t *teller_write(const struct teller_peer *p,
			     const struct invalidation_section *s,
			     const struct invalidation_entry *entries,
			     size_t *len)
{
	size_t cap = INVALIDATION_WIRE_HEAD_BYTES +
		     INVALIDATION_WIRE_SECTION_BYTES +
		     (size_t)s->n * INVALIDATION_WIRE_ENTRY_BYTES +
		     INVALIDATION_WIRE_END_BYTES;
	uint8_t *bytes = malloc(cap);
	struct invalidation_writer w;

	if (!bytes)
		return NULL;
	w = invalidation_write_begin(bytes, cap);
	(void)invalidation_write_section(&w, s, entries);
	*len = invalidation_write_end(&w, p->teller->settings.secret);
	return bytes;
}

/* What is new to it; or nothing, to be acknowledged. */
static void teller_tell(struct teller_peer *p)
{
	struct invalidation_entry *entries =
		malloc(TELLER_BATCH * sizeof(*entries));
	struct invalidation_section s;

	if (!entries) {
		teller_fail(p);
		return;
	}
	s = teller_section(p, entries);
	p->telling = s.upto;
	p->sent_ms = loop_now_ms(p->teller->loop);
	p->message = teller_write(p, &s, entries, &p->message_len);
	if (s.n || s.upto > p->told)
		p->removed = -1;
	free(entries);
	if (!p->message)
		teller_fail(p);
	else if (!teller_stream_tell(p, p->sent_ms))
		teller_send(p, "POST");
}

/* Whether there is anything to tell it, without looking at what. */
static bool teller_is_behind(struct teller_peer *p, int64_t now_ms)
{
	struct invalidation_log *log = cache_purges_lock(p->teller->cache);
	bool behind = invalidation_log_source(log, 0).position > p->told;

	cache_purges_unlock(p->teller->cache);
	if (!behind)
		p->behind_ms = 0;
	else if (!p->behind_ms)
		p->behind_ms = now_ms;
	return behind || p->confirms;
}

void teller_peer_hurry(struct teller_peer *p)
{
	if (p->due_ms > p->failed_ms + TELLER_RETRY_MS)
		p->due_ms = p->failed_ms + TELLER_RETRY_MS;
}

bool teller_peer_is_busy(const struct teller_peer *p)
{
	return p->fetch || p->question || p->ticket;
}

/* When what is under way is to be looked after; its fetch looks after
 * itself. */
static int64_t teller_peer_due(const struct teller_peer *p)
{
	return p->ticket ? p->silent_ms : INT64_MAX;
}

int64_t teller_peer_next(struct teller_peer *p, int64_t now_ms)
{
	bool behind = teller_is_behind(p, now_ms);

	teller_stream_check(p, now_ms);
	if (teller_peer_is_busy(p) || (p->heard && !behind))
		return teller_peer_due(p);
	if (now_ms < p->due_ms)
		return p->due_ms;
	if (behind && (p->heard || p->failures))
		teller_tell(p);
	else
		teller_ask(p);
	return teller_peer_is_busy(p) ? teller_peer_due(p) : p->due_ms;
}

/* Life */

void teller_peer_cease(struct teller_peer *p)
{
	if (p->question && p->question->entries) {
		p->question->arg = NULL; /* it goes on without */
		p->question = NULL;
	}
	teller_peer_drop(p);
}

void teller_peer_free(struct teller_peer *p)
{
	if (!p)
		return;
	teller_peer_cease(p);
	free(p->name);
	free(p->url);
	free(p);
}

struct teller_peer *teller_peer_new(struct teller *t,
				    const struct upstream *place)
{
	struct teller_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->teller = t;
	p->removed = -1;
	p->listed_ms = loop_now_ms(t->loop);
	p->name = strdup(place->name);
	p->url = strdup(place->url);
	if (p->name && p->url)
		return p;
	teller_peer_free(p);
	return NULL;
}
