/*
 * The files of a configuration: one, and those that it includes.
 */
#ifndef DIGESTD_CONFIG_CONFIG_FILES_H
#define DIGESTD_CONFIG_CONFIG_FILES_H

#include "digestd/config/config_tree.h"

/* How deep files may include others. */
enum { CONFIG_FILES_DEPTH = 8 };

struct config_path {
	struct config_path *next;
	char text[];
};

/* The tree of all of them, and their paths, which it refers to. */
struct config_files {
	struct config_node *first;
	struct config_path *paths;
	/* while they are read: the files that include the one that is read now,
	 * and the include that names it; null: none does */
	const char *chain[CONFIG_FILES_DEPTH + 1];
	const struct config_node *include;
};

/*
 * Reads a file. In place of an include is what the files have that its pattern
 * matches, as glob(7) does, in alphabetical order; a pattern that is relative
 * begins at the folder of the file that it stands in. One without * ? [ has to
 * match, and no file may include itself, by way of others either. What is wrong
 * is added to *errors. To be released with config_files_free(), whatever is
 * returned. Returns 0 or -ENOMEM.
 */
int config_files_read(const char *path, struct config_files *out,
		      struct config_errors *errors);

void config_files_free(struct config_files *f);

#endif
