/*
 * What only the whole configuration can tell.
 */
#include "digestd/config/configuration_check.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/uri.h"
#include "digestd/config/config_section.h"
#include "digestd/config/configuration_key.h"
#include "digestd/config/configuration_listeners.h"
#include "digestd/config/configuration_needs.h"
#include "digestd/config/configuration_sidecar.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/peerset.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/node/site.h"
#include "digestd/os/listen_path.h"
#include "digestd/os/syslog_socket.h"

/* What the program, its tables and what is on its way need at least. */
enum { MEMORY_BESIDE_CACHE = 32 << 20 };

/* Smaller slices would cost more than their bytes. */
enum { MIN_SLICE_SIZE = 4096 };

/* Two runs of them find room (proxy/fill_cut.c). */
enum { SLICES_IN_CACHE = 16 };

/* Where an option was given last; null: nowhere. */
static const struct config_node *
configuration_check_node_of(const struct config_check *check,
			    const char *option)
{
	const struct config_node *n = NULL, *next = check->first;

	while ((next = config_section_find(next, option))) {
		n = next;
		next = next->next;
	}
	return n;
}

unsigned config_check_line(const struct config_check *check,
			   const char *option)
{
	const struct config_node *n =
		configuration_check_node_of(check, option);

	return n ? n->line : 0;
}

void config_report_option(const struct config_check *check, const char *option,
			  struct config_errors *to)
{
	const struct config_node *n =
		configuration_check_node_of(check, option);

	if (n)
		config_report(to, "%s:%u: %s: ", n->file, n->line, option);
	else
		config_report(to, "%s: %s: ", check->path, option);
}

int config_canonical_host(char **name)
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

static void configuration_check_origins(struct config *c,
					struct config_errors *errors)
{
	for (size_t i = 0; i < c->norigins; i++) {
		struct upstream *o = &c->origins[i];

		if (config_canonical_host(&o->name))
			config_report(errors,
				      "%s: origin \"%s\": is not a host\n",
				      o->where, o->name);
		if (upstream_count_urls(o->url) > UPSTREAM_URLS_MAX)
			config_report(errors, "%s: origin \"%s\": url: more "
				      "than %d\n", o->where, o->name,
				      UPSTREAM_URLS_MAX);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(c->origins[j].name, o->name) != 0)
				continue;
			config_report(errors,
				      "%s: origin \"%s\" is given twice, "
				      "first at %s\n", o->where, o->name,
				      c->origins[j].where);
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

/* Peers that are not this node, which a configuration that is the same for all
 * nodes has, too. By another name than its own it is counted: where that leads,
 * only the node itself finds out. */
static size_t configuration_check_count_others(const struct config *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->npeers; i++)
		n += !c->node || strcmp(c->peers[i].name, c->node) != 0;
	return n;
}

/* A majority is of a number that all nodes know, and that does not change by
 * itself, as that of members that are found does. */
static void configuration_check_strict(const struct config *c,
				       const struct config_check *check)
{
	const size_t others = configuration_check_count_others(c);

	if (!others || c->members || !c->purge_peers) {
		configuration_check_refuse(
			check, "invalidation",
			"strict needs purge_peers, and all other nodes in peer "
			"sections, not members");
	} else if (others == 1) {
		config_report_option(check, "invalidation", check->warnings);
		config_report(check->warnings,
			      "strict: two nodes are no majority without each "
			      "other: while one is away the other asks the "
			      "origin for each request; of three, one may "
			      "be\n");
	}
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
		    invalidation_mode_names[INVALIDATION_STRICT]))
		configuration_check_strict(c, check);
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

/* Whether a site has an origin; a host that has one of its own, too, would
 * never get there. */
static bool configuration_check_site_origins(const struct config *c,
					     struct config_errors *errors)
{
	bool any = false;

	for (size_t i = 0; c->sites && i < c->sites->n; i++)
		any |= c->sites->at[i].origin != NULL;
	for (size_t i = 0; i < c->norigins; i++) {
		const char *host = c->origins[i].name;
		const struct site *site = sites_find(c->sites, host,
						     strlen(host));

		for (size_t j = 0; site && site->origin && j < site->nnames;
		     j++) {
			if (strcmp(site->names[j], host) != 0)
				continue;
			config_report(errors, "%s: origin \"%s\": the site of "
				      "this name has an origin, in %s\n",
				      c->origins[i].where, host, site->where);
		}
	}
	return any;
}

