/*
 * What starts processes, or is shared with them, when the system refuses: each
 * call fails once, and each allocation. The error is told, nothing is left
 * behind, and the next attempt succeeds.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/os/handover.h"
#include "digestd/os/handover_purges.h"
#include "digestd/os/listen_local.h"
#include "digestd/os/shell_command.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { ERROR = ENOBUFS };

static char folder[] = "/tmp/scd-process-XXXXXX";
static char path[64];
static int ends[2]; /* of a channel */

/* clang-format off */
CALL_WRAPPER(int, pipe2, (int a[2], int b), (a, b), -1)
CALL_WRAPPER(int, socketpair, (int a, int b, int c, int d[2]), (a, b, c, d), -1)
CALL_WRAPPER(int, poll, (struct pollfd *a, nfds_t b, int c), (a, b, c), -1)
CALL_WRAPPER(int, chmod, (const char *a, mode_t b), (a, b), -1)
CALL_WRAPPER(int, fchmod, (int a, mode_t b), (a, b), -1)
CALL_WRAPPER(int, lstat, (const char *a, struct stat *b), (a, b), -1)
CALL_WRAPPER(int, unlink, (const char *a), (a), -1)
CALL_WRAPPER(FILE *, open_memstream, (char **a, size_t *b), (a, b), NULL)
CALL_WRAPPER(int, posix_spawn_file_actions_init, (posix_spawn_file_actions_t *a),
	     (a), call_error())
CALL_WRAPPER(int, posix_spawn_file_actions_addopen,
	     (posix_spawn_file_actions_t *a, int b, const char *c, int d, mode_t e),
	     (a, b, c, d, e), call_error())
CALL_WRAPPER(int, posix_spawn_file_actions_adddup2,
	     (posix_spawn_file_actions_t *a, int b, int c), (a, b, c), call_error())
CALL_WRAPPER(int, posix_spawnattr_init, (posix_spawnattr_t *a), (a), call_error())
CALL_WRAPPER(int, posix_spawnattr_setpgroup, (posix_spawnattr_t *a, pid_t b),
	     (a, b), call_error())
CALL_WRAPPER(int, posix_spawnattr_setsigmask,
	     (posix_spawnattr_t *a, const sigset_t *b), (a, b), call_error())
CALL_WRAPPER(int, posix_spawnattr_setsigdefault,
	     (posix_spawnattr_t *a, const sigset_t *b), (a, b), call_error())
CALL_WRAPPER(int, posix_spawn,
	     (pid_t *a, const char *b, const posix_spawn_file_actions_t *c,
	      const posix_spawnattr_t *d, char *const e[], char *const f[]),
	     (a, b, c, d, e, f), call_error())
CALL_WRAPPER(int, posix_spawnp,
	     (pid_t *a, const char *b, const posix_spawn_file_actions_t *c,
	      const posix_spawnattr_t *d, char *const e[], char *const f[]),
	     (a, b, c, d, e, f), call_error())
/* clang-format on */

static void none_fails(void)
{
	call_fail_at("", 0, 0);
	alloc_fail_at(0);
}

static int start_successor(void)
{
	char program[] = "true";
	char *const argv[] = { program, NULL };
	const struct handover_socket sockets[] = { { ends[0], "data" },
						   { ends[1], "" } };
	struct handover_successor s;
	int status, err = handover_start(argv, sockets, 2, &s);

	if (err)
		return err;
	assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
	assert_int_equal(status, 0);
	close(s.channel);
	return 0;
}

static int keep_purges(void)
{
	const struct handover_message disk = { .kind = HANDOVER_DISK };
	const struct handover_message purge = { .kind = HANDOVER_PURGE };
	struct handover_purges *p = NULL;
	struct handover_message m;
	int err;

	assert_int_equal(handover_send(ends[0], &purge), 0);
	assert_int_equal(handover_send(ends[0], &disk), 0);
	err = handover_purges_new(ends[1], 1000, &p);
	if (!err)
		err = handover_purges_end(&p, NULL, NULL);
	assert_null(p);
	while (!handover_receive(ends[1], &m))
		; /* what one that failed has not read */
	return err;
}

/* The error of a command, from its words. */
static int run_command(void)
{
	const struct shell_command_limits limits = { 20000, 100000, -1 };
	struct shell_command_result result;
	int err = 0;

	shell_command_run("echo out; echo err >&2", &limits, &result);
	none_fails();
	if (!strcmp(result.fault, "out of memory"))
		err = -ENOMEM;
	else if (*result.fault)
		err = strcmp(result.fault, strerror(ERROR)) ? -EPROTO : -ERROR;
	else
		assert_string_equal(result.text, "out\n");
	free(result.text);
	return err;
}

static int listen_locally(void)
{
	struct listen_local l;
	int err = listen_local_open(path, &l);

	assert_true(err ? l.fd == -1 : l.fd >= 0);
	none_fails();
	listen_local_close(&l, path);
	assert_int_equal(access(path, F_OK), -1);
	return err;
}

/* Its file only; by none of the calls that fail. */
static void leave_a_socket(void)
{
	assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
}

