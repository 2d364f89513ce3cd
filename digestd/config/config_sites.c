/*
 * Sites of a configuration.
 */
#include "digestd/config/config_sites.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/config_section.h"
#include "digestd/config/configuration.h"
#include "digestd/config/configuration_check.h"
#include "digestd/config/site_settings.h"
#include "digestd/config/value.h"
#include "digestd/peers/upstream.h"

/* Of an origin within a site. */
struct config_site_origin {
	option_URLS url;
};

static const struct config_option origin_options[] = {
	{ "url", URLS, offsetof(struct config_site_origin, url), NULL, 0, 0,
	  false, "" },
};

static const char *const site_sections[] = { "key", "origin", "rule", NULL };
static const char *const rule_sections[] = { "key", NULL };

static const struct config_section site_section = {
	.name = "site", .options = site_options, .noptions = SITE_OPTIONS,
	.sections = site_sections, .min_titles = 1, .max_titles = SIZE_MAX,
	.title = "the names of hosts",
};

static const struct config_section rule_section = {
	.name = "rule", .options = site_options, .noptions = SITE_OPTIONS,
	.sections = rule_sections, .min_titles = 1, .max_titles = 2,
	.title = "a path, status and a number, or type and a type",
};

static const struct config_section key_section = {
	.name = "key", .options = key_options, .noptions = KEY_OPTIONS,
	.title = "nothing",
};

static const struct config_section origin_section = {
	.name = "origin", .options = origin_options, .noptions = 1,
	.min_titles = 1, .max_titles = 1, .title = "a name",
};

struct config_sites_reader {
	struct config *config;
	struct config_errors *errors;
	struct site *site;
};

__attribute__((format(printf, 3, 4))) static void
config_sites_refuse(struct config_sites_reader *r, const struct config_node *n,
		    const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	config_report(r->errors, "%s:%u: %s: %s\n", n->file, n->line, n->name,
		      text);
}

static char *config_sites_where(const struct config_node *n)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s:%u", n->file, n->line);
	return strdup(text);
}

/* Values as they stand in the file, with commas. */
static char *config_sites_words(const struct config_node *n)
{
	size_t room = 1, len = 0;
	char *text;

	for (size_t i = 0; i < n->nwords; i++)
		room += strlen(n->words[i]) + 2;
	text = malloc(room);
	if (text)
		*text = '\0';
	for (size_t i = 0; text && i < n->nwords; i++)
		len += (size_t)snprintf(text + len, room - len, "%s%s",
					i ? ", " : "", n->words[i]);
	return text;
}

/* Settings */

/* Where each was set. */
static int config_sites_note(struct site_rule *rule,
			     const struct config_section *s,
			     const enum policy_setting *settings,
			     const struct config_node *first)
{
	for (size_t i = 0; i < s->noptions; i++) {
		const struct config_node *n =
			config_section_find(first, s->options[i].name);
		const enum policy_setting is = settings[i];

		if (!n)
			continue;
		rule->policy.set |= UINT32_C(1) << is;
		rule->from[is] = config_sites_where(n);
		rule->value[is] = config_sites_words(n);
		if (!rule->from[is] || !rule->value[is])
			return -ENOMEM;
	}
	return 0;
}

static int config_sites_settings(struct config_sites_reader *r,
				 struct site_rule *rule,
				 const struct config_section *s,
				 const enum policy_setting *settings,
				 const struct config_node *first)
{
	struct site_values values = { 0 };
	uint32_t before = rule->policy.set;
	int err = config_section_read(s, first, &values, r->errors);

	if (!err)
		err = config_sites_note(rule, s, settings, first);
	if (!err)
		site_values_take(&values, rule->policy.set & ~before,
				 r->config, rule);
	config_section_clear(s, &values);
	return err;
}

/* What is settled before there is an answer. */
static void config_sites_check_answer(struct config_sites_reader *r,
				      const struct site_rule *rule,
				      const struct config_node *first)
{
	static const char *const names[] = { "pass", "client_no_cache",
					     "purge_addresses", "stale_wait" };

	if (rule->kind != SITE_RULE_STATUS && rule->kind != SITE_RULE_TYPE)
		return;
	for (const struct config_node *n = first; n; n = n->next) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (!strcmp(n->name, names[i]))
				config_sites_refuse(r, n, "is settled before "
						    "there is an answer");
		}
		if (n->kind == CONFIG_SECTION && !strcmp(n->name, "key"))
			config_sites_refuse(r, n, "is settled before there is "
					    "an answer");
	}
}

