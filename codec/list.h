/*
 * Lists: a Bloom filter with one hash function and an array of 2^width bits,
 * of which only the ones are kept, as a sorted list of their positions. The
 * position of a key is its fingerprint (key.h), so of n keys a list says yes
 * to another key with probability n / 2^width; half of that costs one bit more
 * an object on the wire, and no memory.
 *
 * It is the form of a compressed Bloom filter that takes the fewest bits: a
 * full digest some log2(1/f) + 1.44 bits an object, a delta log2(1/f) + 1.44
 * for each object that came and some 8 for each that went, with 1 % replaced.
 * A delta is read, verified and applied in time that is proportional to the
 * change, whatever the list has: the checksum adds up over the entries, and
 * entries that go are named by their rank.
 *
 * Keys with the same fingerprint, twins, are entries of their own: a list is a
 * multiset, and has as many entries as keys. So nobody counts, and a key that
 * goes takes one entry with it.
 *
 *     owner:   new, change, encode ... delta_encode and change, again and again
 *     reader:  decode ... delta_decode, then change
 *
 * Memory: 2.2 bytes an entry where n / 2^width is 0.05 % or more, 2.6 at
 * 0.01 %, 4.6 below 0.006 %; some 5 % more after many changes. Ages take 1.2
 * more. docs/FORMAT.md, kinds 4 and 5, is normative.
 * Source: Mitzenmacher, "Compressed Bloom Filters", 2002, whose trade of
 * memory for the wire ends here when the number of functions is whole.
 */
#ifndef SCD_LIST_H
#define SCD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest.h"
#include "error.h"
#include "key.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SCD_LIST_MIN_WIDTH = 5,    /* bits of a fingerprint */
	SCD_LIST_MAX_WIDTH = 40,   /* as many as an array has at most */
	SCD_LIST_FRAME_EVERY = 64, /* generations to a full checksum */
	SCD_LIST_SPARSITY = 32,    /* of so many fingerprints there may be, one
				    * may be an entry: at most 3.1 % lies */
};

struct scd_list;

/*
 * What becomes of a list: fingerprints of entries that go, and of such that
 * come, each with its width. Both ascend; one that is there twice stands for
 * two entries. What a function made of it, scd_list_change_free() releases.
 */
struct scd_list_change {
	uint64_t *removed; /* nremoved of them; may be null if there are none */
	uint64_t *added;   /* nadded of them; the same */
	size_t nremoved;
	size_t nadded;
	uint64_t reserved[2]; /* 0 */
};

/*
 * The smallest width with which a list of nkeys keys (> 0) lies at most with
 * rate fp (0 < fp < 1): nkeys / 2^width <= fp, and <= 1 / SCD_LIST_SPARSITY.
 * 0: no width does. Cannot fail.
 */
unsigned scd_list_width(uint64_t nkeys, double fp);

/*
 * Make an empty list of generation 0, for fingerprints of width bits, to be
 * released with scd_list_free(). Errors leave *out alone. SCD_EINVAL: width is
 * out of range, or instance 0. SCD_ENOMEM.
 */
int scd_list_new(struct scd_list **out, unsigned width, uint64_t instance);

/* Release; *list becomes null. Null is accepted. */
void scd_list_free(struct scd_list **list);

/*
 * What the header of its digest says of a list, but for payload_bytes, which is
 * 0: nbits is 2^width, nones and nkeys the number of entries, checksum the sum
 * over them. Cannot fail, costs nothing.
 */
void scd_list_info(const struct scd_list *list, struct scd_digest_info *out);

/* Bits of a fingerprint. */
unsigned scd_list_width_of(const struct scd_list *list);

/* Bytes of memory that a list takes, without what malloc() adds. */
size_t scd_list_memory(const struct scd_list *list);

/* Whether a key may be among those of a list: whether its fingerprint is. */
bool scd_list_has(const struct scd_list *list, const struct scd_key *key);

/*
 * Copy n entries from the rank first on (0: the smallest) to out, in their
 * order. Returns how many there were, n at most.
 */
size_t scd_list_entries(const struct scd_list *list, uint64_t first, size_t n,
			uint64_t *out);

/*
 * Bring a change into order: sort both sides, and let what comes and goes
 * alike cancel. For an owner that notes changes as they happen. SCD_ENOMEM.
 */
int scd_list_change_sort(struct scd_list_change *change);

/* Release the fingerprints; the structure is that of no change then. */
void scd_list_change_free(struct scd_list_change *change);

/*
 * Apply a change, after which the list is of a generation. Takes time in
 * proportion to the change, and now and then, as it grows, to the list.
 * Errors leave it as it was. SCD_EINVAL: the change is not in order; a
 * fingerprint is too large; one is to go that is not there. SCD_ELIMIT: more
 * than 2^width / SCD_LIST_SPARSITY entries: it is time for a wider list.
 * SCD_ENOMEM.
 */
int scd_list_change(struct scd_list *list, const struct scd_list_change *change,
		    uint64_t generation);

/*
 * Make a full digest (kind SCD_LIST). On success *out is a buffer of *out_len
 * bytes, to be released with free(). The same list always gives the same bytes.
 * Errors leave *out and *out_len alone. SCD_ENOMEM.
 */
int scd_list_encode(const struct scd_list *list, uint8_t **out,
		    size_t *out_len);

