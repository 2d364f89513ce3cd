/*
 * The access log: what is noted gets to files, pipes, the syslog and live
 * readers, whole and in order; what cannot be written is counted, and costs
 * nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>

#include "digestd/http/access_feed.h"
#include "digestd/os/access_log.h"
#include "digestd/os/log.h"
#include "digestd/os/syslog_socket.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { PATIENCE_MS = 10000, LONG = 8192 }; /* of a text, that much is kept */

static char folder[] = "/tmp/scd-access-XXXXXX";
static struct access_log *a_log;
static struct access_ring *ring;

/* Valid until the call after the next. */
static const char *path_of(const char *name)
{
	static char paths[2][sizeof(folder) + 32];
	static unsigned turn;

	turn ^= 1;
	snprintf(paths[turn], sizeof(paths[0]), "%s/%s", folder, name);
	return paths[turn];
}

static int make_folder(void **state)
{
	(void)state;
	log_set_level("error");
	signal(SIGXFSZ, SIG_IGN); /* a write tells of it */
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(access_log_new(&a_log), 0);
	ring = access_log_ring(a_log);
	return ring ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "a", "b", "pipe", "socket" };

	(void)state;
	access_log_free(&a_log);
	for (size_t i = 0; i < NROWS(names); i++)
		unlink(path_of(names[i]));
	return 0;
}

static int log_to_a(void)
{
	return access_log_set(a_log, path_of("a"), "%{target}");
}

static void put_target(const char *target, size_t len)
{
	const struct access_record r = {
		.status = 200, .minor = 1, .target = { target, len },
	};

	access_ring_put(ring, &r, NULL);
}

static void put(const char *target)
{
	put_target(target, strlen(target));
}

static struct access_log_counters counted(void)
{
	struct access_log_counters c;

	access_log_count(a_log, &c);
	return c;
}

/* Waits until so many lines have been written, or given up. */
static void wait_for_lines(uint64_t written, uint64_t failed)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (counted().written >= written && counted().failed >= failed)
			break;
		nanosleep(&pause, NULL);
	}
	assert_int_equal(counted().written, written);
	assert_int_equal(counted().failed, failed);
}

/* The thread's waits for who reads are shorter here, and counted. */
static atomic_uint waits;

int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	int ready = __real_poll(fds, n, ms < 5 ? ms : 5);

	if (!ready)
		atomic_fetch_add(&waits, 1);
	return ready;
}

/* Waits until the thread waits for who reads. */
static void wait_for_wait(void)
{
	atomic_store(&waits, 0);
	for (int ms = 0; ms < PATIENCE_MS && !atomic_load(&waits); ms++)
		usleep(1000);
	assert_true(atomic_load(&waits) > 0);
}

/* What is in a file, as a text of up to a MiB. */
static const char *text_of(const char *name)
{
	static char text[1 << 20];
	FILE *file = fopen(path_of(name), "r");
	size_t n;

	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	return text;
}

static void lines_are_what_was_noted(void **state)
{
	const struct sockaddr_in in4 = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000207),
	};
	const struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_addr.s6_addr = { 0x20, 1, 0xd, 0xb8, [15] = 9 },
	};
	const struct sockaddr local = { .sa_family = AF_UNIX };
	const struct access_record r = {
		.status = 404,
		.method = { "GET", 3 },
		.target = { "/t", 2 },
		.host = { "h:1", 3 },
		.referer = { "ref", 3 },
		.agent = { "agent", 5 },
		.from = { "peer", 4 },
		.reason = { "why", 3 },
	};
	const struct sockaddr *const clients[] = {
		(const struct sockaddr *)&in4, (const struct sockaddr *)&in6,
		&local, NULL,
	};

	(void)state;
	assert_false(access_ring_is_on(ring));
	assert_int_equal(access_log_set(a_log, path_of("a"),
					"%{client} %{method} %{target} %{host} "
					"%{referer} %{agent} %{from} %{reason} "
					"%{status}"), 0);
	assert_true(access_ring_is_on(ring));
	for (size_t i = 0; i < NROWS(clients); i++)
		access_ring_put(ring, &r, clients[i]);
	access_log_free(&a_log);
	assert_string_equal(text_of("a"),
			    "192.0.2.7 GET /t h:1 ref agent peer why 404\n"
			    "2001:db8::9 GET /t h:1 ref agent peer why 404\n"
			    "unix: GET /t h:1 ref agent peer why 404\n"
			    "- GET /t h:1 ref agent peer why 404\n");
}

