/*
 * Why a URL is answered as it is: what the configuration says of it; what is
 * stored for it, or why its last response was not; which peers' digests claim
 * it, and what came of asking one.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/squid.h"
#include "digestd/cache/cache.h"
#include "digestd/config/config_explain.h"
#include "digestd/config/configuration.h"
#include "digestd/http/freshness.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/tags.h"
#include "digestd/http/target.h"
#include "digestd/mesh/peer_digest.h"
#include "digestd/node/site.h"
#include "digestd/os/loop.h"
#include "digestd/part_settings.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/proxy/unstored.h"
#include "digestd/proxy/worker.h"
#include "digestd/service_inside.h"

enum { SERVICE_ASKED = 4096 }; /* keys; a power of two */

/* What came last of asking a peer for a key, in the place of its hash. */
struct service_asked {
	struct {
		uint64_t hash;
		int64_t time_s; /* 0: there is nothing */
		uint32_t peer;
		enum peer_outcome kind;
	} places[SERVICE_ASKED];
};

void service_note_outcome(struct service *s, const struct worker_outcome *o)
{
	const size_t i = o->hash & (SERVICE_ASKED - 1);

	if (!s->control)
		return; /* nobody can ask */
	if (!s->asked)
		s->asked = calloc(1, sizeof(*s->asked));
	if (!s->asked)
		return;
	s->asked->places[i].hash = o->hash;
	s->asked->places[i].time_s = loop_steady_s(s->loop);
	s->asked->places[i].peer = o->peer;
	s->asked->places[i].kind = o->kind;
}

/* Who a stored response is from. */
static json_t *service_explain_source(const struct fields *fields)
{
	const char *peer = fields_get(fields, tags_source_field);

	if (!peer)
		peer = fields_get(fields, tags_from_field);
	return peer ? json_pack("{s:s}", "peer", peer + 1) :
		      json_pack("{s:n}", "peer");
}

/* The fields of requests that it is for; one that is not there is null. */
static json_t *service_explain_variant(const struct cached *c)
{
	const struct fields *selecting = cached_selecting(c);
	json_t *o = json_object();

	for (size_t i = 0; c->varies && i < fields_count(selecting); i++) {
		const struct field *f = fields_at(selecting, i);

		json_object_set_new(o, f->name, *f->value ?
							json_string(f->value) :
							json_null());
	}
	return o;
}

/* Whether this node acts for the origin of a target. */
static bool service_explain_has_origin(const struct config *c,
				       const struct target *t)
{
	const struct site *site = sites_find(c->sites, t->host, t->host_len);

	for (size_t i = 0; i < c->norigins; i++) {
		if (strlen(c->origins[i].name) == t->host_len &&
		    !strncmp(c->origins[i].name, t->host, t->host_len))
			return true;
	}
	return c->default_origin || (site && site->origin);
}

/* Reads a stored response as requests for the target do. */
static void service_explain_read(const struct service *s,
				 const struct target *t, unsigned status,
				 const struct fields *fields,
				 struct response_facts *facts)
{
	const struct site_answer answer = { status, fields_get(fields,
							 "Content-Type") };
	const struct site *site = sites_find(s->config->sites, t->host,
					     t->host_len);
	struct policy policy;

	response_facts_read(facts, status, fields,
			    service_explain_has_origin(s->config, t) ?
				    s->config->node : NULL);
	if (!site)
		return;
	site_policy(site, t->path, &answer, &policy);
	facts->rules = policy_freshness(&policy);
}

static json_t *service_explain_stored(const struct service *s,
				      const struct target *t, struct cached *c)
{
	const int64_t now_s = loop_steady_s(s->loop);
	const struct cached_disk *disk = cached_disk(c);
	struct response_facts facts;
	struct fields fields;
	json_t *o, *source;

	if (cached_fields(c, &fields))
		return NULL;
	service_explain_read(s, t, c->status, &fields, &facts);
	o = json_pack("{s:i, s:I, s:I, s:I, s:s, s:b, s:b, s:b, s:o}", "status",
		      (int)c->status, "bytes", (json_int_t)c->body_len, "age_s",
		      (json_int_t)freshness_age(&c->freshness, now_s),
		      "fresh_s",
		      (json_int_t)freshness_left(&c->freshness, now_s), "by",
		      freshness_rule_text(freshness_rule_of(&facts)),
		      "validates", (int)c->freshness.always_validate,
		      "probation", cached_place(c) == ADMISSION_RAM, "disk",
		      disk && disk->entry != NULL, "variant",
		      service_explain_variant(c));
	source = service_explain_source(&fields);
	json_object_update(o, source);
	json_decref(source);
	fields_free(&fields);
	return o;
}

static json_t *service_explain_held(struct service *s, const struct target *t,
				    const struct scd_key *key)
{
	struct cache_held held;
	json_t *list = json_array();

	cache_look(s->cache, key, &held);
	for (size_t i = 0; i < held.n; i++) {
		json_array_append_new(
			list, service_explain_stored(s, t, held.variants[i]));
		cached_unref(&held.variants[i]);
	}
	return json_pack("{s:I, s:I, s:o}", "in_memory",
			 (json_int_t)held.in_memory, "on_disk",
			 (json_int_t)held.on_disk, "variants", list);
}

static json_t *service_explain_unstored(const struct service *s,
					const struct scd_key *key)
{
	struct unstored_note note;

	if (!unstored_find(s->unstored, key->lo, &note))
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:I}", "reason",
			 not_stored_label(note.reason), "meaning",
			 not_stored_text(note.reason), "source",
			 note.from_peer ? "peer" : "origin", "ago_s",
			 (json_int_t)(loop_steady_s(s->loop) - note.time_s));
}

