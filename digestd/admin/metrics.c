/*
 * Metrics in Prometheus' text format, or as a list of what there is. Each is a
 * row of node_metrics.h, or of a table of counters.
 */
#include "digestd/admin/node_metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Where metrics are written. */
struct metrics {
	const struct node_status *s;
	FILE *to;
	bool list; /* what there is, a line each, without values */
};

static void metrics_head(const struct metrics *m, const char *name,
			 const char *type, const char *help)
{
	if (m->list)
		fprintf(m->to, "digestd_%-38s %-8s %s\n", name, type, help);
	else
		fprintf(m->to, "# HELP digestd_%s %s\n# TYPE digestd_%s %s\n",
			name, help, name, type);
}

static void metrics_gauge(const struct metrics *m, const char *name,
			  double value, const char *help)
{
	if (!name)
		return;
	metrics_head(m, name, "gauge", help);
	if (!m->list)
		fprintf(m->to, "digestd_%s %.17g\n", name, value);
}

static void metrics_counter(const struct metrics *m, const char *name,
			    uint64_t value, const char *help)
{
	char total[64];

	snprintf(total, sizeof(total), "%s_total", name);
	metrics_head(m, total, "counter", help);
	if (!m->list)
		fprintf(m->to, "digestd_%s %" PRIu64 "\n", total, value);
}

/* A row of node_metrics.h, and one of a table of counters. */
#define METRIC_gauge(name, value, help)                                        \
	metrics_gauge(m, name, (double)(value), help);
#define METRIC_counter(name, value, help) metrics_counter(m, name, value, help);
#define M(type, metric, member, value, help)                                   \
	METRIC_##type(metric, value, help)

