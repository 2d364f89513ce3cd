/*
 * Sections of a configuration: names, values and their faults.
 */
#include "digestd/config/config_section.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_BYTES = 32, /* longer names are near no other */
	NEAR_EDITS = 2,
	LONG_BYTES = 5, /* of names in which another edit leaves enough */
};

/* Names */

/* How many letters are to be put in, left out or changed. */
static size_t config_section_distance(const char *a, const char *b)
{
	size_t row[NAME_BYTES + 1], alen = strlen(a), blen = strlen(b);

	if (alen > NAME_BYTES || blen > NAME_BYTES)
		return NAME_BYTES;
	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t above = row[j];
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			best = above + 1 < best ? above + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			row[j] = best;
			diagonal = above;
		}
	}
	return row[blen];
}

/* How far a name may be from the one that is meant; less than all of it. One
 * that begins right may be further off, and one that is only cut short is near,
 * however much is missing. */
static bool config_section_is_near(const char *name, const char *known,
				   size_t *edits)
{
	size_t len = strlen(name);
	size_t most = len < LONG_BYTES || strncmp(name, known, 2) != 0
			      ? NEAR_EDITS : NEAR_EDITS + 1;

	*edits = config_section_distance(name, known);
	if (len >= LONG_BYTES && !strncmp(name, known, len))
		*edits = most;
	return len > NEAR_EDITS && *edits <= most;
}

static const char *config_section_nearest(const struct config_section *s,
					  const char *name)
{
	size_t best = SIZE_MAX, n;
	const char *nearest = NULL;

	for (size_t i = 0; i < s->noptions; i++) {
		if (config_section_is_near(name, s->options[i].name, &n) &&
		    n < best) {
			best = n;
			nearest = s->options[i].name;
		}
	}
	for (const char *const *sub = s->sections; sub && *sub; sub++) {
		if (config_section_is_near(name, *sub, &n) && n < best) {
			best = n;
			nearest = *sub;
		}
	}
	return nearest;
}

static const struct config_option *
config_section_option(const struct config_section *s, const char *name)
{
	for (size_t i = 0; i < s->noptions; i++) {
		if (!strcmp(s->options[i].name, name))
			return &s->options[i];
	}
	return NULL;
}

static bool config_section_has(const struct config_section *s, const char *name)
{
	for (const char *const *sub = s->sections; sub && *sub; sub++) {
		if (!strcmp(*sub, name))
			return true;
	}
	return false;
}

/* Whether an option is one of the whole node. */
static bool config_section_is_of_node(const struct config_node *n)
{
	for (size_t i = 0; n->kind != CONFIG_SECTION && i < CONFIG_OPTIONS;
	     i++) {
		if (!strcmp(config_options[i].name, n->name))
			return true;
	}
	return false;
}

static void config_section_refuse_name(const struct config_section *s,
				       const struct config_node *n,
				       struct config_errors *errors)
{
	const char *what = n->kind == CONFIG_SECTION ? "section" : "option";
	const char *near = config_section_nearest(s, n->name);

	config_report(errors, "%s:%u: no such %s '%s'", n->file, n->line, what,
		      n->name);
	if (s->name)
		config_report(errors, " in section %s", s->name);
	if (s->name && config_section_is_of_node(n))
		config_report(errors, "; it is one of the node, and stands "
			      "outside of sections");
	else if (near)
		config_report(errors, "; is '%s' meant?", near);
	config_report(errors, "\n");
}

/* Whether the node's name is known, and is what the node is. */
static bool config_section_knows(const struct config_section *s,
				 const struct config_node *n,
				 struct config_errors *errors)
{
	bool option = config_section_option(s, n->name);
	bool section = config_section_has(s, n->name);

	if (n->kind == CONFIG_INCLUDE) {
		config_report(errors, "%s:%u: include stands in no section\n",
			      n->file, n->line);
		return false;
	}
	if (n->kind == CONFIG_SECTION ? section : option)
		return true;
	if (option)
		config_report(errors, "%s:%u: '%s' is no section: %s = ...\n",
			      n->file, n->line, n->name, n->name);
	else if (section)
		config_report(errors, "%s:%u: '%s' is a section: %s { ... }\n",
			      n->file, n->line, n->name, n->name);
	else
		config_section_refuse_name(s, n, errors);
	return false;
}

const struct config_node *config_section_find(const struct config_node *first,
					      const char *name)
{
	while (first && (first->kind == CONFIG_SECTION ||
			 strcmp(first->name, name) != 0))
		first = first->next;
	return first;
}

