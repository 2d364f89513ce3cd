/*
 * The file of digestd's share_table, mapped by a module of a proxy: what peers
 * may have a URL, at any time and in any thread, without a lock. While there is
 * no file, or nobody writes it, no peer has anything.
 *
 * When the table at hand has been replaced, or is silent, the path is looked at
 * again, by one thread at a time, within 10 or 200 ms. A mapping
 * that has been replaced stays for a minute, since lookups in it may still be
 * under way.
 *
 * Costs: a lookup takes some 0.3 us for one width of fingerprints; a mapping
 * takes no memory of the process's own.
 */
#ifndef DIGESTD_MODULES_TABLE_MAP_H
#define DIGESTD_MODULES_TABLE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/shared_table.h"

enum {
	TABLE_MAP_PEERS = 4, /* candidates at most: more are not worth the time
			      * that a client waits */
};

struct table_map;

/* The names of peers that may have something, the best one first. */
struct table_map_peers {
	size_t n;
	char names[TABLE_MAP_PEERS][SCD_SHARED_TABLE_NAME_BYTES];
};

/* Makes one of a path, which is copied. Null: no memory. */
struct table_map *table_map_new(const char *path);

/* *m becomes null; null is allowed. When no lookup is under way. */
void table_map_free(struct table_map **m);

/*
 * The peers that may have a URL of len bytes. Returns whether there are any.
 * What is no absolute http or https URL, or longer than
 * SCD_SHARED_TABLE_URI_BYTES, nobody has.
 */
bool table_map_lookup(struct table_map *m, const char *url, size_t len,
		      struct table_map_peers *out);

/*
 * Looks for a table at once. Returns 0, a negative errno, or -EPROTO: the file
 * is none, or one of another version. For messages at the start: lookups do it
 * by themselves.
 */
int table_map_open(struct table_map *m);

/* Whether there is a table that somebody writes. */
bool table_map_is_live(struct table_map *m);

#endif
