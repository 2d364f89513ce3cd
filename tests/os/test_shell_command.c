/*
 * Commands: what they print, and what is said of those that do not end well.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "digestd/os/shell_command.h"
#include "tests/unit.h"

static struct shell_command_result result;

static void run(const char *command)
{
	const struct shell_command_limits limits = {5000, 100000, -1};

	free(result.text);
	shell_command_run(command, &limits, &result);
}

static int tear_down(void **state)
{
	(void)state;
	free(result.text);
	result.text = NULL;
	return 0;
}

static void what_it_prints(void **state)
{
	(void)state;
	run("echo one; echo two");
	assert_string_equal(result.fault, "");
	assert_string_equal(result.text, "one\ntwo\n");
	assert_int_equal(result.len, 8);
	run("true");
	assert_string_equal(result.fault, "");
	assert_string_equal(result.text, "");
	run("cat"); /* there is nothing to read */
	assert_string_equal(result.fault, "");
	assert_int_equal(result.len, 0);
	run("head -c 60000 /dev/zero");
	assert_string_equal(result.fault, "");
	assert_int_equal(result.len, 60000);
}

static void how_it_ends(void **state)
{
	(void)state;
	run("echo one; exit 3");
	assert_string_equal(result.fault, "ended with status 3");
	run("kill -9 $$");
	assert_string_equal(result.fault, "ended by signal 9");
	run("/nonexistent/program 2>/dev/null");
	assert_string_equal(result.fault, "ended with status 127");
}

/* Whether a process is more than a name in a table. */
static bool is_running(long pid)
{
	char path[64], text[256] = "";
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	return !strstr(text, ") Z ");
}

/* Its errors: the beginning, in one line; nobody waits for who reads them. */
static void what_it_says(void **state)
{
	(void)state;
	run("echo list; echo one >&2; echo two >&2");
	assert_string_equal(result.text, "list\n");
	assert_true(!strcmp(result.said, "one two") ||
		    !strcmp(result.said, "onetwo")); /* by one read or two */
	run("true");
	assert_string_equal(result.said, "");
	run("printf 'a\\033b' >&2; exit 3");
	assert_string_equal(result.said, "a b");
	assert_string_equal(result.fault, "ended with status 3");
	run("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo list");
	assert_string_equal(result.fault, "");
	assert_string_equal(result.text, "list\n");
	assert_int_equal(strlen(result.said), SHELL_COMMAND_SAID - 1);
	run("exec 2>&-; echo list");
	assert_string_equal(result.text, "list\n");
	/* what outlives it keeps nobody waiting */
	run("sleep 20 >&- 2>/dev/null & echo list");
	assert_string_equal(result.text, "list\n");
}

/* What is run each second must not leave something behind each second. */
static void what_it_leaves_behind_is_ended(void **state)
{
	long pid;
	int turns = 1000;

	(void)state;
	run("sleep 20 >/dev/null 2>&1 & echo $!");
	assert_string_equal(result.fault, "");
	pid = strtol(result.text, NULL, 10);
	assert_true(pid > 1);
	/* whose process it is then collects it some time */
	while (!kill((pid_t)pid, 0) && is_running(pid) && --turns)
		usleep(10000);
	assert_true(turns > 0);
	run("sleep 20 >/dev/null 2>&1 & exit 3");
	assert_string_equal(result.fault, "ended with status 3");
}

/* The daemon blocks and ignores some, which would be inherited. */
static void signals_are_those_of_a_new_process(void **state)
{
	sigset_t set, before;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &before);
	signal(SIGPIPE, SIG_IGN);
	run("grep -E '^Sig(Blk|Ign):.*[^0]$' /proc/self/status; "
	    "grep -c '^SigBlk:.*0000$' /proc/self/status; kill $$");
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_string_equal(result.fault, "ended by signal 15");
	assert_string_equal(result.text, "1\n");
}

static void limits(void **state)
{
	const struct shell_command_limits short_time = {100, 1000, -1};
	const struct shell_command_limits few_bytes = {5000, 1000, -1};

	(void)state;
	shell_command_run("sleep 20", &short_time, &result);
	assert_string_equal(result.fault, "did not end within 0 s");
	free(result.text);
	/* it has nothing more to say, but does not end */
	shell_command_run("exec >/dev/null; sleep 20", &short_time, &result);
	assert_string_equal(result.fault, "did not end within 0 s");
	free(result.text);
	shell_command_run("yes", &few_bytes, &result);
	assert_string_equal(result.fault, "prints more than 1000 bytes");
}

static void cancelling(void **state)
{
	struct shell_command_limits limit = {20000, 1000,
					     eventfd(1, EFD_CLOEXEC)};

	(void)state;
	assert_true(limit.cancel >= 0);
	shell_command_run("sleep 20", &limit, &result);
	assert_string_equal(result.fault, "was ended");
	close(limit.cancel);
}

/* Nor is what has closed its output waited for. */
static void cancelling_what_says_nothing_more(void **state)
{
	struct shell_command_limits limit = {4000, 1000, -1};
	char command[64];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	limit.cancel = ends[0];
	snprintf(command, sizeof(command),
		 "exec >&-; sleep 0.1; echo >&%d; sleep 20", ends[1]);
	shell_command_run(command, &limit, &result);
	assert_string_equal(result.fault, "was ended");
	close(ends[0]);
	close(ends[1]);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* A signal while nothing is printed does not take the time limit away. */
static void interrupted(void **state)
{
	const struct shell_command_limits limit = {200, 1000, -1};
	const struct itimerval soon = {.it_value.tv_usec = 50000};
	const struct sigaction handler = {.sa_handler = on_alarm,
					  .sa_flags = SA_RESTART};
	struct sigaction before;

	(void)state;
	sigaction(SIGALRM, &handler, &before);
	setitimer(ITIMER_REAL, &soon, NULL);
	shell_command_run("sleep 4", &limit, &result);
	sigaction(SIGALRM, &before, NULL);
	assert_string_equal(result.fault, "did not end within 0 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_it_prints, tear_down),
		cmocka_unit_test_teardown(what_it_says, tear_down),
		cmocka_unit_test_teardown(what_it_leaves_behind_is_ended,
					  tear_down),
		cmocka_unit_test_teardown(how_it_ends, tear_down),
		cmocka_unit_test_teardown(signals_are_those_of_a_new_process,
					  tear_down),
		cmocka_unit_test_teardown(limits, tear_down),
		cmocka_unit_test_teardown(cancelling, tear_down),
		cmocka_unit_test_teardown(cancelling_what_says_nothing_more,
					  tear_down),
		cmocka_unit_test_teardown(interrupted, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
