/*
 * Which pairs of a state and an event the machines of all nodes have met.
 *
 * What has a handler and is never met, in a million requests, is a handler too
 * many, or worlds that are too tame: it fails the run.
 */
#ifndef TESTS_WORLD_PAIRS_H
#define TESTS_WORLD_PAIRS_H

#include <stdbool.h>

/* Prints the pairs that have a handler and were never met, or all of them with
 * how often they were. Returns how many were not, though worlds could. */
unsigned pairs_report(bool all);

#endif
