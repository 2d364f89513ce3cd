/*
 * The arena of bodies: held against a model, with readers that are slow, with
 * threads, and where the system refuses.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digestd/os/arena.h"
#include "digestd/os/body_memory.h"
#include "tests/codec/random.h"
#include "tests/loopback.h"
#include "tests/os/call_faults.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	KIB = 1024,
	MIB = 1 << 20,
	SEGMENT = 2 * MIB,
	PAGE = 4 * KIB,
	BODIES = 64,
};

CALL_WRAPPER(void *, mmap,
	     (void *at, size_t len, int protection, int flags, int fd,
	      off_t offset),
	     (at, len, protection, flags, fd, offset), MAP_FAILED)

/* What happens meanwhile, if something is to; then that call fails. */
static void (*during_madvise)(void);

static bool has_no_huge_pages; /* the system, as it says each time */
static atomic_uint asked;      /* times */

int __real_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice)
{
	void (*meanwhile)(void) = during_madvise;

	asked++;
	if (has_no_huge_pages) {
		errno = EINVAL;
		return -1;
	}
	if (!meanwhile)
		return call_fails("madvise")
			       ? -1
			       : __real_madvise(at, len, advice);
	during_madvise = NULL;
	meanwhile();
	errno = EAGAIN;
	return -1;
}

CALL_WRAPPER(ssize_t, pwrite,
	     (int fd, const void *bytes, size_t len, off_t offset),
	     (fd, bytes, len, offset), -1)

static struct arena *arena;

static int make_arena(void **state)
{
	(void)state;
	assert_int_equal(arena_new(&arena, 128 * MIB), 0);
	return 0;
}

static int free_arena(void **state)
{
	(void)state;
	call_fail_at(NULL, 0, 0);
	has_no_huge_pages = false;
	arena_free(&arena);
	assert_null(arena);
	arena_free(&arena);
	return 0;
}

/* A body, which has its number in all of its bytes. */
struct body {
	char *at;
	size_t size;
	unsigned char is;
	bool sealed;
};

static void body_make(struct body *b, size_t size, unsigned char is)
{
	*b = (struct body){arena_take(arena, size), size, is, false};
	if (b->at)
		memset(b->at, is, size);
}

static void body_seal(struct body *b)
{
	arena_seal(arena, b->at);
	b->sealed = true;
}

/* Looks at a byte of each page. */
static void body_check(const struct body *b)
{
	for (size_t i = 0; i < b->size; i += PAGE / 2)
		assert_int_equal((unsigned char)b->at[i], b->is);
	assert_int_equal((unsigned char)b->at[b->size - 1], b->is);
}

static void body_drop(struct body *b)
{
	body_check(b);
	arena_drop(arena, b->at);
	b->at = NULL;
}

static size_t random_size(uint64_t *x)
{
	static const size_t most[] = {64 * KIB, 300 * KIB, MIB, 5 * MIB};
	uint64_t kind = random_below(x, 16);

	return 32 * KIB + 1 +
	       random_below(x, most[kind < 8    ? 0
				    : kind < 13 ? 1
						: 2 + kind / 15]);
}

/* The two ends of a connection; the first one does not block. */
static void connect_ends(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
}

/* Sends a body, and throws away what comes, so that its pages are dirty. */
static void body_send(const struct body *b)
{
	static char sink[SEGMENT];
	size_t sent = 0;
	int fds[2];

	connect_ends(fds);
	while (sent < b->size) {
		ssize_t n =
			arena_send(arena, fds[0], b->at + sent, b->size - sent);

		assert_true(n > 0);
		sent += (size_t)n;
		while (n > 0) {
			ssize_t got = read(fds[1], sink, (size_t)n);

			assert_true(got > 0);
			assert_int_equal((unsigned char)sink[0], b->is);
			assert_int_equal((unsigned char)sink[got - 1], b->is);
			n -= got;
		}
	}
	close(fds[0]);
	close(fds[1]);
}

static struct arena_stats stats(void)
{
	struct arena_stats s;

	arena_stats(arena, &s);
	assert_true(s.held >= s.bodies + s.dirty);
	return s;
}

/* What it holds is bounded by what is in it, see arena.h; but what is written
 * to stays where it is. */
static void check_waste(size_t nopen)
{
	struct arena_stats s = stats();

	assert_in_range(s.held - s.bodies, 0,
			s.held / 8 + (3 + 2 * nopen) * SEGMENT);
}

