/*
 * The configuration: its files become a tree, which is held against the table
 * of options, and then as a whole.
 */
#include "digestd/config/configuration.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/config_files.h"
#include "digestd/config/config_places.h"
#include "digestd/config/config_section.h"
#include "digestd/config/config_sites.h"
#include "digestd/config/configuration_check.h"
#include "digestd/config/configuration_tls.h"
#include "digestd/config/option.h"
#include "digestd/node/site.h"

static const char *const sections[] = { "origin", "peer", "site", NULL };

static const struct config_section whole = {
	.options = config_options,
	.noptions = CONFIG_OPTIONS,
	.sections = sections,
};

/* What each line says; -ENOMEM is a finding, too. */
static void configuration_read_tree(const struct config_node *first,
				    struct config *c,
				    struct config_errors *errors)
{
	int err = config_section_read(&whole, first, c, errors);

	if (!err)
		err = config_places_read(first, c, errors);
	if (!err)
		err = config_sites_read(first, c, errors);
	if (err)
		config_report(errors, "%s\n", strerror(-err));
}

/* What the file at `path` says, in *c. */
static void configuration_read(const char *path, struct config *c,
			       struct config_errors *errors,
			       struct config_errors *warnings)
{
	struct config_files files;
	struct config_check check = { path, NULL, errors, warnings };

	if (config_files_read(path, &files, errors))
		config_report(errors, "%s: out of memory\n", path);
	else if (files.first || !errors->len)
		configuration_read_tree(files.first, c, errors);
	check.first = files.first;
	if (!errors->len)
		config_check_whole(c, &check);
	if (!errors->len)
		config_tls_load(c, &check);
	config_files_free(&files);
}

int config_load(const char *path, struct config **out,
		struct config_errors *errors)
{
	struct config *c = calloc(1, sizeof(*c));
	struct config_errors warnings = { .len = 0 };

	assert(path && out);
	*errors = (struct config_errors){ .len = 0 };
	if (c)
		configuration_read(path, c, errors, &warnings);
	else
		config_report(errors, "%s: out of memory\n", path);
	if (errors->len) {
		config_free(&c);
		return -EINVAL;
	}
	*out = c;
	*errors = warnings;
	return 0;
}

void config_free(struct config **c)
{
	if (!*c)
		return;
	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		option_clear(&config_options[i], *c);
	upstreams_free((*c)->origins, (*c)->norigins);
	upstreams_free((*c)->peers, (*c)->npeers);
	sites_unref((*c)->sites);
	config_tls_free(*c);
	explicit_bzero((*c)->keys, sizeof((*c)->keys));
	explicit_bzero((*c)->hash_key, sizeof((*c)->hash_key));
	free(*c);
	*c = NULL;
}

bool config_keep_key(const struct config *now, struct config *next)
{
	const bool other = !now->nkeys != !next->nkeys ||
			   memcmp(now->hash_key, next->hash_key,
				  sizeof(now->hash_key)) != 0;

	assert(now != next);
	if (other) {
		next->nkeys = now->nkeys;
		memcpy(next->keys, now->keys, sizeof(next->keys));
		memcpy(next->hash_key, now->hash_key, sizeof(next->hash_key));
	}
	return other;
}

static void configuration_config_report_kept(struct config_errors *kept,
					     const char *option)
{
	config_report(kept, "%s takes effect only at the next start\n", option);
}

/* A listener has TLS, or has none, until the next start. */
static void configuration_config_keep_tls_use(const char *option,
					      struct tls **now,
					      struct tls **next,
					      struct config_errors *kept)
{
	struct tls *other = *next;

	if (!*now == !*next)
		return;
	*next = *now;
	*now = other;
	configuration_config_report_kept(kept, option);
}

void config_keep_started(struct config *now, struct config *next,
			 struct config_errors *kept)
{
	assert(now && next);
	*kept = (struct config_errors){ .len = 0 };
	for (size_t i = 0; i < CONFIG_OPTIONS; i++) {
		const struct config_option *o = &config_options[i];

		if (!o->restart || option_is_same(o, now, next))
			continue;
		option_swap(o, now, next);
		configuration_config_report_kept(kept, o->name);
	}
	configuration_config_keep_tls_use(
		"tls_data_certificate", &now->tls_data, &next->tls_data, kept);
	configuration_config_keep_tls_use(
		"tls_peer_certificate", &now->tls_peer, &next->tls_peer, kept);
	configuration_config_keep_tls_use("tls_admin_certificate",
					  &now->tls_admin, &next->tls_admin,
					  kept);
}

void config_print_options(FILE *to)
{
	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		fprintf(to, "%-24s %-8s %s\n", config_options[i].name,
			config_options[i].value ? config_options[i].value : "-",
			config_options[i].help);
}
