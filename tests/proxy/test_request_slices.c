/*
 * Large objects in slices, see two_nodes.h: from memory, from the disk, from a
 * peer and while memory is short. Whatever happens, a client gets the right
 * bytes or the end of its connection.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/disk/disk.h"
#include "digestd/fetch/fetch.h"
#include "digestd/os/memory.h"
#include "digestd/store/ledger.h"
#include "tests/disk/disk_folder.h"
#include "tests/loopback.h"
#include "tests/os/call_faults.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

enum { SLICE = 8192, WAITS = 5000 };

#define OBJECT "Proxy-Authorization: Bearer " TOKEN "\r\n"

static void set_slice(uint64_t bytes)
{
	at.a.settings.slice_bytes = at.b.settings.slice_bytes = bytes;
	reconfigure(&at.a, &at.a.settings);
	reconfigure(&at.b, &at.b.settings);
}

static int begin(void **state)
{
	two_nodes_begin(state);
	set_slice(SLICE);
	return 0;
}

static int begin_disk(void **state)
{
	disk_folder_empty();
	at.disk_path = disk_folder();
	at.memory_bytes = 32 << 10;
	return begin(state);
}

static int end_disk(void **state)
{
	at.disk_path = NULL;
	at.memory_bytes = 0;
	return two_nodes_end(state);
}

static struct worker_counters counters(void)
{
	struct worker_counters sum = { 0 };

	worker_count(at.a.worker, &sum);
	return sum;
}

/* The length of a reply's body, which is right as far as it goes. Frees it. */
static size_t right_bytes(char *reply, unsigned status, unsigned first)
{
	const char *body = strstr(reply, "\r\n\r\n");
	size_t len;

	assert_non_null(body);
	len = strlen(body + 4);
	assert_in_range(len, 0, SLICED - first);
	assert_memory_equal(body + 4, at.sliced + first, len);
	expect(reply, status, NULL);
	return len;
}

/* A client that has so many bytes of a reply, or its head, and leaves. */
static void ask_and_leave(size_t bytes)
{
	char some[4096];
	int fd = loopback_dial(port_a());
	ssize_t n = 1;

	say(fd, "GET /sliced HTTP/1.1\r\nHost: h\r\n\r\n");
	for (size_t have = 0; have < bytes && n > 0; have += (size_t)n)
		n = recv(fd, some, sizeof(some), 0);
	close(fd);
}

/* Asks for all of it; returns where it is to be heard. */
static int begin_whole(const char *target)
{
	char request[128];
	int fd = loopback_dial(port_a());

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n"
		 "Connection: close\r\n\r\n", target);
	say(fd, request);
	return fd;
}

static void expect_sliced(unsigned first, unsigned len)
{
	char range[64];
	size_t n;

	snprintf(range, sizeof(range), "Range: bytes=%u-%u\r\n", first,
		 first + len - 1);
	n = right_bytes(ask(port_a(), "GET", "/sliced", len < SLICED ? range :
								      ""),
			len < SLICED ? 206 : 200, first);
	assert_int_equal(n, len);
}

