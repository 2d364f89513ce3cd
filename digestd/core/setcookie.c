/*
 * Set-Cookie, and other fields that are for one client.
 */
#include "digestd/core/setcookie.h"

#include <stddef.h>

#include "digestd/core/answer.h"
#include "digestd/core/fields.h"
#include "digestd/core/words.h"

const char *const setcookie_names[] = { "refuse", "strip", "allow", NULL };

bool setcookie_read(const char *name, enum set_cookie *out)
{
	int i = words_find(setcookie_names, name);

	if (i >= 0)
		*out = (enum set_cookie)i;
	return i >= 0;
}

/* By name, of those that no-cache and private list. */
static bool setcookie_is_listed(const struct answer *a, const char *name)
{
	return (a->cc.no_cache_fields || a->cc.private_fields) &&
	       cachecontrol_withholds(a->fields, name);
}

bool setcookie_refuses(const struct answer *a)
{
	return a->set_cookie == SET_COOKIE_REFUSE &&
	       fields_get(a->fields, "Set-Cookie") &&
	       !setcookie_is_listed(a, "Set-Cookie");
}

static bool setcookie_withholds_field(const struct answer *a, const char *name)
{
	if (a->set_cookie != SET_COOKIE_ALLOW &&
	    field_name_is(name, "Set-Cookie"))
		return true;
	return setcookie_is_listed(a, name);
}

bool setcookie_withholds(const struct answer *a)
{
	for (size_t i = 0; i < fields_count(a->fields); i++) {
		if (setcookie_withholds_field(a, fields_at(a->fields, i)->name))
			return true;
	}
	return false;
}

void setcookie_remove_withheld(const struct answer *a, struct fields *f)
{
	for (size_t i = 0; i < fields_count(a->fields); i++) {
		const char *name = fields_at(a->fields, i)->name;

		if (setcookie_withholds_field(a, name))
			fields_remove(f, name);
	}
}

int setcookie_add_withheld(const struct answer *a, struct fields *f)
{
	int err = 0;

	for (size_t i = 0; i < fields_count(a->fields) && !err; i++) {
		const struct field *line = fields_at(a->fields, i);

		if (setcookie_withholds_field(a, line->name))
			err = fields_add(f, line->name, line->value);
	}
	return err;
}
