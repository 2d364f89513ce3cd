/*
 * How a node tells the cache in front of it, which takes it for its origin,
 * what is worth keeping: with a field in its responses.
 *
 *	nginx	X-Accel-Expires: 0 where nothing should be kept, which nginx
 *		obeys and does not pass on; and, as nginx does not look at Age,
 *		how many seconds are left of what was kept here for a while
 *	field	Scd-Admit: disk, ram or no, on every response that could be
 *		kept; for Varnish's VCL, and others that can be told to look
 */
#ifndef DIGESTD_ADMISSION_ADMISSION_TELL_H
#define DIGESTD_ADMISSION_ADMISSION_TELL_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/admission/admission_policy.h"
#include "digestd/http/fields.h"

enum admission_tell { TELL_NOTHING, TELL_NGINX, TELL_FIELD };

/* Their names, in this order; a null ends them. */
extern const char *const admission_tell_names[];

/* Reads a name; false: it is none of them. */
bool admission_tell_read(const char *name, enum admission_tell *out);

/* The word for a decision: "disk", "ram", "no". */
const char *admission_word(enum admission_decision d);

/* What is told: may it be kept, how long is it fresh [s], how old is it. */
struct admission_news {
	enum admission_decision place;
	int64_t left_s, age_s;
};

/* Tells it in the fields of a response. Returns 0 or -ENOMEM. */
int admission_tell(enum admission_tell how, const struct admission_news *news,
		   struct fields *response);

#endif
