/*
 * Fitting the model of the dense coding, and what follows from it.
 *
 * A fit costs some 10 us, whatever the size of the chunk. The logarithms that
 * compare two models are in fixed point: a model that depended on floating
 * point could differ from one machine to the next, and so could digests.
 */
#include "codec/coder/dense_model.h"

#include <string.h>

#include "codec/coder/ans.h"
#include "codec/error.h"

/* clang-format off */
const uint8_t scd__dense_byte[256] = {
	0, 1, 2, 4, 8, 16, 32, 64, 128, 3, 5, 6,
	9, 10, 12, 17, 18, 20, 24, 33, 34, 36, 40, 48,
	65, 66, 68, 72, 80, 96, 129, 130, 132, 136, 144, 160,
	192, 7, 11, 13, 14, 19, 21, 22, 25, 26, 28, 35,
	37, 38, 41, 42, 44, 49, 50, 52, 56, 67, 69, 70,
	73, 74, 76, 81, 82, 84, 88, 97, 98, 100, 104, 112,
	131, 133, 134, 137, 138, 140, 145, 146, 148, 152, 161, 162,
	164, 168, 176, 193, 194, 196, 200, 208, 224, 15, 23, 27,
	29, 30, 39, 43, 45, 46, 51, 53, 54, 57, 58, 60,
	71, 75, 77, 78, 83, 85, 86, 89, 90, 92, 99, 101,
	102, 105, 106, 108, 113, 114, 116, 120, 135, 139, 141, 142,
	147, 149, 150, 153, 154, 156, 163, 165, 166, 169, 170, 172,
	177, 178, 180, 184, 195, 197, 198, 201, 202, 204, 209, 210,
	212, 216, 225, 226, 228, 232, 240, 31, 47, 55, 59, 61,
	62, 79, 87, 91, 93, 94, 103, 107, 109, 110, 115, 117,
	118, 121, 122, 124, 143, 151, 155, 157, 158, 167, 171, 173,
	174, 179, 181, 182, 185, 186, 188, 199, 203, 205, 206, 211,
	213, 214, 217, 218, 220, 227, 229, 230, 233, 234, 236, 241,
	242, 244, 248, 63, 95, 111, 119, 123, 125, 126, 159, 175,
	183, 187, 189, 190, 207, 215, 219, 221, 222, 231, 235, 237,
	238, 243, 245, 246, 249, 250, 252, 127, 191, 223, 239, 247,
	251, 253, 254, 255,
};

const uint8_t scd__dense_rank[256] = {
	0, 1, 2, 9, 3, 10, 11, 37, 4, 12, 13, 38,
	14, 39, 40, 93, 5, 15, 16, 41, 17, 42, 43, 94,
	18, 44, 45, 95, 46, 96, 97, 163, 6, 19, 20, 47,
	21, 48, 49, 98, 22, 50, 51, 99, 52, 100, 101, 164,
	23, 53, 54, 102, 55, 103, 104, 165, 56, 105, 106, 166,
	107, 167, 168, 219, 7, 24, 25, 57, 26, 58, 59, 108,
	27, 60, 61, 109, 62, 110, 111, 169, 28, 63, 64, 112,
	65, 113, 114, 170, 66, 115, 116, 171, 117, 172, 173, 220,
	29, 67, 68, 118, 69, 119, 120, 174, 70, 121, 122, 175,
	123, 176, 177, 221, 71, 124, 125, 178, 126, 179, 180, 222,
	127, 181, 182, 223, 183, 224, 225, 247, 8, 30, 31, 72,
	32, 73, 74, 128, 33, 75, 76, 129, 77, 130, 131, 184,
	34, 78, 79, 132, 80, 133, 134, 185, 81, 135, 136, 186,
	137, 187, 188, 226, 35, 82, 83, 138, 84, 139, 140, 189,
	85, 141, 142, 190, 143, 191, 192, 227, 86, 144, 145, 193,
	146, 194, 195, 228, 147, 196, 197, 229, 198, 230, 231, 248,
	36, 87, 88, 148, 89, 149, 150, 199, 90, 151, 152, 200,
	153, 201, 202, 232, 91, 154, 155, 203, 156, 204, 205, 233,
	157, 206, 207, 234, 208, 235, 236, 249, 92, 158, 159, 209,
	160, 210, 211, 237, 161, 212, 213, 238, 214, 239, 240, 250,
	162, 215, 216, 241, 217, 242, 243, 251, 218, 244, 245, 252,
	246, 253, 254, 255,
};

/* clang-format on */

/* Bytes with a number of ones: 8 over it. */
static const uint16_t nbytes_with[SCD__DENSE_COUNTS] = {
	1, 8, 28, 56, 70, 56, 28, 8, 1,
};

