/*
 * Cohorts as symbols of the coder of gaps, with probabilities of 12 bits.
 */
#include "codec/coder/cohort_coder.h"

enum {
	MOST_LEFT = 1 << 20, /* that the odds are computed of */
	MAX_COHORTS = 256,   /* a byte tells one */
};

/*
 * The slots of "one more goes from here", of which so many are left in all:
 * right for one that is left, and about right for the many of which some share
 * is expected.
 */
static uint32_t cohort_coder_odds(uint64_t left, uint64_t weight,
				  uint64_t others)
{
	const uint64_t n = left < MOST_LEFT ? left : MOST_LEFT;
	const uint64_t slots =
		SCD__GAP_SCALE * (n * weight) / (n * weight + others);

	if (slots < 1)
		return 1;
	return slots < SCD__GAP_SCALE ? (uint32_t)slots : SCD__GAP_SCALE - 1;
}

static uint64_t cohort_coder_sum(const uint64_t *numbers, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += numbers[i];
	return sum;
}

void scd__cohort_put_counts(struct scd__gap_encoder *e,
			    const struct scd__cohort_model *m,
			    const uint64_t *counts)
{
	uint64_t left = counts[m->n - 1], younger = m->weights[m->n - 1];

	for (unsigned i = m->n - 1; i-- > 0;) {
		const uint64_t all = left + counts[i];
		const uint32_t odds =
			cohort_coder_odds(all, m->weights[i], younger);

		if (left > 0 && counts[i] < m->size[i])
			scd__gap_put_slots(e, SCD__GAP_SCALE - odds, 0);
		for (uint64_t j = 0; j < counts[i] && !e->error; j++)
			scd__gap_put_slots(e, odds, SCD__GAP_SCALE - odds);
		left = all;
		younger += m->weights[i];
	}
}

/* Read how many of those that are left go from a cohort. */
static uint64_t cohort_coder_get_count(struct scd__gap_decoder *d,
				       uint64_t size, uint64_t left,
				       uint32_t odds)
{
	uint64_t n = 0;

	while (n < left && n < size) {
		if (scd__gap_slot(d) < SCD__GAP_SCALE - odds) {
			scd__gap_take_slots(d, SCD__GAP_SCALE - odds, 0);
			break;
		}
		scd__gap_take_slots(d, odds, SCD__GAP_SCALE - odds);
		n++;
	}
	return n;
}

int scd__cohort_get_counts(struct scd__gap_decoder *d,
			   const struct scd__cohort_model *m, uint64_t all,
			   uint64_t *counts)
{
	uint64_t younger = cohort_coder_sum(m->weights, m->n), left = all;

	for (unsigned i = 0; i + 1 < m->n; i++) {
		younger -= m->weights[i];
		counts[i] = cohort_coder_get_count(
			d, m->size[i], left,
			cohort_coder_odds(left, m->weights[i], younger));
		left -= counts[i];
	}
	counts[m->n - 1] = left;
	return left > m->size[m->n - 1] ? SCD_EFORMAT : SCD_OK;
}

/* The slots of each cohort in proportion to its size, one at least; the first
 * one of the largest takes what is over or missing. */
static void cohort_coder_slots(const struct scd__cohort_model *m,
			       uint32_t freq[MAX_COHORTS],
			       uint32_t start[MAX_COHORTS])
{
	const uint64_t n = cohort_coder_sum(m->size, m->n);
	uint32_t left = SCD__GAP_SCALE, at = 0;
	unsigned largest = 0;

	for (unsigned i = 0; i < m->n; i++) {
		freq[i] = (uint32_t)(SCD__GAP_SCALE * m->size[i] / n);
		freq[i] += freq[i] == 0;
		left -= freq[i];
		if (m->size[i] > m->size[largest])
			largest = i;
	}
	freq[largest] += left;
	for (unsigned i = 0; i < m->n; i++) {
		start[i] = at;
		at += freq[i];
	}
}

void scd__cohort_put_entries(struct scd__gap_encoder *e,
			     const struct scd__cohort_model *m,
			     const uint8_t *of_entry, uint64_t n)
{
	uint32_t freq[MAX_COHORTS], start[MAX_COHORTS];

	cohort_coder_slots(m, freq, start);
	while (n-- > 0 && !e->error)
		scd__gap_put_slots(e, freq[of_entry[n]], start[of_entry[n]]);
}

void scd__cohort_get_entries(struct scd__gap_decoder *d,
			     const struct scd__cohort_model *m,
			     uint8_t *of_entry, uint64_t n)
{
	uint32_t freq[MAX_COHORTS], start[MAX_COHORTS];
	uint8_t cohort_of[SCD__GAP_SCALE];

	cohort_coder_slots(m, freq, start);
	for (unsigned i = 0; i < m->n; i++) {
		for (uint32_t j = 0; j < freq[i]; j++)
			cohort_of[start[i] + j] = (uint8_t)i;
	}
	for (uint64_t i = 0; i < n; i++) {
		of_entry[i] = cohort_of[scd__gap_slot(d)];
		scd__gap_take_slots(d, freq[of_entry[i]], start[of_entry[i]]);
	}
}