/*
 * Read a full digest of kind SCD_LIST. On success *out is a list, verified,
 * that the caller releases with scd_list_free(), and *info (may be null) has
 * the header's fields. Errors leave both alone, and nothing allocated. It takes
 * at most 8 bytes an entry: limits->max_bits holds for these, not for 2^width.
 *
 * The errors of scd_digest_parse(); and SCD_EBASE: of another kind;
 * SCD_EFORMAT: the payload breaks a rule of its coding; SCD_ECHECKSUM: it
 * decodes to another list than announced; SCD_ENOMEM.
 */
int scd_list_decode(const uint8_t *in, size_t len,
		    const struct scd_limits *limits,
		    struct scd_digest_info *info, struct scd_list **out);

/*
 * Make the delta (kind SCD_LIST_DELTA) that leads from a list to what it is
 * after a change, of a generation above its own; the list stays as it is. In
 * time proportional to the change. Result as scd_list_encode(), errors as
 * scd_list_change(); and SCD_EINVAL: the generation is not above the list's.
 */
int scd_list_delta_encode(const struct scd_list *base,
			  const struct scd_list_change *change,
			  uint64_t generation, uint8_t **out, size_t *out_len);

/*
 * Read a delta for a list, in time proportional to the change. On success
 * *change is what it does, for scd_list_change() with info->generation, to be
 * released with scd_list_change_free(); the list that comes of it has the
 * checksum that the delta announces. Errors leave info and change alone, and
 * nothing allocated.
 *
 * The errors of scd_digest_parse(); and SCD_EBASE: no delta of this kind, or
 * one whose base is not the list (another instance, generation, width or
 * checksum); SCD_EFORMAT: the payload breaks a rule of its coding;
 * SCD_ECHECKSUM: the result is another list than announced; SCD_ENOMEM.
 */
int scd_list_delta_decode(const uint8_t *in, size_t len,
			  const struct scd_limits *limits,
			  const struct scd_list *base,
			  struct scd_digest_info *info,
			  struct scd_list_change *change);

/*
 * Make a frame: the same delta without all that its reader knows already, for a
 * channel that carries the frames of one list, each after the one before. 6
 * bytes and the code; where that is large, or the generation a multiple of
 * SCD_LIST_FRAME_EVERY or not the next one, 13. Result and errors as
 * scd_list_delta_encode().
 */
int scd_list_frame_encode(const struct scd_list *base,
			  const struct scd_list_change *change,
			  uint64_t generation, uint8_t **out, size_t *out_len);

/*
 * Read the frame that in begins with, of a list that is its base. On success
 * *used is its length, and *generation, *change are as scd_list_delta_decode()
 * gives them. Errors leave all of them alone, and nothing allocated. A frame is
 * verified by 16 bits of the checksum, large and some other ones by 64. It is
 * one of the whole list, so a mistake that gets through is found by each frame
 * that follows, as likely as by this one, and by the next one with 64 bits.
 *
 * SCD_ETRUNC: the frame does not end in len bytes; SCD_EVERSION: a frame of a
 * kind that is not known here; SCD_EFORMAT: it breaks a rule; SCD_ELIMIT: the
 * result would be larger than limits (null: the defaults); SCD_ECHECKSUM: the
 * result is another list than announced: damage, or another base; SCD_ENOMEM.
 */
int scd_list_frame_decode(const uint8_t *in, size_t len,
			  const struct scd_limits *limits,
			  const struct scd_list *base, size_t *used,
			  uint64_t *generation, struct scd_list_change *change);

/*
 * Ages. A list may keep for each entry when it came, as one of 192 cohorts at
 * most: what comes with a change is the youngest one, and both sides make the
 * same cohorts of the same changes. A frame names what goes by its age then,
 * which takes 1 to 4 bits an entry where caches evict by age, instead of 8 with
 * 1 % replaced.
 *
 * Owner and reader must take each change by itself: ages are those of a row of
 * frames, of one form or the other. They take some 1.2 bytes an entry. To write
 * or read a frame by age takes .8 to 1 ns for each entry of the list where many
 * go; where few go, some 2 to 6 us for each.
 */
enum { SCD_LIST_FRAME_AGES = 5 }; /* the first byte of such a frame */

/*
 * Keep ages from now on; all entries are one cohort, if that was not done
 * before. For an owner. SCD_ENOMEM.
 */
int scd_list_keep_ages(struct scd_list *list);

/* Whether a list keeps ages. */
bool scd_list_has_ages(const struct scd_list *list);

/*
 * Make the frame that tells a reader of the list its ages: with 128 cohorts, 7
 * bits an entry. Result as scd_list_encode(). SCD_EINVAL: it keeps none;
 * SCD_ENOMEM.
 */
int scd_list_ages_encode(const struct scd_list *list, uint8_t **out,
			 size_t *out_len);

/*
 * Read the ages that in begins with, for a list that has none and is of their
 * generation: it keeps them. On success *used is the length of the frame.
 * Errors leave list and *used alone. SCD_ETRUNC, SCD_EVERSION: as
 * scd_list_frame_decode(); SCD_EFORMAT: they break a rule; SCD_ECHECKSUM: they
 * are of another list, or damaged; SCD_EINVAL: the list has ages; SCD_ENOMEM.
 */
int scd_list_ages_decode(const uint8_t *in, size_t len, struct scd_list *list,
			 size_t *used);

/*
 * Make a frame that names what goes by its age. It is for readers that have the
 * ages of the base, scd_list_frame_decode() reads it, and answers SCD_EBASE to
 * others. Result and errors as scd_list_frame_encode(); and SCD_EINVAL: the
 * base has no ages.
 */
int scd_list_aged_frame_encode(const struct scd_list *base,
			       const struct scd_list_change *change,
			       uint64_t generation, uint8_t **out,
			       size_t *out_len);

#ifdef __cplusplus
}
#endif

#endif
