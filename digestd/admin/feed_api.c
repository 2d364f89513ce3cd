/*
 * Lines of the feed over HTTP. All lines of a body are read before the first
 * one counts.
 */
#include "digestd/admin/feed_api.h"

#include <stdio.h>
#include <string.h>

#include "digestd/admin/posted.h"
#include "digestd/server/server.h"
#include "digestd/sidecar/feed_lines.h"
#include "digestd/sidecar/sidecar.h"

static const char feed_api_path[] = "/v1/held";

bool feed_api_is_meant(const struct exchange *x)
{
	const struct server_request *r = exchange_request(x);

	return r->target_len == sizeof(feed_api_path) - 1 &&
	       !memcmp(r->target, feed_api_path, r->target_len);
}

static void feed_api_reply(struct exchange *x, unsigned status,
			   const char *text)
{
	posted_reply(x, status, "POST", text, strlen(text));
}

void feed_api_serve(const struct sidecar *sidecar, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);

	if (strcmp(r->method, "POST") != 0) {
		feed_api_reply(x, 405, "");
		return;
	}
	if (!sidecar || !sidecar_takes_lines(sidecar)) {
		feed_api_reply(x, 409, sidecar ?
			       "nginx_cache says what is held\n" :
			       "this node is no sidecar\n");
		return;
	}
	if (posted_begin(x) && !r->has_body)
		feed_api_body_end(sidecar, x);
}

/* Whether all lines are right; if not, the exchange has been answered. */
static bool feed_api_check(struct exchange *x, const struct holdings *h,
			   const struct posted *b)
{
	struct posted_walk walk = { .at = 0 };
	struct feed_line line;
	char text[128];

	while (posted_next(b, &walk)) {
		const char *fault = feed_line_read(h, walk.text, walk.len,
						   &line);

		if (!fault)
			continue;
		snprintf(text, sizeof(text), "error %zu: %s\n", walk.number,
			 fault);
		feed_api_reply(x, 400, text);
		return false;
	}
	return true;
}

/* Does what the lines say; returns how many were refused. */
static uint64_t feed_api_apply(struct holdings *h, const struct posted *b)
{
	struct posted_walk walk = { .at = 0 };
	struct feed_line line;
	uint64_t refused = 0;

	while (posted_next(b, &walk)) {
		(void)feed_line_read(h, walk.text, walk.len, &line);
		holdings_lock(h);
		refused += !feed_line_apply(h, &line);
		holdings_unlock(h);
	}
	return refused;
}

void feed_api_body_end(const struct sidecar *sidecar, struct exchange *x)
{
	const struct feed_line posted = { .text = "post", .text_len = 4 };
	const struct posted *b = exchange_data(x);
	char text[FEED_ANSWER_BYTES];
	struct holdings_stats now;
	struct holdings *h;
	uint64_t refused;

	if (!b || exchange_answered(x))
		return;
	if (b->too_long) {
		feed_api_reply(x, 413, posted_too_long);
		return;
	}
	h = sidecar_holdings(sidecar);
	if (!feed_api_check(x, h, b))
		return;
	refused = feed_api_apply(h, b);
	holdings_stats(h, &now);
	feed_line_answer(&posted, now.keys, refused, text);
	feed_api_reply(x, 200, text);
}
