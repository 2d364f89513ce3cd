/*
 * Memory, by /proc/self/status, and the allocator: jemalloc where the program
 * is linked with it, the C library's otherwise.
 */
#include "digestd/os/memory.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "digestd/os/body_memory.h"

/*
 * Pages of files are counted up to this: the program and its libraries. More
 * are the disk tier's index, which the system takes back when it likes.
 */
enum { PROGRAM_BYTES = 24 << 20 };

enum { PURGE_MS = 1000 };

enum { STATUS_BYTES = 4096 };

struct ledger memory_ledger = { .limit = UINT64_MAX };

/* jemalloc's; null where the program has another allocator. */
extern int mallctl(const char *name, void *old, size_t *old_len, void *next,
		   size_t next_len) __attribute__((weak));

/* Sanitizers have memory of their own, which is not the program's. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

void memory_limit(uint64_t bytes)
{
	__atomic_store_n(&memory_ledger.limit, bytes, __ATOMIC_RELAXED);
}

/* What the ledger has not heard of from this thread. */
static _Thread_local struct {
	bool batch;
	int64_t bytes;
} memory_uncounted;

static void memory_settle(void)
{
	int64_t bytes = memory_uncounted.bytes;

	memory_uncounted.bytes = 0;
	if (bytes > 0)
		ledger_add(&memory_ledger, LEDGER_objects, (uint64_t)bytes);
	else if (bytes < 0)
		ledger_return(&memory_ledger, LEDGER_objects, (uint64_t)-bytes);
}

void memory_count_object(int64_t bytes)
{
	memory_uncounted.bytes += bytes;
	if (!memory_uncounted.batch ||
	    memory_uncounted.bytes >= LEDGER_TOKEN_BYTES ||
	    memory_uncounted.bytes <= -LEDGER_TOKEN_BYTES)
		memory_settle();
}

void memory_batch(bool batch)
{
	memory_uncounted.batch = batch;
	if (!batch)
		memory_settle();
}

uint64_t memory_reserve(void)
{
	return __atomic_load_n(&memory_ledger.limit, __ATOMIC_RELAXED) / 4;
}

/* A line of /proc/self/status [bytes]; 0: not there. */
static uint64_t memory_status(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	uint64_t kib;

	if (!line || sscanf(line + strlen(name), "%" SCNu64, &kib) != 1)
		return 0;
	return kib * 1024;
}

/* What the process has of the machine's memory, but for its memory files. */
struct memory_resident {
	uint64_t allocated; /* 0: unknown */
	uint64_t program;
};

static struct memory_resident memory_resident(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	struct memory_resident r;
	char text[STATUS_BYTES];
	size_t len = 0;

	if (file) {
		len = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[len] = '\0';
	r.allocated = memory_status(text, "\nRssAnon:");
	r.program = memory_status(text, "\nRssFile:");
	if (r.program > PROGRAM_BYTES)
		r.program = PROGRAM_BYTES;
	return r;
}

/* Of what the ledger knows, what is resident, and not in memory files. What is
 * promised is not there yet, but for the room of bodies in such files. */
static uint64_t memory_known(const struct body_memory_stats *bodies)
{
	const struct ledger *l = &memory_ledger;
	uint64_t total = 0, promised = ledger_used(l, LEDGER_promised);
	uint64_t in_files = bodies->bodies;

	for (int use = 0; use < LEDGER_NUSES; use++) {
		if (use != LEDGER_promised && use != LEDGER_segments &&
		    use != LEDGER_other)
			total += ledger_used(l, (enum ledger_use)use);
	}
	in_files -= promised < in_files ? promised : in_files;
	return total > in_files ? total - in_files : 0;
}

static void memory_purge(void)
{
	if (mallctl) /* 4096: of all arenas */
		mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
#ifdef __GLIBC__
	else
		malloc_trim(0);
#endif
}

void memory_measure(int64_t now_ms)
{
	static int64_t purged_ms;
	struct memory_resident r = memory_resident();
	uint64_t limit = memory_ledger.limit, known;
	struct body_memory_stats bodies;

	body_memory_stats(&bodies);
	known = memory_known(&bodies);
	ledger_set(&memory_ledger, LEDGER_segments,
		   bodies.held - bodies.bodies);
	if (__asan_init || __tsan_init)
		return;
	if (r.allocated + r.program + bodies.held > limit - memory_reserve() &&
	    now_ms - purged_ms >= PURGE_MS) {
		purged_ms = now_ms;
		memory_purge();
		r = memory_resident();
	}
	/* what is counted and not there yet does not make the program less */
	if (r.allocated)
		ledger_set(&memory_ledger, LEDGER_other,
			   r.program +
				   (r.allocated > known ? r.allocated - known
							: 0));
}
