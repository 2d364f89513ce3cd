/*
 * What counts for a URL, and which lines say so.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "digestd/config/config_sites.h"
#include "digestd/config/configuration.h"
#include "digestd/config/site_settings.h"
#include "digestd/http/query.h"
#include "digestd/http/target.h"

struct config_explanation {
	const struct config *config;
	const struct site *site; /* null: none */
	const char *path;
	struct policy policy; /* before there is an answer */
	FILE *to;
};

static void config_explain_line(const struct config_explanation *e,
				const char *name, const char *value,
				const char *from)
{
	fprintf(e->to, "%-24s %-24s %s\n", name, value, from);
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

/* What is done where nothing is set. */
static const char *config_explain_default(const struct config_explanation *e,
					  const struct config_option *o,
					  char room[32])
{
	switch (o->kind) {
	case COOKIES:
		return e->config->set_cookie;
	case NO_CACHE:
		return e->site ? "validate" : "obey";
	case FLAG:
		return "false";
	case SIZE:
		snprintf(room, 32, "%" PRId64, e->config->max_object_size);
		return room;
	default:
		return "-";
	}
}

static void config_explain_settings(const struct config_explanation *e,
				    const struct config_option *options,
				    const enum policy_setting *settings,
				    size_t n)
{
	char room[32], name[64];

	for (size_t i = 0; i < n; i++) {
		const enum policy_setting is = settings[i];
		const struct site_rule *rule = config_explain_rule(e, is);

		snprintf(name, sizeof(name), "%s%s",
			 options == key_options ? "key " : "", options[i].name);
		config_explain_line(
			e, name,
			rule ? rule->value[is] :
			       config_explain_default(e, &options[i], room),
			rule ? rule->from[is] : "default");
	}
}

/* Rules of which only the answer tells whether they match. */
static void config_explain_answers(const struct config_explanation *e)
{
	for (size_t i = 0; e->site && i < e->site->nrules; i++) {
		const struct site_rule *rule = &e->site->rules[i];

		if (rule->kind != SITE_RULE_STATUS &&
		    rule->kind != SITE_RULE_TYPE)
			continue;
		for (size_t j = 0; j < SITE_OPTIONS; j++) {
			const enum policy_setting is = site_settings[j];

			if (!policy_has(&rule->policy, is))
				continue;
			fprintf(e->to, "%s %s: ",
				rule->kind == SITE_RULE_STATUS ? "status" :
								 "type",
				strchr(rule->text, ',') + 2);
			config_explain_line(e, site_options[j].name,
					    rule->value[is], rule->from[is]);
		}
	}
}

/* Where requests go. */
static void config_explain_origin(const struct config_explanation *e,
				  const struct target *t)
{
	const struct config *c = e->config;

	for (size_t i = 0; i < c->norigins; i++) {
		const struct upstream *o = &c->origins[i];

		if (strlen(o->name) == t->host_len &&
		    !strncmp(o->name, t->host, t->host_len)) {
			config_explain_line(e, "origin", o->url, o->where);
			return;
		}
	}
	if (e->site && e->site->origin)
		config_explain_line(e, "origin", e->site->origin,
				    e->site->where);
	else if (c->default_origin)
		config_explain_line(e, "origin", c->default_origin,
				    "default_origin");
	else
		config_explain_line(e, "origin", "-", c->forward ?
				    "forward: its own host, for http" :
				    "none: it is refused with 421");
}

static int config_explain_key(const struct config_explanation *e,
			      struct target *t)
{
	const struct query_rules rules = policy_query(&e->policy);
	int err = query_normalise(t->uri, &t->uri_len, &rules);

	if (!err)
		fprintf(e->to, "%-24s %s\n", "key", t->uri);
	return err;
}

int config_explain(const struct config *c, const char *url, FILE *to)
{
	static const struct site_answer none = { 0 };
	struct config_explanation e = { .config = c, .to = to };
	struct target t;
	int err = strstr(url, "://") ?
			  target_resolve(&t, url, strlen(url), NULL) : -EINVAL;

	assert(c && url && to);
	if (err)
		return err;
	e.site = sites_find(c->sites, t.host, t.host_len);
	e.path = t.path;
	if (e.site)
		site_policy(e.site, t.path, &none, &e.policy);
	config_explain_line(&e, "site", e.site ? e.site->names[0] : "-",
			    e.site ? e.site->where : "default");
	config_explain_origin(&e, &t);
	err = config_explain_key(&e, &t);
	config_explain_settings(&e, site_options, site_settings, SITE_OPTIONS);
	config_explain_settings(&e, key_options, key_settings, KEY_OPTIONS);
	config_explain_answers(&e);
	target_free(&t);
	return err;
}
