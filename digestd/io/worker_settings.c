/*
 * A worker's own copy of its settings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/io/worker_inside.h"

/* Replaces a borrowed string by a copy; false without memory. */
static bool own(const char **text)
{
	if (!*text)
		return true;
	*text = strdup(*text);
	return *text != NULL;
}

static void disown(const char *text)
{
	free((void *)(uintptr_t)text);
}

void worker_settings_free(struct worker_settings *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->origins && i < s->norigins; i++) {
		disown(s->origins[i].host);
		disown(s->origins[i].url);
	}
	free((void *)(uintptr_t)s->origins);
	disown(s->node);
	disown(s->data_listen);
	disown(s->peer_listen);
	disown(s->default_origin);
	free(s);
}

static bool own_origins(struct worker_settings *s)
{
	const struct worker_origin *from = s->origins;
	struct worker_origin *to = calloc(s->norigins + 1, sizeof(*to));
	bool ok = to != NULL;

	s->origins = to;
	for (size_t i = 0; ok && i < s->norigins; i++) {
		to[i].host = from[i].host;
		ok = own(&to[i].host);
		to[i].url = ok ? from[i].url : NULL;
		ok = ok && own(&to[i].url);
	}
	return ok;
}

struct worker_settings *worker_settings_copy(const struct worker_settings *from)
{
	struct worker_settings *s = malloc(sizeof(*s));
	bool ok;

	if (!s)
		return NULL;
	*s = *from;
	ok = own_origins(s);
	/* each is owned or null, whatever happened to those before it */
	ok = own(&s->node) && ok;
	ok = own(&s->data_listen) && ok;
	ok = own(&s->peer_listen) && ok;
	ok = own(&s->default_origin) && ok;
	if (ok)
		return s;
	worker_settings_free(s);
	return NULL;
}
