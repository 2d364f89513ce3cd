/*
 * What digestctl tune prints.
 */
#include "digestd/ctl/tuning.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "digestd/ctl/json_report.h"

enum { USUAL_MAX_BYTES = 512 << 20 };

static double tuning_keys(const struct scd_goal *g)
{
	return fmax((double)g->objects, (double)g->expected);
}

static void tuning_print_updates(const struct scd_tuning *t)
{
	static const char *const texts[] = {
		[SCD_UPDATE_STORED] = "full digests, stored",
		[SCD_UPDATE_FULL] = "full digests, coded",
		[SCD_UPDATE_XOR] = "XOR deltas",
		[SCD_UPDATE_CONDITIONAL] = "conditional deltas",
	};

	printf("updates          %s", texts[t->update]);
	if (t->share > 0)
		printf(", at %g %% new objects", t->share * 100);
	if (t->update_seconds > 0)
		printf(", every %.3g s", t->update_seconds);
	putchar('\n');
}

static void tuning_print_bytes(const struct scd_goal *g,
			       const struct scd_tuning *t)
{
	double n = tuning_keys(g);

	printf("full digest      %.0f bytes, %.3f bits an object\n",
	       t->full_bytes, t->full_bytes * 8 / n);
	if (t->delta_bytes > 0)
		printf("delta            %.0f bytes, %.3f bits an object\n",
		       t->delta_bytes, t->delta_bytes * 8 / n);
	printf("update           %.0f bytes on average\n", t->update_bytes);
	if (t->link_rate > 0)
		printf("traffic          %.1f bytes/s a link, %.1f a node, in "
		       "and out\n",
		       t->link_rate, t->node_rate);
	if (t->false_hit_cost > 0 || t->stale_cost > 0)
		printf("costs            %.0f bytes of updates, %.0f of false "
		       "hits, %.0f of staleness\n",
		       t->update_cost, t->false_hit_cost, t->stale_cost);
}

/*
 * The daemon rounds the array up to a power of two, so the share of it that is
 * whole gives this one; and it counts a replacement as two changes.
 */
static void tuning_print_settings(const struct scd_goal *g,
				  const struct scd_tuning *t)
{
	double n = tuning_keys(g);

	printf("\nIn digestd.conf:\n\n    expected_objects = \"%.0f\"\n", n);
	printf("    bits_per_object = \"%.0f\"\n",
	       fmin(1024, fmax(2, floor((double)t->nbits / n))));
	printf("    hash_functions = \"%u\"\n", t->nhash);
	/* what nodes make, and take of their peers, unless told otherwise */
	if (t->nbits / 8 > USUAL_MAX_BYTES)
		printf("    filter_max = \"%" PRIu64 "M\"\n"
		       "    digest_max_size = \"%" PRIu64 "M\"\n",
		       t->nbits >> 23, t->nbits >> 23);
	if (t->share > 0)
		printf("    publish_share = \"%g\"\n", fmin(1, t->share * 2));
	if (t->update_seconds > .5)
		printf("    publish_max = \"%.0fs\"\n",
		       fmin(86400, ceil(t->update_seconds)));
}

void tuning_print(const struct scd_goal *g, const struct scd_tuning *t)
{
	printf("array            %" PRIu64 " bits, %.2f an object\n", t->nbits,
	       (double)t->nbits / tuning_keys(g));
	printf("hash functions   %u\n", t->nhash);
	printf("false positives  %.6f of one digest, %.6f of the cluster\n",
	       t->fp, t->cluster_fp);
	if (t->fp_now < t->fp)
		printf("  now            %.6f of one digest\n", t->fp_now);
	tuning_print_updates(t);
	tuning_print_bytes(g, t);
	printf("memory           %.0f bytes a peer, %.0f of its own, %.0f in "
	       "all\n",
	       t->array_bytes, t->own_bytes, t->memory_bytes);
	printf("bound by         %s\n", scd_bound_text(t->bound));
	tuning_print_settings(g, t);
}

void tuning_explain(const struct scd_goal *g, const struct scd_candidate *list,
		    size_t n)
{
	printf("\n%8s %2s %-11s %-9s %9s %9s %10s %9s  %s\n", "m/n", "k",
	       "updates", "f", "full", "update", "memory", "costs", "why");
	for (size_t i = 0; i < n; i++) {
		const struct scd_tuning *t = &list[i].tuning;

		printf("%8.2f %2u %-11s %-9.3g %9.0f %9.0f %10.0f %9.0f  %s\n",
		       (double)t->nbits / tuning_keys(g), t->nhash,
		       scd_update_text(t->update), t->fp, t->full_bytes,
		       t->update_bytes, t->memory_bytes,
		       t->update_cost + t->false_hit_cost + t->stale_cost,
		       scd_verdict_text(list[i].verdict));
	}
}

static json_t *tuning_object(const struct scd_tuning *t)
{
	return json_pack(
		"{s:I, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f,"
		" s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
		"nbits", (json_int_t)t->nbits, "nhash", (int)t->nhash,
		"updates", scd_update_text(t->update), "share", t->share, "fp",
		t->fp, "cluster_fp", t->cluster_fp, "fp_now", t->fp_now,
		"full_bytes", t->full_bytes, "delta_bytes", t->delta_bytes,
		"update_bytes", t->update_bytes, "array_bytes", t->array_bytes,
		"own_bytes", t->own_bytes, "memory_bytes", t->memory_bytes,
		"update_seconds", t->update_seconds, "link_rate", t->link_rate,
		"node_rate", t->node_rate, "update_cost", t->update_cost,
		"false_hit_cost", t->false_hit_cost, "stale_cost",
		t->stale_cost);
}

static json_t *tuning_goal_object(const struct scd_goal *g)
{
	return json_pack(
		"{s:I, s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f,"
		" s:s, s:f, s:I}",
		"objects", (json_int_t)g->objects, "expected",
		(json_int_t)g->expected, "peers", (int)g->peers, "fp", g->fp,
		"false_hit_bytes", g->false_hit_bytes, "false_miss_bytes",
		g->false_miss_bytes, "lookups", g->lookups, "peer_hits",
		g->peer_hits, "wire_bits", g->wire_bits, "replaced",
		g->replaced, "seconds", g->seconds, "churn", g->churn, "most",
		scd_update_text(g->max_update), "deltas", g->deltas,
		"max_memory", (json_int_t)g->max_memory);
}

int tuning_json(const struct scd_goal *g, const struct scd_candidate *list,
		size_t n)
{
	json_t *top = tuning_object(&list[0].tuning);
	json_t *candidates = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *o = tuning_object(&list[i].tuning);
		const char *why = scd_verdict_text(list[i].verdict);

		json_object_set_new(o, "verdict", json_string(why));
		json_array_append_new(candidates, o);
	}
	json_object_set_new(top, "bound",
			    json_string(scd_bound_text(list[0].tuning.bound)));
	json_object_set_new(top, "goal", tuning_goal_object(g));
	json_object_set_new(top, "candidates", candidates);
	return json_report_print(top);
}
