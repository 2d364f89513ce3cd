/*
 * What only the whole configuration can tell, and where findings go. Only
 * configuration*.c have a use for it.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_CHECK_H
#define DIGESTD_CONFIG_CONFIGURATION_CHECK_H

#include "digestd/config/configuration.h"

struct config_node;

/* A check of one configuration: where its options are, and where findings go.
 */
struct config_check {
	const char *path;
	const struct config_node *first; /* of what its files say */
	struct config_errors *errors;   /* it cannot be used */
	struct config_errors *warnings; /* it can */
};

/* The line of an option, in its file; 0: none has it. */
unsigned config_check_line(const struct config_check *check,
			   const char *option);

/* Begins a finding: "FILE:LINE: OPTION: ", without a line if it is not given.
 */
void config_report_option(const struct config_check *check, const char *option,
			  struct config_errors *to);

/* Makes "WWW.Example.com:80" what requests know it as: "www.example.com"; it is
 * of malloc(). Returns 0, -EINVAL: it is no host; -ENOMEM. */
int config_canonical_host(char **name);

/*
 * Looks at what the file at `path` has set, for what does not fit together;
 * reads the cluster key, brings the hosts of origins into their canonical form.
 */
void config_check_whole(struct config *c, const struct config_check *check);

#endif
