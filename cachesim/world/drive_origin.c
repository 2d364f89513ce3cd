/*
 * The origin. Its responses have the fields of scd-origin's, so that objects
 * weigh the same in a store.
 */
#include "cachesim/world/drive_origin.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/world/drive_bodies.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"
#include "codec/mix.h"
#include "digestd/http/decimal.h"
#include "digestd/http/fields.h"
#include "digestd/http/hexdigit.h"

enum { TEXT_BYTES = 64 };

const char *const drive_origin_name = "192.0.2.1:80";

/* One answer. */
struct drive_answer {
	struct wire *wire;
	uint32_t left; /* of the body [bytes] */
	bool replied, heard;
	struct drive_answer *next, **link;
};

static struct {
	const struct drive_objects *objects;
	struct drive_answer *answers;
	char control[TEXT_BYTES];
} drive_origin;

static void drive_origin_free(struct drive_answer *a)
{
	wire_close(&a->wire, WIRE_ANSWERER);
	*a->link = a->next;
	if (a->next)
		a->next->link = a->link;
	free(a);
}

static void drive_origin_send(struct drive_answer *a)
{
	size_t room = wire_room(a->wire, WIRE_ANSWERER);
	size_t n = room < a->left ? room : a->left;

	wire_send(a->wire, WIRE_ANSWERER, drive_bodies, n);
	a->left -= (uint32_t)n;
	if (!a->left)
		wire_send_end(a->wire, WIRE_ANSWERER);
}

/* The number that a target begins with, behind "/o" or "/p". */
static uint64_t drive_origin_number_of(const char *target)
{
	uint64_t n = 0;

	for (const char *p = target + 2; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

/* The number and the size of what a target names; false: nothing. */
static bool drive_origin_find(const char *target, uint64_t *number,
			      uint32_t *size)
{
	const struct drive_objects *o = drive_origin.objects;
	bool object = !strncmp(target, "/o", 2);

	if (!object && strncmp(target, "/p", 2))
		return false;
	*number = drive_origin_number_of(target);
	if (*number >= (object ? o->nobjects : o->npasses))
		return false;
	*size = object ? o->size[*number] : o->pass_size[*number];
	return true;
}

/* Text of the list's own, all of which is copied at once where it goes. */
static inline void drive_origin_add(struct fields *f, const char *name,
				    const char *value)
{
	if (fields_add(f, name, value))
		world_fail("out of memory");
}

static void drive_origin_reply(struct drive_answer *a, unsigned status,
			       uint32_t size, const char *target,
			       const char *etag)
{
	bool passes = target[1] == 'p';
	struct wire_head head = {
		.status = status,
		.has_body = size > 0,
		.body_len = size,
	};
	struct fields f;

	fields_init(&f);
	drive_origin_add(&f, "ETag", etag);
	drive_origin_add(&f, "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT");
	drive_origin_add(&f, "Cache-Control",
			 passes ? "no-store" : drive_origin.control);
	if (status == 200)
		drive_origin_add(&f, "Content-Type",
				 "application/octet-stream");
	wire_move_head(a->wire, WIRE_ANSWERER, &head, &f);
	a->left = size;
	a->replied = true;
	drive_origin_send(a);
}

/* "o-MIX-SIZE" in quotes, with 16 digits of a hash of the object's number: what
 * printf() would write, in a tenth of the time. */
static void drive_origin_write_etag(uint64_t number, uint32_t size,
				    char etag[TEXT_BYTES])
{
	char *at = etag;

	memcpy(at, "\"o-", 3);
	at = hexdigit_write(scd__mix64(number), at + 3);
	*at++ = '-';
	at += decimal_write(size, at);
	memcpy(at, "\"", 2);
}

static void drive_origin_on_head(void *arg, const struct wire_head *head)
{
	const char *known = fields_get(head->fields, "if-none-match");
	char etag[TEXT_BYTES];
	uint64_t number;
	uint32_t size;

	if (!drive_origin_find(head->target, &number, &size))
		world_fail("the origin is asked for %s", head->target);
	drive_origin_write_etag(number, size, etag);
	if (known && strstr(known, etag))
		drive_origin_reply(arg, 304, 0, head->target, etag);
	else
		drive_origin_reply(arg, 200, size, head->target, etag);
}

static void drive_origin_on_end(void *arg)
{
	struct drive_answer *a = arg;

	a->heard = true;
	if (!a->left)
		drive_origin_free(a);
}

static void drive_origin_on_broken(void *arg, enum wire_end why)
{
	(void)why;
	drive_origin_free(arg);
}

static void drive_origin_on_room(void *arg)
{
	struct drive_answer *a = arg;

	drive_origin_send(a);
	if (a->heard && !a->left)
		drive_origin_free(a);
}

static size_t drive_origin_on_bytes(void *arg, const char *data, size_t len)
{
	(void)arg;
	(void)data;
	return len;
}

static void drive_origin_accept(void *arg, struct wire *wire)
{
	static const struct wire_ops ops = {
		.on_head = drive_origin_on_head,
		.on_bytes = drive_origin_on_bytes,
		.on_end = drive_origin_on_end,
		.on_broken = drive_origin_on_broken,
		.on_room = drive_origin_on_room,
	};
	struct drive_answer *a = calloc(1, sizeof(*a));

	(void)arg;
	if (!a)
		world_fail("out of memory");
	a->wire = wire;
	a->next = drive_origin.answers;
	a->link = &drive_origin.answers;
	if (a->next)
		a->next->link = &a->next;
	drive_origin.answers = a;
	wire_accept(wire, &ops, a);
}

static struct wire_listener drive_origin_listener = {
	.place = WIRE_ORIGIN,
	.accept = drive_origin_accept,
};

void drive_origin_start(const struct drive_objects *objects)
{
	drive_origin.objects = objects;
	snprintf(drive_origin.control, sizeof(drive_origin.control),
		 "max-age=%" PRIu32, objects->max_age_s);
	drive_origin_listener.name = drive_origin_name;
	wire_listen(&drive_origin_listener);
}

void drive_origin_stop(void)
{
	wire_unlisten(&drive_origin_listener);
	while (drive_origin.answers)
		drive_origin_free(drive_origin.answers);
}
