/*
 * One section of a configuration, held against the table of its options: what
 * is known goes to its member, everything else is a finding.
 */
#ifndef DIGESTD_CONFIG_CONFIG_SECTION_H
#define DIGESTD_CONFIG_CONFIG_SECTION_H

#include <stddef.h>

#include "digestd/config/config_tree.h"
#include "digestd/config/option.h"

struct config_section {
	const char *name;
	const struct config_option *options;
	size_t noptions;
	const char *const *sections; /* names of those within; a null ends */
	size_t min_titles, max_titles;
	const char *title; /* what a title is, for messages */
};

/*
 * Reads the nodes of a section into the members of *into, which is of the type
 * that the table's offsets are for. Of an option that is not there, or that has
 * no right value, the member gets the default. Returns 0 or -ENOMEM.
 */
int config_section_read(const struct config_section *s,
			const struct config_node *first, void *into,
			struct config_errors *errors);

/* Whether a section has as many titles as it should; if not, it is a finding.
 */
bool config_section_has_titles(const struct config_section *s,
			       const struct config_node *n,
			       struct config_errors *errors);

/* The first option of a name among nodes, or null. */
const struct config_node *config_section_find(const struct config_node *first,
					      const char *name);

/* Frees the members. */
void config_section_clear(const struct config_section *s, void *from);

#endif
