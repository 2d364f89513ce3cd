/*
 * Commands: a pipe, a process group, and one time by which all is over.
 */
#define _GNU_SOURCE /* pipe2() */
#include "digestd/os/shell_command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "digestd/os/child_signals.h"

extern char **environ;

enum { PAUSE_MS = 5 }; /* between two looks at whether it has ended */

struct running {
	const struct shell_command_limits *limits;
	struct shell_command_result *result;
	pid_t pid;
	int from; /* what it prints */
	int errors; /* the same of its errors; -1: it has closed them */
	int64_t end_ms;
	size_t room;
};

static int64_t shell_command_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((format(printf, 2, 3))) static bool
shell_command_fail(struct shell_command_result *result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(result->fault, sizeof(result->fault), format, args);
	va_end(args);
	return false;
}

/* In a group of its own, with signals as by default. */
static int shell_command_set_attributes(posix_spawnattr_t *attributes)
{
	int err = posix_spawnattr_setpgroup(attributes, 0);

	return err ? err : child_signals_reset(attributes,
					       POSIX_SPAWN_SETPGROUP);
}

static int shell_command_spawn(pid_t *pid, const char *command, int to,
			       int errors)
{
	char shell[] = "/bin/sh", flag[] = "-c";
	/* posix_spawn() takes them for the program's, which may write */
	char *const argv[] = {shell, flag, (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int err = posix_spawn_file_actions_init(&files);

	if (err)
		return err;
	err = posix_spawnattr_init(&attributes);
	if (!err) {
		err = shell_command_set_attributes(&attributes);
		if (!err)
			err = posix_spawn_file_actions_addopen(
				&files, 0, "/dev/null", O_RDONLY, 0);
		if (!err)
			err = posix_spawn_file_actions_adddup2(&files, to, 1);
		if (!err)
			err = posix_spawn_file_actions_adddup2(&files, errors,
							       2);
		if (!err)
			err = posix_spawn(pid, shell, &files, &attributes, argv,
					  environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return err;
}

/* Room for more, and for the NUL behind it. */
static bool shell_command_make_room(struct running *r)
{
	size_t room = r->room ? r->room * 2 : 4096;
	char *text;

	if (r->result->len + 1 < r->room)
		return true;
	text = realloc(r->result->text, room);
	if (!text)
		return shell_command_fail(r->result, "out of memory");
	r->result->text = text;
	r->room = room;
	return true;
}

/* Keeps what there is room for, with what is no text in it as blanks. */
static void shell_command_keep_said(struct shell_command_result *result,
				    const char *bytes, size_t len)
{
	size_t at = strlen(result->said);

	for (size_t i = 0; i < len && at < SHELL_COMMAND_SAID - 1; i++) {
		unsigned char c = (unsigned char)bytes[i];

		/* its last line's end is none in a message */
		if (c == '\n' && (i + 1 == len || !at))
			continue;
		result->said[at++] = (char)(c < ' ' || c == 127 ? ' ' : c);
	}
	result->said[at] = '\0';
}

/* Reads of its errors what is there, so that it never waits for that. */
static void shell_command_read_errors(struct running *r)
{
	char bytes[512];
	ssize_t n;

	if (r->errors < 0)
		return;
	n = read(r->errors, bytes, sizeof(bytes));
	if (n > 0)
		shell_command_keep_said(r->result, bytes, (size_t)n);
	if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
		return;
	close(r->errors);
	r->errors = -1;
}

/* Waits for bytes from a descriptor (-1: none), for so long at most; false: it
 * must be ended. */
static bool shell_command_wait(struct running *r, int from, int most_ms)
{
	struct pollfd fds[] = {
		{.fd = from, .events = POLLIN},
		{.fd = r->limits->cancel, .events = POLLIN},
		{.fd = r->errors, .events = POLLIN},
	};
	int64_t left_ms = r->end_ms - shell_command_now_ms();
	int n;

	if (left_ms <= 0)
		return shell_command_fail(r->result, "did not end within %d s",
					  r->limits->most_ms / 1000);
	n = poll(fds, 3, left_ms < most_ms ? (int)left_ms : most_ms);
	if (n < 0 && errno != EINTR)
		return shell_command_fail(r->result, "%s", strerror(errno));
	if (n > 0 && fds[2].revents)
		shell_command_read_errors(r);
	if (n > 0 && fds[1].revents)
		return shell_command_fail(r->result, "was ended");
	return true;
}

/* Reads to the end; false: it must be ended. */
static bool shell_command_read(struct running *r)
{
	struct shell_command_result *result = r->result;
	ssize_t n;

	do {
		if (!shell_command_wait(r, r->from, r->limits->most_ms) ||
		    !shell_command_make_room(r))
			return false;
		n = read(r->from, result->text + result->len,
			 r->room - result->len - 1);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return shell_command_fail(result, "%s",
						  strerror(errno));
		result->len += n > 0 ? (size_t)n : 0;
		if (result->len > r->limits->most_bytes)
			return shell_command_fail(result,
						  "prints more than %zu "
						  "bytes",
						  r->limits->most_bytes);
	} while (n);
	result->text[result->len] = '\0';
	return true;
}

/* Waits for the end of a process that has closed its output, and leaves it to
 * be collected, so that its group keeps its number; false: it must be ended. */
static bool shell_command_wait_end(struct running *r)
{
	siginfo_t info = {.si_pid = 0};

	while (!waitid(P_PID, (id_t)r->pid, &info,
		       WEXITED | WNOHANG | WNOWAIT) && !info.si_pid) {
		if (!shell_command_wait(r, -1, PAUSE_MS))
			return false;
	}
	return true;
}

static void shell_command_judge(struct shell_command_result *result, int status)
{
	if (WIFSIGNALED(status))
		shell_command_fail(result, "ended by signal %d",
				   WTERMSIG(status));
	else if (WEXITSTATUS(status))
		shell_command_fail(result, "ended with status %d",
				   WEXITSTATUS(status));
}

/* Reads all of it, and ends what is left of its group: one that is run again
 * and again must not leave more and more behind. */
static void shell_command_finish(struct running *r)
{
	bool well = shell_command_read(r) && shell_command_wait_end(r);
	int status = 0; /* and stays it where SIGCHLD is ignored: not known */

	kill(-r->pid, SIGKILL);
	waitpid(r->pid, &status, 0);
	if (well)
		shell_command_judge(r->result, status);
}

void shell_command_run(const char *command,
		       const struct shell_command_limits *limits,
		       struct shell_command_result *result)
{
	struct running r = {.limits = limits, .result = result};
	int ends[2], errors[2], err;

	assert(limits->most_ms > 0 && limits->most_bytes > 0);
	*result = (struct shell_command_result){.text = NULL};
	r.end_ms = shell_command_now_ms() + limits->most_ms;
	if (pipe2(ends, O_CLOEXEC)) {
		shell_command_fail(result, "%s", strerror(errno));
		return;
	}
	if (pipe2(errors, O_CLOEXEC)) {
		shell_command_fail(result, "%s", strerror(errno));
		close(ends[0]);
		close(ends[1]);
		return;
	}
	r.from = ends[0];
	r.errors = errors[0];
	/* poll() has the deadline */
	(void)fcntl(r.from, F_SETFL, O_NONBLOCK);
	(void)fcntl(r.errors, F_SETFL, O_NONBLOCK);
	err = shell_command_spawn(&r.pid, command, ends[1], errors[1]);
	close(ends[1]);
	close(errors[1]);
	if (err)
		shell_command_fail(result, "%s", strerror(err));
	else
		shell_command_finish(&r);
	shell_command_read_errors(&r); /* its last words */
	close(ends[0]);
	if (r.errors >= 0)
		close(r.errors);
}
