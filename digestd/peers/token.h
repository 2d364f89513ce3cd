/*
 * Request tokens: what peers present to each other.
 */
#ifndef DIGESTD_PEERS_TOKEN_H
#define DIGESTD_PEERS_TOKEN_H

#include <stdbool.h>

struct fields;

enum {
	TOKENS_MAX = 4,
	TOKEN_BYTES = 33, /* with the NUL */
};

/* Those that are taken; the first one is presented, too. */
struct tokens {
	char at[TOKENS_MAX][TOKEN_BYTES];
	unsigned n;
};

/*
 * Whether a field's value (null: there is none) is "Bearer <token>" with one of
 * the tokens. Takes the same time for every wrong token of the right length.
 */
bool tokens_match(const struct tokens *tokens, const char *value);

/* Adds the field that presents a token to a peer, Authorization. Returns 0 or
 * -ENOMEM. */
int token_add_field(const char *token, struct fields *out);

#endif
