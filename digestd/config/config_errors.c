/*
 * What is wrong with a configuration.
 */
#include "digestd/config/config_errors.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void config_report(struct config_errors *e, const char *format, ...)
{
	static const char more[] =
		"there is more, for which there was no room\n";
	va_list args;
	size_t room;
	int n;

	if (e->full)
		return;
	assert(e->len + sizeof(more) < sizeof(e->text));
	room = sizeof(e->text) - sizeof(more) - e->len;
	va_start(args, format);
	n = vsnprintf(e->text + e->len, room, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < room) {
		e->len += (size_t)n;
		return;
	}
	e->full = true;
	while (e->len && e->text[e->len - 1] != '\n')
		e->len--; /* no half of a line */
	memcpy(e->text + e->len, more, sizeof(more));
	e->len += sizeof(more) - 1;
}
