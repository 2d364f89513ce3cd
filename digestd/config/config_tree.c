/*
 * Configurations as trees: a scanner of words and signs, and a parser that goes
 * down section by section, no deeper than CONFIG_TREE_DEPTH.
 */
#include "digestd/config/config_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/hexdigit.h"

enum config_token {
	TOKEN_WORD,
	TOKEN_EQUALS,
	TOKEN_PLUS,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_NEWLINE,
	TOKEN_END,
	TOKEN_BAD, /* it has been reported */
};

/* For messages. */
static const char *const config_token_names[] = {
	[TOKEN_WORD] = "a word",      [TOKEN_EQUALS] = "'='",
	[TOKEN_PLUS] = "'+='",        [TOKEN_OPEN] = "'{'",
	[TOKEN_CLOSE] = "'}'",        [TOKEN_COMMA] = "','",
	[TOKEN_NEWLINE] = "the end of the line",
	[TOKEN_END] = "the end of the file",
	[TOKEN_BAD] = "a fault",
};

struct config_scanner {
	const char *at, *end;
	unsigned line;
	const char *file;
	struct config_errors *errors;
	char *word; /* the last one; room for all that is left */
	size_t word_len;
	bool quiet; /* looks ahead: faults are not reported */
	bool no_memory;
};

/* Words */

static void config_tree_fault(struct config_scanner *s, unsigned line,
			      const char *what)
{
	if (!s->quiet)
		config_report(s->errors, "%s:%u: %s\n", s->file, line, what);
}

static bool config_tree_follows(const struct config_scanner *s,
				const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s->end - s->at) >= len && !memcmp(s->at, text, len);
}

static void config_tree_put(struct config_scanner *s, char c)
{
	s->word[s->word_len++] = c;
}

static int config_tree_octal(struct config_scanner *s)
{
	int n = 0;

	for (int i = 0; i < 3 && s->at < s->end && *s->at >= '0' &&
			*s->at <= '7'; i++)
		n = n * 8 + *s->at++ - '0';
	return n & 0xff;
}

/* Behind \x; without a digit it is the letter. */
static int config_tree_hex(struct config_scanner *s)
{
	int n = 0, i = 0, digit;

	for (; i < 2 && s->at < s->end &&
	       (digit = hexdigit_value(*s->at)) >= 0; i++, s->at++)
		n = n * 16 + digit;
	return i ? n : 'x';
}

/* What follows a backslash in double quotes. NUL would end the word. */
static bool config_tree_escape(struct config_scanner *s)
{
	static const char letters[] = "abefnrtv";
	static const char meant[] = "\a\b\033\f\n\r\t\v";
	const char *letter;
	int c;

	if (*s->at >= '0' && *s->at <= '7') {
		c = config_tree_octal(s);
	} else if (*s->at == 'x') {
		s->at++;
		c = config_tree_hex(s);
	} else {
		letter = strchr(letters, *s->at);
		c = letter && *letter ? meant[letter - letters] : *s->at;
		s->at++;
	}
	config_tree_put(s, (char)c);
	return c != '\0';
}

/* In single quotes a backslash stands for itself, but before these. */
static bool config_tree_literal(struct config_scanner *s)
{
	if (*s->at != '\'' && *s->at != '\\')
		config_tree_put(s, '\\');
	config_tree_put(s, *s->at++);
	return true;
}

/* Behind a backslash; false: it stands for a NUL. */
static bool config_tree_behind_backslash(struct config_scanner *s, char quote)
{
	if (*s->at == '\n') {
		s->line++;
		s->at++;
		return true;
	}
	return quote == '"' ? config_tree_escape(s) : config_tree_literal(s);
}

/* Up to the end of the line. */
static void config_tree_skip_line(struct config_scanner *s)
{
	while (s->at < s->end && *s->at != '\n')
		s->at++;
}

static enum config_token config_tree_quoted(struct config_scanner *s)
{
	const char quote = *s->at++;
	bool nul = false;

