/*
 * From the configuration to what each part wants to be told.
 */
#include "digestd/part_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "digestd/admin/node_status.h"
#include "digestd/config/configuration.h"
#include "digestd/http/enum_names.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/node/site.h"

enum {
	BREAKER_MIN_MS = 1000, /* a peer that failed is tried again after it */
	BREAKER_MAX_MS = 60000, /* a dead peer costs < 1500 tries a day */
	ORIGIN_OUT_MAX_MS = 30000, /* tries cost an origin nothing */
	SMALL_OBJECT_BYTES = 4096,
	DISK_OBJECT_BYTES = 16384, /* small too, where room is large */
	PEER_CONNECT_MS = 1500, /* for a digest; a lost SYN comes after 1 s */
	COPY_TIMEOUT_MS = 10000, /* for a list of objects */
	PURGE_TIMEOUT_MS = 1800, /* a peer that hangs costs a purge so long */
	PURGE_START_MS = 1000, /* a peer that hangs holds up a start so long */
	PURGE_UNHEARD_MS = 4000, /* and one that is dead what peers give */
	PURGE_NEW_MS = 60000, /* lists of members differ for so long */
	MEMORY_BASE = 128 << 20, /* program, connections, bodies under way */
	ADMIN_CONNECTIONS = 64,
	SHARDS_A_WORKER = 16, /* one in so many stores of another waits */
	CONNECTIONS_MIN = 8,   /* of clients, whatever there is */
};

/* Descriptors that are not clients': what an idle node has, and some. */
enum {
	FILES_SERVICE = 20, /* log, loop, signals, admin listener, resolver */
	FILES_WORKER = 12,  /* loop, listeners, their epolls */
	FILES_PEER = 2,     /* its digest, and what it has seen */
	FILES_DISK = 24,    /* index, reads and writes under way */
	FILES_SPARE = 4,    /* of what is opened now and then: an operator's
			     * connections, what the resolver reads */
};

/* Lookups for which any of the peers' digests says yes in vain. */
static const double cluster_fp = .01;

