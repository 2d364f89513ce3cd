/*
 * Listening UNIX sockets. Whether a process listens at a socket's file can only
 * be found out by a connection; between that and the removal of the file
 * another process must not begin to listen there, so the folder is locked.
 */
#include "digestd/os/listen_local.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTEN_LOCAL_BACKLOG = 16, LISTEN_LOCAL_MODE = 0660 };

static int listen_local_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* The folder of a path, locked until it is closed; or a negative errno. */
static int listen_local_lock(const struct sockaddr_un *at)
{
	char path[sizeof(at->sun_path)];
	int fd;

	memcpy(path, at->sun_path, sizeof(path));
	fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* where it cannot be locked, only two that start at once go wrong */
	(void)flock(fd, LOCK_EX);
	return fd;
}

/* Whether nobody listens at what is there; or a negative errno. */
static int listen_local_is_left(const struct sockaddr_un *at)
{
	struct stat st;
	int fd, err = 0;

	if (lstat(at->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = listen_local_socket();
	if (fd < 0)
		return -errno;
	/* EAGAIN: its queue is full */
	if (!connect(fd, (const struct sockaddr *)at, sizeof(*at)) ||
	    errno == EAGAIN)
		err = -EADDRINUSE;
	else if (errno != ECONNREFUSED)
		err = -errno;
	close(fd);
	return err ? err : 1;
}

int listen_local_set_rights(const char *path,
			    const struct listen_local_rights *rights)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	/* a sandbox may forbid the call that would change nothing, too */
	if (((rights->user != (uid_t)-1 && rights->user != st.st_uid) ||
	     (rights->group != (gid_t)-1 && rights->group != st.st_gid)) &&
	    lchown(path, rights->user, rights->group))
		return -errno;
	return chmod(path, rights->mode) ? -errno : 0;
}

int listen_local_note_file(const char *path, struct listen_local *l)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

static int listen_local_bind(struct listen_local *l,
			     const struct sockaddr_un *at,
			     const struct listen_local_rights *rights,
			     int backlog)
{
	int left = listen_local_is_left(at), err;

	if (left < 0)
		return left;
	if (left && unlink(at->sun_path))
		return -errno;
	/* the file never has another mode that would let others in */
	if (fchmod(l->fd, rights->mode) ||
	    bind(l->fd, (const struct sockaddr *)at, sizeof(*at)))
		return -errno;
	err = listen_local_set_rights(at->sun_path, rights);
	if (!err && listen(l->fd, backlog))
		err = -errno;
	if (!err)
		err = listen_local_note_file(at->sun_path, l);
	if (err)
		unlink(at->sun_path);
	return err;
}

int listen_local_open_as(const char *path,
			 const struct listen_local_rights *rights, int backlog,
			 struct listen_local *l)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int folder, err;

	*l = (struct listen_local){ .fd = -1 };
	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	strcpy(at.sun_path, path);
	folder = listen_local_lock(&at);
	if (folder < 0)
		return folder;
	l->fd = listen_local_socket();
	err = l->fd < 0 ? -errno : listen_local_bind(l, &at, rights, backlog);
	close(folder);
	if (err && l->fd >= 0)
		close(l->fd);
	if (err)
		l->fd = -1;
	return err;
}

int listen_local_open(const char *path, struct listen_local *l)
{
	static const struct listen_local_rights rights = {
		LISTEN_LOCAL_MODE, (uid_t)-1, (gid_t)-1,
	};

	return listen_local_open_as(path, &rights, LISTEN_LOCAL_BACKLOG, l);
}

static void listen_local_remove(const struct listen_local *l,
				const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(path);
}

void listen_local_remove_left(const struct listen_local *l, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int folder;

	assert(strlen(path) < sizeof(at.sun_path));
	strcpy(at.sun_path, path);
	folder = listen_local_lock(&at);
	if (listen_local_is_left(&at) == 1)
		listen_local_remove(l, path);
	if (folder >= 0)
		close(folder);
}

void listen_local_close(struct listen_local *l, const char *path)
{
	if (l->fd < 0)
		return;
	listen_local_remove(l, path);
	close(l->fd);
	l->fd = -1;
}
