/*
 * Damage. Segments are damaged in one round of three, as all that is in one may
 * be lost then.
 */
#include "config.h"

#include "tests/storm/storm_disk.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/codec/random.h"
#include "tests/storm/storm_text.h"

enum {
	STORM_DISK_PAGE = 4096,
	STORM_DISK_FLIPS = 8,
	STORM_DISK_ONE_IN = 12, /* files of bodies that are damaged */
	STORM_DISK_FOLDERS = 16,
};

static uint64_t *storm_disk_random;
static unsigned storm_disk_damaged;
static int storm_disk_segments; /* whether they are damaged, too */

static void storm_disk_flip(int fd, off_t size)
{
	uint64_t n = 1 + random_below(storm_disk_random, STORM_DISK_FLIPS);
	unsigned char byte;

	while (n-- > 0) {
		off_t at =
			(off_t)random_below(storm_disk_random, (uint64_t)size);

		if (pread(fd, &byte, 1, at) != 1)
			return;
		byte ^= (unsigned char)(1
					<< random_below(storm_disk_random, 8));
		if (pwrite(fd, &byte, 1, at) != 1)
			return;
	}
}

/* A page of another place of the file, or of zeros. */
static void storm_disk_tear(int fd, off_t size)
{
	char page[STORM_DISK_PAGE] = "";
	uint64_t pages =
		((uint64_t)size + STORM_DISK_PAGE - 1) / STORM_DISK_PAGE;
	off_t from = (off_t)random_below(storm_disk_random, pages),
	      to = (off_t)random_below(storm_disk_random, pages);
	ssize_t n = STORM_DISK_PAGE;

	if (storm_text_once_in(storm_disk_random, 2))
		n = pread(fd, page, sizeof(page), from * STORM_DISK_PAGE);
	if (n > 0 && pwrite(fd, page, (size_t)n, to * STORM_DISK_PAGE) < 0)
		return;
}

static void storm_disk_damage_file(const char *path, off_t size)
{
	int fd = open(path, O_RDWR);
	off_t cut = size ? (off_t)random_below(storm_disk_random,
					       (uint64_t)size + 1)
			 : 0;

	if (fd < 0)
		return;
	storm_disk_damaged++;
	switch (random_below(storm_disk_random, 6)) {
	case 0:
		if (ftruncate(fd, cut))
			break;
		break;
	case 1:
		if (ftruncate(fd, size + 1 + cut))
			break;
		break;
	case 2:
		unlink(path);
		break;
	case 3:
		if (size)
			storm_disk_tear(fd, size);
		break;
	default:
		if (size)
			storm_disk_flip(fd, size);
	}
	close(fd);
}

static int storm_disk_visit(const char *path, const struct stat *s, int kind,
			    struct FTW *where)
{
	const char *name = path + where->base;

	if (kind != FTW_F)
		return 0;
	if (strstr(name, ".log")) {
		if (storm_disk_segments &&
		    storm_text_once_in(storm_disk_random, 2))
			storm_disk_damage_file(path, s->st_size);
	} else if (storm_text_once_in(storm_disk_random, STORM_DISK_ONE_IN)) {
		storm_disk_damage_file(path, s->st_size);
	}
	return 0;
}

unsigned storm_disk_damage(const char *folder, uint64_t *random)
{
	storm_disk_random = random;
	storm_disk_damaged = 0;
	storm_disk_segments = storm_text_once_in(random, 3);
	nftw(folder, storm_disk_visit, STORM_DISK_FOLDERS, FTW_PHYS);
	return storm_disk_damaged;
}
