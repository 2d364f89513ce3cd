/*
 * Placement.
 */
#include "digestd/mesh/placement.h"

#include <stddef.h>

#include "digestd/http/enum_names.h"

const char *const placement_names[] = {"keep",        "second",        "single",
				       "single-seen", "single-shared", "auto",
				       NULL};

bool placement_read(const char *name, enum placement *out)
{
	int i = enum_names_find(placement_names, name);

	if (i >= 0)
		*out = (enum placement)i;
	return i >= 0;
}

bool placement_keeps(enum placement p, const struct placement_case *c)
{
	switch (p) {
	case PLACEMENT_KEEP:
	case PLACEMENTS:
		break;
	case PLACEMENT_SECOND:
		return !c->remote || c->asked || c->awaited;
	case PLACEMENT_AUTO:
		return c->worthy || c->awaited;
	case PLACEMENT_SINGLE:
		return !c->remote;
	case PLACEMENT_SINGLE_SEEN:
		return !c->remote && c->asked;
	case PLACEMENT_SINGLE_SHARED:
		return !c->remote && (c->asked || c->asked_at_peers);
	}
	return true;
}

bool placement_remembers(enum placement p)
{
	switch (p) {
	case PLACEMENT_KEEP:
	case PLACEMENT_SINGLE:
	case PLACEMENT_AUTO:
	case PLACEMENTS:
		break;
	case PLACEMENT_SECOND:
	case PLACEMENT_SINGLE_SEEN:
	case PLACEMENT_SINGLE_SHARED:
		return true;
	}
	return false;
}

bool placement_has_tiers(enum placement p)
{
	return p == PLACEMENT_AUTO;
}
