/*
 * What a node tells of how things stand, a row each:
 *
 *   M(type, metric, member, value, help)
 *
 * type    gauge, or counter, whose metric gets _total
 * metric  its name in /metrics, behind digestd_; NULL: not there
 * member  its name in its object of /status.json; NULL: not there
 * value   an expression, of the struct node_status *s
 * help    what it is
 *
 * /metrics, /status.json and digestd --metrics are made of these rows and of
 * the tables of counters that the parts have (X(name, help)).
 */
#ifndef DIGESTD_ADMIN_NODE_METRICS_H
#define DIGESTD_ADMIN_NODE_METRICS_H

#include "digestd/admin/node_status.h"
#include "digestd/os/body_memory.h"
#include "digestd/os/memory.h"

/* clang-format off */
#define NODE_METRICS(M) \
	M(gauge, "ready", "ready", s->ready, \
	  "whether the node takes requests") \
	M(gauge, NULL, "drained", s->drained, \
	  "whether an operator has drained the node") \
	M(gauge, "start_time_seconds", "started", (uint64_t)s->started_s, \
	  "when the node was started, since 1970") \
	M(gauge, NULL, "uptime_s", (uint64_t)s->uptime_s, \
	  "time since the node was started") \
	M(gauge, "threads", "threads", (uint64_t)s->threads, \
	  "worker threads, each with an event loop of its own")

/* Of the configuration. */
#define RELOAD_METRICS(M) \
	M(gauge, "config_last_reload_successful", "last_reload_successful", \
	  (bool)!s->reloads.last_failed, \
	  "whether the configuration was without errors when last read") \
	M(gauge, "config_last_reload_success_timestamp_seconds", \
	  "last_reload_success", (uint64_t)s->reloads.last_done_s, \
	  "when the configuration in effect was read, since 1970") \
	M(gauge, NULL, "reloads", s->reloads.done, \
	  "reloads that have taken effect") \
	M(gauge, NULL, "failed_reloads", s->reloads.failed, \
	  "reloads that were refused")

#define STORE_METRICS(M) \
	M(gauge, "store_keys", "keys", s->store.keys, "URIs in the store") \
	M(gauge, "store_objects", "objects", s->store.entries, \
	  "objects in the store, variants counted") \
	M(gauge, "store_bytes", "bytes", s->store.weight, \
	  "memory of the stored objects") \
	M(gauge, "store_limit_bytes", "limit_bytes", s->store.max_weight, \
	  "memory that stored objects may take") \
	M(counter, "store_evicted", "evicted", s->store.evicted, \
	  "objects evicted from memory to make room for others") \
	M(gauge, "hot_objects", "hot_objects", \
	  s->store.tiers.copies + s->disk_store.tiers.copies, \
	  "copies of what peers have, with placement auto") \
	M(gauge, "hot_bytes", "hot_bytes", \
	  s->store.tiers.weight + s->disk_store.tiers.weight, \
	  "bytes of hot copies, in memory or on the disk if there is one") \
	M(gauge, "hot_limit_bytes", "hot_limit_bytes", \
	  s->store.tiers.limit + s->disk_store.tiers.limit, \
	  "bytes above which hot copies make room first") \
	M(counter, "store_variants_dropped", "variants_dropped", \
	  s->store.variants_dropped, \
	  "objects dropped because their URI had too many variants")

/* Beside LEDGER_USES; of `bodies`, body_memory_stats(). */
#define MEMORY_METRICS(M) \
	M(gauge, "memory_limit_bytes", "limit_bytes", memory_ledger.limit, \
	  "memory that the process may have") \
	M(gauge, NULL, "left_bytes", ledger_left(&memory_ledger), \
	  "memory that the process may still take") \
	M(gauge, "memory_segments_dirty_bytes", "segments_dirty_bytes", \
	  bodies.dirty, \
	  "bytes of segments whose bodies are gone, but may still be on their way to clients") \
	M(counter, "memory_segments_moved", "segments_moved", bodies.moved, \
	  "segments whose bodies were copied to give back the rest") \
	M(counter, "memory_segments_refused", "segments_refused", \
	  bodies.refused, \
	  "times that no segment had room for a body, or a segment got no huge page")

