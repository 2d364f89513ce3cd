/*
 * What goes with a cache beside the node, and what follows from there being
 * one.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_SIDECAR_H
#define DIGESTD_CONFIG_CONFIGURATION_SIDECAR_H

struct config;
struct config_check;

/* Adds what is wrong to check->errors; of a node that stores nothing, sets what
 * is for a store to nothing. */
void config_sidecar_check(struct config *c, const struct config_check *check);

#endif
