/*
 * Which pairs of a state and an event the machines of all nodes have met.
 */
#ifndef TESTS_WORLD_PAIRS_H
#define TESTS_WORLD_PAIRS_H

#include <stdbool.h>

/* Prints the pairs that have a handler and were never met, or all of them with
 * how often they were. Returns how many were not. */
unsigned pairs_report(bool all);

#endif
