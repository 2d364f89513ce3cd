/*
 * See progress.h.
 */
#include "cachesim/live/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
	BAR_WIDTH = 40,
	BAR_EVERY_US = 200000,
	LINE_EVERY_US = 5000000,
};

void progress_start(struct progress *p, uint64_t total, bool off,
		    int64_t now_us)
{
	p->total = total;
	p->off = off;
	p->terminal = isatty(STDERR_FILENO);
	p->start_us = now_us;
	p->next_us = now_us + (p->terminal ? BAR_EVERY_US : LINE_EVERY_US);
}

static void progress_draw_bar(const struct progress *p, uint64_t done)
{
	static const char full[] = "########################################";
	double share = p->total ? (double)done / (double)p->total : 0;
	int n = share < 1 ? (int)(share * BAR_WIDTH) : BAR_WIDTH;

	if (p->total)
		fprintf(stderr, "\r[%-*.*s] %3.0f %%", BAR_WIDTH, n, full,
			share * 100);
	else
		fputs("\r", stderr);
}

void progress_step(struct progress *p, uint64_t done, uint64_t errors,
		   int64_t now_us)
{
	double seconds = (double)(now_us - p->start_us) / 1e6;

	if (p->off || now_us < p->next_us)
		return;
	p->next_us = now_us + (p->terminal ? BAR_EVERY_US : LINE_EVERY_US);
	if (p->terminal)
		progress_draw_bar(p, done);
	fprintf(stderr, "  %" PRIu64 " requests, %.0f/s, %" PRIu64 " errors",
		done, (double)done / seconds, errors);
	if (p->total && done)
		fprintf(stderr, ", %.0f s left",
			seconds * ((double)p->total / (double)done - 1));
	fputs(p->terminal ? "\033[K" : "\n", stderr);
}

void progress_end(const struct progress *p)
{
	if (!p->off && p->terminal)
		fputs("\r\033[K", stderr);
}