	s->word_len = 0;
	while (s->at < s->end && *s->at != quote && *s->at != '\n') {
		const char c = *s->at++;

		if (c == '\\' && s->at < s->end)
			nul |= !config_tree_behind_backslash(s, quote);
		else
			config_tree_put(s, c);
	}
	config_tree_put(s, '\0');
	if (s->at == s->end || *s->at != quote) {
		config_tree_fault(s, s->line, "a quote is not closed");
		return TOKEN_BAD;
	}
	s->at++;
	if (nul)
		config_tree_fault(s, s->line, "a text with a NUL byte");
	return nul ? TOKEN_BAD : TOKEN_WORD;
}

static bool config_tree_ends_word(const struct config_scanner *s)
{
	return s->at == s->end || strchr(" \t\r\n={},\"'", *s->at) ||
	       config_tree_follows(s, "+=");
}

static enum config_token config_tree_plain(struct config_scanner *s)
{
	s->word_len = 0;
	while (!config_tree_ends_word(s))
		config_tree_put(s, *s->at++);
	config_tree_put(s, '\0');
	return TOKEN_WORD;
}

/* Comments and blanks; false: one has no end. */
static bool config_tree_skip_comment(struct config_scanner *s)
{
	unsigned line = s->line;

	for (s->at += 2; !config_tree_follows(s, "*/"); s->at++) {
		if (s->at >= s->end) {
			config_tree_fault(s, line, "a comment is not closed");
			return false;
		}
		s->line += *s->at == '\n';
	}
	s->at += 2;
	return true;
}

static bool config_tree_skip_blanks(struct config_scanner *s)
{
	while (s->at < s->end) {
		if (strchr(" \t\r", *s->at) && *s->at) {
			s->at++;
		} else if (*s->at == '#' || config_tree_follows(s, "//")) {
			config_tree_skip_line(s);
		} else if (config_tree_follows(s, "/*")) {
			if (!config_tree_skip_comment(s))
				return false;
		} else {
			break;
		}
	}
	return true;
}

static enum config_token config_tree_sign(struct config_scanner *s)
{
	switch (*s->at) {
	case '=': return TOKEN_EQUALS;
	case '{': return TOKEN_OPEN;
	case '}': return TOKEN_CLOSE;
	case ',': return TOKEN_COMMA;
	case '\n': return TOKEN_NEWLINE;
	default: return TOKEN_BAD;
	}
}

static enum config_token config_tree_next(struct config_scanner *s)
{
	enum config_token token;

	if (!config_tree_skip_blanks(s))
		return TOKEN_BAD;
	if (s->at == s->end)
		return TOKEN_END;
	if (*s->at == '"' || *s->at == '\'')
		return config_tree_quoted(s);
	if (config_tree_follows(s, "+=")) {
		s->at += 2;
		return TOKEN_PLUS;
	}
	if (*s->at == '\0') {
		config_tree_fault(s, s->line, "a NUL byte");
		s->at++;
		return TOKEN_BAD;
	}
	if (!config_tree_ends_word(s))
		return config_tree_plain(s);
	token = config_tree_sign(s);
	s->line += *s->at == '\n';
	s->at++;
	return token;
}

static enum config_token config_tree_next_filled(struct config_scanner *s)
{
	enum config_token token = TOKEN_NEWLINE;

	while (token == TOKEN_NEWLINE)
		token = config_tree_next(s);
	return token;
}

/* Takes the next token if it is this one, in this line or in a later one. */
static bool config_tree_takes(struct config_scanner *s,
			      enum config_token wanted, bool later)
{
	struct config_scanner saved = *s;
	enum config_token token;

	s->quiet = true;
	token = later ? config_tree_next_filled(s) : config_tree_next(s);
	s->quiet = saved.quiet;
	if (token == wanted)
		return true;
	*s = saved;
	return false;
}

/*
 * To the end of the line, or before the brace that closes this section; what is
 * in braces is left out as a whole.
 */
static void config_tree_recover(struct config_scanner *s)
{
	unsigned depth = 0;

	s->quiet = true;
	for (;;) {
		const struct config_scanner before = *s;
		enum config_token token = config_tree_next(s);

		if (token == TOKEN_CLOSE && !depth)
			*s = before;
		if (token == TOKEN_END || (token == TOKEN_CLOSE && !depth) ||
		    (token == TOKEN_NEWLINE && !depth))
			break;
		depth += token == TOKEN_OPEN;
		depth -= token == TOKEN_CLOSE;
	}
	s->quiet = false;
}

