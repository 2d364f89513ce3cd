/*
 * Questions and answers. All lines of a body are read before the first one
 * counts.
 */
#include "digestd/admin/admit_api.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/key.h"
#include "digestd/admin/posted.h"
#include "digestd/cache/admitter.h"
#include "digestd/admission/admission_tell.h"
#include "digestd/admission/admit_request.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"

static const char path[] = "/v1/admit";

enum { ADMIT_WORD_BYTES = 5 }; /* of an answer at most, with its line's end */

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
	posted_reply(x, status, "GET, POST", text, len);
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

	if (r->target_len > sizeof(path) - 1) {
		admit_api_refuse(x, 400, "a query, with POST\n");
		return;
	}
	if (r->body_len > POSTED_BYTES) {
		admit_api_refuse(x, 413, posted_too_long);
		return;
	}
	if (posted_begin(x) && !r->has_body)
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

/* The next line, without its end; false: no more. */
static bool admit_api_next_line(const struct posted *b,
				struct posted_walk *walk)
{
	if (!posted_next(b, walk))
		return false;
	if (walk->len && walk->text[walk->len - 1] == '\r')
		walk->len--;
	return true;
}

/* The number of lines; refuses a body with a line that is wrong, and returns
 * -1. */
static int admit_api_check_lines(struct exchange *x, const struct posted *b)
{
	struct posted_walk walk = { .at = 0 };
	struct admit_question q;
	char why[64];
	int n = 0;

	while (admit_api_next_line(b, &walk)) {
		int err = ++n > ADMIT_LINES ? -E2BIG :
					      admit_read_line(walk.text,
							      walk.len, &q);

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
	const struct posted *b = exchange_data(x);
	struct posted_walk walk = { .at = 0 };
	struct admit_question q;
	size_t used = 0;
	char *words;
	int n;

	assert(api->admitter);
	if (!b || exchange_answered(x))
		return;
	if (b->too_long) {
		admit_api_refuse(x, 413, posted_too_long);
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
	while (admit_api_next_line(b, &walk)) {
		if (admit_read_line(walk.text, walk.len, &q))
			break; /* never: all were checked */
		used += (size_t)sprintf(words + used, "%s\n",
					admit_api_answer(api, x, &q));
	}
	admit_api_reply(x, 200, words, used);
	free(words);
}
