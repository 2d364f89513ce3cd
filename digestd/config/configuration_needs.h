/*
 * Options that do nothing without another one. Only configuration_check.c has a
 * use for it.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_NEEDS_H
#define DIGESTD_CONFIG_CONFIGURATION_NEEDS_H

struct config;
struct config_check;

/* An option that is given, but not what it is of use with, is a warning. */
void config_needs_check(const struct config *c,
			const struct config_check *check);

#endif
