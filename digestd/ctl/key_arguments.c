/*
 * The cluster key on the command line.
 */
#include "digestd/ctl/key_arguments.h"

#include <string.h>

#include "digestd/ctl/hex.h"

bool arguments_key(const char *text, uint8_t secret[SCD_SECRET_BYTES])
{
	if (strlen(text) != 2 * SCD_SECRET_BYTES ||
	    !hex_bytes(text, SCD_SECRET_BYTES, secret))
		return arguments_refuse("--key", text,
					"is not 32 hexadecimal digits");
	scd_derive(secret, "hash", secret);
	return true;
}
