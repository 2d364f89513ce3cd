/*
 * How far long work has come.
 */
#include "digestd/tool/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
	FIRST_MS = 500,     /* what takes less is no long work */
	INTERVAL_MS = 200,  /* faster than that nobody reads */
	IN_A_FILE_MS = 5000 /* where lines are kept */
};

static int64_t progress_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void progress_start(struct progress *p, enum progress_wish wish,
		    const char *what, uint64_t total)
{
	*p = (struct progress){ .what = what,
				.total = total,
				.over = isatty(STDERR_FILENO) };
	switch (wish) {
	case PROGRESS_TERMINAL:
		p->on = p->over;
		break;
	case PROGRESS_ANYWHERE:
		p->on = true;
		break;
	case PROGRESS_ALWAYS:
		p->on = p->always = true;
		break;
	case PROGRESS_NEVER:
		break;
	}
	p->start_ms = progress_now_ms();
	p->due_ms = p->start_ms + (p->always ? 0
				   : p->over ? FIRST_MS
					     : IN_A_FILE_MS);
}

/* A number with a unit that suits it. */
static void progress_print_amount(const struct progress *p, uint64_t amount)
{
	static const char units[] = "kMGT";
	double x = (double)amount / 1000;
	unsigned u = 0;

	for (; x >= 1000 && u + 2 < sizeof(units); u++)
		x /= 1000;
	fprintf(stderr, x < 10 ? "%.1f %c%s" : "%.0f %c%s", x, units[u],
		p->noun ? "" : "B");
}

static void progress_print_rate(const struct progress *p, uint64_t lines,
				int64_t ms)
{
	if (ms > 0)
		fprintf(stderr, ", %.0f %s/s",
			(double)lines * 1000 / (double)ms,
			p->noun ? p->noun : "lines");
}

static void progress_print_left(const struct progress *p, uint64_t bytes,
				int64_t ms)
{
	double left =
		(double)ms / 1000 * (double)(p->total - bytes) / (double)bytes;
	uint64_t s = (uint64_t)(left + .5);

	fprintf(stderr, ", %" PRIu64 ":%02u left", s / 60, (unsigned)(s % 60));
}

static void progress_finish_line(struct progress *p)
{
	fputs(p->over ? "\033[K" : "\n", stderr); /* the rest of an old one */
	fflush(stderr);
	p->shown = true;
}

void progress_tell(struct progress *p, uint64_t bytes, uint64_t lines)
{
	int64_t now = p->on ? progress_now_ms() : 0;

	if (!p->on || now < p->due_ms)
		return;
	p->due_ms = now + (p->over ? INTERVAL_MS : IN_A_FILE_MS);
	if (p->over)
		fputc('\r', stderr);
	fprintf(stderr, "%s: ", p->what);
	progress_print_amount(p, bytes);
	if (p->total) {
		fputs(" of ", stderr);
		progress_print_amount(p, p->total);
	}
	progress_print_rate(p, lines, now - p->start_ms);
	if (p->errors)
		fprintf(stderr, ", %" PRIu64 " errors", p->errors);
	if (bytes && p->total >= bytes)
		progress_print_left(p, bytes, now - p->start_ms);
	progress_finish_line(p);
}

void progress_clear(struct progress *p)
{
	if (p->shown && p->over)
		fputs("\r\033[K", stderr);
}

void progress_end(struct progress *p, uint64_t bytes, uint64_t lines)
{
	int64_t ms = progress_now_ms() - p->start_ms;

	if (!p->shown && !p->always)
		return;
	progress_clear(p);
	fprintf(stderr, "%s: %" PRIu64 " %s", p->what, lines,
		p->noun ? p->noun : "lines");
	if (!p->noun) {
		fputs(", ", stderr);
		progress_print_amount(p, bytes);
	}
	fprintf(stderr, " in %.1f s", (double)ms / 1000);
	progress_print_rate(p, lines, ms);
	fputc('\n', stderr);
}
