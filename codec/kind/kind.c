/*
 * Kinds of digests: the table, and what is asked at the door of each.
 */
#include "codec/kind.h"

#include <assert.h>
#include <string.h>

#include "codec/kind/kind_rows.h"

#define MAX_KEYS (UINT64_C(1) << 32)

static const struct scd_kind *const kinds[] = {
	&scd__kind_bloom,   &scd__kind_compressed, &scd__kind_golomb,
	&scd__kind_blocked, &scd__kind_squid,
};

enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };

const struct scd_kind *scd_kind_at(size_t i)
{
	return i < NKINDS ? kinds[i] : NULL;
}

const struct scd_kind *scd_kind_find(const char *name)
{
	for (size_t i = 0; i < NKINDS; i++) {
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	}
	return NULL;
}

/* The comparisons are such that no NaN passes. */
static bool kind_goal_is_sane(const struct scd_kind_goal *goal)
{
	if (goal->nkeys < 1 || goal->nkeys > MAX_KEYS)
		return false;
	if (!(goal->memory_bits >= 0))
		return false;
	if (goal->fp > 0)
		return goal->fp < 1;
	return goal->fp == 0 && goal->bits > 0;
}

int scd_summary_new(const struct scd_kind *kind,
		    const struct scd_kind_goal *goal, struct scd_summary **out)
{
	int error;

	if (!kind_goal_is_sane(goal))
		return SCD_EINVAL;
	error = kind->create(goal, out);
	if (error)
		return error;
	(*out)->kind = kind;
	(*out)->sealed = false;
	return SCD_OK;
}

void scd_summary_free(struct scd_summary **s)
{
	if (!*s)
		return;
	(*s)->kind->destroy(*s);
	*s = NULL;
}

int scd_summary_add(struct scd_summary *s, const struct scd_key *key)
{
	assert(!s->sealed);
	return s->kind->add(s, key);
}

int scd_summary_seal(struct scd_summary *s)
{
	int error = s->sealed ? SCD_OK : s->kind->seal(s);

	if (!error)
		s->sealed = true;
	return error;
}

bool scd_summary_has(const struct scd_summary *s, const struct scd_key *key)
{
	assert(s->sealed);
	return s->kind->has(s, key);
}

double scd_summary_fp(const struct scd_summary *s)
{
	assert(s->sealed);
	return s->kind->fp(s);
}

size_t scd_summary_memory(const struct scd_summary *s)
{
	assert(s->sealed);
	return s->kind->memory(s);
}

int scd_summary_encode(const struct scd_summary *s, uint8_t **out,
		       size_t *out_len)
{
	assert(s->sealed);
	return s->kind->encode(s, out, out_len);
}

int scd_summary_decode(const struct scd_kind *kind, const uint8_t *in,
		       size_t len, size_t max_memory, struct scd_summary **out)
{
	int error = kind->decode(in, len, max_memory, out);

	if (error)
		return error;
	(*out)->kind = kind;
	(*out)->sealed = true;
	return SCD_OK;
}
