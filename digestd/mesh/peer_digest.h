/*
 * A digest received from a peer: immutable, and shared by its users in any
 * thread. Of a list it is what was known when a generation of it was there; the
 * list itself is in a table (peer_table.h), where it goes on changing.
 */
#ifndef DIGESTD_MESH_PEER_DIGEST_H
#define DIGESTD_MESH_PEER_DIGEST_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "digestd/mesh/peer_table.h"

/* One, with a count of its users. */
struct peer_digest {
	atomic_uint users;
	struct scd_bloom bloom; /* of a list: its shape, without bits */
	struct peer_slot slot;  /* of a list; else its table is null */
	uint64_t instance, generation, nkeys;
	uint64_t gone; /* entries of a list since it came whole */
	bool has_ages; /* of a list: FORMAT.md, "Ages" */
	double fill; /* the share of its bits that are set */
	double fp; /* false positives that its fill predicts */
};

/*
 * Makes a digest with one user of a filter, which becomes its own. Null: no
 * memory, and then the filter is freed too.
 */
struct peer_digest *peer_digest_take(struct scd_bloom *bloom);
struct peer_digest *peer_digest_ref(struct peer_digest *d);
void peer_digest_unref(struct peer_digest *d); /* null is accepted */

/* The same, with what its header says of it. Returns 0 or SCD_ENOMEM. */
int peer_digest_take_as(struct scd_bloom *bloom,
			const struct scd_digest_info *info,
			struct peer_digest **out);

/* A digest as it came. */
struct peer_digest_bytes {
	const uint8_t *at;
	size_t len;
	const struct scd_limits *limits;
	struct peer_digest *base; /* what a delta is for; null: a full one */
	const struct scd_threads *threads; /* to decode with; null: none */
};

/*
 * Makes a digest with one user of bytes, and *info what their header says.
 * Returns 0 or the errors of scd_digest_decode() and scd_delta_apply(); then
 * *out stays as it is. It depends on nothing but its arguments.
 */
int peer_digest_read(const struct peer_digest_bytes *in,
		     struct scd_digest_info *info, struct peer_digest **out);

/* Whether it is of a list. */
static inline bool peer_digest_is_list(const struct peer_digest *d)
{
	return d->slot.table;
}

/*
 * Whether it is time to ask for the ages of a list. They are half as large as a
 * full digest, and save some 5 bits for each entry that goes: so many have gone
 * that it will pay.
 */
bool peer_digest_wants_ages(const struct peer_digest *d);

/* Bytes of memory of its array; of a list, none: see peer_table_memory(). */
size_t peer_digest_memory(const struct peer_digest *d);

/*
 * Reads a full list, or frames for the list that a slot has, of base, with its
 * ages or without, and gives it to the slot. In the decoder's thread. Returns 0
 * with a digest that has one user, and *info as scd_list_info(); or the errors
 * of scd_list_decode(), scd_list_frame_decode() and scd_list_ages_decode():
 * then *out stays as it is, but frames before the one that does not fit have
 * been applied. SCD_EBASE: the slot's list is not base.
 */
int peer_digest_read_list(const struct peer_digest_bytes *in,
			  const struct peer_slot *slot,
			  struct scd_digest_info *info,
			  struct peer_digest **out);
int peer_digest_read_frames(const struct peer_digest_bytes *in,
			    struct scd_digest_info *info,
			    struct peer_digest **out);

#endif
