/*
 * The part of a configuration that is about TLS: files that fit together or
 * not. Only configuration.c has a use for it.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_TLS_H
#define DIGESTD_CONFIG_CONFIGURATION_TLS_H

#include "digestd/config/configuration.h"

struct config_check;

/* "1.2" or "1.3". */
bool config_tls_is_version(const char *text);

/*
 * Loads what the options of *c name into its members tls_*; what is wrong, and
 * that a certificate has expired, is in *check then.
 */
void config_tls_load(struct config *c, const struct config_check *check);

void config_tls_free(struct config *c);

#endif
