/*
 * The configuration.
 *
 * Sizes and times are strings to libconfuse ("64M", "1.5s" is not one of them,
 * "1500ms" is): their rows say how to read them, and the values stay in the
 * unit of the member that they fill.
 */
#include "digestd/config/configuration.h"

#include <confuse.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "codec/admission.h"
#include "codec/uri.h"
#include "digestd/config/configuration_tls.h"
#include "digestd/config/value.h"
#include "digestd/core/admission_tell.h"
#include "digestd/core/fields.h"
#include "digestd/core/generations.h"
#include "digestd/core/hexdigit.h"
#include "digestd/core/placement.h"
#include "digestd/core/store.h"
#include "digestd/disk/disk.h"
#include "digestd/io/admitter.h"

enum kind {
	TEXT,    /* a string; null when it is not given */
	TOKEN,   /* a string of token characters */
	ADDRESS, /* "127.0.0.1:8080", "[::1]:8080", ":8080" */
	URL,     /* "http://host:port" */
	FOLDER,  /* an absolute path, of the disk tier */
	POLICY,  /* the name of an eviction policy */
	ADMISSION, /* ... of an admission policy */
	TELL,    /* none, nginx or field */
	PLACEMENT,
	LEVEL,   /* of the log */
	VERSION, /* of TLS */
	NUMBER,
	SIZE,    /* bytes: 64K, 64M, 64G */
	TIME_MS, /* 500ms, 30s, 5m, 1h */
	TIME_S,
	SHARE,   /* 0..1 */
	FLAG,
};

struct option {
	const char *name;
	enum kind kind;
	size_t at; /* in struct config */
	const char *value; /* the default, as in a file */
	int64_t min, max;
	bool restart; /* takes effect only at a start */
	const char *help;
};

#define AT(member) offsetof(struct config, member)
#define BIG INT64_MAX
#define HOUR_MS 3600000
#define MAX_ARRAY_BYTES ((int64_t)1 << 37) /* see SCD_BLOOM_MAX_BITS */

