/*
 * Handing over to another process: sockets that are given, and messages.
 */
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/os/handover.h"
#include "digestd/os/handover_purges.h"
#include "digestd/os/listen.h"
#include "digestd/os/listen_given.h"

/* Sockets */

enum { ALONE, JOINED };

/* A socket that listens on loopback; JOINED: others may share its port. */
static int listening(int how)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = how == JOINED;

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes,
				    sizeof(yes)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static struct sockaddr_in address_of(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return at;
}

/* What a process is given, without its environment. */
static struct listen_given given_of(const int *fds, const char *const *names,
				    unsigned n)
{
	struct listen_given g = { calloc(n, sizeof(*g.at)), n };

	assert_non_null(g.at);
	for (unsigned i = 0; i < n; i++) {
		g.at[i].fd = fds[i];
		if (names)
			strcpy(g.at[i].name, names[i]);
	}
	return g;
}

/* The port of what a worker gets; 0: nothing. */
static unsigned port_for(struct listen_given *g, const char *listener,
			 const struct sockaddr_in *at, unsigned worker)
{
	int fd = listen_given_share(g, listener, (const struct sockaddr *)at,
				    worker);
	unsigned port = fd < 0 ? 0 : listen_port(fd);

	if (fd < 0)
		assert_int_equal(fd, -ENOENT);
	else
		close(fd);
	return port;
}

static void is_found_by_its_address(void **state)
{
	const int fds[] = {listening(ALONE), listening(ALONE)};
	struct listen_given g = given_of(fds, NULL, 2);
	struct sockaddr_in at = address_of(fds[1]), other = at;

	(void)state;
	assert_int_equal(port_for(&g, "data", &at, 0), ntohs(at.sin_port));
	assert_int_equal(port_for(&g, "data", &at, 7), ntohs(at.sin_port));
	assert_ptr_equal(listen_given_unused(&g), &g.at[0]);
	other.sin_addr.s_addr = htonl(INADDR_ANY);
	assert_int_equal(port_for(&g, "data", &other, 0), 0);
	other = at;
	other.sin_port ^= 1;
	assert_int_equal(port_for(&g, "data", &other, 0), 0);
	listen_given_free(&g);
	assert_int_equal(g.n, 0);
}

static void is_found_by_its_name(void **state)
{
	static const char *const names[] = {"peer", "data"};
	const int fds[] = {listening(ALONE), listening(ALONE)};
	struct listen_given g = given_of(fds, names, 2);
	struct sockaddr_in peer = address_of(fds[0]);

	(void)state;
	assert_int_equal(port_for(&g, "data", &peer, 0),
			 listen_port(fds[1]));
	assert_int_equal(port_for(&g, "peer", &peer, 0), listen_port(fds[0]));
	assert_int_equal(port_for(&g, "admin", &peer, 0), 0);
	assert_null(listen_given_unused(&g));
	listen_given_free(&g);
}

/* Each has a socket of its own; further ones join where they may. */
static void is_each_workers_own(void **state)
{
	static const char *const names[] = {"data", "peer", "data"};
	const int fds[] = {listening(JOINED), listening(JOINED),
			   listening(JOINED)};
	struct listen_given g = given_of(fds, names, 3);
	struct sockaddr_in at = address_of(fds[0]);

	(void)state;
	assert_int_equal(port_for(&g, "data", &at, 0), listen_port(fds[0]));
	assert_int_equal(port_for(&g, "data", &at, 1), listen_port(fds[2]));
	assert_int_equal(port_for(&g, "data", &at, 2), 0);
	assert_int_equal(listen_given_count(&g, "data",
					    (struct sockaddr *)&at), 2);
	listen_given_free(&g);
}

/* Who gives them keeps them open, and says so to the next process. */
static void name_is_handed_on(void **state)
{
	static const struct {
		const char *name, *listener, *handed_on;
	} cases[] = {
		{ "data", "data", "data" },
		{ "data", "peer", "" },
		{ "digestd.socket", "data", LISTEN_MANAGED },
		{ LISTEN_MANAGED, "peer", LISTEN_MANAGED },
		{ "", "data", "" },
	};
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct listen_given_socket one = { .fd = listening(ALONE) };
	const struct listen_given g = { &one, 1 };

	(void)state;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.sin_port = htons((uint16_t)listen_port(one.fd));
	for (size_t i = 0; i < NROWS(cases); i++) {
		strcpy(one.name, cases[i].name);
		assert_string_equal(
			listen_given_name(&g, cases[i].listener,
					  (struct sockaddr *)&at),
			cases[i].handed_on);
	}
	close(one.fd);
}

