/*
 * The file of share_table as a module maps it: what is found in it; when the
 * path is looked at again, as a table comes, is replaced, or falls silent; how
 * long a mapping stays; and files that are none, or cannot be mapped.
 */
#include "digestd/modules/table_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/codec/alloc.h"
#include "tests/modules/table_file.h"
#include "tests/os/still_clock.h"
#include "tests/unit.h"

#define URL "http://www.example.com/1"

enum {
	GONE_MS = SCD_SHARED_TABLE_SILENT_MS + 1,
	KEPT_MS = 60000,
};

static struct table_map *map;
static unsigned nlooks; /* at the path */
static void *mapped[8]; /* without those of the writer */
static int nested; /* what another thread hears that looks meanwhile */
static bool fstat_fails, mmap_fails;

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
	if (!strcmp(path, table_file_path)) {
		nlooks++;
		nested = table_map_open(map);
	}
	return __real_open(path, flags, mode);
}

int __real_fstat(int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out)
{
	errno = EIO;
	return fstat_fails ? -1 : __real_fstat(fd, out);
}

/* Where that is noted; of null, where another one can be. */
static void **mapping_of(const void *memory)
{
	for (size_t i = 0; i < NROWS(mapped); i++) {
		if (mapped[i] == memory)
			return &mapped[i];
	}
	return NULL;
}

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	if (prot & PROT_WRITE) /* the writer's own */
		return __real_mmap(at, n, prot, flags, fd, from);
	errno = ENOMEM;
	return mmap_fails ? MAP_FAILED
			  : (*mapping_of(NULL) = __real_mmap(at, n, prot, flags,
							     fd, from));
}

int __real_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n)
{
	void **place = mapping_of(at);

	if (place)
		*place = NULL;
	return __real_munmap(at, n);
}

static unsigned mappings(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < NROWS(mapped); i++)
		n += mapped[i] != NULL;
	return n;
}

static int set_up(void **state)
{
	(void)state;
	table_file_begin();
	nlooks = 0;
	fstat_fails = mmap_fails = false;
	map = table_map_new(table_file_path);
	return map ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	table_map_free(&map);
	assert_null(map);
	table_map_free(&map);
	table_file_end();
	return 0;
}

/* Who may have a URL, as "a b", the best one first. */
static const char *peers_of(const char *url)
{
	static char text[256];
	struct table_map_peers peers;
	size_t len = 0;
	bool any = table_map_lookup(map, url, strlen(url), &peers);

	assert_int_equal(any, peers.n > 0);
	*text = '\0';
	for (size_t i = 0; i < peers.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					i ? " " : "", peers.names[i]);
	return text;
}

/* Puts a table in which one peer, of this name, has the URL. */
static void put(const char *name)
{
	table_file_put();
	table_file_name(0, name, 1);
	table_file_add(0, URL);
}

static void best_peers_come_first(void **state)
{
	char too_long[SCD_SHARED_TABLE_URI_BYTES + 32] = "http://h/";

	(void)state;
	memset(too_long + 9, 'a', sizeof(too_long) - 10);
	table_file_put();
	for (unsigned i = 0; i < 6; i++)
		table_file_add(i, URL);
	table_file_name(0, "far", 900000);
	table_file_name(1, "near", 1000);
	table_file_name(2, "farther", 9000000);
	assert_string_equal(peers_of(URL), "near far farther");
	table_file_name(0, NULL, 0);
	assert_string_equal(peers_of(URL), "near farther");
	for (unsigned i = 0; i < 6; i++)
		table_file_name(i, &"abcdef"[i], UINT32_C(1000) << 2 * i);
	assert_string_equal(peers_of(URL),
			    "abcdef bcdef cdef def"); /* TABLE_MAP_PEERS */
	assert_string_equal(peers_of("HTTP://www.example.com:80/1"),
			    "abcdef bcdef cdef def");
	assert_string_equal(peers_of("http://www.example.com/2"), "");
	assert_string_equal(peers_of("/1"), "");
	assert_string_equal(peers_of(too_long), "");
}

/* While there is none the path is looked at every 200 ms, however many
 * requests there are. */
static void a_table_is_found_when_it_comes(void **state)
{
	(void)state;
	assert_int_equal(table_map_open(map), -ENOENT);
	assert_int_equal(nested, -EBUSY);
	assert_false(table_map_is_live(map));
	nlooks = 0;
	put("a");
	for (unsigned i = 0; i < 199; i++, still_clock_ms++)
		assert_string_equal(peers_of(URL), "");
	assert_int_equal(nlooks, 0);
	still_clock_ms++;
	assert_string_equal(peers_of(URL), "a");
	assert_true(table_map_is_live(map));
	for (unsigned i = 0; i < 100; i++, still_clock_ms += 10)
		assert_string_equal(peers_of(URL), "a");
	assert_int_equal(nlooks, 1); /* it lives: nobody looks */
	assert_int_equal(mappings(), 1);
}

