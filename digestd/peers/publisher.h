/*
 * The publisher: does what publication_schedule.h says, on the service loop. It
 * turns what the catalog says into publications, and moves it to a filter of
 * another size. The catalog is locked only while a slice of its array is
 * copied, or for one part of its keys, a thousand or two; at most once a
 * millisecond, so that the workers have the lock in between.
 *
 * With lists (list_history.h) a publication is made of what has changed. There
 * is a filter, and an array is copied and published too, only while somebody
 * asks for one: who is the first to ask is told to ask again.
 */
#ifndef DIGESTD_PEERS_PUBLISHER_H
#define DIGESTD_PEERS_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/catalog.h"
#include "digestd/mesh/list_history.h"
#include "digestd/mesh/publication_schedule.h"

struct cache;
struct digest_api;
struct loop;
struct publisher;

/*
 * Whose catalog it is. lock() gives it, locked until unlock(); the other two
 * begin a rebuild and do its next part, see cache_rebuild(), or are null: the
 * catalog keeps its size.
 */
struct publisher_source {
	void *arg;
	struct catalog *(*lock)(void *arg);
	void (*unlock)(void *arg);
	int (*rebuild)(void *arg, uint64_t nbits);
	bool (*rebuild_part)(void *arg);
};

/* The catalog of a cache. */
struct publisher_source publisher_of_cache(struct cache *cache);

enum { PUBLISHER_ARRAY_MS = 15 * 60 * 1000 }; /* of array_ms: longer than
						* anybody is kept waiting */

struct publisher_settings {
	struct publisher_source source;
	struct publication_policy policy; /* whether resizable is set here */
	uint64_t instance; /* not 0 */
	unsigned keep;     /* generations, see generations_new() */
	bool lists; /* the catalog notes its changes, and has no keys yet but
		     * those that it has noted; they are published as a list */
	struct list_shape list;
	int64_t array_ms; /* how long arrays are published, too, after somebody
			   * has asked for one */
};

/* What the last publication was. */
struct publisher_stats {
	uint64_t generation;
	uint64_t width;         /* of the list's fingerprints; 0: no list */
	uint64_t full_bytes;    /* of the current full digest: the list's, or
				 * the array's */
	uint64_t delta_bytes;   /* of its delta from the one before; 0: none */
	uint64_t array_bytes;   /* before coding; 0: none was published */
	uint64_t list_bytes;    /* of memory that the list takes */
	double fp;              /* false positives that peers must expect */
	int64_t published_ms;   /* on the loop's clock */
	double encode_ms;       /* time spent in the coder */
};

/*
 * Makes a publisher and starts its clock. `loop`, what `settings` point to and
 * `api` are borrowed. Returns 0 or -ENOMEM.
 */
int publisher_new(struct loop *loop, struct digest_api *api,
		  const struct publisher_settings *settings,
		  struct publisher **out);

/* Before what its source is of, and before a last turn of the loop. */
void publisher_free(struct publisher **p);

/* Takes new times and sizes; instance and keep stay. */
void publisher_set(struct publisher *p, const struct publish_policy *publish,
		   const struct resize_policy *resize);

/* What was published last. */
void publisher_stats(const struct publisher *p, struct publisher_stats *out);

#endif
