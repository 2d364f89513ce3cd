/*
 * The control socket and its clients, good and bad: lines in pieces and many at
 * once, answers that come late or to nobody, who never reads or never writes,
 * and more clients than there is room for.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/admin/control.h"
#include "digestd/os/loop.h"
#include "tests/codec/alloc.h"

#define STATUS "{\"v\": 1, \"command\": \"status\"}\n"
#define LATE   "{\"v\": 1, \"command\": \"reload\"}\n"
#define BIG    "{\"v\": 1, \"command\": \"token\"}\n"
#define OK     "{\"n\": 1, \"v\": 1, \"ok\": true}\n"

enum {
	TURNS = 2000,
	PATIENCE_MS = 300,
	LONG_MS = 60000, /* on any machine */
	BIG_BYTES = 1 << 20,
};

static char folder[64], path[80];
static struct loop *loop;
static struct control *control;
static struct control_reply *late; /* an answer that is put off */
static unsigned served;

static void serve(void *arg, const struct control_request *r,
		  struct control_reply *reply)
{
	char *text;

	(void)arg;
	served++;
	if (r->command == CONTROL_RELOAD) {
		late = reply;
		return;
	}
	if (r->command == CONTROL_STATUS) {
		control_reply_end(reply, json_pack("{s:i}", "n", 1));
		return;
	}
	text = malloc(BIG_BYTES);
	assert_non_null(text);
	memset(text, 'x', BIG_BYTES - 1);
	text[BIG_BYTES - 1] = '\0';
	control_reply_end(reply, json_pack("{s:s}", "text", text));
	free(text);
}

static int set_up_with(int64_t patience_ms)
{
	const struct control_settings settings = {
		.path = path,
		.patience_ms = patience_ms,
		.serve = serve,
	};

	strcpy(folder, "/tmp/scd-control-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/control", folder);
	late = NULL;
	served = 0;
	return loop_new(&loop) || control_new(loop, &settings, &control);
}

static int set_up(void **state)
{
	(void)state;
	return set_up_with(LONG_MS);
}

static int set_up_impatient(void **state)
{
	(void)state;
	return set_up_with(PATIENCE_MS);
}

static int tear_down(void **state)
{
	(void)state;
	control_free(&control);
	loop_free(&loop);
	return rmdir(folder); /* the socket is gone */
}

static int client(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, path, strlen(path) + 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
}

static void turn(int turns)
{
	for (int i = 0; i < turns; i++)
		assert_int_equal(loop_turn(loop, 0), 0);
}

/* Reads until there is so much, or the end; the length. */
static size_t hear(int fd, char *to, size_t len)
{
	size_t at = 0;

	for (int i = 0; i < TURNS && at < len; i++) {
		ssize_t n = recv(fd, to + at, len - at, 0);

		if (!n)
			break;
		if (n > 0)
			at += (size_t)n;
		else
			turn(1);
	}
	to[at] = '\0';
	return at;
}

static void hears(int fd, const char *wanted)
{
	char text[1024];

	hear(fd, text, strlen(wanted));
	assert_string_equal(text, wanted);
}

/* Whether the node has hung up, within so long. */
static bool is_over(int fd, int64_t ms)
{
	int64_t end_ms = loop_clock_ms() + ms;
	char byte;

	do {
		assert_int_equal(loop_turn(loop, 10), 0);
		if (!recv(fd, &byte, 1, 0))
			return true;
	} while (loop_clock_ms() < end_ms);
	return false;
}

static void lines_in_pieces_and_at_once(void **state)
{
	static const char line[] = STATUS;
	int fd = client();

	(void)state;
	for (size_t i = 0; i < strlen(line); i++) {
		char byte[2] = { line[i], '\0' };

		say(fd, byte);
		turn(2);
	}
	hears(fd, OK);
	say(fd, STATUS STATUS STATUS "{");
	hears(fd, OK OK OK);
	assert_int_equal(served, 4);
	say(fd, "}\n" STATUS);
	hears(fd, "{\"error\": \"\\\"v\\\", the version, must be 1\", "
		  "\"v\": 1, \"ok\": false}\n" OK);
	close(fd);
	turn(2);
}