/* The one before is left first, or not; requests go on finding what is there.
 * Its mapping stays a minute: lookups in it may be under way. */
static void a_table_is_replaced(void **state)
{
	(void)state;
	put("a");
	assert_string_equal(peers_of(URL), "a");
	still_clock_ms += 200;
	table_file_retire();
	nlooks = 0;
	for (unsigned i = 0; i < 100; i++, still_clock_ms++)
		assert_string_equal(peers_of(URL), "a");
	assert_in_range(nlooks, 9, 11);
	put("b");
	still_clock_ms += 10;
	assert_string_equal(peers_of(URL), "b");
	assert_int_equal(mappings(), 2);

	still_clock_ms += KEPT_MS - 1;
	table_file_beat();
	table_file_retire();
	put("c");
	assert_string_equal(peers_of(URL), "c");
	assert_int_equal(mappings(), 3); /* the first one for a ms more */
	still_clock_ms++;
	table_file_beat();
	table_file_retire();
	put("d");
	still_clock_ms += 10;
	assert_string_equal(peers_of(URL), "d");
	assert_int_equal(mappings(), 3);
	table_map_free(&map);
	assert_int_equal(mappings(), 0);
}

/* Its writer is killed, or stopped: nobody is asked any more. It may go on, or
 * another one comes. */
static void a_table_falls_silent(void **state)
{
	(void)state;
	for (unsigned stopped = 0; stopped < 2; stopped++) {
		put("a");
		still_clock_ms += 200;
		assert_string_equal(peers_of(URL), "a");
		if (stopped)
			table_file_retire();
		still_clock_ms += GONE_MS;
		nlooks = 0;
		for (unsigned i = 0; i < 400; i++, still_clock_ms++) {
			assert_string_equal(peers_of(URL), "");
			assert_false(table_map_is_live(map));
		}
		assert_in_range(nlooks, 2, 3);
	}
	put("b");
	still_clock_ms += 200;
	assert_string_equal(peers_of(URL), "b");
	still_clock_ms += GONE_MS;
	assert_string_equal(peers_of(URL), "");
	table_file_beat();
	assert_string_equal(peers_of(URL), "b");
	assert_true(table_map_is_live(map));
}

/* Whatever is at the path; a pipe without a writer blocks nobody. */
static void what_is_no_table_is_refused(void **state)
{
	static const char junk[8192] = "no table";
	int fd;

	(void)state;
	assert_int_equal(mkdir(table_file_path, 0700), 0);
	assert_int_equal(table_map_open(map), -EPROTO);
	assert_int_equal(rmdir(table_file_path), 0);
	assert_int_equal(mkfifo(table_file_path, 0600), 0);
	assert_int_equal(table_map_open(map), -EPROTO);
	assert_int_equal(unlink(table_file_path), 0);
	fd = open(table_file_path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(table_map_open(map), -EPROTO); /* it is empty */
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(table_map_open(map), -EPROTO);
	close(fd);
	assert_int_equal(mappings(), 0);
	put("a");
	assert_int_equal(table_map_open(map), 0);
	assert_string_equal(peers_of(URL), "a");
}

/* What cannot be had now leaves the table of before where it is, and is tried
 * again. */
static void what_fails_changes_nothing(void **state)
{
	static const struct {
		bool *fails;
		int error;
	} rows[] = {
		{ &fstat_fails, -EIO },
		{ &mmap_fails, -ENOMEM },
	};

	(void)state;
	put("a");
	assert_int_equal(table_map_open(map), 0);
	assert_int_equal(table_map_open(map), 0); /* it is the same */
	assert_int_equal(mappings(), 1);
	put("b");
	for (size_t i = 0; i < NROWS(rows); i++) {
		*rows[i].fails = true;
		assert_int_equal(table_map_open(map), rows[i].error);
		*rows[i].fails = false;
		assert_string_equal(peers_of(URL), "a");
	}
	alloc_fail_at(1);
	assert_int_equal(table_map_open(map), -ENOMEM);
	alloc_fail_at(0);
	assert_string_equal(peers_of(URL), "a");
	assert_int_equal(mappings(), 1);
	assert_int_equal(table_map_open(map), 0);
	assert_string_equal(peers_of(URL), "b");
}

static void one_is_made_or_not(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 2; n++) {
		alloc_fail_at(n);
		assert_null(table_map_new("path"));
		assert_true(alloc_failed());
	}
	alloc_fail_at(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(best_peers_come_first),
		TEST(a_table_is_found_when_it_comes),
		TEST(a_table_is_replaced),
		TEST(a_table_falls_silent),
		TEST(what_is_no_table_is_refused),
		TEST(what_fails_changes_nothing),
		TEST(one_is_made_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
