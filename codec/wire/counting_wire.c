/*
 * Counting filters as digests. The counters go out as planes: plane v says
 * which of the counters that are v - 1 or more are v or more. Given how many
 * that is, a plane is an array of independent bits like any other, so the
 * planes together take the entropy of the counters, whatever their
 * distribution. docs/FORMAT.md, "Kinds".
 *
 * After plane 1, which is the filter's array, only the counters above zero
 * are looked at: a byte for each of them is all the memory it takes.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/filter/counting_state.h"
#include "codec/wire/frame.h"
#include "codec/coder/parts.h"

/* "scd coun" */
static const uint64_t seed_counters = UINT64_C(0x73636420636f756e);

/* The counters above zero, in the order of their places. */
struct counters {
	uint8_t *values;
	uint64_t n;
	uint8_t *plane; /* room for a bit of each */
};

static int counting_wire_counters_new(struct counters *c, uint64_t n)
{
	c->n = n;
	c->values = calloc(1, (size_t)n + 1);
	c->plane = malloc((size_t)n / 8 + 1);
	if (c->values && c->plane)
		return SCD_OK;
	free(c->values);
	free(c->plane);
	return SCD_ENOMEM;
}

static void counting_wire_counters_free(struct counters *c)
{
	free(c->values);
	free(c->plane);
}

/* Call for each counter above zero, in order. */
static void counting_wire_collect(const struct scd_counting *from,
				  struct counters *c)
{
	const uint64_t nbits = from->bloom.nbits;
	uint64_t n = 0;

	for (uint64_t at = 0; at < nbits; at += 64) {
		const size_t left = scd_bloom_bytes(&from->bloom) - at / 8;
		uint64_t word = scd__load_bits(from->bloom.bits + at / 8,
					       left < 8 ? left : 8);

		for (; word; word &= word - 1)
			c->values[n++] = (uint8_t)scd__counter(
				from, at + (unsigned)__builtin_ctzll(word));
	}
	assert(n == c->n);
}

/* Plane v (2 and more) of the values of which there are as many as m says. */
static struct scd__shape counting_wire_make_plane(const struct counters *c,
						  unsigned v, uint64_t m)
{
	struct scd__shape shape = {.nbits = m};
	uint64_t at = 0;

	memset(c->plane, 0, (size_t)scd__array_bytes(m));
	for (uint64_t i = 0; i < c->n; i++) {
		if (c->values[i] + 1u < v)
			continue;
		if (c->values[i] >= v) {
			c->plane[at / 8] |= (uint8_t)(1u << at % 8);
			shape.nones++;
		}
		at++;
	}
	assert(at == m);
	return shape;
}

/* Append a plane: coding, ones (not of plane 1), length, payload. */
static int counting_wire_write_plane(const struct scd__shape *shape,
				     const uint8_t *bits, bool with_ones,
				     struct scd__writer *out)
{
	struct scd__writer head = *out, payload;
	enum scd_coding coding;
	size_t len;
	int error;

	scd__write_zeros(out, 1 + 2 * SCD__VARINT_BYTES);
	payload = *out;
	error = scd__part_encode(shape, bits, out, &coding);
	if (error)
		return error;
	len = (size_t)(out->at - payload.at);
	scd__write_u8(&head, (uint8_t)coding);
	if (with_ones)
		scd__write_varint(&head, shape->nones);
	scd__write_varint(&head, len);
	memmove(head.at, payload.at, len);
	out->at = head.at + len;
	return SCD_OK;
}

static int counting_wire_write_planes(const struct scd_counting *c,
				      const struct counters *counters,
				      struct scd__writer *out)
{
	struct scd__shape shape = {c->bloom.nbits, c->nones};
	int error =
		counting_wire_write_plane(&shape, c->bloom.bits, false, out);

	for (unsigned v = 2; !error && shape.nones > 0 && v <= COUNTER_MAX;
	     v++) {
		shape = counting_wire_make_plane(counters, v, shape.nones);
		error = counting_wire_write_plane(&shape, counters->plane, true,
						  out);
	}
	return error;
}

static uint64_t counting_wire_counters_checksum(const struct scd_counting *c)
{
	return scd__bytes_checksum(c->counters, scd__counter_bytes(c),
				   seed_counters);
}

/* Room for the planes, each of which is at most as long as its array. */
static size_t counting_wire_planes_room(const struct scd_counting *c)
{
	const size_t each = 2 + 2 * SCD__VARINT_BYTES;

	return scd_bloom_bytes(&c->bloom) +
	       (COUNTER_MAX - 1) * (size_t)scd__array_bytes(c->nones) +
	       COUNTER_MAX * each;
}

