/*
 * See load.h.
 */
#include "config.h"

#include "cachesim/live/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/live/object_url.h"
#include "cachesim/trace/stats.h"

enum { TOLD_MAX = 10 }; /* bad lines of a trace that are printed */

static void load_fail(const char *name, const char *columns, int code)
{
	char why[TRACE_WHY_MAX];

	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, name,
		trace_explain(name, columns, code, why, sizeof(why)));
}

static void load_complain(void *arg, const struct trace_complaint *c)
{
	unsigned *told = arg;

	const char *text = c->text ? c->text : trace_strerror(c->reason);

	if (*told < TOLD_MAX && !c->number)
		fprintf(stderr, "%s: %s\n", c->file, text);
	else if (*told < TOLD_MAX)
		fprintf(stderr, "%s:%" PRIu64 ": %s\n", c->file, c->number,
			text);
	else if (*told == TOLD_MAX)
		fprintf(stderr, "%s: more bad lines follow\n", c->file);
	++*told;
}

int load_open(struct trace_reader **out, const char *name,
	      struct trace_options *opt)
{
	static unsigned told;
	int err;

	opt->complain = load_complain;
	opt->arg = &told;
	err = trace_open(out, name, opt);
	if (err)
		load_fail(name, opt->columns, err);
	return err;
}

int load_objects(struct objects *out, const char *name,
		 struct trace_options *opt)
{
	struct object_url *t = malloc(sizeof(*t));
	struct trace_reader *r = NULL;
	struct trace_request req;
	int err = t ? load_open(&r, name, opt) : TRACE_ENOMEM;

	if (err) {
		free(t);
		return err;
	}
	while ((err = trace_next(r, &req)) > 0) {
		if (object_url_make(t, req.url))
			continue;
		err = objects_note(out, t->hash, &req);
		if (err)
			break;
	}
	if (err)
		load_fail(name, opt->columns, err);
	trace_close(&r);
	free(t);
	return err;
}

static void load_print_totals(const struct trace_totals *t, const char *format,
			      uint64_t bad)
{
	printf("format           %s\n", format);
	printf("requests         %" PRIu64 "\n", t->requests);
	printf("uncacheable      %" PRIu64 "\n", t->uncacheable);
	printf("bad lines        %" PRIu64 "\n", bad);
	printf("objects          %" PRIu64 "\n", t->objects);
	printf("one-hit objects  %" PRIu64 "\n", t->one_hit);
	printf("clients          %" PRIu64 "\n", t->clients);
	printf("bytes            %" PRIu64 "\n", t->bytes);
	printf("infinite cache   %" PRIu64 "\n", t->unique_bytes);
	printf("max hit ratio    %.4f\n", t->hit_ratio);
	printf("max byte hits    %.4f\n", t->byte_hit_ratio);
	printf("seconds          %" PRId64 "\n",
	       (t->last_ms - t->first_ms) / 1000);
}

int load_info(const char *name, struct trace_options *opt)
{
	struct trace_reader *r = NULL;
	struct trace_stats *s = NULL;
	struct trace_request req;
	struct trace_totals totals;
	int err = load_open(&r, name, opt);

	if (err)
		return err;
	err = trace_stats_new(&s);
	while (!err && (err = trace_next(r, &req)) > 0)
		err = trace_stats_add(s, &req);
	if (err) {
		load_fail(name, opt->columns, err);
	} else {
		trace_stats_totals(s, &totals);
		load_print_totals(&totals, trace_format_of(r), trace_bad(r));
	}
	trace_stats_free(&s);
	trace_close(&r);
	return err;
}
