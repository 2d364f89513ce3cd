/*
 * Records, field by field.
 */
#include "digestd/disk/segment_record.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "codec/cursor.h"
#include "digestd/disk/cached.h"
#include "digestd/disk/disk_body.h"
#include "digestd/http/packed.h"

enum {
	MAGIC = 0x31474553, /* "SEG1" */
	VERSION = 1 + (PACKED_VERSION << 4),
	PREFIX_BYTES = 16, /* magic, length, sum */
	HEAD_BYTES = 64,   /* with it, of an object */
	SUM_BYTES = 8,
	PLACE_BYTES = 8,
	LENGTH_BYTES = 4,
	IN_FILE = 1, /* flags */
	EXPLICIT = 2,
	ALWAYS_VALIDATE = 4,
	NEVER_STALE = 8,
};

static size_t segment_padded(size_t len)
{
	return (len + SEGMENT_UNIT - 1) / SEGMENT_UNIT * SEGMENT_UNIT;
}

/* Selecting fields: name and value, each with its length before it. */

size_t segment_selecting_bytes(const struct fields *f)
{
	size_t n = 0;

	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);

		n += 2 * LENGTH_BYTES + (size_t)line->name_len +
		     line->value_len;
	}
	return n;
}

static void segment_write_text(struct scd__writer *w, const char *text)
{
	size_t len = strlen(text);

	scd__write_u32(w, (uint32_t)len);
	scd__write_bytes(w, (const uint8_t *)text, len);
}

void segment_selecting_write(const struct fields *f, uint8_t *to)
{
	struct scd__writer w = scd__writer(to, segment_selecting_bytes(f));

	for (size_t i = 0; i < fields_count(f); i++) {
		segment_write_text(&w, fields_at(f, i)->name);
		segment_write_text(&w, fields_at(f, i)->value);
	}
	assert(!w.error);
}

static struct field_part segment_read_text(struct scd__reader *r)
{
	size_t len = scd__read_u32(r);
	const uint8_t *text = scd__read_bytes(r, len);

	return (struct field_part){ text ? (const char *)text : "",
				    text ? len : 0 };
}

int segment_selecting_read(const uint8_t *bytes, size_t len,
			   struct fields *out)
{
	struct scd__reader r = scd__reader(bytes, len);
	int err = 0;

	fields_init(out);
	while (scd__reader_left(&r) && !err) {
		struct field_part name = segment_read_text(&r);
		struct field_part value = segment_read_text(&r);

		err = r.error ? -EBADMSG :
				fields_add_n(out, name.at, name.len, value.at,
					     value.len);
	}
	if (err)
		fields_free(out);
	return err;
}

/* Writing */

static size_t segment_body_bytes(uint64_t body_len, bool in_file)
{
	return in_file ? (size_t)disk_blocks(body_len) * SUM_BYTES :
			 (size_t)body_len;
}

static size_t segment_object_bytes(const struct cached *c, bool in_file)
{
	size_t text_len;

	(void)cached_text(c, &text_len);
	return HEAD_BYTES + segment_selecting_bytes(cached_selecting(c)) +
	       text_len + segment_body_bytes(c->body_len, in_file);
}

size_t segment_record_bytes(const struct cached *c, bool in_file)
{
	return segment_padded(segment_object_bytes(c, in_file));
}

/* The prefix, when all behind it is there, and the padding. */
static void segment_seal(uint8_t *to, size_t len, uint64_t seed)
{
	struct scd__writer w = scd__writer(to, PREFIX_BYTES);

	assert(len <= UINT32_MAX);
	scd__write_u32(&w, MAGIC);
	scd__write_u32(&w, (uint32_t)len);
	scd__write_u64(&w, XXH3_64bits_withSeed(to + PREFIX_BYTES,
						len - PREFIX_BYTES, seed));
	memset(to + len, 0, segment_padded(len) - len);
}

static uint8_t segment_flags(const struct freshness *f, bool in_file)
{
	return (uint8_t)((in_file ? IN_FILE : 0) |
			 (f->explicit ? EXPLICIT : 0) |
			 (f->always_validate ? ALWAYS_VALIDATE : 0) |
			 (f->never_stale ? NEVER_STALE : 0));
}

