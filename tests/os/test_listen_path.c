/*
 * Listeners at UNIX sockets: their addresses, who may connect, how workers and
 * successors share one, and who removes its file.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/listen.h"
#include "digestd/os/listen_given.h"
#include "digestd/os/listen_path.h"

static char folder[] = "/tmp/scd-path-XXXXXX";
static char path[64], address[128];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/data", folder);
	snprintf(address, sizeof(address), "unix:%s", path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static const struct {
	const char *address, *path;
	unsigned mode;
	const char *user, *group;
} right[] = {
	{ "unix:/a", "/a", 0660, "", "" },
	{ "unix:/a/b.sock,mode=666", "/a/b.sock", 0666, "", "" },
	{ "unix:/a,mode=0600", "/a", 0600, "", "" },
	{ "unix:/a,group=www-data,user=root", "/a", 0660, "root", "www-data" },
	{ "unix:/a:80", "/a:80", 0660, "", "" },
};

static void right_ones_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(right); i++) {
		struct listen_path_text t;

		if (!listen_path_read(right[i].address, &t))
			fail_msg("%s", right[i].address);
		assert_string_equal(t.path, right[i].path);
		assert_int_equal(t.mode, right[i].mode);
		assert_string_equal(t.user, right[i].user);
		assert_string_equal(t.group, right[i].group);
	}
}

static void others_are_refused(void **state)
{
	static const char *const texts[] = {
		"", "unix", "unix:", "unix:a", "/a", "127.0.0.1:80", "unix:/a,",
		"unix:/a,mode=", "unix:/a,mode=1777", "unix:/a,mode=0",
		"unix:/a,mode=8", "unix:/a,mode=660,mode=660", "unix:/a,user=",
		"unix:/a,group", "unix:/a,owner=b", "UNIX:/a",
		"unix:/a,user=123456789012345678901234567890123",
		("unix:/234567890123456789012345678901234567890123456789"
		 "01234567890123456789012345678901234567890123456789012345678"),
	};
	struct listen_path_text t;

	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		if (listen_path_read(texts[i], &t))
			fail_msg("%s", texts[i]);
	}
	assert_false(listen_path_is_meant(NULL));
}

static void names_are_looked_up(void **state)
{
	struct listen_local_rights rights;
	struct listen_path_text t;

	(void)state;
	assert_true(listen_path_read("unix:/a,user=root,group=root", &t));
	assert_null(listen_path_rights(&t, &rights));
	assert_int_equal(rights.user, 0);
	assert_int_equal(rights.group, 0);
	assert_true(listen_path_read("unix:/a,group=no-such-group", &t));
	assert_string_equal(listen_path_rights(&t, &rights), "group");
	assert_true(listen_path_read("unix:/a,user=no-such-user", &t));
	assert_string_equal(listen_path_rights(&t, &rights), "user");
}

static bool connects(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), err;

	strcpy(at.sun_path, path);
	err = connect(fd, (struct sockaddr *)&at, sizeof(at));
	close(fd);
	return !err;
}

static bool is_there(void)
{
	struct stat st;

	return !lstat(path, &st);
}

/* What a worker of that number has. */
static int share(struct listen_given *given, unsigned worker)
{
	const struct listen_how how = { .address = address, .given = given,
					.listener = "data", .worker = worker };
	int fd = -1;

	assert_int_equal(listen_open(&how, &fd), 0);
	return fd;
}

