/*
 * What a cache goes by in a response: status, fields, and the cache directives
 * that count for this cache.
 */
#ifndef DIGESTD_HTTP_RESPONSE_FACTS_H
#define DIGESTD_HTTP_RESPONSE_FACTS_H

#include "digestd/http/cachecontrol.h"
#include "digestd/http/freshness.h"
#include "digestd/http/setcookie.h"

struct response_facts {
	unsigned status;
	const struct fields *fields; /* borrowed */
	struct cachecontrol cc;
	enum set_cookie set_cookie; /* what is done with it in this one */
	struct freshness_rules rules; /* of the operator, for this one */
};

/*
 * Reads a response. `surrogate`: the name of this cache where it acts for the
 * origin, and so reads targeted fields; null for a forward proxy. Set-Cookie is
 * refused and there are no rules, unless the caller sets something else. Cannot
 * fail.
 */
void response_facts_read(struct response_facts *a, unsigned status,
			 const struct fields *fields, const char *surrogate);

/* The date in Expires, as text, where that counts; null: it does not. */
const char *response_facts_expires(const struct response_facts *a);

#endif
