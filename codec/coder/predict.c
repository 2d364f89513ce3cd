/*
 * Predictions: the formulas of "Compressed Bloom Filters" and of tune.h.
 */
#include "codec/coder/predict.h"

#include <math.h>

#include "codec/bloom.h"
#include "codec/digest.h"

/* A full digest that would lose less than this share by coding is stored. */
static const double worth_coding = .0005;

static double predict_entropy(double p)
{
	if (p <= 0 || p >= 1)
		return 0;
	return -p * log2(p) - (1 - p) * log2(1 - p);
}

double scd_tune_zero(double n, double m, unsigned k)
{
	return exp(-(double)k * n / m);
}

double scd_tune_fp(double n, double m, unsigned k)
{
	return pow(-expm1(-(double)k * n / m), k);
}

double scd_tune_full_bits(double n, double m, unsigned k)
{
	return m * predict_entropy(scd_tune_zero(n, m, k));
}

double scd_tune_delta_bits(double n, double m, unsigned k, double c)
{
	double p0 = scd_tune_zero(n, m, k);

	return m * predict_entropy(2 * p0 * -expm1(-c * k * n / m));
}

double scd_tune_conditional_bits(double n, double m, unsigned k, double c)
{
	double p0 = scd_tune_zero(n, m, k);
	double p1 = 1 - p0;
	double set = p0 * -expm1(-c * k * n / m); /* as many are cleared */

	if (p0 <= 0 || p1 <= 0)
		return 0;
	return m * (p1 * predict_entropy(set / p1) +
		    p0 * predict_entropy(set / p0));
}

/* Bytes of a row that has a bit for each link. */
static double predict_row_bytes(unsigned links)
{
	unsigned row = 1;

	if (links > 512)
		return ceil(links / 512.0) * 64;
	while (row * 8 < links)
		row *= 2;
	return row;
}

double scd_tune_memory(double m, unsigned peers)
{
	unsigned links = peers > 2 ? peers - 1 : 1;

	double memory = m * 5 / 8 + m / 8 * links;

	return links < 8 ? memory : memory + m * predict_row_bytes(links);
}

/* Anything that is counted or weighed; not NaN, not infinite. */
static bool predict_is_amount(double x)
{
	return x >= 0 && x <= 1e18;
}

static bool predict_is_share(double x)
{
	return x >= 0 && x <= 1;
}

static bool predict_has_lookup_costs(const struct scd_goal *g)
{
	return g->false_hit_bytes > 0 && g->lookups > 0;
}

/* Whether what later versions may give a meaning is left alone. */
static bool predict_reserves_nothing(const struct scd_goal *g)
{
	const size_t n = sizeof(g->reserved) / sizeof(g->reserved[0]);
	uint64_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= g->reserved[i];
	return !any;
}

static bool predict_is_valid(const struct scd_goal *g)
{
	bool shares = predict_is_share(g->churn) &&
		      predict_is_share(g->peer_hits) &&
		      predict_is_share(g->fp) && g->fp < 1;
	bool amounts = predict_is_amount(g->wire_bits) &&
		       predict_is_amount(g->deltas) &&
		       predict_is_amount(g->false_hit_bytes) &&
		       predict_is_amount(g->false_miss_bytes) &&
		       predict_is_amount(g->lookups) &&
		       predict_is_amount(g->replaced) &&
		       predict_is_amount(g->seconds);
	bool goal =
		g->fp > 0 || g->wire_bits > 0 || predict_has_lookup_costs(g);
	bool deltas = g->max_update <= SCD_UPDATE_CONDITIONAL &&
		      (g->max_update >= SCD_UPDATE_XOR || g->deltas <= 0);

	return shares && amounts && goal && deltas &&
	       predict_reserves_nothing(g) &&
	       g->objects <= SCD_BLOOM_MAX_BITS &&
	       g->expected <= SCD_BLOOM_MAX_BITS &&
	       (g->objects > 0 || g->expected > 0);
}

int scd__plan_init(struct scd__plan *p, const struct scd_goal *g)
{
	double hits, miss;

	if (!predict_is_valid(g))
		return SCD_EINVAL;
	hits = g->peer_hits > 0 ? g->peer_hits
				: SCD_TUNE_PEER_HITS_PERCENT / 100.0;
	miss = g->false_miss_bytes > 0 ? g->false_miss_bytes
				       : g->false_hit_bytes;
	*p = (struct scd__plan){
		.n = fmax((double)g->objects, (double)g->expected),
		.n_now = (double)g->objects,
		.peers = g->peers > 2 ? g->peers : 2,
		.churn = g->churn,
		.replaced = g->replaced,
		.seconds = g->seconds,
		.false_hits = g->lookups * g->false_hit_bytes,
		.deltas = g->deltas,
		.max_update = g->max_update > SCD_UPDATE_FULL ? g->max_update
							      : SCD_UPDATE_FULL,
		.min_fp = g->fp <= 0 && !predict_has_lookup_costs(g),
	};
	p->links = p->peers - 1;
	p->staleness =
		g->lookups * hits / p->links / 2 * (g->false_hit_bytes + miss);
	if (p->staleness <= 0 && p->churn <= 0 && p->replaced > 0)
		p->churn = SCD_TUNE_SHARE_PERCENT / 100.0;
	return SCD_OK;
}

