/*
 * Replays corpora through a fuzz target, without libFuzzer: every file of the
 * folders in FUZZ_CORPORA (separated by spaces, from the top of the source
 * tree), as it is and with bytes changed, cut and repeated at random. Prints
 * TAP, a line for each file; a fault ends the process, which is a failure.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/codec/random.h"
#include "tests/fuzz/fuzz.h"

#pragma weak LLVMFuzzerCustomMutator

enum {
	REPLAY_MAX_BYTES = 65536,
	REPLAY_MUTATIONS = 200, /* of each file */
};

static uint64_t seed = 1;
static unsigned tests_run;

/* The target gets a copy of just the right size, for the sanitizers. */
static void run(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	fuzz_must(copy != NULL);
	memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

/* Some bytes are others, or the end is not there; nothing grows. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max)
{
	uint64_t changes = 1 + random_below(&seed, 8);

	(void)max;
	while (len && changes-- > 0)
		data[random_below(&seed, len)] = (uint8_t)random_next(&seed);
	if (len && random_below(&seed, 8) == 0)
		len = (size_t)random_below(&seed, len);
	return len;
}

/* By the target's own mutator, if it has one. */
static size_t mutate(uint8_t *data, size_t len)
{
	if (LLVMFuzzerCustomMutator)
		return LLVMFuzzerCustomMutator(data, len, REPLAY_MAX_BYTES,
					       (unsigned)random_next(&seed));
	return LLVMFuzzerMutate(data, len, REPLAY_MAX_BYTES);
}

static void run_mutated(const uint8_t *data, size_t len)
{
	static uint8_t bytes[REPLAY_MAX_BYTES];

	memcpy(bytes, data, len);
	run(bytes, mutate(bytes, len));
}

static void replay_file(const char *path)
{
	static uint8_t data[REPLAY_MAX_BYTES];
	FILE *f = fopen(path, "rb");
	size_t len;

	if (!f) {
		printf("not ok %u - cannot open %s\n", ++tests_run, path);
		return;
	}
	len = fread(data, 1, sizeof(data), f);
	fclose(f);
	run(data, len);
	for (int i = 0; i < REPLAY_MUTATIONS && len > 0; i++)
		run_mutated(data, len);
	printf("ok %u - %s\n", ++tests_run, strrchr(path, '/') + 1);
	fflush(stdout);
}

/* Every visible file of a folder, in the order of the names. */
static void replay_folder(const char *folder)
{
	const char *top = getenv("top_srcdir");
	struct dirent **entries;
	char path[4096];
	int n;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", folder);
	n = scandir(path, &entries, NULL, alphasort);
	if (n < 0)
		printf("not ok %u - cannot read %s\n", ++tests_run, path);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s/%s",
				 top ? top : ".", folder, entries[i]->d_name);
			replay_file(path);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

int main(void)
{
	char folders[] = FUZZ_CORPORA;

	for (char *f = strtok(folders, " "); f; f = strtok(NULL, " "))
		replay_folder(f);
	printf("1..%u\n", tests_run);
	return 0;
}