/* All of a rule, or of the site itself. */
static int config_sites_rule(struct config_sites_reader *r,
			     const struct config_section *s,
			     struct site_rule *rule,
			     const struct config_node *first)
{
	const struct config_node *before = NULL;
	int err = config_sites_settings(r, rule, s, site_settings, first);

	config_sites_check_answer(r, rule, first);
	for (const struct config_node *n = first; n && !err; n = n->next) {
		if (n->kind != CONFIG_SECTION || strcmp(n->name, "key") ||
		    !config_section_has_titles(&key_section, n, r->errors))
			continue;
		if (before) {
			config_sites_refuse(r, n, "is given again, after line "
					    "%u", before->line);
			continue;
		}
		before = n;
		err = config_sites_settings(r, rule, &key_section, key_settings,
					    n->children);
	}
	return err;
}

/* What a rule is for. */

static void config_sites_pattern(struct config_sites_reader *r,
				 struct site_rule *rule,
				 const struct config_node *n, const char *text)
{
	if (path_pattern_init(&rule->pattern, text))
		config_sites_refuse(r, n, "\"%s\" is not a pattern of 1 to %d "
				    "bytes", text, PATH_PATTERN_MAX);
}

static void config_sites_path(struct config_sites_reader *r,
			      struct site_rule *rule,
			      const struct config_node *n)
{
	rule->kind = SITE_RULE_PATH;
	if (*n->words[0] != '/' && *n->words[0] != '*')
		config_sites_refuse(r, n, "\"%s\" is not a path, which begins "
				    "with / or *", n->words[0]);
	else
		config_sites_pattern(r, rule, n, n->words[0]);
}

static void config_sites_status(struct config_sites_reader *r,
				struct site_rule *rule,
				const struct config_node *n)
{
	int64_t status;

	rule->kind = SITE_RULE_STATUS;
	if (!value_number(n->words[1], &status) || status < 200 || status > 599)
		config_sites_refuse(r, n, "\"%s\" is not a status from 200 to "
				    "599", n->words[1]);
	else
		rule->status = (unsigned)status;
}

