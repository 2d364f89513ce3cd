/*
 * Metrics in Prometheus' text format. Counters come from the tables of those
 * who count; gauges are the rows below.
 */
#include "digestd/admin/node_status.h"

#include <inttypes.h>

#include "digestd/os/memory.h"

static void metrics_head(FILE *to, const char *name, const char *type,
			 const char *help)
{
	fprintf(to, "# HELP digestd_%s %s\n# TYPE digestd_%s %s\n", name, help,
		name, type);
}

static void metrics_gauge(FILE *to, const char *name, double value,
			  const char *help)
{
	metrics_head(to, name, "gauge", help);
	fprintf(to, "digestd_%s %.17g\n", name, value);
}

static void metrics_counter(FILE *to, const char *name, uint64_t value,
			    const char *help)
{
	fprintf(to, "# HELP digestd_%s_total %s\n# TYPE digestd_%s_total "
		"counter\ndigestd_%s_total %" PRIu64 "\n", name, help, name,
		name, value);
}

static void metrics_store_metrics(const struct node_status *s, FILE *to)
{
	const struct store_stats *t = &s->store;

	metrics_gauge(to, "store_keys", (double)t->keys, "URIs in the store");
	metrics_gauge(to, "store_objects", (double)t->entries,
		      "objects in the store, variants counted");
	metrics_gauge(to, "store_bytes", (double)t->weight,
		      "memory of the stored objects");
	metrics_gauge(to, "store_limit_bytes", (double)t->max_weight,
		      "memory that they may take");
	metrics_counter(to, "store_evicted", t->evicted,
			"objects that made room for others");
	metrics_counter(
		to, "store_variants_dropped", t->variants_dropped,
		"objects dropped because their URI had too many variants");
}

