/*
 * The feed's socket: clients that do not take their answers at once, say what
 * is no line, leave in the middle of one, or are too many.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/sidecar/feed.h"
#include "digestd/sidecar/holdings.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum { TURNS = 20, MAX_KEYS = 100 };

static struct {
	char path[64];
	struct loop *loop;
	struct holdings *holdings;
	struct feed *feed;
	int client;
} t;

/* The next call fails with this, and the one after it does not; 0: none. */
static int send_error;

ssize_t __real_send(int fd, const void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
	if (!send_error)
		return __real_send(fd, bytes, len, flags);
	errno = send_error;
	send_error = 0;
	return -1;
}

static void turn(void)
{
	for (unsigned i = 0; i < TURNS; i++)
		loop_turn(t.loop, 0);
}

static int dial(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(at.sun_path, t.path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int set_up(void **state)
{
	const struct holdings_settings settings = {
		.max_keys = MAX_KEYS, .nbits = 1 << 10, .nhash = 3
	};

	(void)state;
	log_set_level("error");
	snprintf(t.path, sizeof(t.path), "/tmp/scd-feed-%ld", (long)getpid());
	assert_int_equal(loop_new(&t.loop), 0);
	assert_int_equal(holdings_new(&settings, &t.holdings), 0);
	assert_int_equal(feed_new(t.loop, t.path, t.holdings, &t.feed), 0);
	t.client = dial();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(t.client);
	feed_free(&t.feed);
	holdings_free(&t.holdings);
	loop_free(&t.loop);
	return 0;
}

static void say(const char *lines)
{
	assert_int_equal(write(t.client, lines, strlen(lines)),
			 (ssize_t)strlen(lines));
}

static void hears(const char *expected)
{
	char text[256] = "";
	ssize_t n = recv(t.client, text, sizeof(text) - 1, MSG_DONTWAIT);

	assert_true(n > 0);
	assert_string_equal(text, expected);
}

static bool is_hung_up(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Its room comes back between two attempts to send: the lines behind that one
 * are done, in their order, and so are later ones. */
static void an_answer_waits(void **state)
{
	static const int errors[] = { EAGAIN, EINTR };

	(void)state;
	for (size_t i = 0; i < NROWS(errors); i++) {
		send_error = errors[i];
		say("insert http://a/1\nack a\nack b\n");
		turn();
		assert_int_equal(send_error, 0);
		hears("ack a held 1 refused 0\nack b held 1 refused 0\n");
		say("evict http://a/1\nack c\n");
		turn();
		hears("ack c held 0 refused 0\n");
	}
}

/* A line that is wrong is told with its number, and costs nothing else. */
static void lines_that_are_none(void **state)
{
	(void)state;
	say("insert http://a/1\ninsert a\nack\n");
	turn();
	hears("error 2: not an http or https URL\nack  held 1 refused 0\n");
	say("\r\nreset\nack \n");
	turn();
	hears("ack  held 0 refused 0\n");
	say("hello\n");
	turn();
	hears("error 7: not insert, evict, reset or ack\n");
}

/* What is there in part is no line yet; what stays so is none. */
static void lines_in_pieces(void **state)
{
	(void)state;
	say("insert http://a/");
	turn();
	say("1\nack a");
	turn();
	assert_int_equal(recv(t.client, (char[1]){ 0 }, 1, MSG_DONTWAIT), -1);
	say("\ninsert http://a/2");
	turn();
	hears("ack a held 1 refused 0\n");
	close(t.client);
	turn();
	t.client = dial();
	say("ack\n");
	turn();
	hears("ack  held 1 refused 0\n");
}

/* Of any length, in memory that is bounded: the next line is read again. */
static void a_line_that_is_too_long(void **state)
{
	char much[5001];

	(void)state;
	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	say("insert http://a/");
	for (unsigned i = 0; i < 40; i++) {
		say(much);
		turn();
	}
	hears("error 1: too long\n");
	say("y\ninsert http://a/2\nack\n");
	turn();
	hears("ack  held 1 refused 0\n");
}

/* What there is no room for is told by the next answer, to who said it. */
static void more_than_may_be_held(void **state)
{
	char line[32];

	(void)state;
	for (unsigned i = 0; i < MAX_KEYS + 2; i++) {
		snprintf(line, sizeof(line), "insert http://a/%u\n", i);
		say(line);
		turn();
	}
	say("ack\n");
	turn();
	hears("ack  held 100 refused 2\n");
}

/* One that is gone is let go, and nobody else hears of it. */
static void a_client_that_is_gone(void **state)
{
	int other = dial();

	(void)state;
	turn();
	send_error = EPIPE;
	say("ack\n");
	turn();
	assert_true(is_hung_up(t.client));
	send_error = EPIPE;
	assert_int_equal(write(other, "hello", 5), 5);
	turn(); /* no answer yet: nothing is sent */
	send_error = 0;
	assert_int_equal(write(other, "\n", 1), 1);
	turn();
	assert_false(is_hung_up(other));
	close(other);
}

static void too_many_clients(void **state)
{
	int clients[FEED_CONNECTIONS];

	(void)state;
	for (unsigned i = 0; i < FEED_CONNECTIONS; i++) {
		clients[i] = dial();
		turn();
	}
	/* the fixture's is one of them */
	assert_true(is_hung_up(clients[FEED_CONNECTIONS - 1]));
	assert_false(is_hung_up(clients[FEED_CONNECTIONS - 2]));
	/* one leaves: there is room for another */
	close(clients[3]);
	turn();
	clients[3] = dial();
	turn();
	assert_false(is_hung_up(clients[3]));
	say("ack\n");
	turn();
	hears("ack  held 0 refused 0\n");
	for (unsigned i = 0; i < FEED_CONNECTIONS; i++)
		close(clients[i]);
}

static void a_client_without_memory(void **state)
{
	struct feed *none = NULL;
	int client;

	(void)state;
	turn();
	client = dial();
	alloc_fail_at(1);
	turn();
	assert_true(alloc_failed());
	alloc_fail_at(0);
	assert_true(is_hung_up(client));
	close(client);
	for (unsigned i = 1; i < 3; i++) {
		alloc_fail_at(i);
		assert_int_equal(feed_new(t.loop, t.path, t.holdings, &none),
				 -ENOMEM);
		alloc_fail_at(0);
	}
	assert_null(none);
	feed_free(&none); /* there is none */
	say("ack\n");
	turn();
	hears("ack  held 0 refused 0\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_answer_waits),
		TEST(lines_that_are_none),
		TEST(lines_in_pieces),
		TEST(a_line_that_is_too_long),
		TEST(more_than_may_be_held),
		TEST(a_client_that_is_gone),
		TEST(too_many_clients),
		TEST(a_client_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
