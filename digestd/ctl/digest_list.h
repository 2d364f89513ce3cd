/*
 * Lists of fingerprints (codec/list.h) as the commands work with them: all
 * entries of a list at once, in their order, at 8 bytes each.
 *
 * The functions return SCD_ errors, of which SCD_ENOMEM is one of all of them.
 */
#ifndef DIGESTD_CTL_DIGEST_LIST_H
#define DIGESTD_CTL_DIGEST_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "codec/list.h"

/* Fingerprints in ascending order; all zero is none of them. */
struct digest_entries {
	uint64_t *at;
	size_t n, room;
};

/* Adds one that is of any order; see digest_entries_sort(). */
int digest_entries_add(struct digest_entries *e, uint64_t entry);

/* Brings them into order; of equal ones one stays. */
void digest_entries_sort(struct digest_entries *e);

/* Cuts each to its first `to` of `from` bits, which keeps their order. */
void digest_entries_cut(struct digest_entries *e, unsigned from, unsigned to);

void digest_entries_free(struct digest_entries *e);

/* Those of a list. */
int digest_entries_of(const struct scd_list *list, struct digest_entries *out);

/* What both have; one that is there several times counts as often as it is in
 * the one that has it less often. Of the same width. */
uint64_t digest_entries_common(const struct digest_entries *a,
			       const struct digest_entries *b);

/* All that either has. Of the same width. */
int digest_entries_union(const struct digest_entries *a,
			 const struct digest_entries *b,
			 struct digest_entries *out);

/*
 * The list of some entries. SCD_ELIMIT: there are too many for the width;
 * SCD_EINVAL: there is no such width, or instance.
 */
int digest_list_make(const struct digest_entries *e, unsigned width,
		     uint64_t instance, uint64_t generation,
		     struct scd_list **out);

/* What leads from one list to another one of the same width; released with
 * scd_list_change_free(). */
int digest_list_change(const struct scd_list *from, const struct scd_list *to,
		       struct scd_list_change *out);

/*
 * Applies frames (docs/FORMAT.md, "Frames of a list"), as many as there are,
 * and ages among them. The errors of scd_list_frame_decode() and
 * scd_list_ages_decode(); the list is then of the generation of the last frame
 * that was good.
 */
int digest_list_apply_frames(struct scd_list *list, const uint8_t *bytes,
			     size_t len, const struct scd_limits *limits);

#endif