/* clang-format off */
static const struct option options[] = {
	{ "node", TOKEN, AT(node), NULL, 0, 0, true,
	  "this node's name in Via, CDN-Loop and Cache-Status" },
	{ "cluster_key", TEXT, AT(cluster_key), NULL, 0, 0, true,
	  "32 hexadecimal digits, the same on all nodes of a cluster" },
	{ "cluster_key_file", TEXT, AT(cluster_key_file), NULL, 0, 0, true,
	  "a file that holds the cluster key" },
	{ "listen_data", ADDRESS, AT(listen_data), NULL, 0, 0, true,
	  "where clients connect" },
	{ "listen_peer", ADDRESS, AT(listen_peer), NULL, 0, 0, true,
	  "where peers connect; needs a cluster key" },
	{ "listen_admin", ADDRESS, AT(listen_admin), NULL, 0, 0, true,
	  "where /metrics and /status.json are served" },
	{ "threads", NUMBER, AT(threads), "1", 1, 256, true,
	  "worker threads; one a core" },
	{ "default_origin", URL, AT(default_origin), NULL, 0, 0, false,
	  "where requests for hosts without an origin section go" },
	{ "forward", FLAG, AT(forward), "false", 0, 0, false,
	  "be a forward proxy for http as well" },
	{ "forward_private", FLAG, AT(forward_private), "false", 0, 0, false,
	  "as a forward proxy, also to private and loopback addresses" },
	{ "cache_size", SIZE, AT(cache_size), "256M", 1 << 16, BIG, false,
	  "memory for stored objects" },
	{ "disk_path", FOLDER, AT(disk_path), NULL, 0, 0, true,
	  "a folder for stored objects, which outlive a restart there" },
	{ "disk_size", SIZE, AT(disk_size), "10G", 1 << 20, BIG, false,
	  "room on disk for them" },
	{ "disk_queue", SIZE, AT(disk_queue), "64M", 1 << 16, BIG, true,
	  "objects that may wait to be written to disk" },
	{ "max_object_size", SIZE, AT(max_object_size), "16M", 1, BIG, false,
	  "larger objects are not stored" },
	{ "vary_limit", NUMBER, AT(vary_limit), "32", 1, STORE_VARIANTS_MAX,
	  false, "variants of one URI that are stored; the oldest makes room" },
	{ "eviction", POLICY, AT(eviction), "sieve", 0, 0, true,
	  "which objects go first: sieve or lru" },
	{ "admission", ADMISSION, AT(admission), "none", 0, 0, true,
	  "what is worth keeping: none, aged, probation or auto" },
	{ "admission_window", NUMBER, AT(admission_window), "0", 0,
	  (int64_t)SCD_ADMISSION_MAX_WINDOW, true,
	  "keys remembered for a second use; 0: 1.5 times the objects" },
	{ "admission_ram", SHARE, AT(admission_ram), "0.02", 0, 1, true,
	  "share of the cache in which objects wait for their second use" },
	{ "admission_write_cost", SHARE, AT(admission_write_cost), "0", 0, 1,
	  false, "what a write costs, in hits, for admission auto" },
	{ "admission_tell", TELL, AT(admission_tell), "none", 0, 0, false,
	  "how a cache in front is told what to keep: none, nginx or field" },
	{ "placement", PLACEMENT, AT(placement), "keep", 0, 0, true,
	  "which copies of an object a cluster keeps: keep, second, ..." },
	{ "admission_file", TEXT, AT(admission_file), NULL, 0, 0, true,
	  "where what was seen is kept across restarts" },
	{ "admission_max_rate", SIZE, AT(admission_max_rate), "0", 0, BIG,
	  false, "bytes a second that are admitted at most; 0: no limit" },
	{ "expected_objects", NUMBER, AT(expected_objects), "0", 0, BIG, false,
	  "objects the digest is sized for at first; 0: cache_size / 4K" },
	{ "bits_per_object", NUMBER, AT(bits_per_object), "32", 2, 1024, false,
	  "bits of the digest for each of them, before coding" },
	{ "filter_resize", FLAG, AT(filter_resize), "true", 0, 0, false,
	  "the digest grows and shrinks with the number of objects" },
	{ "filter_min", SIZE, AT(filter_min), "8K", 8, MAX_ARRAY_BYTES, false,
	  "smallest array of the digest" },
	{ "filter_max", SIZE, AT(filter_max), "512M", 8, MAX_ARRAY_BYTES,
	  false, "largest array of the digest; peers must accept it" },
	{ "filter_shrink_after", TIME_MS, AT(filter_shrink_ms), "5m", 0,
	  24 * HOUR_MS, false, "time with few objects until it shrinks" },
	{ "hash_functions", NUMBER, AT(hash_functions), "3", 1, 32, true,
	  "bits that each object sets" },
	{ "publish_share", SHARE, AT(publish_share), "0.01", 0, 1, false,
	  "share of changed objects that makes a new digest due" },
	{ "publish_min", TIME_MS, AT(publish_min_ms), "100ms", 10, HOUR_MS,
	  false, "shortest time between two digests" },
	{ "publish_max", TIME_MS, AT(publish_max_ms), "500ms", 10,
	  24 * HOUR_MS, false, "longest time until a change is published" },
	{ "keep_generations", NUMBER, AT(keep_generations), "4", 0,
	  GENERATIONS_KEEP_MAX, true,
	  "older digests from which peers get a delta" },
	{ "wait", TIME_S, AT(wait_s), "30s", 0, 600, false,
	  "how long a peer is asked to hold its answer until there is news" },
	{ "poll", TIME_MS, AT(poll_ms), "1s", 10, HOUR_MS, false,
	  "how often a peer that does not hold its answer is asked" },
	{ "digest_max_age", TIME_MS, AT(digest_max_age_ms), "2m", 1000,
	  24 * HOUR_MS, false, "older digests are not consulted" },
	{ "digest_max_size", SIZE, AT(digest_max_bits), "512M", 1024,
	  MAX_ARRAY_BYTES, false, "largest array of a peer's digest" },
	{ "digest_timeout", TIME_MS, AT(digest_timeout_ms), "30s", 100,
	  HOUR_MS, false, "for a digest to arrive, beyond the wait" },
	{ "peer_budget", TIME_MS, AT(peer_budget_ms), "150ms", 1, 60000, false,
	  "time that peers may cost a request before it goes to the origin" },
	{ "peer_timeout", TIME_MS, AT(peer_timeout_ms), "100ms", 1, 60000,
	  false, "time for one peer to answer" },
	{ "peer_connect_timeout", TIME_MS, AT(peer_connect_ms), "50ms", 1,
	  60000, false, "time to connect to a peer" },
	{ "peer_tries", NUMBER, AT(peer_tries), "3", 0, 8, false,
	  "peers asked for one request at most" },
	{ "breaker_failures", NUMBER, AT(breaker_failures), "3", 1, 1000,
	  false, "failures in a row after which a peer is left alone" },
	{ "quarantine", TIME_MS, AT(quarantine_ms), "5m", 1000,
	  24 * HOUR_MS, false, "for a peer whose digest is not true" },
	{ "purge_peers", FLAG, AT(purge_peers), "false", 0, 0, false,
	  "pass a PURGE on to the peers, and let them purge here" },
	{ "origin_connect_timeout", TIME_MS, AT(origin_connect_ms), "5s", 1,
	  HOUR_MS, false, "time to connect to an origin" },
	{ "origin_timeout", TIME_MS, AT(origin_timeout_ms), "60s", 1, HOUR_MS,
	  false, "time for an origin's header to arrive" },
	{ "origin_stall", TIME_S, AT(origin_stall_s), "30s", 1, 3600, false,
	  "an origin that sends nothing for so long is given up" },
	{ "origin_connections", NUMBER, AT(origin_connections), "0", 0, 100000,
	  true, "to one origin, for each thread; 0: no limit" },
	{ "max_connections", NUMBER, AT(max_connections), "4096", 1, 1000000,
	  true, "open at a listener, for each thread" },
	{ "client_connections", NUMBER, AT(client_connections), "0", 0,
	  1000000, true, "of a client's address, for each thread; 0: no limit" },
	{ "header_timeout", TIME_MS, AT(header_timeout_ms), "10s", 10, HOUR_MS,
	  true, "for a client to send a request's header" },
	{ "idle_timeout", TIME_MS, AT(idle_timeout_ms), "60s", 10, HOUR_MS,
	  true, "connections without traffic are closed after it" },
	{ "client_min_rate", SIZE, AT(client_min_rate), "128", 0, BIG, true,
	  "bytes a second that a client must read, or send, at least" },
	{ "max_header_size", SIZE, AT(max_header_size), "8K", 1024, 1 << 24,
	  true, "of requests and responses" },
	{ "max_upload_size", SIZE, AT(max_upload_size), "1G", 0, BIG, false,
	  "of a request's body" },
	{ "stream_window", SIZE, AT(stream_window), "256K", 1024, BIG, false,
	  "buffered of a body that is not stored" },
	{ "drain", TIME_MS, AT(drain_ms), "30s", 0, HOUR_MS, false,
	  "for requests under way to end after SIGTERM" },
#define TLS_FILES(set, whose, who) \
	{ "tls_" #set "_certificate", TEXT, \
	  AT(tls_##set##_files.certificate), NULL, 0, 0, false, \
	  "the certificate of " whose ", with its chain; a file" }, \
	{ "tls_" #set "_key", TEXT, AT(tls_##set##_files.key), NULL, 0, 0, \
	  false, "its private key; a file" }, \
	{ "tls_" #set "_ca", TEXT, AT(tls_##set##_files.authorities), NULL, \
	  0, 0, false, who "; a file" }
	TLS_FILES(data, "listen_data", "who certifies clients that may come"),
	TLS_FILES(peer, "this node, for its peers",
		  "who certifies the nodes of the cluster"),
	TLS_FILES(admin, "listen_admin", "who certifies clients that may come"),
	TLS_FILES(origin, "this node, for origins", "who certifies origins"),
#undef TLS_FILES
	{ "tls_origin_verify", FLAG, AT(tls_origin_verify), "true", 0, 0,
	  false, "origins must have a certificate that is right" },
	{ "tls_oldest", VERSION, AT(tls_oldest), "1.2", 0, 0, false,
	  "version of TLS that is spoken: 1.2 or 1.3" },
	{ "log_level", LEVEL, AT(log_level), "info", 0, 0, false,
	  "error, warning, info or debug" },
};
/* clang-format on */

enum {
	NOPTIONS = sizeof(options) / sizeof(options[0]),
};

/*
 * Where libconfuse's messages go, and where options were seen: its functions
 * have no argument for it. For the time of one config_load(), which only one
 * thread calls.
 */
static struct config_errors *errors_now;
static unsigned lines_now[NOPTIONS]; /* 0: not in the file */

__attribute__((format(printf, 2, 3))) static void
report(struct config_errors *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	config_report(e, format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 0))) static void
on_error(cfg_t *cfg, const char *format, va_list args)
{
	char message[512];

	vsnprintf(message, sizeof(message), format, args);
	report(errors_now, "%s:%d: %s\n",
	       cfg->filename ? cfg->filename : "configuration", cfg->line,
	       message);
}

