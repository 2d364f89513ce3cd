/*
 * Whether a request that has failed at one origin may be sent to another.
 *
 * What may have come to an origin may have been done there: nobody knows, so
 * only what is safe (RFC 9110, 9.2.1) is repeated then, and what has no body,
 * of which this node keeps nothing. What has not been sent may go anywhere.
 */
#ifndef DIGESTD_NODE_NODE_RETRY_H
#define DIGESTD_NODE_NODE_RETRY_H

#include <stdbool.h>

struct node_retry {
	bool sent; /* bytes of it may have come to the origin */
	bool safe; /* by its method */
	bool body; /* it has one, or changes protocols */
};

/* Whether that is so. */
bool node_retry_is_safe(const struct node_retry *r);

#endif
