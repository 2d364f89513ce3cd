/*
 * Clients that the server does not keep: those that are too slow, and those
 * that wait where others want in; by IPv4 and IPv6, with either engine.
 */
#include "tests/server/served.h"
#include "tests/server/served_clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/address_prefix.h"
#include "tests/os/moved_clock.h"
#include "tests/unit.h"

static struct address_prefixes loopback, others;

enum { ROOM = 4, IDLE_MS = 300 };

/* Whether the other end has closed, within a few seconds. */
static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) == 0;
}

/* It takes nothing of a body that no buffer holds. */
static void who_reads_nothing(void **state)
{
	int fd = dial();

	(void)state;
	say(fd, "GET /big" KEEP);
	wait_for(&at.begun, 1);
	served_pass_until(&at.aborted, 1, IDLE_MS / 10);
	close(fd);
}

/* For four times as long as it may read nothing, it reads a bit now and then;
 * a machine that stands still for a while makes no difference. */
static void who_reads_slowly_but_enough(void **state)
{
	char piece[20000];
	size_t have = 0;
	int fd = dial();
	ssize_t n;

	(void)state;
	moved_clock_stop();
	say(fd, "GET /big" CLOSE);
	for (int i = 0; (n = recv(fd, piece, sizeof(piece), 0)) > 0; i++) {
		have += (size_t)n;
		if (i < 4 * IDLE_MS / 10)
			served_pass(10);
	}
	close(fd);
	assert_true(have > BIG);
	wait_for(&at.done, 1);
	assert_int_equal(atomic_load(&at.aborted), 0);
}

/* It is told why. */
static void who_sends_nothing(void **state)
{
	int fd = dial();
	char *reply;

	(void)state;
	say(fd, "POST /upload HTTP/1.1\r\nHost: h\r\n"
		"Content-Length: 100000\r\n\r\nabc");
	wait_for(&at.begun, 1);
	served_pass_until(&at.aborted, 1, IDLE_MS / 10);
	reply = hear(fd, NULL);
	if (at.strict) {
		assert_int_equal(strncmp(reply, "HTTP/1.1 408 ", 13), 0);
		assert_non_null(strstr(reply, "\r\nConnection: close\r\n"));
	}
	free(reply);
	close(fd);
}

/* One that waits for its client goes when the last place is taken. */
static void the_idle_make_room(void **state)
{
	int fds[ROOM - 1];
	char *reply;

	(void)state;
	for (int i = 0; i < ROOM - 1; i++) {
		fds[i] = dial();
		say(fds[i], "GET /a%41?q" KEEP);
		wait_for(&at.done, i + 1);
	}
	for (int i = 0; i < ROOM; i++) {
		reply = ask("GET /late" CLOSE, NULL);
		assert_non_null(strstr(reply, "late"));
		free(reply);
	}
	assert_true(server_crowded_out(at.server) >= 1);
	for (int i = 0; i < ROOM - 1; i++)
		close(fds[i]);
}

#define HEADER "POST /upload HTTP/1.1\r\nHost: h\r\n" \
	       "Content-Length: 100000\r\n\r\n"

/* Of uploads the slowest. */
static void uploads_make_room(void **state)
{
	int fds[ROOM - 1];
	char *reply;

	(void)state;
	for (int i = 0; i < ROOM - 1; i++) {
		fds[i] = dial();
		say(fds[i], i == 1 ? HEADER : HEADER "some of the body");
		wait_for(&at.begun, i + 1);
	}
	reply = ask("GET /late" CLOSE, NULL);
	assert_non_null(strstr(reply, "late"));
	free(reply);
	assert_true(is_closed(fds[1]));
	for (int i = 0; i < ROOM - 1; i++)
		close(fds[i]);
}

/* Where all places are taken, and nobody waits for his client, who comes waits
 * until one leaves. */
