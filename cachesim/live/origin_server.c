/*
 * See origin_server.h. The threads share counters only.
 */
#include "config.h"

#include "cachesim/live/origin_server.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/mix.h"


enum {
	BLOCK_BYTES = 65536,
	IDLE_S = 60,
	CONNECTIONS_MAX = 10000,
	JSON_MAX = 512,
};

static const char stats_path[] = "/__origin/stats";

struct origin_server {
	const struct origin_options *opt;
	struct MHD_Daemon *mhd;
	atomic_uint_fast64_t requests, bytes, not_modified, not_found, refused;
};

/* What a connection's body still needs to know. */
struct sending {
	uint64_t hash, size;
	uint64_t wrong; /* offset of a wrong byte; UINT64_MAX: none */
	uint64_t end;	/* where it breaks off; UINT64_MAX: nowhere */
};

/* One request, from its request line to its end. */
struct request {
	bool seen; /* headers were shown once already */
	char target[];
};

static void *origin_server_start_request(void *cls, const char *uri,
					 struct MHD_Connection *c)
{
	size_t len = strlen(uri) + 1;
	struct request *r = malloc(sizeof(*r) + len);

	(void)cls;
	(void)c;
	if (r) {
		r->seen = false;
		memcpy(r->target, uri, len);
	}
	return r;
}

static void origin_server_end_request(void *cls, struct MHD_Connection *c,
				      void **con_cls,
				      enum MHD_RequestTerminationCode why)
{
	(void)cls;
	(void)c;
	(void)why;
	free(*con_cls);
	*con_cls = NULL;
}

static ssize_t origin_server_read_body(void *cls, uint64_t pos, char *out,
				       size_t max)
{
	struct sending *s = cls;
	size_t n = max;

	if (pos >= s->end)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n > s->end - pos)
		n = (size_t)(s->end - pos);
	if (n > s->size - pos)
		n = (size_t)(s->size - pos);
	body_fill(s->hash, pos, (uint8_t *)out, n);
	if (s->wrong >= pos && s->wrong - pos < n)
		out[s->wrong - pos] = (char)~out[s->wrong - pos];
	return (ssize_t)n;
}

/* Whether the n-th request is among a share of all. */
static bool origin_server_chosen(uint64_t n, double share, uint64_t purpose)
{
	double u = (double)(scd__mix64(n * 2 + purpose) >> 11) * 0x1p-53;

	return u < share;
}

static struct MHD_Response *
origin_server_make_body(struct origin_server *s, const struct origin_answer *a,
			uint64_t nth)
{
	struct sending *b = malloc(sizeof(*b));
	size_t block = a->size < BLOCK_BYTES ? (size_t)a->size : BLOCK_BYTES;
	struct MHD_Response *r;

	if (!b)
		return NULL;
	*b = (struct sending){ a->hash, a->size, UINT64_MAX, UINT64_MAX };
	if (origin_server_chosen(nth, s->opt->lie, 0))
		b->wrong = a->size / 2;
	if (origin_server_chosen(nth, s->opt->truncate, 1))
		b->end = a->size / 2;
	r = MHD_create_response_from_callback(a->size, block ? block : 1,
					      origin_server_read_body, b, free);
	if (!r)
		free(b);
	return r;
}

static enum MHD_Result origin_server_send_answer(struct origin_server *s,
						 struct MHD_Connection *c,
						 const struct origin_answer *a,
						 uint64_t nth)
{
	struct MHD_Response *r;
	enum MHD_Result ok;

	if (a->status == 304 || a->size == 0)
		r = MHD_create_response_from_buffer(0, NULL,
						    MHD_RESPMEM_PERSISTENT);
	else
		r = origin_server_make_body(s, a, nth);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "ETag", a->etag);
	MHD_add_response_header(r, "Last-Modified", a->modified);
	MHD_add_response_header(r, "Cache-Control", a->control);
	if (a->status != 304)
		MHD_add_response_header(r, "Content-Type",
					"application/octet-stream");
	if (a->status / 100 == 3 && a->status != 304)
		MHD_add_response_header(r, "Location", "/");
	ok = MHD_queue_response(c, a->status, r);
	MHD_destroy_response(r);
	return ok;
}

