/*
 * Lines to the machine's syslog: a datagram each, at the socket at which
 * syslog(3) speaks, in the form that it has there (RFC 3164, section 4.1), as
 * facility daemon and severity info. Not by syslog(3): that may block, opens
 * one socket a process, and says nothing of what is lost.
 */
#ifndef DIGESTD_OS_SYSLOG_SOCKET_H
#define DIGESTD_OS_SYSLOG_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

enum { SYSLOG_SOCKET_LINE_MAX = 8192 }; /* what is longer is cut */

/* Whether a place for a log is "syslog:", or "syslog:" and a socket's path. */
bool syslog_socket_is_meant(const char *place);

/* Opens it. Returns a descriptor that does not block, or a negative errno. */
int syslog_socket_open(const char *place);

/* Sends a line, without its end. Returns 0 or a negative errno: -EAGAIN where
 * it has to wait, -ECONNREFUSED or -ENOTCONN where it is to be opened anew. */
int syslog_socket_send(int fd, const char *line, size_t len);

#endif
