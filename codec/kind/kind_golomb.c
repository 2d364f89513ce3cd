/*
 * The Golomb-coded set: a key becomes a number below n / f, the numbers are
 * sorted and their gaps coded (golomb.h). Who has another number is not in
 * the set, and of the n / f numbers n are taken: a rate of f, for about
 * log2(1/f) + 1.4 bits an object. It is the smallest here, but it cannot be
 * changed, only made anew from all keys: 8 bytes a key until it is sealed, 16
 * while it is.
 *
 * It stays coded in memory, with an index of 2 bits an object; a lookup costs
 * some ten times that of a filter.
 *
 * Body: the code. Parameter: low bits of a gap; keys: numbers, each once;
 * size: n / f.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/number_sort.h"
#include "codec/kind/golomb.h"
#include "codec/kind/kind_rows.h"
#include "codec/kind/kind_wire.h"

enum { LETTER = 'G', FIRST_ROOM = 1024 };

struct golomb {
	struct scd__summary base;
	uint64_t bound;
	struct scd__golomb set; /* once it is sealed */
	uint64_t *numbers;      /* until then, as they came */
	size_t count, room;
};

/* The rate that is reached in so many bits an object. */
static double kind_golomb_fp_for_bits(double bits)
{
	double low = 1e-18, high = .99;

	for (int i = 0; i < 100; i++) {
		double middle = sqrt(low * high);

		if (scd__golomb_bits(middle) <= bits)
			high = middle;
		else
			low = middle;
	}
	return high;
}

static int kind_golomb_create(const struct scd__kind_goal *goal,
			      struct scd__summary **out)
{
	double fp =
		goal->fp > 0 ? goal->fp : kind_golomb_fp_for_bits(goal->bits);
	double bound = ceil((double)goal->nkeys / fp);
	struct golomb *g;

	if (!(bound <= (double)SCD__GOLOMB_MAX_BOUND))
		return SCD_EGOAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return SCD_ENOMEM;
	g->bound = (uint64_t)bound;
	*out = &g->base;
	return SCD_OK;
}

static void kind_golomb_destroy(struct scd__summary *s)
{
	struct golomb *g = (struct golomb *)s;

	scd__golomb_free(&g->set);
	free(g->numbers);
	free(g);
}

static int kind_golomb_grow(struct golomb *g)
{
	size_t room = g->room ? 2 * g->room : FIRST_ROOM;
	uint64_t *more;

	if (room > SIZE_MAX / sizeof(*more))
		return SCD_ENOMEM;
	more = realloc(g->numbers, room * sizeof(*more));
	if (!more)
		return SCD_ENOMEM;
	g->numbers = more;
	g->room = room;
	return SCD_OK;
}

static int kind_golomb_add(struct scd__summary *s, const struct scd_key *key)
{
	struct golomb *g = (struct golomb *)s;

	if (g->count == g->room && kind_golomb_grow(g))
		return SCD_ENOMEM;
	g->numbers[g->count++] = key->lo % g->bound;
	return SCD_OK;
}

/* Each number once. */
static void kind_golomb_deduplicate(struct golomb *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (i == 0 || g->numbers[i] != g->numbers[i - 1])
			g->numbers[kept++] = g->numbers[i];
	}
	g->count = kept;
}

static int kind_golomb_seal(struct scd__summary *s)
{
	struct golomb *g = (struct golomb *)s;
	int error = scd__number_sort(g->numbers, g->count, g->bound - 1);

	if (error)
		return error;
	kind_golomb_deduplicate(g);
	error = scd__golomb_make(g->numbers, g->count, g->bound, &g->set);
	if (error)
		return error;
	free(g->numbers);
	g->numbers = NULL;
	return SCD_OK;
}

static bool kind_golomb_has(const struct scd__summary *s,
			    const struct scd_key *key)
{
	const struct golomb *g = (const struct golomb *)s;

	return scd__golomb_has(&g->set, key->lo % g->bound);
}

static double kind_golomb_fp(const struct scd__summary *s)
{
	const struct golomb *g = (const struct golomb *)s;

	return (double)g->set.count / (double)g->bound;
}

static size_t kind_golomb_memory(const struct scd__summary *s)
{
	const struct golomb *g = (const struct golomb *)s;

	return sizeof(*g) + scd__golomb_memory(g->set.count, g->set.len);
}

static int kind_golomb_encode(const struct scd__summary *s, uint8_t **out,
			      size_t *out_len)
{
	const struct golomb *g = (const struct golomb *)s;
	const struct scd__kind_header h = {
		.letter = LETTER,
		.parameter = (uint8_t)g->set.rice,
		.nkeys = g->set.count,
		.size = g->bound,
	};
	uint8_t *wire = scd__kind_wire_new(g->set.len);

	if (!wire)
		return SCD_ENOMEM;
	memcpy(wire + SCD__KIND_HEADER_BYTES, g->set.code, g->set.len);
	scd__kind_wire_seal(wire, g->set.len, &h);
	*out = wire;
	*out_len = SCD__KIND_HEADER_BYTES + g->set.len;
	return SCD_OK;
}

static int kind_golomb_decode(const uint8_t *in, size_t len, size_t max_memory,
			      struct scd__summary **out)
{
	struct scd__kind_header h = {.letter = LETTER};
	struct golomb *g;
	int error = scd__kind_wire_open(in, len, &h);

	if (error)
		return error;
	len -= SCD__KIND_HEADER_BYTES;
	if (h.size < 1 || h.size > SCD__GOLOMB_MAX_BOUND)
		return SCD_EFORMAT;
	if (h.nkeys > 8 * (uint64_t)len) /* see scd__golomb_load() */
		return SCD_EFORMAT;
	if (sizeof(*g) + scd__golomb_memory(h.nkeys, len) > max_memory)
		return SCD_ELIMIT;
	g = calloc(1, sizeof(*g));
	if (!g)
		return SCD_ENOMEM;
	g->bound = h.size;
	g->set.bound = h.size;
	g->set.count = h.nkeys;
	g->set.rice = h.parameter;
	error = scd__golomb_load(&g->set, in + SCD__KIND_HEADER_BYTES, len);
	if (error)
		free(g);
	else
		*out = &g->base;
	return error;
}

const struct scd__kind scd__kind_golomb = {
	.name = "golomb",
	.title = "Golomb-coded set",
	.hashing = SCD_HASHING_DOUBLE,
	.create = kind_golomb_create,
	.add = kind_golomb_add,
	.seal = kind_golomb_seal,
	.has = kind_golomb_has,
	.fp = kind_golomb_fp,
	.memory = kind_golomb_memory,
	.encode = kind_golomb_encode,
	.decode = kind_golomb_decode,
	.destroy = kind_golomb_destroy,
};
