/*
 * Connections that begin with a header of the PROXY protocol.
 */
#include "tests/server/served.h"
#include "tests/server/served_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/address_prefix.h"
#include "tests/os/call_faults.h"
#include "tests/spared.h"

static struct address_prefixes trusted;
static pthread_t clients;

bool spared_thread(void)
{
	return pthread_equal(pthread_self(), clients);
}

static int set_up_for(const char *who)
{
	clients = pthread_self();
	assert_true(address_prefixes_read(who, &trusted));
	at.strict = at.proxy_protocol = true;
	at.trusted = &trusted;
	return served_set_up(NULL);
}

static int set_up(void **state)
{
	(void)state;
	at.client_connections = 2;
	return set_up_for("127.0.0.1 198.51.100.0/24");
}

static int set_up_for_others(void **state)
{
	(void)state;
	return set_up_for("10.0.0.0/8");
}

#define WHO \
	"GET /who HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" \
	"X-Forwarded-For: me\r\n\r\n"
#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define BYTES(s) s, sizeof(s) - 1

/* clang-format off */
static const struct {
	const char *label, *header;
	size_t len;
	const char *who; /* null: closed */
} rows[] = {
	{ "version 1", BYTES("PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n"),
	  "192.0.2.7 4000 http -;" },
	{ "IPv6", BYTES("PROXY TCP6 2001:db8::7 ::1 4000 80\r\n"),
	  "2001:db8::7 4000 http -;" },
	{ "a client that is trusted",
	  BYTES("PROXY TCP4 198.51.100.9 192.0.2.1 4000 80\r\n"),
	  "198.51.100.9 4000 http me;" },
	{ "nobody", BYTES("PROXY UNKNOWN\r\n"), "127.0.0.1 any http -;" },
	{ "version 2",
	  BYTES(SIGNATURE "\x21\x11\0\x0c\xc0\0\2\7\xc0\0\2\1\x0f\xa0\0\x50"),
	  "192.0.2.7 4000 http -;" },
	{ "a client with TLS",
	  BYTES(SIGNATURE "\x21\x11\0\x14\xc0\0\2\7\xc0\0\2\1\x0f\xa0\0\x50"
		"\x20\0\5\1\0\0\0\0"),
	  "192.0.2.7 4000 https -;" },
	{ "a health check", BYTES(SIGNATURE "\x20\0\0\0"),
	  "127.0.0.1 any http -;" },
	{ "none", BYTES(""), NULL },
	{ "another version", BYTES(SIGNATURE "\x31\0\0\0"), NULL },
	{ "a bad address", BYTES("PROXY TCP4 192.0.2.x 192.0.2.1 1 2\r\n"),
	  NULL },
};
/* clang-format on */

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

/* In one packet, or a byte at a time. */
static char *ask_as(size_t row, bool in_bytes)
{
	char text[400];
	size_t len = rows[row].len, step;
	int fd = dial();

	memcpy(text, rows[row].header, len);
	memcpy(text + len, WHO, sizeof(WHO) - 1);
	len += sizeof(WHO) - 1;
	step = in_bytes ? 1 : len;
	for (size_t i = 0; i < len; i += step) {
		if (send(fd, text + i, step, MSG_NOSIGNAL) < 0)
			break;
	}
	return hear(fd, NULL);
}

static void headers(void **state)
{
	unsigned refused = 0;

	(void)state;
	for (size_t i = 0; i < 2 * NROWS; i++) {
		char *reply = ask_as(i / 2, i % 2);
		const char *body = strstr(reply, "\r\n\r\n");

		if (!rows[i / 2].who) {
			refused++;
			assert_string_equal(reply, "");
		} else if (!body || strcmp(body + 4, rows[i / 2].who)) {
			fail_msg("%s: %s", rows[i / 2].label, reply);
		}
		free(reply);
	}
	assert_int_equal(server_proxy_refused(at.server), refused);
}

