/*
 * Records, field by field. The reader trusts no length: the checksum says that
 * the bytes are what was written, not that what wrote them was right.
 */
#include "digestd/disk/disk_record.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "codec/cursor.h"
#include "digestd/disk/cached.h"

enum {
	VERSION = 0x32445353,	    /* "SSD2" */
	VERSION_WHOLE = 0x31445353, /* "SSD1": one checksum a body */
	FIXED_BYTES = 160,    /* more than all that is not text or sums */
	FIELD_BYTES = 8,      /* of the lengths of a field */
	SUM_BYTES = 8,
	EXPLICIT = 1, /* flags of the freshness */
	ALWAYS_VALIDATE = 2,
	NEVER_STALE = 4,
};

/* Between the seeds of an object's blocks; odd, so that no two are the same. */
static const uint64_t SEED_STEP = 0x9e3779b97f4a7c15;

/* A record on its way out. */
struct disk_bytes {
	uint8_t *bytes;
	size_t len;
};

uint64_t disk_sum(uint64_t id, const void *bytes, size_t len)
{
	return XXH3_64bits_withSeed(bytes, len, id);
}

uint64_t disk_block_sum(uint64_t id, uint64_t block, const void *bytes,
			size_t len)
{
	return disk_sum(id ^ block * SEED_STEP, bytes, len);
}

uint64_t disk_blocks(uint64_t len)
{
	return len ? (len - 1) / DISK_BLOCK_BYTES + 1 : 1;
}

size_t disk_block_bytes(uint64_t len, uint64_t block)
{
	uint64_t left = len - block * DISK_BLOCK_BYTES;

	assert(block < disk_blocks(len));
	return (size_t)(left < DISK_BLOCK_BYTES ? left : DISK_BLOCK_BYTES);
}

uint64_t disk_body_sum(const struct disk_body *body, uint64_t block)
{
	struct scd__reader r =
		scd__reader(body->sums + block * SUM_BYTES, SUM_BYTES);

	return scd__read_u64(&r);
}

uint8_t *disk_body_sums(uint64_t id, const void *bytes, uint64_t len)
{
	uint64_t n = disk_blocks(len);
	uint8_t *sums = malloc((size_t)n * SUM_BYTES);
	struct scd__writer w;

	assert(bytes || !len);
	if (!sums)
		return NULL;
	w = scd__writer(sums, (size_t)n * SUM_BYTES);
	for (uint64_t i = 0; i < n; i++) {
		/* an empty body is null */
		const char *block = i ? (const char *)bytes +
						i * DISK_BLOCK_BYTES :
					bytes;

		scd__write_u64(&w, disk_block_sum(id, i, block,
						  disk_block_bytes(len, i)));
	}
	return sums;
}

/* Writing */

static size_t disk_record_text_bytes(const struct fields *f)
{
	size_t n = 0;

	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);

		n += FIELD_BYTES + strlen(line->name) + strlen(line->value);
	}
	return n;
}

static void disk_record_write_text(struct scd__writer *w, const char *text)
{
	size_t len = strlen(text);

	scd__write_u32(w, (uint32_t)len);
	scd__write_bytes(w, (const uint8_t *)text, len);
}

static void disk_record_write_fields(struct scd__writer *w,
				     const struct fields *f)
{
	scd__write_u32(w, (uint32_t)fields_count(f));
	for (size_t i = 0; i < fields_count(f); i++) {
		disk_record_write_text(w, fields_at(f, i)->name);
		disk_record_write_text(w, fields_at(f, i)->value);
	}
}

static void disk_record_write_freshness(struct scd__writer *w,
					const struct freshness *f)
{
	const struct freshness_spans spans = freshness_spans(f);

	scd__write_u64(w, 0); /* once its Date; nobody asked for it */
	scd__write_u64(w, (uint64_t)spans.born_s); /* its age then: */
	scd__write_u64(w, 0);
	scd__write_u64(w, (uint64_t)spans.lifetime_s);
	scd__write_u64(w, (uint64_t)spans.stale_if_error_s);
	scd__write_u64(w, (uint64_t)spans.stale_while_revalidate_s);
	scd__write_u8(w, (uint8_t)((f->explicit ? EXPLICIT : 0) |
				   (f->always_validate ? ALWAYS_VALIDATE : 0) |
				   (f->never_stale ? NEVER_STALE : 0)));
}

static size_t disk_record_sums_bytes(const struct disk_body *body)
{
	return (size_t)disk_blocks(body->len) * SUM_BYTES;
}

/* All but the checksum, into room for it. */
static void disk_record_write_response(struct scd__writer *w,
				       const struct cached *c,
				       const struct fields *fields,
				       const struct disk_body *body)
{
	scd__write_u32(w, VERSION);
	scd__write_u32(w, c->status);
	scd__write_u64(w, body->len);
	scd__write_bytes(w, body->sums, disk_record_sums_bytes(body));
	disk_record_write_freshness(w, &c->freshness);
	disk_record_write_text(w, cached_uri(c));
	disk_record_write_fields(w, cached_selecting(c));
	disk_record_write_fields(w, fields);
}

