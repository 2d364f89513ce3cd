/*
 * Replacing a process: spawning, and the channel. A message is a line of text
 * in a packet of its own, beginning with the version of all this.
 */
#define _GNU_SOURCE /* environ */
#include "digestd/os/handover.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/child_signals.h"
#include "digestd/os/listen_given.h"

enum {
	HANDOVER_VERSION = 1,
	HANDOVER_BYTES = 128, /* of a message */
	HANDOVER_VARIABLE = 40,
};

static const char *const handover_names[] = {
	[HANDOVER_DISK] = "disk",
	[HANDOVER_SERVES] = "serves",
	[HANDOVER_PURGE] = "purge",
};

enum { HANDOVER_KINDS = sizeof(handover_names) / sizeof(handover_names[0]) };

/* Starting */

static bool handover_is_variable(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(entry, name, len) && entry[len] == '=';
}

static bool handover_is_replaced(const char *entry)
{
	static const char *const names[] = { "LISTEN_FDS", "LISTEN_PID",
					     "LISTEN_FDNAMES",
					     "DIGESTD_HANDOVER" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (handover_is_variable(entry, names[i]))
			return true;
	}
	return false;
}

/* "LISTEN_FDNAMES=data::"; null: no memory. */
static char *handover_names_of(const struct handover_socket *sockets,
			       unsigned n)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	fputs("LISTEN_FDNAMES=", to);
	for (unsigned i = 0; i < n; i++)
		fprintf(to, "%s%s", i ? ":" : "", sockets[i].name);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* This environment, with three other variables; its array is to be freed. */
static char **handover_environment(char *sockets, char *names, char *channel)
{
	size_t n = 0, kept = 0;
	char **to;

	while (environ[n])
		n++;
	to = calloc(n + 4, sizeof(*to));
	for (size_t i = 0; to && i < n; i++) {
		if (!handover_is_replaced(environ[i]))
			to[kept++] = environ[i];
	}
	if (to) {
		to[kept++] = sockets;
		to[kept++] = names;
		to[kept] = channel;
	}
	return to;
}

/* The descriptors, in their order, become 3 and the next ones there; none of
 * them is one of those before. */
static int handover_spawn(char *const argv[], char **environment,
			  const int *fds, unsigned n, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int err = posix_spawn_file_actions_init(&files);

	if (err)
		return err;
	err = posix_spawnattr_init(&attributes);
	if (!err) {
		err = child_signals_reset(&attributes, 0);
		for (unsigned i = 0; i < n && !err; i++)
			err = posix_spawn_file_actions_adddup2(
				&files, fds[i], LISTEN_GIVEN_FIRST + (int)i);
		if (!err)
			err = posix_spawnp(pid, argv[0], &files, &attributes,
					   argv, environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return err;
}

/* Copies of descriptors at numbers above those that they will have. Returns how
 * many there are. */
static unsigned handover_copy(const struct handover_socket *sockets, unsigned n,
			      int channel, int *to)
{
	int above = LISTEN_GIVEN_FIRST + (int)n + 1;
	unsigned i;

	for (i = 0; i <= n; i++) {
		to[i] = fcntl(i < n ? sockets[i].fd : channel,
			      F_DUPFD_CLOEXEC, above);
		if (to[i] < 0)
			break;
	}
	return i;
}

static int handover_start_with(char *const argv[],
			       const struct handover_socket *sockets,
			       unsigned n, struct handover_successor *out,
			       int theirs)
{
	char given[HANDOVER_VARIABLE], channel[HANDOVER_VARIABLE];
	char *names = handover_names_of(sockets, n);
	char **environment = names ?
			handover_environment(given, names, channel) : NULL;
	int *fds = calloc(n + 1, sizeof(*fds));
	unsigned copied = fds ? handover_copy(sockets, n, theirs, fds) : 0;
	int err = copied == n + 1 && environment ? 0 : ENOMEM;

	snprintf(given, sizeof(given), "LISTEN_FDS=%u", n);
	snprintf(channel, sizeof(channel), "DIGESTD_HANDOVER=%u",
		 LISTEN_GIVEN_FIRST + n);
	if (!err)
		err = handover_spawn(argv, environment, fds, n + 1, &out->pid);
	while (copied)
		close(fds[--copied]);
	free(fds);
	free(environment);
	free(names);
	return -err;
}

int handover_start(char *const argv[], const struct handover_socket *sockets,
		   unsigned n, struct handover_successor *out)
{
	int ends[2], err;

	assert(argv[0] && n <= LISTEN_GIVEN_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = handover_start_with(argv, sockets, n, out, ends[1]);
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		out->channel = ends[0];
	return err;
}

int handover_channel(void)
{
	const char *text = getenv("DIGESTD_HANDOVER");
	int fd = text ? atoi(text) : -1;

	unsetenv("DIGESTD_HANDOVER");
	if (fd < LISTEN_GIVEN_FIRST || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -1;
	return fd;
}

/* Messages */

/* Waits for room in the channel, which ends where none comes: its reader hangs,
 * and may not have this process hang too. Returns 0 or a negative errno. */
static int handover_await_room(int channel)
{
	struct pollfd ready = { .fd = channel, .events = POLLOUT };
	int n;

	do
		n = poll(&ready, 1, HANDOVER_SEND_MS);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return 0;
	shutdown(channel, SHUT_RDWR);
	return n ? -errno : -ETIMEDOUT;
}

int handover_send(int channel, const struct handover_message *m)
{
	char text[HANDOVER_BYTES];
	int len = snprintf(text, sizeof(text),
			   "%u %s %u %u %016" PRIx64 " %016" PRIx64,
			   HANDOVER_VERSION, handover_names[m->kind],
			   m->of.kind, m->of.len, m->of.hash.hi, m->of.hash.lo);
	int err = 0;

	while (!err && send(channel, text, (size_t)len,
			    MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno == EAGAIN)
			err = handover_await_room(channel);
		else if (errno != EINTR)
			err = errno == ECONNRESET ? -EPIPE : -errno;
	}
	return err;
}

static int handover_parse(const char *text, struct handover_message *out)
{
	unsigned version, kind, len;
	char name[16];

	if (sscanf(text, "%u %15s %u %u %" SCNx64 " %" SCNx64, &version, name,
		   &kind, &len, &out->of.hash.hi, &out->of.hash.lo) != 6 ||
	    version != HANDOVER_VERSION || kind >= INVALIDATION_KINDS ||
	    len > INVALIDATION_PREFIX_MAX)
		return -EPROTO;
	out->of.kind = (uint8_t)kind;
	out->of.len = (uint16_t)len;
	for (unsigned i = 0; i < HANDOVER_KINDS; i++) {
		if (!strcmp(name, handover_names[i])) {
			out->kind = (enum handover_kind)i;
			return 0;
		}
	}
	return -EPROTO;
}

int handover_receive(int channel, struct handover_message *out)
{
	char text[HANDOVER_BYTES];
	ssize_t len;

	do
		len = recv(channel, text, sizeof(text) - 1, MSG_DONTWAIT);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (!len)
		return -EPIPE;
	text[len] = '\0';
	return handover_parse(text, out);
}

int handover_wait(int channel, int ms, struct handover_message *out)
{
	struct pollfd ready = { .fd = channel, .events = POLLIN };
	int n;

	do
		n = poll(&ready, 1, ms);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? handover_receive(channel, out) : -ETIMEDOUT;
}
