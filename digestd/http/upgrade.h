/*
 * Changing protocols on a connection (RFC 9110, 7.8), as who stands between
 * both ends sees it.
 */
#ifndef DIGESTD_HTTP_UPGRADE_H
#define DIGESTD_HTTP_UPGRADE_H

#include <stdbool.h>

struct fields;

/*
 * Whether a request's Upgrade may be passed on: it lists protocols that are not
 * HTTP (HTTP, h2, h2c), whose requests would go past whatever is decided about
 * requests here, nor TLS, which would hide them.
 */
bool upgrade_may_pass(const struct fields *request);

/*
 * The protocol that a 101 has changed to, in its fields; null: it names none,
 * or several, or one that the request has not offered.
 */
const char *upgrade_chosen(const struct fields *request,
			   const struct fields *response);

#endif
