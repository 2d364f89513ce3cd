/*
 * The code of a change of a list that keeps ages, which frames carry: what goes
 * is named by its rank in its cohort.
 */
#ifndef SCD_LIST_AGED_H
#define SCD_LIST_AGED_H

#include "codec/cursor.h"
#include "codec/list.h"

/* As scd__list_delta_code(), for a base that keeps ages. */
int scd__list_aged_code(const struct scd_list *base,
			const struct scd_list_change *c, uint64_t generation,
			struct scd__writer *payload);

/* Read what goes and comes, for which there is room, of a base that keeps ages;
 * no more goes than it has. SCD_EFORMAT, SCD_ENOMEM. */
int scd__list_aged_get(struct scd__reader *in, const struct scd_list *base,
		       struct scd_list_change *c);

#endif