/* log2 of 1..2^14 in 2^-24, rounded down: bit by bit, by squaring. */
static uint32_t dense_model_fixed_log2(uint32_t value)
{
	unsigned whole = 31 - (unsigned)__builtin_clz(value);
	uint64_t x = (uint64_t)value << (31 - whole); /* [1, 2) in 2^-31 */
	uint32_t log = whole;

	for (int i = 0; i < SCD__DENSE_COST_LOG; i++) {
		x = x * x >> 31;
		log <<= 1;
		if (x >> 32) {
			x >>= 1;
			log |= 1;
		}
	}
	return log;
}

/* A model in the making: how many bytes each class has. */
struct fit {
	struct scd__dense_model model;
	uint64_t weight[8];
	uint64_t total;
	uint64_t list_bits; /* of the escape list */
};

/* The shape of a model: which bytes each class has. */
static void dense_model_set_classes(struct scd__dense_model *model)
{
	const unsigned last = model->nclasses - 1;
	unsigned rank = 0;

	model->escapes = model->nclasses < SCD__DENSE_MAX_CLASSES;
	for (unsigned c = 0; c < 8; c++) {
		model->first[c] = (uint16_t)rank;
		model->nsyms[c] = c < last ? nbytes_with[c] : 0;
		rank += model->nsyms[c];
	}
	model->escape_first = rank;
	model->escape_bits = 32 - (unsigned)__builtin_clz(255 - rank);
	model->nsyms[last] = model->escapes ? 1 : (uint16_t)(256 - rank);
	model->first[last] = model->escapes ? SCD__DENSE_ESCAPE_RANK
					    : (uint16_t)rank;
}

static uint64_t dense_model_fit_cost(const struct fit *fit)
{
	const uint64_t scale = (uint64_t)SCD__DENSE_SCALE_LOG
			       << SCD__DENSE_COST_LOG;
	uint64_t cost = fit->list_bits << SCD__DENSE_COST_LOG;

	for (unsigned c = 0; c < fit->model.nclasses; c++) {
		uint32_t log = dense_model_fixed_log2(fit->model.freq[c]);

		cost += fit->weight[c] * (scale - log);
	}
	return cost;
}

/*
 * Frequencies in proportion, rounded down but never 0. What is left of the
 * scale then (it may be negative) is returned.
 */
static int64_t dense_model_fit_proportions(struct fit *fit)
{
	int64_t left = SCD__DENSE_SCALE;

	for (unsigned c = 0; c < fit->model.nclasses; c++) {
		uint64_t nsyms = fit->model.nsyms[c];
		uint64_t freq = (fit->weight[c] << SCD__DENSE_SCALE_LOG) /
				(fit->total * nsyms);

		fit->model.freq[c] = freq ? (uint16_t)freq : 1;
		left -= (int64_t)(nsyms * fit->model.freq[c]);
	}
	return left;
}

/* What a slot more for each of its symbols gains a class, by symbol. */
static uint64_t dense_model_gain(const struct fit *fit, unsigned c)
{
	uint32_t freq = fit->model.freq[c];

	return fit->weight[c] *
	       (dense_model_fixed_log2(freq + 1) -
		dense_model_fixed_log2(freq)) /
	       fit->model.nsyms[c];
}

/* Hand out what rounding left, each time to where it gains most. */
static void dense_model_fit_residue(struct fit *fit, int64_t left)
{
	while (left != 0) {
		unsigned best = 0;
		uint64_t most = 0;

		for (unsigned c = 0; left > 0 && c < fit->model.nclasses; c++) {
			if (fit->model.nsyms[c] <= left &&
			    dense_model_gain(fit, c) > most) {
				best = c;
				most = dense_model_gain(fit, c);
			}
		}
		for (unsigned c = 1; left < 0 && c < fit->model.nclasses; c++) {
			if (fit->model.freq[c] > fit->model.freq[best])
				best = c;
		}
		fit->model.freq[best] =
			(uint16_t)(fit->model.freq[best] + (left > 0 ? 1 : -1));
		left += left > 0 ? -(int64_t)fit->model.nsyms[best]
				 : (int64_t)fit->model.nsyms[best];
	}
}

/* One class's frequency changes by one, class 0 pays; does that help? */
static bool dense_model_try_step(struct fit *fit, unsigned c, int by,
				 uint64_t *cost)
{
	struct scd__dense_model *model = &fit->model;
	int freq = model->freq[c] + by;
	int rest = model->freq[0] - by * (int)model->nsyms[c];
	struct scd__dense_model before = *model;
	uint64_t changed;

	if (freq < 1 || rest < 1)
		return false;
	model->freq[c] = (uint16_t)freq;
	model->freq[0] = (uint16_t)rest;
	changed = dense_model_fit_cost(fit);
	if (changed < *cost) {
		*cost = changed;
		return true;
	}
	*model = before;
	return false;
}

static uint64_t dense_model_fit_improve(struct fit *fit)
{
	uint64_t cost = dense_model_fit_cost(fit);
	bool improved = true;

	while (improved) {
		improved = false;
		for (unsigned c = 1; c < fit->model.nclasses; c++) {
			improved |= dense_model_try_step(fit, c, 1, &cost);
			improved |= dense_model_try_step(fit, c, -1, &cost);
		}
	}
	return cost;
}

