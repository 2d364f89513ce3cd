/*
 * Protocols are names, or names and versions: "websocket", "HTTP/2.0". Names
 * compare without case.
 */
#include "digestd/http/upgrade.h"

#include <stddef.h>

#include "digestd/http/fields.h"

static bool upgrade_is_refused(struct field_part protocol)
{
	static const char *const names[] = { "http", "h2", "h2c", "tls" };
	struct field_part name = field_part_take(&protocol, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (field_part_is(name, names[i]))
			return true;
	}
	return false;
}

bool upgrade_may_pass(const struct fields *request)
{
	struct field_cursor cursor = { 0 };
	struct field_part protocol;
	bool any = false;

	while (fields_next(request, "Upgrade", &cursor, &protocol)) {
		if (upgrade_is_refused(protocol))
			return false;
		any = true;
	}
	return any;
}

const char *upgrade_chosen(const struct fields *request,
			   const struct fields *response)
{
	const char *protocol = fields_get(response, "Upgrade");

	return protocol && fields_has_token(request, "Upgrade", protocol) ?
		       protocol : NULL;
}