static void what_is_missing_is_fetched(void **state)
{
	static const struct {
		const char *fields;
		unsigned status, first, len;
		bool asks; /* the origin */
	} rows[] = {
		{ "Range: bytes=0-99\r\n", 206, 0, 100, true },
		{ "Range: bytes=1-8191\r\n", 206, 1, 8191, false },
		{ "Range: bytes=8000-9000\r\n", 206, 8000, 1001, true },
		{ "Range: bytes=-10\r\n", 206, SLICED - 10, 10, true },
		{ "", 200, 0, SLICED, true },
		{ "", 200, 0, SLICED, false },
		{ "Range: bytes=90000-\r\n", 206, 90000, 10000, false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		int before = atomic_load(&at.seen);
		char *reply = ask(port_a(), "GET", "/sliced", rows[i].fields);
		size_t len = right_bytes(reply, rows[i].status, rows[i].first);

		if (len != rows[i].len ||
		    (atomic_load(&at.seen) > before) != rows[i].asks)
			fail_msg("row %zu: %zu bytes, %d requests", i, len,
				 atomic_load(&at.seen) - before);
	}
}

/* What the origin does when it is asked for the rest: the reply that has begun
 * is finished or breaks off, and the next one is whole, if there is one. */
static void origins_that_change(void **state)
{
	static const struct {
		const char *target;
		bool whole;
		unsigned next; /* status */
	} rows[] = {
		{ "/sliced-new", false, 200 },
		{ "/sliced-gone", false, 404 },
		{ "/sliced-error", false, 200 },
		{ "/sliced-cut", false, 200 },
		{ "/sliced-short", true, 200 },
		{ "/sliced-whole", true, 200 },
	};

	for (size_t i = 0; i < NROWS(rows); i++) {
		size_t len;

		if (i) {
			two_nodes_end(state);
			begin(state);
		}
		free(ask(port_a(), "GET", rows[i].target,
			 "Range: bytes=0-99\r\n"));
		len = right_bytes(ask(port_a(), "GET", rows[i].target, ""),
				  200, 0);
		if (len < SLICE || (len == SLICED) != rows[i].whole)
			fail_msg("row %zu: %zu bytes", i, len);
		expect(ask(port_a(), "GET", rows[i].target, ""), rows[i].next,
		       NULL);
	}
}

/* Memory */

enum { HOG = 64 << 20 };

/* Leaves so many hundredths of the memory that is in use, of which all that is
 * not left is the hog's. */
static void hog_memory(unsigned hundredths)
{
	ledger_add(&memory_ledger, LEDGER_streams, HOG);
	memory_limit(memory_held() / 100 * (100 + hundredths));
}

static void free_memory(void)
{
	memory_limit(UINT64_MAX);
	ledger_return(&memory_ledger, LEDGER_streams, HOG);
}

/* Where none can be stored, those that are missing wait for a time, and then
 * pass: as they come, cut out of what is more, or until they break off. */
static void little_memory(void **state)
{
	static const struct {
		const char *target;
		bool whole;
	} rows[] = {
		{ "/sliced-cut", false }, /* first: it is cut from then on */
		{ "/sliced-short", true }, { "/sliced-slow", true },
		{ "/sliced-whole", true }, { "/sliced", true },
	};
	int fds[NROWS(rows)], left;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		free(ask(port_a(), "GET", rows[i].target,
			 "Range: bytes=0-99\r\n"));
	hog_memory(25);
	for (size_t i = 0; i < NROWS(rows); i++)
		fds[i] = begin_whole(rows[i].target);
	left = begin_whole("/sliced-slow");
	for (size_t i = 0; i < NROWS(rows); i++) {
		size_t len = right_bytes(hear(fds[i]), 200, 0);

		if (len < SLICE || (len == SLICED) != rows[i].whole)
			fail_msg("%s: %zu bytes", rows[i].target, len);
	}
	close(left);
	free_memory();
	assert_true(counters().memory_passed > 0);
}

/* Where there is not even enough to pass, it waits. */
static void no_memory(void **state)
{
	int fd;

	(void)state;
	expect_sliced(0, 100);
	hog_memory(5);
	fd = begin_whole("/sliced");
	usleep(50000);
	free_memory();
	assert_int_equal(right_bytes(hear(fd), 200, 0), SLICED);
}

/* Disk */

static void wait_for_disk(uint64_t n)
{
	struct disk_counters c;
	struct store_stats store;

	for (int i = 0; i < WAITS; i++) {
		assert_true(cache_disk_stats(at.a.cache, &store, &c));
		if (store.entries >= n && c.writes >= n)
			return;
		usleep(1000);
	}
	fail_msg("%u entries, %u writes", (unsigned)store.entries,
		 (unsigned)c.writes);
}

/* Of slices that are read as a whole, and of larger ones, which are read in
 * blocks, of which there is memory for one at a time at the end. */
static void slices_on_disk(void **state)
{
	static const unsigned sizes[] = { SLICE, 96 << 10 };
	int before;

	for (size_t i = 0; i < NROWS(sizes); i++) {
		if (i) {
			end_disk(state);
			begin_disk(state);
		}
		set_slice(sizes[i]);
		expect_sliced(0, SLICED);
		wait_for_disk(1 + (SLICED - 1) / sizes[i] + 1);
		before = atomic_load(&at.seen);
		expect_sliced(0, SLICED);
		expect_sliced(5000, 60000);
		expect_sliced(SLICED - 10, 10);
		hog_memory(10);
		expect_sliced(0, SLICED);
		free_memory();
		assert_int_equal(atomic_load(&at.seen), before);
		for (size_t bytes = 0; bytes < 20; bytes++)
			ask_and_leave(bytes % 4 * 20000);
	}
}

/* A node ends while slices are read, and while they wait for memory. */
static void stopping_in_the_middle(void **state)
{
	int fds[16];

	for (int short_of_memory = 0; short_of_memory < 2; short_of_memory++) {
		if (short_of_memory) {
			end_disk(state);
			begin_disk(state);
		}
		expect_sliced(0, short_of_memory ? 100 : SLICED);
		wait_for_disk(2);
		if (short_of_memory)
			hog_memory(25);
		for (size_t i = 0; i < NROWS(fds); i++)
			fds[i] = begin_whole("/sliced");
		usleep(short_of_memory ? 20000 : 500);
		worker_stop(&at.a.worker);
		for (size_t i = 0; i < NROWS(fds); i++)
			close(fds[i]);
		if (short_of_memory)
			free_memory();
	}
}

/* Nobody sees that the disk fails. */
static void slices_that_cannot_be_read(void **state)
{
	(void)state;
	set_slice(96 << 10);
	expect_sliced(0, SLICED);
	wait_for_disk(3);
	call_fail_at("pread", 2, EIO);
	expect_sliced(0, SLICED);
	assert_true(call_failed());
}

/* Peers */

/* What has changed meanwhile is not put together, whoever sends it. */
static void another_version_of_a_peer(void **state)
{
	size_t len;

	(void)state;
	free(ask(port_b(), "GET", "/sliced-new", "Range: bytes=0-99\r\n"));
	free(ask(port_a(), "GET", "/sliced-new", ""));
	introduce(NULL);
	len = right_bytes(ask(port_b(), "GET", "/sliced-new", ""), 200, 0);
	assert_int_equal(len, SLICE);
	expect(ask(port_b(), "GET", "/sliced-new", ""), 200, "ETag: \"v2\"");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_FAILED]), 0);
}

