/*
 * What only the whole configuration can tell.
 */
#include "digestd/config/configuration_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/uri.h"
#include "digestd/core/hexdigit.h"

void config_report(struct config_errors *e, const char *format, ...)
{
	size_t room = sizeof(e->text) - e->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(e->text + e->len, room, format, args);
	va_end(args);
	if (n > 0)
		e->len += (size_t)n < room ? (size_t)n : room - 1;
}

static bool read_key(const char *text, uint8_t key[SCD_SECRET_BYTES])
{
	for (unsigned i = 0; i < SCD_SECRET_BYTES; i++) {
		int high = hexdigit_value(text[2 * i]);
		int low = high < 0 ? -1 : hexdigit_value(text[2 * i + 1]);

		if (low < 0)
			return false;
		key[i] = (uint8_t)(high << 4 | low);
	}
	return !text[2 * SCD_SECRET_BYTES];
}

static void take_key_file(struct config *c, const char *path,
			  struct config_errors *errors)
{
	char line[128] = "";
	FILE *file = fopen(c->cluster_key_file, "re");

	if (!file || !fgets(line, sizeof(line), file)) {
		config_report(errors, "%s: cluster_key_file: %s: %s\n", path,
			      c->cluster_key_file,
			      file ? "is empty" : strerror(errno));
	} else {
		line[strcspn(line, " \t\r\n")] = '\0';
		c->has_key = read_key(line, c->key);
		if (!c->has_key)
			config_report(errors,
				      "%s: cluster_key_file: %s: not 32 "
				      "hexadecimal digits\n", path,
				      c->cluster_key_file);
	}
	explicit_bzero(line, sizeof(line));
	if (file)
		fclose(file);
}

/* Where LoadCredential= of digestd.service puts the key; NULL: nowhere. */
static char *config_credential_path(void)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char path[4096];

	if (!folder)
		return NULL;
	snprintf(path, sizeof(path), "%s/cluster.key", folder);
	return access(path, F_OK) ? NULL : strdup(path);
}

static void check_key(struct config *c, const char *path,
		      struct config_errors *errors)
{
	if (!c->cluster_key && !c->cluster_key_file &&
	    (c->listen_peer || c->npeers))
		c->cluster_key_file = config_credential_path();
	if (c->cluster_key && c->cluster_key_file) {
		config_report(errors, "%s: cluster_key and cluster_key_file: "
			      "give one of them\n", path);
	} else if (c->cluster_key_file) {
		take_key_file(c, path, errors);
	} else if (c->cluster_key) {
		c->has_key = read_key(c->cluster_key, c->key);
		if (!c->has_key)
			config_report(errors, "%s: cluster_key: not 32 "
				      "hexadecimal digits\n", path);
	} else if (c->listen_peer || c->npeers) {
		config_report(errors, "%s: cluster_key: needed for listen_peer "
			      "and peer sections\n", path);
	}
}

/* "WWW.Example.com:80" as requests know it: "www.example.com". */
static int canonical_host(char **name)
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

static void check_origins(struct config *c, const char *path,
			  struct config_errors *errors)
{
	for (size_t i = 0; i < c->norigins; i++) {
		struct upstream *o = &c->origins[i];

		if (!*o->url)
			config_report(errors,
				      "%s: origin \"%s\": url: not given\n",
				      path, o->name);
		if (canonical_host(&o->name))
			config_report(errors,
				      "%s: origin \"%s\": is not a host\n",
				      path, o->name);
	}
}

void config_check_whole(struct config *c, const char *path,
			struct config_errors *errors)
{
	if (!c->node)
		config_report(errors, "%s: node: not given\n", path);
	if (!c->listen_data)
		config_report(errors, "%s: listen_data: not given\n", path);
	if (!c->norigins && !c->default_origin && !c->forward)
		config_report(errors, "%s: no origin section, no "
			      "default_origin, and forward is off: there is "
			      "nowhere to send requests\n", path);
	if (c->publish_max_ms < c->publish_min_ms)
		config_report(errors, "%s: publish_max: shorter than "
			      "publish_min\n", path);
	if (c->filter_max < c->filter_min)
		config_report(errors, "%s: filter_max: smaller than "
			      "filter_min\n", path);
	if (c->admission_ram != 0 &&
	    (c->admission_ram < .0001 || c->admission_ram > .9))
		config_report(errors, "%s: admission_ram: not 0 or within "
			      "0.0001 to 0.9\n", path);
	if (c->max_object_size > c->cache_size)
		c->max_object_size = c->cache_size;
	for (size_t i = 0; c->node && i < c->npeers; i++) {
		if (!strcmp(c->peers[i].name, c->node))
			config_report(errors, "%s: peer \"%s\": is this "
				      "node's own name\n", path, c->node);
	}
	for (size_t i = 0; i < c->npeers; i++) {
		if (!*c->peers[i].url)
			config_report(errors,
				      "%s: peer \"%s\": url: not given\n",
				      path, c->peers[i].name);
	}
	check_origins(c, path, errors);
	check_key(c, path, errors);
}
