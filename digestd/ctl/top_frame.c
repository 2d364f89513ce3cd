/*
 * What digestctl top shows.
 */
#include "digestd/ctl/top_frame.h"

#include <stdbool.h>
#include <string.h>

#include "digestd/ctl/figures.h"
#include "digestd/ctl/latencies.h"
#include "digestd/ctl/peer_rows.h"

enum {
	TOP_FRAME_OTHERS = 12, /* rows of other things: heads, five URLs */
	TOP_FRAME_PEERS_MIN = 3,
};

/* What the figures of a frame are made of: a second. */
struct top_rates {
	double requests, local, remote, origin, collapsed, errors, refused;
};

static bool top_frame_is_same_instance(const struct top_frame *f)
{
	return !strcmp(figures_text(f->earlier, "instance"),
		       figures_text(f->status, "instance"));
}

static double top_frame_rate(const struct top_frame *f, const char *path)
{
	double n = figures_number(f->status, path);

	if (top_frame_is_same_instance(f))
		n -= figures_number(f->earlier, path);
	return n > 0 ? n / f->seconds : 0;
}

static struct top_rates top_frame_rates(const struct top_frame *f)
{
	return (struct top_rates){
		.requests = top_frame_rate(f, "counters.requests"),
		.local = top_frame_rate(f, "counters.local_hits"),
		.remote = top_frame_rate(f, "counters.remote_hits"),
		.origin = top_frame_rate(f, "counters.misses"),
		.collapsed = top_frame_rate(f, "counters.collapsed"),
		.errors = top_frame_rate(f, "counters.errors"),
		.refused = top_frame_rate(f, "counters.memory_refused"),
	};
}

static double top_frame_percent(double part, const struct top_rates *r)
{
	return r->requests > 0 ? 100 * part / r->requests : 0;
}

/* "  memory 4.0G/4.0G" */
static void top_frame_print_room(const json_t *o, const char *what, FILE *to)
{
	char used[FIGURES_BYTES], limit[FIGURES_BYTES];

	if (json_is_object(o))
		fprintf(to, "  %s %s/%s", what,
			figures_size(figures_number(o, "bytes"), used),
			figures_size(figures_number(o, "limit_bytes"), limit));
}

static const char *top_frame_state(const json_t *status)
{
	if (json_is_true(json_object_get(status, "drained")))
		return "  DRAINED";
	return json_is_true(json_object_get(status, "ready")) ? "" :
								"  NOT READY";
}

static struct latencies top_frame_latencies(const struct top_frame *f)
{
	return (struct latencies){
		.earlier = top_frame_is_same_instance(f) ? f->earlier : NULL,
		.status = f->status,
	};
}

/* Rows of peers that leave some to what is below; 0: all. */
static unsigned top_frame_peers(const struct top_frame *f)
{
	if (!f->rows)
		return 0;
	return f->rows > TOP_FRAME_OTHERS + TOP_FRAME_PEERS_MIN
		       ? f->rows - TOP_FRAME_OTHERS : TOP_FRAME_PEERS_MIN;
}

void top_frame_print(const struct top_frame *f, FILE *to)
{
	const struct top_rates r = top_frame_rates(f);
	const struct latencies took = top_frame_latencies(f);
	const struct peer_rows rows = {
		.most = top_frame_peers(f),
		.status = f->status,
		.earlier = top_frame_is_same_instance(f) ? f->earlier : NULL,
		.seconds = f->seconds,
	};
	char up[FIGURES_BYTES];

	fprintf(to, "%s%s  up %s  %.0f req/s", figures_text(f->status, "node"),
		top_frame_state(f->status),
		figures_time(figures_number(f->status, "uptime_s"), up),
		r.requests);
	top_frame_print_room(json_object_get(f->status, "store"), "memory", to);
	top_frame_print_room(json_object_get(f->status, "disk"), "disk", to);
	fprintf(to, "\nhit %.1f %%  peers %.1f %%  origin %.1f %%  "
		"collapsed %.1f %%  errors %.0f/s\n",
		top_frame_percent(r.local, &r),
		top_frame_percent(r.remote, &r),
		top_frame_percent(r.origin, &r),
		top_frame_percent(r.collapsed, &r), r.errors + r.refused);
	latencies_print(&took, to);
	fputc('\n', to);
	if (json_array_size(json_object_get(f->status, "peers")))
		peer_rows_print(&rows, to);
	else
		fputs("no peers\n", to);
	hot_urls_print(f->hot, TOP_FRAME_HOTTEST, to);
}

json_t *top_frame_json(const struct top_frame *f)
{
	const struct top_rates r = top_frame_rates(f);
	const struct latencies took = top_frame_latencies(f);

	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, "
			 "s:O}",
			 "node", figures_text(f->status, "node"), "seconds",
			 f->seconds, "requests_per_s", r.requests,
			 "local_hits_per_s", r.local, "remote_hits_per_s",
			 r.remote, "misses_per_s", r.origin, "collapsed_per_s",
			 r.collapsed, "errors_per_s", r.errors + r.refused,
			 "first_byte", latencies_json(&took), "hottest",
			 hot_urls_json(f->hot, TOP_FRAME_HOTTEST), "status",
			 f->status);
}

void top_frame_show(const char *text, unsigned rows, unsigned columns, FILE *to)
{
	fputs("\033[H", to);
	for (unsigned row = 0; *text && row < rows; row++) {
		size_t len = strcspn(text, "\n");

		fprintf(to, "%s%.*s\033[K", row ? "\n" : "",
			(int)(len < columns ? len : columns), text);
		text += len + (text[len] == '\n');
	}
	fputs("\033[J", to);
	fflush(to);
}
