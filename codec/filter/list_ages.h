/*
 * Lists that keep ages: which cohort each entry is of, and the rank that it has
 * among the entries of its cohort.
 */
#ifndef SCD_LIST_AGES_H
#define SCD_LIST_AGES_H

#include "codec/filter/list_state.h"

/* Null is accepted. */
void scd__list_ages_free(struct scd__list_ages **ages);

/* Have the ids counted in the groups of a copy of the list, which has other
 * ones. SCD_ENOMEM: nothing has changed. */
int scd__list_ages_spread(struct scd__list_ages *ages,
			  const struct scd_list *copy);

/* See to it that an id is left for a change. */
void scd__list_ages_make_room(struct scd_list *list);

/* Copy a list's buckets into others that have ids, all of which are 0 if there
 * were none, or that have none. SCD_ENOMEM. */
int scd__list_set_has_ids(struct scd_list *list, bool has_ids);

/*
 * Keep ages, of which these are the cohorts; of_entry: the cohort of each entry
 * in their order, null: the only one. SCD_ENOMEM leaves the list as it was.
 */
int scd__list_ages_set(struct scd_list *list,
		       const struct scd__cohorts *cohorts,
		       const uint8_t *of_entry);

/* The cohort of each entry, in their order. */
void scd__list_ages_read(const struct scd_list *list, uint8_t *of_entry);

/* Entries by cohort: how many there are of each, and the ranks that they have
 * among those of their cohort; one cohort after the other, oldest first. */
struct scd__aged_ranks {
	uint64_t count[SCD__COHORTS_MAX];
	uint64_t *ranks;
};

/*
 * The ranks of entries that are to go, sorted as in struct scd_list_change: the
 * oldest ones of equal entries. SCD_EINVAL: one is not there. SCD_ENOMEM.
 */
int scd__list_aged_ranks_of(const struct scd_list *list,
			    const uint64_t *entries, size_t n,
			    struct scd__aged_ranks *out);

/* The entries with some ranks, each of which is there; they ascend. */
void scd__list_aged_entries_at(const struct scd_list *list,
			       const struct scd__aged_ranks *ranks,
			       uint64_t *entries);

#endif
