/*
 * What commands report with --json.
 */
#include "digestd/ctl/json_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "digestd/ctl/digestctl.h"

int json_report_print(json_t *value)
{
	int failed = !value || json_dumpf(value, stdout, JSON_INDENT(2));

	putchar('\n');
	json_decref(value);
	if (failed)
		fputs("digestctl: --json: out of memory\n", stderr);
	return failed ? CTL_IO : CTL_OK;
}

json_t *json_report_hex(uint64_t word)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, word);
	return json_string(text);
}

bool json_report_has_output(bool json, const char *output)
{
	if (!json || strcmp(output, "-"))
		return true;
	fputs("digestctl: --json: the digest needs a place of its own: "
	      "--output FILE\n",
	      stderr);
	return false;
}
