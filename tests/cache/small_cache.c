/*
 * A small cache, and what is put into it.
 */
#include "tests/cache/small_cache.h"

#include <stdlib.h>
#include <string.h>

#include "digestd/http/freshness.h"
#include "digestd/mesh/invalidation_log.h"

static const uint8_t secret[16] = "0123456789abcde";

struct cache_settings small_cache_settings(void)
{
	return (struct cache_settings){
		.max_bytes = 1 << 20,
		.max_variants = 4,
		.policy = "sieve",
		.nbits = 1024,
		.nhash = 3,
		.bits_per_key = 32,
		.max_bits = 1 << 20,
		.hash_secret = secret,
	};
}

struct scd_key small_cache_key(const char *uri)
{
	struct scd_key key;

	scd_key_make(secret, "GET", uri, strlen(uri), &key);
	return key;
}

struct cached *small_cache_response(const char *uri, unsigned status,
				    size_t body_len,
				    enum admission_decision place)
{
	const struct freshness freshness = { .lifetime_s = 60 };
	const struct cached_head head = { uri, &fields_none, &fields_none,
					  status, &freshness, false };
	struct cached *c = cached_new(&head);

	if (!c)
		abort();
	cached_set_body(c, NULL, body_len);
	c->place = (uint8_t)place;
	return c;
}

bool small_cache_put(struct cache *cache, const char *uri, struct cached *c,
		     uint64_t asked)
{
	const struct scd_key key = small_cache_key(uri);
	const struct cache_fill fill = { &key, &fields_none, asked, NULL };
	bool stored = cache_put(cache, &fill, c);

	cached_unref(&c);
	return stored;
}

struct cached *small_cache_get(struct cache *cache, const char *uri)
{
	const struct scd_key key = small_cache_key(uri);
	enum cachestatus_fwd why;

	return cache_get(cache, &key, &fields_none, &why);
}

void small_cache_purge_prefix(struct cache *cache, const char *prefix,
			      int64_t now_s, struct purge_walk *walk)
{
	const struct invalidation_entry entry = {
		.of = invalidation_of_prefix(secret, prefix)
	};
	const struct cache_purge purge = { .entries = &entry,
					   .n = 1,
					   .now_s = now_s };

	cache_purge_begin(cache, &purge, walk);
}
