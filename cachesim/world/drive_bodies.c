/*
 * The memory of bodies, in place of digestd/os/body_memory.c.
 */
#include "cachesim/world/drive_bodies.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cachesim/world/world.h"
#include "digestd/os/body_memory.h"

const char *drive_bodies;
char *drive_bodies_scratch;

void drive_bodies_start(void)
{
	void *at;

	if (drive_bodies)
		return;
	at = mmap(NULL, DRIVE_BODIES_BYTES, PROT_READ,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		world_fail("no room for the bodies of objects");
	drive_bodies = at;
	drive_bodies_scratch = (char *)at + DRIVE_BODIES_BYTES -
			       DRIVE_BODIES_SCRATCH;
	if (mprotect(drive_bodies_scratch, DRIVE_BODIES_SCRATCH,
		     PROT_READ | PROT_WRITE))
		world_fail("no room for pieces of bodies");
}

static bool drive_bodies_have(const char *at)
{
	return at >= drive_bodies && at < drive_bodies + DRIVE_BODIES_BYTES;
}

char *body_memory_resize(char *bytes, size_t len, size_t size)
{
	(void)bytes;
	(void)len;
	return size <= DRIVE_BODIES_BYTES - DRIVE_BODIES_SCRATCH ?
		       (char *)(uintptr_t)drive_bodies : NULL;
}

char *body_memory_fit(char *bytes, size_t len, size_t size)
{
	return body_memory_resize(bytes, len, size);
}

void body_memory_copy(char *to, const char *from, size_t len)
{
	if (drive_bodies_have(to))
		return;
	if (drive_bodies_have(from))
		memset(to, 0, len);
	else
		memmove(to, from, len);
}

void body_memory_seal(const char *bytes)
{
	(void)bytes;
}

void body_memory_free(char *bytes)
{
	if (!drive_bodies_have(bytes))
		free(bytes);
}

bool body_memory_is_in_file(const char *bytes)
{
	(void)bytes;
	return false;
}

void body_memory_stats(struct body_memory_stats *out)
{
	*out = (struct body_memory_stats){ 0 };
}
