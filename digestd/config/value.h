/*
 * Values of the configuration, from their text. A function that fills *out
 * returns whether the text is such a value.
 */
#ifndef DIGESTD_CONFIG_VALUE_H
#define DIGESTD_CONFIG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

bool value_number(const char *text, int64_t *out); /* 0 and up */
bool value_size(const char *text, int64_t *out);   /* 64, 64K, 64M, 64G */

/* 500ms, 30s, 5m, 1h, 7d */
bool value_time_ms(const char *text, int64_t *out);

/* true, yes, on; false, no, off */
bool value_flag(const char *text, bool *out);

bool value_share(const char *text, double *out); /* 0..1 */

/* "host:port" with a numeric host, "[host]:port", ":port". */
bool value_is_address(const char *text);

#endif
