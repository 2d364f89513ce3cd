/*
 * Who goes when all places are taken: of the connections that wait for their
 * client one that is idle, its first request included, or else one that sends
 * a body. So whoever opens many and says little loses them to who comes.
 *
 * Of the idle ones those of the address with the most connections go first, of
 * uploads then the slowest, and of equal ones who has waited longest. Only the
 * first of each list, which wait longest, are looked at, so that the choice
 * costs the same however many there are. What has just begun is spared as long
 * as there is another.
 *
 * When memory is short, which connections that wait are worth less than, some
 * of them go for each that comes, so that it is not short for long. What has
 * just begun is spared then, unless nothing is left and its address has many.
 */
#include <assert.h>

#include "digestd/os/memory.h"
#include "digestd/server/server_engine.h"

enum {
	LOOKED_AT = 64,
	SPARED_MS = 1000,
	SHORT_CLOSED = 4, /* for one that comes */
	SHORT_MANY = 64, /* connections of an address */
};

void conn_idle_enter(struct conn *c)
{
	struct server *s = c->server;

	assert(!c->idle_link);
	c->idle_since_ms = loop_now_ms(s->loop);
	c->idle_next = NULL;
	c->idle_link = s->idle_end;
	*s->idle_end = c;
	s->idle_end = &c->idle_next;
}

void conn_idle_leave(struct conn *c)
{
	if (!c->idle_link)
		return;
	*c->idle_link = c->idle_next;
	if (c->idle_next)
		c->idle_next->idle_link = c->idle_link;
	else
		c->server->idle_end = c->idle_link;
	c->idle_link = NULL;
}

void conn_upload_enter(struct conn *c)
{
	struct server *s = c->server;

	assert(!c->upload_link);
	c->upload_since_ms = loop_now_ms(s->loop);
	c->upload_bytes = 0;
	c->upload_next = NULL;
	c->upload_link = s->uploads_end;
	*s->uploads_end = c;
	s->uploads_end = &c->upload_next;
}

void conn_upload_leave(struct conn *c)
{
	if (!c->upload_link)
		return;
	*c->upload_link = c->upload_next;
	if (c->upload_next)
		c->upload_next->upload_link = c->upload_link;
	else
		c->server->uploads_end = c->upload_link;
	c->upload_link = NULL;
}

static struct conn *server_idle_choose(const struct server *s, int64_t until_ms)
{
	struct conn *chosen = NULL;
	unsigned n = 0;

	for (struct conn *c = s->idle;
	     c && n < LOOKED_AT && c->idle_since_ms <= until_ms;
	     c = c->idle_next, n++) {
		if (!chosen ||
		    conn_client_count(c) > conn_client_count(chosen))
			chosen = c;
	}
	return chosen;
}

/* [bytes/s]; a span of nothing counts as one. */
static uint64_t server_idle_upload_rate(const struct conn *c, int64_t now_ms)
{
	return c->upload_bytes * 1000 /
	       (uint64_t)(now_ms - c->upload_since_ms + 1);
}

/* Whether a goes before b. */
static bool server_idle_upload_is_worse(const struct conn *a,
					const struct conn *b, int64_t now_ms)
{
	unsigned mine = conn_client_count(a), theirs = conn_client_count(b);

	return mine != theirs ? mine > theirs
			      : server_idle_upload_rate(a, now_ms) <
					server_idle_upload_rate(b, now_ms);
}

/* What is held waits for its origin, not for the client. */
static struct conn *server_idle_upload_choose(const struct server *s,
					      int64_t now_ms, int64_t until_ms)
{
	struct conn *chosen = NULL;
	unsigned n = 0;

	for (struct conn *c = s->uploads;
	     c && n < LOOKED_AT && c->upload_since_ms <= until_ms;
	     c = c->upload_next, n++) {
		if (!c->held &&
		    (!chosen || server_idle_upload_is_worse(c, chosen, now_ms)))
			chosen = c;
	}
	return chosen;
}

/* Of what has waited for its client for a while; null: none has. */
static struct conn *server_choose_old(const struct server *s)
{
	int64_t now_ms = loop_now_ms(s->loop), old_ms = now_ms - SPARED_MS;
	struct conn *c = server_idle_choose(s, old_ms);

	return c ? c : server_idle_upload_choose(s, now_ms, old_ms);
}

static struct conn *server_choose(const struct server *s)
{
	int64_t now_ms = loop_now_ms(s->loop);
	struct conn *c = server_choose_old(s);

	if (!c)
		c = server_idle_choose(s, now_ms);
	return c ? c : server_idle_upload_choose(s, now_ms, now_ms);
}

/*
 * As server_choose() for want of memory. It is short while a body could not be
 * collected beside what memory_reserve() keeps; those that wait close sooner
 * than the last quarter of that is reached, where requests are refused.
 */
static struct conn *server_choose_short(const struct server *s)
{
	uint64_t left = ledger_left(&memory_ledger);
	uint64_t reserve = memory_reserve();
	struct conn *c = NULL;

	if (left < reserve + reserve / 4)
		c = server_choose_old(s);
	if (c || left >= reserve / 2)
		return c;
	c = server_idle_choose(s, loop_now_ms(s->loop));
	return c && conn_client_count(c) > SHORT_MANY ? c : NULL;
}

bool server_has_memory_for(const struct conn *c)
{
	return ledger_left(&memory_ledger) ||
	       conn_client_count(c) <= SHORT_MANY;
}

/* What is closed here stays open until its engine looks: once for each. */
static void server_crowd_out(struct server *s, struct conn *c)
{
	if (!c)
		return;
	conn_idle_leave(c);
	conn_upload_leave(c);
	conn_close(c);
	atomic_fetch_add_explicit(&s->crowded_out, 1, memory_order_relaxed);
}

bool server_give_way(struct server *s)
{
	struct conn *c = server_choose(s);

	server_crowd_out(s, c);
	return c;
}

bool server_has_room(const struct server *s)
{
	return s->nconns < s->settings.max_connections || server_choose(s);
}

void server_make_room(struct server *s)
{
	if (s->nconns >= s->settings.max_connections)
		server_crowd_out(s, server_choose(s));
	for (int i = 0; i < SHORT_CLOSED; i++)
		server_crowd_out(s, server_choose_short(s));
}
