/*
 * digestctl top: a running node and its peers, second by second.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/json_report.h"
#include "digestd/ctl/latencies.h"
#include "digestd/ctl/node_client.h"
#include "digestd/ctl/record_reader.h"
#include "digestd/ctl/top_frame.h"
#include "digestd/tool/arguments.h"

const char ctl_top_help[] =
	"usage: digestctl top [OPTIONS]\n"
	"Shows how a running node and its peers stand, again and again:\n"
	"requests and where they are answered from, how long they take,\n"
	"memory, what each peer delivers, and the URLs that are asked for\n"
	"most. q ends it. Where standard output is no terminal, it prints one\n"
	"frame.\n";

enum { TOP_RECORDS_MS = 20 }; /* within which they are read */

struct top {
	struct control_options control;
	bool once;
	double delay;
	struct node_client client;
	struct record_reader records;
	struct hot_urls hot;
	json_t *earlier; /* status */
	double earlier_s;
	struct termios was;
};

static const struct tool_option top_rows[] = {
	{ .name = "once", .kind = OPTION_FLAG, .at = offsetof(struct top, once),
	  .help = "one frame, of what happens within a delay" },
	{ .name = "delay", .letter = 'd', .kind = OPTION_REAL,
	  .at = offsetof(struct top, delay), .positive = true, .min = 0.05,
	  .max = 60, .value = "SECONDS", .help = "between frames; default: 1" },
	{ .name = NULL },
};

const struct tool_option *const ctl_top_options[] = { top_rows, control_options,
						      NULL };

/* Signals only end a wait: what they mean is looked up after it. */
static volatile sig_atomic_t top_ended;

static void ctl_top_on_signal(int number)
{
	top_ended = number != SIGWINCH;
}

static double ctl_top_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void ctl_top_take_records(struct top *t)
{
	const char *line;
	uint64_t lost;
	size_t len;

	while ((line = record_reader_next(&t->records, &len, &lost)))
		hot_urls_add(&t->hot, line, len);
}

static int ctl_top_left_ms(double left_s)
{
	int left_ms = (int)(left_s * 1000) + 1;

	return left_ms < TOP_RECORDS_MS ? left_ms : TOP_RECORDS_MS;
}

/* Waits for the next frame; whether there is to be one. */
static bool ctl_top_wait(struct top *t, bool keys)
{
	double end_s = t->earlier_s + t->delay, left_s;
	struct pollfd in = { .fd = keys ? STDIN_FILENO : -1,
			     .events = POLLIN };
	char key;

	while (!top_ended && (left_s = end_s - ctl_top_now_s()) > 0) {
		int n = poll(&in, 1, ctl_top_left_ms(left_s));

		ctl_top_take_records(t);
		if (n < 0)
			return !top_ended; /* another size: at once */
		if (n > 0 && (read(STDIN_FILENO, &key, 1) < 1 || key == 'q' ||
			      key == 'Q'))
			return false;
	}
	return !top_ended;
}

static int ctl_top_ask(struct top *t, json_t **status)
{
	json_t *answer;
	int code = node_client_ask(&t->client,
				   json_pack("{s:s}", "command", "status"),
				   &answer);

	if (code == CTL_NO)
		node_client_tell_refusal(answer);
	*status = code ? NULL : json_incref(json_object_get(answer, "status"));
	json_decref(answer);
	return code;
}

static void ctl_top_show(struct top_frame *f)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	f->rows = size.ws_row;
	top_frame_print(f, to);
	if (!fclose(to))
		top_frame_show(text, size.ws_row, size.ws_col, stdout);
	free(text);
}

/* Of the same instance, whose requests are those that have records. */
static double ctl_top_requests(const struct top_frame *f)
{
	const struct latencies between = { f->earlier, f->status };
	double n = latencies_requests(&between);

	return n > 0 ? n : 0;
}

/* One frame, which is what the next one is compared with. */
static int ctl_top_frame(struct top *t, bool live)
{
	struct top_frame f = { .earlier = t->earlier, .hot = &t->hot };
	json_t *status;
	int code = ctl_top_ask(t, &status);
	double now_s = ctl_top_now_s();

	if (code)
		return code;
	f.status = status;
	f.seconds = now_s - t->earlier_s;
	hot_urls_end_frame(&t->hot, ctl_top_requests(&f), f.seconds);
	if (t->control.json)
		code = json_report_print(top_frame_json(&f));
	else if (live)
		ctl_top_show(&f);
	else
		top_frame_print(&f, stdout);
	fflush(stdout);
	hot_urls_fade(&t->hot, f.seconds);
	json_decref(t->earlier);
	t->earlier = status;
	t->earlier_s = now_s;
	return code;
}

/* The terminal, until it is given back: other lines, no cursor, each key. */
static void ctl_top_take_terminal(struct top *t)
{
	struct termios raw;

	tcgetattr(STDIN_FILENO, &t->was);
	raw = t->was;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
}

static void ctl_top_return_terminal(const struct top *t)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &t->was);
}

static void ctl_top_watch_signals(void)
{
	const struct sigaction act = { .sa_handler = ctl_top_on_signal };

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	sigaction(SIGWINCH, &act, NULL);
}

static int ctl_top_run(struct top *t)
{
	bool tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	bool live = tty && !t->once && !t->control.json;
	bool again = live || (t->control.json && !t->once);
	int code = ctl_top_ask(t, &t->earlier);

	t->earlier_s = ctl_top_now_s();
	ctl_top_watch_signals();
	if (code)
		return code;
	if (live)
		ctl_top_take_terminal(t);
	do {
		if (!ctl_top_wait(t, live))
			break;
		code = ctl_top_frame(t, live);
	} while (again && !code && !ferror(stdout));
	if (live)
		ctl_top_return_terminal(t);
	return code;
}

int ctl_top(int argc, char **argv)
{
	struct top t = { .delay = 1 };
	int code;

	if (!options_read(ctl_top_options, argc, argv, &t))
		return CTL_USAGE;
	if (optind < argc)
		return arguments_wrong("top", "takes no operands",
				       ctl_top_help);
	code = node_client_open(&t.client, &t.control);
	if (code)
		return code;
	code = record_reader_open(&t.records, &t.control);
	if (!code)
		code = ctl_top_run(&t);
	record_reader_close(&t.records);
	node_client_close(&t.client);
	json_decref(t.earlier);
	return code;
}
