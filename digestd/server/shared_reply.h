/*
 * Inside a shared reply (see server.h): its header as bytes, once, and its body
 * in memory, for engines to send.
 */
#ifndef DIGESTD_SERVER_SHARED_REPLY_H
#define DIGESTD_SERVER_SHARED_REPLY_H

#include "digestd/server/reply_head.h"
#include "digestd/server/server.h"

struct shared_reply {
	unsigned status;
	unsigned users;         /* exchanges that it is the reply of, and its
				   owner */
	struct reply_head head; /* but for what depends on the connection, the
				   empty line at its end included, which is
				   behind it all the same, not counted */
	bool dated;             /* Date is in it */
	struct body_memory body;
	void *made;             /* what an engine has made of it; null */
	void (*unmake)(void *made);
};

/* One user more. */
struct shared_reply *shared_reply_ref(struct shared_reply *reply);

#endif
