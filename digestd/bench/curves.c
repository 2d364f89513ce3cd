/*
 * Curves of the tuning formulas as CSV, for plotting: docs/plots.
 */
#include "digestd/bench/curves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codec/tune.h"
#include "digestd/tool/command.h"

/* Bits an object on the wire by the size of the array, for few functions. */
static void curves_print_wire(void)
{
	puts("k,bits_per_object,wire_bits,fp");
	for (unsigned k = 1; k <= 3; k++) {
		for (double m = 2; m <= 64; m += .5)
			printf("%u,%g,%.5f,%.6g\n", k, m,
			       scd_tune_full_bits(1, m, k),
			       scd_tune_fp(1, m, k));
	}
}

/* The same where the false positives are equal: m/n = -k / ln(1 - f^(1/k)). */
static void curves_print_equal(void)
{
	static const double rates[] = {.05, .02, .01, .005};

	puts("fp,k,bits_per_object,wire_bits");
	for (unsigned i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		for (unsigned k = 1; k <= 4; k++) {
			double m = -(double)k / log1p(-pow(rates[i], 1.0 / k));

			printf("%g,%u,%.3f,%.5f\n", rates[i], k, m,
			       scd_tune_full_bits(1, m, k));
		}
	}
}

/* What is best, by what lookups between two updates lose if all are wrong:
 * the formula, with all memory, with the usual memory. */
static void curves_print_cost(void)
{
	struct scd_goal goal = {.objects = 1000000,
				.churn = .01,
				.lookups = 1,
				.max_update = SCD_UPDATE_CONDITIONAL};

	puts("cost_bytes,formula,fp,bits_per_object,fp_8_bytes");
	for (double cost = 1e5; cost < 2e9; cost *= pow(10, .125)) {
		double formula = .01 * 1e6 / 8 / (log(2) * cost);
		struct scd_tuning rich, usual;

		goal.false_hit_bytes = cost;
		goal.max_memory = 0;
		if (scd_tune(&goal, &usual))
			continue;
		goal.max_memory = UINT64_MAX;
		if (scd_tune(&goal, &rich))
			continue;
		printf("%.6g,%.4g,%.4g,%.3f,%.4g\n", cost, fmin(1, formula),
		       rich.fp, (double)rich.nbits / 1e6, usual.fp);
	}
}

/* Bits an object of an update, by the share of the objects replaced. */
static void curves_print_churn(void)
{
	puts("churn,full_32_3,xor_32_3,conditional_32_3,"
	     "full_64_1,xor_64_1,conditional_64_1");
	for (double c = 1e-4; c < 1.01; c *= pow(10, .05)) {
		printf("%.6g,%.5f,%.5f,%.5f,%.5f,%.5f,%.5f\n", c,
		       scd_tune_full_bits(1, 32, 3),
		       scd_tune_delta_bits(1, 32, 3, c),
		       scd_tune_conditional_bits(1, 32, 3, c),
		       scd_tune_full_bits(1, 64, 1),
		       scd_tune_delta_bits(1, 64, 1, c),
		       scd_tune_conditional_bits(1, 64, 1, c));
	}
}

static const struct {
	const char *name;
	void (*print)(void);
} curves[] = {
	{"wire", curves_print_wire},
	{"equal", curves_print_equal},
	{"cost", curves_print_cost},
	{"churn", curves_print_churn},
};

enum { NCURVES = sizeof(curves) / sizeof(curves[0]) };

int curves_print(const char *name)
{
	for (size_t i = 0; i < NCURVES; i++) {
		if (strcmp(curves[i].name, name))
			continue;
		curves[i].print();
		return TOOL_OK;
	}
	fprintf(stderr, "digestbench: --csv: \"%s\" is not ", name);
	for (size_t i = 0; i < NCURVES; i++)
		fprintf(stderr, "%s%s", curves[i].name,
			i + 2 < NCURVES    ? ", "
			: i + 2 == NCURVES ? " or "
					   : "\n");
	return TOOL_USAGE;
}