/* Something can be made there: the folder around it exists. What else may be
 * wrong is told when it is opened, by the process that does. */
static void configuration_check_around(const struct config_check *check,
				       const char *option, const char *path)
{
	size_t len = strlen(path);
	char folder[PATH_MAX];
	struct stat st;

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	snprintf(folder, sizeof(folder), "%.*s", len ? (int)len : 1,
		 len ? path : ".");
	if (!stat(folder, &st) || (errno != ENOENT && errno != ENOTDIR))
		return;
	config_report_option(check, option, check->errors);
	config_report(check->errors, "there is no folder %s\n", folder);
}

/* A path at which a socket is to be opened. */
static void configuration_check_socket(const struct config_check *check,
				       const char *option, const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && !S_ISSOCK(st.st_mode))
		configuration_check_refuse(check, option,
					   "something that is no socket is "
					   "there");
	configuration_check_around(check, option, path);
}

/* One of a file that is written. */
static void configuration_check_file(const struct config_check *check,
				     const char *option, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		configuration_check_refuse(check, option, "is a folder");
	else
		configuration_check_around(check, option, path);
}

/* One at a UNIX socket. */
static void configuration_check_listener(const struct config_check *check,
					 const char *option,
					 const char *address)
{
	struct listen_local_rights rights;
	struct listen_path_text text;
	const char *unknown;

	if (!address || !listen_path_read(address, &text))
		return;
	configuration_check_socket(check, option, text.path);
	unknown = listen_path_rights(&text, &rights);
	if (!unknown)
		return;
	config_report_option(check, option, check->errors);
	config_report(check->errors, "there is no %s %s\n", unknown,
		      *unknown == 'u' ? text.user : text.group);
}

static void configuration_check_paths(const struct config *c,
				      const struct config_check *check)
{
	struct stat st;

	if (c->access_log && strcmp(c->access_log, "stdout") != 0 &&
	    !syslog_socket_is_meant(c->access_log))
		configuration_check_file(check, "access_log", c->access_log);
	configuration_check_listener(check, "listen_data", c->listen_data);
	configuration_check_listener(check, "listen_admin", c->listen_admin);
	if (c->control && strcmp(c->control, "none") != 0)
		configuration_check_socket(check, "control", c->control);
	if (c->disk_path && !stat(c->disk_path, &st) && !S_ISDIR(st.st_mode))
		configuration_check_refuse(check, "disk_path",
					   "is not a folder");
	else if (c->disk_path)
		configuration_check_around(check, "disk_path", c->disk_path);
	if (c->admission_file)
		configuration_check_file(check, "admission_file",
					 c->admission_file);
	if (c->sidecar_feed)
		configuration_check_socket(check, "sidecar_feed",
					   c->sidecar_feed);
	if (c->share_table)
		configuration_check_file(check, "share_table", c->share_table);
}

void config_check_whole(struct config *c, const struct config_check *check)
{
	struct config_errors *errors = check->errors;
	const char *path = check->path;
	bool site_origins;

	assert(check->path);
	assert(check->errors && check->warnings);
	configuration_check_node(c, check);
	configuration_check_origins(c, errors);
	site_origins = configuration_check_site_origins(c, errors);
	if (!c->listen_data)
		config_report(errors, "%s: listen_data: not given\n", path);
	if (!site_origins && !c->norigins && !c->default_origin && !c->forward)
		config_report(errors, "%s: no origin section, no "
			      "default_origin, and forward is off: there is "
			      "nowhere to send requests\n", path);
	if (c->default_origin &&
	    upstream_count_urls(c->default_origin) > UPSTREAM_URLS_MAX) {
		config_report_option(check, "default_origin", errors);
		config_report(errors, "more than %d\n", UPSTREAM_URLS_MAX);
	}
	configuration_check_ranges(c, check);
	config_sidecar_check(c, check);
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
	config_needs_check(c, check);
	configuration_check_paths(c, check);
	config_listeners_check(c, check);
	config_listeners_check_upstreams(c, check);
	config_listeners_check_open(c, check);
	config_key_load(c, check);
}
