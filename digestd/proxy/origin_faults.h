/*
 * Origins that fail: how often and why, of each by itself, and now and then in
 * the log. For all workers; failures are rare, so that a lock does.
 */
#ifndef DIGESTD_PROXY_ORIGIN_FAULTS_H
#define DIGESTD_PROXY_ORIGIN_FAULTS_H

#include <stdint.h>

#include "digestd/http/fetch_cause.h"

struct origin_faults;

enum {
	ORIGIN_FAULTS_MAX = 50,   /* origins; all others count as one */
	ORIGIN_FAULTS_NAME = 256, /* bytes of a URL, with its end */
};

/* Makes one. Returns 0 or -ENOMEM. */
int origin_faults_new(struct origin_faults **out);
void origin_faults_free(struct origin_faults **faults);

/* A fetch from an origin has failed. url: of the configuration, or null: a
 * forward proxy's target, which are many. Null faults: nobody counts. */
void origin_faults_add(struct origin_faults *faults, const char *url,
		       enum fetch_cause cause, int64_t now_ms);

/* Calls back for each origin and cause that there were, with their number. */
void origin_faults_each(struct origin_faults *faults,
			void (*each)(void *arg, const char *url,
				     enum fetch_cause cause, uint64_t n),
			void *arg);

#endif
