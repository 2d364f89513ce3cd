/*
 * Options as tables.
 */
#include "config.h"

#include "digestd/tool/options.h"

#include <getopt.h>

#include "digestd/http/enum_names.h"
#include "digestd/tool/arguments.h"

enum {
	MAX_OPTIONS = 96,  /* of a command */
	LONG_ONLY = 256,   /* what getopt_long() returns for those, and up */
	HELP_COLUMN = 32,  /* where the text of --help begins */
};

/* getopt's two forms of the tables, and the rows by number. */
struct known {
	const struct tool_option *rows[MAX_OPTIONS];
	struct option longs[MAX_OPTIONS + 1];
	char shorts[2 * MAX_OPTIONS + 1];
	size_t n;
};

static void options_add(struct known *k, const struct tool_option *row,
			char **shorts)
{
	k->longs[k->n] = (struct option){
		.name = row->name,
		.has_arg = row->value ? required_argument : no_argument,
		.val = row->letter ? row->letter : LONG_ONLY + (int)k->n,
	};
	k->rows[k->n++] = row;
	if (!row->letter)
		return;
	*(*shorts)++ = row->letter;
	if (row->value)
		*(*shorts)++ = ':';
}

static void options_list_known(struct known *k,
			       const struct tool_option *const *tables)
{
	char *shorts = k->shorts;

	for (; *tables; tables++) {
		for (const struct tool_option *row = *tables; row->name; row++)
			if (row->kind != OPTION_TITLE && k->n < MAX_OPTIONS)
				options_add(k, row, &shorts);
	}
}

bool options_refuse_word(const char *option, const char *text,
			 const char *const *words)
{
	char what[512];

	enum_names_refuse(words, what, sizeof(what));
	return arguments_refuse(option, text, what);
}

static bool options_take_word(const char *option, const char *text,
			      const char *const *words, unsigned *out)
{
	int i = enum_names_find(words, text);

	if (i < 0)
		return options_refuse_word(option, text, words);
	*out = (unsigned)i;
	return true;
}

static bool options_take_count(const char *option, const char *text,
			       const struct tool_option *row, uint64_t *out)
{
	if (row->most)
		return arguments_number_within(option, text, row->least,
					       row->most, out);
	if (!arguments_number(option, text, out))
		return false;
	return *out || !row->positive ||
	       arguments_refuse(option, text, "is not above 0");
}

static bool options_take_real(const char *option, const char *text,
			      const struct tool_option *row, double *out)
{
	if (!arguments_real(option, text, row->min, row->max, out))
		return false;
	return *out > 0 || !row->positive ||
	       arguments_refuse(option, text, "is not above 0");
}

static bool options_take(const struct tool_option *row, const char *text,
			 void *to)
{
	void *at = (char *)to + row->at;
	char option[32];

	snprintf(option, sizeof(option), "--%s", row->name);
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return true;
	case OPTION_COUNT:
		return options_take_count(option, text, row, at);
	case OPTION_REAL:
		return options_take_real(option, text, row, at);
	case OPTION_TEXT:
		*(const char **)at = text;
		return true;
	case OPTION_WORD:
		return options_take_word(option, text, row->words, at);
	case OPTION_CALL:
		return row->take(option, text, to);
	case OPTION_TITLE:
		break;
	}
	return false;
}

bool options_read(const struct tool_option *const *tables, int argc,
		  char **argv, void *to)
{
	struct known k = { 0 };
	int c;

	options_list_known(&k, tables);
	while ((c = getopt_long(argc, argv, k.shorts, k.longs, NULL)) != -1) {
		size_t i = 0;

		while (i < k.n && k.longs[i].val != c)
			i++;
		if (i == k.n || !options_take(k.rows[i], optarg, to))
			return false;
	}
	return true;
}

static void options_print_row(const struct tool_option *row, FILE *to)
{
	const char *text = row->help;
	int used;

	if (row->kind == OPTION_TITLE) {
		fprintf(to, "%s\n", text);
		return;
	}
	used = row->letter ? fprintf(to, "  -%c, --%s", row->letter,
				     row->name) :
			     fprintf(to, "      --%s", row->name);
	if (row->value)
		used += fprintf(to, " %s", row->value);
	if (used > HELP_COLUMN - 2) {
		putc('\n', to);
		used = 0;
	}
	fprintf(to, "%*s", HELP_COLUMN - used, "");
	for (; *text; text++) {
		putc(*text, to);
		if (*text == '\n')
			fprintf(to, "%*s", HELP_COLUMN, "");
	}
	putc('\n', to);
}

void options_help(const struct tool_option *const *tables, FILE *to)
{
	for (; *tables; tables++) {
		for (const struct tool_option *row = *tables; row->name; row++)
			if (row->help)
				options_print_row(row, to);
	}
}
