/*
 * Two origins. The good one answers as it should, and judges what it is asked:
 * the node must send it well-formed requests only, whatever its clients send.
 * The hostile one answers anything.
 */
#ifndef TEST_STORM_ORIGIN_H
#define TEST_STORM_ORIGIN_H

#include "tests/storm/storm_link.h"

extern const struct storm_role storm_origin_good;
extern const struct storm_role storm_origin_hostile;

/*
 * A request at the beginning of some bytes: its length, 0 when it is not whole
 * yet. *wrong is what is malformed in it, or null.
 */
size_t storm_origin_measure(const struct storm_text *in, const char **wrong);

/* A field's value in a request's header; null: there is none. */
const char *storm_origin_field(const struct storm_text *in, const char *name,
			       size_t *len);

/* The target, and what it is for a hostile answer. */
void storm_origin_target(const struct storm_text *in, const char **target,
			 size_t *len);

/* The right answer for a good URL, with conditions and ranges; false: the
 * target is none. */
bool storm_origin_answer_good(struct storm_script *s,
			      const struct storm_text *in, uint64_t *random);

/* A seed for the answer to a target: another one each time. */
uint64_t storm_origin_seed(const char *target, size_t len);

#endif
