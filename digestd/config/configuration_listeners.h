/*
 * The listeners of a configuration: that no two of them are one, and that
 * none is an origin or a peer. Only
 * configuration_check.c has a use for it.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_LISTENERS_H
#define DIGESTD_CONFIG_CONFIGURATION_LISTENERS_H

struct config;
struct config_check;

/*
 * Two listeners that would share a port are an error in *check: connections
 * would go to either, and what one of them keeps from the public would be open.
 */
void config_listeners_check(const struct config *c,
			    const struct config_check *check);

/*
 * An origin, or a peer of another name than this node's, that is one of its own
 * listeners is an error: requests would go round until they are refused.
 */
void config_listeners_check_upstreams(const struct config *c,
				      const struct config_check *check);

#endif
