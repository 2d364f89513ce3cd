/*
 * Where a node reads who the members of its cluster are. A source is one word
 * for what it is, a colon, and its name:
 *
 *   dns:NAME:PORT     each address of a name (A, AAAA) is a member
 *   srv:NAME          each target and port of a service (SRV, RFC 2782)
 *   file:PATH         a list, see member_list.h
 *   command:COMMAND   a shell's command that prints one
 */
#ifndef DIGESTD_PEERS_MEMBER_SOURCE_H
#define DIGESTD_PEERS_MEMBER_SOURCE_H

#include <stdbool.h>

#include "digestd/peers/member_list.h"

enum {
	MEMBER_COMMAND_MS = 10000,   /* a command ends within it */
	MEMBER_TEXT_BYTES = 1 << 20, /* more, a list has not */
};

/* Whether a text is a source. */
bool member_source_is(const char *text);

/*
 * Whether reading it ends soon after `cancel` becomes readable; if not, it may
 * take as long as a resolver waits for name servers.
 */
bool member_source_can_be_cancelled(const char *source);

struct member_source_ask {
	const char *source;
	bool https; /* how members of dns and srv are asked */
	int cancel; /* a descriptor, see above; -1: none */
};

/*
 * Reads it, in a thread that may wait. Returns true and a list, to be freed;
 * or false, and fault->what says why without a list: nothing is known then. In
 * both cases fault->said is what a command has written to its errors. A
 * name that does not exist, or has no address, is such a failure: an empty
 * list is one that a file or a command gives.
 */
bool member_source_read(const struct member_source_ask *ask,
			struct member_list *list, struct member_fault *fault);

#endif
