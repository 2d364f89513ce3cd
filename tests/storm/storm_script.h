/*
 * What one end of a connection does: a list of steps over some bytes. A
 * script follows from a seed, and is the same wherever it is played.
 */
#ifndef TEST_STORM_SCRIPT_H
#define TEST_STORM_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "tests/storm/storm_text.h"

enum { STORM_SCRIPT_STEPS = 48 };

enum storm_step_kind {
	STORM_SEND,   /* the next n bytes */
	STORM_PAUSE,  /* n ms, in which input is read */
	STORM_WAIT,   /* for an answer, n ms at most */
	STORM_DEAF,   /* n ms, in which nothing is read */
	STORM_FINISH, /* sends no more */
	STORM_RESET,  /* ends the connection by RST */
	STORM_CLOSE,
};

struct storm_step {
	enum storm_step_kind kind;
	size_t n;
};

struct storm_script {
	struct storm_text text;
	struct storm_step steps[STORM_SCRIPT_STEPS];
	size_t count;
	size_t covered; /* bytes of the text that the steps send */
};

/* Appends a step; beyond STORM_SCRIPT_STEPS it is left out. */
void storm_script_add(struct storm_script *s, enum storm_step_kind kind,
		      size_t n);

/* Sends what was added to the text since: at once, or torn into pieces. */
void storm_script_send(struct storm_script *s);
void storm_script_send_torn(struct storm_script *s, uint64_t *random);

/* Makes the script end early, at random: stall, reset, half a message. */
void storm_script_spoil(struct storm_script *s, uint64_t *random);

void storm_script_free(struct storm_script *s);

#endif
