/*
 * What digestctl tune prints.
 */
#ifndef DIGESTD_CTL_TUNING_H
#define DIGESTD_CTL_TUNING_H

#include <stddef.h>

#include "codec/tune.h"

/* Prints an answer for people, and as lines of digestd.conf. */
void tuning_print(const struct scd_goal *goal, const struct scd_tuning *t);

/* Prints the table of an explanation; the first is the answer. */
void tuning_explain(const struct scd_goal *goal,
		    const struct scd_candidate *list, size_t n);

/* Prints the answer, the goal and the explanation. Returns an exit code. */
int tuning_json(const struct scd_goal *goal, const struct scd_candidate *list,
		size_t n);

#endif
