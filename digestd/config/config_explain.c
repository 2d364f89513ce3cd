/*
 * What counts for a URL, and which lines say so.
 */
#include "digestd/config/config_explain.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "digestd/config/configuration.h"
#include "digestd/config/site_settings.h"
#include "digestd/http/target.h"

enum { CONFIG_EXPLAIN_BYTES = 160 }; /* of a name, a number, a rule */

struct config_explanation {
	const struct config *config;
	const struct site *site; /* null: none */
	const struct upstream *origin; /* of the host's name; null: none */
	const char *path;
	config_explain_fn *fn;
	void *arg;
};

static void config_explain_line(const struct config_explanation *e,
				const struct config_explained *line)
{
	e->fn(e->arg, line);
}

/* The last of the rules that match, and say something of a setting; null: none
 * does. */
static const struct site_rule *
config_explain_rule(const struct config_explanation *e,
		    enum policy_setting setting)
{
	static const struct site_answer none = { 0 };
	const struct site_rule *found = NULL;

	for (size_t i = 0; e->site && i < e->site->nrules; i++) {
		const struct site_rule *rule = &e->site->rules[i];

		if (policy_has(&rule->policy, setting) &&
		    site_rule_matches(rule, e->path, &none))
			found = rule;
	}
	return found;
}

/* What is done where no rule has set it. */
static void config_explain_default(const struct config_explanation *e,
				   const struct config_option *o,
				   struct config_explained *line,
				   char room[CONFIG_EXPLAIN_BYTES])
{
	switch (o->kind) {
	case COOKIES:
		line->value = e->config->set_cookie;
		if (e->origin && e->origin->set_cookie) {
			line->value = e->origin->set_cookie;
			line->from = e->origin->where;
		}
		return;
	case NO_CACHE:
		line->value = e->site ? "validate" : "obey";
		return;
	case FLAG:
		line->value = "false";
		return;
	case TIME_MS: /* of stale_wait */
		snprintf(room, CONFIG_EXPLAIN_BYTES, "%" PRId64 "ms",
			 (int64_t)e->config->stale_wait_ms);
		line->value = room;
		return;
	case SIZE:
		snprintf(room, CONFIG_EXPLAIN_BYTES, "%" PRId64,
			 e->config->max_object_size);
		line->value = room;
		return;
	case PREFIXES:
		line->value = e->config->purge_addresses;
		line->from = line->value ? "general" : NULL;
		return;
	default:
		return;
	}
}

static void config_explain_settings(const struct config_explanation *e,
				    const struct config_option *options,
				    const enum policy_setting *settings,
				    size_t n)
{
	char room[CONFIG_EXPLAIN_BYTES], name[CONFIG_EXPLAIN_BYTES];

	for (size_t i = 0; i < n; i++) {
		const enum policy_setting is = settings[i];
		const struct site_rule *rule = config_explain_rule(e, is);
		struct config_explained line = {
			.kind = CONFIG_EXPLAINED_SETTING,
			.name = name,
		};

		snprintf(name, sizeof(name), "%s%s",
			 options == key_options ? "key " : "", options[i].name);
		if (rule) {
			line.value = rule->value[is];
			line.from = rule->from[is];
			line.rule = rule->text;
		} else {
			config_explain_default(e, &options[i], &line, room);
		}
		config_explain_line(e, &line);
	}
}

static void config_explain_answer(const struct config_explanation *e,
				  const struct site_rule *rule)
{
	char is[CONFIG_EXPLAIN_BYTES];

	/* "status, 404" */
	snprintf(is, sizeof(is), "%s %s",
		 rule->kind == SITE_RULE_STATUS ? "status" : "type",
		 strchr(rule->text, ',') + 2);
	for (size_t i = 0; i < SITE_OPTIONS; i++) {
		const enum policy_setting setting = site_settings[i];
		const struct config_explained line = {
			.kind = CONFIG_EXPLAINED_ANSWER,
			.name = site_options[i].name,
			.value = rule->value[setting],
			.from = rule->from[setting],
			.rule = is,
		};

		if (policy_has(&rule->policy, setting))
			config_explain_line(e, &line);
	}
}

