/*
 * What one connection costs: they come one after the other, and the node's
 * processor time is read before and after each.
 */
#ifndef TEST_STORM_COST_H
#define TEST_STORM_COST_H

#include <stdint.h>

/*
 * Sends n hostile connections of a seed to the node that runs, one at a time.
 * Prints the dearest; one above the limit is a finding.
 */
void storm_cost_run(uint64_t seed, uint64_t n);

#endif
