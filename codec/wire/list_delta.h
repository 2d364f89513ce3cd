/*
 * The code of a change of a list, which deltas and frames both carry: the ranks
 * of what goes, then the entries that come.
 */
#ifndef SCD_LIST_DELTA_H
#define SCD_LIST_DELTA_H

#include "codec/cursor.h"
#include "codec/list.h"

/* Memory for n numbers, for one at least. Null: there is none. */
uint64_t *scd__list_delta_numbers(uint64_t n);

/* Can a change be coded for a generation? The errors of
 * scd_list_delta_encode(), but for an entry that is not there. */
int scd__list_delta_check(const struct scd_list *base,
			  const struct scd_list_change *c, uint64_t generation);

/*
 * Code a change for a generation above the base's. On success *payload is as
 * scd__frame_begin() begins it, with the code in it. Errors as
 * scd_list_delta_encode().
 */
int scd__list_delta_code(const struct scd_list *base,
			 const struct scd_list_change *c, uint64_t generation,
			 struct scd__writer *payload);

/* What is said of a change beside its code: how many entries go and come, the
 * sum of the list that results, as far as mask has bits, and whether what goes
 * is named by its age, of a base that keeps ages. */
struct scd__list_said {
	uint64_t go, come;
	uint64_t sum, mask;
	bool aged;
};

/*
 * Read the code of a change by which so many entries go and come. It takes all
 * that the reader has left. Errors leave *c alone. SCD_EFORMAT: that is no such
 * code, or there cannot be so many; SCD_ECHECKSUM: by `mask`, the sum of the
 * list that results is another one; SCD_ENOMEM.
 */
int scd__list_delta_read(struct scd__reader *in, const struct scd_list *base,
			 const struct scd__list_said *said,
			 struct scd_list_change *c);

#endif