static void config_sites_kind(struct config_sites_reader *r,
			      struct site_rule *rule,
			      const struct config_node *n)
{
	if (n->nwords == 1) {
		config_sites_path(r, rule, n);
	} else if (!strcmp(n->words[0], "status")) {
		config_sites_status(r, rule, n);
	} else if (!strcmp(n->words[0], "type")) {
		rule->kind = SITE_RULE_TYPE;
		for (char *c = n->words[1]; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		if (*n->words[1] && !strchr(n->words[1], '/') &&
		    !strstr(n->words[1], "**"))
			config_sites_refuse(r, n, "\"%s\" is no type of "
					    "content such as image/*",
					    n->words[1]);
		else
			config_sites_pattern(r, rule, n, n->words[1]);
	} else {
		config_sites_refuse(r, n, "\"%s\" is not status or type",
				    n->words[0]);
	}
}

/* The parts of a site */

static int config_sites_origin(struct config_sites_reader *r,
			       const struct config_node *n)
{
	struct config_site_origin values = { NULL };
	size_t before = r->errors->len;
	int err;

	if (!config_section_has_titles(&origin_section, n, r->errors))
		return 0;
	if (r->site->origin) {
		config_sites_refuse(r, n, "\"%s\": the site has an origin",
				    n->words[0]);
		return 0;
	}
	err = config_section_read(&origin_section, n->children, &values,
				  r->errors);
	if (!err && !values.url && r->errors->len == before)
		config_sites_refuse(r, n, "\"%s\": url: not given",
				    n->words[0]);
	if (values.url && upstream_count_urls(values.url) > UPSTREAM_URLS_MAX)
		config_sites_refuse(r, n, "\"%s\": url: more than %d",
				    n->words[0], UPSTREAM_URLS_MAX);
	r->site->origin = values.url;
	return err;
}

static int config_sites_add_rule(struct config_sites_reader *r,
				 const struct config_node *n)
{
	struct site_rule *rule;

	if (!config_section_has_titles(&rule_section, n, r->errors))
		return 0;
	rule = &r->site->rules[r->site->nrules++];
	config_sites_kind(r, rule, n);
	rule->text = config_sites_words(n);
	return rule->text ? config_sites_rule(r, &rule_section, rule,
					      n->children) : -ENOMEM;
}

static int config_sites_parts(struct config_sites_reader *r,
			      const struct config_node *first)
{
	int err = 0;

	for (const struct config_node *n = first; n && !err; n = n->next) {
		if (n->kind != CONFIG_SECTION)
			continue;
		if (!strcmp(n->name, "rule"))
			err = config_sites_add_rule(r, n);
		else if (!strcmp(n->name, "origin"))
			err = config_sites_origin(r, n);
	}
	return err;
}

/* A host as requests have it; "*.EXAMPLE.org" becomes "*.example.org". */
static int config_sites_name(struct config_sites_reader *r,
			     const struct config_node *n, const char *word)
{
	const char *host = !strncmp(word, "*.", 2) ? word + 2 : word;
	char *name = strdup(host), **out = &r->site->names[r->site->nnames];
	int err = name ? 0 : -ENOMEM;

	if (name && strcmp(word, "*") != 0)
		err = config_canonical_host(&name);
	if (err == -EINVAL)
		config_sites_refuse(r, n, "\"%s\" is not a host, nor *.HOST or "
				    "*", word);
	if (!err) {
		*out = malloc(strlen(name) + 3);
		err = *out ? 0 : -ENOMEM;
	}
	if (!err) {
		snprintf(*out, strlen(name) + 3, "%s%s",
			 host == word ? "" : "*.", name);
		r->site->nnames++;
	}
	free(name);
	return err == -EINVAL ? 0 : err;
}

static int config_sites_site(struct config_sites_reader *r,
			     const struct config_node *n)
{
	struct site *site = r->site;
	size_t rules = 1;
	int err = 0;

	for (const struct config_node *in = n->children; in; in = in->next)
		rules += in->kind == CONFIG_SECTION;
	site->where = config_sites_where(n);
	site->names = calloc(n->nwords, sizeof(*site->names));
	site->rules = calloc(rules, sizeof(*site->rules));
	if (!site->where || !site->names || !site->rules)
		return -ENOMEM;
	for (size_t i = 0; i < n->nwords && !err; i++)
		err = config_sites_name(r, n, n->words[i]);
	site->nrules = 1;
	if (!err)
		err = config_sites_rule(r, &site_section, &site->rules[0],
					n->children);
	return err ? err : config_sites_parts(r, n->children);
}

/* What only all sites can tell */

/* The first that has a name. */
static const struct site *config_sites_claimer(const struct sites *s,
					       char *const *name)
{
	for (size_t i = 0; i < s->n; i++) {
		char *const *names = s->at[i].names;

		for (size_t j = 0; j < s->at[i].nnames; j++) {
			if (&names[j] == name)
				return NULL; /* it is that one's */
			if (!strcmp(names[j], *name))
				return &s->at[i];
		}
	}
	return NULL;
}

static void config_sites_check_claim(const struct config_sites_reader *r,
				     const struct site *site, size_t i)
{
	char *const *name = &site->names[i];
	const struct site *first =
		config_sites_claimer(r->config->sites, name);

	if (first)
		config_report(r->errors, "%s: site: \"%s\" is claimed twice, "
			      "first at %s\n", site->where, *name,
			      first->where);
}

static int config_sites_end(struct config_sites_reader *r)
{
	struct sites *s = r->config->sites;
	const char *twice;
	int err = sites_index(s, &twice);

	if (err != -EEXIST)
		return err;
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->at[i].nnames; j++)
			config_sites_check_claim(r, &s->at[i], j);
	}
	return 0;
}

int config_sites_read(const struct config_node *first, struct config *c,
		      struct config_errors *errors)
{
	struct config_sites_reader r = { c, errors, NULL };
	size_t count = 0;
	int err = 0;

	assert(c && errors);
	for (const struct config_node *n = first; n; n = n->next)
		count += n->kind == CONFIG_SECTION && !strcmp(n->name, "site");
	if (!count)
		return 0;
	c->sites = sites_new(count);
	if (!c->sites)
		return -ENOMEM;
	for (const struct config_node *n = first; n && !err; n = n->next) {
		if (n->kind != CONFIG_SECTION || strcmp(n->name, "site") ||
		    !config_section_has_titles(&site_section, n, errors))
			continue;
		r.site = &c->sites->at[c->sites->n++];
		err = config_sites_site(&r, n);
	}
	return err ? err : config_sites_end(&r);
}
