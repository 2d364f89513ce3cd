/*
 * The request token.
 */
#include "digestd/peers/token.h"

#include <string.h>
#include <strings.h>

static const char scheme[] = "Bearer ";

bool token_matches(const char *value, const char *token)
{
	size_t len = strlen(token);
	unsigned differ = 0;

	if (!value || strncasecmp(value, scheme, sizeof(scheme) - 1) != 0)
		return false;
	value += sizeof(scheme) - 1;
	if (strlen(value) != len || !len)
		return false;
	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)value[i] ^ (unsigned char)token[i];
	return differ == 0;
}
