/*
 * What the origin answers: decided from the URL and the validators of a
 * request alone, without I/O.
 */
#ifndef LIVE_ORIGIN_ANSWER_H
#define LIVE_ORIGIN_ANSWER_H

#include "cachesim/live/body.h"
#include "cachesim/live/objects.h"
#include "cachesim/live/object_url.h"

enum { ORIGIN_ANSWER_DATE_MAX = 32, ORIGIN_ANSWER_CONTROL_MAX = 48 };

struct origin_answer {
	unsigned status;
	uint64_t hash; /* of the body */
	uint64_t size;
	char etag[BODY_ETAG_MAX];
	char modified[ORIGIN_ANSWER_DATE_MAX];	    /* Last-Modified */
	char control[ORIGIN_ANSWER_CONTROL_MAX];   /* Cache-Control */
};

struct origin_answer_rules {
	const struct objects *objects; /* null: every URL exists */
	uint64_t max_age_s;
};

/*
 * The answer to a GET or HEAD. if_none_match and if_modified may be null. With
 * objects their status and size count, and a URL that is not among them is a
 * 404; without, or when the trace knows no size, "?size=N" in the URL gives
 * the size, or else a distribution of web objects (mean about 10 KB).
 */
void origin_answer_make(struct origin_answer *a,
			const struct origin_answer_rules *rules,
			const struct object_url *t, const char *if_none_match,
			const char *if_modified);

#endif
