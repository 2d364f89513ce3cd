/*
 * The error codes of libscd. What can fail returns int: 0, or one of these
 * (all negative). There is one text for each, for people to read.
 */
#ifndef SCD_ERROR_H
#define SCD_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum scd_error {
	SCD_OK = 0,
	SCD_ENOMEM = -1,     /* no memory; nothing has changed */
	SCD_EINVAL = -2,     /* an argument is outside its documented range */
	SCD_ETRUNC = -3,     /* input ends before its structure does */
	SCD_EFORMAT = -4,    /* input breaks a rule of the format */
	SCD_EVERSION = -5,   /* a version or coding not known to this library */
	SCD_ELIMIT = -6,     /* input is larger than the caller's limits */
	SCD_ECHECKSUM = -7,  /* the decoded array is not the one described */
	SCD_EBASE = -8,      /* a delta for another base than the one given */
	SCD_ESPACE = -9,     /* the caller's buffer is too small */
	SCD_EMISMATCH = -10, /* two filters differ in shape (m, k) */
	SCD_EGOAL = -11,     /* no parameters reach the stated goal */
	SCD_EURI = -12,      /* not an absolute http or https URI */
};

/*
 * One line of English for a code, without a full stop. Never null: an unknown
 * code gives "unknown error". The text is static. Cannot fail.
 */
const char *scd_strerror(int code);

#ifdef __cplusplus
}
#endif

#endif
