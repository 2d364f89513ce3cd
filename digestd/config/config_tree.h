/*
 * The syntax of configurations: a text becomes a tree of options and sections,
 * each with its file and line. What names and values mean is not known here.
 *
 *   file    = { option | section | "include" WORD }
 *   option  = NAME ( "=" | "+=" ) values
 *   values  = WORD { "," WORD } | "{" [ WORD { "," WORD } [ "," ] ] "}"
 *   section = NAME { WORD } "{" { option | section } "}"
 *
 * A WORD stands in double quotes, with the escapes of C; in single quotes,
 * where a backslash is one but before a quote or another; or without quotes, if
 * it has no blank, quote, comma, brace or "=". No quoted text goes over the end
 * of a line, unless a backslash stands there. Comments begin with # or // and
 * end with the line, or are between slash-star and star-slash; none begins
 * within a word. Where lines end matters to nobody else but who mends faults:
 * after one, reading goes on at the next line, or at the closing brace.
 *
 * Pure: text in, tree and findings out. Time is linear in the text.
 */
#ifndef DIGESTD_CONFIG_CONFIG_TREE_H
#define DIGESTD_CONFIG_CONFIG_TREE_H

#include <stddef.h>

#include "digestd/config/config_errors.h"

/* How many sections may be within each other. */
enum { CONFIG_TREE_DEPTH = 8 };

enum config_node_kind {
	CONFIG_OPTION,  /* its words are values */
	CONFIG_APPEND,  /* the same, by += */
	CONFIG_SECTION, /* its words are titles */
	CONFIG_INCLUDE, /* its one word is a pattern of paths */
};

struct config_node {
	struct config_node *next;     /* in the same section */
	struct config_node *children; /* of a section */
	enum config_node_kind kind;
	const char *file; /* as it was given to config_tree_read() */
	unsigned line;    /* of its name, from 1 */
	char *name;
	char **words;
	size_t nwords;
};

/*
 * Reads a text of len bytes; `file` is its name, which nodes refer to. *out is
 * the first node, to be released with config_tree_free(), or null; what is
 * wrong is added to *errors, beside what could be read. Returns 0 or -ENOMEM,
 * then *out is null.
 */
int config_tree_read(const char *text, size_t len, const char *file,
		     struct config_node **out, struct config_errors *errors);

/* Frees a node, what follows it, and all below them. */
void config_tree_free(struct config_node **first);

#endif
