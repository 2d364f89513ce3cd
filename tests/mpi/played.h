/*
 * Ranks that are forked: a test has a function run in each of some processes,
 * which believe that mpirun has started them, and sees how each has ended.
 */
#ifndef TESTS_MPI_PLAYED_H
#define TESTS_MPI_PLAYED_H

enum {
	PLAYED_RANKS = 4,
	PLAYED_ABORTED = 99, /* the exit code of the others after MPI_Abort() */
	PLAYED_SAID = 4096,
};

struct played_end {
	int code;
	char said[PLAYED_SAID]; /* on standard error */
};

/* Runs run(rank) in n processes, and returns when all have ended with what it
 * returns. */
void played_run(unsigned n, int (*run)(unsigned rank),
		struct played_end ends[PLAYED_RANKS]);

#endif
