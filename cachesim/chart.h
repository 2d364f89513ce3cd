/*
 * A chart of a report: a script for gnuplot with the numbers in it.
 */
#ifndef CACHESIM_CHART_H
#define CACHESIM_CHART_H

#include "cachesim/report/report.h"

/* What is drawn; null: chosen by what differs from row to row. */
struct chart {
	const char *x, *y;    /* columns of numbers */
	const char *terminal; /* of gnuplot */
	const char *output;   /* file that gnuplot writes */
};

/*
 * Chooses what is not chosen yet. Returns null, or what is wrong, in English
 * without a full stop; static.
 */
const char *chart_choose(struct chart *c, const struct report *r);

/*
 * Writes the script: a line for each combination of the other settings, with
 * their values as its title.
 */
void chart_write(const struct chart *c, const struct report *r, FILE *to);

#endif
