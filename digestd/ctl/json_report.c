/*
 * What commands report with --json.
 */
#include "config.h"

#include "digestd/ctl/json_report.h"

#include <errno.h>
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
		fprintf(stderr, "%s: --json: out of memory\n",
			program_invocation_short_name);
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
