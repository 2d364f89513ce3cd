/*
 * The texts of the error codes.
 */
#include "codec/error.h"

const char *scd_strerror(int code)
{
	switch ((enum scd_error)code) {
	case SCD_OK:
		return "success";
	case SCD_ENOMEM:
		return "out of memory";
	case SCD_EINVAL:
		return "argument out of range";
	case SCD_ETRUNC:
		return "input ends too early";
	case SCD_EFORMAT:
		return "malformed input";
	case SCD_EVERSION:
		return "unknown version or coding";
	case SCD_ELIMIT:
		return "input exceeds the limits";
	case SCD_ECHECKSUM:
		return "checksum does not match";
	case SCD_EBASE:
		return "delta belongs to another base";
	case SCD_ESPACE:
		return "output buffer too small";
	case SCD_EMISMATCH:
		return "filters differ in shape";
	case SCD_EGOAL:
		return "no parameters reach the goal";
	case SCD_EURI:
		return "not an absolute http or https URI";
	}
	return "unknown error";
}
