/*
 * The origin and the oracle.
 */
#include "tests/world/origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/range.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"

enum {
	PAUSE_US = 50000,
	PAUSES_MAX = 200, /* of an upload: ten seconds, of sixty until 504 */
	EARLY_BYTES = 5000,   /* of an answer that comes early, at most */
	LINGER_US = 10000000, /* for the rest of what was refused */
	/* seconds are rounded in Date, in Age, and in lifetimes */
	SLACK_US = 3000000,
};

const char *const origin_name = "192.0.2.1:80";
static const char *const origin_others[ORIGIN_OTHERS_MAX] = {
	"192.0.2.2:80", "192.0.2.3:80",
};

enum trait {
	TRAIT_ETAG = 1,
	TRAIT_VARIES = 2,
	TRAIT_PRIVATE = 4,
	TRAIT_CHUNKED = 8,
	TRAIT_UNTIL_CLOSE = 16,
	TRAIT_MUST_REVALIDATE = 32,
	TRAIT_WHILE_REVALIDATE = 64,
	TRAIT_NO_STORE = 128,
	TRAIT_COOKIE = 256,
	TRAIT_SAME_LENGTH = 512, /* all versions */
	TRAIT_LARGE = 1024,      /* no version is short */
	TRAIT_RANGES = 2048,     /* and so it has tags and lengths */
};

enum { WHILE_REVALIDATE_S = 5 };

struct resource {
	unsigned traits;
	uint32_t lifetime_s, max_bytes;
	uint32_t nversions, cap;
	int64_t *until_us; /* of versions 1 to nversions - 1 */
};

/* A request that is being answered. */
struct service {
	struct wire *wire;
	uint32_t resource;
	struct version v;
	uint32_t who;
	uint64_t uploaded;
	unsigned pauses;
	int64_t upload_len; /* -1: unknown */
	bool unsafe, is_head, answering, done;
	bool heard;   /* the whole request */
	bool early;   /* it is answered before that */
	bool upgrade; /* it asks for ORIGIN_PROTOCOL */
	unsigned status; /* of an answer that comes early */
	char etag[ORIGIN_TEXT]; /* that the asker has */
	char if_range[ORIGIN_TEXT];
	struct range_wanted range; /* if it has a part in mind */
	bool ranged;
	size_t sent, len, first;
	struct fields fields;
	struct world_event turn, resume;
	struct service *next, **link;
};

static struct {
	struct origin_plan plan;
	struct resource *resources;
	struct wire_listener listeners[1 + ORIGIN_OTHERS_MAX];
	bool listens[1 + ORIGIN_OTHERS_MAX];
	struct service *services;
	uint8_t *once; /* a byte for each number: it has come */
	size_t nonce;
} origin;

/* Resources */

static void origin_choose(struct resource *r)
{
	static const unsigned chances[][2] = {
		{ TRAIT_ETAG, 600 },	       { TRAIT_VARIES, 200 },
		{ TRAIT_PRIVATE, 50 },	       { TRAIT_CHUNKED, 300 },
		{ TRAIT_UNTIL_CLOSE, 30 },     { TRAIT_MUST_REVALIDATE, 300 },
		{ TRAIT_WHILE_REVALIDATE, 200 }, { TRAIT_NO_STORE, 50 },
		{ TRAIT_COOKIE, 50 },
		{ TRAIT_SAME_LENGTH, 300 },    { TRAIT_RANGES, 300 },
	};

	for (size_t i = 0; i < sizeof(chances) / sizeof(chances[0]); i++) {
		if (world_happens(CHOICE_ORIGIN, chances[i][1]))
			r->traits |= chances[i][0];
	}
	if (r->traits & TRAIT_MUST_REVALIDATE)
		r->traits &= ~(unsigned)TRAIT_WHILE_REVALIDATE;
	if (origin.plan.tags || r->traits & TRAIT_RANGES)
		r->traits |= TRAIT_ETAG;
	if (r->traits & TRAIT_RANGES)
		r->traits &= ~(unsigned)(TRAIT_CHUNKED | TRAIT_UNTIL_CLOSE);
	r->lifetime_s = world_below(CHOICE_ORIGIN, origin.plan.lifetime_s + 1);
	if (world_happens(CHOICE_ORIGIN, origin.plan.large))
		r->traits |= TRAIT_LARGE;
	r->max_bytes = r->traits & TRAIT_LARGE ? origin.plan.body_bytes :
		world_skewed(CHOICE_ORIGIN, 16, origin.plan.body_bytes);
	r->nversions = 1;
}

