/*
 * Troubles: a row for each origin, peer and part, with a count for each cause.
 */
#include "digestd/os/troubles.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "digestd/os/log.h"

enum {
	TROUBLES_LOG_MS = 10000,
	TROUBLES_DETAIL_BYTES = 512,
};

struct trouble_cell {
	uint64_t n;
	int64_t last_ms;
	struct log_limit limit;
	bool expected; /* it is told of before it was there */
};

struct trouble_row {
	struct trouble_cell cells[TROUBLE_COUNT];
};

struct troubles {
	struct upstream_names *names;
	pthread_mutex_t lock; /* guards the rest */
	struct trouble_row upstreams[UPSTREAM_KIND_COUNT][UPSTREAMS];
	struct trouble_row parts[TROUBLE_PART_COUNT];
};

static const char *const troubles_part_names[] = {
#define X(name) #name,
	TROUBLE_PARTS(X)
#undef X
};

int troubles_new(struct upstream_names *names, struct troubles **out)
{
	struct troubles *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->names = names;
	pthread_mutex_init(&t->lock, NULL);
#define X(part, cause)                                                         \
	t->parts[TROUBLE_PART_##part].cells[TROUBLE_##cause].expected = true;
	TROUBLES_OF_PARTS(X)
#undef X
	*out = t;
	return 0;
}

void troubles_free(struct troubles **troubles)
{
	if (!*troubles)
		return;
	pthread_mutex_destroy(&(*troubles)->lock);
	free(*troubles);
	*troubles = NULL;
}

/* Counts it; returns how often it is to be logged to have happened, 0: it is
 * not logged now. */
static unsigned troubles_count(struct troubles *t, struct trouble_cell *cell,
			       int64_t period_ms, int64_t now_ms)
{
	unsigned dropped;
	bool logged;

	pthread_mutex_lock(&t->lock);
	cell->n++;
	cell->last_ms = now_ms;
	cell->limit.burst = 1;
	cell->limit.period_ms = period_ms;
	logged = log_allow(&cell->limit, now_ms, &dropped);
	pthread_mutex_unlock(&t->lock);
	return logged ? dropped + 1 : 0;
}

/* A copy of a text that can stand in quotes. */
static void troubles_quote(const char *text, char to[TROUBLES_DETAIL_BYTES])
{
	size_t n = 0;

	for (; text && *text && n < TROUBLES_DETAIL_BYTES - 1; text++)
		to[n++] = *text == '"' ? '\'' : *text < ' ' ? '?' : *text;
	to[n] = '\0';
}

static void troubles_log(const char *kind, const char *name,
			 enum trouble trouble, unsigned count,
			 const char *detail)
{
	char more[TROUBLES_DETAIL_BYTES];

	troubles_quote(detail, more);
	log_write(LOG_WARNING, "trouble",
		  "%s=%s cause=%s count=%u what=\"%s\"%s%s%s do=\"%s\"", kind,
		  name, trouble_label(trouble), count, trouble_text(trouble),
		  *more ? " detail=\"" : "", more, *more ? "\"" : "",
		  trouble_remedy(trouble));
}

void troubles_of_upstream(struct troubles *troubles, enum upstream_kind kind,
			  const char *name, enum trouble trouble,
			  const char *detail, int64_t now_ms)
{
	unsigned number, count;

	assert(trouble < TROUBLE_COUNT);
	if (!troubles || trouble == TROUBLE_none)
		return;
	number = upstream_names_find(troubles->names, kind, name);
	count = troubles_count(
		troubles, &troubles->upstreams[kind][number].cells[trouble],
		TROUBLES_LOG_MS, now_ms);
	if (count)
		troubles_log(upstream_kind_name(kind),
			     name ? name : "of-a-forward-proxy", trouble, count,
			     detail);
}

void troubles_of_part(struct troubles *troubles, enum trouble_part part,
		      enum trouble trouble, const char *detail, int64_t now_ms)
{
	/* who reloads, by hand, has to see what came of each time */
	int64_t period_ms = part == TROUBLE_PART_configuration
				    ? 0
				    : TROUBLES_LOG_MS;
	unsigned count;

	assert(part < TROUBLE_PART_COUNT && trouble < TROUBLE_COUNT);
	if (!troubles || trouble == TROUBLE_none)
		return;
	count = troubles_count(troubles, &troubles->parts[part].cells[trouble],
			       period_ms, now_ms);
	if (count)
		troubles_log("part", troubles_part_names[part], trouble, count,
			     detail);
}

static void troubles_each_of_row(const struct trouble_row *row,
				 const char *kind, const char *name,
				 void (*each)(void *arg,
					      const struct trouble_count *c),
				 void *arg)
{
	for (int i = 0; i < TROUBLE_COUNT; i++) {
		const struct trouble_cell *cell = &row->cells[i];
		const struct trouble_count count = { kind, name,
						     (enum trouble)i, cell->n,
						     cell->last_ms };

		if (cell->n || cell->expected)
			each(arg, &count);
	}
}

void troubles_each(struct troubles *troubles,
		   void (*each)(void *arg, const struct trouble_count *count),
		   void *arg)
{
	assert(each);
	if (!troubles)
		return;
	pthread_mutex_lock(&troubles->lock);
	for (int k = 0; k < UPSTREAM_KIND_COUNT; k++) {
		for (unsigned i = 0; i < UPSTREAMS; i++) {
			const char *name = upstream_names_at(
				troubles->names, (enum upstream_kind)k, i);

			if (name)
				troubles_each_of_row(
					&troubles->upstreams[k][i],
					upstream_kind_name(
						(enum upstream_kind)k),
					name, each, arg);
		}
	}
	for (int i = 0; i < TROUBLE_PART_COUNT; i++)
		troubles_each_of_row(&troubles->parts[i], NULL,
				     troubles_part_names[i], each, arg);
	pthread_mutex_unlock(&troubles->lock);
}