/* What is stored is part of the objects in memory. */
static void metrics_memory_metrics(FILE *to)
{
	const struct ledger *l = &memory_ledger;

	metrics_head(to, "memory_bytes", "gauge",
		     "memory of the process, by what it is used for");
#define X(name, help)                                                         \
	fprintf(to, "digestd_memory_bytes{use=\"" #name "\"} %" PRIu64 "\n",   \
		ledger_used(l, LEDGER_##name));
	LEDGER_USES(X)
#undef X
	metrics_gauge(to, "memory_limit_bytes", (double)l->limit,
		      "memory that it may have");
}

static void metrics_disk_metrics(const struct node_status *s, FILE *to)
{
	const struct store_stats *t = &s->disk_store;

	metrics_gauge(to, "disk_keys", (double)t->keys, "URIs on disk");
	metrics_gauge(to, "disk_objects", (double)t->entries,
		      "objects on disk, variants counted");
	metrics_gauge(to, "disk_bytes", (double)t->weight,
		      "what they take of it");
	metrics_gauge(to, "disk_limit_bytes", (double)t->max_weight,
		      "what they may take of it");
	metrics_counter(to, "disk_evicted", t->evicted,
			"objects on disk that made room for others");
#define X(name, help) metrics_counter(to, "disk_" #name, s->disk.name, help);
	DISK_COUNTERS(X)
#undef X
}

static void metrics_admission_metrics(const struct node_status *s, FILE *to)
{
	const struct admitter_stats *a = &s->admission;

#define X(name, help) metrics_counter(to, "admission_" #name, a->name, help);
	ADMITTER_COUNTERS(X)
#undef X
	metrics_gauge(to, "admission_window_keys", (double)a->window,
		      "keys that are remembered for their second use");
	metrics_gauge(to, "admission_bytes", (double)a->bytes,
		      "memory that it takes to know what is worth a write");
	metrics_gauge(to, "admission_admits_all", a->admits_all,
		      "whether everything is worth a write, as things stand");
}

static void metrics_tls_metrics(const struct node_status *s, FILE *to)
{
	metrics_counter(
		to, "tls_admin_failed", s->tls_admin_failed,
		"connections to the admin listener without a TLS handshake");
	if (!s->ncertificates)
		return;
	metrics_head(to, "certificate_expiry_timestamp_seconds", "gauge",
		     "when the listener's certificate expires, since 1970");
	for (size_t i = 0; i < s->ncertificates; i++)
		fprintf(to, "digestd_certificate_expiry_timestamp_seconds{"
			"listener=\"%s\"} %" PRId64 "\n",
			s->certificates[i].use, s->certificates[i].expires_s);
}

static void metrics_sharing_metrics(const struct node_status *s, FILE *to)
{
	const struct sharing_stats *t = &s->sharing;

	metrics_gauge(to, "seen_keys", (double)t->seen.nkeys,
		      "URIs that the node was asked for of late, as it "
		      "publishes them");
	metrics_gauge(to, "seen_generation", (double)t->published.generation,
		      "generation of that digest");
#define X(name, help) metrics_counter(to, "seen_" #name, t->sent.name, help);
	DIGEST_API_COUNTERS(X)
#undef X
}

static double metrics_fill_of(uint64_t nones, uint64_t nbits)
{
	return nbits ? (double)nones / (double)nbits : 0;
}

static void metrics_digest_metrics(const struct node_status *s, FILE *to)
{
	const struct catalog_stats *c = &s->catalog;
	const struct publisher_stats *p = &s->publisher;

	metrics_gauge(to, "digest_generation", (double)p->generation,
		      "generation that is published");
	metrics_gauge(to, "digest_filter_bytes", (double)c->nbits / 8,
		      "size of the catalog's filter, a bit for each counter");
	metrics_counter(to, "digest_grown", c->grown,
			"times that the filter has become larger");
	metrics_counter(to, "digest_shrunk", c->shrunk,
			"times that the filter has become smaller");
	metrics_gauge(to, "digest_array_bytes", (double)p->array_bytes,
		      "size of the digest before coding");
	metrics_gauge(to, "digest_full_bytes", (double)p->full_bytes,
		      "size of the full digest on the wire");
	metrics_gauge(to, "digest_delta_bytes", (double)p->delta_bytes,
		      "size of the last delta on the wire");
	metrics_gauge(to, "digest_fill_ratio",
		      metrics_fill_of(c->nones, c->nbits),
		      "share of bits set in the catalog");
	metrics_gauge(to, "digest_false_positive_ratio", c->fp,
		      "false positives that peers must expect of the digest");
	metrics_gauge(to, "digest_unpublished_changes", (double)c->changed,
		      "keys added and removed since the last generation");
#define X(name, help) metrics_counter(to, #name, s->digests.name, help);
	DIGEST_API_COUNTERS(X)
#undef X
}

static void metrics_peer_gauges(const struct node_status *s, FILE *to)
{
	struct follow_status p;
	size_t n = follow_count(s->follow);

	metrics_head(to, "peer_usable", "gauge",
		     "whether the peer may be asked");
	for (size_t i = 0; i < n; i++) {
		follow_status(s->follow, i, &p);
		fprintf(to, "digestd_peer_usable{peer=\"%s\"} %d\n", p.name,
			p.digest && (p.health == HEALTH_GOOD ||
				     p.health == HEALTH_HALF_OPEN));
	}
	metrics_head(to, "peer_digest_generation", "gauge",
		     "generation of the peer's digest that is held");
	for (size_t i = 0; i < n; i++) {
		follow_status(s->follow, i, &p);
		fprintf(to, "digestd_peer_digest_generation{peer=\"%s\"} %"
			PRIu64 "\n", p.name,
			p.digest ? p.digest->generation : 0);
	}
	metrics_head(to, "peer_digest_age_seconds", "gauge",
		     "time since the peer's digest was known to be current");
	for (size_t i = 0; i < n; i++) {
		follow_status(s->follow, i, &p);
		if (p.digest)
			fprintf(to, "digestd_peer_digest_age_seconds{peer="
				"\"%s\"} %.3f\n", p.name,
				(double)(s->now_ms - p.confirmed_ms) / 1e3);
	}
	metrics_head(to, "peer_round_trip_seconds", "gauge",
		     "smoothed time until the peer's answers begin");
	for (size_t i = 0; i < n; i++) {
		follow_status(s->follow, i, &p);
		fprintf(to, "digestd_peer_round_trip_seconds{peer=\"%s\"} "
			"%.6f\n", p.name, p.rtt_ms / 1e3);
	}
}

/* Not written as p.name: in the macro below that is a parameter. */
static const char *metrics_peer_name(const struct follow_status *p)
{
	return p->name;
}

static void metrics_peer_counters(const struct node_status *s, FILE *to)
{
	struct follow_status p;
	size_t n = follow_count(s->follow);

#define X(name, help)                                                          \
	metrics_head(to, "peer_" #name "_total", "counter", help);             \
	for (size_t i = 0; i < n; i++) {                                       \
		follow_status(s->follow, i, &p);                               \
		fprintf(to,                                                    \
			"digestd_peer_" #name "_total{peer=\"%s\"} %" PRIu64   \
			"\n",                                                  \
			metrics_peer_name(&p), p.counters.name);               \
	}
	FOLLOW_COUNTERS(X)
#undef X
}

void node_status_metrics(const struct node_status *s, FILE *to)
{
	metrics_gauge(to, "start_time_seconds", (double)s->started_s,
		      "when the node was started, since 1970");
	metrics_gauge(to, "ready", s->ready, "whether the node takes requests");
#define X(name, help) metrics_counter(to, #name, s->counters.name, help);
	WORKER_COUNTERS(X)
#undef X
	metrics_store_metrics(s, to);
	metrics_memory_metrics(to);
	if (s->has_disk)
		metrics_disk_metrics(s, to);
	metrics_admission_metrics(s, to);
	if (s->shares)
		metrics_sharing_metrics(s, to);
	metrics_tls_metrics(s, to);
	if (s->publishes)
		metrics_digest_metrics(s, to);
	if (s->follow && follow_count(s->follow)) {
		metrics_peer_gauges(s, to);
		metrics_peer_counters(s, to);
	}
}