void origin_change(uint32_t resource)
{
	struct resource *r = &origin.resources[resource];

	if (r->nversions + 1 > r->cap) {
		r->cap = r->cap ? 2 * r->cap : 4;
		r->until_us = realloc(r->until_us,
				      (r->cap + 1) * sizeof(*r->until_us));
		if (!r->until_us)
			world_fail("the world itself is out of memory");
	}
	r->until_us[r->nversions] = world_now_us;
	r->nversions++;
}

uint32_t origin_version(uint32_t resource)
{
	return origin.resources[resource].nversions;
}

bool origin_varies(uint32_t resource)
{
	return origin.resources[resource].traits & TRAIT_VARIES;
}

bool origin_is_private(uint32_t resource)
{
	return origin.resources[resource].traits & TRAIT_PRIVATE;
}

bool origin_is_shared(uint32_t resource)
{
	return !(origin.resources[resource].traits &
		 (TRAIT_PRIVATE | TRAIT_NO_STORE | TRAIT_COOKIE));
}

bool origin_is_gone_in_slices(const struct version *v, bool for_peer)
{
	const struct resource *r = &origin.resources[v->resource];

	/* peers have ranges of what they hold, whatever the origin has */
	return r->traits & (TRAIT_RANGES | TRAIT_ETAG) &&
	       (for_peer || v->number != r->nversions);
}

const char *origin_path(uint32_t resource, char text[ORIGIN_TEXT])
{
	snprintf(text, ORIGIN_TEXT, "/r%" PRIu32, resource);
	return text;
}

static uint64_t origin_mark(const struct version *v)
{
	return world_hash(world_hash((uint64_t)v->resource << 32 | v->number,
				     v->variant), v->who);
}

size_t origin_body_len(const struct version *v)
{
	const struct resource *r = &origin.resources[v->resource];
	uint32_t most = r->max_bytes;
	uint32_t least = r->traits & TRAIT_LARGE ? most / 2 : 0;

	if (r->traits & TRAIT_SAME_LENGTH)
		return most;
	return least + 1 + origin_mark(v) % (most - least);
}

/*
 * What all bodies are cut from: some thousands of bytes that were drawn once
 * and follow each other in a circle, of which each body begins at a place of
 * its own. No body is made, none is copied to be compared.
 */
enum {
	CIRCLE_BYTES = 65521, /* a prime: buffers have another length */
	CIRCLE_AGAIN = 16384, /* of its beginning, behind its end */
};

static struct {
	bool drawn;
	char bytes[CIRCLE_BYTES + CIRCLE_AGAIN];
} circle;

static void origin_draw(void)
{
	for (size_t i = 0; i < CIRCLE_BYTES && !circle.drawn; i++)
		circle.bytes[i] = (char)world_hash(i, 0);
	memcpy(circle.bytes + CIRCLE_BYTES, circle.bytes, CIRCLE_AGAIN);
	circle.drawn = true;
}

const char *origin_body(const struct version *v, size_t first, size_t *len)
{
	size_t at = (origin_mark(v) + first) % CIRCLE_BYTES;

	if (*len > CIRCLE_BYTES + CIRCLE_AGAIN - at)
		*len = CIRCLE_BYTES + CIRCLE_AGAIN - at;
	return circle.bytes + at;
}

void origin_etag(const struct version *v, char text[ORIGIN_TEXT])
{
	snprintf(text, ORIGIN_TEXT, "\"%" PRIu32 "-%" PRIu32 "-%" PRIu32
		 "-%" PRIu32 "\"", v->resource, v->number, v->variant, v->who);
}

char origin_upload_byte(uint64_t at)
{
	return (char)(at % 251);
}

