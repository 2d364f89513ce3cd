/*
 * Set-Cookie, and other fields that are for one client.
 */
#include "digestd/http/setcookie.h"

#include <stddef.h>

#include "digestd/http/field_names.h"
#include "digestd/http/fields.h"
#include "digestd/http/enum_names.h"
#include "digestd/http/response_facts.h"

const char *const setcookie_names[] = { "refuse", "strip", "allow", NULL };

bool setcookie_read(const char *name, enum set_cookie *out)
{
	int i = enum_names_find(setcookie_names, name);

	if (i >= 0)
		*out = (enum set_cookie)i;
	return i >= 0;
}

static bool setcookie_has_lists(const struct response_facts *a)
{
	return a->cc.no_cache_fields || a->cc.private_fields;
}

bool setcookie_refuses(const struct response_facts *a)
{
	return a->set_cookie == SET_COOKIE_REFUSE &&
	       fields_get(a->fields, "Set-Cookie") &&
	       !(setcookie_has_lists(a) &&
		 cachecontrol_withholds(&a->cc, a->fields,
					"Set-Cookie"));
}

static void setcookie_mark(struct field_names *names, const void *arg)
{
	static const char name[] = "Set-Cookie";
	const struct response_facts *a = arg;

	if (a->set_cookie != SET_COOKIE_ALLOW)
		field_names_mark(names, (struct field_part){
						name, sizeof(name) - 1 });
	if (setcookie_has_lists(a))
		cachecontrol_mark_withheld(&a->cc, a->fields, names);
}

int setcookie_withheld(const struct response_facts *a, struct fields *withheld)
{
	const struct field_names_wanted names = { setcookie_mark, a };
	bool found[FIELD_NAMES_LINES];
	int err = 0;
	size_t n;

	fields_init(withheld);
	if (!setcookie_has_lists(a) && /* nearly all */
	    (a->set_cookie == SET_COOKIE_ALLOW ||
	     !fields_get(a->fields, "Set-Cookie")))
		return 0;
	for (size_t first = 0;
	     (n = field_names_find(a->fields, first, &names, found));
	     first += n) {
		for (size_t i = 0; i < n && !err; i++) {
			const struct field *line = fields_at(a->fields,
							     first + i);

			if (found[i])
				err = fields_borrow(withheld, line->name,
						    line->value);
		}
	}
	if (err)
		fields_free(withheld);
	return err;
}

int setcookie_shared(const struct fields *response,
		     const struct fields *withheld, struct fields *shared)
{
	size_t next = 0; /* of those withheld, which are in the same order */
	int err = 0;

	fields_init(shared);
	for (size_t i = 0; i < fields_count(response) && !err; i++) {
		const struct field *line = fields_at(response, i);

		if (next < fields_count(withheld) &&
		    fields_at(withheld, next)->name == line->name)
			next++;
		else
			err = fields_borrow(shared, line->name, line->value);
	}
	if (err)
		fields_free(shared);
	return err;
}

int setcookie_add_withheld(const struct fields *withheld, struct fields *f)
{
	int err = 0;

	for (size_t i = 0; i < fields_count(withheld) && !err; i++) {
		const struct field *line = fields_at(withheld, i);

		err = fields_add(f, line->name, line->value);
	}
	return err;
}
