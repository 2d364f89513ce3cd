/*
 * The files of an nginx's cache folder, by their names, which are MD5 sums: of
 * each the key of its URL, and until when it is fresh. Keeps the holdings in
 * step: a key is held as long as a fresh file has it.
 */
#ifndef DIGESTD_SIDECAR_NGINX_FILES_H
#define DIGESTD_SIDECAR_NGINX_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"

struct holdings;
struct holdings_key;
struct nginx_files;

enum { NGINX_NAME_LEN = 32 };

/* Makes an empty one, of at most max_files (> 0). `holdings` are borrowed, and
 * locked within calls. Returns 0 or -ENOMEM. */
int nginx_files_new(struct holdings *holdings, uint64_t max_files,
		    struct nginx_files **out);

/* *f becomes null; null is allowed. The holdings stay as they are. */
void nginx_files_free(struct nginx_files **f);

/* Reads a name; false: it is none of nginx's. */
bool nginx_files_name(const char *text, struct scd_key *name);

/* Whether a file is known; and how many are. */
bool nginx_files_have(const struct nginx_files *f, const struct scd_key *name);
uint64_t nginx_files_count(const struct nginx_files *f);

/* A file of this key is there, in place of what was, fresh until valid_s [s
 * since 1970]; it counts as seen. False: there are too many, here or in the
 * holdings, or no memory; remove it then, for the next reading to find. */
bool nginx_files_put(struct nginx_files *f, const struct scd_key *name,
		     const struct holdings_key *key, int64_t valid_s,
		     int64_t now_s);

/* A file is gone. */
void nginx_files_remove(struct nginx_files *f, const struct scd_key *name);

/* All are. */
void nginx_files_clear(struct nginx_files *f);

/* Ends what has gone stale in the next one of `parts` parts of all files;
 * returns how many. Called `parts` times, it has looked at all. */
uint64_t nginx_files_expire(struct nginx_files *f, unsigned parts,
			    int64_t now_s);

/* A reading of the folder begins: nothing is seen. A file is there. It is over:
 * removes what was not seen, and returns how many. */
void nginx_files_begin_reading(struct nginx_files *f);
bool nginx_files_see(struct nginx_files *f, const struct scd_key *name);
uint64_t nginx_files_end_reading(struct nginx_files *f);

#endif
