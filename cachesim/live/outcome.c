/*
 * A member is a name and parameters, with semicolons between them; quoted
 * strings may hold commas and semicolons.
 */
#include "cachesim/live/outcome.h"

#include <string.h>

#include "cachesim/trace/scan.h"

const char *outcome_name(enum outcome o)
{
	switch (o) {
	case OUTCOME_UNKNOWN:
		return "unknown";
	case OUTCOME_LOCAL:
		return "local";
	case OUTCOME_REMOTE:
		return "remote";
	case OUTCOME_COLLAPSED:
		return "collapsed";
	case OUTCOME_ORIGIN:
	case OUTCOMES:
		break;
	}
	return "origin";
}

/* The length of what comes before the first unquoted c, or of all. */
static size_t outcome_until(struct trace_text t, char c)
{
	bool quoted = false;
	size_t i;

	for (i = 0; i < t.len && (quoted || t.at[i] != c); i++) {
		if (t.at[i] == '"')
			quoted = !quoted;
		else if (t.at[i] == '\\' && quoted && i + 1 < t.len)
			i++;
	}
	return i;
}

static struct trace_text outcome_behind(struct trace_text t, size_t n)
{
	return (struct trace_text){ t.at + n, t.len - n };
}

static bool outcome_begins(struct trace_text t, const char *with)
{
	return t.len >= strlen(with) && !memcmp(t.at, with, strlen(with));
}

/* What one parameter says; UNKNOWN when it says nothing. */
static enum outcome outcome_parameter(struct trace_text t)
{
	while (t.len && *t.at == ' ')
		t = outcome_behind(t, 1);
	if (scan_is(t, "hit"))
		return OUTCOME_LOCAL;
	if (scan_is(t, "collapsed"))
		return OUTCOME_COLLAPSED;
	if (outcome_begins(t, "detail=\"peer="))
		return OUTCOME_REMOTE;
	return outcome_begins(t, "fwd=") ? OUTCOME_ORIGIN : OUTCOME_UNKNOWN;
}

static enum outcome outcome_member(struct trace_text t)
{
	enum outcome found = OUTCOME_UNKNOWN;
	size_t n = outcome_until(t, ';');

	while (n < t.len) {
		enum outcome o;

		t = outcome_behind(t, n + 1);
		n = outcome_until(t, ';');
		o = outcome_parameter((struct trace_text){t.at, n});
		/* fwd= stands beside what says more: collapsed, a peer */
		if (o != OUTCOME_UNKNOWN &&
		    (found == OUTCOME_UNKNOWN || found == OUTCOME_ORIGIN))
			found = o;
	}
	return found;
}

enum outcome outcome_parse(const char *value, size_t len)
{
	struct trace_text t = { value, len };
	size_t n = outcome_until(t, ',');

	while (n < t.len) {
		t = outcome_behind(t, n + 1);
		n = outcome_until(t, ',');
	}
	return outcome_member(t);
}
