/*
 * The feed's socket: a client that does not take its answers at once.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/loop.h"
#include "digestd/sidecar/feed.h"
#include "digestd/sidecar/holdings.h"
#include "tests/unit.h"

enum { TURNS = 20 };

static struct {
	char path[64];
	struct loop *loop;
	struct holdings *holdings;
	struct feed *feed;
	int client;
} t;

/* The next call has no room, and the one after it has. */
static bool full;

ssize_t __real_send(int fd, const void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
	if (!full)
		return __real_send(fd, bytes, len, flags);
	full = false;
	errno = EAGAIN;
	return -1;
}

static void turn(void)
{
	for (unsigned i = 0; i < TURNS; i++)
		loop_turn(t.loop, 0);
}

static int set_up(void **state)
{
	const struct holdings_settings settings = {
		.max_keys = 100, .nbits = 1 << 10, .nhash = 3
	};
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)state;
	snprintf(t.path, sizeof(t.path), "/tmp/scd-feed-%ld", (long)getpid());
	strcpy(at.sun_path, t.path);
	assert_int_equal(loop_new(&t.loop), 0);
	assert_int_equal(holdings_new(&settings, &t.holdings), 0);
	assert_int_equal(feed_new(t.loop, t.path, t.holdings, &t.feed), 0);
	t.client = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(t.client >= 0);
	return connect(t.client, (struct sockaddr *)&at, sizeof(at));
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

/* Its room comes back between two attempts to send: the lines behind that one
 * are done, in their order, and so are later ones. */
static void an_answer_waits(void **state)
{
	(void)state;
	full = true;
	say("insert http://a/1\nack a\nack b\n");
	turn();
	assert_false(full);
	hears("ack a held 1 refused 0\nack b held 1 refused 0\n");
	say("insert http://a/2\nack c\n");
	turn();
	hears("ack c held 2 refused 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_answer_waits, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