static const struct option *find_option(const char *name)
{
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (!strcmp(options[i].name, name))
			return &options[i];
	}
	return NULL;
}

/* Values */

static bool read_number(const struct option *o, const char *text, int64_t *out)
{
	switch (o->kind) {
	case SIZE:
		return value_size(text, out);
	case TIME_MS:
		return value_time_ms(text, out);
	case TIME_S:
		if (!value_time_ms(text, out) || *out % 1000)
			return false;
		*out /= 1000;
		return true;
	case NUMBER:
		return value_number(text, out);
	case TEXT:
	case TOKEN:
	case ADDRESS:
	case URL:
	case FOLDER:
	case POLICY:
	case ADMISSION:
	case TELL:
	case PLACEMENT:
	case LEVEL:
	case VERSION:
	case SHARE:
	case FLAG:
		break;
	}
	return false;
}

/* Null when a value is right; otherwise what it should be. */
static const char *fault(const struct option *o, const char *text)
{
	enum admission_tell tell;
	enum placement placement;
	int64_t number;
	double share;

	switch (o->kind) {
	case TEXT:
		return *text ? NULL : "is empty";
	case TOKEN:
		return field_is_token(text, strlen(text)) ?
			       NULL :
			       "is not a token (letters, digits, - . _)";
	case ADDRESS:
		return value_is_address(text) ?
			       NULL :
			       "is not an address such as 127.0.0.1:8080";
	case URL:
		return value_is_url(text) ? NULL :
				      "is not a URL such as http://host:port";
	case FOLDER:
		if (!disk_is_built())
			return "needs a digestd that is built with LMDB";
		return *text == '/' ? NULL : "is not an absolute path";
	case POLICY:
		return eviction_policy_find(text) ?
			       NULL :
			       "is no eviction policy, such as sieve or lru";
	case PLACEMENT:
		return placement_read(text, &placement) ?
			       NULL :
			       "is not keep, second, single, single-seen or "
			       "single-shared";
	case TELL:
		return admission_tell_read(text, &tell) ?
			       NULL :
			       "is not none, nginx or field";
	case ADMISSION:
		return admitter_policy(text) ?
			       NULL :
			       "is not none, aged, probation or auto";
	case LEVEL:
		return value_is_level(text) ?
			       NULL :
			       "is not error, warning, info or debug";
	case VERSION:
		return config_tls_is_version(text) ? NULL :
						     "is not 1.2 or 1.3";
	case NUMBER:
		return read_number(o, text, &number) ? NULL : "is not a number";
	case SIZE:
		return read_number(o, text, &number) ?
			       NULL :
			       "is not a size such as 64M";
	case TIME_MS:
		return read_number(o, text, &number) ?
			       NULL :
			       "is not a time such as 500ms, 30s, 5m";
	case TIME_S:
		return read_number(o, text, &number) ?
			       NULL :
			       "is not a time in whole seconds such as 30s";
	case SHARE:
		return value_share(text, &share) ? NULL : "is not within 0..1";
	case FLAG:
		break;
	}
	return NULL;
}

