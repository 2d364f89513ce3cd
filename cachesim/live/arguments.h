/*
 * Values on the command lines of the live tools. What is wrong is told on
 * stderr, with the option's name, and the program ends with exit code 2.
 */
#ifndef CACHESIM_LIVE_ARGUMENTS_H
#define CACHESIM_LIVE_ARGUMENTS_H

/* Tells that an option's value is not what it should be: "not a node". */
_Noreturn void arguments_bad(const char *option, const char *text,
			     const char *what);

/* Tells what is missing or too much, and how the program is used. */
_Noreturn void arguments_wrong(const char *what, const char *usage);

/* A whole number of least..most. */
unsigned arguments_number(const char *option, const char *text, unsigned least,
			  unsigned most);

/* A number of least..most. */
double arguments_real(const char *option, const char *text, double least,
		      double most);

#endif
