/*
 * Admission filters: which keys were used lately. A cache that writes an
 * object to disk only when its key has been seen before saves most of its
 * writes, as most objects are never asked for again.
 *
 * A filter remembers a key for a window, which is counted in notes, not in
 * time. A key is "seen" as long as fewer than `window` notes of other keys have
 * been made since its own last one, without exceptions but those under Threads,
 * and forgotten once 7/6 as many have. Notes of keys that were noted a moment
 * before change nothing and do not count. A key that was never noted is taken
 * for seen at a rate of 0.8 % (at most 1 %); so is a forgotten one, except
 * during the first sixth of a window after that, when the rate is 4 %.
 *
 * Memory: 64 bytes for 24 keys of the window, 2.67 bytes a key, all of it
 * allocated at the beginning; it is never larger. A call touches one line of
 * the processor's cache, and notes one further line in order, from which the
 * oldest keys are cleared bit by bit: no call is longer than the others.
 *
 * How. The bits lie in blocks of 512, eight slices of 64. A key has a block,
 * and in each of its slices a pattern of 4 bits. To note a key is to set
 * its patterns in the two newest slices; it is seen if two slices, one next to
 * the other in age, have them. Block by block, one every 4 keys noted, the
 * oldest slice is emptied and becomes the newest; a round of this is a
 * generation. What changes nothing is not counted.
 *
 * Source: Shtul, Baquero, Almeida, "Age-Partitioned Bloom Filters", 2020
 * (arXiv 2001.03147), with k = 2 and l = 6. In a block further bits cost no
 * further access, so a slice has 4 of a key instead of 1: of those that reach
 * 1 % in blocks of 512 bits this takes the fewest, as some blocks have more
 * keys than others, and many small slices suffer from it more.
 *
 * Threads. Any number of threads may note and ask at a time, without a lock;
 * also save. Who waits between noting and being counted may, once it goes on,
 * make a few keys of one block be forgotten early, or leave a few in it that
 * should have gone; when a generation ends, the keys of as many threads as
 * there are may go uncounted. Nothing else is lost. A filter is made, cleared
 * and freed by one thread while no other uses it.
 */
#ifndef SCD_ADMISSION_H
#define SCD_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "key.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of a window at most: 16 GiB. */
#define SCD_ADMISSION_MAX_WINDOW (UINT64_C(24) << 28)

enum {
	SCD_ADMISSION_BLOCK_KEYS = 24, /* of the window, and */
	SCD_ADMISSION_BLOCK_BYTES = 64,
	SCD_ADMISSION_HEADER_BYTES = 32, /* of an image */
};

struct scd_admission;

/*
 * Make a filter that has seen nothing, for a window of so many keys (1..
 * SCD_ADMISSION_MAX_WINDOW), rounded up to a multiple of 24. Errors leave *out
 * alone. SCD_EINVAL: outside of this range. SCD_ENOMEM. To be released with
 * scd_admission_free().
 */
int scd_admission_new(struct scd_admission **out, uint64_t window);

/* Release; *a becomes null. Null is accepted. */
void scd_admission_free(struct scd_admission **a);

/* Whether the key was seen; it is noted then. The one call that a cache makes
 * when it has fetched an object. */
bool scd_admission_use(struct scd_admission *a, const struct scd_key *key);

/* Whether the key was seen. Changes nothing. */
bool scd_admission_seen(const struct scd_admission *a,
			const struct scd_key *key);

/* Note that a key was used. */
void scd_admission_note(struct scd_admission *a, const struct scd_key *key);

/* scd_admission_use() of keys[0..n-1], in this order, into seen[0..n-1].
 * Several times as fast as one by one, as accesses to memory overlap. */
void scd_admission_use_many(struct scd_admission *a, const struct scd_key *keys,
			    size_t n, bool *seen);

/* Begin to load what a key needs from memory, a moment before it is asked for
 * or noted. Changes nothing. */
void scd_admission_prefetch(const struct scd_admission *a,
			    const struct scd_key *key);

/* Forget everything. */
void scd_admission_clear(struct scd_admission *a);

/* The window [keys], as it was rounded. */
uint64_t scd_admission_window(const struct scd_admission *a);

/* How many notes have changed something, modulo 2^32 generations. */
uint64_t scd_admission_noted(const struct scd_admission *a);

/*
 * The rate at which keys that were never noted would be seen now, in [0,1],
 * from the bits that are set in 4096 blocks or, if there are fewer, in all.
 */
double scd_admission_rate(const struct scd_admission *a);

/* Where the blocks lie, and how many bytes they are: for advice to the system
 * only, as madvise() gives it. Borrowed. */
void *scd_admission_memory(const struct scd_admission *a, size_t *bytes);

/*
 * Images: a filter as bytes, so that it outlives a restart. FORMAT.md has the
 * layout ("Admission images"). An image holds what keys leave behind, so a
 * node under another secret makes no sense of it.
 */

/* Bytes of the filter's image. */
size_t scd_admission_image_bytes(const struct scd_admission *a);

/*
 * Write an image of exactly scd_admission_image_bytes() into out, which has
 * room for cap. The same state always gives the same bytes. If others note
 * meanwhile, their keys may be in it or not. SCD_ESPACE: cap is less; nothing
 * is written.
 */
int scd_admission_save(const struct scd_admission *a, uint8_t *out, size_t cap);

/*
 * Make a filter from an image: it goes on as the saved one would have. Its
 * window may be max_window at most. Nothing is allocated before the header is
 * known to be right and the image to be complete. Errors leave *out alone.
 *
 * SCD_ETRUNC: the image ends early; SCD_EFORMAT: no image, bytes behind it, or
 * fields that contradict each other; SCD_EVERSION; SCD_ELIMIT: the window;
 * SCD_ECHECKSUM; SCD_ENOMEM.
 */
int scd_admission_load(struct scd_admission **out, const uint8_t *in,
		       size_t len, uint64_t max_window);

#ifdef __cplusplus
}
#endif

#endif