static bool has_range(const struct option *o)
{
	return o->kind == NUMBER || o->kind == SIZE || o->kind == TIME_MS ||
	       o->kind == TIME_S;
}

static const char *unit_of(const struct option *o)
{
	switch (o->kind) {
	case SIZE:
		return " bytes";
	case TIME_MS:
		return " ms";
	case TIME_S:
		return " s";
	case TEXT:
	case TOKEN:
	case ADDRESS:
	case URL:
	case FOLDER:
	case POLICY:
	case ADMISSION:
	case TELL:
	case PLACEMENT:
	case LEVEL:
	case VERSION:
	case NUMBER:
	case SHARE:
	case FLAG:
		break;
	}
	return "";
}

static unsigned line_of(const char *name)
{
	return lines_now[find_option(name) - options];
}

/* libconfuse's validator: called for each value, with the line at hand. */
static int validate(cfg_t *cfg, cfg_opt_t *opt)
{
	const struct option *o = find_option(opt->name);
	const char *text = cfg_opt_getstr(opt);
	const char *wrong;
	int64_t number;

	if (!o || !text)
		return 0;
	lines_now[o - options] = (unsigned)cfg->line;
	wrong = fault(o, text);
	if (wrong) {
		cfg_error(cfg, "%s: \"%s\" %s", o->name, text, wrong);
		return -1;
	}
	if (!has_range(o) || !read_number(o, text, &number) ||
	    (number >= o->min && number <= o->max))
		return 0;
	if (o->max == BIG)
		cfg_error(cfg, "%s: \"%s\" is below %" PRId64 "%s", o->name,
			  text, o->min, unit_of(o));
	else
		cfg_error(cfg, "%s: \"%s\" is not within %" PRId64
			  " to %" PRId64 "%s", o->name, text, o->min, o->max,
			  unit_of(o));
	return -1;
}

