/*
 * The resource of purges.
 */
#include "digestd/peers/invalidation_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/http/fields.h"

bool invalidation_api_is_for(const struct exchange *x)
{
	const struct server_request *r = exchange_request(x);

	return r->target_len == strlen(INVALIDATION_PATH) &&
	       !memcmp(r->target, INVALIDATION_PATH, r->target_len);
}

/* What is known here */

static void invalidation_api_write_source(const struct invalidation_log *log,
					  size_t i,
					  struct invalidation_entry *entries,
					  struct invalidation_writer *w)
{
	const struct invalidation_source s = invalidation_log_source(log, i);
	const struct invalidation_position behind = { s.source, s.floor };
	const struct invalidation_section section = {
		.source = s.source,
		.floor = s.floor,
		.upto = s.position,
		.incomplete = s.lost > s.floor,
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
static uint8_t *invalidation_api_message(struct cache *cache,
					 const uint8_t secret[16], size_t *len)
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
	for (size_t i = 0; i < invalidation_log_sources(log); i++)
		invalidation_api_write_source(log, i, entries, &w);
	cache_purges_unlock(cache);
	*len = invalidation_write_end(&w, secret);
	free(entries);
	return bytes;
}

static void invalidation_api_reply(struct exchange *x, const char *type,
				   const void *bytes, size_t len)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Content-Type", type) ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, 200, &f, bytes, len);
	fields_free(&f);
}

static void invalidation_api_get(struct heard_by *by, struct exchange *x)
{
	size_t len;
	uint8_t *bytes = invalidation_api_message(by->cache, by->secret, &len);

	if (bytes)
		invalidation_api_reply(x, "application/scd-invalidations",
				       bytes, len);
	else
		exchange_reply_error(x, 503, NULL);
	free(bytes);
}

/* What is told */

static void invalidation_api_on_applied(void *arg, struct heard *h)
{
	struct exchange *x = arg;
	char text[64];

	exchange_set_data(x, NULL);
	snprintf(text, sizeof(text), "{\"purged\": %zu}", h->removed);
	invalidation_api_reply(x, "application/json", text, strlen(text));
}

void invalidation_api_on_request(struct heard_by *by, struct exchange *x,
				 bool takes)
{
	const struct server_request *r = exchange_request(x);
	bool post = !strcmp(r->method, "POST");
	struct heard *h = NULL;

	if (!strcmp(r->method, "GET")) {
		invalidation_api_get(by, x);
		return;
	}
	if (post && takes)
		h = heard_new(by, invalidation_api_on_applied, x);
	exchange_set_data(x, h);
	if (!h)
		exchange_reply_error(x, !post ? 405 : takes ? 503 : 403, NULL);
}

/* Once it has been refused the rest is thrown away. */
static void invalidation_api_refuse(struct exchange *x, unsigned status)
{
	struct heard *h = exchange_data(x);

	exchange_set_data(x, NULL);
	heard_free(&h);
	exchange_reply_error(x, status, NULL);
}

size_t invalidation_api_on_body(struct exchange *x, const void *data,
				size_t len)
{
	struct heard *h = exchange_data(x);
	int err = h ? heard_add(h, data, len) : 0;

	if (err)
		invalidation_api_refuse(x, err == -ENOMEM ? 503 : 413);
	return len;
}

void invalidation_api_on_body_end(struct exchange *x)
{
	struct heard *h = exchange_data(x);
	int err = h ? heard_apply(h) : 0;

	if (err)
		invalidation_api_refuse(x, err == SCD_ENOMEM ? 503 : 400);
}

/* Who has told it may leave: it is applied all the same, once it is whole. */
void invalidation_api_on_done(struct exchange *x)
{
	struct heard *h = exchange_data(x);

	if (!h)
		return;
	h->arg = NULL;
	if (!h->entries)
		heard_free(&h);
}
