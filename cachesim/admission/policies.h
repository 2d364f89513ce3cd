/*
 * The policies, for their table and their tests, and what several of them
 * need.
 */
#ifndef CACHESIM_ADMISSION_POLICIES_H
#define CACHESIM_ADMISSION_POLICIES_H

#include "cachesim/admission/admission_table.h"
#include "codec/mix.h"

extern const struct admission_policy admission_exact;
extern const struct admission_policy admission_pair;
extern const struct admission_policy admission_stable;
extern const struct admission_policy admission_tinylfu;
extern const struct admission_policy admission_size;

/* To the disk if the policy has seen it, which it has from now on: decide()
 * of policies that have seen() and note(). */
enum admission_decision admission_second_use(struct admission *a,
					     const struct admission_item *r);

#endif
