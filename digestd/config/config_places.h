/*
 * Sections that name other servers: origins and peers.
 */
#ifndef DIGESTD_CONFIG_CONFIG_PLACES_H
#define DIGESTD_CONFIG_CONFIG_PLACES_H

#include "digestd/config/config_tree.h"

struct config;

/*
 * Reads the sections "origin" and "peer" of a tree into *c. What is wrong is
 * added to *errors. Returns 0 or -ENOMEM.
 */
int config_places_read(const struct config_node *first, struct config *c,
		       struct config_errors *errors);

#endif