bool origin_read_version(const char *text, struct version *v)
{
	return text && sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32
			      " %" SCNu32, &v->resource, &v->number,
			      &v->variant, &v->who) == 4 &&
	       v->resource < origin.plan.resources && v->number &&
	       v->number <= origin_version(v->resource);
}

/* The oracle */

static int64_t origin_stale_us(const struct resource *r,
			       const struct question *q)
{
	int64_t s = r->lifetime_s;

	/* no-cache is what a client prefers, if the origin can be asked */
	if (q->fresh_only && q->no_errors)
		return 0;
	if (!(r->traits & TRAIT_MUST_REVALIDATE) && !q->no_errors)
		return INT64_MAX / 2; /* as long as the origin fails */
	if (r->traits & TRAIT_WHILE_REVALIDATE)
		s += WHILE_REVALIDATE_S;
	s = s * 1000000 + SLACK_US;
	/* what is on disk is younger at a start, after a clock jumps back */
	return nodes_have_disks() ? s + nodes_jumped_back_us() : s;
}

const char *origin_judge(const struct question *q)
{
	const struct resource *r = &origin.resources[q->v->resource];
	int64_t last_us = q->v->number == r->nversions ?
				  world_now_us : r->until_us[q->v->number];

	if (last_us < q->purged_us)
		return "purged before it was asked for";
	/* though the origin may have confirmed it since */
	if (q->sent_us >= 0 && q->sent_us < q->purged_us)
		return "sent before it was purged";
	if (last_us < q->asked_us - origin_stale_us(r, q))
		return "older than it may be";
	return NULL;
}

/* Answers */

static void service_free(struct service *s)
{
	world_cancel(&s->turn);
	world_cancel(&s->resume);
	wire_close(&s->wire, WIRE_ANSWERER);
	fields_free(&s->fields);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	free(s);
}

static void origin_add(struct fields *to, const char *name, const char *value)
{
	if (fields_add(to, name, value))
		world_fail("the world itself is out of memory");
}

static void origin_add_freshness(const struct resource *r, struct fields *to)
{
	char text[ORIGIN_TEXT], date[HTTPDATE_LEN + 1];

	httpdate_format(world_wall_s(), date);
	origin_add(to, "Date", date);
	if (r->traits & TRAIT_NO_STORE)
		snprintf(text, sizeof(text), "no-store");
	else
		snprintf(text, sizeof(text), "%smax-age=%" PRIu32 "%s%s",
			 r->traits & TRAIT_PRIVATE ? "private, " : "",
			 r->lifetime_s,
			 r->traits & TRAIT_MUST_REVALIDATE ?
				 ", must-revalidate" : "",
			 r->traits & TRAIT_WHILE_REVALIDATE ?
				 ", stale-while-revalidate=5" : "");
	origin_add(to, "Cache-Control", text);
}

void origin_add_fields(const struct version *v, struct fields *to)
{
	const struct resource *r = &origin.resources[v->resource];
	char text[ORIGIN_TEXT];

	origin_add_freshness(r, to);
	if (r->traits & TRAIT_VARIES)
		origin_add(to, "Vary", "Accept-Language");
	if (r->traits & TRAIT_ETAG) {
		origin_etag(v, text);
		origin_add(to, "ETag", text);
	}
	snprintf(text, sizeof(text), "%" PRIu32 " %" PRIu32 " %" PRIu32
		 " %" PRIu32, v->resource, v->number, v->variant, v->who);
	origin_add(to, ORIGIN_FIELD, text);
}

/* Of what has a body of its own: its time, and a tag to purge it by. */
static void service_add_sent(struct service *s)
{
	char text[ORIGIN_TEXT];

	snprintf(text, sizeof(text), "%" PRId64, world_now_us);
	origin_add(&s->fields, ORIGIN_SENT, text);
	snprintf(text, sizeof(text), "r%" PRIu32, s->resource);
	origin_add(&s->fields, "Cache-Tag", text);
}

static void service_add_cookie(struct service *s)
{
	char text[ORIGIN_TEXT];

	if (!(origin.resources[s->resource].traits & TRAIT_COOKIE))
		return;
	snprintf(text, sizeof(text), "who=%" PRIu32, s->who);
	origin_add(&s->fields, "Set-Cookie", text);
}