static int validate_place(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *url = cfg_opt_getstr(opt);

	if (url && value_is_url(url))
		return 0;
	cfg_error(cfg, "url: \"%s\" is not a URL such as http://host:port",
		  url ? url : "");
	return -1;
}

/* From libconfuse's values to ours */

static void *member(struct config *c, const struct option *o)
{
	return (char *)c + o->at;
}

static int fill_option(struct config *c, const struct option *o, cfg_t *cfg)
{
	const char *text;

	if (o->kind == FLAG) {
		*(bool *)member(c, o) = cfg_getbool(cfg, o->name);
		return 0;
	}
	text = cfg_getstr(cfg, o->name);
	if (!text)
		return 0;
	if (o->kind == SHARE)
		return value_share(text, member(c, o)) ? 0 : -EINVAL;
	if (has_range(o))
		return read_number(o, text, member(c, o)) ? 0 : -EINVAL;
	*(char **)member(c, o) = strdup(text);
	return *(char **)member(c, o) ? 0 : -ENOMEM;
}

static int fill_places(cfg_t *cfg, const char *section,
		       struct upstream **out, size_t *n)
{
	unsigned count = cfg_size(cfg, section);

	*out = calloc(count ? count : 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		cfg_t *sub = cfg_getnsec(cfg, section, i);
		struct upstream *place = &(*out)[(*n)++];
		const char *url = cfg_getstr(sub, "url");

		place->name = strdup(cfg_title(sub));
		place->url = strdup(url ? url : "");
		if (!place->name || !place->url)
			return -ENOMEM;
	}
	return 0;
}

