/*
 * What tests of small caches set up: a cache in memory, and responses that are
 * fresh for a minute.
 */
#ifndef TESTS_CACHE_SMALL_CACHE_H
#define TESTS_CACHE_SMALL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/cache/cache.h"

/* 1 MiB in memory and no disk; the caller changes what its test is about. */
struct cache_settings small_cache_settings(void);

/* The key of a GET, under the secret of these settings. */
struct scd_key small_cache_key(const char *uri);

/* A response that is meant for this place; of its body there is the length
 * alone. The caller's; ends the program where there is no memory, so that
 * threads may call it. */
struct cached *small_cache_response(const char *uri, unsigned status,
				    size_t body_len,
				    enum admission_decision place);

/* Puts a response that was asked for after so many purges, and keeps no
 * reference. Returns whether it is stored. */
bool small_cache_put(struct cache *cache, const char *uri, struct cached *c,
		     uint64_t asked);

/* What is stored for a request without fields, with a reference; or null. */
struct cached *small_cache_get(struct cache *cache, const char *uri);

/* Begins to purge all whose URI begins so, at a time. */
void small_cache_purge_prefix(struct cache *cache, const char *prefix,
			      int64_t now_s, struct purge_walk *walk);

#endif
