/*
 * What is to be simulated.
 */
#include "config.h"

#include "cachesim/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/tool/arguments.h"
#include "digestd/tool/command.h"

static void plan_complain(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		why);
}

/* Whether a parameter makes a difference with that protocol. */
static bool plan_applies(enum parameter d, const struct sim_config *c)
{
	enum protocol_way way =
		c->protocol ? c->protocol->way : PROTOCOL_ALONE;

	switch (d) {
	case PARAMETER_BITS:
	case PARAMETER_HASHES:
	case PARAMETER_FP:
	case PARAMETER_EXPECTED:
	case PARAMETER_FORM:
	case PARAMETER_SIZES:
	case PARAMETER_THRESHOLD:
	case PARAMETER_PERIOD:
	case PARAMETER_DELAY:
	case PARAMETER_LOSS:
		return way == PROTOCOL_SUMMARY;
	case PARAMETER_SHARED_ADMISSION:
		return c->admission && c->nproxies > 1;
	case PARAMETER_TRIES:
	case PARAMETER_PEER_USE:
	case PARAMETER_PLACEMENT:
	case PARAMETER_EPOCH:
		return way == PROTOCOL_SUMMARY || way == PROTOCOL_ASK_ALL;
	case PARAMETER_PROTOCOL:
	case PARAMETER_PROXIES:
	case PARAMETER_EVICTION:
	case PARAMETER_SIZE:
	case PARAMETER_SIZE_LIMIT:
	case PARAMETER_ADMISSION:
	case PARAMETER_PARTITION:
	case PARAMETER_PREFIX_BITS:
	case PARAMETER_WARMUP:
	case PARAMETER_WARMUP_SEC:
	case PARAMETER_SEED:
	case PARAMETERS:
		return true;
	}
	return true;
}

/* The lists of values as texts, each with a NUL behind it. */
struct lists {
	const char *texts[PARAMETERS];
	size_t n[PARAMETERS]; /* of them; 0: not set */
};

/* A copy of a list, whose owner the plan becomes; null: no memory. */
static char *plan_copy_list(struct plan *p, const char *list)
{
	char **texts = realloc(p->texts, (p->ntexts + 1) * sizeof(*texts));
	char *copy;

	if (!texts)
		return NULL;
	p->texts = texts;
	copy = strdup(list);
	if (copy)
		texts[p->ntexts++] = copy;
	return copy;
}

static bool plan_cut_lists(struct plan *p, struct lists *out,
			   const char *const lists[PARAMETERS])
{
	for (size_t d = 0; d < PARAMETERS; d++) {
		char *copy;

		if (!lists[d])
			continue;
		copy = plan_copy_list(p, lists[d]);
		if (!copy)
			return false;
		out->texts[d] = copy;
		out->n[d] = 1;
		for (char *at = copy; *at; at++) {
			if (*at != ',')
				continue;
			*at = '\0';
			out->n[d]++;
		}
	}
	return true;
}

static const char *plan_nth(const char *texts, size_t n)
{
	while (n--)
		texts += strlen(texts) + 1;
	return texts;
}

static bool plan_set(enum parameter d, const char *text, struct sim_config *c,
		     double *value)
{
	const char *why = parameter_set(d, text, c, value);
	const char *words[PARAMETER_WORDS];
	char option[32];

	if (!why)
		return true;
	snprintf(option, sizeof(option), "--%s", parameter_options[d].name);
	if (!*why && parameter_words(d, words))
		return options_refuse_word(option, text, words);
	return arguments_refuse(option, text, why);
}

/*
 * Adds the row of a combination; none if it is the one before, but for what
 * makes no difference. Returns false when a text is wrong, which was told.
 */
static bool plan_add_row(struct plan *p, const struct lists *l,
			 const size_t at[PARAMETERS],
			 const struct sim_config *usual)
{
	struct plan_row *row = &p->rows[p->nrows];

	*row = (struct plan_row){ .config = *usual };
	for (enum parameter d = 0; d < PARAMETERS; d++) {
		const char *text;
		struct sim_config unused = row->config;
		bool makes = plan_applies(d, &row->config);

		if (!l->n[d])
			continue;
		text = plan_nth(l->texts[d], at[d]);
		if (!plan_set(d, text, makes ? &row->config : &unused,
			      &row->value[d]))
			return false;
		if (!makes && at[d])
			return true;
		if (!makes)
			continue;
		row->text[d] = text;
	}
	if (!l->n[PARAMETER_PROXIES] && !row->config.protocol)
		row->config.nproxies = 1;
	p->nrows++;
	return true;
}

/* The next combination, the last parameter first; false: that was all. */
static bool plan_step(const struct lists *l, size_t at[PARAMETERS])
{
	for (size_t d = PARAMETERS; d--;) {
		if (++at[d] < l->n[d])
			return true;
		at[d] = 0;
	}
	return false;
}

/* Room for all combinations behind the rows that are there. */
static int plan_make_room(struct plan *p, const struct lists *l)
{
	size_t most = 1;
	struct plan_row *rows;

	for (size_t d = 0; d < PARAMETERS && most <= PLAN_ROWS_MAX; d++)
		most *= l->n[d] ? l->n[d] : 1;
	if (most > PLAN_ROWS_MAX) {
		plan_complain("sweep", "too many combinations");
		return TOOL_USAGE;
	}
	rows = realloc(p->rows, (p->nrows + most) * sizeof(*rows));
	if (!rows) {
		plan_complain("sweep", "out of memory");
		return TOOL_IO;
	}
	p->rows = rows;
	return TOOL_OK;
}

int plan_add(struct plan *p, const char *const lists[PARAMETERS],
	     const struct sim_config *usual)
{
	size_t at[PARAMETERS] = { 0 };
	struct lists l = { 0 };
	int code;

	if (!plan_cut_lists(p, &l, lists)) {
		plan_complain("sweep", "out of memory");
		return TOOL_IO;
	}
	code = plan_make_room(p, &l);
	if (code)
		return code;
	do {
		if (!plan_add_row(p, &l, at, usual))
			return TOOL_USAGE;
	} while (plan_step(&l, at));
	return TOOL_OK;
}

bool plan_fits(const struct plan *p, const struct sim_trace *t)
{
	for (size_t i = 0; i < p->nrows; i++) {
		const char *why = sim_config_fault(&p->rows[i].config, t);

		if (!why)
			continue;
		plan_complain(p->rows[i].config.protocol
				      ? p->rows[i].config.protocol->name
				      : "configuration",
			      why);
		return false;
	}
	return true;
}

void plan_free(struct plan *p)
{
	while (p->ntexts)
		free(p->texts[--p->ntexts]);
	free(p->texts);
	free(p->rows);
	*p = (struct plan){ 0 };
}
