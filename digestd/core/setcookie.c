/*
 * Set-Cookie, and other fields that are for one client.
 */
#include "digestd/core/setcookie.h"

#include <stddef.h>

#include "digestd/core/answer.h"
#include "digestd/core/field_names.h"
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

static bool setcookie_has_lists(const struct answer *a)
{
	return a->cc.no_cache_fields || a->cc.private_fields;
}

bool setcookie_refuses(const struct answer *a)
{
	return a->set_cookie == SET_COOKIE_REFUSE &&
	       fields_get(a->fields, "Set-Cookie") &&
	       !(setcookie_has_lists(a) &&
		 cachecontrol_withholds(a->fields, "Set-Cookie"));
}

static void setcookie_mark(struct field_names *names, const void *arg)
{
	static const char name[] = "Set-Cookie";
	const struct answer *a = arg;

	if (a->set_cookie != SET_COOKIE_ALLOW)
		field_names_mark(names, (struct field_part){
						name, sizeof(name) - 1 });
	if (setcookie_has_lists(a))
		cachecontrol_mark_withheld(a->fields, names);
}

bool setcookie_withholds(const struct answer *a)
{
	const struct field_names_wanted withheld = { setcookie_mark, a };
	bool found[FIELD_NAMES_LINES], any = false;
	size_t n;

	if (!setcookie_has_lists(a)) /* nearly all */
		return a->set_cookie != SET_COOKIE_ALLOW &&
		       fields_get(a->fields, "Set-Cookie");
	for (size_t first = 0;
	     (n = field_names_find(a->fields, first, &withheld, found));
	     first += n) {
		for (size_t i = 0; i < n; i++)
			any = any || found[i];
	}
	return any;
}

void setcookie_remove_withheld(const struct answer *a, struct fields *f)
{
	const struct field_names_wanted withheld = { setcookie_mark, a };

	field_names_remove(f, &withheld);
}

int setcookie_add_withheld(const struct answer *a, struct fields *f)
{
	const struct field_names_wanted withheld = { setcookie_mark, a };
	bool found[FIELD_NAMES_LINES];
	int err = 0;
	size_t n;

	for (size_t first = 0;
	     (n = field_names_find(a->fields, first, &withheld, found));
	     first += n) {
		for (size_t i = 0; i < n && !err; i++) {
			const struct field *line = fields_at(a->fields,
							     first + i);

			if (found[i])
				err = fields_add(f, line->name, line->value);
		}
	}
	return err;
}
