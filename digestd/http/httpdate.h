/*
 * Dates of HTTP (RFC 9110, 5.6.7), in seconds since 1970-01-01T00:00:00Z.
 */
#ifndef DIGESTD_HTTP_HTTPDATE_H
#define DIGESTD_HTTP_HTTPDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTPDATE_LEN = 29 }; /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/*
 * Reads any of the three forms: IMF-fixdate, RFC 850, asctime, in any case. The
 * two-digit years of RFC 850 are within the fifty years to come, or past
 * (now_s). Returns false for anything else, also for days that do not exist;
 * the name of the day must be one, but need not be right.
 */
bool httpdate_parse(const char *text, int64_t now_s, int64_t *out_s);

/*
 * Reads what httpdate_format() writes, of 1970 to 9999, and nothing else: case
 * and the name of the day are right. Nearly all dates are of this form, for
 * which it takes a tenth of the time.
 */
bool httpdate_parse_exact(const char *text, int64_t *out_s);

/*
 * Writes an IMF-fixdate with its final NUL. at_s: years 1970 to 9999; what is
 * outside is moved to the nearest.
 */
void httpdate_format(int64_t at_s, char out[HTTPDATE_LEN + 1]);

/* The date that was read or written last: of what comes within a second nearly
 * all have one. All zero: none yet. */
struct httpdate_last {
	int64_t at_s;
	char text[HTTPDATE_LEN + 1]; /* as httpdate_format() writes it */
};

/* As httpdate_parse(), which it need not ask about the last one. */
bool httpdate_parse_next(struct httpdate_last *last, const char *text,
			 int64_t now_s, int64_t *out_s);

/* As httpdate_format(); the text is last's, and as good as the next call. */
const char *httpdate_format_next(struct httpdate_last *last, int64_t at_s);

#endif
