/*
 * The files of a configuration.
 */
#include "digestd/config/config_files.h"

#include <assert.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/plain_file.h"

/* The first one may be a pipe, such as a shell's <(command). */
static FILE *config_files_open(const char *path, bool included,
			       const char **error)
{
	FILE *file;

	if (included)
		return plain_file_open(path, error);
	file = fopen(path, "re");
	*error = file ? NULL : strerror(errno);
	return file;
}

/* The text of a file; null: *error says why there is none. */
static char *config_files_text(const char *path, bool included, size_t *len,
			       const char **error)
{
	FILE *file = config_files_open(path, included, error);
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	if (!file)
		return NULL;
	errno = 0;
	n = getdelim(&text, &room, '\0', file);
	if (n < 0 && !feof(file))
		*error = strerror(errno);
	else if (n >= 0 && !feof(file))
		*error = "has a NUL byte";
	else if (!text)
		text = strdup("");
	if (!*error && !text)
		*error = strerror(ENOMEM);
	if (*error) {
		free(text);
		text = NULL;
	}
	*len = n > 0 ? (size_t)n : 0;
	fclose(file);
	return text;
}

/* The path as nodes refer to it; null: no memory. */
static const char *config_files_keep(struct config_files *f, const char *path)
{
	size_t len = strlen(path) + 1;
	struct config_path *p = malloc(sizeof(*p) + len);

	if (!p)
		return NULL;
	memcpy(p->text, path, len);
	p->next = f->paths;
	f->paths = p;
	return p->text;
}

static int config_files_parse(struct config_files *f, const char *path,
			      unsigned depth, struct config_node **out,
			      struct config_errors *errors);

/* A pattern, from the folder of the file that it stands in; null: no memory. */
static char *config_files_pattern(const struct config_node *n)
{
	const char *word = n->words[0], *slash = strrchr(n->file, '/');
	size_t folder = *word == '/' || !slash ? 0 :
						 (size_t)(slash - n->file) + 1;
	size_t len = strlen(word) + 1;
	char *pattern = malloc(folder + len);

	if (pattern) {
		memcpy(pattern, n->file, folder);
		memcpy(pattern + folder, word, len);
	}
	return pattern;
}

/* Whether a file, of the depth below, would include itself. */
static bool config_files_circular(const struct config_files *f,
				  const char *path, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++) {
		if (!strcmp(f->chain[i], path))
			return true;
	}
	return false;
}

/* One of the files that an include names. */
static int config_files_include(struct config_files *f, const char *path,
				unsigned depth, struct config_node **out,
				struct config_errors *errors)
{
	const struct config_node *n = f->include;

	if (!config_files_circular(f, path, depth))
		return config_files_parse(f, path, depth, out, errors);
	config_report(errors, "%s:%u: include: %s would include itself\n",
		      n->file, n->line, path);
	return 0;
}

/* All files of a pattern, one behind the other. */
static int config_files_match(struct config_files *f, const char *pattern,
			      const struct config_node *n, unsigned depth,
			      struct config_node **out,
			      struct config_errors *errors)
{
	glob_t found = { .gl_pathc = 0 };
	int err = 0, result = glob(pattern, 0, NULL, &found);

	if (result == GLOB_NOSPACE)
		err = -ENOMEM;
	else if (result == GLOB_ABORTED)
		config_report(errors, "%s:%u: include: %s: cannot be read\n",
			      n->file, n->line, pattern);
	else if (result == GLOB_NOMATCH && !strpbrk(n->words[0], "*?["))
		config_report(errors, "%s:%u: include: %s: no such file\n",
			      n->file, n->line, pattern);
	for (size_t i = 0; i < found.gl_pathc && !result && !err; i++) {
		f->include = n;
		err = config_files_include(f, found.gl_pathv[i], depth, out,
					   errors);
		while (*out)
			out = &(*out)->next;
	}
	f->include = NULL;
	globfree(&found);
	return err;
}

/* Puts what files have in place of an include. */
static int config_files_splice(struct config_files *f, struct config_node **at,
			       unsigned depth, struct config_errors *errors)
{
	struct config_node *n = *at, *next = n->next, *included = NULL;
	char *pattern;
	int err = -ENOMEM;

	if (depth == CONFIG_FILES_DEPTH) {
		config_report(errors, "%s:%u: include: files are included more "
			      "than %d deep\n", n->file, n->line,
			      CONFIG_FILES_DEPTH);
		err = 0;
	} else if ((pattern = config_files_pattern(n))) {
		err = config_files_match(f, pattern, n, depth + 1, &included,
					 errors);
		free(pattern);
	}
	n->next = NULL;
	config_tree_free(at);
	*at = included;
	while (*at)
		at = &(*at)->next;
	*at = next;
	return err;
}

static int config_files_parse(struct config_files *f, const char *path,
			      unsigned depth, struct config_node **out,
			      struct config_errors *errors)
{
	const char *error, *kept = config_files_keep(f, path);
	size_t len;
	char *text = kept ? config_files_text(path, f->include, &len, &error) :
			    NULL;
	int err = 0;

	*out = NULL;
	if (!kept)
		return -ENOMEM;
	if (!text) {
		if (f->include)
			config_report(errors, "%s:%u: include: ",
				      f->include->file, f->include->line);
		config_report(errors, "%s: %s\n", path, error);
		return 0;
	}
	f->chain[depth] = kept;
	err = config_tree_read(text, len, kept, out, errors);
	free(text);
	while (*out && !err) {
		struct config_node *behind = (*out)->next;

		if ((*out)->kind == CONFIG_INCLUDE) {
			err = config_files_splice(f, out, depth, errors);
			while (*out && *out != behind)
				out = &(*out)->next;
		} else {
			out = &(*out)->next;
		}
	}
	return err;
}

int config_files_read(const char *path, struct config_files *out,
		      struct config_errors *errors)
{
	assert(path && out && errors);
	*out = (struct config_files){ .first = NULL };
	return config_files_parse(out, path, 0, &out->first, errors);
}

void config_files_free(struct config_files *f)
{
	config_tree_free(&f->first);
	while (f->paths) {
		struct config_path *next = f->paths->next;

		free(f->paths);
		f->paths = next;
	}
}
