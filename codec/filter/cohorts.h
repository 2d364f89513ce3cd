/*
 * Cohorts: which entries of a list came in about the same time. Owner and
 * readers of a list make the same ones of the changes that they apply, from
 * sizes alone, so nothing of that is told; where caches evict by age, what goes
 * is in a few of them, and costs few bits. docs/FORMAT.md, "Ages".
 *
 * What comes with a change is in the youngest cohort. Once that has a 128th of
 * the list it is closed: the next change opens another one. Where there are
 * too many, the two neighbours that are smallest together become one. `gone`
 * remembers how many have gone lately from the cohort of each rank of age, the
 * oldest first, which is what the coder expects of the next change. Of small
 * lists it remembers fewer, an eighth of their entries.
 *
 * An entry has the id of a cohort. Ids ascend with age, so cohorts that become
 * one keep theirs; when all are used, they are given out anew.
 */
#ifndef SCD_COHORTS_H
#define SCD_COHORTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SCD__COHORTS_MAX = 192,
	SCD__COHORT_SHARE = 128, /* of the list: it closes a cohort */
	SCD__COHORT_LEAST = 16, /* entries of one that is closed */
	/* the sum of what is remembered: a share of the list, within bounds */
	SCD__COHORT_GONE_SHARE = 8,
	SCD__COHORT_GONE_LEAST = 256,
	SCD__COHORT_GONE_MAX = 2048,
	SCD__COHORT_ID_BITS = 8,
	SCD__COHORT_IDS = 1 << SCD__COHORT_ID_BITS,
};

struct scd__cohorts {
	unsigned n;                            /* oldest first */
	unsigned nids;                         /* given out */
	uint64_t size[SCD__COHORTS_MAX + 1];   /* entries */
	uint64_t gone[SCD__COHORTS_MAX + 1];   /* lately, by rank of age */
	uint8_t of_id[SCD__COHORT_IDS];        /* ascending */
};

/* The cohorts of n entries whose ages are not known: one, or none. */
void scd__cohorts_begin(struct scd__cohorts *c, uint64_t n);

/* Begin a change of a list of n entries to which some come; fewer than all ids
 * are used. */
void scd__cohorts_begin_change(struct scd__cohorts *c, uint64_t n,
			       uint64_t ncome);

/* An entry with an id goes. */
static inline void scd__cohorts_remove(struct scd__cohorts *c, unsigned id)
{
	c->size[c->of_id[id]]--;
	c->gone[c->of_id[id]]++;
}

/* The id of entries that come; there is a cohort. */
static inline unsigned scd__cohorts_newest(const struct scd__cohorts *c)
{
	return c->nids - 1;
}

/* End a change: what came has been counted, what is empty goes, and there are
 * SCD__COHORTS_MAX at most. */
void scd__cohorts_end_change(struct scd__cohorts *c, uint64_t ncome);

/* Ids from 0 on, one for each cohort; those that entries have become *of_id. */
void scd__cohorts_renumber(struct scd__cohorts *c,
			   uint8_t of_id[SCD__COHORT_IDS]);

/* Whether `gone` and sizes are such as a change of a list of n entries leaves
 * behind. */
bool scd__cohorts_are_valid(const struct scd__cohorts *c, uint64_t n);

/*
 * What the coder expects: the shares of the cohorts in what goes next.
 * Source of its form: what went lately, smoothed over neighbours, as age
 * advances between changes; and a little for each size.
 */
void scd__cohorts_weights(const struct scd__cohorts *c,
			  uint64_t weights[SCD__COHORTS_MAX]);

#endif
