/*
 * What is told outside: lines of the log, as they arrive on stderr, and what
 * systemd hears.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/os/notify.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { STAMP = 25, ROOM = 4096 }; /* "2026-11-21T03:05:59.123Z " */

/* What a call writes to stderr. */
static size_t logged(void (*call)(void), char text[ROOM])
{
	int saved = dup(STDERR_FILENO), pipes[2];
	ssize_t n;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	call();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipes[1]);
	n = read(pipes[0], text, ROOM - 1);
	close(pipes[0]);
	text[n > 0 ? n : 0] = '\0';
	return strlen(text);
}

static void log_at_all_levels(void)
{
	log_write(LOG_ERROR, "part", "%s %d", "e", 1);
	log_write(LOG_WARNING, "part", "w");
	log_write(LOG_INFO, "part", "i");
	log_write(LOG_DEBUG, "part", "d");
}

static const struct {
	const char *level;
	unsigned lines;
} levels[] = {
	{ "error", 1 }, { "warning", 2 }, { "info", 3 }, { "debug", 4 },
	{ "loud", 4 }, /* is none: it stays */
	{ "info", 3 },
};

static void levels_of_the_log(void **state)
{
	char text[ROOM];

	(void)state;
	for (size_t i = 0; i < NROWS(levels); i++) {
		unsigned lines = 0;

		log_set_level(levels[i].level);
		(void)logged(log_at_all_levels, text);
		for (const char *at = text; (at = strchr(at, '\n')); at++)
			lines++;
		assert_int_equal(lines, levels[i].lines);
		assert_memory_equal(text + STAMP, "error part: e 1\n", 16);
		assert_int_equal(text[STAMP - 2], 'Z');
	}
}

/* stderr as the journal's, and as something else. */
static void log_to_the_journal(void)
{
	char stream[64];
	struct stat st;

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_find_journal();
	log_at_all_levels();
}

static void log_to_another_stream(void)
{
	setenv("JOURNAL_STREAM", "1:2", 1);
	log_find_journal();
	log_at_all_levels();
}

static void the_journal_gets_priorities(void **state)
{
	char text[ROOM];

	(void)state;
	log_set_level("debug");
	(void)logged(log_to_the_journal, text);
	assert_string_equal(text, "<3>error part: e 1\n<4>warning part: w\n"
			    "<6>info part: i\n<7>debug part: d\n");
	log_set_level("info");
	(void)logged(log_to_another_stream, text);
	assert_memory_equal(text + STAMP, "error part: e 1\n", 16);
	unsetenv("JOURNAL_STREAM");
	log_find_journal();
	(void)logged(log_at_all_levels, text);
	assert_memory_equal(text + STAMP, "error part: e 1\n", 16);
}

static void log_too_much(void)
{
	char *text = malloc(ROOM);

	assert_non_null(text);
	memset(text, 'x', ROOM - 1);
	text[ROOM - 1] = '\0';
	log_write(LOG_ERROR, "part", "%s", text);
	free(text);
}

static void long_lines_are_cut(void **state)
{
	char text[ROOM];
	size_t len = logged(log_too_much, text);

	(void)state;
	assert_in_range(len, 2000, 2048);
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
}

static void a_line_that_is_lost(void **state)
{
	char text[ROOM];

	(void)state;
	call_fail_at("write", 1, EPIPE);
	(void)logged(log_at_all_levels, text);
	assert_true(call_failed());
	assert_non_null(strstr(text, "warning part: w\n"));
	assert_null(strstr(text, "error"));
}

static void floods(void **state)
{
	struct log_limit limit = { .burst = 2, .period_ms = 100 };
	unsigned dropped;
	char room[64];

	(void)state;
	assert_true(log_allow(&limit, 1000, &dropped));
	assert_true(log_allow(&limit, 1050, &dropped));
	assert_false(log_allow(&limit, 1060, &dropped));
	assert_false(log_allow(&limit, 1099, &dropped));
	assert_int_equal(dropped, 0);
	assert_true(log_allow(&limit, 1100, &dropped));
	assert_int_equal(dropped, 2);
	assert_string_equal(log_suppressed(dropped, room),
			    " (2 similar messages suppressed)");
	assert_string_equal(log_suppressed(1, room),
			    " (1 similar message suppressed)");
	assert_true(log_allow(&limit, 1101, &dropped));
	assert_int_equal(dropped, 0);
	assert_string_equal(log_suppressed(dropped, room), "");
}

/* systemd */

static const char reloading[] = "RELOADING=1\nMONOTONIC_USEC=";

/* A socket of systemd's, by its path or, with @, its abstract name. */
static int service_manager(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	size_t len = offsetof(struct sockaddr_un, sun_path) + strlen(name);

	assert_true(fd >= 0);
	memcpy(at.sun_path, name, strlen(name));
	if (*name == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&at, (socklen_t)len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void heard(int fd, const char *expected)
{
	char text[128];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (!expected) {
		assert_true(n < 0);
		return;
	}
	assert_true(n >= (ssize_t)strlen(expected));
	assert_memory_equal(text, expected, strlen(expected));
}

static void systemd_is_told(void **state)
{
	char folder[] = "/tmp/scd-notify-XXXXXX", names[2][64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(names[0], sizeof(names[0]), "%s/socket", folder);
	snprintf(names[1], sizeof(names[1]), "@%s", folder);
	for (size_t i = 0; i < NROWS(names); i++) {
		int fd = service_manager(names[i]);

		notify_ready();
		heard(fd, "READY=1");
		notify_reloading();
		heard(fd, reloading);
		notify_stopping();
		heard(fd, "STOPPING=1");
		call_fail_at("socket", 1, EMFILE);
		notify_ready();
		assert_true(call_failed());
		heard(fd, NULL);
		close(fd);
	}
	unlink(names[0]);
	rmdir(folder);
}

/* Without one, or with a name that fits no socket, nobody is told. */
static void nobody_is_told(void **state)
{
	char name[200];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	call_fail_at("socket", 1, EMFILE);
	setenv("NOTIFY_SOCKET", name, 1);
	notify_ready();
	setenv("NOTIFY_SOCKET", "", 1);
	notify_ready();
	unsetenv("NOTIFY_SOCKET");
	notify_ready();
	assert_false(call_failed());
	call_fail_at("", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_of_the_log),
		cmocka_unit_test(the_journal_gets_priorities),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(a_line_that_is_lost),
		cmocka_unit_test(floods),
		cmocka_unit_test(systemd_is_told),
		cmocka_unit_test(nobody_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
