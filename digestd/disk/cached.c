/*
 * A stored response and its users, in any thread.
 */
#include "digestd/disk/cached.h"

#include <stdlib.h>
#include <unistd.h>

struct cached *cached_new(void)
{
	struct cached *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 1;
	c->body_fd = -1;
	fields_init(&c->fields);
	fields_init(&c->selecting);
	return c;
}

struct cached *cached_ref(struct cached *c)
{
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void cached_unref(struct cached **c)
{
	struct cached *gone = *c;

	*c = NULL;
	if (!gone || __atomic_sub_fetch(&gone->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (gone->body_of)
		cached_unref(&gone->body_of);
	else if (gone->body_fd >= 0)
		close(gone->body_fd);
	else
		free(gone->body);
	free(gone->uri);
	fields_free(&gone->fields);
	fields_free(&gone->selecting);
	free(gone);
}
