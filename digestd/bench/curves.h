/*
 * Curves of the tuning formulas as CSV, for plotting: docs/plots.
 */
#ifndef DIGESTD_BENCH_CURVES_H
#define DIGESTD_BENCH_CURVES_H

/* Prints the curve of a name, or tells which there are. Returns an exit
 * code. */
int curves_print(const char *name);

#endif
