/*
 * Frames: deltas of lists for a channel on which each follows the one before,
 * so that instance, width and base are known. docs/FORMAT.md, "Frames of a
 * list".
 */
#include <assert.h>
#include <stdlib.h>

#include "codec/coder/parts.h"
#include "codec/filter/list_state.h"
#include "codec/wire/frame.h"
#include "codec/wire/list_aged.h"
#include "codec/wire/list_delta.h"

enum {
	SHORT = 1, /* types: a step, and 16 bits of the sum; */
	LONG = 2,  /* any steps, and all bits */
	AGED = 2,  /* more: what goes is named by age */
	LONG_CODE = 1024, /* bytes: then the frame is long */
	/* type, length, steps, go, more, sum: less than a digest's header */
	HEAD_BYTES = 1 + 4 * SCD__VARINT_BYTES + 8,
};

static bool list_frame_is_short(unsigned type)
{
	return type == SHORT || type == SHORT + AGED;
}

/* A frame, and whether what goes in it is named by age. */
struct list_frame_bytes {
	bool aged;
	uint8_t *bytes;
	size_t len;
};

/* By how much more comes than goes, as a number that is small where either is
 * by little: 0, -1, 1, -2... become 0, 1, 2, 3... */
static uint64_t list_frame_excess(const struct scd_list_change *c)
{
	const uint64_t go = c->nremoved, come = c->nadded;

	return come >= go ? 2 * (come - go) : 2 * (go - come) - 1;
}

/* All but the type and the length, which must be known for the length. */
static void list_frame_write_fields(struct scd__writer *w,
				    const struct scd_list *base,
				    const struct scd_list_change *c,
				    uint64_t generation, unsigned type)
{
	const uint64_t sum = scd__list_sum_after(base, c);

	if (!list_frame_is_short(type))
		scd__write_varint(w, generation - base->generation);
	scd__write_varint(w, c->nremoved);
	scd__write_varint(w, list_frame_excess(c));
	if (list_frame_is_short(type))
		scd__write_u16(w, (uint16_t)sum);
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
	unsigned type = SHORT;
	int error;

	if (scd__writer_len(code) >= LONG_CODE ||
	    generation - base->generation != 1 ||
	    generation % SCD_LIST_FRAME_EVERY == 0)
		type = LONG;
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
	const bool is_short = list_frame_is_short(type);
	const uint64_t steps = is_short ? 1 : scd__read_varint(r);
	uint64_t excess;

	said->go = scd__read_varint(r);
	excess = scd__read_varint(r);
	said->aged = type > LONG;
	said->sum = is_short ? scd__read_u16(r) : scd__read_u64(r);
	said->mask = is_short ? UINT16_MAX : UINT64_MAX;
	*generation = base->generation + steps;
	if (r->error || steps == 0 || *generation < steps ||
	    said->go > base->n || (excess % 2 && excess / 2 >= said->go))
		return SCD_EFORMAT;
	said->come = excess % 2 ? said->go - excess / 2 - 1
				: said->go + excess / 2;
	return SCD_OK;
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
	if (type < SHORT || type > LONG + AGED)
		return SCD_EVERSION;
	if (bytes > scd__reader_left(&r))
		return SCD_ETRUNC;
	if (type > LONG && !base->ages)
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
