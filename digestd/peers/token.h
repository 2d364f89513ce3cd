/*
 * The request token: what peers present to each other.
 */
#ifndef DIGESTD_PEERS_TOKEN_H
#define DIGESTD_PEERS_TOKEN_H

#include <stdbool.h>

/*
 * Whether a field's value (null: there is none) is "Bearer <token>". Takes the
 * same time for every wrong token of the right length.
 */
bool token_matches(const char *value, const char *token);

#endif