static int disk_record_write_record(const struct cached *c,
				    const struct fields *fields,
				    const struct disk_body *body,
				    struct disk_bytes *out)
{
	size_t cap = FIXED_BYTES + strlen(cached_uri(c)) +
		     disk_record_text_bytes(fields) +
		     disk_record_text_bytes(cached_selecting(c)) +
		     disk_record_sums_bytes(body);
	struct scd__writer w;

	if (cap > UINT32_MAX)
		return -E2BIG;
	out->bytes = malloc(cap);
	if (!out->bytes)
		return -ENOMEM;
	w = scd__writer(out->bytes, cap);
	disk_record_write_response(&w, c, fields, body);
	scd__write_u64(&w, disk_sum(body->id, out->bytes, scd__writer_len(&w)));
	out->len = scd__writer_len(&w);
	if (!w.error)
		return 0;
	free(out->bytes);
	return -E2BIG;
}

int disk_record_write(const struct cached *c, const struct disk_body *body,
		      uint8_t **bytes, size_t *len)
{
	struct disk_bytes out;
	struct fields fields;
	int err = cached_fields(c, &fields);

	assert(body->id);
	if (err)
		return err;
	err = disk_record_write_record(c, &fields, body, &out);
	fields_free(&fields);
	if (err)
		return err;
	*bytes = out.bytes;
	*len = out.len;
	return 0;
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

static struct field_part disk_record_read_text(struct scd__reader *r)
{
	size_t len = scd__read_u32(r);
	const uint8_t *text = scd__read_bytes(r, len);

	return (struct field_part){ text ? (const char *)text : "",
				    text ? len : 0 };
}

/* Adds the lines to an empty list. */
static int disk_record_read_fields(struct scd__reader *r, struct fields *f)
{
	int err = 0;

	for (uint32_t n = scd__read_u32(r); n && !r->error && !err; n--) {
		struct field_part name = disk_record_read_text(r);
		struct field_part value = disk_record_read_text(r);

		if (!r->error)
			err = fields_add_n(f, name.at, name.len, value.at,
					   value.len);
	}
	return err;
}

static void disk_record_read_freshness(struct scd__reader *r,
				       struct freshness *f)
{
	struct freshness_spans spans;
	uint64_t response_s;
	uint8_t flags;

	(void)scd__read_u64(r);
	response_s = scd__read_u64(r);
	/* its age then: 0 but from older versions */
	spans.born_s = (int64_t)(response_s - scd__read_u64(r));
	spans.lifetime_s = (int64_t)scd__read_u64(r);
	spans.stale_if_error_s = (int64_t)scd__read_u64(r);
	spans.stale_while_revalidate_s = (int64_t)scd__read_u64(r);
	freshness_set(f, &spans);
	flags = scd__read_u8(r);
	f->explicit = flags & EXPLICIT;
	f->always_validate = flags & ALWAYS_VALIDATE;
	f->never_stale = flags & NEVER_STALE;
}

/* A response as it is read. */
struct response {
	char *uri;
	struct fields fields, selecting;
	struct freshness freshness;
};

/* What follows the body's length and checksums. */
static int disk_record_read_response(struct scd__reader *r, struct response *to)
{
	struct field_part uri;
	int err;

	disk_record_read_freshness(r, &to->freshness);
	uri = disk_record_read_text(r);
	to->uri = strndup(uri.at, uri.len);
	err = to->uri ? disk_record_read_fields(r, &to->selecting) : -ENOMEM;
	if (!err)
		err = disk_record_read_fields(r, &to->fields);
	if (err)
		return err;
	return r->error || scd__reader_left(r) ? -EBADMSG : 0;
}

static int disk_record_make_cached(struct scd__reader *r, unsigned status,
				   struct cached **out)
{
	struct response from = { .uri = NULL };
	int err = disk_record_read_response(r, &from);
	const struct cached_head head = { from.uri, &from.fields,
					  &from.selecting, status,
					  &from.freshness, .for_disk = true };

	*out = err ? NULL : cached_new(&head);
	free(from.uri);
	fields_free(&from.fields);
	fields_free(&from.selecting);
	return err || *out ? err : -ENOMEM;
}

int disk_record_read(const uint8_t *bytes, size_t len, struct disk_body *body,
		     struct cached **out)
{
	struct scd__reader r;
	uint32_t version;
	unsigned status;

	if (!disk_record_is_good(body->id, bytes, len))
		return -EBADMSG;
	r = scd__reader(bytes, len - SUM_BYTES);
	version = scd__read_u32(&r);
	status = scd__read_u32(&r);
	body->len = scd__read_u64(&r);
	if (body->len > CACHED_BODY_MAX ||
	    !(version == VERSION || (version == VERSION_WHOLE &&
				     body->len <= DISK_BLOCK_BYTES)))
		return -EBADMSG;
	body->sums = scd__read_bytes(&r, disk_record_sums_bytes(body));
	if (!body->sums)
		return -EBADMSG;
	return disk_record_make_cached(&r, status, out);
}
