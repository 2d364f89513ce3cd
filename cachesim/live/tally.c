/*
 * See tally.h. The rows of the report and the members of the JSON object are
 * made from the same names.
 */
#include "config.h"

#include "cachesim/live/tally.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *tally_error_name(enum tally_error e)
{
	switch (e) {
	case TALLY_CONNECT:
		return "connect";
	case TALLY_TIMEOUT:
		return "timeout";
	case TALLY_CUT:
		return "cut";
	case TALLY_OTHER:
		return "other";
	case TALLY_GATEWAY:
		return "gateway";
	case TALLY_MISMATCH:
	case TALLY_ERRORS:
		break;
	}
	return "mismatch";
}

static void tally_merge(struct tally *into, const struct tally *from)
{
	into->requests += from->requests;
	into->bytes += from->bytes;
	into->verified += from->verified;
	for (int i = 0; i < 6; i++)
		into->status[i] += from->status[i];
	for (int i = 0; i < TALLY_ERRORS; i++)
		into->error[i] += from->error[i];
	for (int i = 0; i < SERVED_KINDS; i++)
		into->served_by[i] += from->served_by[i];
	latency_merge(&into->latency, &from->latency);
}

uint64_t tally_errors(const struct tally *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < TALLY_ERRORS; i++)
		sum += t->error[i];
	return sum;
}

static double tally_ms(const struct tally *t, double q)
{
	return (double)latency_quantile(&t->latency, q) / 1000;
}

static void tally_print_row(FILE *f, const char *name, const struct tally *t)
{
	fprintf(f,
		"%-24s %9" PRIu64 " %8" PRIu64 " %8" PRIu64 " %9" PRIu64
		" %8" PRIu64 " %13" PRIu64 " %7" PRIu64 " %8.2f %8.2f\n",
		name, t->requests, t->served_by[SERVED_LOCAL],
		t->served_by[SERVED_REMOTE], t->served_by[SERVED_COLLAPSED],
		t->served_by[SERVED_ORIGIN], t->bytes, tally_errors(t),
		tally_ms(t, 0.5), tally_ms(t, 0.99));
}

static void tally_print_errors(FILE *f, const struct tally *sum)
{
	for (int e = 0; e < TALLY_ERRORS; e++)
		if (sum->error[e])
			fprintf(f, "errors: %" PRIu64 " %s\n", sum->error[e],
				tally_error_name((enum tally_error)e));
}

/* Must be freed; histograms are too large for the stack of a small thread. */
static struct tally *tally_sum_of(const struct tally *t, unsigned n)
{
	struct tally *sum = calloc(1, sizeof(*sum));

	for (unsigned i = 0; sum && i < n; i++)
		tally_merge(sum, &t[i]);
	return sum;
}

void tally_print(FILE *f, const struct tally *t, const char *const *names,
		 unsigned n, double seconds)
{
	struct tally *sum = tally_sum_of(t, n);

	if (!sum)
		return;
	fprintf(f, "%-24s %9s %8s %8s %9s %8s %13s %7s %8s %8s\n", "node",
		"requests", "local", "remote", "collapsed", "origin", "bytes",
		"errors", "p50 ms", "p99 ms");
	for (unsigned i = 0; i < n; i++)
		tally_print_row(f, names[i], &t[i]);
	tally_print_row(f, "total", sum);
	tally_print_errors(f, sum);
	fprintf(f, "%" PRIu64 " bodies verified; %.1f s, %.0f requests/s\n",
		sum->verified, seconds,
		seconds > 0 ? (double)sum->requests / seconds : 0);
	free(sum);
}

/* A string of printable ASCII: the names are URLs that were checked. */
static void tally_json_row(FILE *f, const char *name, const struct tally *t)
{
	fprintf(f, "{\"node\": \"%s\", \"requests\": %" PRIu64
		", \"bytes\": %" PRIu64 ", \"verified\": %" PRIu64,
		name, t->requests, t->bytes, t->verified);
	for (int i = 1; i < 6; i++)
		fprintf(f, ", \"%dxx\": %" PRIu64, i, t->status[i]);
	for (int i = 0; i < SERVED_KINDS; i++)
		fprintf(f, ", \"%s\": %" PRIu64,
			served_by_name((enum served_by)i), t->served_by[i]);
	fprintf(f, ", \"errors\": {\"total\": %" PRIu64, tally_errors(t));
	for (int e = 0; e < TALLY_ERRORS; e++)
		fprintf(f, ", \"%s\": %" PRIu64,
			tally_error_name((enum tally_error)e), t->error[e]);
	fprintf(f,
		"}, \"latency_ms\": {\"p50\": %.3f, \"p90\": %.3f, "
		"\"p99\": %.3f, \"p999\": %.3f, \"max\": %.3f}}",
		tally_ms(t, 0.5), tally_ms(t, 0.9), tally_ms(t, 0.99),
		tally_ms(t, 0.999), (double)t->latency.max_us / 1000);
}

void tally_json(FILE *f, const struct tally *t, const char *const *names,
		unsigned n, double seconds)
{
	struct tally *sum = tally_sum_of(t, n);

	if (!sum)
		return;
	fprintf(f, "{\"version\": 1, \"seconds\": %.3f, \"nodes\": [\n",
		seconds);
	for (unsigned i = 0; i < n; i++) {
		tally_json_row(f, names[i], &t[i]);
		fputs(i + 1 < n ? ",\n" : "\n", f);
	}
	fputs("], \"total\": ", f);
	tally_json_row(f, "total", sum);
	fputs("}\n", f);
	free(sum);
}