static void config_tree_unexpected(struct config_scanner *s,
				   enum config_token token, unsigned line)
{
	if (token == TOKEN_BAD)
		return;
	if (token == TOKEN_WORD)
		config_report(s->errors, "%s:%u: unexpected \"%s\"\n", s->file,
			      line, s->word);
	else
		config_report(s->errors, "%s:%u: unexpected %s\n", s->file,
			      line, config_token_names[token]);
}

/* Nodes */

static struct config_node *config_tree_node(struct config_scanner *s,
					    enum config_node_kind kind,
					    const char *name, unsigned line)
{
	struct config_node *n = calloc(1, sizeof(*n));

	s->no_memory |= !n;
	if (!n)
		return NULL;
	n->kind = kind;
	n->file = s->file;
	n->line = line;
	n->name = strdup(name);
	s->no_memory |= !n->name;
	return n;
}

static void config_tree_add_word(struct config_scanner *s,
				 struct config_node *n)
{
	char **more = realloc(n->words, (n->nwords + 1) * sizeof(*more));
	char *word = strdup(s->word);

	s->no_memory |= !more || !word;
	if (more)
		n->words = more;
	if (more && word)
		n->words[n->nwords++] = word;
	else
		free(word);
}

void config_tree_free(struct config_node **first)
{
	struct config_node *n = *first;

	while (n) {
		struct config_node *next = n->next;

		config_tree_free(&n->children);
		for (size_t i = 0; i < n->nwords; i++)
			free(n->words[i]);
		free(n->words);
		free(n->name);
		free(n);
		n = next;
	}
	*first = NULL;
}

/* Options */

/* Whether an option begins here: then a value is missing before it. */
static bool config_tree_option_follows(struct config_scanner *s)
{
	struct config_scanner saved = *s;
	bool follows = config_tree_takes(s, TOKEN_WORD, true) &&
		       (config_tree_takes(s, TOKEN_EQUALS, false) ||
			config_tree_takes(s, TOKEN_PLUS, false));

	*s = saved;
	return follows;
}

/* To the end of a list with a fault, if that is in this line. */
static void config_tree_leave_list(struct config_scanner *s)
{
	struct config_scanner before;
	enum config_token token;

	s->quiet = true;
	do {
		before = *s;
		token = config_tree_next(s);
	} while (token != TOKEN_CLOSE && token != TOKEN_NEWLINE &&
		 token != TOKEN_END);
	if (token != TOKEN_CLOSE)
		*s = before;
	s->quiet = false;
}

/* Behind the brace of a list. */
static bool config_tree_list(struct config_scanner *s, struct config_node *n)
{
	enum config_token token = config_tree_next_filled(s);

	while (token == TOKEN_WORD && !s->no_memory) {
		config_tree_add_word(s, n);
		token = config_tree_next_filled(s);
		if (token != TOKEN_COMMA)
			break;
		token = config_tree_next_filled(s);
	}
	if (token == TOKEN_CLOSE)
		return true;
	if (token != TOKEN_BAD)
		config_report(s->errors,
			      "%s:%u: the list of %s is not closed\n", s->file,
			      n->line, n->name);
	config_tree_leave_list(s);
	return false;
}

/* One value, and more behind commas. */
static bool config_tree_values(struct config_scanner *s, struct config_node *n)
{
	bool first = true;

	while (first || config_tree_takes(s, TOKEN_COMMA, false)) {
		const struct config_scanner before = *s;
		enum config_token token;

		if (config_tree_takes(s, TOKEN_NEWLINE, false) &&
		    config_tree_option_follows(s)) {
			config_report(s->errors, "%s:%u: %s has no value\n",
				      s->file, before.line, n->name);
			return true; /* the next line is whole */
		}
		token = config_tree_next_filled(s);
		if (token == TOKEN_OPEN && first)
			return config_tree_list(s, n);
		if (token != TOKEN_WORD) {
			config_tree_unexpected(s, token, before.line);
			*s = before; /* it may end the line, or a section */
			return false;
		}
		config_tree_add_word(s, n);
		first = false;
	}
	return true;
}

/* Sections */

