/*
 * A cap on what is written: so many bytes a second on average, and what has
 * been saved up in a second at once. An object that is larger than what there
 * is goes when there is anything at all, and those after it wait until its
 * bytes have been made up for: so no size is shut out, and the average holds.
 */
#ifndef DIGESTD_ADMISSION_ADMISSION_RATE_H
#define DIGESTD_ADMISSION_ADMISSION_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero at first: no cap. */
struct admission_rate {
	uint64_t rate;   /* [bytes/s]; 0: no cap */
	double saved;    /* [bytes]; negative: more was written */
	int64_t last_ms; /* when that was so */
};

/* Sets the cap, with a second's worth saved up if there was none before. */
void admission_rate_set(struct admission_rate *r, uint64_t rate,
			int64_t now_ms);

/* May so many bytes be written now? They are counted if so. The time must not
 * go back. */
bool admission_rate_take(struct admission_rate *r, uint64_t bytes,
			 int64_t now_ms);

#endif
