/*
 * Sites.
 */
#include "digestd/node/site.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/storable.h"

enum { TYPE_MAX_BYTES = 128 }; /* of a type that a rule may be of */

const char *const no_cache_names[] = { "obey", "validate", "ignore", NULL };

/* Policies */

void policy_merge(struct policy *into, const struct policy *from)
{
	into->set |= from->set;
#define X(type, member) \
	if (policy_has(from, POLICY_##member)) \
		into->member = from->member;
	POLICY_SETTINGS(X)
#undef X
}

struct freshness_rules policy_freshness(const struct policy *p)
{
	struct freshness_rules r = freshness_no_rules;

	if (policy_has(p, POLICY_fresh_default_s))
		r.default_s = p->fresh_default_s;
	if (policy_has(p, POLICY_fresh_least_s))
		r.least_s = p->fresh_least_s;
	if (policy_has(p, POLICY_fresh_most_s))
		r.most_s = p->fresh_most_s;
	if (policy_has(p, POLICY_stale_on_error_s))
		r.on_error_s = p->stale_on_error_s;
	if (policy_has(p, POLICY_stale_while_revalidate_s))
		r.renew_s = p->stale_while_revalidate_s;
	return r;
}

static struct query_rules site_query_rules(const struct policy *p)
{
	return (struct query_rules){
		.keep = policy_has(p, POLICY_keep) ? p->keep : NULL,
		.drop = policy_has(p, POLICY_drop) ? p->drop : NULL,
		.sort = policy_has(p, POLICY_sort) && p->sort,
	};
}

/* Life */

struct sites *sites_new(size_t n)
{
	struct sites *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->users = 1;
	s->at = calloc(n + 1, sizeof(*s->at));
	if (s->at)
		return s;
	free(s);
	return NULL;
}

static void site_free_rule(struct site_rule *rule)
{
	for (size_t i = 0; i < POLICY_COUNT; i++) {
		free(rule->lists[i]);
		free(rule->from[i]);
		free(rule->value[i]);
	}
	free(rule->text);
}

static void site_free(struct site *site)
{
	for (size_t i = 0; i < site->nrules; i++)
		site_free_rule(&site->rules[i]);
	for (size_t i = 0; i < site->nnames; i++)
		free(site->names[i]);
	free(site->rules);
	free(site->names);
	free(site->where);
	free(site->origin);
}

struct sites *sites_ref(struct sites *s)
{
	if (s)
		__atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
	return s;
}

void sites_unref(struct sites *s)
{
	if (!s || __atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < s->n; i++)
		site_free(&s->at[i]);
	free(s->at);
	free(s->names);
	free(s);
}

/* Hosts */

static int site_compare_names(const void *a, const void *b)
{
	const struct site_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int sites_index(struct sites *s, const char **twice)
{
	size_t count = 0;

	for (size_t i = 0; i < s->n; i++)
		count += s->at[i].nnames;
	s->names = calloc(count + 1, sizeof(*s->names));
	if (!s->names)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->at[i].nnames; j++)
			s->names[s->nnames++] = (struct site_name){
				s->at[i].names[j], &s->at[i] };
	}
	qsort(s->names, s->nnames, sizeof(*s->names), site_compare_names);
	for (size_t i = 1; i < s->nnames; i++) {
		if (!strcmp(s->names[i - 1].name, s->names[i].name)) {
			*twice = s->names[i].name;
			return -EEXIST;
		}
	}
	return 0;
}

/* A name that is to be found: "*", if it is one of a suffix, and the text. */
struct site_key {
	bool star;
	const char *text;
	size_t len;
};

static int site_compare_key(const void *a, const void *b)
{
	const struct site_key *key = a;
	const char *name = ((const struct site_name *)b)->name;
	int order;

	if (key->star && *name != '*')
		return '*' - *name;
	name += key->star;
	order = strncmp(key->text, name, key->len);
	return order ? order : -(int)(unsigned char)name[key->len];
}

static const struct site *site_find_name(const struct sites *sites, bool star,
					 const char *text, size_t len)
{
	const struct site_key key = { star, text, len };
	const struct site_name *found =
		bsearch(&key, sites->names, sites->nnames,
			sizeof(*sites->names), site_compare_key);

	return found ? found->site : NULL;
}

const struct site *sites_find(const struct sites *sites, const char *host,
			      size_t len)
{
	const struct site *site;

	if (!sites)
		return NULL;
	site = site_find_name(sites, false, host, len);
	for (size_t i = 0; !site && i < len; i++) {
		if (host[i] == '.')
			site = site_find_name(sites, true, host + i, len - i);
	}
	return site ? site : site_find_name(sites, true, "", 0);
}

/* Rules */

/* Types have no case, and nothing of their parameters counts. */
static bool site_is_type(const struct site_rule *rule, const char *type)
{
	char lower[TYPE_MAX_BYTES];
	size_t len = strcspn(type, "; \t");

	if (len > sizeof(lower))
		return false;
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)(type[i] >= 'A' && type[i] <= 'Z' ?
					  type[i] - 'A' + 'a' : type[i]);
	return path_pattern_match(&rule->pattern, lower, len);
}

bool site_rule_matches(const struct site_rule *rule, const char *path,
		       const struct site_answer *answer)
{
	switch (rule->kind) {
	case SITE_RULE_ALL:
		return true;
	case SITE_RULE_PATH:
		return path_pattern_match(&rule->pattern, path,
					  strcspn(path, "?"));
	case SITE_RULE_STATUS:
		return answer->status == rule->status;
	case SITE_RULE_TYPE:
		return answer->status && answer->type &&
		       site_is_type(rule, answer->type);
	}
	return false;
}

void site_policy(const struct site *site, const char *path,
		 const struct site_answer *answer, struct policy *out)
{
	const uint32_t lifetimes = 1 << POLICY_fresh_default_s |
				   1 << POLICY_fresh_least_s;
	const bool error = answer->status &&
			   !(storable_heuristic_status(answer->status) &&
			     answer->status < 400);

	out->set = 0;
	for (size_t i = 0; i < site->nrules; i++) {
		const struct site_rule *rule = &site->rules[i];
		struct policy of;

		if (!site_rule_matches(rule, path, answer))
			continue;
		if (!error || rule->kind == SITE_RULE_STATUS ||
		    !(rule->policy.set & lifetimes)) {
			policy_merge(out, &rule->policy);
			continue;
		}
		of = rule->policy;
		of.set &= ~lifetimes;
		policy_merge(out, &of);
	}
}

/* Keys */

int policy_normalise(const struct policy *p, char *uri, size_t *len)
{
	const struct query_rules rules = site_query_rules(p);

	if (!rules.keep && !rules.drop && !rules.sort) /* saves time */
		return 0;
	return query_normalise(uri, len, &rules);
}

int site_normalise(const struct site *site, char *uri, size_t *len)
{
	static const struct site_answer none = { 0 };
	const char *host = strstr(uri, "://");
	struct policy policy;

	assert(host);
	site_policy(site, strchr(host + strlen("://"), '/'), &none, &policy);
	return policy_normalise(&policy, uri, len);
}

int sites_normalise(const struct sites *sites, struct target *t)
{
	const struct site *site = sites_find(sites, t->host, t->host_len);

	return site ? site_normalise(site, t->uri, &t->uri_len) : 0;
}
