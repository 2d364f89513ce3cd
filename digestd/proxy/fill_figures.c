/*
 * What is counted of fetches from origins and peers: troubles, and figures by
 * name.
 */
#include <inttypes.h>
#include <stdio.h>

#include "digestd/http/httpdate.h"
#include "digestd/os/troubles.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/unstored.h"

enum { SKEW_S = 5 }; /* between clocks, is no trouble */

void fill_count_failure(struct fill *f, enum fetch_result result,
			enum trouble cause)
{
	struct worker_counters *counters = &f->worker->counters;
	bool peer = f->source == SOURCE_PEER;

	worker_add(&counters->sidecar_errors, f->for_peer);
	/* a tunnel may end as it likes; the rest is for origins and peers */
	if (f->tunnel || f->for_peer)
		return;
	worker_add(&counters->origin_errors, !peer);
	worker_add(&counters->origin_untrusted,
		   !peer && result == FETCH_UNTRUSTED);
	troubles_of_upstream(f->worker->shared.troubles,
			     peer ? UPSTREAM_peer : UPSTREAM_origin,
			     peer ? f->peer->name : fill_origin_label(f),
			     cause ? cause : trouble_of_result(result), NULL,
			     worker_now_ms(f->worker));
}

void fill_count_skew(struct fill *f)
{
	const struct freshness_spans spans = freshness_spans(&f->freshness);
	const char *text;
	int64_t wall_s = worker_wall_s(f->worker), date_s;
	char detail[96];

	/* what is fresh has no such Date: only saves time */
	if (!f->freshness.explicit ||
	    freshness_left(&f->freshness, worker_now_s(f->worker)) > 0)
		return;
	text = fields_get(&f->response, "Date");
	if (spans.lifetime_s <= 0 || !text ||
	    !httpdate_parse_next(&f->worker->dates, text, wall_s, &date_s) ||
	    wall_s - date_s < spans.lifetime_s)
		return;
	/* an answer that was long under way, or in a cache, may be old */
	if (wall_s - date_s <= SKEW_S + fill_elapsed_ms(f) / 1000 ||
	    fields_get(&f->response, "Age"))
		return;
	snprintf(detail, sizeof(detail), "its Date is %" PRId64 " s behind: "
		 "what it sends is stale when it comes", wall_s - date_s);
	troubles_of_upstream(f->worker->shared.troubles, UPSTREAM_origin,
			     fill_origin_label(f), TROUBLE_clock_skew, detail,
			     worker_now_ms(f->worker));
}

static int64_t fill_figures_leg_us(const struct fill *f)
{
	return loop_now_us(f->worker->loop) - f->asked_us;
}

/* It ended, also where it was cancelled. */
static void fill_figures_end_leg(struct fill *f)
{
	if (f->on_leg)
		f->leg_us[f->leg] += fill_figures_leg_us(f);
	f->on_leg = false;
}

void fill_figures_begin(struct fill *f)
{
	struct upstream_names *names = f->worker->shared.names;
	bool peer = f->source == SOURCE_PEER;
	const char *url = f->for_peer ? f->q->settings->sidecar
				      : fill_origin_label(f);
	enum upstream_kind kind = peer ? UPSTREAM_peer : UPSTREAM_origin;
	unsigned number = UPSTREAM_NAMES_MAX;

	if (names)
		number = upstream_names_find(
			names, kind, peer ? f->peer->name : url);
	fill_figures_end_leg(f);
	f->leg = kind;
	f->on_leg = true;
	f->figures = &f->worker->figures.upstreams[kind][number];
	f->asked_us = loop_now_us(f->worker->loop);
}

void fill_figures_end(struct fill *f)
{
	histogram_add(&f->figures->duration, fill_figures_leg_us(f));
	fill_figures_end_leg(f);
}

unsigned fill_figures_leg_ms(const struct fill *f, enum upstream_kind kind)
{
	int64_t us = f->leg_us[kind];

	if (f->on_leg && f->leg == kind)
		us += fill_figures_leg_us(f);
	return (unsigned)(us / 1000);
}

void fill_count_not_stored(struct fill *f, enum not_stored why)
{
	struct unstored_note note = { .reason = why };

	if (!why)
		return;
	worker_add(&f->worker->figures.not_stored[why], 1);
	if (!f->q->cacheable || !f->q->get)
		return;
	note.from_peer = f->source == SOURCE_PEER;
	note.time_s = worker_now_s(f->worker);
	unstored_note(f->worker->shared.unstored, f->q->key.lo, &note);
}
