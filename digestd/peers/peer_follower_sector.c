/*
 * Sectors of peers (mesh/sector.h): which are whose.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/peers/peer_follower_inside.h"

static bool peer_follower_is_elsewhere(const struct peer_follower *f,
				       const struct upstream *place)
{
	return place->kind->sectors &&
	       upstream_is_elsewhere(place, f->location);
}

/* The names of those that are here, this node's first; null: no memory. */
static const char **peer_follower_names_here(const struct peer_follower *f,
					     const struct upstream *places,
					     size_t n, size_t *nnames)
{
	const char **names = malloc((n + 1) * sizeof(*names));

	*nnames = 0;
	if (names)
		names[(*nnames)++] = f->node;
	for (size_t i = 0; names && i < n; i++) {
		if (places[i].kind->sectors &&
		    strcmp(places[i].name, f->node) != 0 &&
		    !peer_follower_is_elsewhere(f, &places[i]))
			names[(*nnames)++] = places[i].name;
	}
	return names;
}

struct sector peer_follower_sector(const struct peer_follower *f,
				   const struct upstream *place,
				   const struct upstream *places, size_t n)
{
	struct sector sector = { .count = 0 };
	const char **names;
	size_t nnames;

	if (!f->node || !peer_follower_is_elsewhere(f, place))
		return sector;
	names = peer_follower_names_here(f, places, n, &nnames);
	if (names)
		sector = sector_of(f->node, names, nnames);
	free(names);
	return sector;
}

void peer_follower_divide(struct peer_follower *f,
			  const struct upstream *places, size_t n)
{
	const char **names;
	size_t nnames;

	f->nelsewhere = 0;
	for (size_t i = 0; i < f->npeers; i++)
		f->nelsewhere += f->peers[i]->sector.count != 0;
	names = f->nelsewhere ? peer_follower_names_here(f, places, n, &nnames)
			      : NULL;
	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];

		p->owns = (struct sector){ .count = 0 };
		if (names && !p->sector.count && p->kind->sectors)
			p->owns = sector_of(p->name, names, nnames);
	}
	free(names);
}