/* As a node does: it is opened once, workers share it, and the list goes. */
static void workers_share_one(void **state)
{
	struct listen_given given = { NULL, 0 };
	char text[LISTEN_LABEL_BYTES];
	struct listen_path p;
	struct stat st;
	int fds[3];

	(void)state;
	strcat(address, ",mode=0640");
	assert_int_equal(listen_path_open(address, "data", &given, &p), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0640);
	for (unsigned i = 0; i < 3; i++)
		fds[i] = share(&given, i);
	assert_null(listen_given_unused(&given));
	listen_given_free(&given);
	assert_true(connects());
	assert_int_equal(listen_port(fds[0]), 0);
	listen_label(fds[1], text);
	assert_memory_equal(text, address, strlen(text));
	listen_address(fds[2], text);
	assert_memory_equal(text, address, strlen(text));
	for (unsigned i = 0; i < 3; i++)
		close(fds[i]);
	assert_true(is_there());
	listen_path_close(&p);
	assert_false(is_there());
	listen_path_close(&p);
}

/* The sockets of the old process, as the new one is given them. */
static struct listen_given inherit(const int *fds, unsigned n)
{
	struct listen_given given = { NULL, 0 };

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(listen_given_add(&given, dup(fds[i])), 0);
	return given;
}

static void the_successor_removes_it(void **state)
{
	struct listen_given first = { NULL, 0 }, second;
	struct listen_path old, new;
	struct stat st;
	int fd, heir;

	(void)state;
	assert_int_equal(listen_path_open(address, "data", &first, &old), 0);
	fd = share(&first, 0);
	listen_given_free(&first);
	second = inherit(&fd, 1);
	strcat(address, ",mode=0600");
	assert_int_equal(listen_path_open(address, "data", &second, &new), 0);
	assert_int_equal(second.n, 1);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	heir = share(&second, 0);
	listen_given_free(&second);
	close(fd);
	listen_path_close(&old);
	assert_true(connects());
	close(heir);
	listen_path_close(&new);
	assert_false(is_there());
}

/* One that fails before it serves leaves it to the old process. */
static void a_successor_that_fails_leaves_it(void **state)
{
	struct listen_given first = { NULL, 0 }, second;
	struct listen_path old, new;
	int fd;

	(void)state;
	assert_int_equal(listen_path_open(address, "data", &first, &old), 0);
	fd = share(&first, 0);
	listen_given_free(&first);
	second = inherit(&fd, 1);
	assert_int_equal(listen_path_open(address, "data", &second, &new), 0);
	listen_given_free(&second);
	listen_path_close(&new);
	assert_true(connects());
	close(fd);
	listen_path_close(&old);
	assert_false(is_there());
}

/* It is a service manager's: neither its mode nor its file is ours. */
static void a_managers_is_left_alone(void **state)
{
	struct listen_given first = { NULL, 0 };
	struct listen_path p, managers;
	struct stat st;

	(void)state;
	assert_int_equal(listen_path_open(address, "data", &first, &managers),
			 0);
	strcpy(first.at[0].name, LISTEN_MANAGED);
	strcat(address, ",mode=0600");
	assert_int_equal(listen_path_open(address, "data", &first, &p), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0660);
	listen_given_free(&first);
	listen_path_close(&p);
	assert_true(is_there());
	listen_path_close(&managers);
}

static void what_cannot_be_opened(void **state)
{
	const struct listen_how how = { .address = "unix:/nowhere/data" };
	struct listen_given given = { NULL, 0 };
	struct listen_path p;
	int fd;

	(void)state;
	assert_int_equal(listen_open(&how, &fd), -EADDRNOTAVAIL);
	assert_int_equal(listen_path_open(how.address, "data", &given, &p),
			 -ENOENT);
	assert_int_equal(listen_path_open("unix:/a,group=no-such-group",
					  "data", &given, &p), -EINVAL);
	assert_int_equal(listen_path_open("127.0.0.1:1", "data", &given, &p),
			 0);
	assert_int_equal(listen_path_open(NULL, "admin", &given, &p), 0);
	assert_int_equal(given.n, 0);
	listen_path_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_ones_are_read),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(names_are_looked_up),
		TEST(workers_share_one),
		TEST(the_successor_removes_it),
		TEST(a_successor_that_fails_leaves_it),
		TEST(a_managers_is_left_alone),
		TEST(what_cannot_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
