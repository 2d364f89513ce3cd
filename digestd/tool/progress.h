/*
 * How far long work has come, in a line on stderr that is written over and
 * over: bytes of how many, lines a second, time left; or instead of bytes and
 * lines, of any one thing. It is silent in the first half second, so that short
 * work has no such line; where stderr is no terminal, there are new lines,
 * every five seconds.
 */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_wish {
	PROGRESS_TERMINAL, /* if stderr is one */
	PROGRESS_ANYWHERE, /* also where it is none */
	PROGRESS_ALWAYS,   /* --progress; from the beginning */
	PROGRESS_NEVER,    /* --quiet */
};

struct progress {
	const char *what; /* begins the line; static */
	const char *noun; /* what is counted; null: bytes and lines. Static */
	uint64_t total;   /* bytes there are; 0: not known */
	uint64_t errors;  /* so far; the user's. None: of them it is silent */
	bool on, over;    /* over: onto the line before, as on a terminal */
	bool always;      /* also of short work */
	bool shown;       /* a line stands there */
	int64_t start_ms, due_ms;
};

/* Begins now; noun is null. */
void progress_start(struct progress *p, enum progress_wish wish,
		    const char *what, uint64_t total);

/* Shows where it is, if it is time; costs a look at the clock. With a noun,
 * bytes and lines are both the number of those. */
void progress_tell(struct progress *p, uint64_t bytes, uint64_t lines);

/* Takes the line away, for something else to be written there. */
void progress_clear(struct progress *p);

/* Ends with a line about everything, if one was ever shown or is wished. */
void progress_end(struct progress *p, uint64_t bytes, uint64_t lines);

#endif
