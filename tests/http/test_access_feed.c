/*
 * Lines of access records between a writer and readers: all come, in order,
 * round the end of the ring; and who is behind is told how many are missing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digestd/http/access_feed.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { MANY = 300000 };

static struct access_feed *feed;
static char *line;

static int set_up(void **state)
{
	(void)state;
	feed = calloc(1, sizeof(*feed));
	line = malloc(ACCESS_FEED_LINE_MAX + 1);
	return !feed || !line;
}

static int tear_down(void **state)
{
	(void)state;
	free(feed);
	free(line);
	return 0;
}

static void put(const char *text)
{
	access_feed_put(feed, text, strlen(text));
}

static void what_comes_is_read(void **state)
{
	struct access_feed_reader r;
	uint64_t lost;
	size_t len;

	(void)state;
	put("before");
	access_feed_begin(&r, feed);
	assert_false(access_feed_next(&r, line, &len, &lost));
	put("a");
	put("");
	put("12345678");
	assert_true(access_feed_next(&r, line, &len, &lost));
	assert_string_equal(line, "a");
	assert_true(access_feed_next(&r, line, &len, &lost));
	assert_int_equal(len, 0);
	assert_true(access_feed_next(&r, line, &len, &lost));
	assert_string_equal(line, "12345678");
	assert_int_equal(lost, 0);
	assert_false(access_feed_next(&r, line, &len, &lost));
	atomic_store(&feed->dropped, 7);
	assert_false(access_feed_next(&r, line, &len, &lost));
	assert_int_equal(lost, 7);
	assert_false(access_feed_next(&r, line, &len, &lost));
	assert_int_equal(lost, 0);
}

/* Fills a line so that its number is known of each byte. */
static size_t fill(char *to, unsigned number, size_t len)
{
	memset(to, 'a' + (int)(number % 26), len);
	return len;
}

/* Of all lengths, so that each way to reach the end of the ring comes. */
static void round_the_ring(void **state)
{
	char *text = malloc(ACCESS_FEED_LINE_MAX);
	struct access_feed_reader r;
	uint64_t lost, seed = 1;
	size_t len, wanted;

	(void)state;
	assert_non_null(text);
	access_feed_begin(&r, feed);
	for (unsigned i = 0; i < 20000; i++) {
		size_t most = i % 100 ? 2000 : ACCESS_FEED_LINE_MAX;

		wanted = random_next(&seed) % (most + 1);
		access_feed_put(feed, text, fill(text, i, wanted));
		assert_true(access_feed_next(&r, line, &len, &lost));
		assert_int_equal(lost, 0);
		assert_int_equal(len, wanted);
		assert_memory_equal(line, text, len);
	}
	free(text);
}

static void who_is_behind_is_told(void **state)
{
	struct access_feed_reader r;
	uint64_t lost, sum = 0;
	unsigned read = 0;
	size_t len;

	(void)state;
	access_feed_begin(&r, feed);
	for (unsigned i = 0; i < MANY; i++)
		put("a line of some length, which is a little longer");
	while (read + sum < MANY) {
		if (access_feed_next(&r, line, &len, &lost))
			read++;
		else
			put("one more, for the number of the next");
		sum += lost;
	}
	assert_true(sum >= MANY - 1);
	put("next");
	while (access_feed_next(&r, line, &len, &lost))
		continue;
	assert_string_equal(line, "next");
}

static void *write_many(void *arg)
{
	char text[64];

	(void)arg;
	for (unsigned i = 0; i < MANY; i++) {
		int len = snprintf(text, sizeof(text), "%u %u %u", i, i * 3,
				   i * 7);

		access_feed_put(feed, text, (size_t)len);
	}
	return NULL;
}

/* A line is whole and in order, or it is counted as lost. */
static void beside_a_writer(void **state)
{
	struct access_feed_reader r;
	const struct timespec pause = { 0, 3000000 };
	unsigned a, b, c, next = 0;
	uint64_t lost, sum = 0;
	pthread_t writer;
	size_t len;

	(void)state;
	access_feed_begin(&r, feed);
	assert_int_equal(pthread_create(&writer, NULL, write_many, NULL), 0);
	for (unsigned turns = 0; next < MANY; turns++) {
		bool some = access_feed_next(&r, line, &len, &lost);

		sum += lost;
		next += (unsigned)lost;
		if (!some && atomic_load(&feed->lines) == MANY)
			break;
		if (turns % 100000 == 5000)
			nanosleep(&pause, NULL); /* behind, sometimes */
		if (!some)
			continue;
		assert_int_equal(sscanf(line, "%u %u %u", &a, &b, &c), 3);
		assert_int_equal(a, next++);
		assert_true(b == a * 3 && c == a * 7);
	}
	pthread_join(writer, NULL);
	assert_true(sum <= MANY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_comes_is_read),
		TEST(round_the_ring),
		TEST(who_is_behind_is_told),
		TEST(beside_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