static struct config_node *config_tree_nodes(struct config_scanner *s,
					     const struct config_node *within,
					     unsigned depth);

static void config_tree_report_alone(struct config_scanner *s,
				     const struct config_node *n)
{
	config_report(s->errors, "%s:%u: \"%s\" is neither an option, NAME = "
		      "VALUE, nor a section; a value with blanks needs "
		      "quotes\n", s->file, n->line, n->name);
}

static bool config_tree_section(struct config_scanner *s, struct config_node *n,
				unsigned depth)
{
	n->kind = CONFIG_SECTION;
	while (config_tree_takes(s, TOKEN_WORD, false))
		config_tree_add_word(s, n);
	if (!config_tree_takes(s, TOKEN_OPEN, true)) {
		config_tree_report_alone(s, n);
		return false;
	}
	if (depth == CONFIG_TREE_DEPTH) {
		config_report(s->errors, "%s:%u: sections are nested more than "
			      "%d deep\n", s->file, n->line, CONFIG_TREE_DEPTH);
		s->at--; /* the brace, so that the section is left out */
		return false;
	}
	n->children = config_tree_nodes(s, n, depth + 1);
	return true;
}

static bool config_tree_include(struct config_scanner *s, struct config_node *n)
{
	n->kind = CONFIG_INCLUDE;
	if (!config_tree_takes(s, TOKEN_WORD, false)) {
		config_report(s->errors, "%s:%u: include needs a path\n",
			      s->file, n->line);
		return false;
	}
	config_tree_add_word(s, n);
	return true;
}

/* The rest of what begins with a name; false: it is to be left out. */
static bool config_tree_rest(struct config_scanner *s, struct config_node *n,
			     unsigned depth)
{
	if (config_tree_takes(s, TOKEN_EQUALS, true))
		return config_tree_values(s, n);
	if (config_tree_takes(s, TOKEN_PLUS, true)) {
		n->kind = CONFIG_APPEND;
		return config_tree_values(s, n);
	}
	if (!strcmp(n->name, "include"))
		return config_tree_include(s, n);
	return config_tree_section(s, n, depth);
}

/* Whether this token ends the section, or the file. */
static bool config_tree_ends(struct config_scanner *s, enum config_token token,
			     const struct config_node *within)
{
	if (token == TOKEN_CLOSE && !within)
		config_tree_fault(s, s->line, "a } that closes nothing");
	if (token == TOKEN_CLOSE)
		return within;
	if (token == TOKEN_END && within)
		config_report(s->errors,
			      "%s:%u: section %s%s%s%s is not closed\n",
			      s->file, within->line, within->name,
			      within->nwords ? " \"" : "",
			      within->nwords ? within->words[0] : "",
			      within->nwords ? "\"" : "");
	return token == TOKEN_END;
}

static struct config_node *config_tree_nodes(struct config_scanner *s,
					     const struct config_node *within,
					     unsigned depth)
{
	struct config_node *first = NULL, **last = &first;
	enum config_token token;

	while (!s->no_memory) {
		unsigned line;

		token = config_tree_next_filled(s);
		line = s->line;
		if (config_tree_ends(s, token, within))
			break;
		if (token == TOKEN_WORD) {
			*last = config_tree_node(s, CONFIG_OPTION, s->word,
						 line);
			if (s->no_memory)
				break;
			if (config_tree_rest(s, *last, depth)) {
				last = &(*last)->next;
				continue;
			}
			config_tree_free(last);
		}
		if (token != TOKEN_WORD && token != TOKEN_CLOSE)
			config_tree_unexpected(s, token, line);
		if (token != TOKEN_CLOSE)
			config_tree_recover(s);
	}
	return first;
}

int config_tree_read(const char *text, size_t len, const char *file,
		     struct config_node **out, struct config_errors *errors)
{
	struct config_scanner s = {
		.at = text, .end = text + len, .line = 1, .file = file,
		.errors = errors, .word = malloc(len + 1),
	};

	assert(text && file && out && errors);
	*out = s.word ? config_tree_nodes(&s, NULL, 0) : NULL;
	if (!s.word || s.no_memory)
		config_tree_free(out);
	free(s.word);
	return !s.word || s.no_memory ? -ENOMEM : 0;
}
