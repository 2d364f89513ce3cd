/*
 * The table of options: what a file may say, its defaults, and the help.
 */
#include <stddef.h>

#include "codec/admission.h"
#include "digestd/config/configuration.h"
#include "digestd/config/option.h"
#include "digestd/core/generations.h"
#include "digestd/core/store.h"

#define AT(member) offsetof(struct config, member)
#define BIG INT64_MAX /* no upper end */
#define HOUR_MS 3600000
#define MAX_ARRAY_BYTES ((int64_t)1 << 37) /* see SCD_BLOOM_MAX_BITS */

/* clang-format off */
const struct config_option config_options[] = {
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
	{ "set_cookie", COOKIES, AT(set_cookie), "refuse", 0, 0, false,
	  "responses with Set-Cookie: refuse to store, strip, or allow" },
	{ "forward", FLAG, AT(forward), "false", 0, 0, false,
	  "be a forward proxy for http as well" },
	{ "forward_private", FLAG, AT(forward_private), "false", 0, 0, false,
	  "as a forward proxy, also to private and loopback addresses" },
	{ "forwarded", FORWARDED, AT(forwarded), NULL, 0, 0, false,
	  "who asks, told to origins: none, for, x-forwarded or forwarded" },
	{ "trusted_proxies", PREFIXES, AT(trusted_proxies), NULL, 0, 0, false,
	  "proxies whose X-Forwarded-* and Forwarded are believed" },
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
	{ "admission", ADMISSION, AT(admission), NULL, 0, 0, true,
	  "what is worth keeping: none, aged, probation or auto" },
	{ "admission_window", NUMBER, AT(admission_window), "0", 0,
	  (int64_t)SCD_ADMISSION_MAX_WINDOW, true,
	  "keys remembered for a second use; 0: 1.5 times the objects" },
	{ "admission_ram", SHARE, AT(admission_ram), "0", 0, 1, true,
	  "share of the cache in which objects wait for their second use" },
	{ "admission_write_cost", SHARE, AT(admission_write_cost), "0", 0, 1,
	  false, "what a write costs, in hits, for admission auto" },
	{ "admission_tell", TELL, AT(admission_tell), "none", 0, 0, false,
	  "how a cache in front is told what to keep: none, nginx or field" },
	{ "placement", PLACEMENT, AT(placement), "second", 0, 0, true,
	  "which copies of an object a cluster keeps: keep, second, ..." },
	{ "admission_file", TEXT, AT(admission_file), NULL, 0, 0, true,
	  "where what was seen is kept across restarts" },
	{ "admission_max_rate", SIZE, AT(admission_max_rate), "0", 0, BIG,
	  false, "bytes a second that are admitted at most; 0: no limit" },
	{ "expected_objects", NUMBER, AT(expected_objects), "0", 0, BIG, false,
	  "objects the digest is sized for at first; 0: cache_size / 4K" },
	{ "bits_per_object", NUMBER, AT(bits_per_object), "0", 0, 1024, false,
	  "bits of the digest for each of them, before coding; 0: by the peers" },
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
	{ "digest_max_size", SIZE, AT(digest_max_bytes), "512M", 1024,
	  MAX_ARRAY_BYTES, false, "largest array of a peer's digest" },
	{ "digest_timeout", TIME_MS, AT(digest_timeout_ms), "30s", 100,
	  HOUR_MS, false, "for a digest to arrive, beyond the wait" },
	{ "peer_budget", TIME_MS, AT(peer_budget_ms), "140ms", 1, 60000, false,
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
	{ "stale_on_disconnect", TIME_S, AT(stale_on_disconnect_s), "1h", 0,
	  INT32_MAX, false,
	  "stale objects that are served while an origin is out of reach" },
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

const size_t config_noptions =
	sizeof(config_options) / sizeof(config_options[0]);

_Static_assert(sizeof(config_options) / sizeof(config_options[0]) <=
		       OPTIONS_MAX, "OPTIONS_MAX is too small");
