/*
 * What is to be simulated.
 */
#include "config.h"

#include "cachesim/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/arguments.h"
#include "tool/command.h"

static void complain(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		why);
}

/* Whether a dimension makes a difference with that protocol. */
static bool applies(enum dimension d, const struct sim_config *c)
{
	enum protocol_way way =
		c->protocol ? c->protocol->way : PROTOCOL_ALONE;

	switch (d) {
	case DIMENSION_BITS:
	case DIMENSION_HASHES:
	case DIMENSION_FP:
	case DIMENSION_EXPECTED:
	case DIMENSION_FORM:
	case DIMENSION_THRESHOLD:
	case DIMENSION_PERIOD:
	case DIMENSION_DELAY:
	case DIMENSION_LOSS:
		return way == PROTOCOL_SUMMARY;
	case DIMENSION_TRIES:
	case DIMENSION_PEER_USE:
	case DIMENSION_PLACEMENT:
	case DIMENSION_EPOCH:
		return way == PROTOCOL_SUMMARY || way == PROTOCOL_ASK_ALL;
	case DIMENSION_PROTOCOL:
	case DIMENSION_PROXIES:
	case DIMENSION_EVICTION:
	case DIMENSION_SIZE:
	case DIMENSION_SIZE_LIMIT:
	case DIMENSION_PARTITION:
	case DIMENSION_PREFIX_BITS:
	case DIMENSION_WARMUP:
	case DIMENSION_SEED:
	case DIMENSIONS:
		return true;
	}
	return true;
}

/* Cuts the lists into texts, each with a NUL behind it. */
static bool cut_lists(struct plan *p, const char *const lists[DIMENSIONS])
{
	for (size_t d = 0; d < DIMENSIONS; d++) {
		if (!lists[d])
			continue;
		p->texts[d] = strdup(lists[d]);
		if (!p->texts[d])
			return false;
		p->n[d] = 1;
		for (char *at = p->texts[d]; *at; at++) {
			if (*at != ',')
				continue;
			*at = '\0';
			p->n[d]++;
		}
	}
	return true;
}

static const char *nth(const char *texts, size_t n)
{
	while (n--)
		texts += strlen(texts) + 1;
	return texts;
}

static bool set(enum dimension d, const char *text, struct sim_config *c,
		double *value)
{
	const char *why = dimension_set(d, text, c, value);
	char option[32];

	if (!why)
		return true;
	snprintf(option, sizeof(option), "--%s", dimension_options[d].name);
	return arguments_refuse(option, text, why);
}

/*
 * Adds the row of a combination; none if it is the one before, but for what
 * makes no difference. Returns false when a text is wrong, which was told.
 */
static bool add_row(struct plan *p, const size_t at[DIMENSIONS],
		    const struct sim_config *usual)
{
	struct plan_row *row = &p->rows[p->nrows];

	*row = (struct plan_row){ .config = *usual };
	for (enum dimension d = 0; d < DIMENSIONS; d++) {
		const char *text;
		struct sim_config unused = row->config;
		bool makes = applies(d, &row->config);

		if (!p->n[d])
			continue;
		text = nth(p->texts[d], at[d]);
		if (!set(d, text, makes ? &row->config : &unused,
			 &row->value[d]))
			return false;
		if (!makes && at[d])
			return true;
		if (!makes)
			continue;
		row->text[d] = text;
	}
	if (!p->n[DIMENSION_PROXIES] && !row->config.protocol)
		row->config.nproxies = 1;
	p->nrows++;
	return true;
}

/* The next combination, the last dimension first; false: that was all. */
static bool step(const struct plan *p, size_t at[DIMENSIONS])
{
	for (size_t d = DIMENSIONS; d--;) {
		if (++at[d] < p->n[d])
			return true;
		at[d] = 0;
	}
	return false;
}

static int fill(struct plan *p, const struct sim_config *usual)
{
	size_t at[DIMENSIONS] = { 0 };

	do {
		if (!add_row(p, at, usual))
			return TOOL_USAGE;
	} while (step(p, at));
	return TOOL_OK;
}

int plan_make(struct plan *out, const char *const lists[DIMENSIONS],
	      const struct sim_config *usual)
{
	size_t most = 1;
	int code = TOOL_IO;

	*out = (struct plan){ 0 };
	if (cut_lists(out, lists)) {
		for (size_t d = 0; d < DIMENSIONS && most <= PLAN_ROWS_MAX; d++)
			most *= out->n[d] ? out->n[d] : 1;
		if (most > PLAN_ROWS_MAX) {
			complain("sweep", "too many combinations");
			plan_free(out);
			return TOOL_USAGE;
		}
		out->rows = calloc(most, sizeof(*out->rows));
	}
	if (out->rows)
		code = fill(out, usual);
	else
		complain("sweep", "out of memory");
	if (code)
		plan_free(out);
	return code;
}

bool plan_fits(const struct plan *p, const struct sim_trace *t)
{
	for (size_t i = 0; i < p->nrows; i++) {
		const char *why = sim_config_fault(&p->rows[i].config, t);

		if (!why)
			continue;
		complain(p->rows[i].config.protocol ?
				 p->rows[i].config.protocol->name :
				 "configuration",
			 why);
		return false;
	}
	return true;
}

void plan_free(struct plan *p)
{
	for (size_t d = 0; d < DIMENSIONS; d++)
		free(p->texts[d]);
	free(p->rows);
	*p = (struct plan){ 0 };
}
