/*
 * Reading a source of members in a thread: what comes of it, in the loop; a
 * reading that is cancelled, whether it can be broken off or not; and each call
 * failing that begins one.
 */
#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "digestd/os/loop.h"
#include "digestd/peers/member_list.h"
#include "digestd/peers/member_reader.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

#define LINE "n2 http://n2:8081\n"

static struct loop *loop;
static char path[64], source[80];
static unsigned ndone;
static struct member_reading reading;

/* In place of the C library's: name servers that answer when the test lets
 * them. */
static atomic_uint asked, answering;

static void nap(void)
{
	static const struct timespec ms = { 0, 1000000 };

	nanosleep(&ms, NULL);
}

int getaddrinfo(const char *name, const char *port,
		const struct addrinfo *hints, struct addrinfo **out)
{
	(void)name;
	(void)port;
	(void)hints;
	(void)out;
	atomic_store(&asked, 1);
	while (!atomic_load(&answering))
		nap();
	return EAI_AGAIN;
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	ndone = 0;
	atomic_store(&asked, 0);
	atomic_store(&answering, 0);
	strcpy(path, "/tmp/member-reader-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, LINE, sizeof(LINE) - 1) != sizeof(LINE) - 1)
		return -1;
	close(fd);
	snprintf(source, sizeof(source), "file:%s", path);
	return loop_new(&loop);
}

static int tear_down(void **state)
{
	(void)state;
	member_list_free(&reading.list);
	loop_free(&loop);
	return unlink(path);
}

static void on_done(void *arg, struct member_reading *r)
{
	assert_ptr_equal(arg, &ndone);
	ndone++;
	member_list_free(&reading.list);
	reading = *r;
}

static int start(const char *from, struct member_reader **out)
{
	return member_reader_start(loop, from, false, on_done, &ndone, out);
}

static void turn_until_done(void)
{
	while (!ndone)
		assert_int_equal(loop_turn(loop, -1), 0);
	assert_int_equal(ndone, 1);
}

static void a_list_comes(void **state)
{
	struct member_reader *r;

	(void)state;
	assert_int_equal(start(source, &r), 0);
	turn_until_done();
	assert_true(reading.well);
	assert_int_equal(reading.list.n, 1);
	assert_string_equal(reading.list.at[0].url, "http://n2:8081");
}

static void a_fault_comes(void **state)
{
	struct member_reader *r;

	(void)state;
	assert_int_equal(start("file:/nowhere/at/all", &r), 0);
	turn_until_done();
	assert_false(reading.well);
}

/* The command ends with it, and nothing comes. */
static void a_command_is_cancelled(void **state)
{
	const unsigned before = call_descriptors();
	struct member_reader *r;

	(void)state;
	assert_int_equal(start("command:sleep 1000", &r), 0);
	member_reader_cancel(&r);
	assert_null(r);
	member_reader_cancel(&r);
	loop_turn(loop, 0);
	assert_int_equal(ndone, 0);
	assert_int_equal(call_descriptors(), before);
}

/* Nobody waits for name servers; what they say in the end is thrown away, with
 * what the thread has. */
static void a_resolver_is_left_alone(void **state)
{
	const unsigned before = call_descriptors();
	struct member_reader *r;

	(void)state;
	assert_int_equal(start("dns:cache.example:8081", &r), 0);
	while (!atomic_load(&asked))
		nap();
	member_reader_cancel(&r);
	assert_null(r);
	assert_true(call_descriptors() > before);
	atomic_store(&answering, 1);
	while (call_descriptors() > before)
		nap();
	loop_turn(loop, 0);
	assert_int_equal(ndone, 0);
}

/* Nothing begins then, and nothing stays. */
static void what_cannot_begin_is_said(void **state)
{
	static const struct {
		const char *call;
		unsigned n;
		int error, wanted;
	} rows[] = {
		{ "eventfd", 1, EMFILE, -EMFILE },
		{ "eventfd", 2, EMFILE, -EMFILE },
		{ "epoll_ctl", 1, ENOMEM, -ENOMEM },
		{ "pthread_create", 1, EAGAIN, -EAGAIN },
	};
	const unsigned before = call_descriptors();
	struct member_reader *r;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		call_fail_at(rows[i].call, rows[i].n, rows[i].error);
		assert_int_equal(start(source, &r), rows[i].wanted);
		assert_true(call_failed());
		assert_int_equal(call_descriptors(), before);
	}
	call_fail_at("", 0, 0);
	for (unsigned n = 1; n <= 2; n++) {
		alloc_fail_at(n);
		assert_int_equal(start(source, &r), -ENOMEM);
		assert_true(alloc_failed());
		alloc_fail_at(0);
		assert_int_equal(call_descriptors(), before);
	}
	loop_turn(loop, 0);
	assert_int_equal(ndone, 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_comes),
		TEST(a_fault_comes),
		TEST(a_command_is_cancelled),
		TEST(a_resolver_is_left_alone),
		TEST(what_cannot_begin_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
