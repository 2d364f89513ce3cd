/*
 * Connections that change protocols.
 */
#include "tests/server/served.h"
#include "tests/server/served_clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UPGRADE(target) \
	"GET " target " HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n" \
	"Upgrade: echo\r\n\r\n"

static int set_up(void **state)
{
	at.strict = true;
	at.max_connections = 0;
	return served_set_up(state);
}

static int set_up_for_one(void **state)
{
	at.strict = true;
	at.max_connections = 1;
	return served_set_up(state);
}

/* Reads as much as there should be. */
static void expect(int fd, const char *text)
{
	size_t len = strlen(text);
	char got[400] = "";

	assert_true(len < sizeof(got));
	assert_int_equal(recv(fd, got, len, MSG_WAITALL), (ssize_t)len);
	assert_string_equal(got, text);
}

static void expect_end(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

static void read_head(int fd)
{
	char head[400] = "";
	size_t len = 0;

	while (!strstr(head, "\r\n\r\n")) {
		assert_true(len < sizeof(head) - 1);
		assert_int_equal(recv(fd, head + len++, 1, 0), 1);
	}
	assert_int_equal(strncmp(head, "HTTP/1.1 101 Switching Protocols\r\n",
				 34), 0);
	assert_non_null(strstr(head, "\r\nX-Key: k\r\n"));
	assert_non_null(strstr(head, "\r\nUpgrade: echo\r\n"
				     "Connection: Upgrade\r\n\r\n"));
	assert_null(strstr(head, "close"));
	assert_null(strstr(head, "chunked"));
	assert_null(strstr(head, "ength"));
}

static int begin(const char *request)
{
	int fd = dial();

	say(fd, request);
	read_head(fd);
	return fd;
}

/* What came with the request, or behind it, is the tunnel's; what was asked
 * before it is answered before it. */
static void both_ends_talk(void **state)
{
	int fd;

	served_be_hasty(state);
	fd = dial();
	say(fd, "HEAD /304" KEEP UPGRADE("/tunnel") "GET /");
	for (int newlines = 0; newlines < 4;) { /* of the 304 */
		char byte;

		assert_int_equal(recv(fd, &byte, 1, 0), 1);
		newlines = byte == '\r' || byte == '\n' ? newlines + 1 : 0;
	}
	read_head(fd);
	expect(fd, "GET /");
	say(fd, "\r\n\r\n");
	expect(fd, "\r\n\r\n");
	served_pass(1200); /* longer than a header may take */
	served_pass(1200);
	say(fd, "x");
	expect(fd, "x");
	shutdown(fd, SHUT_WR);
	expect_end(fd);
	close(fd);
	wait_for(&at.done, 2);
}

/* The server has nothing more to say, the client has. */
static void the_other_half_goes_on(void **state)
{
	int fd = begin(UPGRADE("/tunnel"));

	(void)state;
	say(fd, "bye!");
	expect(fd, "bye!");
	expect_end(fd);
	assert_int_equal(atomic_load(&at.done), 0);
	say(fd, "12345");
	wait_for(&at.dropped, 5);
	say(fd, "6789");
	wait_for(&at.dropped, 9);
	assert_int_equal(atomic_load(&at.done), 0);
	close(fd);
	wait_for(&at.done, 1);
}

/* Nobody hears it any more: it has some time to close, and is one of those
 * that make room. */
static void who_is_not_heard_makes_room(void **state)
{
	int fd = begin(UPGRADE("/tunnel"));
	char *reply;

	(void)state;
	say(fd, "bye!");
	expect(fd, "bye!");
	expect_end(fd);
	say(fd, ".");
	wait_for(&at.done, 1);
	for (int i = 0; i < 3; i++) {
		say(fd, "more");
		usleep(10000);
	}
	assert_int_equal(atomic_load(&at.dropped), 1);
	reply = ask("GET /a%41?q" CLOSE, NULL);
	assert_int_equal(count_of(reply, "HTTP/1.1 200 OK\r\n"), 1);
	free(reply);
	close(fd);
}

/* Its handler has broken off: it is closed at once. */
static void who_is_not_heard_is_told(void **state)
{
	int fd = begin(UPGRADE("/tunnel")), says = 0;

	(void)state;
	say(fd, "bye!");
	expect(fd, "bye!");
	expect_end(fd);
	say(fd, "?");
	wait_for(&at.aborted, 1);
	while (send(fd, "x", 1, MSG_NOSIGNAL) == 1 && ++says < 1000)
		usleep(1000);
	assert_in_range(says, 0, 999);
	close(fd);
}

static void other_answers_are_answers(void **state)
{
	static const char request[] =
		"GET /late HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n"
		"Upgrade: other\r\n\r\nGET /late" CLOSE;
	char *reply = ask(request, NULL);

	(void)state;
	assert_int_equal(count_of(reply, "HTTP/1.1 200 OK\r\n"), 2);
	assert_null(strstr(reply, "Upgrade"));
	free(reply);
}

/* Sends until nothing is taken any more. Returns how much was. */
static size_t fill(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	static char block[65536];
	size_t sent = 0;

	memset(block, 'x', sizeof(block));
	while (poll(&ready, 1, 200) == 1) {
		ssize_t n = send(fd, block, sizeof(block),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		assert_true(n > 0 || errno == EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
	}
	return sent;
}

/* Who does not listen is not listened to; what was said comes in order. */
static void nothing_piles_up(void **state)
{
	static char got[65536];
	int fd = begin(UPGRADE("/tunnel"));
	size_t sent = fill(fd), have = 0;
	ssize_t n;

	(void)state;
	assert_in_range(sent, TUNNEL_ROOM, 64 << 20);
	shutdown(fd, SHUT_WR);
	while ((n = recv(fd, got, sizeof(got), 0)) > 0)
		have += (size_t)n;
	assert_int_equal(n, 0);
	assert_int_equal(have, sent);
	close(fd);
	wait_for(&at.done, 1);
}

static void a_client_that_breaks_off(void **state)
{
	static const struct linger now = { .l_onoff = 1 };
	int fd = begin(UPGRADE("/tunnel"));

	(void)state;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
	wait_for(&at.aborted, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, served_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(both_ends_talk),
		CASE(the_other_half_goes_on),
		cmocka_unit_test_setup_teardown(who_is_not_heard_makes_room,
						set_up_for_one,
						served_tear_down),
		CASE(who_is_not_heard_is_told),
		CASE(other_answers_are_answers),
		CASE(nothing_piles_up),
		CASE(a_client_that_breaks_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
