/*
 * A trace written as a file of another format. Text formats are written
 * request by request in constant memory, the others need the trace in memory.
 */
#ifndef CACHESIM_EXPORT_H
#define CACHESIM_EXPORT_H

#include "cachesim/settings.h"

/* What --to takes; a null ends them. */
extern const char *const export_forms[];

/*
 * Writes the trace of the settings as they say: s->form, s->output. Returns an
 * exit code; what went wrong was told.
 */
int export_trace(struct settings *s);

#endif
