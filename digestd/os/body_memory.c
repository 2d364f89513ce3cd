/*
 * The memory of bodies: the allocator's.
 */
#include "digestd/os/body_memory.h"

#include <stdlib.h>
#include <string.h>

char *body_memory_resize(char *bytes, size_t size)
{
	return realloc(bytes, size);
}

void body_memory_copy(char *to, const char *from, size_t len)
{
	memmove(to, from, len);
}

void body_memory_free(char *bytes)
{
	free(bytes);
}
