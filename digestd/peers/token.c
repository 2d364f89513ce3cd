/*
 * Request tokens.
 */
#include "digestd/peers/token.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/fields.h"

static const char scheme[] = "Bearer ";

static bool token_is(const char *value, const char *token)
{
	size_t len = strlen(token);
	uint64_t differ = 0, a, b;
	size_t i = 0;

	if (strlen(value) != len || !len)
		return false;
	for (; i + sizeof(a) <= len; i += sizeof(a)) {
		memcpy(&a, value + i, sizeof(a));
		memcpy(&b, token + i, sizeof(b));
		differ |= a ^ b;
	}
	for (; i < len; i++)
		differ |= (unsigned char)value[i] ^ (unsigned char)token[i];
	return differ == 0;
}

bool tokens_match(const struct tokens *tokens, const char *value)
{
	bool found = false;

	if (!value || strncasecmp(value, scheme, sizeof(scheme) - 1) != 0)
		return false;
	for (unsigned i = 0; i < tokens->n; i++)
		found |= token_is(value + sizeof(scheme) - 1, tokens->at[i]);
	return found;
}

int token_add_field(const char *token, struct fields *out)
{
	char value[sizeof(scheme) + TOKEN_BYTES];

	snprintf(value, sizeof(value), "%s%s", scheme, token);
	return fields_add(out, "Authorization", value);
}
