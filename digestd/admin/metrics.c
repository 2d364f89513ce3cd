/*
 * Metrics in Prometheus' text format, or as a list of what there is. Each is a
 * row of node_metrics.h, or of a table of counters.
 */
#include "config.h"
#include "digestd/admin/node_metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
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

static void metrics_of_squid(const struct metrics *m)
{
	const struct node_status *s = m->s;

	SQUID_METRICS(M)
#define X(name, help) \
	metrics_counter(m, "squid_digest_" #name, s->squid.name, help);
	SQUID_DIGEST_COUNTERS(X)
#undef X
}

static void metrics_of_nginx(const struct metrics *m)
{
	const struct node_status *s = m->s;

	NGINX_METRICS(M)
#define X(name, help) \
	metrics_counter(m, "nginx_" #name, s->sidecar.nginx.name, help);
	NGINX_FOLDER_COUNTERS(X)
#undef X
}

static void metrics_of_sidecar(const struct metrics *m)
{
	const struct node_status *s = m->s;

	SIDECAR_METRICS(M)
#define X(name, help) \
	metrics_counter(m, "sidecar_" #name, s->sidecar.holdings.name, help);
	HOLDINGS_COUNTERS(X)
#undef X
	if (s->sidecar.has_nginx || m->list)
		metrics_of_nginx(m);
}

static void metrics_of_share(const struct metrics *m)
{
	const struct node_status *s = m->s;

	SHARE_METRICS(M)
#define X(name, help) metrics_counter(m, "share_" #name, s->share.name, help);
	TABLE_SHARE_COUNTERS(X)
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

/* Peers that have figures of their own. */
static size_t metrics_named_peers(const struct metrics *m)
{
	size_t n = metrics_peer_count(m);

	return n < UPSTREAM_NAMES_MAX ? n : UPSTREAM_NAMES_MAX;
}

/* A row each: name, whether there is a value, value, help. Of struct
 * peer_follower_status *p and struct node_status *s. */
/* clang-format off */
#define PEER_GAUGES(X) \
	X(usable, true, p->usable, "whether the peer may be asked") \
	X(drains, true, p->says.drains, "whether the peer drains") \
	X(leases, p->says.leases_said, p->says.leases, \
	  "whether the peer asks for leases") \
	X(digest_generation, true, \
	  p->digest ? (double)p->digest->generation : 0, \
	  "generation of the peer's digest that is held") \
	X(digest_age_seconds, p->digest, \
	  (double)(s->now_ms - p->confirmed_ms) / 1e3, \
	  "time since the peer's digest was known to be current") \
	X(digest_fill_ratio, p->digest, p->digest->fill, \
	  "share of bits set in the peer's digest") \
	X(digest_false_positive_ratio, p->digest, p->digest->fp, \
	  "false positives to be expected of the peer's digest") \
	X(round_trip_seconds, true, p->rtt_ms / 1e3, \
	  "smoothed time until the peer's answers begin")
/* clang-format on */

/* Its value for a peer; returns false where there is none. */
typedef bool metrics_peer_value(const struct node_status *s,
				const struct peer_follower_status *p,
				double *out);

/* A gauge of each peer. */
static void metrics_peer_gauge(const struct metrics *m, const char *name,
			       const char *help, metrics_peer_value *value)
{
	struct peer_follower_status p;
	double number;

	metrics_head(m, name, "gauge", help);
	for (size_t i = 0; i < metrics_named_peers(m); i++) {
		peer_follower_status(m->s->follow, i, &p);
		if (value(m->s, &p, &number))
			fprintf(m->to, "digestd_%s{peer=\"%s\"} %.9g\n", name,
				p.name, number);
	}
}

#define X(name, has, number, help)                                             \
	static bool metrics_peer_##name(const struct node_status *s,           \
					const struct peer_follower_status *p,  \
					double *out)                           \
	{                                                                      \
		(void)s;                                                       \
		if (has)                                                       \
			*out = (double)(number);                               \
		return has;                                                    \
	}
PEER_GAUGES(X)
#undef X

static void metrics_peer_gauges(const struct metrics *m)
{
#define X(name, has, number, help)                                             \
	metrics_peer_gauge(m, "peer_" #name, help, metrics_peer_##name);
	PEER_GAUGES(X)
#undef X
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
		     "how long the peer has left purges of this node "
		     "unacknowledged");
	for (size_t i = 0; i < n; i++) {
		teller_peer_status(m->s->teller, i, &p);
		fprintf(m->to, "digestd_purges_unacknowledged_seconds{peer="
			"\"%s\"} %.3f\n", p.name,
			(double)p.lacking_ms / 1e3);
	}
}

/* Of each peer, and the sum of those that have no figures of their own. */
static void metrics_peer_counter(const struct metrics *m, const char *name,
				 size_t offset)
{
	size_t n = metrics_peer_count(m), named = metrics_named_peers(m);
	struct peer_follower_status p;
	uint64_t value, others = 0;

	for (size_t i = 0; i < n; i++) {
		peer_follower_status(m->s->follow, i, &p);
		memcpy(&value, (const char *)&p.counters + offset,
		       sizeof(value));
		if (i < named)
			fprintf(m->to, "digestd_%s{peer=\"%s\"} %" PRIu64 "\n",
				name, p.name, value);
		else
			others += value;
	}
	if (n > named)
		fprintf(m->to, "digestd_%s{peer=\"other\"} %" PRIu64 "\n",
			name, others);
}

static void metrics_peer_counters(const struct metrics *m)
{
#define X(name, help)                                                          \
	metrics_head(m, "peer_" #name "_total", "counter", help);              \
	metrics_peer_counter(m, "peer_" #name "_total",                        \
			     offsetof(struct peer_follower_counters, name));
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

/* The value of a label. */
static void metrics_put_label(FILE *to, const char *name, const char *value)
{
	fprintf(to, "%s=\"", name);
	for (; *value; value++)
		fprintf(to, "%s%c", strchr("\"\\", *value) ? "\\" : "",
			*value);
	fputc('"', to);
}

/* A histogram of times, in seconds; labels: those before "le". */
static void metrics_put_histogram(const struct metrics *m, const char *name,
				  const char *labels,
				  const struct histogram *h)
{
	static const char *const bounds[] = {
#define X(us, label) label,
		HISTOGRAM_BOUNDS(X)
#undef X
		"+Inf",
	};
	uint64_t n = 0;

	for (int i = 0; i < HISTOGRAM_CELLS; i++) {
		n += h->cells[i];
		fprintf(m->to, "digestd_%s_bucket{%s,le=\"%s\"} %" PRIu64
			"\n", name, labels, bounds[i], n);
	}
	fprintf(m->to, "digestd_%s_sum{%s} %.6f\ndigestd_%s_count{%s} %" PRIu64
		"\n", name, labels, (double)h->sum_us / 1e6, name, labels, n);
}

static void metrics_source_times(const struct metrics *m, const char *name,
				 const char *help, const struct histogram *h)
{
	static const char *const labels[] = {
#define X(name, what) "source=\"" #name "\"",
		ACCESS_SOURCES(X)
#undef X
	};

	metrics_head(m, name, "histogram", help);
	for (int i = 0; i < FIGURES_SOURCES && !m->list; i++)
		metrics_put_histogram(m, name, labels[i], &h[i]);
}

/* Of each upstream that there is: each(m, labels, figures). */
static void metrics_each_upstream(
	const struct metrics *m,
	void (*each)(const struct metrics *m, const char *labels,
		     const struct upstream_figures *figures))
{
	for (int k = 0; k < UPSTREAM_KIND_COUNT && m->s->names; k++) {
		for (unsigned i = 0; i < UPSTREAMS; i++) {
			const struct upstream_figures *u =
				&m->s->figures.upstreams[k][i];
			enum upstream_kind kind = (enum upstream_kind)k;
			const char *name =
				upstream_names_at(m->s->names, kind, i);
			char labels[2 * UPSTREAM_NAME_BYTES + 64];
			FILE *to;

			if (!name || !histogram_count(&u->duration))
				continue;
			to = fmemopen(labels, sizeof(labels), "w");
			if (!to)
				return;
			metrics_put_label(to, "kind", upstream_kind_name(kind));
			fputc(',', to);
			metrics_put_label(to, "upstream", name);
			fclose(to);
			each(m, labels, u);
		}
	}
}

static void metrics_upstream_duration(const struct metrics *m,
				      const char *labels,
				      const struct upstream_figures *figures)
{
	metrics_put_histogram(m, "upstream_duration_seconds", labels,
			      &figures->duration);
}

static void metrics_upstream_bytes(const struct metrics *m, const char *labels,
				   const struct upstream_figures *figures)
{
	fprintf(m->to, "digestd_upstream_received_bytes_total{%s} %" PRIu64
		"\n", labels, figures->bytes);
}

static void metrics_of_upstreams(const struct metrics *m)
{
	metrics_head(m, "upstream_duration_seconds", "histogram",
		     "time from a request to an origin or a peer to the end "
		     "of its response, or its failure");
	metrics_each_upstream(m, metrics_upstream_duration);
	metrics_head(m, "upstream_received_bytes_total", "counter",
		     "body bytes received from origins and peers, by name");
	metrics_each_upstream(m, metrics_upstream_bytes);
}

static void metrics_of_replies(const struct metrics *m)
{
	const struct worker_figures *f = &m->s->figures;
	static const char *const classes[FIGURES_CLASSES] = {
		"none", "1xx", "2xx", "3xx", "4xx", "5xx",
	};

	metrics_head(m, "responses_total", "counter",
		     "replies to clients, by class of status; none: the client "
		     "left before there was one");
	for (int i = 0; i < FIGURES_CLASSES && !m->list; i++)
		fprintf(m->to, "digestd_responses_total{class=\"%s\"} %" PRIu64
			"\n", classes[i], f->responses[i]);
	metrics_head(m, "not_stored_total", "counter",
		     "responses that were fetched and not stored, by reason");
	for (int i = 1; i < NOT_STORED_COUNT && !m->list; i++)
		fprintf(m->to, "digestd_not_stored_total{reason=\"%s\"} %"
			PRIu64 "\n", not_stored_label((enum not_stored)i),
			f->not_stored[i]);
	metrics_source_times(m, "request_duration_seconds",
			     "time from a client's request to the end of its "
			     "reply, by where the reply is from",
			     f->duration);
	metrics_source_times(m, "time_to_first_byte_seconds",
			     "time from a client's request to the beginning of "
			     "its reply, by where the reply is from",
			     f->first_byte);
}

static void metrics_of_program(const struct metrics *m)
{
	const struct node_status *s = m->s;

	metrics_head(m, "build_info", "gauge",
		     "1, with the version of the program as a label");
	if (!m->list)
		fprintf(m->to, "digestd_build_info{version=\"%s\"} 1\n",
			PACKAGE_VERSION);
	NODE_METRICS(M)
	RELOAD_METRICS(M)
	metrics_head(m, "config_reloads_total", "counter",
		     "reloads of the configuration since the start, by result");
	if (!m->list)
		fprintf(m->to, "digestd_config_reloads_total{result="
			"\"success\"} %" PRIu64 "\n"
			"digestd_config_reloads_total{result=\"failure\"} %"
			PRIu64 "\n", s->reloads.done, s->reloads.failed);
}

static void metrics_put_upstream_trouble(void *arg,
					 const struct trouble_count *count)
{
	const struct metrics *m = arg;

	if (!count->kind)
		return;
	fprintf(m->to, "digestd_upstream_errors_total{kind=\"%s\",",
		count->kind);
	metrics_put_label(m->to, "upstream", count->name);
	fprintf(m->to, ",cause=\"%s\"} %" PRIu64 "\n",
		trouble_label(count->trouble), count->n);
}

/* Each origin once, however many sites have it; the last row is for all that
 * are too many. */
struct metrics_origins {
	size_t n;
	struct {
		const char *label;
		bool up;
		uint64_t outstanding;
	} rows[UPSTREAM_NAMES_MAX + 1];
};

static void metrics_add_origin(void *arg, const struct origin_status *s)
{
	struct metrics_origins *all = arg;
	bool up = s->state <= ORIGIN_STATE_STARTING;
	size_t i = 0;

	while (i < all->n && i < UPSTREAM_NAMES_MAX &&
	       strcmp(all->rows[i].label, s->label) != 0)
		i++;
	if (i == all->n) {
		all->rows[i].label =
			i < UPSTREAM_NAMES_MAX ? s->label : "other";
		all->rows[i].up = true;
		all->n++;
	}
	all->rows[i].up = all->rows[i].up && up;
	all->rows[i].outstanding += s->outstanding;
}

static void metrics_origin_column(const struct metrics *m,
				  const struct metrics_origins *all,
				  const char *name, int column)
{
	for (size_t i = 0; i < all->n; i++) {
		const uint64_t values[] = { all->rows[i].up,
					    all->rows[i].outstanding };

		fprintf(m->to, "digestd_%s{", name);
		metrics_put_label(m->to, "upstream", all->rows[i].label);
		fprintf(m->to, "} %" PRIu64 "\n", values[column]);
	}
}

static void metrics_of_origin_states(const struct metrics *m)
{
	struct metrics_origins all = { 0 };

	if (!m->list)
		origins_status(m->s->origins, m->s->now_ms, metrics_add_origin,
			       &all);
	metrics_head(m, "origin_up", "gauge",
		     "whether an origin gets requests; all those beyond 50 are "
		     "one, other");
	metrics_origin_column(m, &all, "origin_up", 0);
	metrics_head(m, "origin_outstanding", "gauge",
		     "requests to an origin that have not ended");
	metrics_origin_column(m, &all, "origin_outstanding", 1);
}

static void metrics_put_part_trouble(void *arg,
				     const struct trouble_count *count)
{
	const struct metrics *m = arg;

	if (!count->kind)
		fprintf(m->to, "digestd_node_errors_total{part=\"%s\","
			"cause=\"%s\"} %" PRIu64 "\n", count->name,
			trouble_label(count->trouble), count->n);
}

static void metrics_of_troubles(const struct metrics *m)
{
	metrics_head(m, "upstream_errors_total", "counter",
		     "fetches from origins and peers that failed, and digests "
		     "of peers that could not be used, by cause");
	if (!m->list)
		troubles_each(m->s->troubles, metrics_put_upstream_trouble,
			      (void *)(uintptr_t)m);
	metrics_head(m, "node_errors_total", "counter",
		     "failures of this node itself, by part and cause; of "
		     "memory, lines in the log about refused requests");
	if (!m->list)
		troubles_each(m->s->troubles, metrics_put_part_trouble,
			      (void *)(uintptr_t)m);
}

static void metrics_write(const struct metrics *m)
{
	const struct node_status *s = m->s;

	metrics_of_program(m);
#define X(name, help) metrics_counter(m, #name, s->counters.name, help);
	WORKER_COUNTERS(X)
#undef X
	metrics_of_replies(m);
	metrics_of_refusals(m);
	metrics_of_upstreams(m);
	metrics_of_origin_states(m);
	metrics_of_troubles(m);
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
	if (s->has_squid || m->list)
		metrics_of_squid(m);
	if (s->has_sidecar || m->list)
		metrics_of_sidecar(m);
	if (s->has_share || m->list)
		metrics_of_share(m);
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
