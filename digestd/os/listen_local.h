/*
 * Listening UNIX sockets, for who is on the same machine and may write to the
 * socket's file: its owner and its group.
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

/*
 * Opens a non-blocking stream socket that listens at a path, mode 0660. A
 * socket that a process has left there when it died is replaced, one at which
 * a process listens is not. Returns 0 or a negative errno: -EADDRINUSE where
 * somebody listens, -ENOTSOCK where the path is something else, -ENAMETOOLONG
 * for one of more than 107 bytes, or that of the call that failed; then
 * l->fd is -1.
 */
int listen_local_open(const char *path, struct listen_local *l);

/* Closes it, and removes its file unless it is another one by now. */
void listen_local_close(struct listen_local *l, const char *path);

#endif
