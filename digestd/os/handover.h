/*
 * A process that another one replaces while it serves: it starts the program
 * anew, with its listening sockets (listen_given.h) and a channel, by which the
 * two agree on who has what. The successor finds the channel's descriptor in
 * DIGESTD_HANDOVER.
 *
 *	old	starts the successor, and serves
 *	new	reads its configuration; DISK
 *	old	leaves the disk, and serves without writing there; DISK
 *	new	takes the disk, serves from the same sockets; SERVES
 *	old	accepts nothing any more, ends what is under way, and itself
 *
 * While it leaves the disk, and from then on, the old one says what it purges
 * (PURGE), which the new one applies before it serves, or as it comes; until
 * then it keeps it (handover_purges.h). Whichever ends, the other one sees
 * the channel's end: a successor that fails before SERVES leaves the old one
 * serving.
 */
#ifndef DIGESTD_OS_HANDOVER_H
#define DIGESTD_OS_HANDOVER_H

#include <sys/types.h>

#include "digestd/mesh/invalidation.h"

/* Who reads nothing for so long, while the channel is full, hangs. */
enum { HANDOVER_SEND_MS = 2000 };

enum handover_kind {
	HANDOVER_DISK,
	HANDOVER_SERVES,
	HANDOVER_PURGE,
};

struct handover_message {
	enum handover_kind kind;
	struct invalidation of; /* PURGE */
};

/* A listening socket, and what it is called (listen_given.h); "": nothing. */
struct handover_socket {
	int fd;
	const char *name;
};

/* The old process's. */
struct handover_successor {
	pid_t pid;
	int channel; /* the caller closes it */
};

/*
 * Starts a program with its arguments, this process's environment and output,
 * and so many sockets as those that it is given. argv[0] is looked for in PATH
 * if it has no slash. Returns 0 or a negative errno.
 */
int handover_start(char *const argv[], const struct handover_socket *sockets,
		   unsigned n, struct handover_successor *out);

/* The successor's channel, which the caller closes; -1:
 * this process replaces none. Clears the variable. */
int handover_channel(void);

/* Sends a message, and waits for room, but no longer than HANDOVER_SEND_MS:
 * then the channel has ended, for both. Returns 0 or a negative errno: -EPIPE,
 * there is nobody at the other end; -ETIMEDOUT. From any thread. */
int handover_send(int channel, const struct handover_message *m);

/*
 * Takes the next message. Returns 0; -EAGAIN: there is none yet; -EPIPE: there
 * will be none; -EPROTO: it is none that this version knows; or another
 * negative errno.
 */
int handover_receive(int channel, struct handover_message *out);

/* The same, but waits for so many milliseconds; then -ETIMEDOUT. */
int handover_wait(int channel, int ms, struct handover_message *out);

#endif
