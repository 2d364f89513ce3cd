/*
 * Loading a trace: every column against values that are written out here, and
 * against a twin that searches lists for a generated trace.
 */
#include "tests/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cachesim/sim/trace.h"
#include "codec/mix.h"
#include "tests/codec/alloc.h"
#include "tests/sim/file.h"

static int load(struct sim_trace *t, const char *text,
		const struct trace_options *opt)
{
	struct test_file f = test_file(text, strlen(text));
	int err = sim_trace_load(t, f.path, opt, NULL);

	unlink(f.path);
	return err;
}

#define assert_column(column, ...)                                          \
	do {                                                                \
		static const uint32_t want[] = { __VA_ARGS__ };             \
		for (size_t i_ = 0; i_ < NROWS(want); i_++)                 \
			assert_int_equal((column)[i_], want[i_]);           \
	} while (0)

/*
 * a changes at request 3, b is first seen in part, then whole, and changes
 * back and forth; c has no size at all; the request of 304 tells nothing.
 */
static const char small[] = "time,client,url,status,size\n"
			    "100,10.0.0.1,a,200,50\n"
			    "100.9,10.0.0.2,b,203,7\n"
			    "101,::1,c,200,-\n"
			    "107,10.0.0.1,a,200,60\n"
			    "99,host,b,200,70\n"
			    "108,-,a,304,0\n"
			    "nonsense\n"
			    "109,10.0.0.2,b,200,80\n"
			    "110,10.0.0.2,b,200,70\n"
			    "111,10.0.0.2,d,200,5000000000\n";

static void columns(void **state)
{
	struct sim_trace t;

	(void)state;
	assert_int_equal(load(&t, small, NULL), 0);
	assert_int_equal(t.nrequests, 9);
	assert_int_equal(t.nobjects, 4);
	assert_int_equal(t.nclients, 5);
	assert_column(t.object, 0, 1, 2, 0, 1, 0, 1, 1, 3);
	assert_column(t.time, 0, 0, 1, 7, 0, 8, 9, 10, 11);
	assert_column(t.client, 0, 1, 2, 0, 3, 4, 1, 1, 1);
	assert_column(t.size, 50, 70, 1, UINT32_MAX);
	assert_int_equal(t.nchanges, 3);
	assert_column(t.change, 3, 6, 7);
	assert_column(t.change_size, 60, 80, 70);
	assert_int_equal(t.totals.bad, 1);
	assert_int_equal(t.totals.first_ms, 100000);
	assert_int_equal(t.totals.bytes, 50 + 7 + 60 + 70 + 80 + 70 +
						 (uint64_t)UINT32_MAX);
	assert_int_equal(t.totals.unique_bytes, 60 + 80 + (uint64_t)UINT32_MAX);
	sim_trace_free(&t);
	assert_null(t.object);
}

static void addresses(void **state)
{
	static const uint8_t v4[16] = { [10] = 255, 255, 10, 0, 0, 2 };
	static const uint8_t v6[16] = { [15] = 1 };
	static const uint8_t none[16];
	struct sim_trace t;

	(void)state;
	assert_int_equal(load(&t, small, NULL), 0);
	assert_memory_equal(t.address[1].byte, v4, 16);
	assert_memory_equal(t.address[2].byte, v6, 16);
	assert_memory_equal(t.address[3].byte, none, 16);
	assert_memory_equal(t.address[4].byte, none, 16);
	assert_int_equal(t.client_hash[4], 0);
	assert_int_equal(t.client_hash[1], scd__mix64(trace_hash("10.0.0.2",
								 8)));
	assert_int_equal(t.hash[3], scd__mix64(trace_hash("d", 1)));
	sim_trace_free(&t);
}

/*
 * Uncacheable requests are by themselves; an unsafe one makes the next request
 * of its object one for another version, if it had been asked for before.
 */