static int fill(struct config *c, cfg_t *cfg)
{
	int err = 0;

	for (size_t i = 0; i < NOPTIONS && !err; i++)
		err = fill_option(c, &options[i], cfg);
	if (!err)
		err = fill_places(cfg, "origin", &c->origins, &c->norigins);
	if (!err)
		err = fill_places(cfg, "peer", &c->peers, &c->npeers);
	return err;
}

/* What only the whole configuration can tell */

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
		report(errors, "%s: cluster_key_file: %s: %s\n", path,
		       c->cluster_key_file,
		       file ? "is empty" : strerror(errno));
	} else {
		line[strcspn(line, " \t\r\n")] = '\0';
		c->has_key = read_key(line, c->key);
		if (!c->has_key)
			report(errors,
			       "%s: cluster_key_file: %s: not 32 hexadecimal "
			       "digits\n", path, c->cluster_key_file);
	}
	explicit_bzero(line, sizeof(line));
	if (file)
		fclose(file);
}

static void check_key(struct config *c, const char *path,
		      struct config_errors *errors)
{
	if (c->cluster_key && c->cluster_key_file) {
		report(errors, "%s: cluster_key and cluster_key_file: give "
		       "one of them\n", path);
	} else if (c->cluster_key_file) {
		take_key_file(c, path, errors);
	} else if (c->cluster_key) {
		c->has_key = read_key(c->cluster_key, c->key);
		if (!c->has_key)
			report(errors, "%s: cluster_key: not 32 hexadecimal "
			       "digits\n", path);
	} else if (c->listen_peer || c->npeers) {
		report(errors, "%s: cluster_key: needed for listen_peer and "
		       "peer sections\n", path);
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
			report(errors, "%s: origin \"%s\": url: not given\n",
			       path, o->name);
		if (canonical_host(&o->name))
			report(errors, "%s: origin \"%s\": is not a host\n",
			       path, o->name);
	}
}

static void check_whole(struct config *c, const char *path,
			struct config_errors *errors)
{
	if (!c->node)
		report(errors, "%s: node: not given\n", path);
	if (!c->listen_data)
		report(errors, "%s: listen_data: not given\n", path);
	if (!c->norigins && !c->default_origin && !c->forward)
		report(errors, "%s: no origin section, no default_origin, and "
		       "forward is off: there is nowhere to send requests\n",
		       path);
	if (c->publish_max_ms < c->publish_min_ms)
		report(errors, "%s: publish_max: shorter than publish_min\n",
		       path);
	if (c->filter_max < c->filter_min)
		report(errors, "%s: filter_max: smaller than filter_min\n",
		       path);
	if (c->admission_ram < .0001 || c->admission_ram > .9)
		report(errors, "%s: admission_ram: not within 0.0001 to 0.9\n",
		       path);
	if (c->max_object_size > c->cache_size)
		c->max_object_size = c->cache_size;
	for (size_t i = 0; c->node && i < c->npeers; i++) {
		if (!strcmp(c->peers[i].name, c->node))
			report(errors, "%s: peer \"%s\": is this node's own "
			       "name\n", path, c->node);
	}
	for (size_t i = 0; i < c->npeers; i++) {
		if (!*c->peers[i].url)
			report(errors, "%s: peer \"%s\": url: not given\n",
			       path, c->peers[i].name);
	}
	check_origins(c, path, errors);
	check_key(c, path, errors);
}

/* One row of ours as one of libconfuse's, which wants writable strings. */
static cfg_opt_t to_confuse(const struct option *o)
{
	if (o->kind == FLAG)
		return (cfg_opt_t)CFG_BOOL(
			o->name, !strcmp(o->value, "true"), CFGF_NONE);
	return (cfg_opt_t)CFG_STR(o->name, o->value, CFGF_NONE);
}

