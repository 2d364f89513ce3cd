/*
 * A response as a cache looks at it.
 */
#include "digestd/http/answer.h"

#include <stddef.h>

#include "digestd/http/targeted.h"

void answer_read(struct answer *a, unsigned status, const struct fields *fields,
		 const char *surrogate)
{
	a->status = status;
	a->fields = fields;
	a->set_cookie = SET_COOKIE_REFUSE;
	if (!surrogate || !targeted_read(fields, surrogate, &a->cc))
		cachecontrol_response(fields, &a->cc);
}

const char *answer_expires(const struct answer *a)
{
	return a->cc.targeted ? NULL : fields_get(a->fields, "Expires");
}
