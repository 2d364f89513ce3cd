/*
 * Kinds of digests: the table, and what is asked at the door of each.
 */
#include "codec/kind/kind.h"

#include <assert.h>
#include <string.h>

#include "codec/kind/kind_rows.h"

#define MAX_KEYS (UINT64_C(1) << 32)

static const struct scd__kind *const kinds[] = {
	&scd__kind_bloom,   &scd__kind_compressed, &scd__kind_golomb,
	&scd__kind_blocked, &scd__kind_squid,
};

enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };

const struct scd__kind *scd__kind_at(size_t i)
{
	return i < NKINDS ? kinds[i] : NULL;
}

const struct scd__kind *scd__kind_find(const char *name)
{
	for (size_t i = 0; i < NKINDS; i++) {
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	}
	return NULL;
}

/* The comparisons are such that no NaN passes. */
static bool kind_goal_is_sane(const struct scd__kind_goal *goal)
{
	if (goal->nkeys < 1 || goal->nkeys > MAX_KEYS)
		return false;
	if (!(goal->memory_bits >= 0))
		return false;
	if (goal->fp > 0)
		return goal->fp < 1;
	return goal->fp == 0 && goal->bits > 0;
}

int scd__summary_new(const struct scd__kind *kind,
		     const struct scd__kind_goal *goal,
		     struct scd__summary **out)
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

void scd__summary_free(struct scd__summary **s)
{
	if (!*s)
		return;
	(*s)->kind->destroy(*s);
	*s = NULL;
}

int scd__summary_add(struct scd__summary *s, const struct scd_key *key)
{
	assert(!s->sealed);
	return s->kind->add(s, key);
}

int scd__summary_seal(struct scd__summary *s)
{
	int error = s->sealed ? SCD_OK : s->kind->seal(s);

	if (!error)
		s->sealed = true;
	return error;
}

bool scd__summary_has(const struct scd__summary *s, const struct scd_key *key)
{
	assert(s->sealed);
	return s->kind->has(s, key);
}

double scd__summary_fp(const struct scd__summary *s)
{
	assert(s->sealed);
	return s->kind->fp(s);
}

size_t scd__summary_memory(const struct scd__summary *s)
{
	assert(s->sealed);
	return s->kind->memory(s);
}

int scd__summary_encode(const struct scd__summary *s, uint8_t **out,
			size_t *out_len)
{
	assert(s->sealed);
	return s->kind->encode(s, out, out_len);
}

int scd__summary_decode(const struct scd__kind *kind, const uint8_t *in,
			size_t len, size_t max_memory,
			struct scd__summary **out)
{
	int error = kind->decode(in, len, max_memory, out);

	if (error)
		return error;
	(*out)->kind = kind;
	(*out)->sealed = true;
	return SCD_OK;
}
