/*
 * Lines of a file, read by large blocks and handed out where they lie: some
 * 20 ns a line, no memory but the block. What is wrong with the file is told
 * on stderr with its name.
 */
#ifndef DIGESTD_CTL_LINE_READER_H
#define DIGESTD_CTL_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LINE_READER_BLOCK = 256 * 1024,
	LINE_READER_MAX = 64 * 1024, /* bytes of a line */
};

/* A line without its end (LF or CR LF); borrowed until the next one. */
struct line {
	const char *at; /* null: longer than LINE_READER_MAX, left out */
	size_t len;
	uint64_t number; /* 1 for the first */
};

struct line_reader {
	const char *path; /* borrowed; "-" is standard input */
	int fd;
	char *block;
	size_t begin, end; /* what of the block is still to be handed out */
	uint64_t number;   /* lines so far */
	uint64_t bytes;    /* read so far */
	bool at_end, failed;
};

/* Opens a file; CTL_OK or CTL_IO. To be closed also after a failure. */
int line_reader_open(struct line_reader *r, const char *path);

/* The next line, false at the end or if the file cannot be read (failed). */
bool line_reader_next(struct line_reader *r, struct line *line);

/* Closes it; *r becomes empty. */
void line_reader_close(struct line_reader *r);

/*
 * Finds the size of a regular file [bytes]; 0 for what has none, a pipe, say.
 * CTL_OK or CTL_IO.
 */
int line_reader_size(const char *path, uint64_t *size, bool *regular);

#endif