static void service_send_head(struct service *s, unsigned status)
{
	const struct resource *r = &origin.resources[s->resource];
	bool empty = s->is_head || status == 304;
	bool unknown = (r->traits & (TRAIT_CHUNKED | TRAIT_UNTIL_CLOSE)) &&
		       status == 200;
	struct wire_head head = {
		.status = status,
		.fields = &s->fields,
		.has_body = !empty,
		.body_len = status == 304 ? 0 :
			    unknown ? -1 : (int64_t)s->len,
		.until_close = unknown && (r->traits & TRAIT_UNTIL_CLOSE) &&
			       !empty,
	};

	s->answering = true;
	s->status = status;
	if (empty)
		s->len = 0;
	if (status == 101)
		head.body_len = -1;
	wire_send_head(s->wire, WIRE_ANSWERER, &head);
}

static void service_finish(void *arg)
{
	service_free(arg);
}

/* All has been sent: who has not heard all of the request listens, to its end
 * where it has agreed. */
static void service_end(struct service *s)
{
	s->done = true;
	wire_send_end(s->wire, WIRE_ANSWERER);
	if (s->heard || (!s->early && !s->upgrade))
		world_at(&s->turn, world_now_us, service_finish, s);
	else if (s->status >= 300)
		world_at(&s->turn, world_now_us + LINGER_US, service_finish,
			 s);
}

static void service_send(struct service *s)
{
	const char *bytes;
	size_t room;

	while ((room = wire_room(s->wire, WIRE_ANSWERER)) > 0 &&
	       s->sent < s->len) {
		size_t n = s->len - s->sent < room ? s->len - s->sent : room;

		bytes = origin_body(&s->v, s->first + s->sent, &n);
		wire_send(s->wire, WIRE_ANSWERER, bytes, n);
		s->sent += n;
	}
	if (s->sent == s->len && !s->done)
		service_end(s);
}

static void service_fail(struct service *s)
{
	origin_add(&s->fields, "Cache-Control", "no-store");
	s->len = 0;
	service_send_head(s, 503);
}

/* The status for what is asked for of a resource that has ranges. */
static unsigned service_take_range(struct service *s, const char *etag)
{
	char text[RANGE_TEXT];
	struct range part = { s->range.first, 0 };
	size_t len = s->len;

	if (!(origin.resources[s->resource].traits & TRAIT_RANGES))
		return 200;
	origin_add(&s->fields, "Accept-Ranges", "bytes");
	if (!s->ranged || s->range.suffix || s->is_head ||
	    (*s->if_range && strcmp(s->if_range, etag) != 0))
		return 200;
	if (part.first < len) {
		part.len = s->range.last < len ? s->range.last + 1 : len;
		part.len -= part.first;
	}
	range_text(part.len ? &part : NULL, len, text);
	origin_add(&s->fields, "Content-Range", text);
	s->first = part.first;
	s->len = part.len;
	return part.len ? 206 : 416;
}

/* An upload, of which perhaps not all has come. */
static void service_answer_unsafe(struct service *s)
{
	bool refuses = s->early && origin.plan.early_errors &&
		       !wire_weather.calm &&
		       world_happens(CHOICE_EARLY, 400);

	if (!refuses)
		origin_change(s->resource);
	origin_add(&s->fields, "Cache-Control", "no-store");
	s->v.resource = s->resource;
	s->v.number = 1;
	s->len = s->early ? world_below(CHOICE_EARLY, EARLY_BYTES) : 0;
	service_send_head(s, refuses ? 413 : 200);
}

static void service_change_protocols(struct service *s)
{
	char text[ORIGIN_TEXT];

	s->v = (struct version){ .resource = s->resource, .number = 1 };
	s->len = world_below(CHOICE_EARLY, ORIGIN_TUNNEL_BYTES);
	snprintf(text, sizeof(text), "%zu", s->len);
	origin_add(&s->fields, ORIGIN_LENGTH, text);
	origin_add(&s->fields, "Connection", "upgrade");
	origin_add(&s->fields, "Upgrade", ORIGIN_PROTOCOL);
	service_send_head(s, 101);
}

