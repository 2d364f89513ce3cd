/*
 * Numbers of files.
 */
#include "digestd/disk/disk_numbers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRST_NUMBERS = 64 };

static int disk_numbers_add(struct disk_numbers *numbers, uint64_t number)
{
	if (numbers->n == numbers->cap) {
		size_t cap = numbers->cap ? 2 * numbers->cap : FIRST_NUMBERS;
		uint64_t *at = realloc(numbers->at, cap * sizeof(*at));

		if (!at)
			return -ENOMEM;
		numbers->at = at;
		numbers->cap = cap;
	}
	numbers->at[numbers->n++] = number;
	return 0;
}

int disk_numbers_add_folder(struct disk_numbers *numbers, int base,
			    const char *folder,
			    bool (*read)(const char *name, const char *folder,
					 uint64_t *number))
{
	int fd = openat(base, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	uint64_t number;
	int err = 0;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (e = readdir(dir))) {
		if (read(e->d_name, folder, &number))
			err = disk_numbers_add(numbers, number);
	}
	closedir(dir);
	return err;
}

static int disk_numbers_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void disk_numbers_sort(struct disk_numbers *numbers)
{
	if (numbers->n)
		qsort(numbers->at, numbers->n, sizeof(*numbers->at),
		      disk_numbers_compare);
}

const uint64_t *disk_numbers_find(const uint64_t *at, size_t n,
				  uint64_t number)
{
	return n ? bsearch(&number, at, n, sizeof(*at), disk_numbers_compare) :
		   NULL;
}