/* A short text that is no object: an error, the counts. */
static enum MHD_Result origin_server_send_text(struct MHD_Connection *c,
					       unsigned status,
					       const char *type,
					       const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result origin_server_send_stats(struct origin_server *s,
						struct MHD_Connection *c)
{
	char json[JSON_MAX];
	struct origin_counts n;

	origin_server_counts(s, &n);
	snprintf(json, sizeof(json),
		 "{\"requests\": %" PRIu64 ", \"bytes\": %" PRIu64
		 ", \"not_modified\": %" PRIu64 ", \"not_found\": %" PRIu64
		 ", \"refused\": %" PRIu64 "}\n",
		 n.requests, n.bytes, n.not_modified, n.not_found, n.refused);
	return origin_server_send_text(c, 200, "application/json", json);
}

static enum MHD_Result origin_server_refuse(struct origin_server *s,
					    struct MHD_Connection *c,
					    unsigned status)
{
	s->refused++;
	return origin_server_send_text(c, status, "text/plain", "refused\n");
}

/* The target of a request in absolute or origin form. 0 or TRACE_EURL. */
static int origin_server_find_target(struct object_url *t,
				     struct MHD_Connection *c, const char *raw)
{
	const char *host =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	char *url;
	int len, err;

	if (raw[0] != '/')
		return object_url_make(t,
				       (struct trace_text){raw, strlen(raw)});
	len = asprintf(&url, "http://%s%s", host ? host : "localhost", raw);
	if (len < 0)
		return TRACE_ENOMEM;
	err = object_url_make(t, (struct trace_text){ url, (size_t)len });
	free(url);
	return err;
}

static void origin_server_wait_ms(unsigned ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static enum MHD_Result origin_server_answer_object(struct origin_server *s,
						   struct MHD_Connection *c,
						   const char *raw, bool head)
{
	struct object_url t;
	struct origin_answer a;
	uint64_t nth;

	if (origin_server_find_target(&t, c, raw))
		return origin_server_refuse(s, c, 400);
	origin_answer_make(&a, &s->opt->rules, &t,
			   MHD_lookup_connection_value(c, MHD_HEADER_KIND,
						       "If-None-Match"),
			   MHD_lookup_connection_value(c, MHD_HEADER_KIND,
						       "If-Modified-Since"));
	nth = s->requests++;
	if (a.status == 304)
		s->not_modified++;
	else if (a.status == 404)
		s->not_found++;
	if (a.status != 304 && !head)
		s->bytes += a.size;
	if (s->opt->delay_ms)
		origin_server_wait_ms((unsigned)s->opt->delay_ms);
	return origin_server_send_answer(s, c, &a, nth);
}

static enum MHD_Result
origin_server_on_request(void *cls, struct MHD_Connection *c, const char *url,
			 const char *method, const char *version,
			 const char *upload, size_t *upload_size,
			 void **con_cls)
{
	struct origin_server *s = cls;
	struct request *r = *con_cls;
	bool head = !strcmp(method, "HEAD");

	(void)url;
	(void)version;
	(void)upload;
	if (!r)
		return MHD_NO;
	if (!r->seen || *upload_size) {
		/* a body is read and dropped before the answer */
		r->seen = true;
		*upload_size = 0;
		return MHD_YES;
	}
	if (!head && strcmp(method, "GET"))
		return origin_server_refuse(s, c, 405);
	if (!strcmp(r->target, stats_path))
		return origin_server_send_stats(s, c);
	return origin_server_answer_object(s, c, r->target, head);
}

int origin_server_new(struct origin_server **out, const struct sockaddr *at,
		      socklen_t len, const struct origin_options *opt)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;
	struct origin_server *s = calloc(1, sizeof(*s));

	(void)len;
	*out = s;
	if (!s)
		return -ENOMEM;
	s->opt = opt;
	if (at->sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	if (opt->delay_ms)
		flags |= MHD_USE_THREAD_PER_CONNECTION;
	errno = 0;
	s->mhd = MHD_start_daemon(
		flags, 0, NULL, NULL, origin_server_on_request, s,
		MHD_OPTION_SOCK_ADDR, at, MHD_OPTION_URI_LOG_CALLBACK,
		origin_server_start_request, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		origin_server_end_request, NULL, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)IDLE_S, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX, MHD_OPTION_THREAD_POOL_SIZE,
		opt->delay_ms ? 0u : (unsigned)opt->threads, MHD_OPTION_END);
	if (s->mhd)
		return 0;
	origin_server_free(out);
	return errno ? -errno : -EIO;
}

uint16_t origin_server_port(const struct origin_server *s)
{
	return MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void origin_server_counts(struct origin_server *s, struct origin_counts *out)
{
	*out = (struct origin_counts){ s->requests, s->bytes, s->not_modified,
				       s->not_found, s->refused };
}

void origin_server_free(struct origin_server **s)
{
	if (!*s)
		return;
	if ((*s)->mhd)
		MHD_stop_daemon((*s)->mhd);
	free(*s);
	*s = NULL;
}
