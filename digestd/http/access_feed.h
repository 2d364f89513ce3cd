/*
 * Lines of access records in memory that several processes share: one writes,
 * any number read, and none of them waits for another. A reader that is behind
 * by more than the ring finds that out, and how many lines it has missed.
 *
 * The ring is words. A record is its number and its length, then its text, in
 * one piece; one that would cross the end begins at the start. The writer says
 * up to where it is about to write before it does, and up to where there are
 * records after that; a reader copies, and then looks whether that was about to
 * be overwritten.
 */
#ifndef DIGESTD_HTTP_ACCESS_FEED_H
#define DIGESTD_HTTP_ACCESS_FEED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ACCESS_FEED_VERSION = 1,
	ACCESS_FEED_WORDS = 512 << 10, /* 4 MiB; a power of two */
	ACCESS_FEED_LINE_MAX = 512 << 10, /* bytes of a line */
};

/* All that is shared. Zero and the version at first. */
struct access_feed {
	uint64_t version;
	_Atomic uint64_t begun;	  /* words that are written, or will be now */
	_Atomic uint64_t done;	  /* words of whole records */
	_Atomic uint64_t lines;	  /* that there were */
	_Atomic uint64_t dropped; /* lines that never came here */
	_Atomic uint64_t words[ACCESS_FEED_WORDS];
};

/* Writes a line of at most ACCESS_FEED_LINE_MAX bytes. One thread does. */
void access_feed_put(struct access_feed *feed, const char *line, size_t len);

/* Where a reader is. */
struct access_feed_reader {
	const struct access_feed *feed;
	uint64_t at;	  /* in words */
	uint64_t line;	  /* number of the next one */
	uint64_t dropped; /* as far as it was told */
};

/* Begins with what comes next. */
void access_feed_begin(struct access_feed_reader *r,
		       const struct access_feed *feed);

/*
 * Copies the next line into `to`, which has room for ACCESS_FEED_LINE_MAX
 * bytes and a 0 behind them. Returns whether there was one; *lost is how many
 * lines are missing before it, or so far.
 */
bool access_feed_next(struct access_feed_reader *r, char *to, size_t *len,
		      uint64_t *lost);

#endif
