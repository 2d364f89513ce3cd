/*
 * The cluster key in the configuration: given in it, or in a file that nobody
 * else may read. Only configuration_check.c has a use for it.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_KEY_H
#define DIGESTD_CONFIG_CONFIGURATION_KEY_H

struct config;
struct config_check;

/*
 * Reads the cluster's keys. A file has a key a line, of which the first is
 * presented to peers and all are taken from them; "hash KEY" is the one by
 * which keys of objects are made, in place of the first. What is no key, a key
 * that stands in the documents, and a file that others may read or write are
 * errors in *check; so is a missing key where there are peers.
 */
void config_key_load(struct config *c, const struct config_check *check);

#endif
