/*
 * The admin listener: one row a resource.
 */
#include "digestd/admin/admin.h"

#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"

/* Answers with a text that is copied. */
static void reply(struct exchange *x, unsigned status, const char *type,
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

static void metrics(struct exchange *x, const struct node_status *s)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (to)
		node_status_metrics(s, to);
	if (!to || fclose(to))
		exchange_reply_error(x, 500, NULL);
	else
		reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", text);
	free(text);
}

static void status(struct exchange *x, const struct node_status *s)
{
	char *text = node_status_json(s);

	if (text)
		reply(x, 200, "application/json", text);
	else
		exchange_reply_error(x, 500, NULL);
	free(text);
}

static void healthz(struct exchange *x, const struct node_status *s)
{
	(void)s;
	reply(x, 200, "text/plain", "ok\n");
}

static void readyz(struct exchange *x, const struct node_status *s)
{
	reply(x, s->ready ? 200 : 503, "text/plain",
	      s->ready ? "ready\n" : "not ready\n");
}

static const struct {
	const char *target;
	void (*serve)(struct exchange *x, const struct node_status *s);
} resources[] = {
	{ "/metrics", metrics },
	{ "/status.json", status },
	{ "/healthz", healthz },
	{ "/readyz", readyz },
};

static bool is_target(const struct server_request *r, const char *target)
{
	return r->target_len == strlen(target) &&
	       !memcmp(r->target, target, r->target_len);
}

static void on_request(void *arg, struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const struct admin *admin = arg;
	struct node_status s;

	if (!strcmp(r->method, "PURGE")) {
		purge_serve(admin->purger, x);
		return;
	}
	if (admit_is_meant(x)) {
		admit_serve(admin->admit, x);
		return;
	}
	if (strcmp(r->method, "GET") && strcmp(r->method, "HEAD")) {
		exchange_reply_error(x, 405, NULL);
		return;
	}
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (!is_target(r, resources[i].target))
			continue;
		admin->gather(admin->arg, &s);
		resources[i].serve(x, &s);
		return;
	}
	exchange_reply_error(x, 404, NULL);
}

/* What an exchange's data are follows from its request: a purge, or a batch. */
static bool is_admit(const struct exchange *x)
{
	return strcmp(exchange_request(x)->method, "PURGE") != 0 &&
	       admit_is_meant(x);
}

static size_t on_body(void *arg, struct exchange *x, const void *data,
		      size_t len)
{
	(void)arg;
	return is_admit(x) ? admit_body(x, data, len) : len;
}

static void on_body_end(void *arg, struct exchange *x)
{
	const struct admin *admin = arg;

	if (is_admit(x))
		admit_body_end(admin->admit, x);
}

static void on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	(void)arg;
	(void)end;
	if (is_admit(x))
		admit_leave(x);
	else
		purge_leave(x);
}

const struct server_handler admin_handler = {
	.on_request = on_request,
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_done = on_done,
};
