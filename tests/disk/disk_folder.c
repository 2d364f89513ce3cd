/*
 * The folder of a test.
 */
#include "config.h"

#include "tests/disk/disk_folder.h"

#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "tests/unit.h"

static char folder[256];

/* No test has nearly as much in its folder. */
static const uint64_t ENOUGH_BYTES = (uint64_t)1 << 29;

static bool has_room(const char *path)
{
	struct statvfs fs;

	return !access(path, W_OK) && !statvfs(path, &fs) &&
	       (uint64_t)fs.f_bavail * fs.f_frsize >= ENOUGH_BYTES;
}

int disk_folder_make(void **state)
{
	static const char in_memory[] = "/dev/shm";
	const char *within = getenv("TMPDIR");
	int len;

	(void)state;
	if (!within)
		within = has_room(in_memory) ? in_memory : "/tmp";
	len = snprintf(folder, sizeof(folder), "%s/scd-disk-XXXXXX", within);
	return len >= (int)sizeof(folder) || !mkdtemp(folder);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

void disk_folder_empty(void)
{
	assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS),
			 0);
}

int disk_folder_remove(void **state)
{
	(void)state;
	disk_folder_empty();
	return rmdir(folder);
}

const char *disk_folder(void)
{
	return folder;
}

const char *disk_folder_path(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

struct cached *disk_response(unsigned n, size_t len)
{
	struct fields fields, selecting;
	const struct freshness_spans spans = { .born_s = (int64_t)n - 1000,
					       .lifetime_s = INT32_MAX,
					       .stale_if_error_s = -1 };
	struct freshness freshness = { .explicit = true,
				       .never_stale = n % 2 };
	char text[64];
	const struct cached_head head = { text, &fields, &selecting, 200,
					  &freshness, .for_disk = true };
	struct cached *c;
	char *body;

	freshness_set(&freshness, &spans);
	snprintf(text, sizeof(text), "http://h/%u", n);
	fields_init(&fields);
	fields_init(&selecting);
	assert_int_equal(fields_add(&fields, "Content-Type", "a/b"), 0);
	assert_int_equal(fields_add(&fields, "X-Empty", ""), 0);
	if (n % 2)
		assert_int_equal(fields_add(&selecting, "A", "b"), 0);
	c = cached_new(&head);
	fields_free(&fields);
	fields_free(&selecting);
	assert_non_null(c);
	c->place = ADMISSION_DISK;
	body = malloc(len ? len : 1);
	assert_non_null(body);
	for (size_t i = 0; i < len; i++)
		body[i] = (char)(i * 7 + n + i / 251);
	cached_set_body(c, body, len);
	return c;
}
