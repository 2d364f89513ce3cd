/*
 * The HTTP client of a world, in place of digestd/fetch: by the contract of
 * fetch.h, over the world's connections.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"

enum { UPLOAD_BYTES = 4096 };

struct fetcher {
	int place; /* whose it is */
	struct fetch *fetches;
};

struct fetch {
	struct fetcher *fetcher;
	struct wire *wire;
	const char *to, *target; /* in text */
	struct fields fields;
	const struct fields *response; /* within on_headers() */
	struct fetch_limits limits;
	struct fetch_upload upload;
	bool uploads, upload_waits;
	bool upgrades; /* it asks for another protocol, or has it */
	bool answered; /* the response is whole, and the upload is not */
	const struct fetch_callbacks *callbacks;
	void *arg;
	bool connected, has_head, until_close, paused;
	int64_t started_us, connected_us, bytes_us;
	int64_t sent_us; /* the last of the upload; or when it started */
	int64_t limit_us; /* when its time is up; the event may come sooner */
	struct world_event limit, turn;
	struct fetch *next, **link;
	char text[];
};

/* The one whose on_body() runs; null again when that has freed it. */
static struct fetch *fetch_in_call;

int fetch_global_init(void)
{
	return 0;
}

int fetcher_new(struct loop *loop, enum fetcher_use use,
		unsigned max_per_host, struct fetcher **out)
{
	(void)loop;
	(void)use;
	(void)max_per_host;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->place = nodes_place;
	return 0;
}

void fetcher_public_only(struct fetcher *fetcher)
{
	(void)fetcher;
}

/* A connection carries one request here. */
void fetcher_warm(struct fetcher *fetcher, const char *url,
		  struct tls_client *tls, unsigned connect_ms, unsigned n)
{
	(void)fetcher;
	(void)url;
	(void)tls;
	(void)connect_ms;
	(void)n;
}

void fetcher_free(struct fetcher **fetcher)
{
	if (!*fetcher)
		return;
	while ((*fetcher)->fetches) {
		struct fetch *f = (*fetcher)->fetches;

		fetch_cancel(&f);
	}
	free(*fetcher);
	*fetcher = NULL;
}

static void fetch_free(struct fetch *f)
{
	if (fetch_in_call == f)
		fetch_in_call = NULL;
	world_cancel(&f->limit);
	world_cancel(&f->turn);
	wire_close(&f->wire, WIRE_ASKER);
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	fields_free(&f->fields);
	free(f);
}

void fetch_cancel(struct fetch **f)
{
	if (!*f)
		return;
	fetch_free(*f);
	*f = NULL;
}

static void fetch_end(struct fetch *f, enum fetch_result result)
{
	const struct fetch_callbacks *callbacks = f->callbacks;
	const struct fetch_done done = {
		.result = result,
		.sent = f->connected,
		.ended_by_close = f->until_close,
		.timing.total_ms = (unsigned)((world_now_us - f->started_us) /
					      1000),
	};
	void *arg = f->arg;

	world_cancel(&f->limit);
	world_cancel(&f->turn);
	world_mix((uint64_t)result + 1000);
	wire_close(&f->wire, WIRE_ASKER);
	callbacks->on_done(arg, f, &done);
	fetch_free(f);
}

static int64_t fetch_soonest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Which limit comes next. */
static void fetch_set_limit(struct fetch *f);
static void fetch_run_limit(void *arg);

/* An event that comes sooner will do: hardly any fetch lives until then, and
 * moving the event each time costs more. */
static void fetch_wait_limit(struct fetch *f)
{
	bool waits = f->limit.place && f->limit.at_us <= f->limit_us;

	if (!waits && f->limit_us != INT64_MAX)
		world_at(&f->limit, f->limit_us, fetch_run_limit, f);
}

static void fetch_run_limit(void *arg)
{
	struct fetch *f = arg;
	int64_t idle_us = world_now_us - f->bytes_us;

	world_loop_runs(f->fetcher->place);
	if (world_now_us < f->limit_us) {
		fetch_wait_limit(f);
		return;
	}
	if (f->has_head && f->limits.low_rate && f->limits.low_rate_s &&
	    !f->limits.total_ms &&
	    (f->paused || idle_us < (int64_t)f->limits.low_rate_s * 1000000)) {
		fetch_set_limit(f);
		return;
	}
	fetch_end(f, FETCH_TIMEOUT);
}

