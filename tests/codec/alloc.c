/*
 * Allocations that fail on demand. The linker sends every call here.
 */
#include "tests/codec/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "tests/spared.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);

/* atomic: some of what is tested has threads */
static _Atomic unsigned countdown; /* 0: nothing fails */
static _Atomic int failed;
static _Atomic size_t asked;

void alloc_fail_at(unsigned n)
{
	countdown = n;
	failed = 0;
}

int alloc_failed(void)
{
	return failed;
}

size_t alloc_bytes(void)
{
	size_t bytes = asked;

	asked = 0;
	return bytes;
}

/* What runs at the exit, such as the counting of coverage, is not tested. */
__attribute__((destructor)) static void end(void)
{
	countdown = 0;
}

static int fails(size_t size)
{
	asked += size;
	if (countdown == 0 || spared() || --countdown > 0)
		return 0;
	failed = 1;
	return 1;
}

void *__wrap_malloc(size_t size)
{
	return fails(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails(count * size) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails(size) ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	void *memory;

	return fails(size) || posix_memalign(&memory, alignment, size) ?
		       NULL : memory;
}

char *__wrap_strndup(const char *text, size_t max)
{
	size_t len = strnlen(text, max);
	char *copy = __wrap_malloc(len + 1);

	if (!copy)
		return NULL;
	copy[len] = '\0';
	return memcpy(copy, text, len);
}

char *__wrap_strdup(const char *text)
{
	return __wrap_strndup(text, strlen(text));
}