/* What is derived from a key for one purpose, in hexadecimal digits. */
static void part_settings_derive(const uint8_t key[SCD_SECRET_BYTES],
				 const char *purpose, char out[TOKEN_BYTES])
{
	uint8_t derived[SCD_SECRET_BYTES];

	scd_derive(key, purpose, derived);
	for (unsigned i = 0; i < SCD_SECRET_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", derived[i]);
}

/* The tokens that are taken from peers; the first one is presented to them. */
static struct tokens part_settings_tokens(const struct config *c)
{
	struct tokens tokens = { .n = c->nkeys };

	for (unsigned i = 0; i < c->nkeys; i++)
		part_settings_derive(c->keys[i], "token", tokens.at[i]);
	return tokens;
}

bool part_settings_control(const struct config *c,
			   char path[PART_SETTINGS_CONTROL_BYTES])
{
	const char *folder = getenv("RUNTIME_DIRECTORY");
	int len;

	if (c->control)
		len = snprintf(path, PART_SETTINGS_CONTROL_BYTES, "%s",
			       c->control);
	else if (folder && *folder) /* the first of several */
		len = snprintf(path, PART_SETTINGS_CONTROL_BYTES,
			       "%.*s/control", (int)strcspn(folder, ":"),
			       folder);
	else
		return false;
	/* one that is too long does not become another one */
	return len < PART_SETTINGS_CONTROL_BYTES && strcmp(path, "none") != 0;
}

void part_settings_token(const struct config *c, char out[TOKEN_BYTES])
{
	if (c->nkeys)
		part_settings_derive(c->keys[0], "token", out);
}

void part_settings_hash_name(const struct config *c, char out[TOKEN_BYTES])
{
	part_settings_derive(c->hash_key, "hash name", out);
}

static int part_settings_copy_origins(const struct config *c,
				      struct worker_settings *out)
{
	size_t nsites = c->sites ? c->sites->n : 0;
	struct worker_origin *origins = calloc(c->norigins + nsites + 1,
					       sizeof(*origins));

	if (!origins)
		return -ENOMEM;
	for (size_t i = 0; i < c->norigins; i++) {
		const struct upstream *o = &c->origins[i];

		origins[i] = (struct worker_origin){
			.host = o->name,
			.url = o->url,
			.set_cookie = out->set_cookie,
		};
		if (o->set_cookie)
			(void)setcookie_read(o->set_cookie,
					     &origins[i].set_cookie);
	}
	out->norigins = c->norigins;
	for (size_t i = 0; i < nsites; i++) {
		const struct site *s = &c->sites->at[i];

		if (s->origin) /* all names of the site lead to its first */
			origins[out->norigins++] = (struct worker_origin){
				.host = s->names[0],
				.url = s->origin,
				.set_cookie = out->set_cookie,
			};
	}
	out->origins = origins;
	return 0;
}

int part_settings_of_workers(const struct config *c,
			     struct worker_settings *out)
{
	*out = (struct worker_settings){
#define X(name, option, what) .name = c->option,
		WORKER_TEXTS(X)
#undef X
#define X(type, name, option, what) .name = (type)c->option,
		WORKER_NUMBERS(X)
#undef X
#define X(type, name, option, what) .name = c->option,
		WORKER_TLS(X)
#undef X
	};
	/* the configuration is checked: it is one of them */
	(void)setcookie_read(c->set_cookie, &out->set_cookie);
	(void)admission_tell_read(c->admission_tell, &out->tell);
	(void)address_prefixes_read(c->trusted_proxies, &out->trusted);
	(void)address_prefixes_read(c->client_addresses, &out->clients);
	out->client_rate = (struct client_rate){
		.per_s = (uint32_t)c->client_rate,
		.burst = (uint32_t)c->client_burst,
	};
	(void)address_prefixes_read(c->purge_addresses, &out->purgers);
	(void)address_prefixes_read(c->peer_addresses, &out->peers);
	(void)address_prefixes_read(c->squid_peers, &out->squids);
	out->told = FORWARDED_FOR;
	out->told_forward = FORWARDED_NOTHING;
	if (c->forwarded && forwarded_read(c->forwarded, &out->told))
		out->told_forward = out->told;
	if (c->sidecar) /* whatever a reload has said */
		out->slice_bytes = 0;
	part_settings_hash_secret(c, out->hash_secret);
	out->tokens = part_settings_tokens(c);
	out->leases = part_settings_has_leases(c);
	out->sites = c->sites;
	return part_settings_copy_origins(c, out);
}

unsigned part_settings_connections(const struct config *c, uint64_t files)
{
	uint64_t listeners = c->listen_peer ? 2 : 1;
	uint64_t aside =
		FILES_SERVICE + part_settings_admin_connections(files) +
		(uint64_t)c->threads * FILES_WORKER + c->npeers * FILES_PEER +
		(c->disk_path ? FILES_DISK : 0);
	uint64_t fit = files > aside ? (files - aside) / 2 : 0;

	/* each may need another to an origin or a peer, or a file */
	fit /= (uint64_t)c->threads * listeners;
	if (fit < CONNECTIONS_MIN)
		fit = CONNECTIONS_MIN;
	return fit < (uint64_t)c->max_connections ?
		       (unsigned)fit : (unsigned)c->max_connections;
}

unsigned part_settings_files_left(const struct config *c)
{
	return (unsigned)(FILES_SPARE + c->npeers * FILES_PEER +
			  2 * (uint64_t)c->threads);
}

unsigned part_settings_admin_connections(uint64_t files)
{
	return files / 8 < ADMIN_CONNECTIONS ? (unsigned)(files / 8) + 1 :
					       ADMIN_CONNECTIONS;
}

void part_settings_hash_secret(const struct config *c, uint8_t secret[16])
{
	/* without a cluster key all zero: a key that nobody shares */
	scd_derive(c->hash_key, "hash", secret);
}

struct origin_policy part_settings_of_origins(const struct config *c)
{
	return (struct origin_policy){
		.failures = (unsigned)c->origin_failures,
		.out_min_ms = BREAKER_MIN_MS,
		.out_max_ms = ORIGIN_OUT_MAX_MS,
		.slow_start_ms = c->origin_slow_start_ms,
	};
}

struct origin_watch_settings
part_settings_of_watching(const struct config *c)
{
	return (struct origin_watch_settings){
		.lookup_ms = c->origin_lookup_ms,
		.check_path = c->origin_check,
		.check_ms = c->origin_check_ms,
		.check_status = (unsigned)c->origin_check_status,
		.tls = c->tls_origin,
	};
}

void part_settings_free(struct worker_settings *s)
{
	free((void *)s->origins);
	s->origins = NULL;
}

/* A filter's counters, its array, its snapshots and what was encoded of them:
 * a byte a bit. */
static uint64_t part_settings_filter_bytes(const struct catalog_stats *c)
{
	return c->nbits + c->next_nbits;
}

/* What digests and tables take, ours and those of peers. */
static uint64_t part_settings_table_bytes(const struct node_status *now)
{
	enum { DISK_OBJECT = 160 };
	uint64_t sum = part_settings_filter_bytes(&now->catalog) +
		       now->publisher.list_bytes +
		       now->admission.bytes;

	if (now->has_sidecar)
		sum += now->sidecar.holdings.bytes;
	if (now->has_share)
		sum += now->share.bytes;
	if (now->has_disk)
		sum += now->disk_store.entries * DISK_OBJECT;
	if (now->shares)
		sum += part_settings_filter_bytes(&now->sharing.seen);
	if (now->follow)
		sum += peer_follower_memory(now->follow);
	return sum;
}

uint64_t part_settings_memory_limit(const struct config *c,
				    const struct node_status *now)
{
	uint64_t queue = c->disk_path ? (uint64_t)c->disk_queue : 0;

	if (c->memory_limit)
		return (uint64_t)c->memory_limit;
	return 2 * (uint64_t)c->cache_size + queue + MEMORY_BASE +
	       part_settings_table_bytes(now);
}

/* The smallest power of two that holds so many bytes or objects [bits]. */
static uint64_t part_settings_round_up(uint64_t n, uint64_t bits_each)
{
	uint64_t nbits = 1;

	while (nbits / bits_each < n && nbits < SCD_BLOOM_MAX_BITS)
		nbits *= 2;
	return nbits;
}

/* The largest that is not above so many bytes [bits]. */
static uint64_t part_settings_round_down(uint64_t bytes)
{
	uint64_t nbits = part_settings_round_up(bytes, 8);

	return nbits / 8 > bytes ? nbits / 2 : nbits;
}

/* That the cache holds, about: small ones, so there are never many more. */
static uint64_t part_settings_objects_of(const struct config *c)
{
	return c->expected_objects ?
		       (uint64_t)c->expected_objects :
		       (uint64_t)c->cache_size / SMALL_OBJECT_BYTES;
}

/* Each of the peers' digests may have its part of cluster_fp, so that a lookup
 * in all of them is as often wrong however many there are. */
static double part_settings_digest_fp(const struct config *c)
{
	return cluster_fp / (double)(c->npeers ? c->npeers : 1);
}

/* Of m bits an object and k functions a digest has (1 - e^(-k/m))^k false
 * positives. */
static uint64_t part_settings_bits_per_object(const struct config *c)
{
	if (c->bits_per_object)
		return (uint64_t)c->bits_per_object;
	return resize_bits_per_key(part_settings_digest_fp(c),
				   (unsigned)c->hash_functions);
}

bool part_settings_has_lists(const struct config *c)
{
	switch (enum_names_find(digest_form_names, c->digest_form)) {
	case DIGEST_FORM_LIST:
		return true;
	case DIGEST_FORM_AUTO:
		return !c->bits_per_object;
	default:
		return false;
	}
}

struct list_shape part_settings_of_list(const struct config *c)
{
	return (struct list_shape){
		.fp = part_settings_digest_fp(c),
		.expected = part_settings_objects_of(c),
	};
}

uint64_t part_settings_first_bits(const struct config *c)
{
	uint64_t objects = part_settings_objects_of(c);
	uint64_t max = part_settings_round_down((uint64_t)c->filter_max);
	uint64_t min = part_settings_round_up((uint64_t)c->filter_min, 8);
	uint64_t nbits;

	/* what a filter has too many bits costs little once it is coded */
	nbits = part_settings_round_up(objects,
				       part_settings_bits_per_object(c));
	if (nbits < min)
		nbits = min;
	return nbits < max ? nbits : max;
}

struct resize_policy part_settings_of_filter(const struct config *c)
{
	uint64_t max = part_settings_round_down((uint64_t)c->filter_max);
	uint64_t min = part_settings_round_up((uint64_t)c->filter_min, 8);

	if (!c->filter_resize)
		min = max = part_settings_first_bits(c);
	return (struct resize_policy){
		.min_bits = min < max ? min : max,
		.max_bits = max,
		.bits_per_key = part_settings_bits_per_object(c),
		.shrink_ms = c->filter_shrink_ms,
	};
}

unsigned part_settings_shards(const struct config *c)
{
	return c->threads > 1 ? (unsigned)c->threads * SHARDS_A_WORKER : 1;
}

/* All that may be stored, in memory or on disk [bytes]. */
static uint64_t part_settings_capacity_of(const struct config *c)
{
	return (uint64_t)(c->disk_path ? c->disk_size : c->cache_size);
}

/* And how many objects that are, about. */
static uint64_t part_settings_stored_objects(const struct config *c)
{
	if (c->expected_objects || !c->disk_path)
		return part_settings_objects_of(c);
	return part_settings_capacity_of(c) / DISK_OBJECT_BYTES;
}

struct placer_settings part_settings_of_placement(const struct config *c)
{
	uint64_t window = (uint64_t)c->admission_window;
	struct placer_settings s = {
		.window = window ? window
				 : part_settings_stored_objects(c) * 3 / 2 + 1,
	};

	/* the configuration is checked: it is one of them */
	(void)placement_read(c->placement, &s.placement);
	if (c->sidecar) /* no store: no copies to choose, nor keys to know */
		s.placement = PLACEMENT_KEEP;
	return s;
}

bool part_settings_has_tiers(const struct config *c)
{
	return placement_has_tiers(part_settings_of_placement(c).placement);
}

bool part_settings_has_leases(const struct config *c)
{
	/* who has it is known by its owner only, until digests are in */
	return c->peer_tries && (c->leases || part_settings_has_tiers(c));
}

struct sharing_settings part_settings_of_sharing(const struct config *c)
{
	uint64_t window = part_settings_of_placement(c).window;
	uint64_t max = part_settings_round_down((uint64_t)c->filter_max);
	uint64_t nbits =
		part_settings_round_up(window,
				       part_settings_bits_per_object(c));

	return (struct sharing_settings){
		.seen = {
			.window = window,
			.nbits = nbits < max ? nbits : max,
			.nhash = (unsigned)c->hash_functions,
		},
		.publishing = {
			.policy.publish = part_settings_of_publishing(c),
			.keep = (unsigned)c->keep_generations,
		},
		.following = part_settings_of_following(c),
		.wait_s = c->wait_s,
	};
}

/* A write to memory costs nothing; one to disk does. */
static const char *part_settings_admission_of(const struct config *c)
{
	if (c->admission)
		return c->admission;
	return c->disk_path ? "auto" : "none";
}

/* What is used often is on the disk, so that half of the memory can wait. */
static double part_settings_ram_share(const struct config *c)
{
	if (c->admission_ram > 0)
		return c->admission_ram;
	return c->disk_path ? .5 : .02;
}

struct admitter_settings part_settings_of_admission(const struct config *c)
{
	return (struct admitter_settings){
		.policy = part_settings_admission_of(c),
		.eviction = c->eviction,
		.capacity = part_settings_capacity_of(c),
		.mean_size = part_settings_capacity_of(c) /
			     part_settings_stored_objects(c),
		.window = (uint64_t)c->admission_window,
		.memory = (uint64_t)c->cache_size,
		.memory_share = part_settings_ram_share(c),
		.write_cost = c->admission_write_cost,
		.max_rate = (uint64_t)c->admission_max_rate,
	};
}

struct table_share_settings part_settings_of_share(const struct config *c)
{
	struct table_share_settings s = { .path = c->share_table,
					  .group = c->share_table_group };

	part_settings_hash_secret(c, s.secret);
	return s;
}

struct sidecar_settings part_settings_of_sidecar(const struct config *c)
{
	struct sidecar_settings s = {
		.holdings = {
			.max_keys = (uint64_t)c->sidecar_objects,
			.nbits = part_settings_first_bits(c),
			.nhash = (unsigned)c->hash_functions,
			.squid = c->squid_peers,
			.lists = c->listen_peer && part_settings_has_lists(c),
		},
		.feed = c->sidecar_feed,
		.nginx = {
			.path = c->nginx_cache,
			.max_files = (uint64_t)c->sidecar_objects,
			.rescan_ms = c->nginx_rescan_ms,
		},
	};

	part_settings_hash_secret(c, s.holdings.secret);
	/* the configuration is checked: both are right */
	(void)nginx_key_read(c->nginx_key, &s.nginx.key);
	(void)nginx_key_read(c->nginx_url, &s.nginx.url);
	return s;
}

/* Peers that are sent each generation: those of this location. */
static unsigned part_settings_readers(const struct config *c)
{
	unsigned n = 0;

	for (size_t i = 0; i < c->npeers; i++)
		n += !upstream_is_elsewhere(&c->peers[i], c->location);
	return n;
}

struct publish_policy part_settings_of_publishing(const struct config *c)
{
	return (struct publish_policy){
		.share = c->publish_share,
		.min_ms = c->publish_min_ms,
		.max_ms = c->publish_max_ms,
		.readers = part_settings_readers(c),
	};
}

struct peer_follower_settings part_settings_of_following(const struct config *c)
{
	struct peer_follower_settings s = {
		.policy.fetch = {
			.poll_ms = c->poll_ms,
			.backoff_min_ms = 100,
			.backoff_max_ms = 10000,
			.budget = FETCH_BUDGET,
			.price_ms = FETCH_PRICE_MS,
			.max_age_ms = c->digest_max_age_ms,
		},
		.policy.health = {
			.failures = (unsigned)c->breaker_failures,
			.open_min_ms = BREAKER_MIN_MS,
			.open_max_ms = BREAKER_MAX_MS,
			.quarantine_ms = c->quarantine_ms,
		},
		.wait_s = fetch_schedule_wait_s(c->wait_s, c->npeers,
						c->digest_max_age_ms),
		.timeout_ms = c->digest_timeout_ms,
		.connect_ms = c->peer_connect_ms ? c->peer_connect_ms :
						   PEER_CONNECT_MS,
		.tls = c->tls_peer_client,
		.subject = DIGEST_OF_HELD,
		.leases = part_settings_has_leases(c),
		.node = c->node,
		.location = c->location,
	};

	scd_limits_init(&s.limits);
	s.limits.max_bits = (uint64_t)c->digest_max_bytes * 8;
	part_settings_token(c, s.token);
	part_settings_hash_name(c, s.hash_name);
	return s;
}

void part_settings_introduction(const struct config *c, unsigned port,
				char text[PEER_INTRODUCTION_BYTES])
{
	int len;

	*text = '\0';
	if (!c->listen_peer)
		return;
	if (c->peer_url)
		len = snprintf(text, PEER_INTRODUCTION_BYTES, "%s %s", c->node,
			       c->peer_url);
	else
		len = snprintf(text, PEER_INTRODUCTION_BYTES, "%s %s://:%u",
			       c->node, c->tls_peer ? "https" : "http", port);
	if (c->location && len < PEER_INTRODUCTION_BYTES)
		snprintf(text + len, (size_t)(PEER_INTRODUCTION_BYTES - len),
			 " %s %s", peer_kind_names[0], c->location);
}

bool part_settings_is_strict(const struct config *c)
{
	return !strcmp(c->invalidation,
		       invalidation_mode_names[INVALIDATION_STRICT]) &&
	       c->nkeys;
}

struct copier_settings part_settings_of_copier(const struct config *c)
{
	struct copier_settings s = {
		.tls = c->tls_peer_client,
		.timeout_ms = COPY_TIMEOUT_MS,
	};

	part_settings_token(c, s.token);
	return s;
}

struct teller_settings part_settings_of_telling(const struct config *c)
{
	struct teller_settings t = {
		.peers = c->peers,
		.npeers = c->purge_peers && c->nkeys ? c->npeers : 0,
		.timeout_ms = PURGE_TIMEOUT_MS,
		.start_ms = PURGE_START_MS,
		.unheard_ms = PURGE_UNHEARD_MS,
		.new_ms = PURGE_NEW_MS,
		.numbers = c->purge_peers && c->nkeys,
		.awaits = c->purge_peers && c->members && c->nkeys,
		.disk_path = c->disk_path,
		.tls = c->tls_peer_client,
	};

	part_settings_token(c, t.token);
	part_settings_hash_secret(c, t.secret);
	return t;
}
