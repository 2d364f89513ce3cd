/*
 * The settings of sites as options: rows of options_site.def and
 * options_key.def.
 */
#ifndef DIGESTD_CONFIG_SITE_SETTINGS_H
#define DIGESTD_CONFIG_SITE_SETTINGS_H

#include "digestd/config/option.h"
#include "digestd/node/site.h"
#include "digestd/options/option_types.h"

struct config;

/* A member for each, as struct config has them. */
struct site_values {
#define OPTION(name, kind, member, value, min, max, when, help) \
	option_##kind member;
#include "digestd/options/options_site.def"
#include "digestd/options/options_key.def"
#undef OPTION
};

#define OPTION(name, kind, member, value, min, max, when, help) +1
enum {
	SITE_OPTIONS = 0
#include "digestd/options/options_site.def"
};
enum {
	KEY_OPTIONS = 0
#include "digestd/options/options_key.def"
};
#undef OPTION

/* The rows, and what each sets. */
extern const struct config_option site_options[SITE_OPTIONS];
extern const struct config_option key_options[KEY_OPTIONS];
extern const enum policy_setting site_settings[SITE_OPTIONS];
extern const enum policy_setting key_settings[KEY_OPTIONS];

/* Moves values to a rule's policy, of the settings whose bits are in `set`. */
void site_values_take(struct site_values *values, uint32_t set,
		      const struct config *c, struct site_rule *rule);

#endif
