/*
 * What a process before this one purges while this one starts: it is read in a
 * thread of its own from the first one on, and kept. The channel has room for
 * some hundreds, and who purges waits for room, with a lock of the cache.
 */
#ifndef DIGESTD_OS_HANDOVER_PURGES_H
#define DIGESTD_OS_HANDOVER_PURGES_H

#include "digestd/os/handover.h"

struct handover_purges;

/*
 * Waits, for so many milliseconds from each message to the next, until the
 * process at the channel has left its disk; it may say before what it purges.
 * What it says behind that is kept until handover_purges_end(), in 32 bytes
 * each. The channel is borrowed until then. Returns 0, -EPIPE (it has ended:
 * there is none to be read), -ETIMEDOUT, -EPROTO, -ENOMEM or another negative
 * errno.
 */
int handover_purges_new(int channel, int ms, struct handover_purges **out);

/*
 * Reads no more, and calls each() for all that was read, the oldest first;
 * null: for none. What has come since is still to be received. *p becomes null;
 * null is allowed. Returns 0 or the negative errno that has ended the reading.
 */
int handover_purges_end(struct handover_purges **p,
			void (*each)(void *arg, const struct invalidation *of),
			void *arg);

#endif
