/*
 * Cache-Control (RFC 9111, 5.2), and Pragma where it stands in for it.
 */
#ifndef DIGESTD_HTTP_CACHECONTROL_H
#define DIGESTD_HTTP_CACHECONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/fields.h"

struct field_names;

/* A limit of CACHECONTROL_NONE was not given. */
enum { CACHECONTROL_NONE = -1 };

/*
 * All directives of a request or response; those that have no meaning there
 * are read too and must be ignored. Ages in seconds.
 * A duplicate of a limit keeps the smaller one; a limit that is no number
 * counts as 0 (stale), as RFC 9111, 4.2.1 encourages.
 */
struct cachecontrol {
	int64_t max_age;
	int64_t s_maxage;
	int64_t max_stale;  /* without an argument: INT64_MAX */
	int64_t min_fresh;
	int64_t stale_if_error;         /* RFC 5861 */
	int64_t stale_while_revalidate; /* RFC 5861 */
	bool no_cache;
	bool no_cache_fields; /* no-cache="a, b": only without these fields */
	bool no_store;
	bool private;
	bool private_fields;  /* the same of private */
	bool public;
	bool must_revalidate;
	bool proxy_revalidate;
	bool must_understand;
	bool only_if_cached;
	bool targeted; /* from a targeted field: Expires does not count */
};

/* What a directive came with. */
struct cachecontrol_argument {
	bool given;
	bool fields;     /* it names fields that a response can do without */
	int64_t seconds; /* -1: no number */
};

/* All limits CACHECONTROL_NONE, all flags false. */
void cachecontrol_init(struct cachecontrol *cc);

/* Adds a directive; one that is not known is ignored. */
void cachecontrol_take(struct cachecontrol *cc, struct field_part name,
		       struct cachecontrol_argument argument);

/* Takes a directive back, with or without an argument. */
void cachecontrol_forget(struct cachecontrol *cc, struct field_part name);

/* Reads the Cache-Control of a response; see targeted.h for what may be in its
 * place. Cannot fail. */
void cachecontrol_response(const struct fields *fields,
			   struct cachecontrol *out);

/*
 * Whether no-cache or private in a response's Cache-Control name this field,
 * and so want it to be left out of what is stored. Names that a cache or a
 * client cannot do without (Vary, Location, Content-Type) do not count: the
 * directive then is about the whole response. *cc: as read from the fields.
 */
bool cachecontrol_withholds(const struct cachecontrol *cc,
			    const struct fields *fields, const char *name);

/* Marks all such names. */
void cachecontrol_mark_withheld(const struct cachecontrol *cc,
				const struct fields *fields,
				struct field_names *names);

/*
 * Reads the Cache-Control of a request; where it has none, Pragma: no-cache
 * counts as no-cache (RFC 9111, 5.4). Cannot fail.
 */
void cachecontrol_request(const struct fields *fields,
			  struct cachecontrol *out);

#endif
