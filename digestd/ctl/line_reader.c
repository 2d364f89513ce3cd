/*
 * Lines of a file.
 *
 * The block is filled from its start whenever no whole line is left in it:
 * what is left, less than a line, moves there first. A line that does not fit
 * is skipped up to its end.
 */
#include "digestd/ctl/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"

static int line_reader_fail(const char *path)
{
	fprintf(stderr, "digestctl: %s: %s\n", path, strerror(errno));
	return CTL_IO;
}

int line_reader_size(const char *path, uint64_t *size, bool *regular)
{
	struct stat s;

	if (strcmp(path, "-") ? stat(path, &s) : fstat(STDIN_FILENO, &s))
		return line_reader_fail(path);
	*regular = S_ISREG(s.st_mode);
	*size = *regular ? (uint64_t)s.st_size : 0;
	return CTL_OK;
}

int line_reader_open(struct line_reader *r, const char *path)
{
	*r = (struct line_reader){ .path = path, .fd = STDIN_FILENO };
	if (strcmp(path, "-"))
		r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return line_reader_fail(r->path);
	r->block = malloc(LINE_READER_BLOCK);
	return r->block ? CTL_OK : line_reader_fail(r->path);
}

/* Reads on behind what is left. False if nothing came. */
static bool line_reader_fill(struct line_reader *r)
{
	ssize_t n;

	memmove(r->block, r->block + r->begin, r->end - r->begin);
	r->end -= r->begin;
	r->begin = 0;
	do {
		n = read(r->fd, r->block + r->end, LINE_READER_BLOCK - r->end);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		line_reader_fail(r->path);
		r->failed = true;
	}
	r->at_end = n <= 0;
	if (n <= 0)
		return false;
	r->end += (size_t)n;
	r->bytes += (uint64_t)n;
	return true;
}

static const char *line_reader_find_end(const struct line_reader *r,
					size_t from)
{
	return memchr(r->block + from, '\n', r->end - from);
}

/* Where the line in the block ends, null if it is too long; of the file's
 * last line that is where the file does. */
static const char *line_reader_end_of_line(struct line_reader *r)
{
	const char *end = line_reader_find_end(r, r->begin);

	while (!end && !r->at_end && r->end - r->begin <= LINE_READER_MAX) {
		size_t seen = r->end - r->begin;

		if (line_reader_fill(r))
			end = line_reader_find_end(r, seen);
	}
	if (!end && r->at_end)
		end = r->block + r->end;
	return end;
}

/* Leaves the rest of a line out that is too long. */
static void line_reader_skip_line(struct line_reader *r)
{
	const char *end = NULL;

	while (!end && !r->at_end) {
		r->begin = r->end;
		if (line_reader_fill(r))
			end = line_reader_find_end(r, 0);
	}
	r->begin = end ? (size_t)(end + 1 - r->block) : r->end;
}

bool line_reader_next(struct line_reader *r, struct line *line)
{
	const char *end = line_reader_end_of_line(r);
	const char *at = r->block + r->begin;

	if (r->failed || (end == at && r->at_end && r->begin == r->end))
		return false;
	*line = (struct line){ .number = ++r->number };
	if (!end) {
		line_reader_skip_line(r);
		return true;
	}
	r->begin = (size_t)(end - r->block);
	r->begin += r->begin < r->end;
	if (end > at && end[-1] == '\r')
		end--;
	if (end - at <= LINE_READER_MAX) {
		line->at = at;
		line->len = (size_t)(end - at);
	}
	return true;
}

void line_reader_close(struct line_reader *r)
{
	if (r->fd > STDIN_FILENO)
		close(r->fd);
	free(r->block);
	*r = (struct line_reader){ .fd = STDIN_FILENO };
}
