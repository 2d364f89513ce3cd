/*
 * What was seen, in its file: a round trip; a file that is damaged anywhere,
 * cut anywhere, another's, or none; and that an old file stays when a new one
 * cannot be written. And its keeper: what a restart remembers.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/admission.h"
#include "digestd/cache/admission_file.h"
#include "digestd/cache/admission_keeper.h"
#include "digestd/cache/admitter.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { WINDOW = 500, MOST_BYTES = 1 << 16 };

static char folder[] = "/tmp/scd-test-admission-XXXXXX";
static char path[64], beside[64];

static int set_up(void **state)
{
	(void)state;
	log_set_level("error");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/seen", folder);
	snprintf(beside, sizeof(beside), "%s/seen.new", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder);
}

static struct scd_key key_of(unsigned n)
{
	return (struct scd_key){ 0x9e3779b97f4a7c15u * (n + 1), n };
}

static struct scd_admission *filter(unsigned nkeys)
{
	struct scd_admission *a;

	assert_int_equal(scd_admission_new(&a, WINDOW), 0);
	for (unsigned i = 0; i < nkeys; i++) {
		struct scd_key key = key_of(i);

		scd_admission_use(a, &key);
	}
	return a;
}

static const struct admission_file mine = { path, "0123456789abcde" };
static const struct admission_file others = { path, "another key's ." };

static void save(unsigned nkeys)
{
	struct scd_admission *a = filter(nkeys);

	assert_int_equal(admission_file_save(&mine, a), 0);
	scd_admission_free(&a);
	assert_int_equal(access(beside, F_OK), -1);
}

/* Loading fails so, and leaves *out alone. */
static void check_load(const struct admission_file *f, int expected)
{
	struct scd_admission *a = NULL;

	assert_int_equal(admission_file_load(f, WINDOW, &a), expected);
	assert_null(a);
}

static size_t read_all(uint8_t *bytes)
{
	FILE *file = fopen(path, "re");
	size_t len;

	assert_non_null(file);
	len = fread(bytes, 1, MOST_BYTES, file);
	fclose(file);
	return len;
}

static void write_all(const uint8_t *bytes, size_t len)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

static void test_round_trip(void **state)
{
	struct scd_admission *a = NULL;
	struct stat st;

	(void)state;
	save(100);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(admission_file_load(&mine, WINDOW, &a), 0);
	assert_true(scd_admission_window(a) >= WINDOW);
	for (unsigned i = 0; i < 100; i++) {
		struct scd_key key = key_of(i);

		assert_true(scd_admission_use(a, &key));
	}
	scd_admission_free(&a);
	unlink(path);
}

/* A write over an older one, with what an interrupted one has left. */
static void test_replacing(void **state)
{
	struct scd_admission *a = NULL;
	struct scd_key key = key_of(199);

	(void)state;
	save(100);
	write_all((const uint8_t *)"x", 1);
	assert_int_equal(rename(path, beside), 0);
	save(100);
	save(200);
	assert_int_equal(admission_file_load(&mine, WINDOW, &a), 0);
	assert_true(scd_admission_use(a, &key));
	scd_admission_free(&a);
	unlink(path);
}

/* In its mark it is another's; elsewhere it is damaged, or says that it has
 * a window larger than any. */
static void check_damaged(bool in_mark)
{
	struct scd_admission *a = NULL;
	int err = admission_file_load(&mine, WINDOW, &a);

	assert_null(a);
	if (in_mark)
		assert_int_equal(err, -EKEYREJECTED);
	else
		assert_true(err == -EBADMSG || err == -EOVERFLOW);
}

static void test_damage(void **state)
{
	static uint8_t bytes[MOST_BYTES];
	size_t len;

	(void)state;
	save(20);
	len = read_all(bytes);
	assert_true(len > 32 && len < MOST_BYTES);
	for (size_t i = 0; i < len; i++) {
		bytes[i] ^= 1 << i % 8;
		write_all(bytes, len);
		check_damaged(i < 16);
		bytes[i] ^= 1 << i % 8;
	}
	for (size_t cut = 0; cut < len; cut += cut < 40 ? 1 : 17) {
		write_all(bytes, cut);
		check_load(&mine, -EBADMSG);
	}
	write_all(bytes, len);
	check_load(&others, -EKEYREJECTED);
	unlink(path);
}