/* What the kernel has of its file [bytes]. */
static size_t file_bytes(void)
{
	DIR *fds = opendir("/proc/self/fd");
	size_t bytes = 0;

	assert_non_null(fds);
	for (struct dirent *d; (d = readdir(fds)) != NULL;) {
		char target[80] = {0};
		struct stat is;

		if (readlinkat(dirfd(fds), d->d_name, target,
			       sizeof(target) - 1) > 0 &&
		    !strncmp(target, "/memfd:bodies", 13) &&
		    fstat(atoi(d->d_name), &is) == 0)
			bytes += 512 * (size_t)is.st_blocks;
	}
	closedir(fds);
	return bytes;
}

static void body_change(struct body *b, uint64_t *x)
{
	size_t size = random_below(x, 2) ? b->size / 2 + 1 : b->size * 5 / 4;

	switch (random_below(x, 4)) {
	case 0:
		if (!b->sealed && arena_resize(arena, b->at, size)) {
			b->size = size;
			memset(b->at, b->is, size);
		}
		break;
	case 1:
		if (!b->sealed)
			body_seal(b);
		break;
	case 2:
		if (b->sealed)
			body_send(b);
		break;
	case 3:
		body_drop(b);
		break;
	}
}

static size_t count_open(const struct body bodies[BODIES])
{
	size_t n = 0;

	for (int i = 0; i < BODIES; i++)
		n += bodies[i].at && !bodies[i].sealed;
	return n;
}

/* Random bodies do what bodies do; each keeps its bytes. */
static void a_model(uint64_t seed, int rounds)
{
	struct body bodies[BODIES] = {0};
	size_t before = file_bytes();
	uint64_t x = seed;

	for (int i = 0; i < rounds; i++) {
		struct body *b = &bodies[random_below(&x, BODIES)];

		if (b->at)
			body_change(b, &x);
		else
			body_make(b, random_size(&x), (unsigned char)i);
		if (b->at && !b->sealed && random_below(&x, 4))
			body_seal(b);
		check_waste(count_open(bodies));
		if (!random_below(&x, 64) && stats().bodies > SEGMENT)
			assert_in_range(file_bytes(), 0,
					before + stats().held);
	}
	for (int i = 0; i < BODIES; i++)
		if (bodies[i].at)
			body_drop(&bodies[i]);
	assert_int_equal(stats().bodies, 0);
	assert_int_equal(stats().dirty, 0);
	assert_true(stats().held <= 2 * SEGMENT);
	assert_in_range(file_bytes(), 0, before + 2 * SEGMENT);
}

static void bodies_are_as_they_were_made(void **state)
{
	(void)state;
	a_model(1, rounds_of(1500, 100000));
	assert_true(stats().moved > 0);
}

/* As on a system without huge pages for such files. */
static void it_goes_with_small_pages(void **state)
{
	(void)state;
	has_no_huge_pages = true;
	a_model(2, rounds_of(700, 50000));
	assert_true(stats().refused > 0);
}

/* That was said once, of one range: the next segment has a huge page. */
static void one_refusal_is_not_for_ever(void **state)
{
	struct body bodies[2];

	(void)state;
	call_fail_at("madvise", 1, EINVAL);
	asked = 0;
	for (unsigned char i = 0; i < 2; i++)
		body_make(&bodies[i], SEGMENT, i);
	assert_int_equal(asked, 2);
	for (unsigned i = 0; i < 2; i++)
		body_drop(&bodies[i]);
}

/* Where it is said each time, hardly anybody asks. */
static void nobody_goes_on_asking_in_vain(void **state)
{
	struct body body;

	(void)state;
	has_no_huge_pages = true;
	asked = 0;
	for (unsigned char i = 0; i < 200; i++) {
		body_make(&body, SEGMENT, i);
		body_drop(&body);
	}
	assert_in_range(asked, 4, 4 + 200 / 64);
}

static struct body leaving;

static void leave(void)
{
	body_drop(&leaving);
}

/* A segment that is full once more does not become a huge page, and a body has
 * gone while that was tried: its pages go, too. */
static void a_body_goes_while_its_segment_stays_small(void **state)
{
	size_t before = file_bytes();
	struct body stays;

	(void)state;
	call_fail_at("madvise", 1, EAGAIN);
	body_make(&leaving, 400 * KIB, 1);
	body_seal(&leaving);
	body_make(&stays, 1600 * KIB, 2);
	during_madvise = leave;
	body_seal(&stays);
	assert_null(during_madvise);
	assert_int_equal(stats().held, 1600 * KIB);
	assert_in_range(file_bytes(), 0, before + 1600 * KIB);
	body_drop(&stays);
}