/* What is taken when descriptor 3 is `first` (-1: closed) and 4 is closed: how
 * many, of which the first is called "data", or a negative errno. */
static int taken_there(const char *fds, const char *names, int first)
{
	enum { ABOVE = 100, MOVED = 2 };
	struct listen_given g;
	int kept[MOVED], err;

	for (int i = 0; i < MOVED; i++)
		kept[i] = fcntl(LISTEN_GIVEN_FIRST + i, F_DUPFD_CLOEXEC, ABOVE);
	if (first >= 0)
		dup2(first, LISTEN_GIVEN_FIRST);
	else
		close(LISTEN_GIVEN_FIRST);
	close(LISTEN_GIVEN_FIRST + 1);
	setenv("LISTEN_FDS", fds, 1);
	setenv("LISTEN_FDNAMES", names, 1);
	err = listen_given_take(true, &g);
	assert_null(getenv("LISTEN_FDS"));
	assert_null(getenv("LISTEN_FDNAMES"));
	assert_true(!err || !g.n);
	if (!err && g.n) {
		assert_string_equal(g.at[0].name, "data");
		assert_int_equal(fcntl(g.at[0].fd, F_GETFD), FD_CLOEXEC);
		assert_true(fcntl(g.at[0].fd, F_GETFL) & O_NONBLOCK);
		err = (int)g.n;
	}
	listen_given_free(&g);
	for (int i = 0; i < MOVED; i++) {
		if (kept[i] < 0)
			continue;
		dup2(kept[i], LISTEN_GIVEN_FIRST + i);
		close(kept[i]);
	}
	return err;
}

static void is_taken_from_the_environment(void **state)
{
	int fd = listening(ALONE), file = open("/dev/null", O_RDONLY);
	int plain = socket(AF_INET, SOCK_STREAM, 0);
	int datagrams = socket(AF_INET, SOCK_DGRAM, 0);

	(void)state;
	assert_int_equal(taken_there("1", "data", fd), 1);
	assert_int_equal(taken_there("1", "data:peer", fd), 1);
	assert_int_equal(taken_there("0", "", fd), 0);
	assert_int_equal(taken_there("2", "data:peer", fd), -EINVAL);
	assert_int_equal(taken_there("1", "data", file), -EINVAL);
	assert_int_equal(taken_there("1", "data", plain), -EINVAL);
	assert_int_equal(taken_there("1", "data", datagrams), -EINVAL);
	assert_int_equal(taken_there("1", "data", -1), -EINVAL);
	assert_int_equal(taken_there("1x", "data", fd), -EINVAL);
	assert_int_equal(taken_there("-1", "data", fd), -EINVAL);
	assert_int_equal(taken_there("4097", "data", fd), -EINVAL);
	assert_int_equal(taken_there("", "data", fd), -EINVAL);
	close(datagrams);
	close(plain);
	close(file);
	close(fd);
}

static void is_not_taken_from_others(void **state)
{
	struct listen_given g;

	(void)state;
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_PID", "1", 1);
	assert_int_equal(listen_given_take(false, &g), 0);
	assert_int_equal(g.n, 0);
	assert_null(getenv("LISTEN_PID"));
	listen_given_free(&g);
}

/* What a service manager gives has a name, whether it says one or not: so that
 * the process after this one knows it from its own. */
static void managers_sockets_have_names(void **state)
{
	static const struct {
		const char *given, *name;
	} cases[] = {
		{ "data", "data" },
		{ "", LISTEN_MANAGED },
		{ ":peer", LISTEN_MANAGED },
		{ NULL, LISTEN_MANAGED },
		{ "a-name-of-more-bytes-than-are-kept:peer",
		  "a-name-of-more-bytes-than-are-k" },
	};
	int kept = fcntl(LISTEN_GIVEN_FIRST, F_DUPFD_CLOEXEC, 100);
	char pid[16];

	(void)state;
	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	for (size_t i = 0; i < NROWS(cases); i++) {
		int fd = listening(ALONE);
		struct listen_given g;

		dup2(fd, LISTEN_GIVEN_FIRST);
		setenv("LISTEN_FDS", "1", 1);
		setenv("LISTEN_PID", pid, 1);
		if (cases[i].given)
			setenv("LISTEN_FDNAMES", cases[i].given, 1);
		assert_int_equal(listen_given_take(false, &g), 0);
		assert_int_equal(g.n, 1);
		assert_string_equal(g.at[0].name, cases[i].name);
		listen_given_free(&g);
		if (fd != LISTEN_GIVEN_FIRST)
			close(fd);
	}
	if (kept >= 0) {
		dup2(kept, LISTEN_GIVEN_FIRST);
		close(kept);
	}
}

