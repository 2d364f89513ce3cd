/*
 * Messages of invalidations. A message is checked as a whole before anything of
 * it is used, so that what reads it then cannot fail.
 */
#include "digestd/mesh/invalidation_wire.h"

#include <assert.h>

#include "codec/cursor.h"
#include "codec/error.h"

enum {
	WIRE_MAGIC = 0x49444353, /* "SCDI" */
	WIRE_POSITIONS = 0x50444353, /* "SCDP" */
	WIRE_VERSION = 1,
	WIRE_INCOMPLETE = 1, /* flags of a section */
};

static struct scd_key
invalidation_wire_sum(const uint8_t secret[SCD_SECRET_BYTES],
		      const uint8_t *bytes, size_t len)
{
	struct scd_key sum;

	scd_key_make(secret, "invalidations", (const char *)bytes, len, &sum);
	return sum;
}

/* Writing */

static size_t invalidation_write_sum(const uint8_t secret[SCD_SECRET_BYTES],
				     uint8_t *bytes, size_t len)
{
	const struct scd_key sum = invalidation_wire_sum(secret, bytes, len);
	struct scd__writer end =
		scd__writer(bytes + len, INVALIDATION_WIRE_END_BYTES);

	scd__write_u64(&end, sum.lo);
	scd__write_u64(&end, sum.hi);
	return len + INVALIDATION_WIRE_END_BYTES;
}

struct invalidation_writer invalidation_write_begin(uint8_t *bytes, size_t cap)
{
	assert(cap >= INVALIDATION_WIRE_HEAD_BYTES +
			      INVALIDATION_WIRE_END_BYTES);
	return (struct invalidation_writer){ bytes, cap,
					     INVALIDATION_WIRE_HEAD_BYTES, 0 };
}

static void invalidation_wire_write_entry(struct scd__writer *w,
					  const struct invalidation_entry *e)
{
	scd__write_u64(w, e->seq);
	scd__write_u8(w, e->of.kind);
	scd__write_u8(w, 0);
	scd__write_u16(w, e->of.len);
	scd__write_u64(w, e->of.hash.lo);
	scd__write_u64(w, e->of.hash.hi);
}

bool invalidation_write_section(struct invalidation_writer *w,
				const struct invalidation_section *section,
				const struct invalidation_entry *entries)
{
	size_t bytes = INVALIDATION_WIRE_SECTION_BYTES +
		       (size_t)section->n * INVALIDATION_WIRE_ENTRY_BYTES;
	struct scd__writer out;

	assert(section->source && w->nsections < UINT16_MAX);
	if (w->cap - w->len < bytes + INVALIDATION_WIRE_END_BYTES)
		return false;
	out = scd__writer(w->bytes + w->len, bytes);
	scd__write_u64(&out, section->source);
	scd__write_u64(&out, section->floor);
	scd__write_u64(&out, section->upto);
	scd__write_u32(&out, section->incomplete ? WIRE_INCOMPLETE : 0);
	scd__write_u32(&out, section->n);
	for (uint32_t i = 0; i < section->n; i++)
		invalidation_wire_write_entry(&out, &entries[i]);
	assert(!out.error && !scd__writer_left(&out));
	w->len += bytes;
	w->nsections++;
	return true;
}

size_t invalidation_write_end(struct invalidation_writer *w,
			      const uint8_t secret[SCD_SECRET_BYTES])
{
	struct scd__writer head =
		scd__writer(w->bytes, INVALIDATION_WIRE_HEAD_BYTES);

	scd__write_u32(&head, WIRE_MAGIC);
	scd__write_u16(&head, WIRE_VERSION);
	scd__write_u16(&head, w->nsections);
	return invalidation_write_sum(secret, w->bytes, w->len);
}

/* Reading */

static struct invalidation_entry
invalidation_wire_read_entry(struct scd__reader *r, bool *good)
{
	struct invalidation_entry e;
	uint8_t zero;

	e.seq = scd__read_u64(r);
	e.of.kind = scd__read_u8(r);
	zero = scd__read_u8(r);
	e.of.len = scd__read_u16(r);
	e.of.hash.lo = scd__read_u64(r);
	e.of.hash.hi = scd__read_u64(r);
	*good = !r->error && !zero && e.of.kind < INVALIDATION_KINDS &&
		e.of.len <= INVALIDATION_PREFIX_MAX &&
		(e.of.kind == INVALIDATION_PREFIX) == (e.of.len > 0) &&
		(e.of.kind != INVALIDATION_ALL ||
		 !(e.of.hash.lo | e.of.hash.hi));
	return e;
}

/* All but its entries. */
static bool invalidation_wire_read_section(struct scd__reader *r,
					   struct invalidation_section *s)
{
	uint32_t flags;

	s->source = scd__read_u64(r);
	s->floor = scd__read_u64(r);
	s->upto = scd__read_u64(r);
	flags = scd__read_u32(r);
	s->n = scd__read_u32(r);
	s->incomplete = flags & WIRE_INCOMPLETE;
	return !r->error && s->source && s->floor <= s->upto &&
	       flags <= WIRE_INCOMPLETE;
}

