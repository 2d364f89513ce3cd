/*
 * Frames: deltas of lists for a channel on which each follows the one before,
 * so that instance, width and base are known. docs/FORMAT.md, "Frames of a
 * list".
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/parts.h"
#include "codec/filter/list_state.h"
#include "codec/wire/frame.h"
#include "codec/wire/list_aged.h"
#include "codec/wire/list_delta.h"

enum {
	SHORT_SUM = 1, /* types: which sum there is, */
	LONG_SUM = 2,
	AGED = 2, /* more: what goes is named by age */
	LONG_CODE = 1024, /* bytes: then the sum is long */
	/* type, length, steps, go, come, sum: less than a digest's header */
	HEAD_BYTES = 1 + 4 * SCD__VARINT_BYTES + 8,
};

/* A frame, and whether what goes in it is named by age. */
struct list_frame_bytes {
	bool aged;
	uint8_t *bytes;
	size_t len;
};

/* All but the type and the length, which must be known for the length. */
static void list_frame_write_fields(struct scd__writer *w,
				    const struct scd_list *base,
				    const struct scd_list_change *c,
				    uint64_t generation, unsigned type)
{
	const uint64_t sum = scd__list_delta_sum(base, c);

	scd__write_varint(w, generation - base->generation);
	scd__write_varint(w, c->nremoved);
	scd__write_varint(w, c->nadded);
	if (type == SHORT_SUM || type == SHORT_SUM + AGED)
		scd__write_u32(w, (uint32_t)sum);
	else
		scd__write_u64(w, sum);
}

/* Put the fields before the code, in a new buffer. */
static int list_frame_join(const struct scd__writer *fields,
			   const struct scd__writer *code, unsigned type,
			   uint8_t **out, size_t *out_len)
{
	const size_t body = scd__writer_len(fields) + scd__writer_len(code);
	uint8_t *bytes = malloc(HEAD_BYTES + body);
	struct scd__writer w;

	if (!bytes)
		return SCD_ENOMEM;
	w = scd__writer(bytes, HEAD_BYTES + body);
	scd__write_u8(&w, (uint8_t)type);
	scd__write_varint(&w, body);
	scd__write_bytes(&w, fields->start, scd__writer_len(fields));
	scd__write_bytes(&w, code->start, scd__writer_len(code));
	assert(!w.error);
	*out = bytes;
	*out_len = scd__writer_len(&w);
	return SCD_OK;
}

/* Make a frame of a code, which is released. */
static int list_frame_make(const struct scd_list *base,
			   const struct scd_list_change *change,
			   uint64_t generation, struct scd__writer *code,
			   struct list_frame_bytes *out)
{
	uint8_t room[HEAD_BYTES];
	struct scd__writer fields = scd__writer(room, sizeof(room));
	unsigned type = SHORT_SUM;
	int error;

	if (scd__writer_len(code) >= LONG_CODE ||
	    generation % SCD_LIST_FRAME_EVERY == 0)
		type = LONG_SUM;
	if (out->aged)
		type += AGED;
	list_frame_write_fields(&fields, base, change, generation, type);
	error = list_frame_join(&fields, code, type, &out->bytes, &out->len);
	scd__frame_drop(code);
	return error;
}

/* Make a frame of one form or the other. */
static int list_frame_encode(const struct scd_list *base,
			     const struct scd_list_change *change,
			     uint64_t generation, struct list_frame_bytes *out)
{
	struct scd__writer code;
	int error;

	if ((generation - base->generation) >> (7 * SCD__VARINT_BYTES))
		return SCD_EINVAL;
	if (out->aged)
		error = scd__list_aged_code(base, change, generation, &code);
	else
		error = scd__list_delta_code(base, change, generation, &code);
	return error ? error
		     : list_frame_make(base, change, generation, &code, out);
}

int scd_list_frame_encode(const struct scd_list *base,
			  const struct scd_list_change *change,
			  uint64_t generation, uint8_t **out, size_t *out_len)
{
	struct list_frame_bytes frame = {.aged = false};
	int error = list_frame_encode(base, change, generation, &frame);

	if (error)
		return error;
	*out = frame.bytes;
	*out_len = frame.len;
	return SCD_OK;
}

int scd_list_aged_frame_encode(const struct scd_list *base,
			       const struct scd_list_change *change,
			       uint64_t generation, uint8_t **out,
			       size_t *out_len)
{
	struct list_frame_bytes frame = {.aged = true};
	int error = base->ages ? list_frame_encode(base, change, generation,
						   &frame)
			       : SCD_EINVAL;

	if (error)
		return error;
	*out = frame.bytes;
	*out_len = frame.len;
	return SCD_OK;
}

/* Read what precedes the code. */
static int list_frame_read_fields(struct scd__reader *r, unsigned type,
				  const struct scd_list *base,
				  struct scd__list_said *said,
				  uint64_t *generation)
{
	const uint64_t steps = scd__read_varint(r);

	said->go = scd__read_varint(r);
	said->come = scd__read_varint(r);
	said->aged = type > LONG_SUM;
	if (type == SHORT_SUM || type == SHORT_SUM + AGED) {
		said->sum = scd__read_u32(r);
		said->mask = UINT32_MAX;
	} else {
		said->sum = scd__read_u64(r);
		said->mask = UINT64_MAX;
	}
	*generation = base->generation + steps;
	if (r->error || steps == 0 || *generation < steps)
		return SCD_EFORMAT;
	return said->go > base->n ? SCD_EFORMAT : SCD_OK;
}

/* May the list have so many entries: by the format, and by its reader? */
static int list_frame_check_size(const struct scd_list *base,
				 const struct scd__list_said *said,
				 const struct scd_limits *limits)
{
	const uint64_t most = (scd__list_last(base) + 1) / SCD_LIST_SPARSITY;
	struct scd_limits defaults;
	uint64_t stay = base->n - said->go;

	scd_limits_init(&defaults);
	if (said->come > most || stay > most - said->come)
		return SCD_EFORMAT;
	if (stay + said->come > (limits ? limits : &defaults)->max_bits / 64)
		return SCD_ELIMIT;
	return SCD_OK;
}

/* The fields and the code of a frame. */
static int list_frame_read(struct scd__reader *body, unsigned type,
			   const struct scd_limits *limits,
			   const struct scd_list *base, uint64_t *generation,
			   struct scd_list_change *change)
{
	struct scd__list_said said;
	int error = list_frame_read_fields(body, type, base, &said, generation);

	if (!error)
		error = list_frame_check_size(base, &said, limits);
	if (!error)
		error = scd__list_delta_read(body, base, &said, change);
	return error;
}

int scd_list_frame_decode(const uint8_t *in, size_t len,
			  const struct scd_limits *limits,
			  const struct scd_list *base, size_t *used,
			  uint64_t *generation, struct scd_list_change *change)
{
	struct scd__reader r = scd__reader(in, len), body;
	const unsigned type = scd__read_u8(&r);
	const uint64_t bytes = scd__read_varint(&r);
	uint64_t read_generation;
	int error = r.error;

	if (error)
		return error;
	if (type < SHORT_SUM || type > LONG_SUM + AGED)
		return SCD_EVERSION;
	if (bytes > scd__reader_left(&r))
		return SCD_ETRUNC;
	if (type > LONG_SUM && !base->ages)
		return SCD_EBASE;
	body = scd__reader(r.at, (size_t)bytes);
	error = list_frame_read(&body, type, limits, base, &read_generation,
				change);
	if (error)
		return error;
	*generation = read_generation;
	*used = (size_t)(r.at - in) + (size_t)bytes;
	return SCD_OK;
}