static void segment_write_freshness(struct scd__writer *w,
				    const struct freshness *f)
{
	const struct freshness_spans spans = freshness_spans(f);

	scd__write_u64(w, (uint64_t)spans.born_s);
	scd__write_u32(w, (uint32_t)spans.lifetime_s);
	scd__write_u32(w, (uint32_t)spans.stale_if_error_s);
	scd__write_u32(w, (uint32_t)spans.stale_while_revalidate_s);
}

void segment_record_write(const struct cached *c, uint64_t id,
			  const uint8_t *sums, uint64_t seed, uint8_t *to)
{
	const struct fields *selecting = cached_selecting(c);
	size_t len = segment_object_bytes(c, sums), text_len;
	size_t selecting_len = segment_selecting_bytes(selecting);
	const char *text = cached_text(c, &text_len);
	struct scd__writer w = scd__writer(to, len);

	assert(id && len <= UINT32_MAX);
	scd__write_zeros(&w, PREFIX_BYTES);
	scd__write_u8(&w, SEGMENT_OBJECT);
	scd__write_u8(&w, VERSION);
	scd__write_u8(&w, segment_flags(&c->freshness, sums));
	scd__write_u8(&w, 0);
	scd__write_u32(&w, c->status);
	scd__write_u64(&w, id);
	scd__write_u64(&w, c->body_len);
	segment_write_freshness(&w, &c->freshness);
	scd__write_u32(&w, (uint32_t)selecting_len);
	assert(scd__writer_len(&w) == HEAD_BYTES);
	segment_selecting_write(selecting, to + HEAD_BYTES);
	w = scd__writer(to + HEAD_BYTES + selecting_len,
			len - HEAD_BYTES - selecting_len);
	scd__write_bytes(&w, (const uint8_t *)text, text_len);
	if (c->body_len || sums)
		scd__write_bytes(&w, sums ? sums :
					    (const uint8_t *)cached_body(c),
				 segment_body_bytes(c->body_len, sums));
	assert(!w.error && !scd__writer_left(&w));
	segment_seal(to, len, seed);
}

size_t segment_removals_bytes(size_t n)
{
	return segment_padded(PREFIX_BYTES + 2 * SUM_BYTES + n * PLACE_BYTES);
}

void segment_removals_write(const struct disk_place *places, size_t n,
			    uint64_t seed, uint8_t *to)
{
	size_t len = PREFIX_BYTES + 2 * SUM_BYTES + n * PLACE_BYTES;
	struct scd__writer w = scd__writer(to, len);

	scd__write_zeros(&w, PREFIX_BYTES);
	scd__write_u8(&w, SEGMENT_REMOVALS);
	scd__write_u8(&w, VERSION);
	scd__write_zeros(&w, 2 * SUM_BYTES - 2);
	for (size_t i = 0; i < n; i++) {
		scd__write_u32(&w, places[i].segment);
		scd__write_u32(&w, places[i].at);
	}
	assert(!w.error && !scd__writer_left(&w));
	segment_seal(to, len, seed);
}

/* Reading */

static void segment_read_freshness(struct scd__reader *r, uint8_t flags,
				   struct freshness *f)
{
	struct freshness_spans spans;

	spans.born_s = (int64_t)scd__read_u64(r);
	spans.lifetime_s = (int32_t)scd__read_u32(r);
	spans.stale_if_error_s = (int32_t)scd__read_u32(r);
	spans.stale_while_revalidate_s = (int32_t)scd__read_u32(r);
	freshness_set(f, &spans);
	f->explicit = flags & EXPLICIT;
	f->always_validate = flags & ALWAYS_VALIDATE;
	f->never_stale = flags & NEVER_STALE;
}

/* From its status on; the text is what is left. */
static void segment_read_object(struct scd__reader *r, uint8_t flags,
				struct segment_record *out)
{
	size_t body;

	out->in_file = flags & IN_FILE;
	scd__read_u8(r);
	out->status = scd__read_u32(r);
	out->id = scd__read_u64(r);
	out->body_len = scd__read_u64(r);
	segment_read_freshness(r, flags, &out->freshness);
	out->selecting_len = scd__read_u32(r);
	out->selecting = scd__read_bytes(r, out->selecting_len);
	if (out->body_len > CACHED_BODY_MAX ||
	    (!out->in_file && out->body_len > SEGMENT_BODY_MAX)) {
		r->error = -EBADMSG;
		return;
	}
	body = segment_body_bytes(out->body_len, out->in_file);
	if (r->error || body > scd__reader_left(r)) {
		r->error = -EBADMSG;
		return;
	}
	out->text_len = scd__reader_left(r) - body;
	out->text = (const char *)scd__read_bytes(r, out->text_len);
	out->body = scd__read_bytes(r, body);
	out->sums = out->body;
}

