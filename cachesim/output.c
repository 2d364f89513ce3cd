/*
 * Where the result of a command goes.
 */
#include "config.h"

#include "cachesim/output.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "digestd/tool/command.h"

static bool output_ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

static enum report_form output_form(const struct settings *s)
{
	if (s->json ||
	    (s->output && !s->csv && output_ends_with(s->output, ".json")))
		return REPORT_JSON;
	if (s->csv || (s->output && output_ends_with(s->output, ".csv")))
		return REPORT_CSV;
	return REPORT_TABLE;
}

bool output_is_data(const struct settings *s)
{
	return output_form(s) != REPORT_TABLE;
}

/* Columns of the terminal; 0: it is none. */
static unsigned output_terminal_width(FILE *to)
{
	struct winsize size;

	if (ioctl(fileno(to), TIOCGWINSZ, &size) || !size.ws_col)
		return 0;
	return size.ws_col;
}

static int output_complain(const char *where, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, where,
		why);
	return TOOL_IO;
}

int output_report(struct report *r, const struct settings *s)
{
	bool file = s->output && strcmp(s->output, "-");
	const char *where = file ? s->output : "standard output";
	FILE *to = file ? fopen(s->output, "w") : stdout;
	bool no_memory = r->failed, ok;
	int code = TOOL_OK;

	if (!to) {
		report_free(r);
		return output_complain(where, strerror(errno));
	}
	errno = 0;
	ok = report_write(r, output_form(s), to, output_terminal_width(to));
	if (file ? fclose(to) : fflush(to))
		ok = false;
	if (!ok)
		code = output_complain(where, no_memory || !errno
						      ? "out of memory"
						      : strerror(errno));
	report_free(r);
	return code;
}