/* As logrotate does: a line is in the file that there was when it came, or in
 * the one after that; it is in one of them. */
static void goes_on_in_another_file(void **state)
{
	size_t n;

	(void)state;
	assert_int_equal(log_to_a(), 0);
	put("/1");
	wait_for_lines(1, 0);
	assert_int_equal(rename(path_of("a"), path_of("b")), 0);
	put("/2");
	wait_for_lines(2, 0);
	assert_string_equal(text_of("b"), "/1\n/2\n");
	assert_int_equal(access_log_set(a_log, path_of("a"), "[%{target}]"), 0);
	for (n = 2; !*text_of("a"); ) {
		put("/more");
		wait_for_lines(++n, 0);
	}
	assert_string_equal(text_of("a"), "[/more]\n");
	assert_int_equal(strlen(text_of("b")), 6 + 6 * (n - 3));
	assert_int_equal(access_log_set(a_log, NULL, NULL), 0);
	assert_false(access_ring_is_on(ring));
	access_log_free(&a_log);
	assert_string_equal(text_of("a"), "[/more]\n");
}

/* More changes than the thread takes notice of: the line is in one of both, and
 * the files that it never wrote to are closed. */
static void place_that_nobody_took(void **state)
{
	unsigned before = call_descriptors();
	char in_a[16];

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(log_to_a(), 0);
		assert_int_equal(access_log_set(a_log, path_of("b"),
						"%{target}"), 0);
	}
	put("/");
	wait_for_lines(1, 0);
	snprintf(in_a, sizeof(in_a), "%s", text_of("a"));
	assert_string_equal(*in_a ? in_a : text_of("b"), "/\n");
	assert_int_equal(strlen(in_a) + strlen(text_of("b")), 2);
	access_log_free(&a_log);
	assert_int_equal(call_descriptors(), before);
}

static void standard_output(void **state)
{
	int kept = dup(STDOUT_FILENO), file;

	(void)state;
	fflush(stdout);
	file = open(path_of("a"), O_WRONLY | O_CREAT, 0600);
	assert_true(kept >= 0 && file >= 0);
	dup2(file, STDOUT_FILENO);
	close(file);
	file = access_log_set(a_log, "stdout", "%{target}");
	put("/out");
	access_log_free(&a_log);
	/* it is not the log's to close */
	assert_int_equal(fcntl(STDOUT_FILENO, F_GETFD), 0);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	assert_int_equal(file, 0);
	assert_string_equal(text_of("a"), "/out\n");
}

static void place_that_cannot_be_had(void **state)
{
	static const struct {
		const char *path, *format;
		int err;
	} cases[] = {
		{ "none/a", "common", -ENOENT },
		{ "b", "%{nonsense}", -EINVAL },
		{ "pipe", "common", -ENXIO }, /* nobody reads it */
	};

	(void)state;
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_int_equal(log_to_a(), 0);
	for (size_t i = 0; i < NROWS(cases); i++)
		assert_int_equal(access_log_set(a_log, path_of(cases[i].path),
						cases[i].format),
				 cases[i].err);
	put("/goes on");
	wait_for_lines(1, 0);
	assert_string_equal(text_of("a"), "/goes on\n");
}

/* Notes a target of so many bytes that begins with a number. */
static void put_numbered(int number, size_t len)
{
	static char target[LONG + 1000];

	assert_true(len >= 16 && len <= sizeof(target));
	memset(target, 'x', sizeof(target));
	target[snprintf(target, 16, "%d", number)] = ' ';
	put_target(target, len);
}

/* The number of the next line, which is whole. */
static int read_numbered(FILE *reader, size_t len)
{
	char line[LONG + 16];

	assert_non_null(fgets(line, sizeof(line), reader));
	assert_int_equal(strlen(line), len + 1);
	assert_int_equal(line[len], '\n');
	return (int)strtol(line, NULL, 10);
}

/* Returns the end that is to be read, which does not block. */
static int log_to_pipe(void)
{
	int fd;

	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	fd = open(path_of("pipe"), O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0 && !access_log_set(a_log, path_of("pipe"),
					       "%{target}"));
	return fd;
}

static FILE *reader_of_a_pipe(void)
{
	int fd = log_to_pipe();
	FILE *reader = fdopen(fd, "r");

	assert_non_null(reader);
	fcntl(fd, F_SETFL, 0);
	return reader;
}

/* Who writes a log does not make requests wait: what a reader of a pipe has no
 * time for is dropped, and counted. What it gets is whole, and in order. */
