/*
 * What simulations brought, as a report.
 */
#include "cachesim/results.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "digestd/store/eviction.h"

static double cachesim_outcome_ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static double results_hit_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->requests - c->origin, c->requests);
}

static double results_local_hit_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->local_hits, c->requests);
}

static double results_remote_hit_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->remote_hits, c->requests);
}

static double results_miss_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->origin, c->requests);
}

static double results_byte_hit_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->bytes - c->origin_bytes, c->bytes);
}

static double results_local_byte_hit_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->local_bytes, c->bytes);
}

static double results_remote_byte_hit_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->remote_bytes, c->bytes);
}

static double results_byte_miss_ratio(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->origin_bytes, c->bytes);
}

static double results_uncacheable(const struct sim_counters *c)
{
	return c->uncacheable
		       ? cachesim_outcome_ratio(c->uncacheable, c->requests)
		       : (double)NAN;
}

static double results_false_hits(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->false_hits, c->requests);
}

static double results_false_misses(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->false_misses, c->requests);
}

static double results_remote_stale(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->remote_stale, c->requests);
}

static double results_messages(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(
		c->queries + c->fetches + c->updates + c->resyncs, c->requests);
}

static double results_messages_and_replies(const struct sim_counters *c)
{
	return results_messages(c) +
	       cachesim_outcome_ratio(c->replies, c->requests);
}

static double results_message_bytes(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->query_bytes + c->reply_bytes +
					      c->fetch_bytes + c->update_bytes +
					      c->resync_bytes,
				      c->requests);
}

static double results_update_bytes(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->update_bytes + c->resync_bytes,
				      c->requests);
}

static double results_writes(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->writes, c->requests);
}

static double results_duplicates(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->duplicates, c->held);
}

static double results_admission_bytes(const struct sim_counters *c)
{
	return c->admission_keys ? cachesim_outcome_ratio(c->admission_memory,
							  c->admission_keys)
				 : (double)NAN;
}

static double results_false_seen(const struct sim_counters *c)
{
	return c->admission_fresh
		       ? cachesim_outcome_ratio(c->admission_false_seen,
						c->admission_fresh)
		       : (double)NAN;
}

static double results_latency(const struct sim_counters *c)
{
	return cachesim_outcome_ratio(c->latency_us, c->requests) / 1e6;
}

/* Who has the value: everybody, who cooperates; and where it is shown: some
 * only where the counters are. */
enum whose { ALL, COOPERATING, ALL_IN_FILES, COOPERATING_IN_FILES };

static const struct ratio_column {
	const char *name;
	enum report_type type;
	enum whose whose;
	double (*of)(const struct sim_counters *c);
} ratios[] = {
	/* clang-format off */
	{ "hit_ratio",             REPORT_SHARE,   ALL, results_hit_ratio },
	{ "local_hit_ratio",       REPORT_SHARE,   COOPERATING, results_local_hit_ratio },
	{ "remote_hit_ratio",      REPORT_SHARE,   COOPERATING, results_remote_hit_ratio },
	{ "miss_ratio",            REPORT_SHARE,   ALL_IN_FILES, results_miss_ratio },
	{ "byte_hit_ratio",        REPORT_SHARE,   ALL, results_byte_hit_ratio },
	{ "local_byte_hit_ratio",  REPORT_SHARE,   COOPERATING_IN_FILES,
	  results_local_byte_hit_ratio },
	{ "remote_byte_hit_ratio", REPORT_SHARE,   COOPERATING_IN_FILES,
	  results_remote_byte_hit_ratio },
	{ "byte_miss_ratio",       REPORT_SHARE,   ALL_IN_FILES, results_byte_miss_ratio },
	{ "uncacheable_ratio",     REPORT_SHARE,   ALL, results_uncacheable },
	{ "false_hit_ratio",       REPORT_SHARE,   COOPERATING, results_false_hits },
	{ "false_miss_ratio",      REPORT_SHARE,   COOPERATING, results_false_misses },
	{ "remote_stale_ratio",    REPORT_SHARE,   COOPERATING, results_remote_stale },
	{ "messages_per_request",  REPORT_REAL,    COOPERATING, results_messages },
	{ "messages_and_replies_per_request", REPORT_REAL, COOPERATING,
	  results_messages_and_replies },
	{ "message_bytes_per_request", REPORT_REAL, COOPERATING,
	  results_message_bytes },
	{ "update_bytes_per_request", REPORT_REAL, COOPERATING, results_update_bytes },
	{ "writes_per_request",    REPORT_REAL,    ALL, results_writes },
	{ "admission_bytes_per_key", REPORT_REAL, ALL, results_admission_bytes },
	{ "false_seen_ratio",      REPORT_SHARE,   ALL, results_false_seen },
	{ "duplicates_of_objects", REPORT_SHARE,   COOPERATING, results_duplicates },
	{ "mean_latency",          REPORT_SECONDS, COOPERATING, results_latency },
	/* clang-format on */
};