static uint64_t dense_model_fit_classes(struct fit *fit, unsigned nclasses,
					const uint64_t hist[SCD__DENSE_COUNTS])
{
	memset(fit, 0, sizeof(*fit));
	fit->model.nclasses = nclasses;
	dense_model_set_classes(&fit->model);
	for (unsigned c = 0; c < SCD__DENSE_COUNTS; c++) {
		unsigned in = c < nclasses ? c : nclasses - 1;

		fit->weight[in] += hist[c];
		fit->total += hist[c];
	}
	if (fit->model.escapes)
		fit->list_bits =
			fit->weight[nclasses - 1] * fit->model.escape_bits;
	dense_model_fit_residue(fit, dense_model_fit_proportions(fit));
	return dense_model_fit_improve(fit);
}

void scd__dense_fit(const uint64_t hist[SCD__DENSE_COUNTS],
		    struct scd__dense_model *model, uint64_t *cost)
{
	struct fit fit;

	*cost = UINT64_MAX;
	for (unsigned n = SCD__DENSE_MIN_CLASSES; n <= SCD__DENSE_MAX_CLASSES;
	     n++) {
		uint64_t bits = dense_model_fit_classes(&fit, n, hist);

		/* A class more slows decoding: not for the last 0.01 %. */
		if (bits < *cost - *cost / 8192) {
			*cost = bits;
			*model = fit.model;
		}
	}
	scd__dense_finish(model); /* cannot fail: its sum is right */
}

/*
 * Division by a frequency as a multiplication that rounds: with 2^b <= freq <
 * 2^(b + 1), inverse = 2^(15 + b) / freq rounded down is exact for all x <
 * 2^14. It falls short by less than x / 2^15, half a unit at most, which
 * rounding makes good; and rounding adds 1 / 2^(b + 1) to the quotient, less
 * than what x is short of the next multiple. It is negative because 2^15 is no
 * 16-bit number, but -2^15 is.
 */
static void dense_model_set_inverse(struct scd__dense_model *model, unsigned c)
{
	const uint32_t freq = model->freq[c];
	const unsigned b = 31 - (unsigned)__builtin_clz(freq);

	model->inverse[c] =
		(int16_t)-(int32_t)((UINT32_C(1) << (15 + b)) / freq);
	model->shift[c] = (uint16_t)b;
}

static void dense_model_set_base(struct scd__dense_model *model, unsigned c)
{
	const uint32_t freq = model->freq[c];
	const uint32_t before = model->first[c] * freq;

	model->base[c] = (uint16_t)(model->start[c] - before);
	if (before + model->nsyms[c] * freq > SCD__DENSE_SCALE)
		model->direct = false;
}

int scd__dense_finish(struct scd__dense_model *model)
{
	uint32_t rest = SCD__DENSE_SCALE, start = 0;

	if (model->nclasses < SCD__DENSE_MIN_CLASSES ||
	    model->nclasses > SCD__DENSE_MAX_CLASSES)
		return SCD_EFORMAT;
	dense_model_set_classes(model);
	for (unsigned c = 1; c < model->nclasses; c++) {
		uint32_t slots = (uint32_t)model->nsyms[c] * model->freq[c];

		if (slots == 0 || slots >= rest)
			return SCD_EFORMAT;
		rest -= slots;
	}
	model->freq[0] = (uint16_t)rest;
	model->direct = true;
	for (unsigned c = 0; c < 8; c++) {
		bool used = c < model->nclasses;

		model->start[c] = (uint16_t)start;
		model->inverse[c] = 0;
		model->shift[c] = model->base[c] = 0;
		if (!used) {
			model->freq[c] = 1;
			continue;
		}
		dense_model_set_inverse(model, c);
		dense_model_set_base(model, c);
		start += (uint32_t)model->nsyms[c] * model->freq[c];
	}
	return SCD_OK;
}

void scd__dense_symbols_make(const struct scd__dense_model *model,
			     struct scd__dense_symbols *symbols)
{
	const unsigned last = model->nclasses - 1;

	*symbols = (struct scd__dense_symbols){0};
	for (unsigned c = 0; c <= last; c++) {
		symbols->freq[c] = model->freq[c];
		scd__ans_divisor(model->freq[c], &symbols->inverse[c],
				 &symbols->shift[c]);
	}
	for (unsigned byte = 0; byte < 256; byte++) {
		unsigned c = (unsigned)__builtin_popcount(byte);
		unsigned rank = scd__dense_rank[byte];

		c = c < last ? c : last;
		if (c == last && model->escapes)
			rank = SCD__DENSE_ESCAPE_RANK;
		symbols->start[byte] =
			model->start[c] +
			(rank - model->first[c]) * symbols->freq[c];
	}
}
