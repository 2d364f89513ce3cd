/*
 * Listening UNIX sockets: who may connect, what is replaced, and what is left.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/os/listen_local.h"

static char folder[] = "/tmp/scd-listen-XXXXXX";
static char path[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/control", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static bool is_there(void)
{
	struct stat st;

	return !lstat(path, &st);
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

static void owner_and_group_may_connect(void **state)
{
	struct listen_local l;
	mode_t umask_was = umask(0777);
	struct stat st;

	(void)state;
	assert_int_equal(listen_local_open(path, &l), 0);
	umask(umask_was);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0660);
	assert_true(connects());
	listen_local_close(&l, path);
	assert_false(is_there());
	listen_local_close(&l, path);
}

static void one_that_is_used_is_not_replaced(void **state)
{
	struct listen_local first, second;

	(void)state;
	assert_int_equal(listen_local_open(path, &first), 0);
	assert_int_equal(listen_local_open(path, &second), -EADDRINUSE);
	assert_int_equal(second.fd, -1);
	assert_true(connects());
	listen_local_close(&second, path);
	assert_true(connects());
	listen_local_close(&first, path);
}

static void one_that_was_left_is_replaced(void **state)
{
	struct listen_local left, l;

	(void)state;
	assert_int_equal(listen_local_open(path, &left), 0);
	close(left.fd);
	assert_true(is_there());
	assert_int_equal(listen_local_open(path, &l), 0);
	assert_true(connects());
	listen_local_close(&l, path);
}

/* Who ends late does not take away what another process has put there. */
static void the_file_of_another_stays(void **state)
{
	struct listen_local first, second;

	(void)state;
	assert_int_equal(listen_local_open(path, &first), 0);
	unlink(path);
	assert_int_equal(listen_local_open(path, &second), 0);
	listen_local_close(&first, path);
	assert_true(connects());
	listen_local_close(&second, path);
}

static void what_is_no_socket_stays(void **state)
{
	struct listen_local l;
	FILE *f = fopen(path, "w");

	(void)state;
	assert_non_null(f);
	fclose(f);
	assert_int_equal(listen_local_open(path, &l), -ENOTSOCK);
	assert_true(is_there());
}

static void paths_that_cannot_be(void **state)
{
	struct listen_local l;
	char longer[200];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(listen_local_open(longer, &l), -ENAMETOOLONG);
	assert_int_equal(listen_local_open("/nowhere/control", &l), -ENOENT);
	assert_int_equal(l.fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(owner_and_group_may_connect),
		TEST(one_that_is_used_is_not_replaced),
		TEST(one_that_was_left_is_replaced),
		TEST(the_file_of_another_stays),
		TEST(what_is_no_socket_stays),
		TEST(paths_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