/* In the place of a socket whose process has died. */
static int listen_at_what_was_left(void)
{
	struct listen_local l;
	int err;

	leave_a_socket();
	err = listen_local_open(path, &l);
	none_fails();
	listen_local_close(&l, path);
	unlink(path);
	return err;
}

static const struct {
	const char *label;
	int (*step)(void);
	int without_memory; /* 0: it takes none of its own */
	const char *calls[12];
} rows[] = {
	{ "a successor", start_successor, -ENOMEM,
	  { "socketpair", "posix_spawn_file_actions_init",
	    "posix_spawnattr_init", "posix_spawnattr_setsigmask",
	    "posix_spawnattr_setsigdefault", "posix_spawn_file_actions_adddup2",
	    "posix_spawnp" } },
	{ "purges while a process starts", keep_purges, -ENOMEM,
	  { "eventfd", "pthread_create" } },
	{ "a command", run_command, -ENOMEM,
	  { "pipe2", "posix_spawn_file_actions_init", "posix_spawnattr_init",
	    "posix_spawnattr_setpgroup", "posix_spawnattr_setsigmask",
	    "posix_spawnattr_setsigdefault", "posix_spawn_file_actions_addopen",
	    "posix_spawn_file_actions_adddup2", "posix_spawn" } },
	{ "a local listener", listen_locally, 0,
	  { "open", "socket", "fchmod", "bind", "chmod", "listen", "lstat" } },
	{ "one in the place of another", listen_at_what_was_left, 0,
	  { "unlink", "connect" } },
};

static void calls_that_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		unsigned before = call_descriptors();

		for (const char *const *call = rows[i].calls; *call; call++) {
			unsigned n = 0;
			bool failed;
			int err;

			do {
				call_fail_at(*call, ++n, ERROR);
				err = rows[i].step();
				failed = err != 0;
				if (failed && err != -ERROR)
					fail_msg("%s: %s %u: %d", rows[i].label,
						 *call, n, err);
			} while (failed);
			none_fails();
			if (n == 1)
				fail_msg("%s: %s", rows[i].label, *call);
			assert_int_equal(call_descriptors(), before);
		}
	}
}

static void allocations_that_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		unsigned before = call_descriptors(), n = 0;
		int err;

		do {
			alloc_fail_at(++n);
			err = rows[i].step();
			none_fails();
			if (err)
				assert_int_equal(err, rows[i].without_memory);
		} while (err);
		assert_int_equal(n > 1, rows[i].without_memory != 0);
		assert_int_equal(call_descriptors(), before);
	}
	/* what C libraries take may be taken elsewhere */
	call_fail_at("open_memstream", 1, ENOMEM);
	assert_int_equal(start_successor(), -ENOMEM);
	call_fail_at("fclose", 1, ENOSPC);
	assert_int_equal(start_successor(), -ENOMEM);
	none_fails();
}

/* A signal is no failure, nor a folder that cannot be locked. */
static void what_is_no_failure(void **state)
{
	static const struct {
		int (*step)(void);
		const char *call;
		int error;
	} cases[] = {
		{ keep_purges, "recv", EINTR },
		{ keep_purges, "poll", EINTR },
		{ run_command, "poll", EINTR },
		{ run_command, "read", EINTR },
		{ run_command, "read", EAGAIN },
		{ listen_locally, "flock", ENOLCK },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		call_fail_at(cases[i].call, 1, cases[i].error);
		assert_int_equal(cases[i].step(), 0);
		none_fails();
	}
}

/* A command whose output cannot be read or waited for has not succeeded. */
static void output_that_cannot_be_read(void **state)
{
	static const char *const calls[] = { "read", "poll" };

	(void)state;
	for (size_t i = 0; i < NROWS(calls); i++) {
		bool failed = false;

		/* which of the first ones is of its output depends on when it
		 * writes, and its errors beside it */
		for (unsigned n = 0; n < 100 && !failed; n++) {
			call_fail_at(calls[i], 1 + n % 4, ERROR);
			failed = run_command() == -ERROR;
		}
		assert_true(failed);
	}
}

/* Who has died says so by its end of the channel, in one way or another. */
static void channel_that_is_reset(void **state)
{
	const struct handover_message m = { .kind = HANDOVER_SERVES };
	struct handover_message got;

	(void)state;
	call_fail_at("recv", 1, ECONNRESET);
	assert_int_equal(handover_receive(ends[1], &got), -EPIPE);
	call_fail_at("recv", 1, EBADF);
	assert_int_equal(handover_receive(ends[1], &got), -EBADF);
	call_fail_at("poll", 1, ERROR);
	assert_int_equal(handover_wait(ends[1], 1000, &got), -ERROR);
	call_fail_at("send", 1, ECONNRESET);
	assert_int_equal(handover_send(ends[0], &m), -EPIPE);
	call_fail_at("send", 1, EBADF);
	assert_int_equal(handover_send(ends[0], &m), -EBADF);
	none_fails();
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int open_channel(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
}

static int close_channel(void **state)
{
	(void)state;
	none_fails();
	close(ends[0]);
	close(ends[1]);
	return 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_channel, close_channel)
	const struct CMUnitTest tests[] = {
		TEST(calls_that_fail),
		TEST(allocations_that_fail),
		TEST(what_is_no_failure),
		TEST(output_that_cannot_be_read),
		TEST(channel_that_is_reset),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
