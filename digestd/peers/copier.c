/*
 * The copier: a job a list.
 */
#include "digestd/peers/copier.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/peers/token.h"

enum { COPIER_HEADER_MAX = 16384 };

struct copier_job {
	struct copier *copier;
	char *url; /* of the list */
	uint32_t peer;
	uint64_t bytes; /* still to be had */
	bool again;
	struct fetch *fetch; /* of the list */
	unsigned status;
	char *text; /* of the list, and a NUL, */
	size_t len;
	bool too_long;
	char *at; /* as far as it has been read */
	unsigned running; /* copies */
	uint64_t copied, copied_bytes;
	struct copier_job *next, **link;
};

struct copier {
	struct loop *loop;
	struct fetcher *fetcher;
	struct copier_settings settings;
	void (*copy)(void *arg, struct peer_copy *c);
	void *arg;
	struct copier_job *jobs;
	bool stopped;
	struct copier_counters counters;
};

int copier_new(struct loop *loop, struct fetcher *fetcher,
	       const struct copier_settings *settings,
	       void (*copy)(void *arg, struct peer_copy *c), void *arg,
	       struct copier **out)
{
	struct copier *c = calloc(1, sizeof(*c));

	assert(loop && fetcher && copy);
	if (!c)
		return -ENOMEM;
	*c = (struct copier){ .loop = loop, .fetcher = fetcher,
			      .settings = *settings, .copy = copy, .arg = arg };
	*out = c;
	return 0;
}

void copier_set(struct copier *c, const struct copier_settings *settings)
{
	c->settings = *settings;
}

bool copier_is_busy(const struct copier *c)
{
	return c->jobs;
}

void copier_count(const struct copier *c, struct copier_counters *out)
{
	*out = c->counters;
}

/* Jobs */

static void copier_job_free(struct copier_job *job)
{
	fetch_cancel(&job->fetch);
	assert(!job->running);
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
	free(job->text);
	free(job->url);
	free(job);
}

static void copier_job_end(struct copier_job *job)
{
	if (job->copied)
		log_write(LOG_INFO, "copier", "%s: objects copied: %" PRIu64
			  ", their bytes: %" PRIu64, job->url, job->copied,
			  job->copied_bytes);
	copier_job_free(job);
}

static void copier_drop_text(struct copier_job *job)
{
	free(job->text);
	job->text = job->at = NULL;
	job->len = 0;
}

/* The list */

/* The next line, ended by a NUL in place; null: no more. */
static char *copier_take_line(struct copier_job *job)
{
	char *line = job->at, *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	job->at = end + 1;
	return line;
}

/* A field of an entry; false: it is none. */
static bool copier_take_field(char *line, struct fields *fields)
{
	char *colon = strchr(line, ':');

	if (!colon || colon[1] != ' ' ||
	    fields_count(fields) == COPIER_FIELDS_MAX)
		return false;
	*colon = '\0';
	/* what may not be sent is refused when it is about to be */
	return !fields_add(fields, line, colon + 2);
}

static void copier_copy_free(struct peer_copy *copy)
{
	fields_free(&copy->fields);
	free(copy->uri);
	free(copy);
}

static void copier_on_copied(void *arg);

/* The next entry; null: no more, or none that is right. */
static struct peer_copy *copier_take_entry(struct copier_job *job)
{
	struct peer_copy *copy = calloc(1, sizeof(*copy));
	char *line = copy ? copier_take_line(job) : NULL;
	bool right = line;

	if (!line) {
		free(copy);
		return NULL;
	}
	fields_init(&copy->fields);
	copy->uri = strdup(line);
	right = copy->uri && *line && *line != '\t';
	while (right && *job->at == '\t') {
		line = copier_take_line(job);
		right = line && copier_take_field(line + 1, &copy->fields);
	}
	if (!right) {
		copier_copy_free(copy);
		return NULL;
	}
	copy->peer = job->peer;
	copy->stays = !job->again; /* what is hot there; else handed over */
	copy->loop = job->copier->loop;
	copy->done = (struct loop_call){ .run = copier_on_copied,
					  .arg = copy };
	copy->job = job;
	return copy;
}

static void copier_ask(struct copier_job *job);

/* Copies more, or goes on; may free the job. */
static void copier_go_on(struct copier_job *job)
{
	struct copier *c = job->copier;
	struct peer_copy *copy;

	while (job->bytes && !c->stopped && job->running < COPIER_AT_ONCE &&
	       (copy = copier_take_entry(job))) {
		job->running++;
		c->copy(c->arg, copy);
	}
	if (job->running)
		return;
	copier_drop_text(job);
	if (job->again && job->bytes && !c->stopped)
		copier_ask(job);
	else
		copier_job_end(job);
}

