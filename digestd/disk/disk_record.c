/*
 * Records, field by field. The reader trusts no length: the checksum says that
 * the bytes are what was written, not that what wrote them was right.
 */
#include "digestd/disk/disk_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "codec/cursor.h"
#include "digestd/disk/cached.h"

enum {
	VERSION = 0x31445353, /* "SSD1" */
	FIXED_BYTES = 160,    /* more than all that is not text */
	FIELD_BYTES = 8,      /* of the lengths of a field */
	SUM_BYTES = 8,
	EXPLICIT = 1, /* flags of the freshness */
	ALWAYS_VALIDATE = 2,
	NEVER_STALE = 4,
};

uint64_t disk_sum(uint64_t id, const void *bytes, size_t len)
{
	return XXH3_64bits_withSeed(bytes, len, id);
}

/* Writing */

static size_t text_bytes(const struct fields *f)
{
	size_t n = 0;

	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);

		n += FIELD_BYTES + strlen(line->name) + strlen(line->value);
	}
	return n;
}

static void write_text(struct scd__writer *w, const char *text)
{
	size_t len = strlen(text);

	scd__write_u32(w, (uint32_t)len);
	scd__write_bytes(w, (const uint8_t *)text, len);
}

static void write_fields(struct scd__writer *w, const struct fields *f)
{
	scd__write_u32(w, (uint32_t)fields_count(f));
	for (size_t i = 0; i < fields_count(f); i++) {
		write_text(w, fields_at(f, i)->name);
		write_text(w, fields_at(f, i)->value);
	}
}

static void write_freshness(struct scd__writer *w, const struct freshness *f)
{
	scd__write_u64(w, (uint64_t)f->date_s);
	scd__write_u64(w, (uint64_t)f->response_s);
	scd__write_u64(w, (uint64_t)f->corrected_age_s);
	scd__write_u64(w, (uint64_t)f->lifetime_s);
	scd__write_u64(w, (uint64_t)f->stale_if_error_s);
	scd__write_u64(w, (uint64_t)f->stale_while_revalidate_s);
	scd__write_u8(w, (uint8_t)((f->explicit ? EXPLICIT : 0) |
				   (f->always_validate ? ALWAYS_VALIDATE : 0) |
				   (f->never_stale ? NEVER_STALE : 0)));
}

int disk_record_write(const struct cached *c, const struct disk_body *body,
		      uint8_t **bytes, size_t *len)
{
	size_t cap = FIXED_BYTES + strlen(c->uri) + text_bytes(&c->fields) +
		     text_bytes(&c->selecting);
	struct scd__writer w;

	if (cap > UINT32_MAX)
		return -E2BIG;
	*bytes = malloc(cap);
	if (!*bytes)
		return -ENOMEM;
	w = scd__writer(*bytes, cap);
	scd__write_u32(&w, VERSION);
	scd__write_u32(&w, c->status);
	scd__write_u64(&w, body->len);
	scd__write_u64(&w, body->sum);
	write_freshness(&w, &c->freshness);
	write_text(&w, c->uri);
	write_fields(&w, &c->selecting);
	write_fields(&w, &c->fields);
	scd__write_u64(&w, disk_sum(body->id, *bytes, scd__writer_len(&w)));
	*len = scd__writer_len(&w);
	if (!w.error)
		return 0;
	free(*bytes);
	return -E2BIG;
}

/* Reading */

bool disk_record_is_good(uint64_t id, const uint8_t *bytes, size_t len)
{
	struct scd__reader r;

	if (len < SUM_BYTES)
		return false;
	r = scd__reader(bytes + len - SUM_BYTES, SUM_BYTES);
	return scd__read_u64(&r) == disk_sum(id, bytes, len - SUM_BYTES);
}

static struct field_part read_text(struct scd__reader *r)
{
	size_t len = scd__read_u32(r);
	const uint8_t *text = scd__read_bytes(r, len);

	return (struct field_part){ text ? (const char *)text : "",
				    text ? len : 0 };
}

/* Adds the lines to an empty list. */
static int read_fields(struct scd__reader *r, struct fields *f)
{
	int err = 0;

	for (uint32_t n = scd__read_u32(r); n && !r->error && !err; n--) {
		struct field_part name = read_text(r);
		struct field_part value = read_text(r);

		if (!r->error)
			err = fields_add_n(f, name.at, name.len, value.at,
					   value.len);
	}
	return err;
}

static void read_freshness(struct scd__reader *r, struct freshness *f)
{
	uint8_t flags;

	f->date_s = (int64_t)scd__read_u64(r);
	f->response_s = (int64_t)scd__read_u64(r);
	f->corrected_age_s = (int64_t)scd__read_u64(r);
	f->lifetime_s = (int64_t)scd__read_u64(r);
	f->stale_if_error_s = (int64_t)scd__read_u64(r);
	f->stale_while_revalidate_s = (int64_t)scd__read_u64(r);
	flags = scd__read_u8(r);
	f->explicit = flags & EXPLICIT;
	f->always_validate = flags & ALWAYS_VALIDATE;
	f->never_stale = flags & NEVER_STALE;
}

/* What follows the body's length and checksum. */
static int read_response(struct scd__reader *r, struct cached *c)
{
	struct field_part uri;
	int err;

	read_freshness(r, &c->freshness);
	uri = read_text(r);
	c->uri = strndup(uri.at, uri.len);
	err = c->uri ? read_fields(r, &c->selecting) : -ENOMEM;
	if (!err)
		err = read_fields(r, &c->fields);
	if (err)
		return err;
	fields_fit(&c->selecting);
	fields_fit(&c->fields);
	return r->error || scd__reader_left(r) ? -EBADMSG : 0;
}

int disk_record_read(const uint8_t *bytes, size_t len, struct disk_body *body,
		     struct cached **out)
{
	struct scd__reader r;
	struct cached *c;
	int err;

	if (!disk_record_is_good(body->id, bytes, len))
		return -EBADMSG;
	c = cached_new();
	if (!c)
		return -ENOMEM;
	r = scd__reader(bytes, len - SUM_BYTES);
	err = scd__read_u32(&r) == VERSION ? 0 : -EBADMSG;
	c->status = scd__read_u32(&r);
	body->len = scd__read_u64(&r);
	body->sum = scd__read_u64(&r);
	if (!err)
		err = read_response(&r, c);
	if (err)
		cached_unref(&c);
	else
		*out = c;
	return err;
}
