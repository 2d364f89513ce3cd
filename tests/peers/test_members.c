/*
 * Who the peers are: of the configuration, of a source that changes and fails,
 * and by introduction; and that this node is not one of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/members.h"
#include "digestd/peers/peer_kind.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum { INTERVAL_MS = 5, TURNS = 2000 };

static struct {
	struct loop *loop;
	struct members *members;
	struct members_settings settings;
	unsigned changes;
	int64_t seen_ms;
	char path[64], source[80];
} at;

static char name1[] = "n1", url1[] = "http://h:1";
static char name2[] = "n2", url2[] = "http://h:2";
static struct upstream configured[] = {
	{.name = name2, .url = url2, .kind = &peer_kind_digestd},
	{.name = name1, .url = url1, .kind = &peer_kind_digestd},
};

static void on_changed(void *arg)
{
	(void)arg;
	at.changes++;
}

static int64_t on_seen_ms(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return at.seen_ms;
}

static const struct members_events events = {on_changed, on_seen_ms, NULL};

static void write_list(const char *text)
{
	FILE *file = fopen(at.path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	memset(&at, 0, sizeof(at));
	log_set_level("error");
	snprintf(at.path, sizeof(at.path), "/tmp/members-XXXXXX");
	fd = mkstemp(at.path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(at.source, sizeof(at.source), "file:%s", at.path);
	assert_int_equal(loop_new(&at.loop), 0);
	at.seen_ms = loop_now_ms(at.loop);
	at.settings = (struct members_settings){
		.node = "me",
		.interval_ms = INTERVAL_MS,
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	members_free(&at.members);
	loop_free(&at.loop);
	unlink(at.path);
	return 0;
}

static void start(void)
{
	assert_int_equal(
		members_new(at.loop, &at.settings, &events, &at.members), 0);
}

/* The peers' names, one behind the other. */
static const char *names(void)
{
	static char text[256];
	const struct member_list *list = members_list(at.members);
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < list->n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					i ? " " : "", list->at[i].name);
	return text;
}

static void wait_for_names(const char *wanted)
{
	for (unsigned i = 0; i < TURNS && strcmp(names(), wanted); i++)
		loop_turn(at.loop, INTERVAL_MS);
	assert_string_equal(names(), wanted);
}

static void wait_for_readings(uint64_t n)
{
	struct members_stats stats;

	members_count(at.members, &stats);
	n += stats.readings;
	for (unsigned i = 0; i < TURNS && stats.readings < n; i++) {
		loop_turn(at.loop, INTERVAL_MS);
		members_count(at.members, &stats);
	}
	assert_true(stats.readings >= n);
}

static void those_of_the_configuration(void **state)
{
	(void)state;
	at.settings.configured =
		(struct member_list){ configured, NROWS(configured) };
	start();
	assert_string_equal(names(), "n2 n1");
	assert_int_equal(at.changes, 0); /* who asks knows */
	at.settings.configured.n = 1;
	assert_int_equal(members_set(at.members, &at.settings), 0);
	assert_string_equal(names(), "n2");
	/* a file that all nodes have names each of them */
	at.settings.node = "n2";
	at.settings.configured.n = 2;
	assert_int_equal(members_set(at.members, &at.settings), 0);
	assert_string_equal(names(), "n1");
	assert_int_equal(at.changes, 0);
}

static void those_of_a_source(void **state)
{
	struct members_stats stats;

	(void)state;
	at.settings.configured = (struct member_list){ configured, 1 };
	at.settings.source = at.source;
	write_list("n4 http://h:4\nn3 http://h:3\nme http://h:9\n"
		   "n2 http://h:7\nsame http://h:2\n");
	start();
	assert_string_equal(names(), "n2");
	wait_for_names("n2 n3 n4");
	assert_int_equal(at.changes, 1);
	assert_string_equal(members_list(at.members)->at[0].url, url2);
	wait_for_readings(2);
	assert_int_equal(at.changes, 1);
	write_list("n4 http://h:5\n");
	wait_for_names("n2 n4");
	members_count(at.members, &stats);
	assert_int_equal(stats.configured, 1);
	assert_int_equal(stats.found, 1);
	assert_true(stats.reads);
	write_list("");
	wait_for_names("n2");
}

static void a_source_that_fails_changes_nothing(void **state)
{
	struct members_stats stats;

	(void)state;
	at.settings.source = at.source;
	write_list("n3 http://h:3\n");
	start();
	wait_for_names("n3");
	write_list("n3\n");
	wait_for_readings(2);
	unlink(at.path);
	wait_for_readings(2);
	assert_string_equal(names(), "n3");
	members_count(at.members, &stats);
	assert_false(stats.reads);
	assert_true(stats.failed_readings >= 2);
	write_list("n4 http://h:4\n");
	wait_for_names("n4");
	members_count(at.members, &stats);
	assert_true(stats.reads);
}

static void another_source(void **state)
{
	(void)state;
	at.settings.source = at.source;
	write_list("n3 http://h:3\n");
	start();
	wait_for_names("n3");
	at.settings.source = "command:echo n5 http://h:5";
	assert_int_equal(members_set(at.members, &at.settings), 0);
	assert_string_equal(names(), "n3"); /* until there is something else */
	wait_for_names("n5");
	at.settings.source = "command:sleep 20";
	assert_int_equal(members_set(at.members, &at.settings), 0);
	loop_turn(at.loop, 0);
	at.settings.source = NULL;
	assert_int_equal(members_set(at.members, &at.settings), 0);
	assert_string_equal(names(), "");
}