static void copier_on_copied(void *arg)
{
	struct peer_copy *copy = arg;
	struct copier_job *job = copy->job;
	struct copier *c = job->copier;

	job->running--;
	job->bytes -= copy->bytes < job->bytes ? copy->bytes : job->bytes;
	if (copy->stored) {
		job->copied++;
		job->copied_bytes += copy->bytes;
		c->counters.copied++;
		c->counters.copied_bytes += copy->bytes;
	} else {
		c->counters.passed_over++;
	}
	copier_copy_free(copy);
	copier_go_on(job);
}

/* Fetching it */

static void copier_on_headers(void *arg, struct fetch *fetch, unsigned status,
			      const struct fields *fields, int64_t body_len)
{
	struct copier_job *job = arg;

	(void)fetch;
	(void)fields;
	(void)body_len;
	job->status = status;
}

static bool copier_on_body(void *arg, struct fetch *fetch, const void *data,
			   size_t len)
{
	struct copier_job *job = arg;
	char *more;

	(void)fetch;
	if (job->too_long || len > COPIER_LIST_MAX - job->len) {
		job->too_long = true;
		return true;
	}
	more = realloc(job->text, job->len + len + 1);
	if (!more) {
		job->too_long = true;
		return true;
	}
	job->text = more;
	memcpy(more + job->len, data, len);
	job->len += len;
	more[job->len] = '\0';
	return true;
}

static void copier_on_done(void *arg, struct fetch *fetch,
			   const struct fetch_done *done)
{
	struct copier_job *job = arg;

	(void)fetch;
	job->fetch = NULL;
	if (done->result != FETCH_COMPLETE || job->status != 200 ||
	    job->too_long || !job->len) {
		copier_job_end(job);
		return;
	}
	job->copier->counters.lists++;
	job->at = job->text;
	copier_go_on(job);
}

static const struct fetch_callbacks copier_callbacks = {
	.on_headers = copier_on_headers,
	.on_body = copier_on_body,
	.on_done = copier_on_done,
};

static int copier_fetch(struct copier_job *job, const struct fields *fields)
{
	const struct copier_settings *s = &job->copier->settings;
	const struct fetch_limits limits = {
		.connect_ms = (unsigned)s->timeout_ms,
		.first_byte_ms = (unsigned)s->timeout_ms,
		.total_ms = (unsigned)s->timeout_ms,
		.max_header_bytes = COPIER_HEADER_MAX,
	};
	const struct fetch_request request = {
		.method = "GET",
		.url = job->url,
		.fields = fields,
		.limits = &limits,
		.tls = s->tls,
	};

	return fetch_start(job->copier->fetcher, &request, &copier_callbacks,
			   job, &job->fetch);
}

static void copier_ask(struct copier_job *job)
{
	struct fields fields;
	int err;

	fields_init(&fields);
	err = token_add_field(job->copier->settings.token, &fields);
	if (!err)
		err = copier_fetch(job, &fields);
	fields_free(&fields);
	if (err)
		copier_job_end(job);
}

static bool copier_has(const struct copier *c, const char *url)
{
	for (const struct copier_job *job = c->jobs; job; job = job->next) {
		if (!strcmp(job->url, url))
			return true;
	}
	return false;
}

void copier_begin(struct copier *c, const struct copier_order *order)
{
	size_t len = strlen(order->url) + strlen(order->path) + 1;
	struct copier_job *job = calloc(1, sizeof(*job));
	char *url = malloc(len);

	if (url)
		snprintf(url, len, "%s%s", order->url, order->path);
	if (!job || !url || c->stopped || copier_has(c, url)) {
		free(job);
		free(url);
		return;
	}
	*job = (struct copier_job){ .copier = c, .url = url,
				    .peer = order->peer, .bytes = order->bytes,
				    .again = order->again, .next = c->jobs,
				    .link = &c->jobs };
	if (job->next)
		job->next->link = &job->next;
	c->jobs = job;
	copier_ask(job);
}

void copier_stop(struct copier *c)
{
	struct copier_job *next;

	c->stopped = true;
	for (struct copier_job *job = c->jobs; job; job = next) {
		next = job->next;
		if (!job->running)
			copier_job_end(job);
	}
}

void copier_free(struct copier **c)
{
	if (!*c)
		return;
	assert((*c)->stopped && !(*c)->jobs);
	free(*c);
	*c = NULL;
}
