/*
 * A member is a name and parameters, with semicolons between them; quoted
 * strings may hold commas and semicolons.
 */
#include "cachesim/live/served_by.h"

#include <string.h>

#include "cachesim/trace/scan.h"

const char *served_by_name(enum served_by o)
{
	switch (o) {
	case SERVED_UNKNOWN:
		return "unknown";
	case SERVED_LOCAL:
		return "local";
	case SERVED_REMOTE:
		return "remote";
	case SERVED_COLLAPSED:
		return "collapsed";
	case SERVED_ORIGIN:
	case SERVED_KINDS:
		break;
	}
	return "origin";
}

/* The length of what comes before the first unquoted c, or of all. */
static size_t served_by_until(struct trace_text t, char c)
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

static struct trace_text served_by_behind(struct trace_text t, size_t n)
{
	return (struct trace_text){ t.at + n, t.len - n };
}

static bool served_by_begins(struct trace_text t, const char *with)
{
	return t.len >= strlen(with) && !memcmp(t.at, with, strlen(with));
}

/* What one parameter says; UNKNOWN when it says nothing. */
static enum served_by served_by_parameter(struct trace_text t)
{
	while (t.len && *t.at == ' ')
		t = served_by_behind(t, 1);
	if (scan_is(t, "hit"))
		return SERVED_LOCAL;
	if (scan_is(t, "collapsed"))
		return SERVED_COLLAPSED;
	if (served_by_begins(t, "detail=\"peer="))
		return SERVED_REMOTE;
	return served_by_begins(t, "fwd=") ? SERVED_ORIGIN : SERVED_UNKNOWN;
}

static enum served_by served_by_member(struct trace_text t)
{
	enum served_by found = SERVED_UNKNOWN;
	size_t n = served_by_until(t, ';');

	while (n < t.len) {
		enum served_by o;

		t = served_by_behind(t, n + 1);
		n = served_by_until(t, ';');
		o = served_by_parameter((struct trace_text){t.at, n});
		/* fwd= stands beside what says more: collapsed, a peer */
		if (o != SERVED_UNKNOWN &&
		    (found == SERVED_UNKNOWN || found == SERVED_ORIGIN))
			found = o;
	}
	return found;
}

enum served_by served_by_parse(const char *value, size_t len)
{
	struct trace_text t = { value, len };
	size_t n = served_by_until(t, ',');

	while (n < t.len) {
		t = served_by_behind(t, n + 1);
		n = served_by_until(t, ',');
	}
	return served_by_member(t);
}
