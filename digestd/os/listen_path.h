/*
 * Listeners at UNIX sockets. One is opened once, by the service, and put among
 * the sockets that the process was given (listen_given.h), of which all workers
 * share it and which a successor inherits. Its file is removed by the process
 * that ends and leaves nobody who listens there.
 */
#ifndef DIGESTD_OS_LISTEN_PATH_H
#define DIGESTD_OS_LISTEN_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/os/listen_local.h"

struct listen_given;

enum {
	LISTEN_PATH_BYTES = 108,     /* of a path, with the NUL: sun_path */
	LISTEN_PATH_NAME_BYTES = 33, /* of a user or a group */
};

/* "unix:/PATH,mode=0660,user=NAME,group=NAME", of which all but the path may be
 * missing. */
struct listen_path_text {
	char path[LISTEN_PATH_BYTES];
	unsigned mode; /* 0660 where it is not given */
	char user[LISTEN_PATH_NAME_BYTES], group[LISTEN_PATH_NAME_BYTES];
};

/* Whether an address is meant as that of a UNIX socket: "unix:" begins it. */
bool listen_path_is_meant(const char *address);

/* Reads one. False: it is none, as its path is not absolute or has more than
 * 107 bytes, its mode is none, or an option is unknown or stands twice. */
bool listen_path_read(const char *address, struct listen_path_text *out);

/* The user and the group that are named. Returns null, or what there is none
 * of, "user" or "group". */
const char *listen_path_rights(const struct listen_path_text *text,
			       struct listen_local_rights *out);

/* The file of a listener; an empty path: there is none. */
struct listen_path {
	char path[LISTEN_PATH_BYTES];
	struct listen_local file; /* its fd is not used */
};

/*
 * Opens the socket of a listener ("data", "admin") and adds it to *given. One
 * that is among them already is taken as it is if a service manager has opened
 * it; if the process before this one has, its file gets the rights that the
 * address names. Any other kind of address, or null, needs nothing. Returns 0,
 * -EINVAL when there is no such user or group, -ENOMEM or an error of
 * listen_local_open_as().
 */
int listen_path_open(const char *address, const char *listener,
		     struct listen_given *given, struct listen_path *out);

/* Removes the file, once this process does not listen there any more, unless
 * another process does. */
void listen_path_close(struct listen_path *p);

#endif
