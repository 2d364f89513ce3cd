/*
 * What the access log has of requests: where a reply is from and why, who has
 * left, what is refused; and which of them are in the sample. See two_nodes.h.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/access_log.h"
#include "tests/loopback.h"
#include "tests/proxy/two_nodes.h"
#include "tests/rounds.h"
#include "tests/unit.h"

#define FORMAT "%{method} %{url} %{status} %{bytes} %{source} %{reason} " \
	       "%{end}"
#define TRACE "4bf92f3577b34da6a3ce929d0e0e47"

enum { WAITS = 5000, LOG_BYTES = 16384 };

static char path[64];
static char lines[LOG_BYTES];

static int begin(void **state)
{
	int fd;

	strcpy(path, "/tmp/scd-access-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(access_log_new(&at.access_log), 0);
	assert_int_equal(access_log_set(at.access_log, path, FORMAT), 0);
	return two_nodes_begin(state);
}

static int end(void **state)
{
	two_nodes_end(state);
	access_log_free(&at.access_log);
	return unlink(path);
}

/* Waits until so many lines are written, and reads them. */
static void read_lines(uint64_t n)
{
	struct access_log_counters is;
	FILE *file;

	for (int i = 0; i < WAITS; i++) {
		access_log_count(at.access_log, &is);
		if (is.written >= n)
			break;
		usleep(1000);
	}
	file = fopen(path, "r");
	assert_non_null(file);
	lines[fread(lines, 1, sizeof(lines) - 1, file)] = '\0';
	fclose(file);
	if (is.written != n)
		print_message("# %s", lines);
	assert_int_equal(is.written, n);
}

static void assert_line(const char *line)
{
	if (!strstr(lines, line))
		fail_msg("no \"%s\" in\n%s", line, lines);
}

static void where_replies_are_from(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit?1", ""));
	free(ask(port_a(), "GET", "/hit?1", ""));
	free(ask(port_a(), "HEAD", "/hit?1", ""));
	free(ask(port_a(), "GET", "/none",
		 "Cache-Control: only-if-cached\r\n"));
	free(ask(port_a(), "GET", "/error", ""));
	free(ask(port_a(), "GET", "/abort", ""));
	introduce(NULL);
	free(ask(port_b(), "GET", "/hit?1", ""));
	free(ask(port_a(), "GET", "/etag", ""));
	free(ask(port_a(), "GET", "/etag", ""));
	read_lines(9);
	assert_line("GET http://h/hit?1 200 6 origin uri-miss done\n");
	assert_line("GET http://h/hit?1 200 6 memory - done\n");
	assert_line("HEAD http://h/hit?1 200 0 memory - done\n");
	assert_line("GET http://h/none 504 ");
	assert_line("GET http://h/error 500 ");
	assert_line("GET http://h/abort 502 ");
	assert_line("GET http://h/hit?1 200 6 peer uri-miss done\n");
	assert_line("GET http://h/etag 200 6 origin stale done\n");
}

static void who_sent_it(void **state)
{
	char line[200];

	(void)state;
	assert_int_equal(access_log_set(at.access_log, path,
					"%{host} %{from} \"%{agent}\" "
					"%{referer} %{trace_id} %{protocol}"),
			 0);
	usleep(50000u * (unsigned)rounds_slowness()); /* for its thread */
	free(ask(port_a(), "GET", "/hit", "User-Agent: an agent\r\n"
		 "Referer: http://r/\r\n"
		 "traceparent: 00-" TRACE "36-00f067aa0ba902b7-01\r\n"));
	introduce(NULL);
	free(ask(port_b(), "GET", "/hit", ""));
	/* two of them are none */
	free(ask(port_b(), "GET", "/hit",
		 "traceparent: 00-" TRACE "36-00f067aa0ba902b7-01\r\n"
		 "traceparent: 00-" TRACE "37-00f067aa0ba902b7-01\r\n"));
	read_lines(3);
	snprintf(line, sizeof(line),
		 "h %s \"an agent\" http://r/ " TRACE "36 HTTP/1.1\n", at.url);
	assert_line(line);
	assert_line("h a \"-\" - - HTTP/1.1\n");
	assert_line("h - \"-\" - - HTTP/1.1\n");
}

/* What no exchange comes of is a line as well. */
static void what_is_refused(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/a#b", ""));
	free(ask(port_a(), "GET", "/hit", "Content-Length: x\r\n"));
	read_lines(2);
	assert_line(" 400 ");
	assert_line(" node ");
}

static void who_has_left(void **state)
{
	int fd = loopback_dial(port_a());

	(void)state;
	say(fd, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	while (!atomic_load(&at.seen))
		usleep(1000);
	close(fd);
	free(ask(port_a(), "GET", "/cut", ""));
	read_lines(2);
	assert_line("GET http://h/late 000 0 nobody uri-miss aborted\n");
	assert_line("origin uri-miss aborted\n");
}

/* Asks twice for each of 32 traces, whose random part is spread evenly. */
static void ask_traced(void)
{
	for (int i = 0; i < 32; i++) {
		char field[100];

		snprintf(field, sizeof(field), "traceparent: 00-"
			 "4bf92f3577b34da6a3%02x929d0e0e4736-"
			 "00f067aa0ba902b7-01\r\n", i * 8);
		free(ask(port_a(), "GET", "/hit", field));
		free(ask(port_a(), "GET", "/hit", field));
	}
}

/* One in so many, errors all; of a trace all or nothing, on each node. */
static void samples(void **state)
{
	struct worker_settings changed = at.a.settings;

	(void)state;
	changed.access_log_sample = 3;
	reconfigure(&at.a, &changed);
	for (int i = 0; i < 6; i++)
		free(ask(port_a(), "GET", "/hit", ""));
	for (int i = 0; i < 2; i++)
		free(ask(port_a(), "GET", "/error", ""));
	read_lines(2 + 2);
	ask_traced();
	free(ask(port_a(), "GET", "/error", ""));
	read_lines(2 + 2 + 2 * 11 + 1); /* 0x00 to 0x50 of 0x100: a third */
}

/* Of peers nothing is told here: they log their own clients. Switched off,
 * nothing is noted. */
static void what_is_not_told(void **state)
{
	(void)state;
	free(ask(worker_peer_port(at.a.worker), "GET", "http://h/hit",
		 "Proxy-Authorization: Bearer " TOKEN "\r\n"));
	free(ask(port_a(), "GET", "/hit?1", ""));
	read_lines(1);
	assert_int_equal(access_log_set(at.access_log, NULL, NULL), 0);
	usleep(5000);
	free(ask(port_a(), "GET", "/hit?1", ""));
	free(ask(port_a(), "GET", "/a#b", ""));
	assert_int_equal(access_log_set(at.access_log, path, FORMAT), 0);
	free(ask(port_a(), "GET", "/hit?2", ""));
	read_lines(2);
	assert_line("GET http://h/hit?2 200 6 origin uri-miss done\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(where_replies_are_from),
		TEST(who_sent_it),
		TEST(what_is_refused),
		TEST(who_has_left),
		TEST(samples),
		TEST(what_is_not_told),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
