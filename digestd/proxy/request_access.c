/*
 * What the access log is told of a request: gathered when it is over, in the
 * worker, which makes no text of it.
 */
#include <string.h>

#include "digestd/os/access_log.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

static struct field_part request_access_text(const char *text)
{
	return (struct field_part){ text, text ? strlen(text) : 0 };
}

static struct field_part request_access_value(const struct field *line)
{
	return (struct field_part){ line->value, line->value_len };
}

/* What the client has sent. */
static void request_access_fields(const struct server_request *in,
				  struct access_record *out)
{
	out->method = request_access_text(in->method);
	out->target = (struct field_part){ in->target, in->target_len };
	out->minor = in->minor;
	out->http2 = in->http2;
	out->https = in->https;
	const char *trace = NULL;
	unsigned traces = 0;

	for (size_t i = 0; i < fields_count(in->fields); i++) {
		const struct field *f = fields_at(in->fields, i);

		if (field_is(f, "Host"))
			out->host = request_access_value(f);
		else if (field_is(f, "User-Agent"))
			out->agent = request_access_value(f);
		else if (field_is(f, "Referer"))
			out->referer = request_access_value(f);
		else if (field_is(f, "traceparent") && !traces++)
			trace = f->value;
	}
	if (traces == 1)
		(void)trace_context_read(trace, out->trace_id);
}

/* Whether it is in the sample, as errors always are. */
static bool request_access_is_sampled(struct worker *w,
				      const struct access_record *note)
{
	unsigned every = w->settings->access_log_sample;

	if (every <= 1 || note->status < 200 || note->status >= 400)
		return true;
	if (*note->trace_id)
		return trace_context_is_sampled(note->trace_id, every);
	return w->access_seen++ % every == 0;
}

/* Why it is not from the store, or why it is an error. */
static const char *request_access_reason(const struct request *r)
{
	if (r->why)
		return r->why;
	return r->source < ACCESS_FROM_peer ? NULL :
					      cachestatus_fwd_text(r->fwd);
}

static const char *request_access_from(const struct request *r)
{
	if (r->source == ACCESS_FROM_origin)
		return r->fill ? fill_origin_label(r->fill) : r->q->upstream;
	return r->source == ACCESS_FROM_peer && r->fill && r->fill->peer
		       ? r->fill->peer->name : NULL;
}

static unsigned request_access_ms(const struct request *r, int64_t until_us)
{
	int64_t us = until_us - r->came_us;

	return us > 0 ? (unsigned)(us / 1000) : 0;
}

static bool request_access_is_on(const struct worker *w)
{
	return w->access && access_ring_is_on(w->access);
}

/* Not inline: its frame is large, and mostly there is no log. */
static __attribute__((noinline)) void
request_access_write(struct request *r, enum exchange_end end)
{
	struct exchange_account account;
	struct access_record note = { .source = r->source };

	exchange_account(r->x, &account);
	request_access_fields(r->in, &note);
	note.status = account.status;
	if (!request_access_is_sampled(r->worker, &note))
		return;
	note.bytes = account.bytes;
	note.aborted = end == EXCHANGE_ABORTED;
	note.duration_ms = request_access_ms(
		r, loop_now_us(r->worker->loop));
	note.time_ms = loop_wall_ms(r->worker->loop) - note.duration_ms;
	note.reply_ms = account.status
				? request_access_ms(r, account.replied_us)
				: note.duration_ms;
	note.reason = request_access_text(request_access_reason(r));
	note.from = request_access_text(request_access_from(r));
	note.stale = r->fwd == CACHESTATUS_STALE;
	if (r->fill) {
		note.fwd_status = r->fill->fwd_status;
		note.peer_ms = fill_figures_leg_ms(r->fill, UPSTREAM_peer);
		note.origin_ms = fill_figures_leg_ms(r->fill, UPSTREAM_origin);
	}
	access_ring_put(r->worker->access, &note, r->in->client);
}

void request_access_note(struct request *r, enum exchange_end end)
{
	if (!r->node.from_peer && request_access_is_on(r->worker))
		request_access_write(r, end);
}

void request_access_refused(struct worker *w, struct exchange *x,
			    unsigned status)
{
	struct access_record note = { .time_ms = loop_wall_ms(w->loop),
				      .source = ACCESS_FROM_node };
	enum refusal reason = refusal_of_status(status);
	struct exchange_account account;

	if (!request_access_is_on(w))
		return;
	exchange_account(x, &account);
	request_access_fields(exchange_request(x), &note);
	note.status = status;
	note.bytes = account.bytes;
	if (reason < REFUSAL_COUNT)
		note.reason = request_access_text(refusal_name(reason));
	access_ring_put(w->access, &note, exchange_request(x)->client);
}