static bool service_explain_claims(const struct peer_digest *d,
				   const struct target *t,
				   const struct scd_key *key)
{
	struct scd_key squid;

	if (!d)
		return false;
	if (peer_digest_is_list(d))
		return peer_table_has(&d->slot, key);
	if (d->bloom.hashing != SCD_HASHING_SQUID)
		return scd_bloom_has(&d->bloom, key);
	return !scd_squid_key("GET", t->uri, t->uri_len, &squid) &&
	       scd_bloom_has(&d->bloom, &squid);
}

static json_t *service_explain_claim(const struct service *s,
				     const struct peer_follower_status *p)
{
	const int64_t age_ms = loop_now_ms(s->loop) - p->confirmed_ms;

	return json_pack("{s:s, s:I, s:f, s:b, s:s}", "peer", p->name,
			 "generation", (json_int_t)p->digest->generation,
			 "digest_age_s", (double)age_ms / 1e3, "usable",
			 (int)p->usable, "health",
			 p->gone ? "unreachable" :
				   peer_health_state_text(p->health));
}

/* Which peers' digests have it, and of which peers one is known. */
static json_t *service_explain_peers(const struct service *s,
				     const struct target *t,
				     const struct scd_key *key)
{
	size_t n = s->follow ? peer_follower_count(s->follow) : 0, known = 0;
	json_t *claims = json_array();

	for (size_t i = 0; i < n; i++) {
		struct peer_follower_status p;

		peer_follower_status(s->follow, i, &p);
		known += p.digest != NULL;
		if (service_explain_claims(p.digest, t, key))
			json_array_append_new(claims,
					      service_explain_claim(s, &p));
	}
	return json_pack("{s:I, s:o}", "digests", (json_int_t)known, "claims",
			 claims);
}

static const char *service_explain_peer_name(const struct service *s,
					     uint32_t id)
{
	size_t n = s->follow ? peer_follower_count(s->follow) : 0;

	for (size_t i = 0; i < n; i++) {
		struct peer_follower_status p;

		peer_follower_status(s->follow, i, &p);
		if (p.id == id)
			return p.name;
	}
	return "one that is no peer any more";
}

static json_t *service_explain_asked(const struct service *s,
				     const struct scd_key *key)
{
	const size_t i = key->lo & (SERVICE_ASKED - 1);
	const struct service_asked *a = s->asked;

	if (!a || !a->places[i].time_s || a->places[i].hash != key->lo)
		return json_null();
	return json_pack("{s:s, s:s, s:I}", "peer",
			 service_explain_peer_name(s, a->places[i].peer),
			 "outcome", peer_outcome_text(a->places[i].kind),
			 "ago_s",
			 (json_int_t)(loop_steady_s(s->loop) -
				      a->places[i].time_s));
}

/* What is no UTF-8 is left out: JSON cannot have it. */
static json_t *service_explain_text(const char *text)
{
	json_t *string = text ? json_string(text) : NULL;

	return string ? string : json_null();
}

static json_t *service_explain_setting(const struct config_explained *l)
{
	return json_pack("{s:s, s:o, s:o, s:o}", "name", l->name, "value",
			 service_explain_text(l->value), "from",
			 service_explain_text(l->from), "rule",
			 service_explain_text(l->rule));
}

/* Adds a line of what digestd -t --explain prints. */
static void service_explain_line(void *arg, const struct config_explained *l)
{
	json_t *o = arg;

	switch (l->kind) {
	case CONFIG_EXPLAINED_SITE:
		json_object_set_new(o, "site",
				    l->value ?
				    json_pack("{s:s, s:o}", "name", l->value,
					      "from",
					      service_explain_text(l->from)) :
				    json_null());
		return;
	case CONFIG_EXPLAINED_ORIGIN:
		json_object_set_new(o, "origin",
				    json_pack("{s:o, s:o}", "url",
					      service_explain_text(l->value),
					      "from",
					      service_explain_text(l->from)));
		return;
	case CONFIG_EXPLAINED_KEY:
		json_object_set_new(o, "key", service_explain_text(l->value));
		return;
	case CONFIG_EXPLAINED_SETTING:
		json_array_append_new(json_object_get(o, "settings"),
				      service_explain_setting(l));
		return;
	case CONFIG_EXPLAINED_ANSWER:
		json_array_append_new(json_object_get(o, "answers"),
				      service_explain_setting(l));
		return;
	}
}

json_t *service_explain(struct service *s, struct target *t)
{
	json_t *o = json_pack("{s:s, s:[], s:[]}", "url", t->uri, "settings",
			      "answers");
	uint8_t secret[SCD_SECRET_BYTES];
	struct scd_key key;

	service_take_outcomes(s);
	if (!o || config_explain(s->config, t, service_explain_line, o)) {
		json_decref(o);
		return NULL;
	}
	part_settings_hash_secret(s->config, secret);
	scd_key_make(secret, "GET", t->uri, t->uri_len, &key);
	json_object_set_new(o, "stored", service_explain_held(s, t, &key));
	json_object_set_new(o, "not_stored", service_explain_unstored(s, &key));
	json_object_set_new(o, "peers", service_explain_peers(s, t, &key));
	json_object_set_new(o, "asked", service_explain_asked(s, &key));
	return o;
}