/* The bytes of a message with so many bits of information, coded or not. */
static double predict_message_bytes(const struct scd_tuning *t, double bits)
{
	return SCD_DIGEST_HEADER_BYTES + fmin(bits / 8, t->array_bytes);
}

/* The kind of updates that takes the fewest bytes. */
static void predict_choose_update(const struct scd__plan *p,
				  enum scd_update most, struct scd_tuning *t)
{
	double m = (double)t->nbits, bits, update;

	t->update = t->full_bytes - SCD_DIGEST_HEADER_BYTES <
				    t->array_bytes * (1 - worth_coding)
			    ? SCD_UPDATE_FULL
			    : SCD_UPDATE_STORED;
	t->update_bytes = t->full_bytes;
	t->delta_bytes = 0;
	if (most < SCD_UPDATE_XOR || t->share <= 0)
		return;
	bits = most == SCD_UPDATE_XOR
		       ? scd_tune_delta_bits(p->n, m, t->nhash, t->share)
		       : scd_tune_conditional_bits(p->n, m, t->nhash, t->share);
	t->delta_bytes = predict_message_bytes(t, bits);
	update = p->deltas > 0 ? (t->full_bytes + p->deltas * t->delta_bytes) /
					 (1 + p->deltas)
			       : t->delta_bytes;
	if (update >= t->full_bytes) {
		t->delta_bytes = 0;
		return;
	}
	t->update = most;
	t->update_bytes = update;
}

/* Everything that follows from the share at which to publish. */
static void predict_add_share(const struct scd__plan *p, enum scd_update most,
			      double share, struct scd_tuning *t)
{
	double updates = p->replaced > 0 ? p->replaced / (share * p->n) : 1;
	bool changes = p->seconds > 0 && share > 0;

	t->share = share;
	predict_choose_update(p, most, t);
	t->update_cost = updates * (t->update_bytes + SCD_TUNE_HTTP_BYTES);
	t->stale_cost = p->staleness * share;
	t->update_seconds = changes ? p->seconds / updates : 0;
	t->link_rate = changes ? t->update_cost / p->seconds : 0;
	t->node_rate = t->link_rate * p->links * 2;
}

static double predict_sum_cost(const struct scd_tuning *t)
{
	return t->update_cost + t->false_hit_cost + t->stale_cost;
}

/* The least share: an object, or what changes in the shortest time. */
static double predict_least_share(const struct scd__plan *p)
{
	double fastest = 0;

	if (p->seconds > 0)
		fastest = p->replaced / p->seconds * SCD_TUNE_LEAST_MS / 1000;
	return fmax(1, fastest) / p->n;
}

/*
 * Choose the share at which updates and staleness cost least in sum, from a
 * ladder of numbers that people write.
 */
static void predict_choose_share(const struct scd__plan *p,
				 enum scd_update most, struct scd_tuning *t)
{
	static const double steps[] = {5, 4, 3, 2.5, 2, 1.5, 1.2, 1, .8, .6};
	double least = predict_least_share(p);
	struct scd_tuning best = *t;

	predict_add_share(p, most, .5, &best);
	for (double scale = .1; scale > 1e-7; scale /= 10) {
		for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
			struct scd_tuning other = *t;

			if (steps[i] * scale < least)
				break;
			predict_add_share(p, most, steps[i] * scale, &other);
			if (predict_sum_cost(&other) < predict_sum_cost(&best))
				best = other;
		}
	}
	*t = best;
}

struct scd_tuning scd__predict(const struct scd__plan *p,
			       const struct scd__choice *choice)
{
	double m = ldexp(1, (int)choice->log2_bits);
	unsigned k = choice->nhash;
	struct scd_tuning t = {
		.nbits = UINT64_C(1) << choice->log2_bits,
		.nhash = k,
		.fp = scd_tune_fp(p->n, m, k),
		.fp_now = scd_tune_fp(p->n_now, m, k),
		.array_bytes = m / 8,
		.own_bytes = m * 5 / 8,
		.memory_bytes = scd_tune_memory(m, p->peers),
	};

	t.cluster_fp = -expm1(p->links * log1p(-t.fp));
	t.full_bytes =
		predict_message_bytes(&t, scd_tune_full_bits(p->n, m, k));
	t.false_hit_cost = p->false_hits * t.fp;
	if (p->churn > 0 || p->replaced <= 0)
		predict_add_share(p, choice->max_update, p->churn, &t);
	else
		predict_choose_share(p, choice->max_update, &t);
	return t;
}

double scd__objective(const struct scd__plan *p, const struct scd_tuning *t)
{
	return p->min_fp ? t->fp : predict_sum_cost(t);
}
