/*
 * From the configuration to what each part wants to be told.
 */
#include "digestd/io/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "digestd/io/configuration.h"

enum {
	BREAKER_MIN_MS = 1000, /* a peer that failed is tried again after it */
	BREAKER_MAX_MS = 60000, /* a dead peer costs < 1500 tries a day */
	MIN_FILTER_BITS = 1 << 16,
	SMALL_OBJECT_BYTES = 4096,
};

/* The token that peers present, in hexadecimal digits. */
static void make_token(const struct config *c, char out[33])
{
	uint8_t token[SCD_SECRET_BYTES];

	scd_derive(c->key, "token", token);
	for (unsigned i = 0; i < SCD_SECRET_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", token[i]);
}

static int copy_origins(const struct config *c, struct worker_settings *out)
{
	struct worker_origin *origins = calloc(c->norigins ? c->norigins : 1,
					       sizeof(*origins));

	if (!origins)
		return -ENOMEM;
	for (size_t i = 0; i < c->norigins; i++)
		origins[i] = (struct worker_origin){ c->origins[i].name,
						     c->origins[i].url };
	out->origins = origins;
	out->norigins = c->norigins;
	return 0;
}

int settings_of_workers(const struct config *c, struct worker_settings *out)
{
	*out = (struct worker_settings){
		.node = c->node,
		.data_listen = c->listen_data,
		.peer_listen = c->listen_peer,
		.max_connections = (unsigned)c->max_connections,
		.header_ms = (unsigned)c->header_timeout_ms,
		.idle_ms = (unsigned)c->idle_timeout_ms,
		.min_rate = (unsigned)c->client_min_rate,
		.max_header_bytes = (size_t)c->max_header_size,
		.default_origin = c->default_origin,
		.forward = c->forward,
		.forward_private = c->forward_private,
		.origin_connect_ms = (unsigned)c->origin_connect_ms,
		.origin_first_byte_ms = (unsigned)c->origin_timeout_ms,
		.origin_low_rate_s = (unsigned)c->origin_stall_s,
		.origin_connections = (unsigned)c->origin_connections,
		.peer_connect_ms = (unsigned)c->peer_connect_ms,
		.peer_first_byte_ms = (unsigned)c->peer_timeout_ms,
		.peer_budget_ms = (unsigned)c->peer_budget_ms,
		.peer_tries = (unsigned)c->peer_tries,
		.max_object_bytes = (size_t)c->max_object_size,
		.window_bytes = (size_t)c->stream_window,
		.max_upload_bytes = (uint64_t)c->max_upload_size,
	};
	/* without a cluster key all zero: a key that nobody shares */
	scd_derive(c->key, "hash", out->hash_secret);
	make_token(c, out->token);
	return copy_origins(c, out);
}

void settings_free(struct worker_settings *s)
{
	free((void *)s->origins);
	s->origins = NULL;
}

uint64_t settings_of_filter(const struct config *c)
{
	uint64_t objects = (uint64_t)c->expected_objects;
	uint64_t want, nbits = MIN_FILTER_BITS;

	/* Small objects, so that there are never many more of them: what a
	 * filter has too many bits costs little once it is coded. */
	if (!objects)
		objects = (uint64_t)c->cache_size / SMALL_OBJECT_BYTES;
	want = objects * (uint64_t)c->bits_per_object;
	while (nbits < want && nbits < (uint64_t)1 << 40)
		nbits *= 2;
	return nbits;
}

struct publish_policy settings_of_publishing(const struct config *c)
{
	return (struct publish_policy){
		.share = c->publish_share,
		.min_ms = c->publish_min_ms,
		.max_ms = c->publish_max_ms,
	};
}

struct follow_settings settings_of_following(const struct config *c)
{
	struct follow_settings s = {
		.follower = {
			.poll_ms = c->poll_ms,
			.backoff_min_ms = 100,
			.backoff_max_ms = 10000,
			.max_age_ms = c->digest_max_age_ms,
		},
		.health = {
			.failures = (unsigned)c->breaker_failures,
			.open_min_ms = BREAKER_MIN_MS,
			.open_max_ms = BREAKER_MAX_MS,
			.quarantine_ms = c->quarantine_ms,
		},
		.wait_s = c->wait_s,
		.timeout_ms = c->digest_timeout_ms,
		.connect_ms = c->peer_connect_ms,
	};

	scd_limits_init(&s.limits);
	s.limits.max_bits = (uint64_t)c->digest_max_bits * 8;
	make_token(c, s.token);
	return s;
}