/* Beside DISK_COUNTERS. */
#define DISK_METRICS(M) \
	M(gauge, "disk_keys", "keys", s->disk_store.keys, "URIs on disk") \
	M(gauge, "disk_objects", "objects", s->disk_store.entries, \
	  "objects on disk, variants counted") \
	M(gauge, "disk_bytes", "bytes", s->disk_store.weight, \
	  "bytes that objects take on the disk") \
	M(gauge, "disk_limit_bytes", "limit_bytes", \
	  s->disk_store.max_weight, "disk_size, of which objects may take seven eighths") \
	M(counter, "disk_evicted", "evicted", s->disk_store.evicted, \
	  "objects evicted from the disk to make room for others")

/* Beside ADMITTER_COUNTERS. */
#define ADMISSION_METRICS(M) \
	M(gauge, "admission_window_keys", "window", s->admission.window, \
	  "keys that are remembered for their second use") \
	M(gauge, "admission_bytes", "memory_bytes", s->admission.bytes, \
	  "memory for knowing which objects are worth a write") \
	M(gauge, "admission_admits_all", "admits_all", \
	  s->admission.admits_all, \
	  "whether everything is worth a write, as things stand")

#define TLS_METRICS(M) \
	M(counter, "tls_admin_failed", NULL, s->tls_admin_failed, \
	  "admin connections whose TLS handshake failed")

/* Of the list of peers, where it has a source. */
#define MEMBERS_METRICS(M) \
	M(gauge, "members_readable", "readable", s->members.reads, \
	  "whether the list of members could be used when last read") \
	M(gauge, "members_found", "found", s->members.found, \
	  "members that the list names, this node included") \
	M(gauge, "members_introduced", "introduced", s->members.introduced, \
	  "nodes that have introduced themselves and are on no list") \
	M(counter, "members_readings", "readings", s->members.readings, \
	  "readings of the list of members") \
	M(counter, "members_failed_readings", "failed_readings", \
	  s->members.failed_readings, \
	  "readings that failed, or whose list had a fault")

/* Of what the node was asked for, as a digest; beside DIGEST_API_COUNTERS. */
#define SEEN_METRICS(M) \
	M(gauge, "seen_keys", "keys", s->sharing.seen.nkeys, \
	  "URIs that the node was asked for of late, and publishes") \
	M(gauge, "seen_generation", "generation", \
	  s->sharing.published.generation, \
	  "generation of the digest of what was asked for") \
	M(gauge, NULL, "unpublished_changes", s->sharing.seen.changed, \
	  "keys added and removed since that generation") \
	M(gauge, NULL, "full_bytes", s->sharing.published.full_bytes, \
	  "size of the full digest on the wire") \
	M(gauge, NULL, "delta_bytes", s->sharing.published.delta_bytes, \
	  "size of the last delta on the wire") \
	M(gauge, NULL, "false_positive_rate", s->sharing.seen.fp, \
	  "false positives that peers must expect of that digest")

/* Of the digest for Squids; beside SQUID_DIGEST_COUNTERS. */
#define SQUID_METRICS(M) \
	M(gauge, "squid_digest_keys", "keys", s->squid.keys, \
	  "URIs in the digest for Squids") \
	M(gauge, "squid_digest_bytes", "bytes", s->squid.bytes, \
	  "size of the digest for Squids; 0: there is none yet")

/* Of the cache beside the node; beside HOLDINGS_COUNTERS. */
#define SIDECAR_METRICS(M) \
	M(gauge, "sidecar_keys", "keys", s->sidecar.holdings.keys, \
	  "URIs that the cache beside this node holds") \
	M(gauge, "sidecar_bytes", "memory_bytes", s->sidecar.holdings.bytes, \
	  "memory for what the cache beside this node holds")

