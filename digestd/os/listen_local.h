/*
 * Listening UNIX sockets, for who is on the same machine and may write to the
 * socket's file.
 */
#ifndef DIGESTD_OS_LISTEN_LOCAL_H
#define DIGESTD_OS_LISTEN_LOCAL_H

#include <sys/types.h>

/* One that listens, with the file that it is reached by. */
struct listen_local {
	int fd; /* -1: there is none */
	dev_t dev;
	ino_t ino;
};

/* Whose file it is, and who may write to it. */
struct listen_local_rights {
	mode_t mode;
	uid_t user;  /* (uid_t)-1: the process's */
	gid_t group; /* (gid_t)-1: the process's, or that of the folder */
};

/*
 * Opens a non-blocking stream socket that listens at a path, with a queue of
 * so many connections. A socket that a process has left there when it died is
 * replaced, one at which a process listens is not; nobody can connect before
 * the file has its rights. Returns 0 or a negative errno: -EADDRINUSE where
 * somebody listens, -ENOTSOCK where the path is something else, -ENAMETOOLONG
 * for one of more than 107 bytes, or that of the call that failed; then
 * l->fd is -1.
 */
int listen_local_open_as(const char *path,
			 const struct listen_local_rights *rights, int backlog,
			 struct listen_local *l);

/* The same with mode 0660, for a few connections at a time. */
int listen_local_open(const char *path, struct listen_local *l);

/* Gives the file that is there these rights. Returns 0 or a negative errno. */
int listen_local_set_rights(const char *path,
			    const struct listen_local_rights *rights);

/* Notes which file is there; l->fd stays. Returns 0 or a negative errno. */
int listen_local_note_file(const char *path, struct listen_local *l);

/* Removes its file if nobody listens there, unless it is another one by now. */
void listen_local_remove_left(const struct listen_local *l, const char *path);

/* Closes it, and removes its file unless it is another one by now. */
void listen_local_close(struct listen_local *l, const char *path);

#endif
