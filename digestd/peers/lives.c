/*
 * Lives: a line each, in hexadecimal digits, the latest last.
 */
#include "digestd/peers/lives.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/log.h"

struct lives {
	char *path, *next; /* what is to take its place */
	uint64_t at[LIVES_MAX];
	size_t n, nbefore; /* those that were there at the start come first */
};

static void lives_add(struct lives *l, uint64_t instance)
{
	if (l->n == LIVES_MAX) {
		memmove(l->at, l->at + 1, (LIVES_MAX - 1) * sizeof(l->at[0]));
		l->n--;
		l->nbefore -= l->nbefore > 0;
	}
	l->at[l->n++] = instance;
}

static void lives_read(struct lives *l)
{
	FILE *f = fopen(l->path, "r");
	uint64_t instance;

	while (f && fscanf(f, "%16" SCNx64, &instance) == 1)
		lives_add(l, instance);
	if (f)
		fclose(f);
	l->nbefore = l->n;
}

/* What cannot be written is not known at the next start. */
static void lives_write(const struct lives *l)
{
	FILE *f = fopen(l->next, "w");
	bool good = f;

	for (size_t i = 0; f && i < l->n; i++)
		good &= fprintf(f, "%016" PRIx64 "\n", l->at[i]) > 0;
	if (f && fclose(f))
		good = false;
	if (!good || rename(l->next, l->path))
		log_write(LOG_WARNING, "purge", "%s: %s", l->path,
			  strerror(errno));
}

static char *lives_name(const char *folder, const char *name)
{
	size_t len = strlen(folder) + strlen(name) + 2;
	char *path = malloc(len);

	if (path)
		snprintf(path, len, "%s/%s", folder, name);
	return path;
}

int lives_new(const char *folder, struct lives **out)
{
	struct lives *l = calloc(1, sizeof(*l));

	*out = l;
	if (!l)
		return -ENOMEM;
	l->path = lives_name(folder, "lives");
	l->next = lives_name(folder, "lives.next");
	if (!l->path || !l->next) {
		lives_free(out);
		return -ENOMEM;
	}
	lives_read(l);
	return 0;
}

void lives_free(struct lives **l)
{
	if (!*l)
		return;
	free((*l)->path);
	free((*l)->next);
	free(*l);
	*l = NULL;
}

bool lives_meet(struct lives *l, uint64_t instance)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->at[i] == instance)
			return i < l->nbefore;
	}
	lives_add(l, instance);
	lives_write(l);
	return false;
}
