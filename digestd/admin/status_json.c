/*
 * The node's status as JSON.
 */
#include "config.h"
#include "digestd/admin/node_metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>

/* Adds a whole number; a failure shows as a member that is missing. A null name
 * is refused, too. */
static void status_json_put(json_t *to, const char *name, uint64_t value)
{
	json_object_set_new(to, name, json_integer((json_int_t)value));
}

static void status_json_put_real(json_t *to, const char *name, double value)
{
	json_object_set_new(to, name, json_real(value));
}

static void status_json_put_text(json_t *to, const char *name,
				 const char *value)
{
	json_object_set_new(to, name, json_string(value));
}

static void status_json_put_flag(json_t *to, const char *name, bool value)
{
	json_object_set_new(to, name, json_boolean(value));
}

/* A row of node_metrics.h as a member of o; those without a name are none. */
#define M(type, metric, member, value, help)                                   \
	_Generic((value), bool                                                 \
		 : status_json_put_flag, double                                \
		 : status_json_put_real, uint64_t                              \
		 : status_json_put)(o, member, value);

static json_t *status_json_counters(const struct node_status *s)
{
	json_t *o = json_object();

#define X(name, help) status_json_put(o, #name, s->counters.name);
	WORKER_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_refusals(const struct node_status *s)
{
	json_t *o = json_object();

	for (int i = 0; i < REFUSAL_COUNT; i++)
		status_json_put(o, refusal_name((enum refusal)i),
				s->counters.refusals[i]);
	return o;
}

static json_t *status_json_access_log(const struct node_status *s)
{
	json_t *o = json_object();

#define X(name, help) status_json_put(o, #name, s->access_log.name);
	ACCESS_LOG_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_listeners(const struct node_status *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->nlisteners; i++) {
		json_t *o = json_object();

		status_json_put_text(o, "listener", s->listeners[i].name);
		status_json_put_text(o, "address", s->listeners[i].address);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *status_json_certificates(const struct node_status *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->ncertificates; i++) {
		json_t *o = json_object();

		status_json_put_text(o, "listener", s->certificates[i].use);
		status_json_put(o, "expires",
				(uint64_t)s->certificates[i].expires_s);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *status_json_store(const struct node_status *s)
{
	json_t *o = json_object();

	STORE_METRICS(M)
	return o;
}

static json_t *status_json_memory(void)
{
	struct body_memory_stats bodies;
	json_t *o = json_object();

	body_memory_stats(&bodies);
	MEMORY_METRICS(M)
#define X(name, help)                                                          \
	status_json_put(o, #name, ledger_used(&memory_ledger, LEDGER_##name));
	LEDGER_USES(X)
#undef X
	return o;
}

static json_t *status_json_disk(const struct node_status *s)
{
	json_t *o = json_object();

	DISK_METRICS(M)
#define X(name, help) status_json_put(o, #name, s->disk.name);
	DISK_COUNTERS(X)
#undef X
	return o;
}

/* What each peer has acknowledged of them. */
static json_t *status_json_purge_peers(const struct node_status *s)
{
	json_t *list = json_array();

	for (size_t i = 0; s->teller && i < teller_peers(s->teller); i++) {
		struct teller_peer_status p;
		json_t *o = json_object();

		teller_peer_status(s->teller, i, &p);
		status_json_put_text(o, "peer", p.name);
		status_json_put_flag(o, "failing", p.failing);
		status_json_put(o, "acknowledged", p.acknowledged);
		status_json_put(o, "unacknowledged", p.lacking);
		status_json_put_real(o, "unacknowledged_s",
				     (double)p.lacking_ms / 1e3);
		json_array_append_new(list, o);
	}
	return list;
}

/* Told to peers, and heard of them. */
static json_t *status_json_purges(const struct node_status *s)
{
	json_t *o = json_object();

#define X(name, help) status_json_put(o, #name, s->telling.name);
	TELLER_COUNTERS(X)
#undef X
	status_json_put_flag(o, "serves", s->serves);
	json_object_set_new(o, "peers", status_json_purge_peers(s));
	return o;
}

/* Handed over to peers, and copied from them. */
static json_t *status_json_copies(const struct node_status *s)
{
	json_t *o = json_object();

#define X(name, help) status_json_put(o, #name, s->offers.name);
	OFFERS_COUNTERS(X)
#undef X
#define X(name, help) status_json_put(o, #name, s->copies.name);
	COPIER_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_admission(const struct node_status *s)
{
	json_t *o = json_object();

#define X(name, help) status_json_put(o, #name, s->admission.name);
	ADMITTER_COUNTERS(X)
#undef X
	ADMISSION_METRICS(M)
	return o;
}

static json_t *status_json_members(const struct node_status *s)
{
	json_t *o = json_object();

	MEMBERS_METRICS(M)
	return o;
}

/* What was seen here, and which generations of that are held of peers. */
static json_t *status_json_seen(const struct node_status *s)
{
	const struct sharing_stats *t = &s->sharing;
	json_t *o = json_object(), *held = json_object();
	size_t n = t->follow ? peer_follower_count(t->follow) : 0;

	SEEN_METRICS(M)
	for (size_t i = 0; i < n; i++) {
		struct peer_follower_status p;

		peer_follower_status(t->follow, i, &p);
		status_json_put(held, p.name,
				p.digest ? p.digest->generation : 0);
	}
	json_object_set_new(o, "peers", held);
	return o;
}

static json_t *status_json_squid(const struct node_status *s)
{
	json_t *o = json_object();

	SQUID_METRICS(M)
#define X(name, help) status_json_put(o, #name, s->squid.name);
	SQUID_DIGEST_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_nginx(const struct node_status *s)
{
	json_t *o = json_object();

	NGINX_METRICS(M)
#define X(name, help) status_json_put(o, #name, s->sidecar.nginx.name);
	NGINX_FOLDER_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_sidecar(const struct node_status *s)
{
	json_t *o = json_object();

	SIDECAR_METRICS(M)
#define X(name, help) status_json_put(o, #name, s->sidecar.holdings.name);
	HOLDINGS_COUNTERS(X)
#undef X
	json_object_set_new(o, "nginx", s->sidecar.has_nginx ?
						status_json_nginx(s) :
						json_null());
	return o;
}

static json_t *status_json_share(const struct node_status *s)
{
	json_t *o = json_object();

	SHARE_METRICS(M)
#define X(name, help) status_json_put(o, #name, s->share.name);
	TABLE_SHARE_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_digest(const struct node_status *s)
{
	json_t *o = json_object();

	DIGEST_METRICS(M)
#define X(name, held, seen) status_json_put(o, #name, s->digests.name);
	DIGEST_API_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_peer_digest(const struct peer_follower_status *p,
				       int64_t now_ms)
{
	json_t *o = json_object();
	char instance[17];

	snprintf(instance, sizeof(instance), "%016" PRIx64,
		 p->digest->instance);
	status_json_put_text(o, "instance", instance);
	status_json_put(o, "generation", p->digest->generation);
	status_json_put(o, "keys", p->digest->nkeys);
	status_json_put_text(o, "form", peer_digest_is_list(p->digest)
						? "list"
						: "array");
	status_json_put_flag(o, "ages", p->digest->has_ages);
	status_json_put(o, "bits", p->digest->bloom.nbits);
	status_json_put(o, "hash_functions", p->digest->bloom.nhash);
	status_json_put_real(o, "fill", p->digest->fill);
	status_json_put_real(o, "false_positive_rate", p->digest->fp);
	status_json_put_real(o, "age_s",
			     (double)(now_ms - p->confirmed_ms) / 1e3);
	return o;
}

/* Of a peer that is not there, no more is known. */
static const char *status_json_health(const struct peer_follower_status *p)
{
	return p->gone ? "unreachable" : peer_health_state_text(p->health);
}

static json_t *status_json_peer(const struct peer_follower_status *p,
				int64_t now_ms)
{
	json_t *o = json_object();

	status_json_put_text(o, "name", p->name);
	status_json_put_text(o, "url", p->url);
	status_json_put_flag(o, "usable", p->usable);
	status_json_put_text(o, "health", status_json_health(p));
	status_json_put_flag(o, "suspect", p->suspect);
	status_json_put_flag(o, "held", p->held);
	status_json_put_flag(o, "elsewhere", p->sector.count);
	status_json_put_flag(o, "drains", p->says.drains);
	json_object_set_new(o, "leases", p->says.leases_said ?
						 json_boolean(p->says.leases) :
						 json_null());
	status_json_put_real(o, "round_trip_ms", p->rtt_ms);
	json_object_set_new(o, "digest",
			    p->digest ? status_json_peer_digest(p, now_ms)
				      : json_null());
#define X(name, help) status_json_put(o, #name, p->counters.name);
	PEER_FOLLOWER_COUNTERS(X)
#undef X
	return o;
}

static json_t *status_json_peers(const struct node_status *s)
{
	json_t *list = json_array();
	size_t n = s->follow ? peer_follower_count(s->follow) : 0;

	for (size_t i = 0; i < n; i++) {
		struct peer_follower_status p;

		peer_follower_status(s->follow, i, &p);
		json_array_append_new(list, status_json_peer(&p, s->now_ms));
	}
	return list;
}

/* What is added to. */
struct status_json_troubles {
	json_t *list;
	int64_t now_ms;
};

static void status_json_trouble(void *arg, const struct trouble_count *count)
{
	const struct status_json_troubles *to = arg;
	json_t *o;

	if (!count->n)
		return;
	o = json_object();
	status_json_put_text(o, "of", count->kind ? count->kind : "part");
	status_json_put_text(o, "name", count->name);
	status_json_put_text(o, "cause", trouble_label(count->trouble));
	status_json_put_text(o, "what", trouble_text(count->trouble));
	status_json_put_text(o, "do", trouble_remedy(count->trouble));
	status_json_put(o, "count", count->n);
	status_json_put_real(o, "ago_s",
			     (double)(to->now_ms - count->last_ms) / 1e3);
	json_array_append_new(to->list, o);
}

static json_t *status_json_troubles(const struct node_status *s)
{
	struct status_json_troubles to = { json_array(), s->now_ms };

	troubles_each(s->troubles, status_json_trouble, &to);
	return to.list;
}

/* Of times: how many, their sum, and how many up to each of the bounds, above
 * the one before; the last one above all. */
static json_t *status_json_histogram(const struct histogram *h)
{
	json_t *o = json_object(), *cells = json_array();

	status_json_put(o, "count", histogram_count(h));
	status_json_put_real(o, "sum_s", (double)h->sum_us / 1e6);
	for (int i = 0; i < HISTOGRAM_CELLS; i++)
		json_array_append_new(cells,
				      json_integer((json_int_t)h->cells[i]));
	json_object_set_new(o, "cells", cells);
	return o;
}

static json_t *status_json_bounds(void)
{
	json_t *list = json_array();

	for (int i = 0; i < HISTOGRAM_BOUND_COUNT; i++)
		json_array_append_new(
			list, json_real((double)histogram_bounds_us[i] / 1e6));
	return list;
}

/* By where replies are from. */
static json_t *status_json_sources(const struct node_status *s)
{
	static const char *const names[] = {
#define X(name, what) #name,
		ACCESS_SOURCES(X)
#undef X
	};
	json_t *o = json_object();

	for (int i = 0; i < FIGURES_SOURCES; i++) {
		json_t *of = json_object();

		json_object_set_new(
			of, "duration",
			status_json_histogram(&s->figures.duration[i]));
		json_object_set_new(
			of, "first_byte",
			status_json_histogram(&s->figures.first_byte[i]));
		json_object_set_new(o, names[i], of);
	}
	return o;
}

static json_t *status_json_responses(const struct node_status *s)
{
	static const char *const classes[FIGURES_CLASSES] = {
		"none", "1xx", "2xx", "3xx", "4xx", "5xx",
	};
	json_t *o = json_object();

	for (int i = 0; i < FIGURES_CLASSES; i++)
		status_json_put(o, classes[i], s->figures.responses[i]);
	return o;
}

static json_t *status_json_not_stored(const struct node_status *s)
{
	json_t *o = json_object();

	for (int i = 1; i < NOT_STORED_COUNT; i++)
		status_json_put(o, not_stored_label((enum not_stored)i),
				s->figures.not_stored[i]);
	return o;
}

static json_t *status_json_upstream(const char *kind, const char *name,
				    const struct upstream_figures *u)
{
	json_t *o = json_object();

	status_json_put_text(o, "kind", kind);
	status_json_put_text(o, "name", name);
	status_json_put(o, "received_bytes", u->bytes);
	json_object_set_new(o, "duration", status_json_histogram(&u->duration));
	return o;
}

/* Whether a member is this text; one that there was no memory for is none. */
static bool status_json_has_text(const json_t *o, const char *name,
				 const char *text)
{
	const char *is = json_string_value(json_object_get(o, name));

	return is && !strcmp(is, text);
}

/* The upstream that an origin is; it is added if it was not asked yet. Null:
 * there is no memory. */
static json_t *status_json_origin(json_t *upstreams, const char *label)
{
	const struct upstream_figures none = { 0 };
	const char *kind = upstream_kind_name(UPSTREAM_origin);
	json_t *u;
	size_t i;

	json_array_foreach(upstreams, i, u) {
		if (status_json_has_text(u, "kind", kind) &&
		    status_json_has_text(u, "name", label))
			return u;
	}
	u = status_json_upstream(kind, label, &none);
	return json_array_append_new(upstreams, u) ? NULL : u;
}

static void status_json_add_origin(void *arg, const struct origin_status *s)
{
	json_t *u = status_json_origin(arg, s->label), *o;
	json_t *groups = json_object_get(u, "groups");

	if (!groups) {
		groups = json_array();
		if (json_object_set_new(u, "groups", groups))
			return;
	}
	o = json_object();
	status_json_put_text(o, "urls", s->group);
	status_json_put_text(o, "state", origin_state_text(s->state));
	status_json_put_text(o, "cause", trouble_label(s->cause));
	status_json_put(o, "outstanding", s->outstanding);
	status_json_put_real(o, "answer_ms", s->answer_ms);
	json_array_append_new(groups, o);
}

static json_t *status_json_upstreams(const struct node_status *s)
{
	json_t *list = json_array();

	for (int k = 0; k < UPSTREAM_KIND_COUNT && s->names; k++) {
		for (unsigned i = 0; i < UPSTREAMS; i++) {
			const struct upstream_figures *u =
				&s->figures.upstreams[k][i];
			enum upstream_kind kind = (enum upstream_kind)k;
			const char *name = upstream_names_at(s->names, kind, i);

			if (!name || !histogram_count(&u->duration))
				continue;
			json_array_append_new(
				list, status_json_upstream(
					      upstream_kind_name(kind), name,
					      u));
		}
	}
	origins_status(s->origins, s->now_ms, status_json_add_origin, list);
	return list;
}

static json_t *status_json_reloads(const struct node_status *s)
{
	json_t *o = json_object();

	RELOAD_METRICS(M)
	return o;
}

json_t *node_status_object(const struct node_status *s)
{
	json_t *o = json_object();
	char instance[17];

	assert(s->node);
	assert(s->ncertificates <= NODE_CERTIFICATES_MAX);
	assert(s->nlisteners <= NODE_LISTENERS_MAX);
	snprintf(instance, sizeof(instance), "%016" PRIx64, s->instance);
	status_json_put_text(o, "node", s->node);
	status_json_put_text(o, "version", PACKAGE_VERSION);
	status_json_put_text(o, "instance", instance);
	NODE_METRICS(M)
	json_object_set_new(o, "counters", status_json_counters(s));
	json_object_set_new(o, "configuration", status_json_reloads(s));
	json_object_set_new(o, "bounds_s", status_json_bounds());
	json_object_set_new(o, "sources", status_json_sources(s));
	json_object_set_new(o, "responses", status_json_responses(s));
	json_object_set_new(o, "not_stored", status_json_not_stored(s));
	json_object_set_new(o, "upstreams", status_json_upstreams(s));
	json_object_set_new(o, "refusals", status_json_refusals(s));
	json_object_set_new(o, "access_log", status_json_access_log(s));
	json_object_set_new(o, "listeners", status_json_listeners(s));
	json_object_set_new(o, "certificates", status_json_certificates(s));
	json_object_set_new(o, "purges", status_json_purges(s));
	json_object_set_new(o, "copies", status_json_copies(s));
	json_object_set_new(o, "store", status_json_store(s));
	json_object_set_new(o, "memory", status_json_memory());
	json_object_set_new(o, "disk",
			    s->has_disk ? status_json_disk(s) : json_null());
	json_object_set_new(o, "admission", status_json_admission(s));
	json_object_set_new(o, "seen",
			    s->shares ? status_json_seen(s) : json_null());
	json_object_set_new(o, "digest",
			    s->publishes ? status_json_digest(s) : json_null());
	json_object_set_new(o, "squid", s->has_squid ? status_json_squid(s) :
						       json_null());
	json_object_set_new(o, "sidecar", s->has_sidecar ?
						  status_json_sidecar(s) :
						  json_null());
	json_object_set_new(o, "share", s->has_share ? status_json_share(s) :
						       json_null());
	json_object_set_new(o, "members", s->has_members
						  ? status_json_members(s)
						  : json_null());
	json_object_set_new(o, "peers", status_json_peers(s));
	json_object_set_new(o, "troubles", status_json_troubles(s));
	return o;
}

char *node_status_json(const struct node_status *s)
{
	json_t *o = node_status_object(s);
	char *text = json_dumps(o, JSON_INDENT(2));

	json_decref(o);
	return text;
}
