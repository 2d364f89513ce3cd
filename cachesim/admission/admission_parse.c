/*
 * Texts like "tinylfu,window=1000,min-uses=3".
 */
#include <string.h>

#include "cachesim/admission/admission_table.h"
#include "codec/error.h"

enum { NAME_MAX_BYTES = 32 };

/* Counts stay below what a double holds exactly. */
static const double count_max = 1e15;

/* Is the name one of the words? */
static bool admission_parse_among(const char *words, const char *name,
				  size_t len)
{
	while (*words) {
		size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, name, len) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

static const struct admission_option *
admission_parse_find_option(const struct admission_policy *policy,
			    const char *name, size_t len)
{
	if (!admission_parse_among(policy->options, name, len))
		return NULL;
	for (const struct admission_option *o = admission_options; o->name; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

/* What a letter after a number stands for; 0: nothing. */
static double admission_parse_unit(char letter)
{
	switch (letter) {
	case 'k':
	case 'K':
		return 1024;
	case 'm':
	case 'M':
		return 1024 * 1024;
	case 'g':
	case 'G':
		return 1024 * 1024 * 1024;
	case '%':
		return .01;
	}
	return 0;
}

static bool admission_parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A decimal fraction, with a unit if one is there; strtod would follow the
 * user's locale. -1: none. */
static double admission_parse_number(const char *text, size_t len)
{
	double value = 0, place = 0;
	size_t digits = 0;

	for (size_t i = 0; i < len; i++) {
		if (admission_parse_is_digit(text[i])) {
			value = value * 10 + (text[i] - '0');
			place *= 10;
			digits++;
		} else if (text[i] == '.' && place == 0) {
			place = 1;
		} else if (digits && i + 1 == len &&
			   admission_parse_unit(text[i]) > 0) {
			value *= admission_parse_unit(text[i]);
		} else {
			return -1;
		}
	}
	if (!digits)
		return -1;
	return place > 0 ? value / place : value;
}

static int admission_parse_read_option(const struct admission_policy *policy,
				       const char *text, size_t len,
				       struct admission_config *c)
{
	const char *equal = memchr(text, '=', len);
	const struct admission_option *o;
	size_t name_len;
	double value;

	if (!equal)
		return SCD_EINVAL;
	name_len = (size_t)(equal - text);
	o = admission_parse_find_option(policy, text, name_len);
	if (!o)
		return SCD_EINVAL;
	value = admission_parse_number(equal + 1, len - name_len - 1);
	if (!(value >= o->least && value <= o->most && value <= count_max))
		return SCD_EINVAL;
	admission_set(c, o, value);
	return 0;
}

int admission_parse(const char *text, const struct admission_policy **policy,
		    struct admission_config *c)
{
	size_t len = strcspn(text, ",");
	char name[NAME_MAX_BYTES];
	int err = 0;

	if (len >= sizeof(name))
		return SCD_EINVAL;
	memcpy(name, text, len);
	name[len] = '\0';
	*policy = admission_find(name);
	if (!*policy)
		return SCD_EINVAL;
	while (!err && text[len] == ',') {
		text += len + 1;
		len = strcspn(text, ",");
		err = admission_parse_read_option(*policy, text, len, c);
	}
	return err;
}
