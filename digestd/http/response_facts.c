/*
 * What a cache goes by in a response.
 */
#include "digestd/http/response_facts.h"

#include <stddef.h>

#include "digestd/http/targeted.h"

void response_facts_read(struct response_facts *a, unsigned status,
			 const struct fields *fields, const char *surrogate)
{
	a->status = status;
	a->fields = fields;
	a->set_cookie = SET_COOKIE_REFUSE;
	a->rules = freshness_no_rules;
	if (!surrogate || !targeted_read(fields, surrogate, &a->cc))
		cachecontrol_response(fields, &a->cc);
}

const char *response_facts_expires(const struct response_facts *a)
{
	return a->cc.targeted ? NULL : fields_get(a->fields, "Expires");
}