/* As IPv4 ones are; the same port of another family is another address. */
static void is_found_by_its_address_of_ipv6(void **state)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr *to = (const struct sockaddr *)&at;
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET6, SOCK_STREAM, 0), mine;
	struct listen_given g;

	(void)state;
	if (fd < 0 || bind(fd, to, sizeof(at)))
		skip(); /* a machine without IPv6 */
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	g = given_of(&fd, NULL, 1);
	assert_int_equal(listen_given_count(&g, "data", to), 1);
	mine = listen_given_share(&g, "data", to, 0);
	assert_true(mine >= 0);
	close(mine);
	at.sin6_addr.s6_addr[15] ^= 1;
	assert_int_equal(listen_given_count(&g, "data", to), 0);
	at.sin6_addr.s6_addr[15] ^= 1;
	at.sin6_port ^= 1;
	assert_int_equal(listen_given_count(&g, "data", to), 0);
	at.sin6_family = AF_INET;
	assert_int_equal(listen_given_count(&g, "data", to), 0);
	listen_given_free(&g);
}

/* Messages */

static void goes_there_and_back(void **state)
{
	static const struct handover_message all[] = {
		{ .kind = HANDOVER_DISK },
		{ .kind = HANDOVER_SERVES },
		{ HANDOVER_PURGE, {{ 1, UINT64_MAX }, 0, INVALIDATION_KEY} },
		{ HANDOVER_PURGE,
		  {{ 1ull << 63, 0 }, INVALIDATION_PREFIX_MAX,
		   INVALIDATION_PREFIX} },
	};
	struct handover_message m;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(handover_send(ends[0], &all[i]), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(handover_wait(ends[1], 1000, &m), 0);
		assert_int_equal(m.kind, all[i].kind);
		assert_int_equal(m.of.kind, all[i].of.kind);
		assert_int_equal(m.of.len, all[i].of.len);
		assert_memory_equal(&m.of.hash, &all[i].of.hash,
				    sizeof(m.of.hash));
	}
	assert_int_equal(handover_receive(ends[1], &m), -EAGAIN);
	assert_int_equal(handover_wait(ends[1], 1, &m), -ETIMEDOUT);
	close(ends[0]);
	assert_int_equal(handover_receive(ends[1], &m), -EPIPE);
	assert_int_equal(handover_send(ends[1], &all[0]), -EPIPE);
	close(ends[1]);
}

static void what_is_no_message_is_refused(void **state)
{
	static const char *const bad[] = {
		"x", "2 disk 0 0 0 0", "1 disk 0 0 0", "1 tea 0 0 0 0",
		"1 purge 4 0 0 0", "1 purge 2 8193 0 0",
		"1 aaaaaaaaaaaaaaaaaaaaaaaaaaa 0 0 0 0",
	};
	struct handover_message m;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(send(ends[0], bad[i], strlen(bad[i]), 0) > 0);
		assert_int_equal(handover_receive(ends[1], &m), -EPROTO);
	}
	close(ends[0]);
	close(ends[1]);
}

/* Who reads nothing is not waited for for ever: the channel ends. */
static void who_hangs_is_left(void **state)
{
	const struct handover_message m = { .kind = HANDOVER_PURGE };
	struct handover_message got;
	unsigned sent = 0, received = 0;
	int ends[2], err;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	alarm(60);
	while (!(err = handover_send(ends[0], &m)))
		sent++;
	alarm(0);
	assert_int_equal(err, -ETIMEDOUT);
	assert_int_equal(handover_send(ends[0], &m), -EPIPE);
	while (!(err = handover_receive(ends[1], &got)))
		received++;
	assert_int_equal(err, -EPIPE);
	assert_int_equal(received, sent);
	close(ends[0]);
	close(ends[1]);
}

/* Purges while a process starts */

enum { PURGES = 2000 }; /* more than a channel has room for */

static void purge_send(int channel, uint64_t n)
{
	const struct handover_message m = {
		HANDOVER_PURGE, {{ n, 0 }, 0, INVALIDATION_KEY}
	};

	assert_int_equal(handover_send(channel, &m), 0);
}

static void purge_expect_next(void *arg, const struct invalidation *of)
{
	uint64_t *n = arg;

	assert_int_equal(of->kind, INVALIDATION_KEY);
	assert_int_equal(of->hash.lo, (*n)++);
}

