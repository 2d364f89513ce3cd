/*
 * The version of the library, for programs that were compiled with the headers
 * of another one.
 */
#include "codec/version.h"

const char *scd_version(void)
{
	return SCD_VERSION;
}

unsigned scd_version_number(void)
{
	return SCD_VERSION_NUMBER;
}