/* Of an nginx there; beside NGINX_FOLDER_COUNTERS. */
#define NGINX_METRICS(M) \
	M(gauge, "nginx_follows", "follows", s->sidecar.nginx.follows, \
	  "whether nginx's cache folder is there, and has been read") \
	M(gauge, "nginx_files", "files", s->sidecar.nginx.files, \
	  "files of nginx's cache folder that are known") \
	M(gauge, "nginx_lag_ms", "lag_ms", s->sidecar.nginx.lag_ms, \
	  "longest time until a change of a file in nginx's cache folder was known, within the last minute") \
	M(gauge, "nginx_last_drift", "last_drift", \
	  s->sidecar.nginx.last_drift, \
	  "files of nginx's cache folder that the last regular reading found changed without an announcement")

/* Of the table for modules of proxies; beside TABLE_SHARE_COUNTERS. */
#define SHARE_METRICS(M) \
	M(gauge, "share_entries", "entries", s->share.entries, \
	  "objects of peers in the table for modules of proxies") \
	M(gauge, "share_bytes", "bytes", s->share.bytes, \
	  "size of the table for modules of proxies") \
	M(gauge, "share_peers", "peers", s->share.peers, \
	  "peers that modules of proxies may ask")

/* Of what the node holds; beside DIGEST_API_COUNTERS. */
#define DIGEST_METRICS(M) \
	M(gauge, "digest_generation", "generation", s->publisher.generation, \
	  "generation that is published") \
	M(gauge, NULL, "bits", s->catalog.nbits, \
	  "size of the catalog's filter; 0: no peer asks for arrays") \
	M(gauge, "digest_filter_bytes", NULL, (double)s->catalog.nbits / 8, \
	  "size of the catalog's filter, a bit for each counter; 0 while no " \
	  "peer asks for arrays") \
	M(counter, "digest_grown", "grown", s->catalog.grown, \
	  "times that the filter has become larger") \
	M(counter, "digest_shrunk", "shrunk", s->catalog.shrunk, \
	  "times that the filter has become smaller") \
	M(gauge, NULL, "hash_functions", (uint64_t)s->catalog.nhash, \
	  "bits that each object sets") \
	M(gauge, NULL, "keys", s->catalog.nkeys, "URIs in the catalog") \
	M(gauge, "digest_unpublished_changes", "unpublished_changes", \
	  s->catalog.changed, \
	  "keys added and removed since the last generation") \
	M(gauge, NULL, "saturated_counters", s->catalog.saturated, \
	  "counters of the filter that have reached their end") \
	M(gauge, "digest_fill_ratio", "fill", \
	  s->catalog.nbits ? (double)s->catalog.nones / \
			     (double)s->catalog.nbits : 0.0, \
	  "share of bits set in the catalog") \
	M(gauge, "digest_false_positive_ratio", "false_positive_rate", \
	  s->publisher.fp, \
	  "false positives that peers must expect of the digest") \
	M(gauge, "digest_array_bytes", "array_bytes", \
	  s->publisher.array_bytes, "size of the digest before coding") \
	M(gauge, "digest_list_width", "list_width", s->publisher.width, \
	  "bits of a fingerprint in the list that is published; 0: an array is") \
	M(gauge, "digest_list_bytes", "list_bytes", \
	  s->publisher.list_bytes, "memory of the digest's list") \
	M(gauge, "digest_full_bytes", "full_bytes", s->publisher.full_bytes, \
	  "size of the full digest on the wire") \
	M(gauge, "digest_delta_bytes", "delta_bytes", \
	  s->publisher.delta_bytes, "size of the last delta on the wire") \
	M(gauge, NULL, "encode_ms", s->publisher.encode_ms, \
	  "time that coding the digest took")
/* clang-format on */

#endif
