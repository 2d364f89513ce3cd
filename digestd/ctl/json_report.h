/*
 * What commands report with --json.
 */
#ifndef DIGESTD_CTL_JSON_REPORT_H
#define DIGESTD_CTL_JSON_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "digestd/tool/options.h"

/* The option --json, for structures that begin with a bool for it. */
extern const struct tool_option json_report_options[];

/*
 * Writes a value to standard output and releases it. Null is one that could
 * not be made. Returns an exit code.
 */
int json_report_print(json_t *value);

/* A 64-bit word as a string of 16 hexadecimal digits; JSON has no such type. */
json_t *json_report_hex(uint64_t word);

#endif
