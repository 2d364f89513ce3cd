/*
 * The coding of lists: runs of ascending numbers, one after the other, by one
 * coder. Its first state takes as few bytes as it needs, so that the smallest
 * payloads are not longer than a code of whole bits would be: less than a byte
 * over what the gaps take. docs/FORMAT.md, "Coding 7".
 *
 * Runs are put from the last to the first, the numbers of a run from the last
 * to the first, and read in the order in which they are.
 */
#ifndef SCD_LIST_CODER_H
#define SCD_LIST_CODER_H

#include <stdint.h>

#include "codec/coder/gap_coder.h"
#include "codec/cursor.h"

/*
 * What runs are drawn from: `nones` entries below `all` (1..2^40), of which
 * equal ones may be; so many ranks of a list of `all` entries, each once.
 */
struct scd__shape scd__list_entries_shape(uint64_t all, uint64_t nones);
struct scd__shape scd__list_ranks_shape(uint64_t all, uint64_t nones);

/* Bytes that are always enough for a run. */
uint64_t scd__list_run_room(const struct scd__shape *shape);

/* Begin with the whole room of a writer; finish, and append what it takes.
 * SCD_ESPACE: there was not enough of it. */
void scd__list_coder_begin(struct scd__gap_encoder *e,
			   const struct scd__writer *out);
int scd__list_coder_finish(const struct scd__gap_encoder *e,
			   struct scd__writer *out);

/* Put entries that ascend. */
void scd__list_put_entries(struct scd__gap_encoder *e, const uint64_t *entries,
			   uint64_t n, uint64_t all);

/* Put n ranks of so many that ascend, each there once: those that are shorter
 * to tell, they or the others. */
void scd__list_put_ranks(struct scd__gap_encoder *e, const uint64_t *ranks,
			 uint64_t n, uint64_t all);

/* Begin with all that a reader has left. SCD_EFORMAT: no such bytes. */
int scd__list_decoder_begin(struct scd__gap_decoder *d, struct scd__reader *in);

/*
 * Read a run of entries: set the model, which stays the caller's; then the
 * next n of them, again and again, *last being the one before, 0 at first.
 * SCD_EFORMAT: an entry is not below all.
 */
void scd__list_expect_entries(struct scd__gap_decoder *d,
			      struct scd__gap_model *model, uint64_t nones,
			      uint64_t all);
int scd__list_get_entries(struct scd__gap_decoder *d, uint64_t *entries,
			  uint64_t n, uint64_t all, uint64_t *last);

/* Read a run of n ranks. SCD_EFORMAT: a rank is not below all. */
int scd__list_get_ranks(struct scd__gap_decoder *d, uint64_t *ranks, uint64_t n,
			uint64_t all);

#endif
