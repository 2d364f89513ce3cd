/*
 * The coding of cohorts, by the coder of gaps: how many entries go from each of
 * them, and which one each entry of a list is of. docs/FORMAT.md, "Ages".
 *
 * How many go is told one by one: one more goes from this cohort, or the next
 * cohort follows. How likely that is is computed from the weights of the
 * cohorts and from how many are left, so one that goes from where the last
 * ones went takes next to nothing.
 */
#ifndef SCD_COHORT_CODER_H
#define SCD_COHORT_CODER_H

#include <stdint.h>

#include "codec/coder/gap_coder.h"

/* Cohorts, oldest first: n (> 0) of them. */
struct scd__cohort_model {
	unsigned n;
	const uint64_t *size;    /* entries, at least 1 each */
	const uint64_t *weights; /* expected shares of what goes, above 0, each
				  * below 2^25 */
};

/* Put how many go from each cohort, no more than it has. */
void scd__cohort_put_counts(struct scd__gap_encoder *e,
			    const struct scd__cohort_model *m,
			    const uint64_t *counts);

/* Read them; in all they are so many, which there are. SCD_EFORMAT: more are to
 * go from the youngest one than it has. */
int scd__cohort_get_counts(struct scd__gap_decoder *d,
			   const struct scd__cohort_model *m, uint64_t all,
			   uint64_t *counts);

/* Put the cohorts of all entries, and read them. Weights are not looked at. */
void scd__cohort_put_entries(struct scd__gap_encoder *e,
			     const struct scd__cohort_model *m,
			     const uint8_t *of_entry, uint64_t n);
void scd__cohort_get_entries(struct scd__gap_decoder *d,
			     const struct scd__cohort_model *m,
			     uint8_t *of_entry, uint64_t n);

#endif
