/*
 * The storage rule of RFC 9111, section 3.
 */
#include "digestd/http/storable.h"

#include <string.h>

#include "digestd/http/conditional.h"
#include "digestd/http/fields.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/vary.h"

bool storable_heuristic_status(unsigned status)
{
	switch (status) {
	case 200:
	case 203:
	case 204:
	case 300:
	case 301:
	case 308:
	case 404:
	case 405:
	case 410:
	case 414:
	case 501:
		return true;
	}
	return false;
}

/* Final, and neither partial nor about one exchange only. */
static bool storable_status_is_final(unsigned status)
{
	return status >= 200 && status <= 599 && status != 206 && status != 304;
}

/* Statuses whose caching rules are known here (must-understand). */
static bool storable_status_is_understood(unsigned status)
{
	return storable_heuristic_status(status) || status == 302 ||
	       status == 303 || status == 307 ||
	       (status >= 400 && status <= 417) || status == 421 ||
	       status == 422 || status == 426 ||
	       (status >= 500 && status <= 505);
}

static bool storable_has_lifetime(const struct response_facts *a)
{
	if (a->cc.s_maxage != CACHECONTROL_NONE ||
	    a->cc.max_age != CACHECONTROL_NONE || response_facts_expires(a) ||
	    a->rules.default_s > 0 || a->rules.least_s > 0)
		return true;
	return (storable_heuristic_status(a->status) || a->cc.public) &&
	       conditional_has_validator(a->fields);
}

enum storable storable(const char *method, const struct fields *request,
		       const struct response_facts *response)
{
	const struct cachecontrol *cc = &response->cc;
	struct cachecontrol asked;

	cachecontrol_request(request, &asked);
	if (strcmp(method, "GET"))
		return STORABLE_METHOD;
	if (!storable_status_is_final(response->status))
		return STORABLE_STATUS;
	if (cc->must_understand &&
	    !storable_status_is_understood(response->status))
		return STORABLE_STATUS;
	/* no-store beside must-understand is for those who do not */
	if (asked.no_store || (cc->no_store && !cc->must_understand))
		return STORABLE_NO_STORE;
	if (cc->private)
		return STORABLE_PRIVATE;
	if (setcookie_refuses(response))
		return STORABLE_SET_COOKIE;
	if (fields_get(request, "Authorization") && !cc->public &&
	    !cc->must_revalidate && cc->s_maxage == CACHECONTROL_NONE)
		return STORABLE_AUTHORIZATION;
	if (vary_any(response->fields))
		return STORABLE_VARY;
	if (!storable_has_lifetime(response))
		return STORABLE_NOT_CACHEABLE;
	return STORABLE_YES;
}