static void segment_read_removals(struct scd__reader *r,
				  struct segment_record *out)
{
	scd__read_bytes(r, 2 * SUM_BYTES - 3);
	out->nremovals = scd__reader_left(r) / PLACE_BYTES;
	out->removals = scd__read_bytes(r, out->nremovals * PLACE_BYTES);
}

/* What the checksum is right of: the reader trusts no length yet. */
static int segment_read_content(const uint8_t *bytes, size_t len,
				struct segment_record *out)
{
	struct scd__reader r = scd__reader(bytes + PREFIX_BYTES,
					   len - PREFIX_BYTES);
	uint8_t kind = scd__read_u8(&r), version = scd__read_u8(&r);
	uint8_t flags = scd__read_u8(&r);

	*out = (struct segment_record){ .bytes = segment_padded(len) };
	if (version != VERSION)
		return -EBADMSG;
	if (kind == SEGMENT_OBJECT) {
		out->kind = SEGMENT_OBJECT;
		segment_read_object(&r, flags, out);
	} else if (kind == SEGMENT_REMOVALS) {
		out->kind = SEGMENT_REMOVALS;
		segment_read_removals(&r, out);
	} else {
		return -EBADMSG;
	}
	return r.error || scd__reader_left(&r) ||
			       (out->kind == SEGMENT_OBJECT && !out->id) ?
		       -EBADMSG : 0;
}

int segment_record_read(const uint8_t *bytes, size_t len, uint64_t seed,
			struct segment_record *out)
{
	struct scd__reader r = scd__reader(bytes, len);
	uint32_t magic = scd__read_u32(&r);
	size_t size = scd__read_u32(&r);
	uint64_t sum = scd__read_u64(&r);

	if (r.error || magic != MAGIC || size > len ||
	    size < PREFIX_BYTES + 2 * SUM_BYTES ||
	    XXH3_64bits_withSeed(bytes + PREFIX_BYTES,
				 size - PREFIX_BYTES, seed) != sum)
		return -EBADMSG;
	return segment_read_content(bytes, size, out);
}

int segment_record_response(const struct segment_record *r,
			    struct cached **out)
{
	struct fields selecting;
	const struct cached_head head = { .selecting = &selecting,
					  .status = r->status,
					  .freshness = &r->freshness,
					  .for_disk = true };
	int err;

	assert(r->kind == SEGMENT_OBJECT);
	if (!cached_text_is_good(r->text, r->text_len))
		return -EBADMSG;
	err = segment_selecting_read(r->selecting, r->selecting_len,
				     &selecting);
	if (err)
		return err;
	*out = cached_new_from(&head, r->text, r->text_len);
	fields_free(&selecting);
	return *out ? 0 : -ENOMEM;
}

size_t segment_record_measure(const uint8_t *bytes, size_t len)
{
	struct scd__reader r = scd__reader(bytes, len);
	uint32_t magic = scd__read_u32(&r);
	size_t size = scd__read_u32(&r);

	return r.error || magic != MAGIC ? 0 : segment_padded(size);
}

struct disk_place segment_removal(const struct segment_record *r, size_t i)
{
	struct scd__reader at = scd__reader(r->removals + i * PLACE_BYTES,
					    PLACE_BYTES);
	struct disk_place place;

	assert(i < r->nremovals);
	place.segment = scd__read_u32(&at);
	place.at = scd__read_u32(&at);
	return place;
}

size_t segment_scan(const uint8_t *bytes, size_t len, uint64_t seed,
		    void (*each)(void *arg, uint32_t at,
				 const struct segment_record *r),
		    void *arg)
{
	struct segment_record r;
	size_t at = 0, end = 0;

	while (at < len) {
		if (segment_record_read(bytes + at, len - at, seed, &r)) {
			at += SEGMENT_UNIT;
			continue;
		}
		each(arg, (uint32_t)(at / SEGMENT_UNIT), &r);
		at += r.bytes;
		end = at;
	}
	return end;
}
