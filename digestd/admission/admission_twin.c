/*
 * A set of hashes: linear probing from the place that the high bits say.
 */
#include "digestd/admission/admission_twin.h"

#include <stdlib.h>

#include "codec/error.h"

enum { FIRST_PLACES = 1024 };

int admission_twin_new(struct admission_twin **out)
{
	struct admission_twin *t = calloc(1, sizeof(*t));

	if (!t)
		return SCD_ENOMEM;
	t->places = FIRST_PLACES;
	t->hash = calloc(t->places, sizeof(*t->hash));
	if (!t->hash) {
		free(t);
		return SCD_ENOMEM;
	}
	*out = t;
	return 0;
}

void admission_twin_free(struct admission_twin **t)
{
	if (!*t)
		return;
	free((*t)->hash);
	free(*t);
	*t = NULL;
}

/* Zero marks an empty place. */
static uint64_t admission_twin_mark(uint64_t hash)
{
	return hash ? hash : 1;
}

/* Where a hash is, or would be. */
static uint64_t admission_twin_place_of(const struct admission_twin *t,
					uint64_t hash)
{
	uint64_t at = hash * UINT64_C(0x9e3779b97f4a7c15) & (t->places - 1);

	while (t->hash[at] && t->hash[at] != hash)
		at = (at + 1) & (t->places - 1);
	return at;
}

static bool admission_twin_grow(struct admission_twin *t)
{
	struct admission_twin larger = { .places = t->places * 2 };

	larger.hash = calloc(larger.places, sizeof(*larger.hash));
	if (!larger.hash)
		return false;
	for (uint64_t i = 0; i < t->places; i++)
		if (t->hash[i])
			larger.hash[admission_twin_place_of(
				&larger, t->hash[i])] = t->hash[i];
	free(t->hash);
	t->hash = larger.hash;
	t->places = larger.places;
	return true;
}

bool admission_twin_add(struct admission_twin *t, uint64_t hash)
{
	uint64_t at = admission_twin_place_of(t, admission_twin_mark(hash));

	if (t->hash[at] || t->full)
		return false;
	if ((t->n + 1) * 3 > t->places * 2) {
		t->full = !admission_twin_grow(t);
		if (t->full)
			return false;
		at = admission_twin_place_of(t, admission_twin_mark(hash));
	}
	t->hash[at] = admission_twin_mark(hash);
	t->n++;
	return true;
}