static void uncacheable(void **state)
{
	static const char text[] = "client,method,url,status,size\n"
				   "1.1.1.1,POST,b,200,9\n"
				   "10.0.0.1,GET,a,200,50\n"
				   "10.0.0.1,POST,a,500,1\n"
				   "10.0.0.1,GET,a,200,50\n"
				   "10.0.0.1,POST,a,200,2\n"
				   "10.0.0.2,GET,gone,404,3\n"
				   "10.0.0.1,GET,a,304,0\n"
				   "10.0.0.1,GET,a,200,50\n"
				   "10.0.0.1,GET,b,200,8\n"
				   "10.0.0.1,PUT,b,,\n";
	struct trace_options opt = { .all_cacheable = true };
	struct sim_trace t;

	(void)state;
	assert_int_equal(load(&t, text, NULL), 0);
	assert_int_equal(t.nrequests, 5);
	assert_int_equal(t.nobjects, 2);
	assert_column(t.object, 0, 0, 0, 0, 1);
	assert_int_equal(t.nchanges, 1);
	assert_int_equal(t.change[0], 2);
	assert_int_equal(t.change_size[0], 50);
	assert_int_equal(t.npasses, 5);
	assert_column(t.pass, 0, 1, 2, 2, 5);
	assert_column(t.pass_size, 9, 1, 2, 3, 0);
	assert_int_equal(t.nclients, 3);
	assert_column(t.client, 1, 1, 1, 1, 1);
	assert_column(t.pass_client, 0, 1, 1, 2, 1);
	assert_int_equal(t.totals.bytes, 158);
	sim_trace_free(&t);
	assert_int_equal(load(&t, text, &opt), 0);
	assert_int_equal(t.nrequests, 10);
	assert_int_equal(t.npasses, 0);
	assert_int_equal(t.nobjects, 3);
	sim_trace_free(&t);
	assert_null(t.pass);
}

/* What is invalidated in one batch is asked for in another. */
static void invalidated_late(void **state)
{
	enum { N = 2000 };
	char text[32 * N], *to = text;
	struct sim_trace t;

	(void)state;
	to += sprintf(to, "method,url,size\nGET,a,5\n");
	for (int i = 0; i < N; i++)
		to += sprintf(to, i == 700 ? "POST,a,1\n" : "GET,u%d,1\n", i);
	to += sprintf(to, "GET,a,5\nGET,a,5\n");
	assert_int_equal(load(&t, text, NULL), 0);
	assert_int_equal(t.npasses, 1);
	assert_int_equal(t.pass[0], 701);
	assert_int_equal(t.nchanges, 1);
	assert_int_equal(t.change[0], N);
	sim_trace_free(&t);
}

/* What a trace does not have is not there. */
static void missing_columns(void **state)
{
	struct sim_trace t;

	(void)state;
	assert_int_equal(load(&t, "a\nb\na\n", NULL), 0);
	assert_column(t.object, 0, 1, 0);
	assert_column(t.size, 1, 1);
	assert_null(t.time);
	assert_null(t.client);
	assert_null(t.client_hash);
	assert_null(t.address);
	assert_int_equal(t.nclients, 0);
	assert_int_equal(t.nchanges, 0);
	sim_trace_free(&t);
	assert_int_equal(load(&t, "time,client,url\n1,x,a\n1,y,a\n", NULL), 0);
	assert_null(t.time);
	assert_column(t.client, 0, 1);
	assert_null(t.address);
	sim_trace_free(&t);
}

static void empty(void **state)
{
	struct sim_trace t;

	(void)state;
	assert_int_equal(load(&t, "", NULL), 0);
	assert_int_equal(t.nrequests, 0);
	assert_int_equal(t.nobjects, 0);
	sim_trace_free(&t);
	sim_trace_free(&t);
}

/* The first client comes after a whole batch without one. */
static void late_client(void **state)
{
	enum { N = 1000 };
	char text[16 * N], *to = text;
	struct sim_trace t;

	(void)state;
	to += sprintf(to, "client,url,time\n");
	for (int i = 0; i < N; i++)
		to += sprintf(to, "%s,u%d,%d\n", i < 700 ? "-" : "1.2.3.4",
			      i % 7, i < 800 ? 5 : 6);
	assert_int_equal(load(&t, text, NULL), 0);
	assert_int_equal(t.nclients, 2);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(t.object[i], i % 7);
		assert_int_equal(t.client[i], i >= 700);
		assert_int_equal(t.time[i], i >= 800);
	}
	assert_int_equal(t.client_hash[0], 0);
	assert_int_equal(t.address[1].byte[15], 4);
	sim_trace_free(&t);
}

/* Lines so long that the reader's buffer moves on within a batch: the names of
 * clients are read before. */
static void long_lines(void **state)
{
	enum { N = 200, LATE = 40, LINE = 8000 };
	char *text = malloc((LINE + 40) * (N + 1)), *to = text;
	struct sim_trace t;

	(void)state;
	assert_non_null(text);
	to += sprintf(to, "client,url\n");
	for (int i = 0; i < N; i++)
		to += i < LATE ? sprintf(to, "-,u%0*d\n", LINE, i)
			       : sprintf(to, "10.7.6.%d,u%0*d\n", i, LINE, i);
	assert_int_equal(load(&t, text, NULL), 0);
	assert_int_equal(t.nclients, 1 + N - LATE);
	for (int i = LATE; i < N; i++)
		assert_int_equal(t.address[i - LATE + 1].byte[15], i);
	sim_trace_free(&t);
	free(text);
}