/* The origin is not asked for them again; and who asks as a peer gets what the
 * origin has sent, and nothing that came from another one. */
static void slices_of_a_peer(void **state)
{
	int before;

	(void)state;
	expect_sliced(0, SLICED);
	introduce(NULL);
	before = atomic_load(&at.seen);
	assert_int_equal(right_bytes(ask(port_b(), "GET", "/sliced",
					 "Range: bytes=0-99\r\n"), 206, 0),
			 100);
	assert_int_equal(right_bytes(ask(port_b(), "GET", "/sliced", ""), 200,
				     0), SLICED);
	assert_int_equal(right_bytes(ask(worker_peer_port(at.a.worker), "GET",
					 "http://h/sliced", OBJECT), 200, 0),
			 SLICED);
	expect(ask(worker_peer_port(at.b.worker), "GET", "http://h/sliced",
		   OBJECT), 504, NULL);
	assert_int_equal(atomic_load(&at.seen), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, two_nodes_end)
#define DISK_TEST(name) \
	cmocka_unit_test_setup_teardown(name, begin_disk, end_disk)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_missing_is_fetched),
		TEST(origins_that_change),
		TEST(little_memory),
		TEST(no_memory),
		TEST(slices_of_a_peer),
		TEST(another_version_of_a_peer),
		DISK_TEST(slices_on_disk),
		DISK_TEST(slices_that_cannot_be_read),
		DISK_TEST(stopping_in_the_middle),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