static void reader_of_a_pipe_that_is_slow(void **state)
{
	enum { LINES = 1500 }; /* the ring has room for some 500 */
	FILE *reader = reader_of_a_pipe();
	uint64_t lines = 0;
	int last = -1;

	(void)state;
	for (int i = 0; i < LINES; i++)
		put_numbered(i, LONG + 1000);
	assert_true(counted().dropped > 0);
	for (; lines + counted().dropped < LINES; lines++) {
		int number = read_numbered(reader, LONG);

		assert_true(number > last);
		last = number;
	}
	wait_for_lines(lines, 0);
	put("/there is room again");
	wait_for_lines(lines + 1, 0);
	fclose(reader);
}

/* One that is quick enough misses nothing, of more than the ring has room for:
 * records of many lengths meet its end. */
static void reader_of_a_pipe_that_is_quick(void **state)
{
	enum { LINES = 1500, BATCH = 250 };
	FILE *reader = reader_of_a_pipe();

	(void)state;
	for (int i = 0; i < LINES; i += BATCH) {
		for (int j = i; j < i + BATCH; j++)
			put_numbered(j, (size_t)(16 + 5 * j));
		for (int j = i; j < i + BATCH; j++)
			assert_int_equal(
				read_numbered(reader, (size_t)(16 + 5 * j)), j);
	}
	assert_int_equal(counted().dropped, 0);
	fclose(reader);
}

/* What so many lines cannot get away from is left for a file, after a while, in
 * which some of them are lost. */
static void go_on_elsewhere(uint64_t lines)
{
	assert_int_equal(log_to_a(), 0);
	for (int ms = 0; ms < PATIENCE_MS && !counted().failed; ms++)
		usleep(1000);
	assert_true(counted().failed > 0);
	put("/elsewhere");
	for (int ms = 0; ms < PATIENCE_MS &&
			 !strstr(text_of("a"), "/elsewhere\n"); ms++)
		usleep(1000);
	wait_for_lines(lines + 1 - counted().failed, counted().failed);
}

/* A pipe that nobody reads is left for the next place, though not at once. */
static void pipe_that_is_given_up(void **state)
{
	static char line[LONG];
	int fd = log_to_pipe();

	(void)state;
	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 20; i++)
		put_target(line, sizeof(line));
	wait_for_wait();
	go_on_elsewhere(20);
	close(fd);
}