bool config_section_has_titles(const struct config_section *s,
			       const struct config_node *n,
			       struct config_errors *errors)
{
	if (n->nwords >= s->min_titles && n->nwords <= s->max_titles)
		return true;
	if (n->nwords < s->min_titles)
		config_report(errors, "%s:%u: %s: needs %s\n", n->file, n->line,
			      n->name, s->title);
	else
		config_report(errors, "%s:%u: %s: \"%s\": only %s stands "
			      "here\n", n->file, n->line, n->name,
			      n->words[s->max_titles], s->title);
	return false;
}

/* Values */

static bool config_section_is_list(const struct config_option *o)
{
	return o->kind == PATHS || o->kind == URLS || o->kind == ARGUMENTS ||
	       o->kind == FIELD_NAMES || o->kind == FIELD_LINES;
}

/* An option is given once; a list may go on by +=. */
static bool config_section_is_again(const struct config_option *o,
				    const struct config_node *before,
				    const struct config_node *n,
				    struct config_errors *errors)
{
	if (before == n ||
	    (config_section_is_list(o) && n->kind == CONFIG_APPEND))
		return false;
	config_report(errors, "%s:%u: %s is given again, after ", n->file,
		      n->line, n->name);
	if (before->file != n->file)
		config_report(errors, "%s:", before->file);
	config_report(errors, "%s%u%s\n",
		      before->file != n->file ? "" : "line ", before->line,
		      config_section_is_list(o) ?
			      "; a list has several: \"a\", \"b\"" : "");
	return true;
}

static bool config_section_is_value(const struct config_option *o,
				    const struct config_node *n,
				    const char *text,
				    struct config_errors *errors)
{
	char room[128], part[OPTION_PART_BYTES];
	const char *wrong = option_fault(o, text, room);

	if (wrong)
		config_report(errors, "%s:%u: %s: \"%s\" %s\n", n->file,
			      n->line, o->name,
			      option_faulty_part(o, text, part), wrong);
	return !wrong;
}

static bool config_section_are_values(const struct config_option *o,
				      const struct config_node *n,
				      struct config_errors *errors)
{
	bool right = true;

	if (n->nwords != 1 && !config_section_is_list(o)) {
		config_report(errors, "%s:%u: %s: has one value, not %zu\n",
			      n->file, n->line, o->name, n->nwords);
		return false;
	}
	for (size_t i = 0; i < n->nwords; i++)
		right &= config_section_is_value(o, n, n->words[i], errors);
	return right;
}

/* The values of a list, with what is between them (option.h), from all nodes
 * that have some. */
static int config_section_set_list(const struct config_option *o,
				   const struct config_node *first, void *into)
{
	const struct config_node *n;
	size_t room = 0, len = 0;
	char *lines;
	int err;

	for (n = first; n; n = config_section_find(n->next, o->name))
		for (size_t i = 0; i < n->nwords; i++)
			room += strlen(n->words[i]) + 1;
	if (!room)
		return 0;
	lines = malloc(room);
	if (!lines)
		return -ENOMEM;
	for (n = first; n; n = config_section_find(n->next, o->name))
		for (size_t i = 0; i < n->nwords; i++) {
			size_t n_len = strlen(n->words[i]);

			memcpy(lines + len, n->words[i], n_len);
			len += n_len;
			lines[len++] = o->kind == URLS ? ',' : '\n';
		}
	lines[len - 1] = '\0';
	err = option_set(o, into, lines);
	free(lines);
	return err;
}

/* The findings are there already: who has one gets the default. */
static int config_section_set(const struct config_option *o,
			      const struct config_node *first, void *into,
			      bool right)
{
	const struct config_node *n = config_section_find(first, o->name);

	if (right && n && config_section_is_list(o))
		return config_section_set_list(o, n, into);
	if (right && n)
		return option_set(o, into, n->words[0]);
	return o->value ? option_set(o, into, o->value) : 0;
}

static bool config_section_check(const struct config_section *s,
				 const struct config_node *first,
				 const struct config_node *n,
				 struct config_errors *errors)
{
	const struct config_option *o;

	if (!config_section_knows(s, n, errors))
		return false;
	if (n->kind == CONFIG_SECTION)
		return true;
	o = config_section_option(s, n->name);
	return !config_section_is_again(o, config_section_find(first, n->name),
					n, errors) &&
	       config_section_are_values(o, n, errors);
}

int config_section_read(const struct config_section *s,
			const struct config_node *first, void *into,
			struct config_errors *errors)
{
	bool right = true;
	int err = 0;

	assert(s && into && errors);
	for (const struct config_node *n = first; n; n = n->next)
		right &= config_section_check(s, first, n, errors);
	for (size_t i = 0; i < s->noptions && !err; i++)
		err = config_section_set(&s->options[i], first, into, right);
	return err;
}

void config_section_clear(const struct config_section *s, void *from)
{
	for (size_t i = 0; i < s->noptions; i++)
		option_clear(&s->options[i], from);
}