/* As a shell's: it asks, and shuts its side. */
static void who_says_no_more_is_answered(void **state)
{
	int fd = client();

	(void)state;
	say(fd, STATUS STATUS);
	shutdown(fd, SHUT_WR);
	hears(fd, OK OK);
	assert_true(is_over(fd, 100));
	close(fd);
}

static void answers_come_in_order(void **state)
{
	int fd = client();

	(void)state;
	say(fd, LATE STATUS);
	turn(5);
	assert_int_equal(served, 1);
	assert_false(is_over(fd, 2 * PATIENCE_MS)); /* it is the node's turn */
	control_reply_refuse(late, "no %s", "luck");
	hears(fd, "{\"error\": \"no luck\", \"v\": 1, \"ok\": false}\n" OK);
	close(fd);
}

/* It is cut between characters, or it would be no JSON. */
static void a_long_refusal_is_cut(void **state)
{
	char name[600], wanted[700];
	int fd = client();

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 3);
	say(fd, LATE);
	turn(4);
	assert_non_null(late);
	control_reply_refuse(late, "no %s", name); /* 3 + 2 n bytes */
	snprintf(wanted, sizeof(wanted),
		 "{\"error\": \"no %.508s\", \"v\": 1, \"ok\": false}\n", name);
	hears(fd, wanted);
	say(fd, LATE);
	turn(4);
	control_reply_refuse(late, "now %s", name); /* 4 + 2 n */
	snprintf(wanted, sizeof(wanted), "{\"error\": \"now %.506s\", "
		 "\"v\": 1, \"ok\": false}\n", name);
	hears(fd, wanted);
	close(fd);
}

static void who_has_left_gets_no_answer(void **state)
{
	int fd = client();

	say(fd, LATE);
	turn(3);
	close(fd);
	turn(3);
	assert_non_null(late);
	control_reply_end(late, json_pack("{s:i}", "n", 1));
	turn(3);
	fd = client();
	say(fd, LATE);
	turn(3);
	control_free(&control);
	control_reply_end(late, NULL);
	close(fd);
	assert_int_equal(tear_down(state), 0);
	assert_int_equal(set_up_with(LONG_MS), 0);
}

static void without_memory_for_an_answer(void **state)
{
	int fd = client();

	(void)state;
	say(fd, LATE);
	turn(3);
	control_reply_end(late, NULL);
	hears(fd, "{\"v\": 1, \"ok\": false, \"error\": \"out of memory\"}\n");
	close(fd);
}

/* Who asks and does not read, who says nothing, and who says a byte now and
 * then; others are served meanwhile. */
static void who_is_too_slow_is_left(void **state)
{
	int deaf = client(), mute = client(), slow = client(), other = client();
	int64_t end_ms = loop_clock_ms() + PATIENCE_MS / 2;
	char byte;

	(void)state;
	say(deaf, BIG BIG BIG);
	while (loop_clock_ms() < end_ms) {
		say(slow, " ");
		say(other, STATUS);
		hears(other, OK);
	}
	assert_true(is_over(mute, 4 * PATIENCE_MS));
	assert_true(is_over(slow, 4 * PATIENCE_MS));
	end_ms = loop_clock_ms() + PATIENCE_MS;
	while (loop_clock_ms() < end_ms)
		assert_int_equal(loop_turn(loop, 10), 0);
	/* of the first answer as much as the socket has taken */
	while (recv(deaf, &byte, 1, 0) > 0)
		continue;
	assert_int_equal(recv(deaf, &byte, 1, 0), 0);
	close(deaf);
	close(mute);
	close(slow);
	close(other);
}