static void test_no_such_file(void **state)
{
	struct scd_admission *a = NULL;

	(void)state;
	check_load(&mine, -ENOENT);
	assert_int_equal(mkdir(path, 0700), 0);
	check_load(&mine, -EINVAL);
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	check_load(&mine, -EINVAL); /* and nobody waits for its other end */
	unlink(path);
	save(20);
	assert_int_equal(admission_file_load(&mine, 1, &a), -EOVERFLOW);
	unlink(path);
}

/* Where nothing can be written, and where nothing may take the place. */
static void test_failing_writes(void **state)
{
	struct scd_admission *a = filter(10);
	char name[PATH_MAX + 8];
	struct admission_file f = mine;

	(void)state;
	f.path = "/nonexistent/seen";
	assert_int_equal(admission_file_save(&f, a), -ENOENT);
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	f.path = name;
	assert_int_equal(admission_file_save(&f, a), -ENAMETOOLONG);
	assert_int_equal(mkdir(path, 0700), 0); /* which no rename replaces */
	assert_int_equal(admission_file_save(&mine, a), -EISDIR);
	assert_int_equal(access(beside, F_OK), -1);
	rmdir(path);
	assert_int_equal(mkdir(beside, 0700), 0);
	assert_int_equal(admission_file_save(&mine, a), -EEXIST);
	rmdir(beside);
	scd_admission_free(&a);
}

static void test_every_allocation(void **state)
{
	struct scd_admission *a = filter(10), *b;
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		int err;

		alloc_fail_at(n);
		err = admission_file_save(&mine, a);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
	}
	failed = true;
	for (unsigned n = 1; failed; n++) {
		int err;

		b = NULL;
		alloc_fail_at(n);
		err = admission_file_load(&mine, WINDOW, &b);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		scd_admission_free(&b);
	}
	scd_admission_free(&a);
	unlink(path);
}

/* What cannot be written leaves what there was, until the rename; what cannot
 * be read is an error. */
static void test_every_call(void **state)
{
	static const char *const calls[] = { "open", "write", "fsync", "close",
					     "rename", "fstat" };
	struct scd_admission *a = filter(200);

	(void)state;
	for (size_t c = 0; c < NROWS(calls); c++) {
		bool failed = true;

		for (unsigned n = 1; failed; n++) {
			struct scd_admission *b = NULL;
			int err;

			save(100);
			call_fail_at(calls[c], n, EIO);
			err = admission_file_save(&mine, a);
			if (!err)
				err = admission_file_load(&mine, WINDOW, &b);
			failed = call_failed();
			call_fail_at(calls[c], 0, 0);
			if (strcmp(calls[c], "close") != 0)
				assert_int_equal(err, failed ? -EIO : 0);
			scd_admission_free(&b);
			assert_int_equal(access(beside, F_OK), -1);
			b = NULL;
			assert_int_equal(admission_file_load(&mine, WINDOW, &b),
					 0);
			scd_admission_free(&b);
		}
	}
	scd_admission_free(&a);
	unlink(path);
}

/* The keeper */

static struct admitter *admitter_with(const char *policy, uint64_t window)
{
	const struct admitter_settings settings = {
		.policy = policy, .eviction = "sieve", .capacity = 1 << 20,
		.memory = 1 << 20, .mean_size = 1024, .window = window,
	};
	struct admitter *a;

	assert_int_equal(admitter_new(&settings, 0, &a), 0);
	return a;
}

static struct admitter *admitter_of(uint64_t window)
{
	return admitter_with("aged", window);
}

/*
 * A node's life: whether it starts, and whether it knows key 1 at first. It
 * has seen that at the end, and written so.
 */