static void ends_before_a_header(void **state)
{
	char *reply;
	int fd;

	served_be_hasty(state);
	fd = dial();
	close(fd); /* looks whether somebody listens: no fault */
	fd = dial();
	say(fd, "PROXY TCP4 192.0.2.7");
	shutdown(fd, SHUT_WR);
	reply = hear(fd, NULL);
	assert_string_equal(reply, "");
	assert_int_equal(server_proxy_refused(at.server), 1);
	free(reply);
	fd = dial(); /* and one that does not go on, until its time is over */
	say(fd, "PROXY TCP4 192.0.2.7");
	served_pass(0); /* it is there */
	served_pass(1100);
	reply = hear(fd, NULL);
	assert_string_equal(reply, "");
	assert_int_equal(server_proxy_refused(at.server), 2);
	free(reply);
}

/* An address may have two; the load balancer as many as it likes. */
static void limits_are_of_clients(void **state)
{
	enum { OTHERS = 5 };
	static const char header[] = "PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n";
	int silent[OTHERS], fds[2];
	char part[13] = "", *reply;

	(void)state;
	for (int i = 0; i < OTHERS; i++)
		silent[i] = dial();
	for (int i = 0; i < 2; i++) {
		fds[i] = dial();
		say(fds[i], header);
		say(fds[i], "GET /who" KEEP);
		assert_int_equal(recv(fds[i], part, 12, MSG_WAITALL), 12);
		assert_string_equal(part, "HTTP/1.1 200");
	}
	reply = ask("PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\nGET /who" CLOSE,
		    NULL);
	assert_string_equal(reply, "");
	free(reply);
	reply = ask("PROXY TCP4 192.0.2.8 192.0.2.1 1 2\r\nGET /who" CLOSE,
		    NULL);
	assert_non_null(strstr(reply, "192.0.2.8 1 http"));
	free(reply);
	assert_int_equal(server_proxy_refused(at.server), 0);
	for (int i = 0; i < OTHERS; i++)
		close(silent[i]);
	for (int i = 0; i < 2; i++)
		close(fds[i]);
}

static void strangers_are_not_believed(void **state)
{
	char *reply = hear(dial(), NULL);

	(void)state;
	assert_string_equal(reply, "");
	assert_int_equal(server_proxy_refused(at.server), 1);
	free(reply);
}

/* A connection that breaks when its header is looked at, or taken, is over; the
 * next one is served. */
static void headers_that_cannot_be_read(void **state)
{
	char *reply;

	(void)state;
	for (unsigned i = 1; i <= 2; i++) {
		call_fail_at("recv", i, ECONNRESET);
		reply = ask_as(0, false);
		assert_true(call_failed());
		call_fail_at("", 0, 0);
		assert_string_equal(reply, "");
		free(reply);
		reply = ask_as(0, false);
		assert_non_null(strstr(reply, rows[0].who));
		free(reply);
	}
	assert_int_equal(atomic_load(&at.begun), 2);
}

/* Who has not begun when the server drains is closed, and it is no fault. */
static void a_drain_waits_for_no_header(void **state)
{
	int fd = dial();
	char *reply;

	(void)state;
	say(fd, "PROXY TCP4");
	usleep(10000);
	at.stop = (struct loop_call){ .run = served_drain };
	loop_post(at.loop, &at.stop);
	served_wait_drained();
	reply = hear(fd, NULL);
	assert_string_equal(reply, "");
	free(reply);
	assert_int_equal(server_proxy_refused(at.server), 0);
}

#define CASE(f, set_up) \
	cmocka_unit_test_setup_teardown(f, set_up, served_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(headers, set_up),
		CASE(ends_before_a_header, set_up),
		CASE(limits_are_of_clients, set_up),
		CASE(headers_that_cannot_be_read, set_up),
		CASE(a_drain_waits_for_no_header, set_up),
		CASE(strangers_are_not_believed, set_up_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