static void introductions(void **state)
{
	(void)state;
	at.settings.source = at.source;
	write_list("n3 http://h:3\n");
	start();
	wait_for_names("n3");
	members_introduce(at.members, "n7 http://:8081", "192.0.2.7");
	assert_string_equal(names(), "n3 n7");
	assert_string_equal(members_list(at.members)->at[1].url,
			    "http://192.0.2.7:8081");
	assert_int_equal(at.changes, 2);
	members_introduce(at.members, "n7 http://:8081", "192.0.2.7");
	members_introduce(at.members, "other http://h:3", "192.0.2.7");
	members_introduce(at.members, "me http://:8082", "192.0.2.7");
	members_introduce(at.members, "what?", "192.0.2.7");
	assert_string_equal(names(), "n3 n7");
	assert_int_equal(at.changes, 2);
	/* it has come back elsewhere */
	members_introduce(at.members, "n7 http://:8081", "192.0.2.8");
	assert_string_equal(names(), "n3 n7");
	assert_string_equal(members_list(at.members)->at[1].url,
			    "http://192.0.2.8:8081");
	/* named by the source at last, and then no more */
	write_list("h8 http://192.0.2.8:8081\n");
	wait_for_names("h8");
	write_list("n3 http://h:3\n");
	wait_for_names("n3");
}

/* Its requests come from another address than the one it is listed with. */
static void an_introduction_elsewhere_of_who_is_listed(void **state)
{
	struct members_stats stats;

	(void)state;
	at.settings.source = at.source;
	write_list("n3 http://h:3\n");
	start();
	members_introduce(at.members, "n7 http://:8081", "192.0.2.7");
	wait_for_names("n3 n7");
	write_list("n7 http://h:7\n");
	wait_for_names("n7");
	members_count(at.members, &stats);
	assert_int_equal(stats.introduced, 0);
	members_introduce(at.members, "n7 http://:8081", "192.0.2.7");
	members_count(at.members, &stats);
	assert_int_equal(stats.introduced, 0);
	write_list("n3 http://h:3\n");
	wait_for_names("n3");
}

static void who_was_introduced_is_forgotten(void **state)
{
	(void)state;
	at.settings.source = at.source;
	start();
	wait_for_readings(1);
	members_introduce(at.members, "n7 http://:8081", "192.0.2.7");
	wait_for_readings(3);
	assert_string_equal(names(), "n7");
	at.seen_ms = loop_now_ms(at.loop) - MEMBERS_FORGET_MS - 1;
	wait_for_names("");
}

/* Whoever may ask keeps nobody busy with new names, or with new places. */
static void introductions_without_end(void **state)
{
	char text[64];

	(void)state;
	at.settings.source = at.source;
	start();
	wait_for_readings(1);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "n%u http://h:%u", i % 8, i + 1);
		members_introduce(at.members, text, "192.0.2.7");
	}
	assert_in_range(at.changes, 8, MEMBERS_INTRODUCTIONS + 2);
	assert_string_equal(names(), "n0 n1 n2 n3 n4 n5 n6 n7");
}

static void without_a_source_nobody_is_introduced(void **state)
{
	(void)state;
	start();
	members_introduce(at.members, "n7 http://:8081", "192.0.2.7");
	assert_string_equal(names(), "");
	assert_int_equal(at.changes, 0);
}

static void this_node_is_none(void **state)
{
	(void)state;
	at.settings.source = at.source;
	write_list("a http://h:1\nb http://h:2\n");
	start();
	wait_for_names("a b");
	members_is_itself(at.members, "http://h:1");
	assert_string_equal(names(), "b");
	members_is_itself(at.members, "http://h:1"); /* it is known */
	members_is_itself(at.members, "http://h:7"); /* nobody has it */
	wait_for_readings(2);
	assert_string_equal(names(), "b");
	assert_int_equal(at.changes, 2);
	/* the address is another node's later */
	write_list("b http://h:2\n");
	wait_for_readings(2);
	write_list("a http://h:1\nb http://h:2\n");
	wait_for_names("a b");
}

static void without_memory(void **state)
{
	int err = -ENOMEM;

	(void)state;
	at.settings.configured =
		(struct member_list){ configured, NROWS(configured) };
	at.settings.source = at.source;
	for (unsigned i = 1; err; i++) {
		alloc_fail_at(i);
		err = members_new(at.loop, &at.settings, &events, &at.members);
		alloc_fail_at(0);
		assert_true(!err || err == -ENOMEM);
	}
	err = -ENOMEM;
	for (unsigned i = 1; err; i++) {
		alloc_fail_at(i);
		err = members_set(at.members, &at.settings);
		alloc_fail_at(0);
		assert_true(!err || err == -ENOMEM);
	}
	assert_string_equal(names(), "n2 n1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(those_of_the_configuration),
		TEST(those_of_a_source),
		TEST(a_source_that_fails_changes_nothing),
		TEST(another_source),
		TEST(introductions),
		TEST(an_introduction_elsewhere_of_who_is_listed),
		TEST(who_was_introduced_is_forgotten),
		TEST(introductions_without_end),
		TEST(without_a_source_nobody_is_introduced),
		TEST(this_node_is_none),
		TEST(without_memory),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
