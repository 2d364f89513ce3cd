/*
 * Options as tables: what getopt_long() knows, what --help tells and where a
 * value goes are one row. A command has several tables, which may be shared
 * with other commands, and all of them fill in one structure.
 */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPTION_FLAG,  /* bool, becomes true */
	OPTION_COUNT, /* uint64_t, with a unit of 1024 or without */
	OPTION_REAL,  /* double, min..max */
	OPTION_TEXT,  /* const char *, borrowed from the arguments */
	OPTION_WORD,  /* unsigned: the position in words */
	OPTION_CALL,  /* what take() makes of it */
	OPTION_TITLE, /* no option: `help` stands above those that follow */
};

struct tool_option {
	const char *name; /* null ends a table */
	char letter;      /* 0: none */
	enum option_kind kind;
	size_t at;        /* of the value in the structure */
	bool positive;        /* of a count or a real: it is not 0 */
	double min, max;      /* of a real */
	uint64_t least, most; /* of a count; most 0: there is no limit */
	const char *value; /* what --help calls it, in capitals; null: it has
			      none */
	const char *help;  /* of a few words, or more in several lines; null: a
			      name of earlier versions, of which it is silent */
	const char *const *words; /* of OPTION_WORD; a null ends them */
	/* Of OPTION_CALL, with the structure; false: wrong, and told. */
	bool (*take)(const char *option, const char *text, void *to);
};

/*
 * Reads the arguments into the structure at `to`; getopt's optind then says
 * where the operands are, which getopt_long() has moved to the end. False:
 * something is wrong, and was told on stderr.
 */
bool options_read(const struct tool_option *const *tables, int argc,
		  char **argv, void *to);

/* Tells that a value is none of the words, which a null ends; false. */
bool options_refuse_word(const char *option, const char *text,
			 const char *const *words);

/* Prints a line or more for each option. */
void options_help(const struct tool_option *const *tables, FILE *to);

#endif
