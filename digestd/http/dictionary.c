/*
 * The parser of RFC 8941, 4.2. Each function takes what it is named after from
 * the front, and returns false where that is not what is there.
 */
#include "digestd/http/dictionary.h"

#include <string.h>

enum { INTEGER_DIGITS = 15, DECIMAL_DIGITS = 12, FRACTION_DIGITS = 3 };

static char peek(const struct field_part *s)
{
	return s->len ? s->at[0] : '\0';
}

static void skip(struct field_part *s)
{
	s->at++;
	s->len--;
}

static bool take_char(struct field_part *s, char c)
{
	if (!s->len || s->at[0] != c)
		return false;
	skip(s);
	return true;
}

static void skip_spaces(struct field_part *s)
{
	while (peek(s) == ' ')
		skip(s);
}

static void skip_blanks(struct field_part *s)
{
	while (peek(s) == ' ' || peek(s) == '\t')
		skip(s);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* Whether a byte is one of a text; NUL never is. */
static bool is_one_of(char c, const char *text)
{
	return c && strchr(text, c);
}

static bool take_key(struct field_part *s, struct field_part *key)
{
	*key = (struct field_part){ s->at, 0 };
	if (!is_lower(peek(s)) && peek(s) != '*')
		return false;
	while (is_lower(peek(s)) || is_digit(peek(s)) ||
	       is_one_of(peek(s), "_-.*")) {
		skip(s);
		key->len++;
	}
	return true;
}

static size_t take_digits(struct field_part *s, int64_t *value)
{
	size_t n = 0;

	for (; is_digit(peek(s)); n++) {
		if (n < INTEGER_DIGITS)
			*value = *value * 10 + (peek(s) - '0');
		skip(s);
	}
	return n;
}

static bool take_number(struct field_part *s, struct dictionary_member *m)
{
	bool negative = take_char(s, '-');
	int64_t value = 0, fraction = 0;
	size_t n = take_digits(s, &value);

	if (!n || n > INTEGER_DIGITS)
		return false;
	m->type = DICTIONARY_INTEGER;
	m->number = negative ? -value : value;
	if (!take_char(s, '.'))
		return true;
	m->type = DICTIONARY_OTHER;
	if (n > DECIMAL_DIGITS)
		return false;
	n = take_digits(s, &fraction);
	return n && n <= FRACTION_DIGITS;
}

static bool take_string(struct field_part *s)
{
	skip(s);
	while (s->len) {
		char c = peek(s);

		skip(s);
		if (c == '"')
			return true;
		if (c == '\\' && !take_char(s, '"') && !take_char(s, '\\'))
			return false;
		if (c < ' ' || c > '~')
			return false;
	}
	return false;
}

static bool take_token(struct field_part *s)
{
	while (is_alpha(peek(s)) || is_digit(peek(s)) ||
	       is_one_of(peek(s), "!#$%&'*+-.^_`|~:/"))
		skip(s);
	return true;
}

static bool take_bytes(struct field_part *s)
{
	skip(s);
	while (is_alpha(peek(s)) || is_digit(peek(s)) ||
	       is_one_of(peek(s), "+/="))
		skip(s);
	return take_char(s, ':');
}

static bool take_boolean(struct field_part *s, struct dictionary_member *m)
{
	skip(s);
	m->type = DICTIONARY_BOOLEAN;
	m->number = peek(s) == '1';
	return take_char(s, '0') || take_char(s, '1');
}

static bool take_item(struct field_part *s, struct dictionary_member *m)
{
	char c = peek(s);

	m->type = DICTIONARY_OTHER;
	m->number = 0;
	if (c == '-' || is_digit(c))
		return take_number(s, m);
	if (c == '"')
		return take_string(s);
	if (c == '*' || is_alpha(c))
		return take_token(s);
	if (c == ':')
		return take_bytes(s);
	return c == '?' && take_boolean(s, m);
}

static bool take_parameters(struct field_part *s)
{
	struct dictionary_member value;
	struct field_part key;

	while (take_char(s, ';')) {
		skip_spaces(s);
		if (!take_key(s, &key))
			return false;
		if (take_char(s, '=') && !take_item(s, &value))
			return false;
	}
	return true;
}

static bool take_inner_list(struct field_part *s, struct dictionary_member *m)
{
	struct dictionary_member item;

	m->type = DICTIONARY_OTHER;
	m->number = 0;
	skip(s);
	for (;;) {
		skip_spaces(s);
		if (take_char(s, ')'))
			return true;
		if (!take_item(s, &item) || !take_parameters(s))
			return false;
		if (peek(s) != ' ' && peek(s) != ')')
			return false;
	}
}

static bool take_value(struct field_part *s, struct dictionary_member *m)
{
	m->type = DICTIONARY_BOOLEAN;
	m->number = 1;
	if (!take_char(s, '='))
		return true;
	return peek(s) == '(' ? take_inner_list(s, m) : take_item(s, m);
}

/* The comma, and that something follows it. */
static bool take_separator(struct field_part *s)
{
	skip_blanks(s);
	if (!s->len)
		return true;
	if (!take_char(s, ','))
		return false;
	skip_blanks(s);
	return s->len > 0;
}

bool dictionary_next(const struct fields *f, const char *name,
		     struct dictionary_cursor *cursor,
		     struct dictionary_member *member)
{
	struct field_part *s = &cursor->rest;

	while (!s->len && cursor->line < fields_count(f)) {
		const struct field *line = fields_at(f, cursor->line++);

		if (!field_name_is(line->name, name))
			continue;
		*s = (struct field_part){ line->value, strlen(line->value) };
		skip_spaces(s);
	}
	if (!s->len || cursor->failed)
		return false;
	cursor->failed = !take_key(s, &member->key) || !take_value(s, member) ||
			 !take_parameters(s) || !take_separator(s);
	return !cursor->failed;
}
