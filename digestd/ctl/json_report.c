/*
 * What commands report with --json.
 */
#include "config.h"

#include "digestd/ctl/json_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "digestd/ctl/digestctl.h"

const struct tool_option json_report_options[] = {
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG,
	  .help = "as JSON" },
	{ .name = NULL },
};

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