static void long_answers(void **state)
{
	char *text = malloc(BIG_BYTES + 100);
	int fd = client();
	size_t len;

	(void)state;
	assert_non_null(text);
	say(fd, BIG);
	len = hear(fd, text, BIG_BYTES + 32);
	assert_true(len > BIG_BYTES && text[len - 1] == '\n');
	free(text);
	close(fd);
}

static void long_lines(void **state)
{
	char *line = malloc(CONTROL_LINE_MAX + 2);
	int fd = client();

	(void)state;
	assert_non_null(line);
	memset(line, ' ', CONTROL_LINE_MAX + 1);
	line[CONTROL_LINE_MAX + 1] = '\0';
	memcpy(line, STATUS, strlen(STATUS) - 1);
	line[CONTROL_LINE_MAX - 1] = '\n';
	line[CONTROL_LINE_MAX] = '\0';
	for (size_t at = 0; at < CONTROL_LINE_MAX; at += 4096) {
		assert_int_equal(send(fd, line + at, 4096, 0), 4096);
		turn(2);
	}
	hears(fd, OK);
	memset(line, ' ', CONTROL_LINE_MAX + 1);
	for (size_t at = 0; at <= CONTROL_LINE_MAX; at += 4096) {
		send(fd, line, 4096, MSG_NOSIGNAL);
		turn(2);
	}
	hears(fd, "{\"v\": 1, \"ok\": false, \"error\": \"the line is too "
		  "long\"}\n");
	close(fd);
	free(line);
}

static void too_many_clients(void **state)
{
	int fds[CONTROL_CLIENTS + 1];

	(void)state;
	for (int i = 0; i <= CONTROL_CLIENTS; i++) {
		fds[i] = client();
		turn(2);
	}
	hears(fds[CONTROL_CLIENTS], "{\"v\": 1, \"ok\": false, \"error\": "
				    "\"too many clients at the control "
				    "socket; end some\"}\n");
	close(fds[0]);
	turn(2);
	close(fds[CONTROL_CLIENTS]);
	fds[0] = client();
	say(fds[0], STATUS);
	hears(fds[0], OK);
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		close(fds[i]);
}

static unsigned leases_left;

static void on_left(void *arg)
{
	*(unsigned *)arg += 1;
}

/* The descriptor that came with an answer; -1: none. */
static int hear_with_descriptor(int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} rights;
	char text[100];
	struct iovec part = { text, sizeof(text) };
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &rights,
		.msg_controllen = sizeof(rights),
	};
	int got = -1;

	turn(5);
	assert_int_equal(recvmsg(fd, &m, 0), strlen(OK));
	if (CMSG_FIRSTHDR(&m))
		memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(got));
	return got;
}

/* A descriptor is lent for as long as its client is there, who may be silent
 * meanwhile, and goes on asking. */
static void what_lasts_as_long_as_a_client(void **state)
{
	const struct control_lease lease = {
		.left = on_left,
		.arg = &leases_left,
	};
	struct control_lease with_fd = lease;
	int fd = client(), got;

	(void)state;
	leases_left = 0;
	with_fd.fd = fd;
	say(fd, LATE);
	turn(3);
	control_reply_last(late, json_pack("{s:i}", "n", 1), &with_fd);
	got = hear_with_descriptor(fd);
	assert_true(got >= 0);
	close(got);
	assert_false(is_over(fd, 2 * PATIENCE_MS));
	say(fd, STATUS LATE);
	hears(fd, OK);
	turn(5);
	control_reply_last(late, json_pack("{s:i}", "n", 1), &lease);
	assert_int_equal(leases_left, 1);
	hears(fd, "{\"error\": \"this connection has one already\", \"v\": "
		  "1, \"ok\": false}\n");
	close(fd);
	turn(3);
	assert_int_equal(leases_left, 2);
	fd = client();
	say(fd, LATE);
	turn(3);
	close(fd);
	turn(3);
	control_reply_last(late, json_pack("{s:i}", "n", 1), &lease);
	assert_int_equal(leases_left, 3);
}

