/*
 * The listeners, each held against the others. An address without a host is
 * every address of both families, "0.0.0.0" and "[::]" those of one of them.
 */
#include "digestd/config/configuration_listeners.h"

#include <assert.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/configuration_check.h"

struct endpoint {
	bool v4, v6;  /* families that it listens on */
	bool any;     /* all their addresses */
	unsigned char address[16];
	long port;
};

/* The text has been checked: it is an address (value_is_address()). */
static struct endpoint configuration_listeners_endpoint_parse(const char *text)
{
	static const unsigned char none[16];
	const char *colon = strrchr(text, ':');
	size_t len = (size_t)(colon - text);
	struct endpoint e = { .port = strtol(colon + 1, NULL, 10) };
	char host[64] = "";

	e.v6 = !len || text[0] == '[';
	e.v4 = text[0] != '[';
	if (len && e.v6)
		memcpy(host, text + 1, len - 2);
	else
		memcpy(host, text, len);
	if (len)
		inet_pton(e.v6 ? AF_INET6 : AF_INET, host, e.address);
	e.any = !memcmp(e.address, none, sizeof(none));
	return e;
}

/* Port 0 is one of its own each time. */
static bool configuration_listeners_endpoint_overlaps(const struct endpoint *a,
						      const struct endpoint *b)
{
	if (a->port != b->port || !a->port)
		return false;
	if (!(a->v4 && b->v4) && !(a->v6 && b->v6))
		return false;
	return a->any || b->any ||
	       !memcmp(a->address, b->address, sizeof(a->address));
}

void config_listeners_check(const struct config *c,
			    const struct config_check *check)
{
	const struct {
		const char *option, *text;
	} all[] = {
		{ "listen_data", c->listen_data },
		{ "listen_peer", c->listen_peer },
		{ "listen_admin", c->listen_admin },
	};

	assert(check->errors && check->line_of);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		for (size_t j = 0; j < i && all[i].text; j++) {
			struct endpoint
				a = configuration_listeners_endpoint_parse(
					all[i].text),
				b;

			if (!all[j].text)
				continue;
			b = configuration_listeners_endpoint_parse(all[j].text);
			if (!configuration_listeners_endpoint_overlaps(&a, &b))
				continue;
			config_report_option(check, all[i].option,
					     check->errors);
			config_report(check->errors, "\"%s\" is the port of "
				      "%s (\"%s\", line %u)\n", all[i].text,
				      all[j].option, all[j].text,
				      check->line_of(all[j].option));
		}
	}
}