static void it_is_exhausted(void **state)
{
	struct body bodies[80];
	int n = 0;

	(void)state;
	assert_null(arena_take(arena, 200 * MIB));
	do
		body_make(&bodies[n], 2 * MIB, (unsigned char)n);
	while (bodies[n].at && ++n < 80);
	assert_in_range(n, 62, 66);
	assert_true(stats().refused > 0);
	body_drop(&bodies[--n]);
	body_make(&bodies[n], 2 * MIB, 200);
	assert_non_null(bodies[n++].at);
	while (n)
		body_drop(&bodies[--n]);
}

/* Whatever call fails, once: bodies keep their bytes, and memory is returned.
 */
static void calls_fail(void **state)
{
	static const struct {
		const char *function;
		int error;
	} rows[] = {
		{"mmap", ENOMEM},
		{"madvise", EAGAIN},
		{"pwrite", ENOSPC},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		for (unsigned n = 1; n <= 4; n++) {
			call_fail_at(rows[i].function, n, rows[i].error);
			a_model(n, 150);
		}
	}
}

static void it_is_not_there(void **state)
{
	static const struct {
		const char *function;
		int error;
	} rows[] = {
		{"mmap", ENOMEM},
		{"memfd_create", EMFILE},
		{"ftruncate", EINVAL},
	};
	unsigned descriptors = call_descriptors();
	struct arena *none;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		call_fail_at(rows[i].function, 1, rows[i].error);
		assert_int_equal(arena_new(&none, MIB), -rows[i].error);
		assert_null(none);
		assert_int_equal(call_descriptors(), descriptors);
	}
}

/* Two sockets over loopback: what is queued is the sender's pages. */
static void connect_loopback(int fds[2])
{
	unsigned port;
	int listener = loopback_listen(&port);

	fds[1] = loopback_dial(port);
	fds[0] = accept(listener, NULL, NULL);
	assert_true(fds[0] >= 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	close(listener);
}

/* What has been sent, and not received yet. */
struct queued {
	int fds[2];
	size_t bytes;
	unsigned char is;
};

static void queue_body(struct queued *q, const struct body *b)
{
	ssize_t n;

	*q = (struct queued){.is = b->is};
	connect_loopback(q->fds);
	while (q->bytes < b->size) {
		n = arena_send(arena, q->fds[0], b->at + q->bytes,
			       b->size - q->bytes);
		if (n == -EAGAIN)
			break;
		assert_true(n > 0);
		q->bytes += (size_t)n;
	}
	assert_true(q->bytes > 64 * KIB);
}

static void receive_queued(struct queued *q)
{
	static char buf[64 * KIB];

	while (q->bytes) {
		ssize_t n = read(q->fds[1], buf, sizeof(buf));

		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++)
			if ((unsigned char)buf[i] != q->is)
				fail_msg("%d in place of %d", buf[i], q->is);
		q->bytes -= (size_t)n;
	}
	close(q->fds[0]);
	close(q->fds[1]);
}

/* The bodies that they read leave, and others take all room there is. */
static void slow_readers(size_t size)
{
	enum { READERS = 12, OTHERS = 200 };
	struct queued readers[READERS];
	struct body bodies[3 * READERS], other[4] = {0};

	for (int i = 0; i < 3 * READERS; i++) {
		body_make(&bodies[i], size, (unsigned char)(i + 1));
		body_seal(&bodies[i]);
	}
	for (int i = 0; i < READERS; i++) {
		queue_body(&readers[i], &bodies[i * 3]);
		body_drop(&bodies[i * 3]);
		if (i % 2)
			body_drop(&bodies[i * 3 + 1]);
	}
	for (int i = 0; i < OTHERS; i++) {
		struct body *b = &other[i % 4];

		if (b->at)
			body_drop(b);
		body_make(b, size, (unsigned char)(100 + i % 100));
		body_seal(b);
	}
	for (int i = 0; i < 3 * READERS; i++)
		if (i % 3 == 2 || (i % 3 == 1 && !(i / 3 % 2)))
			body_check(&bodies[i]);
	for (int i = 0; i < READERS; i++)
		receive_queued(&readers[i]);
	check_waste(0);
}

static void what_is_in_sockets_stays(void **state)
{
	(void)state;
	slow_readers(100 * KIB);
}

