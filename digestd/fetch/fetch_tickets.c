/*
 * Sessions in a ring: TICKETS_MAX of them, looked through from the newest on.
 */
#include "digestd/fetch/fetch_tickets.h"

#include <assert.h>
#include <string.h>

void tickets_put(struct tickets *t, const union resolver_address *from,
		 const struct tls_ticket *ticket)
{
	unsigned at = t->next;

	assert(ticket->data);
	tls_ticket_free(&t->of[at].ticket);
	t->of[at].from = *from;
	t->of[at].ticket = *ticket;
	t->next = (at + 1) % TICKETS_MAX;
}

static bool fetch_tickets_is_same(const union resolver_address *a,
				  const union resolver_address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->in4.sin_addr.s_addr == b->in4.sin_addr.s_addr;
	return a->in6.sin6_scope_id == b->in6.sin6_scope_id &&
	       !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr,
		       sizeof(a->in6.sin6_addr));
}

struct tls_ticket tickets_take(struct tickets *t,
			       const union resolver_address *from)
{
	struct tls_ticket none = { 0 };

	for (unsigned i = 1; i <= TICKETS_MAX; i++) {
		unsigned at = (t->next + TICKETS_MAX - i) % TICKETS_MAX;
		struct tls_ticket ticket = t->of[at].ticket;

		if (!ticket.data ||
		    !fetch_tickets_is_same(&t->of[at].from, from))
			continue;
		t->of[at].ticket = none;
		return ticket;
	}
	return none;
}

void tickets_free(struct tickets *t)
{
	for (unsigned i = 0; i < TICKETS_MAX; i++)
		tls_ticket_free(&t->of[i].ticket);
}
