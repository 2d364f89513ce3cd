/*
 * Reads a report from a file, JSON or CSV.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/report/report.h"

enum { MAX_BYTES = 256 << 20 }; /* larger is no report */

static bool report_read_refuse(struct report_fault *fault, const char *why)
{
	fault->line = 0;
	snprintf(fault->text, sizeof(fault->text), "%s", why);
	return false;
}

/* All of a stream, and a NUL; null: it cannot be read, or held. */
static char *report_read_read_all(FILE *from, size_t *len)
{
	size_t room = 1 << 16, n;
	char *all = malloc(room), *more;

	*len = 0;
	while (all && (n = fread(all + *len, 1, room - *len - 1, from))) {
		*len += n;
		if (*len + 1 < room)
			continue;
		room *= 2;
		more = room <= MAX_BYTES ? realloc(all, room) : NULL;
		if (!more)
			free(all);
		all = more;
	}
	if (all && ferror(from)) {
		free(all);
		all = NULL;
	}
	if (all)
		all[*len] = '\0';
	return all;
}

bool report_read(struct report *out, const char *path,
		 struct report_fault *fault)
{
	FILE *from = strcmp(path, "-") ? fopen(path, "r") : stdin;
	char *text;
	size_t len;
	bool ok;

	if (!from)
		return report_read_refuse(fault, strerror(errno));
	text = report_read_read_all(from, &len);
	if (!text)
		ok = report_read_refuse(fault,
					"cannot be read, or is too large");
	else if (text[strspn(text, " \t\r\n")] == '{')
		ok = report_read_json(out, text, len, fault);
	else
		ok = report_read_csv(out, text, fault);
	free(text);
	if (from != stdin)
		fclose(from);
	return ok;
}