static void service_answer(void *arg)
{
	struct service *s = arg;
	char etag[ORIGIN_TEXT];

	if (s->upgrade && world_happens(CHOICE_EARLY, 800)) {
		service_change_protocols(s);
	} else if (!wire_weather.calm &&
	    world_happens(CHOICE_ORIGIN, origin.plan.failing)) {
		service_fail(s);
	} else if (s->unsafe) {
		service_answer_unsafe(s);
	} else {
		bool same;

		s->v.resource = s->resource;
		if (!s->v.number)
			s->v.number = origin_version(s->resource);
		s->len = origin_body_len(&s->v);
		origin_add_fields(&s->v, &s->fields);
		service_add_cookie(s);
		origin_etag(&s->v, etag);
		same = !strcmp(s->etag, etag) &&
		       origin.resources[s->resource].traits & TRAIT_ETAG;
		if (!same)
			service_add_sent(s);
		service_send_head(s, same ? 304 : service_take_range(s, etag));
	}
	service_send(s);
}

static void service_answer_later(struct service *s)
{
	int64_t delay_us = 1000 *
		(int64_t)world_skewed(CHOICE_ORIGIN, 1,
				      origin.plan.slow_ms + 1);

	/* which version it is going to be may be settled before the delay */
	if (!s->unsafe && world_happens(CHOICE_ORIGIN, 500))
		s->v.number = origin_version(s->resource);
	world_at(&s->turn, world_now_us + delay_us, service_answer, s);
}

/* A node that asks for another one must not pass its question on. */
static void service_check_via(const struct fields *fields)
{
	struct field_cursor cursor = { 0 };
	struct field_part part;
	unsigned nodes = 0;

	while (fields_next(fields, "via", &cursor, &part))
		nodes++;
	if (nodes > 1)
		world_fail("the origin is asked through %u nodes", nodes);
}

/* What may change something comes once. */
static void service_check_once(const struct fields *fields)
{
	const char *text = fields_get(fields, ORIGIN_ONCE);
	size_t number = text ? strtoul(text, NULL, 10) : 0;

	if (!text)
		return;
	if (number >= origin.nonce) {
		size_t n = 2 * (number + 1);

		origin.once = realloc(origin.once, n);
		if (!origin.once)
			world_fail("the world itself is out of memory");
		memset(origin.once + origin.nonce, 0, n - origin.nonce);
		origin.nonce = n;
	}
	if (origin.once[number]++)
		world_fail("an unsafe request has come twice");
}

static void service_on_head(void *arg, const struct wire_head *head)
{
	struct service *s = arg;
	const char *language = fields_get(head->fields, "accept-language");
	const char *who = fields_get(head->fields, "x-client");
	const char *etag = fields_get(head->fields, "if-none-match");

	if (sscanf(head->target, "/r%" SCNu32, &s->resource) != 1 ||
	    s->resource >= origin.plan.resources)
		world_fail("the origin is asked for \"%s\"", head->target);
	s->unsafe = !strcmp(head->method, "POST");
	s->is_head = !strcmp(head->method, "HEAD");
	if (origin_varies(s->resource) && language)
		s->v.variant = (uint32_t)strtoul(language + 1, NULL, 10);
	s->who = who ? (uint32_t)strtoul(who, NULL, 10) : 0;
	if (origin_is_private(s->resource))
		s->v.who = s->who;
	s->upload_len = head->has_body ? head->body_len : 0;
	service_check_via(head->fields);
	service_check_once(head->fields);
	if (fields_get(head->fields, ORIGIN_UNASKED))
		world_fail("the origin is asked what a peer has asked a node");
	s->ranged = range_read(head->fields, &s->range);
	if (fields_get(head->fields, "if-range"))
		snprintf(s->if_range, sizeof(s->if_range), "%s",
			 fields_get(head->fields, "if-range"));
	if (etag)
		snprintf(s->etag, sizeof(s->etag), "%s", etag);
	s->upgrade = fields_has_token(head->fields, "upgrade", ORIGIN_PROTOCOL);
	s->early = s->unsafe && head->has_body &&
		   world_happens(CHOICE_EARLY, origin.plan.early);
	if (s->early || s->upgrade)
		service_answer_later(s);
}

