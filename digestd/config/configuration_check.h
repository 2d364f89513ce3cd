/*
 * What only the whole configuration can tell, and where findings go. Only
 * configuration*.c have a use for it.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_CHECK_H
#define DIGESTD_CONFIG_CONFIGURATION_CHECK_H

#include "digestd/config/configuration.h"

/* Adds to findings; past their end they are cut. */
void config_report(struct config_errors *e, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Looks at what the file at `path` has set, for what does not fit together;
 * reads the cluster key, brings the hosts of origins into their canonical form.
 */
void config_check_whole(struct config *c, const char *path,
			struct config_errors *errors);

#endif