static void who_comes_when_all_are_busy(void **state)
{
	int busy[ROOM], late;
	char *reply;

	(void)state;
	for (size_t i = 0; i < NROWS(busy); i++) {
		busy[i] = dial();
		say(busy[i], "GET /never" KEEP);
		wait_for(&at.begun, (int)i + 1);
	}
	late = dial();
	say(late, "GET /a%41?q" CLOSE);
	usleep(30000);
	assert_int_equal(atomic_load(&at.begun), NROWS(busy));
	close(busy[0]);
	reply = hear(late, NULL);
	assert_non_null(strstr(reply, "/a%41?q"));
	free(reply);
	assert_int_equal(server_crowded_out(at.server), 0);
	for (size_t i = 1; i < NROWS(busy); i++)
		close(busy[i]);
}

/* From one address so many, and no more. */
static void one_client_has_a_limit(void **state)
{
	int fds[ROOM];
	unsigned closed = 0;

	(void)state;
	for (int i = 0; i < ROOM; i++) {
		fds[i] = dial();
		(void)!send(fds[i], "GET /a%41?q" KEEP,
			    strlen("GET /a%41?q" KEEP), MSG_NOSIGNAL);
	}
	wait_for(&at.done, 2);
	usleep(20000);
	for (int i = 0; i < ROOM; i++) {
		char text[1000];
		ssize_t n = recv(fds[i], text, sizeof(text), 0);

		closed += n <= 0;
		close(fds[i]);
	}
	assert_int_equal(closed, ROOM - 2);
}

/* Who may say where a request comes from. */
static void who_is_believed(void **state)
{
	static const char request[] =
		"GET /claim HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		"X-Forwarded-For: fore\r\nX-Forwarded-Proto: https\r\n\r\n";
	const bool trusted = at.trusted == &loopback;
	char *reply = ask(request, NULL);

	(void)state;
	assert_non_null(strstr(reply, trusted ? "fore" : "none"));
	assert_non_null(strstr(reply, trusted ? " 200 " : " 203 "));
	free(reply);
}

static uint64_t count_of_forbidden(void)
{
	uint64_t sum[REFUSAL_COUNT] = { 0 };

	server_refusals(at.server, sum);
	return sum[REFUSAL_forbidden];
}

/* Who may connect. Others are closed without an answer, and counted. */
static void who_is_listed(void **state)
{
	const bool listed = at.allowed == &loopback;
	int fd = dial();
	char *reply;
	size_t len;

	(void)state;
	(void)!send(fd, "GET /claim" CLOSE, strlen("GET /claim" CLOSE),
		    MSG_NOSIGNAL);
	reply = hear(fd, &len);
	assert_int_equal(len > 0, listed);
	free(reply);
	assert_int_equal(count_of_forbidden(), !listed);
	assert_int_equal(atomic_load(&at.begun), listed);
}