static void service_resume(void *arg)
{
	struct service *s = arg;

	wire_resume(s->wire, WIRE_ANSWERER);
}

static size_t service_on_bytes(void *arg, const char *data, size_t len)
{
	struct service *s = arg;

	if (world_happens(CHOICE_ORIGIN, origin.plan.pausing) &&
	    s->pauses < PAUSES_MAX) {
		s->pauses++;
		world_at(&s->resume, world_now_us + PAUSE_US, service_resume,
			 s);
		return 0;
	}
	for (size_t i = 0; i < len; i++, s->uploaded++) {
		if (data[i] != origin_upload_byte(s->uploaded))
			world_fail("byte %" PRIu64 " of an upload is wrong",
				   s->uploaded);
	}
	return len;
}

/* The whole request is here. */
static void service_on_end(void *arg)
{
	struct service *s = arg;

	if (s->upload_len >= 0 && !s->upgrade &&
	    s->uploaded != (uint64_t)s->upload_len)
		world_fail("an upload of %" PRId64 " bytes has %" PRIu64,
			   s->upload_len, s->uploaded);
	s->heard = true;
	if (!s->early && !s->upgrade)
		service_answer_later(s);
	else if (s->done)
		world_at(&s->turn, world_now_us, service_finish, s);
}

static void service_on_broken(void *arg, enum wire_end why)
{
	(void)why;
	service_free(arg);
}

static void service_on_room(void *arg)
{
	struct service *s = arg;

	if (s->answering)
		service_send(s);
}

static const struct wire_ops service_ops = {
	.on_head = service_on_head,
	.on_bytes = service_on_bytes,
	.on_end = service_on_end,
	.on_broken = service_on_broken,
	.on_room = service_on_room,
};

static void origin_accept(void *arg, struct wire *wire)
{
	struct service *s = calloc(1, sizeof(*s));

	(void)arg;
	if (!s)
		world_fail("the world itself is out of memory");
	fields_init(&s->fields);
	s->wire = wire;
	s->next = origin.services;
	s->link = &origin.services;
	if (s->next)
		s->next->link = &s->next;
	origin.services = s;
	wire_accept(wire, &service_ops, s);
}

static void origin_toggle(unsigned i)
{
	origin.listens[i] = !origin.listens[i];
	if (origin.listens[i])
		wire_listen(&origin.listeners[i]);
	else
		wire_unlisten(&origin.listeners[i]);
}

void origin_start(const struct origin_plan *plan)
{
	origin_draw();
	origin.plan = *plan;
	origin.resources = calloc(plan->resources, sizeof(struct resource));
	if (!origin.resources)
		world_fail("the world itself is out of memory");
	for (uint32_t i = 0; i < plan->resources; i++)
		origin_choose(&origin.resources[i]);
	for (unsigned i = 0; i <= plan->others; i++) {
		origin.listeners[i] = (struct wire_listener){
			.name = i ? origin_others[i - 1] : origin_name,
			.place = WIRE_ORIGIN,
			.accept = origin_accept,
		};
		origin.listens[i] = false;
		origin_toggle(i);
	}
}

const char *origin_more(unsigned others)
{
	static const char *const texts[] = {
		NULL,
		", \"http://192.0.2.2:80\"",
		", \"http://192.0.2.2:80\", \"http://192.0.2.3:80\"",
	};

	return texts[others];
}

void origin_die(void)
{
	unsigned i = world_below(CHOICE_ORIGINS, origin.plan.others + 1);
	unsigned n = 0;

	for (unsigned k = 0; k <= origin.plan.others; k++)
		n += origin.listens[k];
	if (n > 1 || !origin.listens[i])
		origin_toggle(i);
}

void origin_stop(void)
{
	for (unsigned i = 0; i <= origin.plan.others; i++) {
		if (origin.listens[i])
			origin_toggle(i);
	}
	free(origin.once);
	origin.once = NULL;
	origin.nonce = 0;
	while (origin.services)
		service_free(origin.services);
	for (uint32_t i = 0; i < origin.plan.resources; i++)
		free(origin.resources[i].until_us);
	free(origin.resources);
	origin.resources = NULL;
}