/* What is stored is part of the objects in memory. */
static void metrics_of_memory(const struct metrics *m)
{
	struct body_memory_stats bodies;

	body_memory_stats(&bodies);
	metrics_head(m, "memory_bytes", "gauge",
		     "memory of the process, by use");
#define X(name, help)                                                          \
	if (!m->list)                                                          \
		fprintf(m->to,                                                 \
			"digestd_memory_bytes{use=\"" #name "\"} %" PRIu64     \
			"\n",                                                  \
			ledger_used(&memory_ledger, LEDGER_##name));
	LEDGER_USES(X)
#undef X
	MEMORY_METRICS(M)
}

static void metrics_of_disk(const struct metrics *m)
{
	const struct node_status *s = m->s;

	DISK_METRICS(M)
#define X(name, help) metrics_counter(m, "disk_" #name, s->disk.name, help);
	DISK_COUNTERS(X)
#undef X
}

static void metrics_of_admission(const struct metrics *m)
{
	const struct node_status *s = m->s;

#define X(name, help)                                                          \
	metrics_counter(m, "admission_" #name, s->admission.name, help);
	ADMITTER_COUNTERS(X)
#undef X
	ADMISSION_METRICS(M)
}

static void metrics_of_tls(const struct metrics *m)
{
	const struct node_status *s = m->s;

	TLS_METRICS(M)
	if (!s->ncertificates && !m->list)
		return;
	metrics_head(m, "certificate_expiry_timestamp_seconds", "gauge",
		     "when the listener's certificate expires, since 1970");
	for (size_t i = 0; i < s->ncertificates; i++)
		fprintf(m->to, "digestd_certificate_expiry_timestamp_seconds{"
			"listener=\"%s\"} %" PRId64 "\n",
			s->certificates[i].use, s->certificates[i].expires_s);
}

static void metrics_of_members(const struct metrics *m)
{
	const struct node_status *s = m->s;

	MEMBERS_METRICS(M)
}

static void metrics_of_seen(const struct metrics *m)
{
	const struct node_status *s = m->s;

	SEEN_METRICS(M)
#define X(name, held, seen)                                                    \
	metrics_counter(m, "seen_" #name, s->sharing.sent.name, seen);
	DIGEST_API_COUNTERS(X)
#undef X
}

static void metrics_of_digest(const struct metrics *m)
{
	const struct node_status *s = m->s;

	DIGEST_METRICS(M)
#define X(name, held, seen) metrics_counter(m, #name, s->digests.name, held);
	DIGEST_API_COUNTERS(X)
#undef X
}

static size_t metrics_peer_count(const struct metrics *m)
{
	return m->s->follow ? peer_follower_count(m->s->follow) : 0;
}

static void metrics_peer_gauges(const struct metrics *m)
{
	struct peer_follower_status p;
	const struct node_status *s = m->s;
	size_t n = metrics_peer_count(m);

	metrics_head(m, "peer_usable", "gauge",
		     "whether the peer may be asked");
	for (size_t i = 0; i < n; i++) {
		peer_follower_status(s->follow, i, &p);
		fprintf(m->to, "digestd_peer_usable{peer=\"%s\"} %d\n", p.name,
			p.usable);
	}
	metrics_head(m, "peer_drains", "gauge",
		     "whether the peer drains");
	for (size_t i = 0; i < n; i++) {
		peer_follower_status(s->follow, i, &p);
		fprintf(m->to, "digestd_peer_drains{peer=\"%s\"} %d\n", p.name,
			p.says.drains);
	}
	metrics_head(m, "peer_leases", "gauge",
		     "whether the peer asks for leases");
	for (size_t i = 0; i < n; i++) {
		peer_follower_status(s->follow, i, &p);
		if (p.says.leases_said)
			fprintf(m->to, "digestd_peer_leases{peer=\"%s\"} %d\n",
				p.name, p.says.leases);
	}
	metrics_head(m, "peer_digest_generation", "gauge",
		     "generation of the peer's digest that is held");
	for (size_t i = 0; i < n; i++) {
		peer_follower_status(s->follow, i, &p);
		fprintf(m->to, "digestd_peer_digest_generation{peer=\"%s\"} %"
			PRIu64 "\n", p.name,
			p.digest ? p.digest->generation : 0);
	}
	metrics_head(m, "peer_digest_age_seconds", "gauge",
		     "time since the peer's digest was known to be current");
	for (size_t i = 0; i < n; i++) {
		peer_follower_status(s->follow, i, &p);
		if (p.digest)
			fprintf(m->to, "digestd_peer_digest_age_seconds{peer="
				"\"%s\"} %.3f\n", p.name,
				(double)(s->now_ms - p.confirmed_ms) / 1e3);
	}
	metrics_head(m, "peer_round_trip_seconds", "gauge",
		     "smoothed time until the peer's answers begin");
	for (size_t i = 0; i < n; i++) {
		peer_follower_status(s->follow, i, &p);
		fprintf(m->to, "digestd_peer_round_trip_seconds{peer=\"%s\"} "
			"%.6f\n", p.name, p.rtt_ms / 1e3);
	}
}

static void metrics_purge_peers(const struct metrics *m)
{
	size_t n = m->s->teller ? teller_peers(m->s->teller) : 0;
	struct teller_peer_status p;

	if (!n && !m->list)
		return;
	metrics_head(m, "purges_unacknowledged", "gauge",
		     "purges of this node that the peer has not acknowledged");
	for (size_t i = 0; i < n; i++) {
		teller_peer_status(m->s->teller, i, &p);
		fprintf(m->to, "digestd_purges_unacknowledged{peer=\"%s\"} %"
			PRIu64 "\n", p.name, p.lacking);
	}
	metrics_head(m, "purges_unacknowledged_seconds", "gauge",
		     "time for which there have been some");
	for (size_t i = 0; i < n; i++) {
		teller_peer_status(m->s->teller, i, &p);
		fprintf(m->to, "digestd_purges_unacknowledged_seconds{peer="
			"\"%s\"} %.3f\n", p.name,
			(double)p.lacking_ms / 1e3);
	}
}

/* Not written as p.name: in the macro below that is a parameter. */
static const char *metrics_peer_name(const struct peer_follower_status *p)
{
	return p->name;
}

static void metrics_peer_counters(const struct metrics *m)
{
	struct peer_follower_status p;
	const struct node_status *s = m->s;
	size_t n = metrics_peer_count(m);

#define X(name, help)                                                          \
	metrics_head(m, "peer_" #name "_total", "counter", help);              \
	for (size_t i = 0; i < n; i++) {                                       \
		peer_follower_status(s->follow, i, &p);                        \
		fprintf(m->to,                                                 \
			"digestd_peer_" #name "_total{peer=\"%s\"} %" PRIu64   \
			"\n",                                                  \
			metrics_peer_name(&p), p.counters.name);               \
	}
	PEER_FOLLOWER_COUNTERS(X)
#undef X
}

static void metrics_of_refusals(const struct metrics *m)
{
	metrics_head(m, "requests_refused_total", "counter",
		     "requests refused before anybody was asked, by reason");
	for (int i = 0; i < REFUSAL_COUNT && !m->list; i++)
		fprintf(m->to, "digestd_requests_refused_total{reason=\"%s\"} "
			"%" PRIu64 "\n", refusal_name((enum refusal)i),
			m->s->counters.refusals[i]);
}

static void metrics_put_fault(void *arg, const char *url,
			      enum fetch_cause cause, uint64_t n)
{
	const struct metrics *m = arg;

	fputs("digestd_origin_failures_total{origin=\"", m->to);
	for (; *url; url++)
		fprintf(m->to, "%s%c", strchr("\"\\", *url) ? "\\" : "", *url);
	fprintf(m->to, "\",cause=\"%s\"} %" PRIu64 "\n",
		fetch_cause_name(cause), n);
}

static void metrics_of_origins(const struct metrics *m)
{
	metrics_head(m, "origin_failures_total", "counter",
		     "fetches from origins that failed, by origin and cause");
	if (!m->list)
		origin_faults_each(m->s->faults, metrics_put_fault,
				   (void *)(uintptr_t)m);
}

static void metrics_write(const struct metrics *m)
{
	const struct node_status *s = m->s;

	NODE_METRICS(M)
#define X(name, help) metrics_counter(m, #name, s->counters.name, help);
	WORKER_COUNTERS(X)
#undef X
	metrics_of_refusals(m);
	metrics_of_origins(m);
#define X(name, help) \
	metrics_counter(m, "access_log_" #name, s->access_log.name, help);
	ACCESS_LOG_COUNTERS(X)
#undef X
#define X(name, help) \
	metrics_counter(m, "purges_" #name, s->telling.name, help);
	TELLER_COUNTERS(X)
#undef X
	metrics_purge_peers(m);
#define X(name, help) \
	metrics_counter(m, "handover_" #name, s->offers.name, help);
	OFFERS_COUNTERS(X)
#undef X
#define X(name, help) metrics_counter(m, "copier_" #name, s->copies.name, help);
	COPIER_COUNTERS(X)
#undef X
	STORE_METRICS(M)
	metrics_of_memory(m);
	if (s->has_disk || m->list)
		metrics_of_disk(m);
	metrics_of_admission(m);
	if (s->shares || m->list)
		metrics_of_seen(m);
	if (s->has_members || m->list)
		metrics_of_members(m);
	metrics_of_tls(m);
	if (s->publishes || m->list)
		metrics_of_digest(m);
	if (metrics_peer_count(m) || m->list) {
		metrics_peer_gauges(m);
		metrics_peer_counters(m);
	}
}

void node_status_metrics(const struct node_status *s, FILE *to)
{
	const struct metrics m = {.s = s, .to = to};

	assert(s->node);
	assert(s->ncertificates <= NODE_CERTIFICATES_MAX);
	metrics_write(&m);
}

void node_status_list_metrics(FILE *to)
{
	static const struct node_status nothing;
	const struct metrics m = {.s = &nothing, .to = to, .list = true};

	metrics_write(&m);
}
