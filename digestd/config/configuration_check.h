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

/* A check of one file: where its options are, and where findings go. */
struct config_check {
	const char *path;
	unsigned (*line_of)(const char *option); /* 0: not in the file */
	struct config_errors *errors;   /* it cannot be used */
	struct config_errors *warnings; /* it can */
};

/* Begins a finding: "FILE:LINE: OPTION: ", without a line if it is not given.
 */
void config_report_option(const struct config_check *check, const char *option,
			  struct config_errors *to);

/*
 * Looks at what the file at `path` has set, for what does not fit together;
 * reads the cluster key, brings the hosts of origins into their canonical form.
 */
void config_check_whole(struct config *c, const struct config_check *check);

#endif
