/*
 * Names to addresses, without holding up a loop: getaddrinfo(3) in threads of
 * its own, at most RESOLVER_THREADS of them, which end when there is nothing to
 * be looked up. Nothing is remembered here.
 *
 * One resolver belongs to one loop; its functions and answers run there. A
 * lookup cannot be broken off, but it is forgotten, and whoever frees the
 * resolver does not wait for it.
 */
#ifndef DIGESTD_OS_RESOLVER_H
#define DIGESTD_OS_RESOLVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
	RESOLVER_THREADS = 8,   /* lookups at a time; others wait */
	RESOLVER_ADDRESSES = 8, /* of one name: the first ones are kept */
};

struct loop;
struct resolver;
struct resolver_query;

union resolver_address {
	struct sockaddr any;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
};

/* Whether both are the same, with their ports. */
bool resolver_address_is(const union resolver_address *a,
			 const union resolver_address *b);

/* What a name stands for, the best first (RFC 6724); n = 0: nothing. */
struct resolver_answer {
	bool no_such_name; /* a name server says so */
	size_t n;
	union resolver_address addresses[RESOLVER_ADDRESSES];
};

/* Makes one in a loop. Returns 0, -ENOMEM or -EMFILE. */
int resolver_new(struct loop *loop, struct resolver **out);

/* Forgets what is being looked up. Null is allowed. */
void resolver_free(struct resolver **r);

/*
 * Looks a name of at most 255 bytes up: done(arg, answer), with an answer that
 * is lent, comes from the loop, unless it is cancelled. Returns 0, -EINVAL for
 * a name that is too long, -ENOMEM, or -EAGAIN (no thread).
 */
int resolver_start(struct resolver *r, const char *name, unsigned port,
		   void (*done)(void *arg,
				const struct resolver_answer *answer),
		   void *arg, struct resolver_query **out);

/* No answer comes; *q becomes null, and may be null. */
void resolver_cancel(struct resolver_query **q);

#endif
