/*
 * The peers of a running node as a table.
 */
#include "digestd/ctl/peer_rows.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "digestd/ctl/figures.h"

enum { PEER_ROWS_NAME_MIN = 4, PEER_ROWS_NAME_MAX = 32 };

static const json_t *peer_rows_find(const json_t *status, const char *name)
{
	const json_t *peers = json_object_get(status, "peers");

	for (size_t i = 0; i < json_array_size(peers); i++) {
		const json_t *p = json_array_get(peers, i);

		if (!strcmp(figures_text(p, "name"), name))
			return p;
	}
	return NULL;
}

/* A word for how it stands, the gravest first. */
static const char *peer_rows_state(const json_t *p)
{
	const char *health = figures_text(p, "health");

	if (json_is_true(json_object_get(p, "held")))
		return "quarantine"; /* also where it is unreachable */
	if (strcmp(health, "good"))
		return health;
	if (json_is_true(json_object_get(p, "drains")))
		return "drains";
	if (!json_is_object(json_object_get(p, "digest")))
		return "no digest";
	if (!json_is_true(json_object_get(p, "usable")))
		return "not usable";
	return json_is_true(json_object_get(p, "suspect")) ? "suspect" : "good";
}

/* Of the array's bits, those that are set, by the rate that follows. */
static double peer_rows_fill(const json_t *p)
{
	double k = figures_number(p, "digest.hash_functions");

	return k > 0 ? pow(figures_number(p, "digest.false_positive_rate"),
			   1 / k)
		     : 0;
}

static double peer_rows_since(const struct peer_rows *rows, const json_t *p,
			      const char *member)
{
	const json_t *earlier =
		rows->earlier ? peer_rows_find(rows->earlier,
					       figures_text(p, "name"))
			      : NULL;
	double n = figures_number(p, member);

	if (!rows->earlier)
		return n;
	n -= figures_number(earlier, member);
	return n > 0 && rows->seconds > 0 ? n / rows->seconds : 0;
}

/* False hits a lookup: those that there were, and what the fill predicts. */
static void peer_rows_false(const struct peer_rows *rows, const json_t *p,
			    char out[2 * FIGURES_BYTES + 4])
{
	double lookups = figures_number(rows->status, "counters.lookups");
	double seen = lookups > 0 ? figures_number(p, "false_hits") / lookups
				  : 0;
	char a[FIGURES_BYTES], b[FIGURES_BYTES];

	snprintf(out, 2 * FIGURES_BYTES + 4, "%s / %s", figures_share(seen, a),
		 figures_share(figures_number(p, "digest.false_positive_rate"),
			       b));
}

static void peer_rows_print_one(const struct peer_rows *rows, const json_t *p,
				int width, FILE *to)
{
	bool has_digest = json_is_object(json_object_get(p, "digest"));
	char age[FIGURES_BYTES] = "--", fill[FIGURES_BYTES] = "--";
	char bytes[FIGURES_BYTES], rtt[FIGURES_BYTES] = "--";
	char wrong[2 * FIGURES_BYTES + 4] = "--";
	double rtt_ms = figures_number(p, "round_trip_ms");

	if (has_digest) {
		figures_time(figures_number(p, "digest.age_s"), age);
		figures_share(peer_rows_fill(p), fill);
		peer_rows_false(rows, p, wrong);
	}
	if (rtt_ms > 0)
		snprintf(rtt, sizeof(rtt), "%.1fms", rtt_ms);
	fprintf(to, "%-*.*s  %-10s %7s %6s %19s %9.0f %7s %8s\n", width, width,
		figures_text(p, "name"), peer_rows_state(p), age, fill, wrong,
		peer_rows_since(rows, p, "remote_hits"),
		figures_size(peer_rows_since(rows, p, "remote_hit_bytes"),
			     bytes),
		rtt);
}

void peer_rows_print(const struct peer_rows *rows, FILE *to)
{
	const json_t *peers = json_object_get(rows->status, "peers");
	size_t n = json_array_size(peers);
	size_t width = PEER_ROWS_NAME_MIN;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(figures_text(json_array_get(peers, i),
						 "name"));

		width = len > width ? len : width;
	}
	if (width > PEER_ROWS_NAME_MAX)
		width = PEER_ROWS_NAME_MAX;
	fprintf(to, "%-*s  %-10s %7s %6s %19s %9s %7s %8s\n", (int)width,
		"PEER", "STATE", "AGE", "FILL", "FALSE seen/expected",
		rows->earlier ? "HITS/s" : "HITS",
		rows->earlier ? "BYTES/s" : "BYTES", "RTT");
	if (rows->most && n > rows->most)
		n = rows->most;
	for (size_t i = 0; i < n; i++)
		peer_rows_print_one(rows, json_array_get(peers, i), (int)width,
				    to);
}
