/*
 * The registry of kinds of peers.
 */
#include "digestd/peers/peer_kind.h"

#include "digestd/http/enum_names.h"

static const struct peer_kind *const peer_kinds[] = {
#define X(name) &peer_kind_##name,
	PEER_KINDS(X)
#undef X
};

const char *const peer_kind_names[] = {
#define X(name) #name,
	PEER_KINDS(X)
#undef X
	NULL,
};

const struct peer_kind *peer_kind_find(const char *name)
{
	int i = enum_names_find(peer_kind_names, name);

	return i < 0 ? NULL : peer_kinds[i];
}