static void fetch_set_limit(struct fetch *f)
{
	int64_t at_us = INT64_MAX;

	if (f->limits.total_ms)
		at_us = f->started_us + (int64_t)f->limits.total_ms * 1000;
	if (!f->connected)
		at_us = fetch_soonest(at_us, f->started_us +
				      (int64_t)f->limits.connect_ms * 1000);
	if (!f->has_head)
		at_us = fetch_soonest(at_us, f->sent_us +
				      (int64_t)f->limits.first_byte_ms * 1000);
	else if (f->limits.low_rate && !f->limits.total_ms)
		at_us = fetch_soonest(at_us, (f->paused ? world_now_us :
							  f->bytes_us) +
				      (int64_t)f->limits.low_rate_s * 1000000);
	f->limit_us = at_us;
	fetch_wait_limit(f);
}

/* Sends what there is of the request's body, once it is connected. */
static void fetch_push(struct fetch *f)
{
	char buf[UPLOAD_BYTES];
	size_t room;

	while (f->connected && f->uploads && !f->upload_waits &&
	       (room = wire_room(f->wire, WIRE_ASKER)) > 0) {
		size_t cap = room < sizeof(buf) ? room : sizeof(buf);
		ssize_t n = f->upload.read(f->arg, buf, cap);

		if (n > 0) {
			wire_send(f->wire, WIRE_ASKER, buf, (size_t)n);
			f->sent_us = world_now_us;
			fetch_set_limit(f);
		} else if (n == FETCH_MORE) {
			f->upload_waits = true;
		} else if (n == FETCH_EOF) {
			f->uploads = false;
			wire_send_end(f->wire, WIRE_ASKER);
			if (f->answered) {
				fetch_end(f, FETCH_COMPLETE);
				return;
			}
		} else {
			fetch_end(f, FETCH_BAD);
			return;
		}
	}
}

static void fetch_run_turn(void *arg)
{
	struct fetch *f = arg;

	world_loop_runs(f->fetcher->place);
	if (f->wire && !f->paused)
		wire_resume(f->wire, WIRE_ASKER);
	fetch_push(f);
}

static void fetch_schedule(struct fetch *f)
{
	if (!f->turn.place)
		world_at(&f->turn, world_now_us, fetch_run_turn, f);
}

int fetch_take_fields(struct fetch *f, struct fields *fields)
{
	return fields_copy(f->response, fields);
}

void fetch_lift_total(struct fetch *f)
{
	f->limits.total_ms = 0;
	fetch_set_limit(f);
}

void fetch_resume(struct fetch *f)
{
	f->paused = false;
	f->bytes_us = world_now_us;
	fetch_schedule(f);
}

void fetch_resume_upload(struct fetch *f)
{
	f->upload_waits = false;
	fetch_schedule(f);
}

unsigned fetch_connect_ms(const struct fetch *f)
{
	return (unsigned)((f->connected_us - f->started_us) / 1000);
}

unsigned fetch_trip_ms(struct fetch *f)
{
	return fetch_connect_ms(f) + 1;
}

bool fetch_is_sent(const struct fetch *f)
{
	return f->connected;
}

/* What comes from the other side */

static void fetch_on_connected(void *arg)
{
	struct fetch *f = arg;

	if (!f->connected)
		f->connected_us = world_now_us;
	f->connected = true;
	fetch_set_limit(f);
	if (f->uploads)
		fetch_schedule(f);
}

/* What the header of the response says of the request's body. */
static void fetch_take_status(struct fetch *f, unsigned status)
{
	if (f->upgrades && status == 101) {
		f->uploads = true;
		f->limits.low_rate = 0;
		fetch_schedule(f);
	} else if (f->upgrades) {
		wire_send_end(f->wire, WIRE_ASKER);
	} else if (status >= 300) {
		f->uploads = false; /* nobody wants the rest */
	}
}

static void fetch_on_head(void *arg, const struct wire_head *head)
{
	struct fetch *f = arg;

	fetch_take_status(f, head->status);
	f->has_head = true;
	f->until_close = head->until_close;
	f->bytes_us = world_now_us;
	fetch_set_limit(f);
	f->response = head->fields;
	if (f->callbacks->on_headers)
		f->callbacks->on_headers(f->arg, f, head->status, head->fields,
					 head->body_len);
}