enum {
	NRATIOS = sizeof(ratios) / sizeof(ratios[0]),
	BEFORE = 2,  /* columns that are neither set nor counted */
	COLUMNS_MAX = 256,
};

double results_ratio(const char *column, const struct sim_counters *c)
{
	size_t i = 0;

	while (i < NRATIOS && strcmp(ratios[i].name, column))
		i++;
	assert(i < NRATIOS);
	return ratios[i].of(c);
}

void results_init(struct report *r, const char *kind, bool counters,
		  bool proxies)
{
	struct report_column columns[COLUMNS_MAX];
	size_t n = 0;

	for (enum parameter d = 0; d < PARAMETERS; d++)
		columns[n++] = parameter_column(d);
	if (proxies)
		columns[n++] = (struct report_column){ "proxy", REPORT_TEXT,
						       true };
	columns[n++] = (struct report_column){ "capacity", REPORT_BYTES,
					       false };
	for (size_t i = 0; i < NRATIOS; i++) {
		if (counters || ratios[i].whose < ALL_IN_FILES)
			columns[n++] = (struct report_column){
				ratios[i].name, ratios[i].type, false
			};
	}
	for (const struct sim_counter_row *row = sim_counter_rows;
	     counters && row->name; row++)
		columns[n++] = (struct report_column){ row->name, REPORT_COUNT,
						       false };
	assert(n < COLUMNS_MAX);
	report_init(r, kind, columns, n);
}

/* What was set, and of what was not, what everybody wants to know. */
static void results_add_settings(struct report *r, const struct plan_row *row,
				 const struct sim_result *result)
{
	const struct sim_config *c = &row->config;

	for (enum parameter d = 0; d < PARAMETERS; d++) {
		struct report_column column = parameter_column(d);

		if (!row->text[d])
			continue;
		if (column.type == REPORT_TEXT)
			report_text(r, column.name, row->text[d]);
		else if (report_type_is_real(column.type))
			report_real(r, column.name, row->value[d]);
		else
			report_count(r, column.name, (uint64_t)row->value[d]);
	}
	report_text(r, "protocol", c->protocol ? c->protocol->name : "none");
	report_count(r, "proxies", c->nproxies);
	report_text(r, "eviction", c->eviction ? c->eviction->name : "lru");
	report_count(r, "capacity", result->capacity);
}

static void results_add_values(struct report *r, const struct sim_counters *c,
			       bool cooperates)
{
	for (size_t i = 0; i < NRATIOS; i++) {
		bool all = ratios[i].whose == ALL ||
			   ratios[i].whose == ALL_IN_FILES;

		if ((all || cooperates) &&
		    report_column_named(r, ratios[i].name) >= 0)
			report_real(r, ratios[i].name, ratios[i].of(c));
	}
	for (const struct sim_counter_row *row = sim_counter_rows; row->name;
	     row++) {
		if (report_column_named(r, row->name) >= 0)
			report_count(r, row->name, sim_counter(c, row));
	}
}

void results_add(struct report *r, const struct plan_row *row,
		 const struct sim_result *result)
{
	bool cooperates = row->config.protocol != NULL;
	bool proxies = report_column_named(r, "proxy") >= 0;
	char number[16];

	report_row(r);
	results_add_settings(r, row, result);
	results_add_values(r, &result->sum, cooperates);
	if (!proxies)
		return;
	report_text(r, "proxy", "all");
	for (unsigned p = 0; p < result->nproxies && p < SIM_MAX_ROWS; p++) {
		snprintf(number, sizeof(number), "%u", p);
		report_row(r);
		results_add_settings(r, row, result);
		report_text(r, "proxy", number);
		results_add_values(r, &result->proxy[p], cooperates);
	}
}
