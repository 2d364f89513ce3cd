/*
 * The parser of RFC 8941, 4.2. Each function takes what it is named after from
 * the front, and returns false where that is not what is there.
 */
#include "digestd/http/dictionary.h"

#include <string.h>

enum { INTEGER_DIGITS = 15, DECIMAL_DIGITS = 12, FRACTION_DIGITS = 3 };

static char dictionary_peek(const struct field_part *s)
{
	return s->len ? s->at[0] : '\0';
}

static void dictionary_skip(struct field_part *s)
{
	s->at++;
	s->len--;
}

static bool dictionary_take_char(struct field_part *s, char c)
{
	if (!s->len || s->at[0] != c)
		return false;
	dictionary_skip(s);
	return true;
}

static void dictionary_skip_spaces(struct field_part *s)
{
	while (dictionary_peek(s) == ' ')
		dictionary_skip(s);
}

static void dictionary_skip_blanks(struct field_part *s)
{
	while (dictionary_peek(s) == ' ' || dictionary_peek(s) == '\t')
		dictionary_skip(s);
}

static bool dictionary_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool dictionary_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool dictionary_is_alpha(char c)
{
	return dictionary_is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* Whether a byte is one of a text; NUL never is. */
static bool dictionary_is_one_of(char c, const char *text)
{
	return c && strchr(text, c);
}

static bool dictionary_take_key(struct field_part *s, struct field_part *key)
{
	*key = (struct field_part){ s->at, 0 };
	if (!dictionary_is_lower(dictionary_peek(s)) &&
	    dictionary_peek(s) != '*')
		return false;
	while (dictionary_is_lower(dictionary_peek(s)) ||
	       dictionary_is_digit(dictionary_peek(s)) ||
	       dictionary_is_one_of(dictionary_peek(s), "_-.*")) {
		dictionary_skip(s);
		key->len++;
	}
	return true;
}

static size_t dictionary_take_digits(struct field_part *s, int64_t *value)
{
	size_t n = 0;

	for (; dictionary_is_digit(dictionary_peek(s)); n++) {
		if (n < INTEGER_DIGITS)
			*value = *value * 10 + (dictionary_peek(s) - '0');
		dictionary_skip(s);
	}
	return n;
}

static bool dictionary_take_number(struct field_part *s,
				   struct dictionary_member *m)
{
	bool negative = dictionary_take_char(s, '-');
	int64_t value = 0, fraction = 0;
	size_t n = dictionary_take_digits(s, &value);

	if (!n || n > INTEGER_DIGITS)
		return false;
	m->type = DICTIONARY_INTEGER;
	m->number = negative ? -value : value;
	if (!dictionary_take_char(s, '.'))
		return true;
	m->type = DICTIONARY_OTHER;
	if (n > DECIMAL_DIGITS)
		return false;
	n = dictionary_take_digits(s, &fraction);
	return n && n <= FRACTION_DIGITS;
}

static bool dictionary_take_string(struct field_part *s)
{
	dictionary_skip(s);
	while (s->len) {
		char c = dictionary_peek(s);

		dictionary_skip(s);
		if (c == '"')
			return true;
		if (c == '\\' && !dictionary_take_char(s, '"') &&
		    !dictionary_take_char(s, '\\'))
			return false;
		if (c < ' ' || c > '~')
			return false;
	}
	return false;
}

static bool dictionary_take_token(struct field_part *s)
{
	while (dictionary_is_alpha(dictionary_peek(s)) ||
	       dictionary_is_digit(dictionary_peek(s)) ||
	       dictionary_is_one_of(dictionary_peek(s), "!#$%&'*+-.^_`|~:/"))
		dictionary_skip(s);
	return true;
}

static bool dictionary_take_bytes(struct field_part *s)
{
	dictionary_skip(s);
	while (dictionary_is_alpha(dictionary_peek(s)) ||
	       dictionary_is_digit(dictionary_peek(s)) ||
	       dictionary_is_one_of(dictionary_peek(s), "+/="))
		dictionary_skip(s);
	return dictionary_take_char(s, ':');
}

static bool dictionary_take_boolean(struct field_part *s,
				    struct dictionary_member *m)
{
	dictionary_skip(s);
	m->type = DICTIONARY_BOOLEAN;
	m->number = dictionary_peek(s) == '1';
	return dictionary_take_char(s, '0') || dictionary_take_char(s, '1');
}

static bool dictionary_take_item(struct field_part *s,
				 struct dictionary_member *m)
{
	char c = dictionary_peek(s);

	m->type = DICTIONARY_OTHER;
	m->number = 0;
	if (c == '-' || dictionary_is_digit(c))
		return dictionary_take_number(s, m);
	if (c == '"')
		return dictionary_take_string(s);
	if (c == '*' || dictionary_is_alpha(c))
		return dictionary_take_token(s);
	if (c == ':')
		return dictionary_take_bytes(s);
	return c == '?' && dictionary_take_boolean(s, m);
}

static bool dictionary_take_parameters(struct field_part *s)
{
	struct dictionary_member value;
	struct field_part key;

	while (dictionary_take_char(s, ';')) {
		dictionary_skip_spaces(s);
		if (!dictionary_take_key(s, &key))
			return false;
		if (dictionary_take_char(s, '=') &&
		    !dictionary_take_item(s, &value))
			return false;
	}
	return true;
}

static bool dictionary_take_inner_list(struct field_part *s,
				       struct dictionary_member *m)
{
	struct dictionary_member item;

	m->type = DICTIONARY_OTHER;
	m->number = 0;
	dictionary_skip(s);
	for (;;) {
		dictionary_skip_spaces(s);
		if (dictionary_take_char(s, ')'))
			return true;
		if (!dictionary_take_item(s, &item) ||
		    !dictionary_take_parameters(s))
			return false;
		if (dictionary_peek(s) != ' ' && dictionary_peek(s) != ')')
			return false;
	}
}

static bool dictionary_take_value(struct field_part *s,
				  struct dictionary_member *m)
{
	m->type = DICTIONARY_BOOLEAN;
	m->number = 1;
	if (!dictionary_take_char(s, '='))
		return true;
	return dictionary_peek(s) == '(' ? dictionary_take_inner_list(s, m)
					 : dictionary_take_item(s, m);
}

/* The comma, and that something follows it. */
static bool dictionary_take_separator(struct field_part *s)
{
	dictionary_skip_blanks(s);
	if (!s->len)
		return true;
	if (!dictionary_take_char(s, ','))
		return false;
	dictionary_skip_blanks(s);
	return s->len > 0;
}

bool dictionary_next(const struct fields *f, const char *name,
		     struct dictionary_cursor *cursor,
		     struct dictionary_member *member)
{
	const size_t len = strlen(name);
	struct field_part *s = &cursor->rest;

	while (!s->len && cursor->line < fields_count(f)) {
		const struct field *line = fields_at(f, cursor->line++);

		if (!field_has_name(line, name, len))
			continue;
		*s = (struct field_part){ line->value, line->value_len };
		dictionary_skip_spaces(s);
	}
	if (!s->len || cursor->failed)
		return false;
	cursor->failed = !dictionary_take_key(s, &member->key) ||
			 !dictionary_take_value(s, member) ||
			 !dictionary_take_parameters(s) ||
			 !dictionary_take_separator(s);
	return !cursor->failed;
}