int scd_counting_encode(const struct scd_counting *c,
			const struct scd_digest_info *ids, uint8_t **out,
			size_t *out_len)
{
	struct scd_digest_info info = {
		.kind = SCD_COUNTING,
		.coding = SCD_CODING_PARTS,
		.hashing = c->bloom.hashing,
		.nhash = c->bloom.nhash,
		.nbits = c->bloom.nbits,
		.nkeys = ids->nkeys,
		.nones = c->nones,
		.ncoded = c->nones,
		.instance = ids->instance,
		.generation = ids->generation,
	};
	struct counters counters;
	struct scd__writer payload;
	int error;

	if (ids->instance == 0 || (ids->nkeys > 0 && c->nones == 0))
		return SCD_EINVAL;
	info.checksum = scd_digest_checksum(&c->bloom);
	info.base_checksum = counting_wire_counters_checksum(c);
	error = counting_wire_counters_new(&counters, c->nones);
	if (error)
		return error;
	counting_wire_collect(c, &counters);
	error = scd__frame_begin(counting_wire_planes_room(c), &payload);
	if (error)
		goto out_counters;
	error = counting_wire_write_planes(c, &counters, &payload);
	if (error)
		scd__frame_drop(&payload);
	else
		scd__frame_finish(&info, &payload, out, out_len);
out_counters:
	counting_wire_counters_free(&counters);
	return error;
}

/* A part with its length before it. */
static int counting_wire_read_part(unsigned coding,
				   const struct scd__shape *shape,
				   struct scd__reader *in, uint8_t *bits)
{
	const uint64_t len = scd__read_varint(in);
	struct scd__reader part;
	const uint8_t *bytes;

	if (in->error || len > scd__reader_left(in))
		return SCD_EFORMAT;
	bytes = scd__read_bytes(in, (size_t)len);
	part = scd__reader(bytes, (size_t)len);
	return scd__part_decode(coding, shape, &part, bits);
}

/* Add 1 to the values that plane v (2 and more) has a one for. */
static void counting_wire_add_plane(struct counters *c, unsigned v)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < c->n; i++) {
		if (c->values[i] + 1u < v)
			continue;
		c->values[i] = (uint8_t)(c->values[i] +
					 (c->plane[at / 8] >> at % 8 & 1));
		at++;
	}
}

/* All planes but the first. */
static int counting_wire_read_values(struct scd__reader *in, struct counters *c)
{
	struct scd__shape shape = {.nones = c->n};

	memset(c->values, 1, (size_t)c->n);
	for (unsigned v = 2; shape.nones > 0 && v <= COUNTER_MAX; v++) {
		const unsigned coding = scd__read_u8(in);
		int error;

		shape.nbits = shape.nones;
		shape.nones = scd__read_varint(in);
		if (in->error || shape.nones > shape.nbits)
			return SCD_EFORMAT;
		error = counting_wire_read_part(coding, &shape, in, c->plane);
		if (error)
			return error;
		counting_wire_add_plane(c, v);
	}
	return scd__reader_left(in) > 0 ? SCD_EFORMAT : SCD_OK;
}

/* Put the values where the ones are. */
static void counting_wire_spread(const struct counters *c,
				 struct scd_counting *to)
{
	uint64_t n = 0;

	for (uint64_t at = 0; at < to->bloom.nbits; at++) {
		if (!(to->bloom.bits[at / 8] >> at % 8 & 1))
			continue;
		to->counters[at / 2] |= (uint8_t)(c->values[n] << at % 2 * 4);
		to->nsaturated += c->values[n] == COUNTER_MAX;
		n++;
	}
	to->nones = n;
}

/* Fill an empty counting filter, and verify it. */
static int counting_wire_decode_into(const uint8_t *in,
				     const struct scd_digest_info *info,
				     struct scd_counting *to)
{
	const struct scd__shape first = {info->nbits, info->nones};
	struct scd__reader payload = scd__frame_reader(in, info);
	struct counters counters;
	int error;

	error = counting_wire_read_part(scd__read_u8(&payload), &first,
					&payload, to->bloom.bits);
	if (error)
		return error;
	error = counting_wire_counters_new(&counters, info->nones);
	if (error)
		return error;
	error = counting_wire_read_values(&payload, &counters);
	if (!error)
		counting_wire_spread(&counters, to);
	counting_wire_counters_free(&counters);
	if (error)
		return error;
	if (scd_digest_checksum(&to->bloom) != info->checksum ||
	    counting_wire_counters_checksum(to) != info->base_checksum)
		return SCD_ECHECKSUM;
	return SCD_OK;
}

int scd_counting_decode(const uint8_t *in, size_t len,
			const struct scd_limits *limits,
			struct scd_digest_info *info,
			struct scd_counting **out)
{
	struct scd_digest_info parsed;
	struct scd_counting *fresh;
	int error;

	error = scd_digest_parse(in, len, limits, &parsed);
	if (error)
		return error;
	if (parsed.kind != SCD_COUNTING)
		return SCD_EBASE;
	error = scd_counting_new(&fresh, parsed.nbits, parsed.nhash);
	if (error)
		return error;
	fresh->bloom.hashing = parsed.hashing;
	error = counting_wire_decode_into(in, &parsed, fresh);
	if (error) {
		scd_counting_free(&fresh);
		return error;
	}
	if (info)
		*info = parsed;
	*out = fresh;
	return SCD_OK;
}
