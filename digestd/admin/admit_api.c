/*
 * Questions and answers. A body is collected whole and read line by line: all
 * its lines are read before the first one counts, so that a body that is
 * refused has changed nothing.
 */
#include "digestd/admin/admit_api.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/key.h"
#include "digestd/cache/admitter.h"
#include "digestd/admission/admission_tell.h"
#include "digestd/admission/admit_request.h"
#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"

static const char path[] = "/v1/admit";
static const char too_large[] = "more than 1 MiB\n";

enum { ADMIT_WORD_BYTES = 5 }; /* of an answer at most, with its line's end */

/* A body on its way. */
struct batch {
	size_t len;
	bool too_long; /* the rest is thrown away: who sends can hear of it */
	char text[ADMIT_BODY_BYTES];
};

bool admit_is_meant(const struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	size_t len = sizeof(path) - 1;

	return r->target_len >= len && !memcmp(r->target, path, len) &&
	       (r->target_len == len || r->target[len] == '?');
}

static void admit_api_reply(struct exchange *x, unsigned status,
			    const char *text, size_t len)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Content-Type", "text/plain") ||
	    fields_add(&f, "Cache-Control", "no-store") ||
	    (status == 405 && fields_add(&f, "Allow", "GET, POST")))
		exchange_abort(x);
	else
		exchange_reply_copy(x, status, &f, text, len);
	fields_free(&f);
}

static void admit_api_refuse(struct exchange *x, unsigned status,
			     const char *why)
{
	admit_api_reply(x, status, why, strlen(why));
}

static const char *admit_api_answer(struct admit_api *api,
				    const struct exchange *x,
				    const struct admit_question *q)
{
	struct scd_key key;

	scd_key_make(api->secret, "GET", q->uri, q->uri_len, &key);
	return admission_word(admitter_answer(api->admitter, &key, q->size,
					      q->note,
					      loop_now_ms(exchange_loop(x))));
}

static void admit_api_serve_get(struct admit_api *api, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	size_t skip = sizeof(path); /* and the question mark */
	size_t len = r->target_len > skip ? r->target_len - skip : 0;
	struct admit_question q;
	char line[ADMIT_WORD_BYTES + 1];

	switch (admit_read_query(len ? r->target + skip : "", len, &q)) {
	case 0:
		admit_api_reply(x, 200, line,
				(size_t)snprintf(line, sizeof(line), "%s\n",
						 admit_api_answer(api, x, &q)));
		break;
	case -E2BIG:
		admit_api_refuse(x, 414, "uri: too long\n");
		break;
	default:
		admit_api_refuse(x, 400,
				 "expected ?uri=URI[&size=BYTES][&note=no]\n");
	}
}

static void admit_api_serve_post(struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	struct batch *b;

	if (r->target_len > sizeof(path) - 1) {
		admit_api_refuse(x, 400, "a query, with POST\n");
		return;
	}
	if (r->body_len > ADMIT_BODY_BYTES) {
		admit_api_refuse(x, 413, too_large);
		return;
	}
	b = malloc(sizeof(*b));
	if (!b) {
		exchange_reply_error(x, 503, NULL);
		return;
	}
	b->len = 0;
	b->too_long = false;
	exchange_set_data(x, b);
	if (!r->has_body)
		admit_api_reply(x, 200, "", 0);
}

void admit_serve(struct admit_api *api, struct exchange *x)
{
	const char *method = exchange_request(x)->method;

	assert(api->admitter);
	assert(!exchange_data(x));
	if (!strcmp(method, "GET"))
		admit_api_serve_get(api, x);
	else if (!strcmp(method, "POST"))
		admit_api_serve_post(x);
	else
		admit_api_refuse(x, 405, "");
}

size_t admit_body(struct exchange *x, const void *data, size_t len)
{
	struct batch *b = exchange_data(x);

	assert(!b || b->len <= sizeof(b->text));
	if (!b)
		return len;
	b->too_long |= len > sizeof(b->text) - b->len;
	if (b->too_long)
		return len;
	memcpy(b->text + b->len, data, len);
	b->len += len;
	return len;
}

/* The next line, without its end; null: no more. */
static const char *admit_api_next_line(const struct batch *b, size_t *at,
				       size_t *len)
{
	const char *line = b->text + *at;
	size_t left = b->len - *at;
	const char *end = memchr(line, '\n', left);

	if (!left)
		return NULL;
	*len = end ? (size_t)(end - line) : left;
	*at += *len + (end != NULL);
	if (*len && line[*len - 1] == '\r')
		--*len;
	return line;
}

/* The number of lines; refuses a body with a line that is wrong, and returns
 * -1. */
static int admit_api_check_lines(struct exchange *x, const struct batch *b)
{
	struct admit_question q;
	size_t at = 0, len;
	const char *line;
	char why[64];
	int n = 0;

	while ((line = admit_api_next_line(b, &at, &len))) {
		int err = ++n > ADMIT_LINES ? -E2BIG :
					      admit_read_line(line, len, &q);

		if (!err)
			continue;
		snprintf(why, sizeof(why), "line %d: %s\n", n,
			 n > ADMIT_LINES ? "too many" :
			 err == -E2BIG	 ? "URI too long" :
					   "not URI [SIZE]");
		admit_api_refuse(x, err == -E2BIG ? 413 : 400, why);
		return -1;
	}
	return n;
}

void admit_body_end(struct admit_api *api, struct exchange *x)
{
	struct batch *b = exchange_data(x);
	size_t at = 0, used = 0, len;
	struct admit_question q;
	const char *line;
	char *words;
	int n;

	assert(api->admitter);
	if (!b || exchange_answered(x))
		return;
	if (b->too_long) {
		admit_api_refuse(x, 413, too_large);
		return;
	}
	n = admit_api_check_lines(x, b);
	if (n < 0)
		return;
	words = malloc((size_t)n * ADMIT_WORD_BYTES + 1);
	if (!words) {
		exchange_reply_error(x, 503, NULL);
		return;
	}
	while ((line = admit_api_next_line(b, &at, &len))) {
		if (admit_read_line(line, len, &q))
			break; /* never: all were checked */
		used += (size_t)sprintf(words + used, "%s\n",
					admit_api_answer(api, x, &q));
	}
	admit_api_reply(x, 200, words, used);
	free(words);
}

void admit_leave(struct exchange *x)
{
	free(exchange_data(x));
	exchange_set_data(x, NULL);
}