static struct sockaddr_in6 loopback_v6(void)
{
	return (struct sockaddr_in6){ .sin6_family = AF_INET6,
				      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
}

static bool has_ipv6(void)
{
	const struct sockaddr_in6 any = loopback_v6();
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool has = !bind(fd, (const struct sockaddr *)&any, sizeof(any));

	close(fd);
	return has;
}

static int dial_v6(void)
{
	struct sockaddr_in6 to = loopback_v6();
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	to.sin6_port = htons((uint16_t)server_port(at.server));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void by_ipv6(void **state)
{
	int fds[ROOM];
	char *reply;
	size_t len;

	(void)state;
	if (!at.listen)
		skip();
	for (int i = 0; i < ROOM; i++)
		fds[i] = dial_v6();
	say(fds[0], "GET /a%41?q" CLOSE);
	reply = hear(fds[0], NULL);
	assert_non_null(strstr(reply, "/a%41?q"));
	free(reply);
	fds[0] = dial_v6();
	say(fds[0], "GET /");
	for (int i = 0; i < 30; i++) {
		char piece[1001];

		memset(piece, 'x', sizeof(piece) - 1);
		piece[sizeof(piece) - 1] = '\0';
		if (send(fds[0], piece, 1000, MSG_NOSIGNAL) < 0)
			break;
	}
	(void)!send(fds[0], KEEP, strlen(KEEP), MSG_NOSIGNAL);
	reply = hear(fds[0], &len);
	assert_true(!len || strstr(reply, " 414 "));
	free(reply);
	for (int i = 1; i < ROOM; i++)
		close(fds[i]);
}

static int set_up(bool strict, unsigned room, unsigned idle_ms,
		  const char *listen, void **state)
{
	at.strict = strict;
	at.max_connections = room;
	at.idle_ms = idle_ms;
	at.listen = listen;
	return served_set_up(state);
}

static int set_up_limit(void **state)
{
	at.client_connections = 2;
	return set_up(false, 0, 0, NULL, state);
}

static int set_up_limit_strict(void **state)
{
	at.client_connections = 2;
	return set_up(true, 0, 0, NULL, state);
}

static int set_up_trusted(void **state)
{
	at.trusted = &loopback;
	return set_up(false, 0, 0, NULL, state);
}

static int set_up_trusted_strict(void **state)
{
	at.trusted = &loopback;
	return set_up(true, 0, 0, NULL, state);
}

static int set_up_others(void **state)
{
	at.trusted = &others;
	return set_up(false, 0, 0, NULL, state);
}

static int set_up_others_strict(void **state)
{
	at.trusted = &others;
	return set_up(true, 0, 0, NULL, state);
}

static int set_up_listed(void **state)
{
	at.allowed = &loopback;
	return set_up(false, 0, 0, NULL, state);
}

static int set_up_listed_strict(void **state)
{
	at.allowed = &loopback;
	return set_up(true, 0, 0, NULL, state);
}

static int set_up_unlisted(void **state)
{
	at.allowed = &others;
	return set_up(false, 0, 0, NULL, state);
}

static int set_up_unlisted_strict(void **state)
{
	at.allowed = &others;
	return set_up(true, 0, 0, NULL, state);
}

static int tear_down(void **state)
{
	at.client_connections = 0;
	at.allowed = NULL;
	at.trusted = NULL;
	moved_clock_back();
	return served_tear_down(state);
}

static int set_up_slow(void **state)
{
	return set_up(false, 0, IDLE_MS, NULL, state);
}

static int set_up_slow_strict(void **state)
{
	return set_up(true, 0, IDLE_MS, NULL, state);
}

static int set_up_full(void **state)
{
	return set_up(false, ROOM, 0, NULL, state);
}

static int set_up_full_strict(void **state)
{
	return set_up(true, ROOM, 0, NULL, state);
}

static int set_up_v6(void **state)
{
	return set_up(false, 0, 0, has_ipv6() ? "[::1]:0" : NULL, state);
}

static int set_up_v6_strict(void **state)
{
	return set_up(true, 0, 0, has_ipv6() ? "[::1]:0" : NULL, state);
}

/* clang-format off */
#define ENGINES(test, set_up)                                             \
	{ #test ", libmicrohttpd", test, set_up, tear_down, NULL },           \
	{ #test ", strict", test, set_up##_strict, tear_down, NULL }
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENGINES(who_reads_nothing, set_up_slow),
		ENGINES(who_reads_slowly_but_enough, set_up_slow),
		ENGINES(who_sends_nothing, set_up_slow),
		ENGINES(the_idle_make_room, set_up_full),
		ENGINES(uploads_make_room, set_up_full),
		cmocka_unit_test_setup_teardown(who_comes_when_all_are_busy,
						set_up_full_strict, tear_down),
		ENGINES(by_ipv6, set_up_v6),
		ENGINES(one_client_has_a_limit, set_up_limit),
		ENGINES(who_is_believed, set_up_trusted),
		ENGINES(who_is_believed, set_up_others),
		ENGINES(who_is_listed, set_up_listed),
		ENGINES(who_is_listed, set_up_unlisted),
	};

	if (!address_prefixes_read("127.0.0.0/8", &loopback) ||
	    !address_prefixes_read("10.0.0.0/8", &others))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
