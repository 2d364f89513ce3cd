/*
 * The admin listener: one row a resource.
 */
#include "digestd/admin/admin.h"

#include <stdlib.h>
#include <string.h>

#include "digestd/admin/status_page.h"
#include "digestd/admin/feed_api.h"
#include "digestd/admin/posted.h"
#include "digestd/http/fields.h"

/* Answers with a text that is copied. */
static void admin_reply(struct exchange *x, unsigned status, const char *type,
			const char *text)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Content-Type", type) ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, status, &f, text, strlen(text));
	fields_free(&f);
}

static void admin_metrics(struct exchange *x, const struct node_status *s)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (to)
		node_status_metrics(s, to);
	if (!to || fclose(to))
		exchange_reply_error(x, 500, NULL);
	else
		admin_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8",
			    text);
	free(text);
}

static void admin_status(struct exchange *x, const struct node_status *s)
{
	char *text = node_status_json(s);

	if (text)
		admin_reply(x, 200, "application/json", text);
	else
		exchange_reply_error(x, 500, NULL);
	free(text);
}

static void admin_reply_page(struct exchange *x, const char *nonce,
			     const char *text)
{
	char policy[STATUS_PAGE_POLICY_BYTES];
	struct fields f;

	status_page_policy(nonce, policy);
	fields_init(&f);
	if (fields_add(&f, "Content-Type", "text/html; charset=utf-8") ||
	    fields_add(&f, "Cache-Control", "no-store") ||
	    fields_add(&f, "Content-Security-Policy", policy) ||
	    fields_add(&f, "X-Content-Type-Options", "nosniff") ||
	    fields_add(&f, "Referrer-Policy", "no-referrer"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, 200, &f, text, strlen(text));
	fields_free(&f);
}

static void admin_page(struct exchange *x, const struct node_status *s)
{
	char nonce[STATUS_PAGE_NONCE_BYTES];
	char *text = NULL;

	(void)s;
	if (!status_page_draw_nonce(nonce))
		text = status_page_text(nonce);
	if (text)
		admin_reply_page(x, nonce, text);
	else
		exchange_reply_error(x, 500, NULL);
	free(text);
}

static void admin_healthz(struct exchange *x, const struct node_status *s)
{
	(void)s;
	admin_reply(x, 200, "text/plain", "ok\n");
}

static void admin_readyz(struct exchange *x, const struct node_status *s)
{
	admin_reply(x, s->ready ? 200 : 503, "text/plain",
		    s->ready ? "ready\n" : "not ready\n");
}

static const struct {
	const char *target;
	void (*serve)(struct exchange *x, const struct node_status *s);
} resources[] = {
	{"/", admin_page},
	{"/status", admin_page},
	{"/metrics", admin_metrics},
	{"/status.json", admin_status},
	{"/healthz", admin_healthz},
	{"/readyz", admin_readyz},
};

static bool admin_is_target(const struct server_request *r, const char *target)
{
	return r->target_len == strlen(target) &&
	       !memcmp(r->target, target, r->target_len);
}

/* What an exchange's data are follows from its request: a purge, or a batch. */
static bool admin_is_purge(const struct exchange *x)
{
	return !strcmp(exchange_request(x)->method, "PURGE");
}

static bool admin_is_admit(const struct exchange *x)
{
	return !admin_is_purge(x) && admit_is_meant(x);
}

static bool admin_is_feed(const struct exchange *x)
{
	return !admin_is_purge(x) && feed_api_is_meant(x);
}

static void admin_on_request(void *arg, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const struct admin *admin = arg;
	struct node_status s;

	if (admin_is_purge(x)) {
		purge_serve(admin->purger, x);
		return;
	}
	if (admit_is_meant(x)) {
		admit_serve(admin->admit, x);
		return;
	}
	if (feed_api_is_meant(x)) {
		feed_api_serve(admin->sidecar, x);
		return;
	}
	if (strcmp(r->method, "GET") && strcmp(r->method, "HEAD")) {
		exchange_reply_error(x, 405, NULL);
		return;
	}
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (!admin_is_target(r, resources[i].target))
			continue;
		admin->gather(admin->arg, &s);
		resources[i].serve(x, &s);
		return;
	}
	exchange_reply_error(x, 404, NULL);
}

/* Whether its body is one of lines. */
static bool admin_is_posted(const struct exchange *x)
{
	return admin_is_admit(x) || admin_is_feed(x);
}

static size_t admin_on_body(void *arg, struct exchange *x, const void *data,
			    size_t len)
{
	(void)arg;
	return admin_is_posted(x) ? posted_add(x, data, len) : len;
}

static void admin_on_body_end(void *arg, struct exchange *x)
{
	const struct admin *admin = arg;

	if (admin_is_admit(x))
		admit_body_end(admin->admit, x);
	else if (admin_is_feed(x))
		feed_api_body_end(admin->sidecar, x);
}

static void admin_on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	(void)arg;
	(void)end;
	if (admin_is_posted(x))
		posted_leave(x);
	else
		purge_leave(x);
}

const struct server_handler admin_handler = {
	.on_request = admin_on_request,
	.on_body = admin_on_body,
	.on_body_end = admin_on_body_end,
	.on_done = admin_on_done,
};