/* Also before the disk is left, in the middle of which others purge. */
static void purges_are_kept(void **state)
{
	const struct handover_message disk = { .kind = HANDOVER_DISK };
	struct handover_purges *p;
	struct handover_message m;
	uint64_t n = 0;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	for (uint64_t i = 0; i < 3; i++)
		purge_send(ends[0], i);
	assert_int_equal(handover_send(ends[0], &disk), 0);
	assert_int_equal(handover_purges_new(ends[1], 1000, &p), 0);
	for (uint64_t i = 3; i < PURGES; i++)
		purge_send(ends[0], i);
	assert_int_equal(handover_purges_end(&p, purge_expect_next, &n), 0);
	assert_null(p);
	while (!handover_receive(ends[1], &m))
		purge_expect_next(&n, &m.of);
	assert_int_equal(n, PURGES);
	close(ends[0]);
	close(ends[1]);
}

static void purges_end(void **state)
{
	const struct handover_message disk = { .kind = HANDOVER_DISK };
	const struct handover_message serves = { .kind = HANDOVER_SERVES };
	struct handover_purges *p = NULL;
	int ends[2];

	(void)state;
	assert_int_equal(handover_purges_end(&p, NULL, NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(handover_purges_new(ends[1], 1, &p), -ETIMEDOUT);
	assert_int_equal(handover_send(ends[0], &serves), 0);
	assert_int_equal(handover_purges_new(ends[1], 1000, &p), -EPROTO);
	assert_int_equal(handover_send(ends[0], &disk), 0);
	assert_int_equal(handover_purges_new(ends[1], 1000, &p), 0);
	assert_int_equal(handover_purges_end(&p, NULL, NULL), 0);
	close(ends[0]);
	assert_int_equal(handover_purges_new(ends[1], 1000, &p), -EPIPE);
	close(ends[1]);
}

/* The program finds the sockets and the channel where it is told. */
static void successor_has_what_it_needs(void **state)
{
	char script[] = "test \"$LISTEN_FDS $DIGESTD_HANDOVER\" = '2 5' && "
			"test \"$LISTEN_FDNAMES\" = data: && "
			"test -z \"$LISTEN_PID\" && "
			"test -S /proc/self/fd/3 && "
			"test -S /proc/self/fd/4 && "
			"test -S /proc/self/fd/5 && ! test -e /proc/self/fd/6";
	char sh[] = "sh", flag[] = "-c";
	char *const argv[] = {sh, flag, script, NULL};
	const struct handover_socket sockets[] = {
		{ listening(ALONE), "data" }, { listening(ALONE), "" },
	};
	struct handover_successor s;
	struct handover_message m;
	int status;

	(void)state;
	setenv("LISTEN_PID", "1", 1);
	assert_int_equal(handover_start(argv, sockets, 2, &s), 0);
	unsetenv("LISTEN_PID");
	assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
	assert_int_equal(status, 0);
	assert_int_equal(handover_wait(s.channel, 1000, &m), -EPIPE);
	close(s.channel);
	close(sockets[0].fd);
	close(sockets[1].fd);
}

static void who_is_not_there_is_not_started(void **state)
{
	char name[] = "/nonexistent";
	char *const argv[] = {name, NULL};
	struct handover_successor s;

	(void)state;
	assert_int_equal(handover_start(argv, NULL, 0, &s), -ENOENT);
}

static void channel_is_that_of_the_environment(void **state)
{
	char number[16];
	int fd = open("/dev/null", O_RDONLY);

	(void)state;
	assert_int_equal(handover_channel(), -1);
	snprintf(number, sizeof(number), "%d", fd);
	setenv("DIGESTD_HANDOVER", number, 1);
	assert_int_equal(handover_channel(), fd);
	assert_null(getenv("DIGESTD_HANDOVER"));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	setenv("DIGESTD_HANDOVER", number, 1);
	assert_int_equal(handover_channel(), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_found_by_its_address),
		cmocka_unit_test(is_found_by_its_name),
		cmocka_unit_test(is_each_workers_own),
		cmocka_unit_test(name_is_handed_on),
		cmocka_unit_test(is_taken_from_the_environment),
		cmocka_unit_test(is_not_taken_from_others),
		cmocka_unit_test(managers_sockets_have_names),
		cmocka_unit_test(is_found_by_its_address_of_ipv6),
		cmocka_unit_test(goes_there_and_back),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(who_hangs_is_left),
		cmocka_unit_test(purges_are_kept),
		cmocka_unit_test(purges_end),
		cmocka_unit_test(successor_has_what_it_needs),
		cmocka_unit_test(who_is_not_there_is_not_started),
		cmocka_unit_test(channel_is_that_of_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