static bool invalidation_wire_check_section(struct scd__reader *r)
{
	struct invalidation_section s;
	uint64_t before = 0;
	bool good = invalidation_wire_read_section(r, &s);

	good = good && s.n <= scd__reader_left(r) /
				      INVALIDATION_WIRE_ENTRY_BYTES;
	for (uint32_t i = 0; good && i < s.n; i++) {
		const struct invalidation_entry e =
			invalidation_wire_read_entry(r, &good);

		good = good && e.seq > before && e.seq <= s.upto;
		before = e.seq;
	}
	return good;
}

static int invalidation_wire_check_sum(const uint8_t *bytes, size_t len,
				       const uint8_t secret[SCD_SECRET_BYTES])
{
	const struct scd_key sum = invalidation_wire_sum(secret, bytes, len);
	struct scd__reader r =
		scd__reader(bytes + len, INVALIDATION_WIRE_END_BYTES);

	if (scd__read_u64(&r) != sum.lo || scd__read_u64(&r) != sum.hi)
		return SCD_ECHECKSUM;
	return SCD_OK;
}

int invalidation_read(const uint8_t *bytes, size_t len,
		      const uint8_t secret[SCD_SECRET_BYTES],
		      struct invalidation_message *out)
{
	struct scd__reader r;
	bool good = true;

	if (len < INVALIDATION_WIRE_HEAD_BYTES + INVALIDATION_WIRE_END_BYTES ||
	    len > INVALIDATION_WIRE_MAX)
		return SCD_EFORMAT;
	len -= INVALIDATION_WIRE_END_BYTES;
	r = scd__reader(bytes, len);
	if (scd__read_u32(&r) != WIRE_MAGIC ||
	    scd__read_u16(&r) != WIRE_VERSION)
		return SCD_EFORMAT;
	out->nsections = scd__read_u16(&r);
	out->at = bytes + INVALIDATION_WIRE_HEAD_BYTES;
	out->end = bytes + len;
	for (unsigned i = 0; good && i < out->nsections; i++)
		good = invalidation_wire_check_section(&r);
	if (!good || scd__reader_left(&r))
		return SCD_EFORMAT;
	return invalidation_wire_check_sum(bytes, len, secret);
}

static struct scd__reader
invalidation_wire_rest(const struct invalidation_message *m)
{
	return scd__reader(m->at, (size_t)(m->end - m->at));
}

bool invalidation_read_section(struct invalidation_message *m,
			       struct invalidation_section *section)
{
	struct scd__reader r = invalidation_wire_rest(m);
	bool good;

	if (!m->nsections)
		return false;
	good = invalidation_wire_read_section(&r, section);
	assert(good);
	(void)good;
	m->nsections--;
	m->at = r.at;
	return true;
}

struct invalidation_entry
invalidation_read_entry(struct invalidation_message *m)
{
	struct scd__reader r = invalidation_wire_rest(m);
	bool good;
	const struct invalidation_entry e =
		invalidation_wire_read_entry(&r, &good);

	assert(good);
	(void)good;
	m->at = r.at;
	return e;
}

/* Positions */

size_t invalidation_write_positions(const struct invalidation_log *log,
				    const uint8_t secret[SCD_SECRET_BYTES],
				    uint8_t *bytes)
{
	struct scd__writer w = scd__writer(bytes, INVALIDATION_POSITIONS_MAX);
	size_t n = invalidation_log_sources(log);

	scd__write_u32(&w, WIRE_POSITIONS);
	scd__write_u16(&w, WIRE_VERSION);
	scd__write_u16(&w, (uint16_t)n);
	for (size_t i = 0; i < n; i++) {
		const struct invalidation_source s =
			invalidation_log_source(log, i);

		scd__write_u64(&w, s.source);
		scd__write_u64(&w, s.position);
	}
	assert(!w.error);
	return invalidation_write_sum(secret, bytes, scd__writer_len(&w));
}

int invalidation_read_positions(const uint8_t *bytes, size_t len,
				const uint8_t secret[SCD_SECRET_BYTES],
				struct invalidation_position *out, size_t *n)
{
	struct scd__reader r;

	if (len < INVALIDATION_WIRE_HEAD_BYTES + INVALIDATION_WIRE_END_BYTES ||
	    len > INVALIDATION_POSITIONS_MAX)
		return SCD_EFORMAT;
	len -= INVALIDATION_WIRE_END_BYTES;
	r = scd__reader(bytes, len);
	if (scd__read_u32(&r) != WIRE_POSITIONS ||
	    scd__read_u16(&r) != WIRE_VERSION)
		return SCD_EFORMAT;
	*n = scd__read_u16(&r);
	if (!*n ||
	    scd__reader_left(&r) != *n * INVALIDATION_POSITION_BYTES)
		return SCD_EFORMAT;
	for (size_t i = 0; i < *n; i++) {
		out[i].source = scd__read_u64(&r);
		out[i].seq = scd__read_u64(&r);
		if (!out[i].source)
			return SCD_EFORMAT;
	}
	return invalidation_wire_check_sum(bytes, len, secret);
}
