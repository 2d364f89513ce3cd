/*
 * The policies, for their table and their tests.
 */
#ifndef CACHESIM_ADMISSION_POLICIES_H
#define CACHESIM_ADMISSION_POLICIES_H

#include "cachesim/admission/admission.h"

extern const struct admission_policy admission_none;

#endif