static int live(const struct admission_file *f, uint64_t window, bool *knew)
{
	struct admitter *a = admitter_of(window);
	struct scd_key key = key_of(1);
	struct admission_keeper *k;
	struct loop *loop;
	int err;

	assert_int_equal(loop_new(&loop), 0);
	err = admission_keeper_new(loop, a, f->path, f->secret, &k);
	if (!err) {
		*knew = admitter_answer(a, &key, 1, true, 0) ==
			ADMISSION_DISK;
		assert_false(admission_keeper_is_busy(k));
		admission_keeper_wait(k);
		admission_keeper_free(&k);
		assert_null(k);
		admission_keeper_free(&k);
	}
	admitter_free(&a);
	loop_free(&loop);
	return err;
}

static const struct {
	const char *label;
	uint64_t first, then; /* windows; 0: not given */
	bool other_key, knows;
} lives[] = {
	{ "a restart remembers", 0, 0, false, true },
	{ "with a window that was given", WINDOW, WINDOW, false, true },
	{ "with another one, it does not", WINDOW, WINDOW * 4, false, false },
	{ "nor with a smaller one", WINDOW * 4, WINDOW, false, false },
	{ "one that is given no more", WINDOW, 0, false, true },
	{ "under another key", 0, 0, true, false },
};

static void test_restarts(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(lives); i++) {
		bool knew = true;

		assert_int_equal(live(&mine, lives[i].first, &knew), 0);
		assert_false(knew);
		assert_int_equal(live(lives[i].other_key ? &others : &mine,
				      lives[i].then, &knew), 0);
		if (knew != lives[i].knows)
			fail_msg("%s", lives[i].label);
		unlink(path);
	}
}

/* A file that is damaged costs what was seen, and not the start. */
static void test_start_after_damage(void **state)
{
	bool knew;

	(void)state;
	assert_int_equal(live(&mine, 0, &knew), 0);
	assert_int_equal(truncate(path, 20), 0);
	assert_int_equal(live(&mine, 0, &knew), 0);
	assert_false(knew);
	assert_int_equal(live(&mine, 0, &knew), 0);
	assert_true(knew);
	unlink(path);
}

/* A start without memory fails, or is one without what was seen. */
static void test_start_without_memory(void **state)
{
	bool failed = true, knew;

	(void)state;
	assert_int_equal(live(&mine, 0, &knew), 0);
	for (unsigned n = 1; failed; n++) {
		struct admitter *a = admitter_of(0);
		struct admission_keeper *k = NULL;
		struct scd_key key = key_of(1);
		struct loop *loop;
		int err;

		assert_int_equal(loop_new(&loop), 0);
		alloc_fail_at(n);
		err = admission_keeper_new(loop, a, mine.path, mine.secret, &k);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, n <= 2 ? -ENOMEM : 0);
		assert_int_equal(admitter_answer(a, &key, 1, false, 0) ==
				 ADMISSION_DISK, !failed);
		call_fail_at("open", 1, EIO); /* what is there stays */
		admission_keeper_free(&k);
		call_fail_at("", 0, 0);
		admitter_free(&a);
		loop_free(&loop);
	}
	assert_int_equal(live(&mine, 0, &knew), 0);
	assert_true(knew);
	unlink(path);
}

/* A policy that remembers nothing neither reads the file nor writes one. */
static void test_nothing_to_keep(void **state)
{
	struct admitter *a = admitter_with("none", 0);
	struct admission_keeper *k;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(admission_keeper_new(loop, a, path, mine.secret, &k),
			 0);
	admission_keeper_free(&k);
	assert_int_equal(access(path, F_OK), -1);
	admitter_free(&a);
	loop_free(&loop);
}

/* What may not be replaced ends the start, and is still there. */
static void test_what_is_no_file(void **state)
{
	struct stat st;
	bool knew;

	(void)state;
	log_set_level("error");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(live(&mine, 0, &knew), -EINVAL);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_replacing),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_such_file),
		cmocka_unit_test(test_failing_writes),
		cmocka_unit_test(test_every_allocation),
		cmocka_unit_test(test_every_call),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_start_after_damage),
		cmocka_unit_test(test_start_without_memory),
		cmocka_unit_test(test_nothing_to_keep),
		cmocka_unit_test(test_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