static size_t fetch_on_bytes(void *arg, const char *data, size_t len)
{
	struct fetch *f = arg;
	bool taken;

	f->bytes_us = world_now_us;
	if (!f->callbacks->on_body)
		return len;
	fetch_in_call = f;
	taken = f->callbacks->on_body(f->arg, f, data, len);
	if (!fetch_in_call) /* cancelled by the call */
		return len;
	fetch_in_call = NULL;
	f->paused = !taken;
	return taken ? len : 0;
}

static void fetch_on_end(void *arg)
{
	struct fetch *f = arg;

	if (!f->uploads) {
		fetch_end(f, FETCH_COMPLETE);
		return;
	}
	f->answered = true;
	f->limits.low_rate = 0;
	fetch_set_limit(f);
	if (f->upgrades && f->callbacks->on_half_close)
		f->callbacks->on_half_close(f->arg, f);
}

static void fetch_on_broken(void *arg, enum wire_end why)
{
	struct fetch *f = arg;

	if (f->answered) { /* it takes no more */
		fetch_end(f, FETCH_COMPLETE);
		return;
	}
	switch (why) {
	case WIRE_REFUSED:
		fetch_end(f, FETCH_NOCONNECT);
		return;
	case WIRE_BROKEN:
		fetch_end(f, f->has_head ? FETCH_TRUNCATED : FETCH_BAD);
		return;
	case WIRE_GARBAGE:
		fetch_end(f, FETCH_BAD);
	}
}

static void fetch_on_room(void *arg)
{
	fetch_push(arg);
}

static const struct wire_ops fetch_ops = {
	.on_connected = fetch_on_connected,
	.on_head = fetch_on_head,
	.on_bytes = fetch_on_bytes,
	.on_end = fetch_on_end,
	.on_broken = fetch_on_broken,
	.on_room = fetch_on_room,
};

/* One to "http://10.0.0.1:8080/path", which is split in two; a target that is
 * not null is sent in place of the path. Null without memory. */
static struct fetch *fetch_new(const char *url, const char *target)
{
	const char *host = strncmp(url, "http://", 7) ? url : url + 7;
	size_t host_len = strcspn(host, "/"), target_len;
	struct fetch *f;

	if (!target)
		target = host[host_len] ? host + host_len : "/";
	target_len = strlen(target);
	f = calloc(1, sizeof(*f) + host_len + target_len + 2);
	if (!f)
		return NULL;
	memcpy(f->text, host, host_len);
	memcpy(f->text + host_len + 1, target, target_len);
	f->to = f->text;
	f->target = f->text + host_len + 1;
	return f;
}

static void fetch_send_head(struct fetch *f, const char *method)
{
	const struct wire_head head = {
		.method = method,
		.target = f->target,
		.has_body = f->uploads,
		.body_len = f->uploads ? f->upload.len : 0,
	};

	wire_move_head(f->wire, WIRE_ASKER, &head, &f->fields);
	if (f->uploads)
		fetch_schedule(f);
	else if (!f->upgrades)
		wire_send_end(f->wire, WIRE_ASKER);
}

int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
		const struct fetch_callbacks *callbacks, void *arg,
		struct fetch **out)
{
	struct fetch *f = fetch_new(request->url, request->target);

	if (!f)
		return -ENOMEM;
	f->next = fetcher->fetches;
	f->link = &fetcher->fetches;
	if (f->next)
		f->next->link = &f->next;
	fetcher->fetches = f;
	f->fetcher = fetcher;
	f->limits = *request->limits;
	f->callbacks = callbacks;
	f->arg = arg;
	f->started_us = f->connected_us = f->sent_us = world_now_us;
	f->connected = wire_weather.whole; /* it is kept open */
	if (request->upload) {
		f->uploads = !request->upgrade;
		f->upload = *request->upload;
	}
	f->upgrades = request->upgrade;
	if (fields_copy(request->fields ? request->fields : &fields_none,
			&f->fields) ||
	    (f->upgrades &&
	     (fields_add(&f->fields, "Connection", "upgrade") ||
	      fields_add(&f->fields, "Upgrade", request->upgrade)))) {
		fetch_free(f);
		return -ENOMEM;
	}
	f->wire = wire_open(fetcher->place, f->to, &fetch_ops, f);
	fetch_send_head(f, request->method);
	fetch_set_limit(f);
	*out = f;
	return 0;
}
