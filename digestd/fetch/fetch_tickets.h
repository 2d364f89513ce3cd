/*
 * TLS sessions of one server that may be resumed: some, each with the address
 * that it is from. The newest of an address is given away first, and once.
 */
#ifndef DIGESTD_FETCH_FETCH_TICKETS_H
#define DIGESTD_FETCH_FETCH_TICKETS_H

#include "digestd/os/resolver.h"
#include "digestd/tls/tls_stream.h"

enum { TICKETS_MAX = 8 }; /* connections that begin at once */

/* All zero: none. */
struct tickets {
	unsigned next; /* where the next goes: over the oldest */
	struct {
		union resolver_address from;
		struct tls_ticket ticket;
	} of[TICKETS_MAX];
};

/* Keeps one; it is not the caller's any more. */
void tickets_put(struct tickets *t, const union resolver_address *from,
		 const struct tls_ticket *ticket);

/* Gives one away, or none. */
struct tls_ticket tickets_take(struct tickets *t,
			       const union resolver_address *from);

/* Releases all. */
void tickets_free(struct tickets *t);

#endif