/* A log that ends does not wait for who does not read. */
static void end_while_a_pipe_is_full(void **state)
{
	static char line[LONG];
	int fd = log_to_pipe();

	(void)state;
	for (int i = 0; i < 20; i++)
		put_target(line, sizeof(line));
	wait_for_wait();
	access_log_free(&a_log);
	assert_null(a_log);
	close(fd);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A line is there in part; the next one does not go on in it. */
static void file_that_is_full(void **state)
{
	(void)state;
	assert_int_equal(log_to_a(), 0);
	put("/first");
	wait_for_lines(1, 0);
	limit_files(10);
	put("/second");
	wait_for_lines(1, 1);
	put("/third");
	wait_for_lines(1, 2);
	limit_files(RLIM_INFINITY);
	put("/fourth");
	wait_for_lines(2, 2);
	put("/fifth");
	wait_for_lines(3, 2);
	assert_string_equal(text_of("a"), "/first\n/se\n/fourth\n/fifth\n");
}

/* A write that a signal has interrupted is tried again. */
static void write_that_is_interrupted(void **state)
{
	static const int errors[] = { EINTR, EAGAIN };

	(void)state;
	assert_int_equal(log_to_a(), 0);
	for (size_t i = 0; i < NROWS(errors); i++) {
		call_fail_at("write", 1, errors[i]);
		put("/again");
		wait_for_lines(i + 1, 0);
		assert_true(call_failed());
		call_fail_at("", 0, 0);
	}
	assert_string_equal(text_of("a"), "/again\n/again\n");
}

/* More than the buffer has room for is written in several pieces. */
static void many_long_lines(void **state)
{
	enum { LINES = 400 };
	static char line[LONG];
	struct stat st;

	(void)state;
	memset(line, '\1', sizeof(line)); /* four bytes each */
	assert_int_equal(log_to_a(), 0);
	for (int i = 0; i < LINES; i++)
		put_target(line, sizeof(line));
	access_log_free(&a_log);
	assert_int_equal(stat(path_of("a"), &st), 0);
	assert_int_equal(st.st_size, LINES * (4 * LONG + 1));
}

/* The syslog */

static int listen_to_syslog(void)
{
	const struct timeval limit = { .tv_sec = PATIENCE_MS / 1000 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path_of("socket"));
	unlink(at.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static int log_to_syslog(void)
{
	char place[128];

	snprintf(place, sizeof(place), "syslog:%s", path_of("socket"));
	return access_log_set(a_log, place, "%{target}");
}

/* The next message, without what stands before it, which is looked at. */
static const char *syslog_message(int fd)
{
	static char text[2 * LONG];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
	char month[4], name[64], writer[32];
	int day, h, m, s, at = 0;

	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(sscanf(text, "<30>%3s %d %d:%d:%d %63[^:]: %n", month,
				&day, &h, &m, &s, name, &at), 6);
	assert_non_null(strstr("JanFebMarAprMayJunJulAugSepOctNovDec", month));
	assert_in_range(day, 1, 31);
	snprintf(writer, sizeof(writer), "digestd[%ld]", (long)getpid());
	assert_string_equal(name, writer);
	return text + at;
}

static void messages_to_the_syslog(void **state)
{
	static char line[LONG + 1000];
	int fd = listen_to_syslog();

	(void)state;
	memset(line, 'x', sizeof(line));
	assert_int_equal(log_to_syslog(), 0);
	put("/1");
	put("/2");
	assert_string_equal(syslog_message(fd), "/1");
	assert_string_equal(syslog_message(fd), "/2");
	put_target(line, sizeof(line));
	assert_int_equal(strlen(syslog_message(fd)), SYSLOG_SOCKET_LINE_MAX);
	wait_for_lines(3, 0);
	call_fail_at("sendmsg", 1, EINTR);
	put("/interrupted");
	assert_string_equal(syslog_message(fd), "/interrupted");
	assert_true(call_failed());
	call_fail_at("", 0, 0);
	close(fd);
}

/* A syslog that is started anew gets what comes then; what comes while there is
 * none is lost, and counted. */
static void syslog_that_is_started_anew(void **state)
{
	int fd = listen_to_syslog();

	(void)state;
	assert_int_equal(log_to_syslog(), 0);
	put("/1");
	assert_string_equal(syslog_message(fd), "/1");
	wait_for_lines(1, 0);
	close(fd);
	put("/lost");
	wait_for_lines(1, 1);
	fd = listen_to_syslog();
	put("/2");
	assert_string_equal(syslog_message(fd), "/2");
	wait_for_lines(2, 1);
	close(fd);
}

/* One that is slow gets all of it. */
static void syslog_that_is_slow(void **state)
{
	enum { LINES = 600 }; /* more than its socket has room for */
	int fd = listen_to_syslog();
	char line[16];

	(void)state;
	assert_int_equal(log_to_syslog(), 0);
	for (int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "/%d", i);
		put(line);
	}
	for (int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "/%d", i);
		assert_string_equal(syslog_message(fd), line);
	}
	wait_for_lines(LINES, 0);
	close(fd);
}

/* One that has stopped reading does not hold up the end, nor the next place. */
static void syslog_that_hangs(void **state)
{
	enum { LINES = 600 };
	int fd = listen_to_syslog();

	(void)state;
	assert_int_equal(log_to_syslog(), 0);
	for (int i = 0; i < LINES; i++)
		put("/");
	wait_for_wait();
	go_on_elsewhere(LINES);
	close(fd);
}

static void syslog_that_is_not_there(void **state)
{
	char place[256] = "syslog:/";

	(void)state;
	assert_int_equal(log_to_syslog(), -ENOENT);
	memset(place + strlen(place), 'x', 120);
	assert_int_equal(access_log_set(a_log, place, "common"),
			 -ENAMETOOLONG);
	call_fail_at("socket", 1, EMFILE);
	assert_int_equal(log_to_syslog(), -EMFILE);
	assert_true(call_failed());
	call_fail_at("", 0, 0);
	assert_false(access_ring_is_on(ring));
	/* the machine's own, whose path is the default; there may be none */
	call_fail_at("connect", 1, ECONNREFUSED);
	assert_int_equal(access_log_set(a_log, "syslog:", "common"),
			 -ECONNREFUSED);
	call_fail_at("", 0, 0);
}

/* Live readers */

static const char *live_line(struct access_feed_reader *reader)
{
	static char line[ACCESS_FEED_LINE_MAX + 1];
	uint64_t lost = 0;
	size_t len;

	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (access_feed_next(reader, line, &len, &lost))
			break;
		usleep(1000);
	}
	assert_int_equal(lost, 0);
	return line;
}