/* Rules of which only the answer tells whether they match. */
static void config_explain_answers(const struct config_explanation *e)
{
	for (size_t i = 0; e->site && i < e->site->nrules; i++) {
		const struct site_rule *rule = &e->site->rules[i];

		if (rule->kind == SITE_RULE_STATUS ||
		    rule->kind == SITE_RULE_TYPE)
			config_explain_answer(e, rule);
	}
}

static const struct upstream *config_explain_find(const struct config *c,
						  const struct target *t)
{
	for (size_t i = 0; i < c->norigins; i++) {
		const struct upstream *o = &c->origins[i];

		if (strlen(o->name) == t->host_len &&
		    !strncmp(o->name, t->host, t->host_len))
			return o;
	}
	return NULL;
}

/* Where requests go. */
static void config_explain_origin(const struct config_explanation *e)
{
	const struct config *c = e->config;
	struct config_explained line = {
		.kind = CONFIG_EXPLAINED_ORIGIN,
		.name = "origin",
	};

	if (e->origin) {
		line.value = e->origin->url;
		line.from = e->origin->where;
	} else if (e->site && e->site->origin) {
		line.value = e->site->origin;
		line.from = e->site->where;
	} else if (c->default_origin) {
		line.value = c->default_origin;
		line.from = "default_origin";
	} else {
		line.from = c->forward ? "forward: its own host, for http" :
					 "none: it is refused with 421";
	}
	config_explain_line(e, &line);
}

/* The URI that is looked up; where requests pass, none is. */
static void config_explain_key(const struct config_explanation *e,
			       const struct target *t)
{
	const struct site_rule *rule = config_explain_rule(e, POLICY_pass);
	const bool passes = rule && rule->policy.pass;
	const struct config_explained key = {
		.kind = CONFIG_EXPLAINED_KEY,
		.name = "key",
		.value = passes ? NULL : t->uri,
	};

	config_explain_line(e, &key);
}

static void config_explain_site(const struct config_explanation *e)
{
	const struct config_explained line = {
		.kind = CONFIG_EXPLAINED_SITE,
		.name = "site",
		.value = e->site ? e->site->names[0] : NULL,
		.from = e->site ? e->site->where :
				  "no site: the general options count",
	};

	config_explain_line(e, &line);
}

int config_explain(const struct config *c, struct target *t,
		   config_explain_fn *fn, void *arg)
{
	const struct config_explanation e = {
		.config = c,
		.site = sites_find(c->sites, t->host, t->host_len),
		.origin = config_explain_find(c, t),
		.path = t->path,
		.fn = fn,
		.arg = arg,
	};

	assert(fn);
	config_explain_site(&e);
	config_explain_origin(&e);
	if (sites_normalise(c->sites, t))
		return -ENOMEM;
	config_explain_key(&e, t);
	config_explain_settings(&e, site_options, site_settings, SITE_OPTIONS);
	config_explain_settings(&e, key_options, key_settings, KEY_OPTIONS);
	config_explain_answers(&e);
	return 0;
}

/* Text */

static void config_explain_write(void *to, const struct config_explained *l)
{
	const char *value = l->value ? l->value : "-";

	if (l->kind == CONFIG_EXPLAINED_ANSWER)
		fprintf(to, "%s: ", l->rule);
	if (l->kind == CONFIG_EXPLAINED_KEY)
		fprintf(to, "%-24s %s\n", l->name,
			l->value ? value : "none: requests pass");
	else
		fprintf(to, "%-24s %-24s %s\n", l->name, value,
			l->from ? l->from : "default");
}

int config_explain_print(const struct config *c, const char *url, FILE *to)
{
	struct target t;
	int err = strstr(url, "://") ?
			  target_resolve(&t, url, strlen(url), NULL) : -EINVAL;

	if (err)
		return err;
	err = config_explain(c, &t, config_explain_write, to);
	target_free(&t);
	return err;
}
