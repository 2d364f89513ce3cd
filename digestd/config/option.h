/*
 * The options of a configuration: rows of one table, and what their kinds of
 * values are. A value is a string, as in the file, until it is set. PATHS and
 * URLS are a list in the file, and one string with a newline, or a comma,
 * between two of them.
 */
#ifndef DIGESTD_CONFIG_OPTION_H
#define DIGESTD_CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

/* TEXT, NUMBER and so on. */
enum option_kind {
#define OPTION_KIND(kind, type, word) kind,
#include "digestd/options/option_kinds.def"
#undef OPTION_KIND
};

/* How many there are; for arrays of something for each of them. */
#define OPTION(name, kind, member, value, min, max, when, help) +1
enum {
	CONFIG_OPTIONS = 0
#include "digestd/options/options.def"
};
#undef OPTION

struct config_option {
	const char *name;
	enum option_kind kind;
	size_t at; /* in struct config, or that of another section */
	const char *value; /* the default, as in a file */
	int64_t min, max;
	bool restart; /* takes effect only at a start */
	const char *help;
};

/* The table: the rows of options.def. */
extern const struct config_option config_options[CONFIG_OPTIONS];

/*
 * Null when a text is a value of the option; otherwise what is wrong with it,
 * to follow the value in a message. `room` is for that message, if it has to
 * be written.
 */
const char *option_fault(const struct config_option *o, const char *text,
			 char room[static 128]);

enum { OPTION_PART_BYTES = 128 };

/* What of a value with a fault is meant: of a list, the member; else all. */
const char *option_faulty_part(const struct config_option *o, const char *text,
			       char part[static OPTION_PART_BYTES]);

/* Sets the member to a value. Returns 0, -EINVAL (it is none) or -ENOMEM. */
int option_set(const struct config_option *o, void *section, const char *text);

/* Frees what option_set() has allocated. */
void option_clear(const struct config_option *o, void *section);

/* Whether two configurations have the same value. */
bool option_is_same(const struct config_option *o, const struct config *a,
		    const struct config *b);

/* Exchanges their values. */
void option_swap(const struct config_option *o, struct config *a,
		 struct config *b);

#endif
