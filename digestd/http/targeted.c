/*
 * Targeted cache control: two fields, two grammars, the same directives.
 */
#include "digestd/http/targeted.h"

#include <string.h>

#include "digestd/http/cachecontrol.h"
#include "digestd/http/dictionary.h"

static const char cdn[] = "CDN-Cache-Control";
static const char surrogate[] = "Surrogate-Control";

static int64_t targeted_clamp(int64_t seconds)
{
	return seconds > INT32_MAX ? INT32_MAX : seconds;
}

/* Of a key that comes twice the last counts, and ?0 says nothing. Of a limit,
 * what is no integer, or negative, counts as 0, as in Cache-Control. */
static void targeted_take_member(struct cachecontrol *cc,
				 const struct dictionary_member *m)
{
	struct cachecontrol_argument argument = { .given = true,
						  .seconds = -1 };

	cachecontrol_forget(cc, m->key);
	if (m->type == DICTIONARY_BOOLEAN && !m->number)
		return;
	if (m->type == DICTIONARY_BOOLEAN)
		argument.given = false;
	if (m->type == DICTIONARY_INTEGER)
		argument.seconds = targeted_clamp(m->number);
	cachecontrol_take(cc, m->key, argument);
}

static bool targeted_is_dictionary(const struct fields *f)
{
	struct dictionary_cursor cursor = { 0 };
	struct dictionary_member m;
	bool any = false;

	if (!fields_may_have(f, cdn)) /* only saves time */
		return false;
	while (dictionary_next(f, cdn, &cursor, &m))
		any = true;
	return any && !cursor.failed;
}

static bool targeted_read_cdn(const struct fields *f, struct cachecontrol *out)
{
	struct dictionary_cursor cursor = { 0 };
	struct dictionary_member m;

	if (!targeted_is_dictionary(f))
		return false;
	cachecontrol_init(out);
	while (dictionary_next(f, cdn, &cursor, &m))
		targeted_take_member(out, &m);
	return true;
}

/* Whether a directive is for everybody, or for this device too. */
static bool targeted_is_for(struct field_part targets, const char *name)
{
	bool any = false;

	while (targets.len) {
		struct field_part target = field_part_take(&targets, ';');

		if (field_part_is(target, name))
			return true;
		any = any || target.len;
	}
	return !any;
}

/* What is served stale while it is fetched again, behind a plus, is left
 * out. */
static int64_t targeted_surrogate_seconds(struct field_part value)
{
	if (value.len >= 2 && value.at[0] == '"') {
		value.at++;
		value.len -= 2;
	}
	return field_seconds(field_part_take(&value, '+'));
}

static bool targeted_read_surrogate(const struct fields *f, const char *name,
				    struct cachecontrol *out)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };
	bool any = false;

	while (fields_next(f, surrogate, &cursor, &element)) {
		struct field_part directive = field_part_take(&element, ';');
		struct field_part key = field_part_take(&directive, '=');

		if (!targeted_is_for(element, name) ||
		    (!field_part_is(key, "max-age") &&
		     !field_part_is(key, "no-store")))
			continue;
		if (!any)
			cachecontrol_init(out);
		any = true;
		cachecontrol_take(out, key,
				  (struct cachecontrol_argument){
					  .given = directive.len > 0,
					  .seconds = targeted_surrogate_seconds(
						  directive)});
	}
	return any;
}

bool targeted_read(const struct fields *response, const char *name,
		   struct cachecontrol *out)
{
	if (!targeted_read_cdn(response, out) &&
	    !targeted_read_surrogate(response, name, out))
		return false;
	out->targeted = true;
	return true;
}

int targeted_announce(struct fields *request, const char *name)
{
	static const char capability[] = "=\"Surrogate/1.0\"";
	size_t len = strlen(name);
	char text[300];

	if (len + sizeof(capability) > sizeof(text))
		return 0; /* a name as long as that is nobody's target */
	memcpy(text, name, len);
	memcpy(text + len, capability, sizeof(capability));
	return fields_add(request, "Surrogate-Capability", text);
}
