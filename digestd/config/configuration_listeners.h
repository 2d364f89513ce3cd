/*
 * The listeners of a configuration: that no two of them are one, that none
 * is an origin or a peer, and that no forward proxy is open by accident. Only
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

/*
 * A forward proxy that works for everybody who reaches it is a warning: nothing
 * says which clients it is for, and others than this machine's can connect.
 */
void config_listeners_check_open(const struct config *c,
				 const struct config_check *check);

#endif
