/*
 * The sections "site" of a configuration.
 */
#ifndef DIGESTD_CONFIG_CONFIG_SITES_H
#define DIGESTD_CONFIG_CONFIG_SITES_H

#include "digestd/config/config_tree.h"

struct config;

/*
 * Reads them into c->sites, which stays null if there are none. What is wrong
 * is added to *errors. Returns 0 or -ENOMEM.
 */
int config_sites_read(const struct config_node *first, struct config *c,
		      struct config_errors *errors);

#endif
