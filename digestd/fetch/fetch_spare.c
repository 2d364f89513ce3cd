/*
 * Spare connections.
 */
#include "digestd/fetch/fetch_spare.h"

#include <stdlib.h>

struct spare {
	struct pool_want want; /* first: what the pool knows of it */
	struct spares *spares;
	struct spare *next, **link;
};

static void fetch_spare_free(struct spare *s)
{
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	free(s);
}

static void fetch_spare_got(struct pool_want *want, struct pool_conn *conn)
{
	struct spare *s = (struct spare *)want;

	pool_keep(s->spares->pool, conn);
	fetch_spare_free(s);
}

static void fetch_spare_failed(struct pool_want *want, enum fetch_result result)
{
	(void)result; /* whoever needs one will learn it */
	fetch_spare_free((struct spare *)want);
}

/* Returns whether one more is being made. */
static bool fetch_spare_make(struct spares *spares,
			     const struct pool_place *place,
			     unsigned connect_ms)
{
	struct spare *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return false;
	s->want = (struct pool_want){ .got = fetch_spare_got,
				      .failed = fetch_spare_failed,
				      .fresh = true,
				      .connect_ms = connect_ms };
	s->spares = spares;
	s->next = spares->first;
	s->link = &spares->first;
	if (s->next)
		s->next->link = &s->next;
	spares->first = s;
	/* none is idle for who wants a fresh one */
	(void)pool_ask(spares->pool, &s->want, place, &err);
	if (err)
		fetch_spare_free(s);
	return !err;
}

void spares_make(struct spares *s, const struct pool_place *place,
		 unsigned connect_ms, unsigned n)
{
	unsigned lack = pool_lacks(s->pool, place, n);

	while (lack-- && fetch_spare_make(s, place, connect_ms))
		continue;
}

void spares_end(struct spares *s)
{
	while (s->first) {
		pool_forget(s->pool, &s->first->want);
		fetch_spare_free(s->first);
	}
}
