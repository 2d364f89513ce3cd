/*
 * The digest of a sector: what a node holds of it, as a list (codec/list.h), or
 * the frame that leads there from an older generation of the same sector.
 *
 * Nothing is kept for a sector. Its list, and that of the older generation, are
 * made of the list of all objects and of the log of changes when somebody asks:
 * in time proportional to the objects of the sector, some 50 ns each.
 */
#ifndef DIGESTD_MESH_SECTOR_DIGEST_H
#define DIGESTD_MESH_SECTOR_DIGEST_H

#include <stdint.h>

#include "digestd/mesh/change_log.h"
#include "digestd/mesh/sector.h"
#include "digestd/store/blob.h"

/* What it is made of. All is borrowed. */
struct sector_source {
	const struct scd_list *all; /* of CATALOG_NOTED_WIDTH */
	const struct change_log *log; /* up to the generation of all */
	unsigned width; /* as published, of a list of all objects */
};

/* What somebody is sent. */
struct sector_digest {
	uint64_t instance, generation;
	uint64_t from; /* blob is the frame from there; 0: the full digest */
	struct blob *blob; /* its user's; null: there is nothing new */
};

/*
 * The digest for somebody who has a generation, or has none: 0. An older
 * generation that the log does not know is as good as none. SCD_ENOMEM.
 */
int sector_digest_make(const struct sector_source *source,
		       const struct sector *s, uint64_t from,
		       struct sector_digest *out);

#endif
