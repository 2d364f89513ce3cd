/*
 * The settings of sites as options.
 */
#include "digestd/config/site_settings.h"

#include <stddef.h>

#include "digestd/config/configuration.h"
#include "digestd/http/enum_names.h"

#define BIG INT64_MAX /* no upper end */
#define HOUR_MS 3600000

#define OPTION(name, kind, member, value, min, max, when, help)          \
	{ #name, kind, offsetof(struct site_values, member), value, min, \
	  max, false, help },
const struct config_option site_options[] = {
#include "digestd/options/options_site.def"
};
const struct config_option key_options[] = {
#include "digestd/options/options_key.def"
};
#undef OPTION

#define OPTION(name, kind, member, value, min, max, when, help) POLICY_##member,
const enum policy_setting site_settings[] = {
#include "digestd/options/options_site.def"
};
const enum policy_setting key_settings[] = {
#include "digestd/options/options_key.def"
};
#undef OPTION

_Static_assert((int)SITE_OPTIONS + (int)KEY_OPTIONS == (int)POLICY_COUNT,
	       "a setting without a row");

/* By kinds of options; words have been checked. */
#define TAKE_NUMBER(member) \
	if (set >> POLICY_##member & 1) \
		p->member = v->member
#define TAKE_WORD(member, names) \
	if (v->member) \
		p->member = (unsigned)enum_names_find(names, v->member)
#define TAKE_LIST(member) \
	if (v->member) { \
		rule->lists[POLICY_##member] = v->member; \
		p->member = v->member; \
		v->member = NULL; \
	}
#define TAKE_TIME_S(member) TAKE_NUMBER(member)
#define TAKE_TIME_MS(member) TAKE_NUMBER(member)
#define TAKE_SIZE(member) TAKE_NUMBER(member)
#define TAKE_FLAG(member) TAKE_NUMBER(member)
#define TAKE_COOKIES(member) TAKE_WORD(member, setcookie_names)
#define TAKE_NO_CACHE(member) TAKE_WORD(member, no_cache_names)
#define TAKE_PREFIXES(member) TAKE_LIST(member)
#define TAKE_ARGUMENTS(member) TAKE_LIST(member)
#define TAKE_FIELD_NAMES(member) TAKE_LIST(member)
#define TAKE_FIELD_LINES(member) TAKE_LIST(member)

void site_values_take(struct site_values *v, uint32_t set,
		      const struct config *c, struct site_rule *rule)
{
	struct policy *p = &rule->policy;

#define OPTION(name, kind, member, value, min, max, when, help) \
	TAKE_##kind(member);
#include "digestd/options/options_site.def"
#include "digestd/options/options_key.def"
#undef OPTION
	/* nothing larger than the cache is stored */
	if (p->max_object_bytes > c->cache_size)
		p->max_object_bytes = c->cache_size;
}
