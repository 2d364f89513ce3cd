/*
 * What only the whole configuration can tell.
 */
#include "digestd/config/configuration_check.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/uri.h"
#include "digestd/config/configuration_key.h"
#include "digestd/config/configuration_listeners.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/peerset.h"
#include "digestd/mesh/serving_lease.h"

/* What the program, its tables and what is on its way need at least. */
enum { MEMORY_BESIDE_CACHE = 32 << 20 };

/* Smaller slices would cost more than their bytes. */
enum { MIN_SLICE_SIZE = 4096 };

/* Two runs of them find room (proxy/fill_cut.c). */
enum { SLICES_IN_CACHE = 16 };

void config_report(struct config_errors *e, const char *format, ...)
{
	va_list args;
	size_t room;
	int n;

	assert(e->len < sizeof(e->text));
	room = sizeof(e->text) - e->len;
	va_start(args, format);
	n = vsnprintf(e->text + e->len, room, format, args);
	va_end(args);
	if (n > 0)
		e->len += (size_t)n < room ? (size_t)n : room - 1;
}

void config_report_option(const struct config_check *check, const char *option,
			  struct config_errors *to)
{
	unsigned line = check->line_of(option);

	if (line)
		config_report(to, "%s:%u: %s: ", check->path, line, option);
	else
		config_report(to, "%s: %s: ", check->path, option);
}

/* "WWW.Example.com:80" as requests know it: "www.example.com". */
static int configuration_check_canonical_host(char **name)
{
	size_t room = strlen(*name) + 16, len;
	char *uri = malloc(room), *canonical = malloc(room);
	int err = -ENOMEM;

	if (uri && canonical) {
		snprintf(uri, room, "http://%s/", *name);
		err = strpbrk(*name, "/?#@") ||
				      scd_uri_canonical(uri, strlen(uri),
							canonical, room, &len) ?
			      -EINVAL :
			      0;
	}
	if (!err) {
		/* between "http://" and the last slash; never longer */
		memcpy(*name, canonical + 7, len - 8);
		(*name)[len - 8] = '\0';
	}
	free(uri);
	free(canonical);
	return err;
}

static void configuration_check_origins(struct config *c, const char *path,
					struct config_errors *errors)
{
	for (size_t i = 0; i < c->norigins; i++) {
		struct upstream *o = &c->origins[i];

		if (!*o->url)
			config_report(errors,
				      "%s: origin \"%s\": url: not given\n",
				      path, o->name);
		if (configuration_check_canonical_host(&o->name))
			config_report(errors,
				      "%s: origin \"%s\": is not a host\n",
				      path, o->name);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(c->origins[j].name, o->name) != 0)
				continue;
			config_report(errors,
				      "%s: origin \"%s\" is given twice\n",
				      path, o->name);
			break;
		}
	}
}

static void configuration_check_refuse(const struct config_check *check,
				       const char *option, const char *why)
{
	config_report_option(check, option, check->errors);
	config_report(check->errors, "%s\n", why);
}

/* Options that do not fit to each other, or that have a gap in their range. */
static void configuration_check_ranges(const struct config *c,
				       const struct config_check *check)
{
	if (c->publish_max_ms < c->publish_min_ms)
		configuration_check_refuse(check, "publish_max",
					   "must be at least publish_min");
	if (c->bits_per_object == 1)
		configuration_check_refuse(check, "bits_per_object",
					   "must be 0, or at least 2");
	if (c->slice_size && c->slice_size < MIN_SLICE_SIZE)
		configuration_check_refuse(check, "slice_size",
					   "must be 0, or at least 4K");
	if (c->filter_max < c->filter_min)
		configuration_check_refuse(check, "filter_max",
					   "must be at least filter_min");
	if (c->proxy_protocol_data &&
	    (!c->trusted_proxies || !*c->trusted_proxies))
		configuration_check_refuse(
			check, "proxy_protocol_data",
			"needs trusted_proxies: the load balancers whose PROXY "
			"header is believed");
	if (!strcmp(c->invalidation,
		    invalidation_mode_names[INVALIDATION_STRICT]) &&
	    (!c->npeers || c->members || !c->purge_peers))
		configuration_check_refuse(
			check, "invalidation",
			"strict needs purge_peers, and all other nodes in peer "
			"sections, not members");
	if (c->memory_limit &&
	    c->memory_limit - c->cache_size < MEMORY_BESIDE_CACHE)
		configuration_check_refuse(
			check, "memory_limit",
			"must be at least cache_size + 32M");
}

/* Without a name the node has its host's. */
static void configuration_check_node(struct config *c,
				     const struct config_check *check)
{
	char name[HOST_NAME_MAX + 1] = "";

	if (c->node)
		return;
	gethostname(name, sizeof(name) - 1);
	if (!field_is_token(name, strlen(name)))
		config_report(check->errors, "%s: node: not given, and the "
			      "host's name, \"%s\", is not a token\n",
			      check->path, name);
	else if (!(c->node = strdup(name)))
		config_report(check->errors, "%s: out of memory\n",
			      check->path);
}

void config_check_whole(struct config *c, const struct config_check *check)
{
	struct config_errors *errors = check->errors;
	const char *path = check->path;

	assert(check->path && check->line_of);
	assert(check->errors && check->warnings);
	configuration_check_node(c, check);
	if (!c->listen_data)
		config_report(errors, "%s: listen_data: not given\n", path);
	if (!c->norigins && !c->default_origin && !c->forward)
		config_report(errors, "%s: no origin section, no "
			      "default_origin, and forward is off: there is "
			      "nowhere to send requests\n", path);
	configuration_check_ranges(c, check);
	if (c->slice_size > c->cache_size / SLICES_IN_CACHE)
		c->slice_size = c->cache_size / SLICES_IN_CACHE;
	if (c->max_object_size > c->cache_size)
		c->max_object_size = c->cache_size;
	if (c->npeers > PEERSET_MAX_PEERS)
		config_report(errors, "%s: more than %d peers\n", path,
			      PEERSET_MAX_PEERS);
	if (c->leases && !c->peer_tries) {
		config_report_option(check, "leases", check->warnings);
		config_report(check->warnings, "has no effect, as peer_tries "
			      "= 0 has no peer asked\n");
	}
	for (size_t i = 0; i < c->npeers; i++) {
		if (!*c->peers[i].url)
			config_report(errors,
				      "%s: peer \"%s\": url: not given\n",
				      path, c->peers[i].name);
	}
	configuration_check_origins(c, path, errors);
	config_listeners_check(c, check);
	config_key_load(c, check);
}
