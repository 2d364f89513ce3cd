/*
 * The configuration of digestd: a file in libconfuse's syntax, checked as a
 * whole before anything of it takes effect.
 *
 * Every option is one row of a table in option_table.c, from which the
 * parser, its checks, the defaults and `digestd --options` come.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_H
#define DIGESTD_CONFIG_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "codec/key.h"
#include "digestd/peers/upstream.h"

struct tls;
struct tls_client;

/* PEM files, null where not given. */
struct config_tls_files {
	char *certificate;
	char *key;
	char *authorities;
};

/* Numbers are in the unit that their name says, sizes in bytes. */
struct config {
	char *node;
	char *cluster_key; /* 32 hexadecimal digits; null: no peers */
	char *cluster_key_file;
	uint8_t key[SCD_SECRET_BYTES]; /* from either of them */
	bool has_key;

	char *listen_data;
	char *listen_peer;
	char *listen_admin;
	int64_t threads;

	struct upstream *origins;
	size_t norigins;
	char *default_origin;
	char *set_cookie;
	bool forward;
	bool forward_private;
	char *trusted_proxies; /* see address_prefixes_read(); null: none */
	char *forwarded; /* null: for; as a forward proxy, none */

	struct upstream *peers;
	size_t npeers;

	int64_t cache_size;
	int64_t memory_limit; /* 0: see part_settings_memory_limit() */
	char *disk_path;
	int64_t disk_size;
	int64_t disk_queue;
	int64_t max_object_size;
	int64_t vary_limit;
	char *eviction;

	char *admission; /* null: auto with a disk, none without */
	int64_t admission_window;
	double admission_ram; /* 0: as usual, see settings.c */
	double admission_write_cost;
	int64_t admission_max_rate;
	char *admission_file;
	char *placement;
	char *admission_tell;

	int64_t expected_objects;
	int64_t bits_per_object;
	int64_t hash_functions;
	bool filter_resize;
	int64_t filter_min;
	int64_t filter_max;
	int64_t filter_shrink_ms;
	double publish_share;
	int64_t publish_min_ms;
	int64_t publish_max_ms;
	int64_t keep_generations;

	int64_t wait_s;
	int64_t poll_ms;
	int64_t digest_max_age_ms;
	int64_t digest_max_bytes;
	int64_t digest_timeout_ms;

	int64_t peer_budget_ms;
	int64_t peer_timeout_ms;
	int64_t peer_connect_ms;
	int64_t peer_tries;
	int64_t breaker_failures;
	bool purge_peers;
	int64_t quarantine_ms;

	int64_t origin_connect_ms;
	int64_t origin_timeout_ms;
	int64_t origin_stall_s;
	int64_t origin_connections;
	int64_t stale_on_disconnect_s;

	int64_t max_connections;
	int64_t client_connections;
	int64_t header_timeout_ms;
	int64_t idle_timeout_ms;
	int64_t client_min_rate;
	int64_t max_header_size;
	int64_t max_upload_size;
	int64_t stream_window;
	int64_t drain_ms;

	struct config_tls_files tls_data_files;
	struct config_tls_files tls_peer_files;
	struct config_tls_files tls_admin_files;
	struct config_tls_files tls_origin_files;
	bool tls_origin_verify;
	char *tls_oldest;

	/* from those files; null: a listener without TLS, never a client */
	struct tls *tls_data, *tls_peer, *tls_admin;
	struct tls_client *tls_peer_client, *tls_origin;

	char *log_level;
};

/* Room for what is wrong with a file: one line a fault. */
struct config_errors {
	char text[4096];
	size_t len;
};

/*
 * Reads and checks a file. Returns 0 and a configuration to be released with
 * config_free(), or -EINVAL; then *errors has lines of the form
 * "FILE:LINE: OPTION: what is wrong", each ended by a newline. After 0 such
 * lines are warnings: it can be used, but somebody should look at it.
 */
int config_load(const char *path, struct config **out,
		struct config_errors *errors);

void config_free(struct config **c);

/*
 * Where the certificates of two configurations are the same, lets `next` have
 * those of `now`, with the connections and tickets made by them.
 */
void config_keep_tls(const struct config *now, struct config *next);

/*
 * Lets `next` have the cluster key of `now`: what is stored, published and
 * written to disk is under it, so that it holds until the next start. Returns
 * whether that was another one.
 */
bool config_keep_key(const struct config *now, struct config *next);

/*
 * Of options that take effect only at a start, lets `next` have the values of
 * `now`, by which the node runs, and `now` those of `next`. *kept has a line
 * for each that differs.
 */
void config_keep_started(struct config *now, struct config *next,
			 struct config_errors *kept);

/* Writes the table of options, one a line: name, default, what it is. */
void config_print_options(FILE *to);

#endif