/* Who hangs up is gone, whatever it waited for: an answer that it does not
 * take, lines that are yet to be served. Nobody else notices. */
static void who_hangs_up_is_gone(void **state)
{
	static const char *const lines[] = { "", "{", BIG, BIG STATUS,
					     STATUS STATUS, LATE STATUS };
	int before = client(), after;

	(void)state;
	turn(2);
	for (size_t i = 0; i < NROWS(lines); i++) {
		int fd = client();

		after = client();
		late = NULL;
		say(fd, lines[i]);
		turn((int)i);
		close(fd);
		turn(5);
		if (late)
			control_reply_end(late, NULL);
		say(before, STATUS);
		hears(before, OK);
		say(after, STATUS);
		hears(after, OK);
		close(after);
	}
	turn(2);
	close(before);
}

/* A line that is answered while the socket is full: the rest goes when there is
 * room, and the next line waits for that. */
static void who_reads_late_gets_all(void **state)
{
	char *text = malloc(2 * BIG_BYTES);
	int fd = client();
	size_t len;

	(void)state;
	assert_non_null(text);
	say(fd, BIG STATUS);
	turn(20);
	assert_int_equal(served, 1);
	len = hear(fd, text, BIG_BYTES + 32 + strlen(OK));
	assert_int_equal(served, 2);
	assert_true(len > strlen(OK));
	assert_string_equal(text + len - strlen(OK), OK);
	free(text);
	close(fd);
}

/* Without memory somebody is refused or gets no answer, and the next one is
 * served as ever. */
static void each_allocation_fails_once(void **state)
{
	bool failed = true;

	(void)state;
	json_set_alloc_funcs(malloc, free); /* which fail */
	for (unsigned n = 1; failed; n++) {
		int fd = client();
		char text[200];

		alloc_fail_at(n);
		say(fd, STATUS);
		turn(10);
		failed = alloc_failed();
		alloc_fail_at(0);
		hear(fd, text, sizeof(text) - 1);
		close(fd);
		turn(3);
		if (strcmp(text, OK) != 0 && *text &&
		    !strstr(text, "\"ok\": false"))
			fail_msg("allocation %u: \"%s\"", n, text);
		fd = client();
		say(fd, STATUS);
		hears(fd, OK);
		close(fd);
		turn(3);
	}
}

static void a_socket_without_memory(void **state)
{
	const struct control_settings settings = { .path = path };
	struct control *second;
	bool failed = true;

	(void)state;
	control_free(&control);
	for (unsigned n = 1; failed; n++) {
		int err;

		alloc_fail_at(n);
		err = control_new(loop, &settings, &second);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		assert_int_equal(second == NULL, failed);
		control_free(&second);
	}
}

static void a_path_that_cannot_be(void **state)
{
	const struct control_settings settings = { .path = path };
	struct control *second;

	(void)state;
	assert_int_equal(control_new(loop, &settings, &second), -EADDRINUSE);
	assert_null(second);
	control_free(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define IMPATIENT(name)                                                        \
	cmocka_unit_test_setup_teardown(name, set_up_impatient, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_in_pieces_and_at_once),
		TEST(who_says_no_more_is_answered),
		IMPATIENT(answers_come_in_order),
		IMPATIENT(a_long_refusal_is_cut),
		TEST(who_has_left_gets_no_answer),
		TEST(without_memory_for_an_answer),
		IMPATIENT(who_is_too_slow_is_left),
		TEST(long_answers),
		TEST(long_lines),
		TEST(too_many_clients),
		IMPATIENT(what_lasts_as_long_as_a_client),
		TEST(who_hangs_up_is_gone),
		TEST(who_reads_late_gets_all),
		TEST(each_allocation_fails_once),
		TEST(a_socket_without_memory),
		TEST(a_path_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