static void what_is_in_sockets_of_a_body_alone_stays(void **state)
{
	(void)state;
	slow_readers(SEGMENT - 64 * KIB);
}

static void what_is_in_sockets_of_small_pages_stays(void **state)
{
	(void)state;
	has_no_huge_pages = true;
	slow_readers(100 * KIB);
}

/* Threads: each has its bodies, and all send one. */
enum { THREADS = 4 };
static struct body common;
static atomic_int failed;

static bool thread_body_is_right(const struct body *b)
{
	for (size_t i = 0; i < b->size; i += PAGE)
		if ((unsigned char)b->at[i] != b->is)
			return false;
	return true;
}

static void *run_thread(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg;
	struct body bodies[12] = {0};
	static _Thread_local char sink[256 * KIB];
	int fds[2];

	connect_ends(fds);
	for (int i = 0; i < rounds_of(600, 20000); i++) {
		struct body *b = &bodies[random_below(&x, 12)];
		const struct body *s = random_below(&x, 2) ? &common : b;

		if (!b->at) {
			body_make(b, 40 * KIB + random_below(&x, MIB),
				  (unsigned char)i);
			if (b->at)
				body_seal(b);
		} else if (random_below(&x, 2)) {
			ssize_t n = arena_send(arena, fds[0], s->at, 32 * KIB);

			if (n > 0 && (read(fds[1], sink, (size_t)n) != n ||
				      (unsigned char)sink[n - 1] != s->is))
				atomic_store(&failed, 1);
		} else {
			if (!thread_body_is_right(b))
				atomic_store(&failed, 1);
			arena_drop(arena, b->at);
			b->at = NULL;
		}
	}
	for (int i = 0; i < 12; i++)
		if (bodies[i].at)
			arena_drop(arena, bodies[i].at);
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

static void threads_share_it(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	body_make(&common, 200 * KIB, 77);
	body_seal(&common);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_thread,
						(void *)(uintptr_t)(i + 1)),
				 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&failed), 0);
	body_drop(&common);
	assert_int_equal(stats().bodies, 0);
}

/* The process's own: only what is large and to be stored is in it. */
static void bodies_have_an_arena(void **state)
{
	struct body_memory_stats s;
	char *bytes = body_memory_resize(NULL, 0, 3 * MIB), *other;

	(void)state;
	assert_false(body_memory_is_in_file(bytes));
	assert_false(body_memory_is_in_file(NULL));
	memset(bytes, 'x', 3 * MIB);
	bytes = body_memory_fit(bytes, 2 * MIB, 2 * MIB);
	assert_true(body_memory_is_in_file(bytes));
	other = body_memory_fit(NULL, 0, BODY_MEMORY_SMALL);
	assert_false(body_memory_is_in_file(other));
	body_memory_free(other);
	other = body_memory_fit(NULL, 0, MIB);
	bytes = body_memory_resize(bytes, 2 * MIB, 40 * MIB); /* moves */
	bytes = body_memory_fit(bytes, 2 * MIB, 2 * MIB - 1);
	assert_true(body_memory_is_in_file(bytes));
	for (int i = 0; i < 2 * MIB - 1; i++)
		assert_int_equal(bytes[i], 'x');
	body_memory_seal(bytes);
	body_memory_stats(&s);
	assert_int_equal(s.bodies, 3 * MIB);
	body_memory_free(bytes);
	body_memory_free(other);
	body_memory_seal(NULL);
	body_memory_free(NULL);
	body_memory_stats(&s);
	assert_int_equal(s.bodies, 0);
	assert_in_range(s.held, 0, 2 * SEGMENT);
}

#define IN_ARENA(test)                                                         \
	cmocka_unit_test_setup_teardown(test, make_arena, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_ARENA(bodies_are_as_they_were_made),
		IN_ARENA(it_goes_with_small_pages),
		IN_ARENA(one_refusal_is_not_for_ever),
		IN_ARENA(nobody_goes_on_asking_in_vain),
		IN_ARENA(a_body_goes_while_its_segment_stays_small),
		IN_ARENA(it_is_exhausted),
		IN_ARENA(calls_fail),
		cmocka_unit_test(it_is_not_there),
		IN_ARENA(what_is_in_sockets_stays),
		IN_ARENA(what_is_in_sockets_of_a_body_alone_stays),
		IN_ARENA(what_is_in_sockets_of_small_pages_stays),
		IN_ARENA(threads_share_it),
		cmocka_unit_test(bodies_have_an_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
