/*
 * Asking.
 */
#include "digestd/node/node_ask.h"

#include <stddef.h>

#include "digestd/http/cachecontrol.h"
#include "digestd/http/conditional.h"
#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"

bool node_ask_align(const struct node_ask *a, char range[SLICES_RANGE])
{
	return a->ranged && a->slice_bytes && a->get && a->cacheable &&
	       slices_align(a->request, a->slice_bytes, NODE_ASK_SLICES,
			    range) &&
	       !a->cc->no_store && !fields_get(a->request, "authorization");
}

/* Whether one response may answer another request than the one it is for,
 * whatever their ranges. */
static bool node_ask_is_for_all_ranges(const struct node_ask *a)
{
	return !a->cc->no_store && !a->cc->no_cache &&
	       !fields_get(a->request, "authorization");
}

static bool node_ask_is_for_all(const struct node_ask *a)
{
	char range[SLICES_RANGE];

	return node_ask_is_for_all_ranges(a) &&
	       (!a->ranged || node_ask_align(a, range));
}

bool node_ask_is_shareable(const struct node_ask *a)
{
	return a->cacheable && a->get && node_ask_is_for_all(a);
}

bool node_ask_may_pass_on_part(const struct node_ask *a)
{
	return a->ranged && a->get && node_ask_is_for_all_ranges(a) &&
	       !fields_get(a->request, "If-Range");
}

bool node_ask_may_be_at_peers(const struct node_ask *a, bool has_stale)
{
	return a->cacheable && !has_stale && a->cc->max_age != 0 &&
	       !(a->unheard && (a->ranged || a->for_slices)) &&
	       (node_ask_is_for_all(a) || node_ask_may_pass_on_part(a));
}

bool node_ask_may_renew_at_peers(const struct node_ask *a,
				 const struct freshness *stored)
{
	return a->cacheable && a->get && node_ask_is_for_all_ranges(a) &&
	       a->cc->max_age != 0 && !stored->always_validate &&
	       stored->lifetime_s > 0;
}

int node_ask_conditions_of_peer(const struct fields *stored,
				struct fields *out, bool *validating)
{
	*validating = conditional_has_validator(stored);
	fields_remove(out, "Range"); /* of what is whole here */
	return *validating ? conditional_validate(stored, out) : 0;
}

/* About what is stored, which has a validator. */
static int node_ask_about(const struct fields *stored, struct fields *out)
{
	/* its text stays when its line is removed */
	const char *if_range = fields_get(out, "If-Range");
	int err = conditional_validate(stored, out);

	if (err || !if_range || !fields_get(out, "Range"))
		return err;
	return fields_add(out, "If-Range", if_range);
}

int node_ask_conditions(const struct node_ask *a, const struct fields *stored,
			struct fields *out, bool *validating)
{
	*validating =
		a->cacheable && stored && conditional_has_validator(stored);
	if (*validating)
		return node_ask_about(stored, out);
	if (!a->cacheable || !a->get || a->ranged)
		return 0;
	/* not a loop, as the bits of names are constants then */
	fields_remove(out, "If-Match");
	fields_remove(out, "If-None-Match");
	fields_remove(out, "If-Modified-Since");
	fields_remove(out, "If-Unmodified-Since");
	return 0;
}
