/*
 * The configuration of digestd: a file, and those that it includes, checked as
 * a whole before anything of it takes effect.
 *
 * Every option is one row of digestd/options/options.def, from which its
 * member, the parser, its checks, the defaults, `digestd --options` and the
 * manual come.
 */
#ifndef DIGESTD_CONFIG_CONFIGURATION_H
#define DIGESTD_CONFIG_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "codec/key.h"
#include "digestd/config/config_errors.h"
#include "digestd/options/option_types.h"
#include "digestd/peers/upstream.h"

struct sites;
struct tls;
struct tls_client;

enum { CONFIG_KEYS_MAX = 4 };

/*
 * A member for each option, by options.def: numbers are in the unit that their
 * name says, sizes in bytes. And what is made of several.
 */
struct config {
#define OPTION(name, kind, member, value, min, max, when, help) \
	option_##kind member;
#include "digestd/options/options.def"
#undef OPTION

	/* From cluster_key or its file: of the keys the first is presented to
	 * peers, and each is taken from them. */
	uint8_t keys[CONFIG_KEYS_MAX][SCD_SECRET_BYTES];
	unsigned nkeys; /* 0: there is no cluster */
	uint8_t hash_key[SCD_SECRET_BYTES]; /* keys of objects are made by it */

	struct upstream *origins;
	size_t norigins;
	struct upstream *peers;
	size_t npeers;
	struct sites *sites; /* null: there are none; see node/site.h */

	/* from files; null: a listener without TLS, never a client */
	struct tls *tls_data, *tls_peer, *tls_admin;
	struct tls_client *tls_peer_client, *tls_origin;
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
 * What is stored, published and written to disk is under the key that hashes:
 * if `next` has another one, or has none, lets it have the keys of `now`, which
 * hold until the next start. Returns whether it did.
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
