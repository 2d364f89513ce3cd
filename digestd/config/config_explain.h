/*
 * What counts for a URL, and which lines of the configuration say so: for
 * digestd -t --explain and for digestctl explain.
 */
#ifndef DIGESTD_CONFIG_CONFIG_EXPLAIN_H
#define DIGESTD_CONFIG_CONFIG_EXPLAIN_H

#include <stdio.h>

struct config;
struct target;

enum config_explained_kind {
	CONFIG_EXPLAINED_SITE, /* its first name; null: it is of no site */
	CONFIG_EXPLAINED_ORIGIN, /* where requests go; null: nowhere that the
				    configuration names */
	CONFIG_EXPLAINED_KEY, /* the URI that is looked up; null: requests
				  pass */
	CONFIG_EXPLAINED_SETTING, /* each, set or not; null: it has no value */
	CONFIG_EXPLAINED_ANSWER, /* a setting for answers of a kind */
};

/* One line of it; texts last as long as the call that hands it out. */
struct config_explained {
	enum config_explained_kind kind;
	const char *name, *value;
	const char *from; /* "FILE:LINE", an option, why there is none; null:
			     the default, or a key */
	const char *rule; /* "/static/a", "status 404", as in the file, that
			     has set it; null: no rule has */
};

typedef void config_explain_fn(void *arg, const struct config_explained *l);

/*
 * Hands out what counts for a target, in the order of the kinds, and makes its
 * URI the one that is looked up. Returns 0 or -ENOMEM, and then what was handed
 * out is not all.
 */
int config_explain(const struct config *c, struct target *t,
		   config_explain_fn *fn, void *arg);

/* Writes it for a URL. Returns 0; -EINVAL: it is no whole URL of http or
 * https; -ENOMEM. */
int config_explain_print(const struct config *c, const char *url, FILE *to);

#endif
