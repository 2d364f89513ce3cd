/*
 * Listening sockets: a port is one process's, whoever comes first, and its
 * workers share it.
 */
#include "tests/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/listen.h"

enum { PORTS = 100 }; /* of a block */

static int open_at(const char *address, bool joins, int *fd)
{
	const struct listen_how how = {
		.address = address, .joins = joins,
	};

	return listen_open(&how, fd);
}

/* Ports below those that the kernel gives to connections, in blocks, each of
 * which a process claims by a name (as tests/scenario/cluster.py does): nobody
 * takes one between now and then. */
static unsigned claim_ports(void)
{
	enum { FIRST = 10000, END = 32000 };
	const unsigned nblocks = (END - FIRST) / PORTS;
	unsigned start = (unsigned)getpid() % nblocks;

	for (unsigned i = 0; i < nblocks; i++) {
		unsigned first = FIRST + (start + i) % nblocks * PORTS;
		struct sockaddr_un name = { .sun_family = AF_UNIX };
		int keeper = socket(AF_UNIX, SOCK_DGRAM, 0); /* to the end */
		int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
				 "scd-ports-%u", first);
		socklen_t len = (socklen_t)(offsetof(struct sockaddr_un,
						     sun_path) + 1 +
					    (size_t)n);

		if (!bind(keeper, (struct sockaddr *)&name, len))
			return first;
		close(keeper);
	}
	fail_msg("no ports are left");
	return 0;
}

/* A free port, as "HOST:PORT". */
static void find_port(char text[64], const char *host)
{
	static unsigned first, used = PORTS;
	int fd = -1;

	for (int err = -EADDRINUSE; err == -EADDRINUSE; used++) {
		if (used == PORTS) {
			first = claim_ports();
			used = 0;
		}
		snprintf(text, 64, ":%u", first + used);
		err = open_at(text, false, &fd);
		snprintf(text, 64, "%s:%u", host, first + used);
	}
	assert_true(fd >= 0);
	close(fd);
}

static void is_shared_by_who_joins(void **state)
{
	char address[64];
	int first, second, third;

	(void)state;
	find_port(address, "127.0.0.1");
	assert_int_equal(open_at(address, false, &first), 0);
	assert_int_equal(open_at(address, true, &second), 0);
	assert_int_equal(open_at(address, true, &third), 0);
	assert_int_equal(listen_port(first), listen_port(third));
	close(first);
	close(second);
	close(third);
}

static const struct {
	const char *taken, *wanted; /* hosts */
} overlaps[] = {
	{ "127.0.0.1", "127.0.0.1" },
	{ "127.0.0.1", "" },
	{ "", "127.0.0.1" },
	{ "", "" },
	{ "0.0.0.0", "127.0.0.1" },
	{ "127.0.0.1", "0.0.0.0" },
	{ "", "0.0.0.0" },
};

/* Also where the first one has let others join. */
static void is_nobody_elses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(overlaps) / sizeof(*overlaps); i++) {
		char taken[64], wanted[128];
		int first, second, other = -1;

		find_port(taken, overlaps[i].taken);
		snprintf(wanted, sizeof(wanted), "%s%s", overlaps[i].wanted,
			 strrchr(taken, ':'));
		assert_int_equal(open_at(taken, false, &first), 0);
		assert_int_equal(open_at(taken, true, &second), 0);
		assert_int_equal(open_at(wanted, false, &other), -EADDRINUSE);
		close(first);
		close(second);
		assert_int_equal(open_at(wanted, false, &other), 0);
		close(other);
	}
}

/* One that drains has closed its socket, and some connections are left. */
static void is_free_beside_old_connections(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int first, second, client, served;
	char address[64];

	(void)state;
	find_port(address, "127.0.0.1");
	assert_int_equal(open_at(address, false, &first), 0);
	to.sin_port = htons((uint16_t)listen_port(first));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof(to)),
			 0);
	served = accept(first, NULL, NULL);
	assert_true(served >= 0);
	close(first);
	assert_int_equal(open_at(address, false, &second), 0);
	close(served);
	close(client);
	close(second);
}

static void refuses_what_is_no_address(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(open_at("localhost", false, &fd), -EINVAL);
	assert_int_equal(open_at("127.0.0.1:", false, &fd), -EINVAL);
	assert_int_equal(open_at("[::1:80", false, &fd), -EINVAL);
}

static void read_congestion(int fd, char name[16])
{
	socklen_t len = 16;

	memset(name, 0, 16);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
				    &len), 0);
}

static const struct {
	const char *host;
	bool loopback;
} bound[] = {
	{ "127.0.0.1", true },
	{ "127.3.2.1", true },
	{ "[::1]", true },
	{ "0.0.0.0", false },
	{ "[::]", false },
	{ "", false },
};

static void only_loopback_is_sent_to_freely(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bound) / sizeof(*bound); i++) {
		char address[64], before[16], after[16];
		int fd;

		snprintf(address, sizeof(address), "%s:0", bound[i].host);
		if (open_at(address, false, &fd))
			continue; /* no IPv6 */
		read_congestion(fd, before);
		listen_send_freely(fd);
		read_congestion(fd, after);
		assert_string_equal(after, bound[i].loopback ? "reno" : before);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_shared_by_who_joins),
		cmocka_unit_test(is_nobody_elses),
		cmocka_unit_test(is_free_beside_old_connections),
		cmocka_unit_test(refuses_what_is_no_address),
		cmocka_unit_test(only_loopback_is_sent_to_freely),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