static void strictness(void **state)
{
	struct trace_options opt = { .strict = true };
	struct sim_trace t;

	(void)state;
	assert_int_equal(load(&t, small, &opt), TRACE_EFIELDS);
	assert_null(t.object);
	opt.format = "none";
	assert_int_equal(load(&t, small, &opt), TRACE_EUNKNOWN);
	assert_int_equal(sim_trace_load(&t, "no/such/file", NULL, NULL),
			 TRACE_EIO);
}

/* A named pipe, whose writer must not see it closed before it has written. */
static void pipes(void **state)
{
	static const char path[] = "trace-test-pipe";
	static const char line[] = "abc\n";
	struct sim_trace t;
	pid_t child;
	int status;

	(void)state;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int fd = open(path, O_WRONLY);

		for (int i = 0; i < 50000; i++)
			if (write(fd, line, 4) != 4)
				_exit(1);
		_exit(0);
	}
	assert_int_equal(sim_trace_load(&t, path, NULL, NULL), 0);
	assert_int_equal(t.nrequests, 50000);
	assert_int_equal(t.nobjects, 1);
	sim_trace_free(&t);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	unlink(path);
}

static const char plan[] = "gen:nlanr,requests=3000,seed=9";

struct told {
	unsigned calls;
	uint64_t expected;
};

static void tell(void *arg, uint64_t requests, uint64_t expected)
{
	struct told *told = arg;

	assert_true(requests <= expected);
	told->calls++;
	told->expected = expected;
}

/* The number of x in a list, to whose end it is added when it is new. */
static uint32_t place(uint64_t *list, uint32_t *n, uint64_t x)
{
	uint32_t i = 0;

	while (i < *n && list[i] != x)
		i++;
	if (i == *n)
		list[(*n)++] = x;
	return i;
}

static void same_as_twin(void **state)
{
	static uint64_t objects[3000], clients[3000];
	uint32_t nobjects = 0, nclients = 0;
	struct told told = { 0, 0 };
	const struct sim_tell how = { tell, &told };
	struct trace_reader *r;
	struct trace_request q;
	struct sim_trace t;
	int64_t first_ms = 0;

	(void)state;
	assert_int_equal(sim_trace_load(&t, plan, NULL, &how), 0);
	assert_int_equal(t.nrequests, 3000);
	assert_true(told.calls >= 1);
	assert_int_equal(told.expected, 3000);
	assert_int_equal(trace_open(&r, plan, NULL), 0);
	for (uint64_t i = 0; trace_next(r, &q) > 0; i++) {
		if (i == 0)
			first_ms = q.time_ms;
		assert_int_equal(t.object[i],
				 place(objects, &nobjects, q.key));
		assert_int_equal(t.client[i],
				 place(clients, &nclients, q.client));
		assert_int_equal(t.time[i], (q.time_ms - first_ms) / 1000);
		assert_int_equal(t.size[t.object[i]], q.size);
	}
	trace_close(&r);
	assert_int_equal(t.nobjects, nobjects);
	assert_int_equal(t.nclients, nclients);
	for (uint32_t i = 0; i < nobjects; i++)
		assert_int_equal(t.hash[i], scd__mix64(objects[i]));
	sim_trace_free(&t);
}

/* Whatever allocation fails: no leak, no trace, and a code that says so. */
static void no_memory(void **state)
{
	struct test_file f = test_file(small, strlen(small));
	const char *names[] = { f.path, plan };
	struct sim_trace t;

	(void)state;
	for (size_t k = 0; k < NROWS(names); k++) {
		for (unsigned n = 1;; n++) {
			int err;

			alloc_fail_at(n);
			err = sim_trace_load(&t, names[k], NULL, NULL);
			if (!alloc_failed()) {
				assert_int_equal(err, 0);
				assert_true(n > 10);
				break;
			}
			/* columns need not be given room back */
			if (err)
				assert_int_equal(err, TRACE_ENOMEM);
			sim_trace_free(&t);
		}
		alloc_fail_at(0);
		sim_trace_free(&t);
	}
	unlink(f.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns),
		cmocka_unit_test(addresses),
		cmocka_unit_test(uncacheable),
		cmocka_unit_test(invalidated_late),
		cmocka_unit_test(missing_columns),
		cmocka_unit_test(empty),
		cmocka_unit_test(late_client),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(strictness),
		cmocka_unit_test(pipes),
		cmocka_unit_test(same_as_twin),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
