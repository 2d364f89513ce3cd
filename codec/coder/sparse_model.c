/*
 * Deriving the frequencies of gaps. Probabilities are fractions of 2^32.
 */
#include "codec/coder/sparse_model.h"

#include <assert.h>

#include "codec/coder/range_coder.h"

static const uint64_t certain = UINT64_C(1) << 32;

/* Below it a symbol would stand for too few gaps: they are joined by two. */
static const uint64_t least_share = UINT64_C(1) << 28;

static uint16_t sparse_model_to_freq(uint64_t share)
{
	uint64_t freq = (share * SCD__GAP_SCALE + certain / 2) >> 32;

	return freq ? (uint16_t)freq : 1;
}

/* Below it a probability has too few digits to be squared. */
static const uint64_t least_probability = UINT64_C(1) << 16;

/*
 * Raise low_bits; p is the probability that a one comes within 2^low_bits
 * places, the result that for the places of a symbol, which is 1/16 or more,
 * and below 1/8 if p is.
 */
static uint64_t sparse_model_join_gaps(uint64_t p, unsigned *low_bits)
{
	uint64_t none = certain - p;

	for (; certain - none < least_share; ++*low_bits)
		none = none * none >> 32;
	return certain - none;
}

/* Set nsyms and freq by the probability of a one among a symbol's places. */
static void sparse_model_fill(uint64_t one, struct scd__gap_model *model)
{
	uint64_t mass = certain; /* of this symbol and those after it */
	unsigned n = 0, sum = 0;

	/* Only symbols of a slot and more; the escape has what is left. */
	for (; mass * one >> (32 - SCD__GAP_SCALE_LOG) >= certain; n++) {
		uint64_t share = mass * one >> 32;

		assert(n < SCD__GAP_MAX_SYMS);
		model->freq[n] = sparse_model_to_freq(share);
		sum += model->freq[n];
		mass -= share;
	}
	model->nsyms = n;
	model->freq[n] = sparse_model_to_freq(mass);
	sum += model->freq[n];
	model->freq[0] = (uint16_t)(model->freq[0] + SCD__GAP_SCALE - sum);
}

void scd__gap_model(const struct scd__shape *shape,
		    struct scd__gap_model *model)
{
	model->low_bits = 0;
	sparse_model_fill(
		sparse_model_join_gaps(scd__range_probability(shape),
				       &model->low_bits),
		model);
	for (unsigned i = 0, start = 0; i <= model->nsyms; i++) {
		model->start[i] = (uint16_t)start;
		start += model->freq[i];
	}
}

void scd__gap_model_exact(const struct scd__shape *shape,
			  struct scd__gap_model *model)
{
	const unsigned __int128 ones = shape->nones;
	uint64_t p = (uint64_t)((ones << 32) / shape->nbits);

	assert(shape->nones > 0 && shape->nones <= shape->nbits / 2);
	for (model->low_bits = 0; p < least_probability; ++model->low_bits)
		p = (uint64_t)((ones << (33 + model->low_bits)) /
			       shape->nbits);
	sparse_model_fill(sparse_model_join_gaps(p, &model->low_bits), model);
	for (unsigned i = model->nsyms + 1, start = 0; i-- > 0;) {
		model->start[i] = (uint16_t)start;
		start += model->freq[i];
	}
}

bool scd__gap_suits(const struct scd__shape *shape)
{
	return shape->nones > 0 && shape->nones <= shape->nbits / 32;
}

void scd__gap_symbols(const struct scd__gap_model *model,
		      struct scd__ans_symbol symbols[SCD__GAP_MAX_SYMS + 1])
{
	for (unsigned i = 0; i <= model->nsyms; i++)
		symbols[i] = scd__ans_symbol(model->freq[i], model->start[i]);
}

void scd__gap_table(const struct scd__gap_model *model,
		    uint32_t table[SCD__GAP_SCALE])
{
	for (uint32_t sym = 0; sym <= model->nsyms; sym++) {
		for (uint32_t i = 0; i < model->freq[sym]; i++)
			table[model->start[sym] + i] =
				sym << 24 | (uint32_t)model->freq[sym] << 12 |
				i;
	}
}

uint32_t scd__gap_find(const struct scd__gap_model *model, uint32_t slot)
{
	uint32_t low = 0, high = model->nsyms; /* slots descend */

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (model->start[middle] <= slot)
			high = middle;
		else
			low = middle + 1;
	}
	return low << 24 | (uint32_t)model->freq[low] << 12 |
	       (slot - model->start[low]);
}