/* What they see is independent of where lines go otherwise. */
static void live_readers(void **state)
{
	struct access_feed_reader reader;
	const struct access_feed *feed;
	int fd = access_log_add_reader(a_log);

	(void)state;
	assert_true(fd >= 0);
	assert_true(access_ring_is_on(ring));
	assert_ptr_equal(mmap(NULL, sizeof(*feed), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), -1);
	feed = mmap(NULL, sizeof(*feed), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(feed, MAP_FAILED);
	assert_int_equal(feed->version, ACCESS_FEED_VERSION);
	access_feed_begin(&reader, feed);
	put("/live");
	assert_non_null(strstr(live_line(&reader), "/live"));
	assert_int_equal(log_to_a(), 0);
	assert_int_equal(access_log_add_reader(a_log), fd);
	put("/both");
	assert_non_null(strstr(live_line(&reader), "/both"));
	wait_for_lines(1, 0);
	assert_string_equal(text_of("a"), "/both\n");
	access_log_remove_reader(a_log);
	assert_int_equal(access_log_set(a_log, NULL, NULL), 0);
	assert_true(access_ring_is_on(ring));
	access_log_remove_reader(a_log);
	assert_false(access_ring_is_on(ring));
	munmap((void *)(uintptr_t)feed, sizeof(*feed));
}

/* Faults */

static int add_once(void)
{
	return access_log_add_reader(a_log);
}

/* What fails has changed nothing, and is done the next time. */
static void is_done_after_each_failure(int (*step)(void), const char *call)
{
	unsigned before;

	access_log_free(&a_log);
	before = call_descriptors();
	for (unsigned i = 1;; i++) {
		int err;

		access_log_free(&a_log);
		assert_int_equal(call_descriptors(), before);
		assert_int_equal(access_log_new(&a_log), 0);
		ring = access_log_ring(a_log);
		call ? call_fail_at(call, i, EMFILE) : alloc_fail_at(i);
		err = step();
		if (!(call ? call_failed() : alloc_failed())) {
			assert_true(err >= 0);
			break;
		}
		call_fail_at("", 0, 0);
		alloc_fail_at(0);
		assert_int_equal(err, call ? -EMFILE : -ENOMEM);
		assert_false(access_ring_is_on(ring));
		assert_true(step() >= 0);
		assert_true(access_ring_is_on(ring));
	}
	call_fail_at("", 0, 0);
	alloc_fail_at(0);
}

static void failures(void **state)
{
	static const char *const calls[] = {
		NULL, "memfd_create", "ftruncate", "pthread_create", "open",
		"socket", "connect",
	};
	int fd = listen_to_syslog();

	(void)state;
	for (size_t i = 0; i < NROWS(calls); i++) {
		is_done_after_each_failure(log_to_a, calls[i]);
		is_done_after_each_failure(log_to_syslog, calls[i]);
		is_done_after_each_failure(add_once, calls[i]);
	}
	close(fd);
}

static void log_without_memory(void **state)
{
	struct access_log *none = NULL;

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(access_log_new(&none), -ENOMEM);
	assert_null(none);
	access_log_free(&none);
	alloc_fail_at(1);
	assert_null(access_log_ring(a_log));
	/* a ring gets its room with its first record, which is lost here */
	alloc_fail_at(1);
	put("/");
	alloc_fail_at(0);
	assert_int_equal(counted().dropped, 1);
	assert_int_equal(log_to_a(), 0);
	put("/2");
	wait_for_lines(1, 0);
}

/* One for each worker that there can be. */
static void rings_without_number(void **state)
{
	unsigned n = 1; /* of the fixture */

	(void)state;
	while (access_log_ring(a_log))
		assert_true(++n < 1000);
	assert_int_equal(n, 256);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(lines_are_what_was_noted),
		TEST(goes_on_in_another_file),
		TEST(place_that_nobody_took),
		TEST(standard_output),
		TEST(place_that_cannot_be_had),
		TEST(reader_of_a_pipe_that_is_slow),
		TEST(reader_of_a_pipe_that_is_quick),
		TEST(pipe_that_is_given_up),
		TEST(end_while_a_pipe_is_full),
		TEST(file_that_is_full),
		TEST(write_that_is_interrupted),
		TEST(many_long_lines),
		TEST(messages_to_the_syslog),
		TEST(syslog_that_is_started_anew),
		TEST(syslog_that_is_slow),
		TEST(syslog_that_hangs),
		TEST(syslog_that_is_not_there),
		TEST(live_readers),
		TEST(failures),
		TEST(log_without_memory),
		TEST(rings_without_number),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
