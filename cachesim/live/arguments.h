/*
 * Numbers on the command lines of the live tools. What is no number, or out of
 * its range, is told on stderr, and the program ends with exit code 2.
 */
#ifndef CACHESIM_LIVE_ARGUMENTS_H
#define CACHESIM_LIVE_ARGUMENTS_H

/* Tells that a value is wrong, and ends the program. */
_Noreturn void arguments_bad(const char *text);

/* A whole number of least..most. */
unsigned arguments_number(const char *text, unsigned least, unsigned most);

/* A number of least..most. */
double arguments_real(const char *text, double least, double most);

#endif