static cfg_t *set_up(void)
{
	static cfg_opt_t place[] = {
		CFG_STR("url", NULL, CFGF_NONE),
		CFG_END(),
	};
	cfg_opt_t all[NOPTIONS + 3];
	cfg_t *cfg;

	for (size_t i = 0; i < NOPTIONS; i++)
		all[i] = to_confuse(&options[i]);
	all[NOPTIONS] = (cfg_opt_t)CFG_SEC(
		"origin", place, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
	all[NOPTIONS + 1] = (cfg_opt_t)CFG_SEC(
		"peer", place, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
	all[NOPTIONS + 2] = (cfg_opt_t)CFG_END();
	cfg = cfg_init(all, CFGF_NONE); /* copies the table */
	if (!cfg)
		return NULL;
	cfg_set_error_function(cfg, on_error);
	for (size_t i = 0; i < NOPTIONS; i++)
		cfg_set_validate_func(cfg, options[i].name, validate);
	cfg_set_validate_func(cfg, "origin|url", validate_place);
	cfg_set_validate_func(cfg, "peer|url", validate_place);
	return cfg;
}

static void parse(cfg_t *cfg, const char *path, struct config_errors *errors)
{
	errors_now = errors;
	memset(lines_now, 0, sizeof(lines_now));
	errno = 0;
	switch (cfg_parse(cfg, path)) {
	case CFG_SUCCESS:
		break;
	case CFG_FILE_ERROR:
		report(errors, "%s: %s\n", path, strerror(errno));
		break;
	default:
		if (!errors->len)
			report(errors, "%s: not a configuration\n", path);
	}
	errors_now = NULL;
}

int config_load(const char *path, struct config **out,
		struct config_errors *errors)
{
	cfg_t *cfg = set_up();
	struct config *c = calloc(1, sizeof(*c));
	struct config_errors warnings = { .len = 0 };
	const struct config_check check = { path, line_of, errors, &warnings };

	*errors = (struct config_errors){ .len = 0 };
	if (cfg && c)
		parse(cfg, path, errors);
	if (!cfg || !c || (!errors->len && fill(c, cfg)))
		report(errors, "%s: out of memory\n", path);
	if (!errors->len)
		check_whole(c, path, errors);
	if (!errors->len)
		config_tls_load(c, &check);
	if (cfg)
		cfg_free(cfg);
	if (errors->len) {
		config_free(&c);
		return -EINVAL;
	}
	*out = c;
	*errors = warnings;
	return 0;
}

static void free_places(struct upstream *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(places[i].name);
		free(places[i].url);
	}
	free(places);
}

static bool is_string(const struct option *o)
{
	return !has_range(o) && o->kind != SHARE && o->kind != FLAG;
}

void config_free(struct config **c)
{
	if (!*c)
		return;
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (is_string(&options[i]))
			free(*(char **)member(*c, &options[i]));
	}
	free_places((*c)->origins, (*c)->norigins);
	free_places((*c)->peers, (*c)->npeers);
	config_tls_free(*c);
	explicit_bzero((*c)->key, sizeof((*c)->key));
	free(*c);
	*c = NULL;
}

static bool same_value(const struct config *a, const struct config *b,
		       const struct option *o)
{
	const char *x = (const char *)a + o->at;
	const char *y = (const char *)b + o->at;
	const char *s, *t;

	if (o->kind == FLAG)
		return *(const bool *)x == *(const bool *)y;
	if (!is_string(o))
		return !memcmp(x, y, sizeof(int64_t));
	memcpy(&s, x, sizeof(s));
	memcpy(&t, y, sizeof(t));
	return s && t ? !strcmp(s, t) : s == t;
}

const char *config_needs_restart(const struct config *now,
				 const struct config *next)
{
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (options[i].restart && !same_value(now, next, &options[i]))
			return options[i].name;
	}
	if (!now->tls_data != !next->tls_data)
		return "tls_data_certificate";
	if (!now->tls_peer != !next->tls_peer)
		return "tls_peer_certificate";
	if (!now->tls_admin != !next->tls_admin)
		return "tls_admin_certificate";
	return NULL;
}

void config_print_options(FILE *to)
{
	for (size_t i = 0; i < NOPTIONS; i++)
		fprintf(to, "%-24s %-8s %s\n", options[i].name,
			options[i].value ? options[i].value : "-",
			options[i].help);
}
