/*
 * A server's connections, whichever engine has them: how many there are, and
 * how long each has.
 */
#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "digestd/os/memory.h"
#include "digestd/server/server_engine.h"

/* What clients cause to be logged, so many lines in so much time. */
enum { LOG_BURST = 5, LOG_PERIOD_MS = 10000 };

static bool server_conn_is_trusted(const struct conn *c)
{
	return c->server->trusts_all ||
	       address_prefixes_have(&c->server->trusted, c->address);
}

void conn_enter(struct conn *c)
{
	struct server *s = c->server;

	c->trusted = server_conn_is_trusted(c);
	c->next = s->conns;
	c->link = &s->conns;
	if (c->next)
		c->next->link = &c->next;
	s->conns = c;
	s->nconns++;
	conn_client_enter(c);
	ledger_add(&memory_ledger, LEDGER_connections,
		   s->engine->conn_bytes(s));
}

void conn_leave(struct conn *c)
{
	struct server *s = c->server;

	loop_timer_clear(s->loop, &c->timer);
	conn_idle_leave(c);
	conn_upload_leave(c);
	conn_client_leave(c);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	ledger_return(&memory_ledger, LEDGER_connections,
		      s->engine->conn_bytes(s));
	if (--s->nconns == 0 && s->draining)
		loop_defer(s->loop, &s->drained);
}

void conn_set_client(struct conn *c, const struct sockaddr *address)
{
	if (!address) {
		c->trusted = false;
		return;
	}
	conn_client_leave(c);
	c->address = address;
	c->trusted = server_conn_is_trusted(c);
	conn_client_enter(c);
}

void conn_close(struct conn *c)
{
	c->server->engine->close(c);
}

static void server_conn_deadline_passed(void *arg)
{
	struct conn *c = arg;

	if (!c->deadline_ms)
		return;
	if (loop_now_ms(c->server->loop) < c->deadline_ms) {
		loop_timer_set(c->server->loop, &c->timer, c->deadline_ms,
			       server_conn_deadline_passed, c);
		return;
	}
	if (conn_pace_kept(c))
		return;
	c->deadline_ms = 0;
	c->server->engine->expire(c);
}

/*
 * A timer that is due earlier than the new deadline is left alone and looks
 * again when it fires: deadlines move with every request, timers do not.
 */
void conn_set_deadline(struct conn *c, int64_t deadline_ms)
{
	assert(deadline_ms >= 0);
	c->deadline_ms = deadline_ms;
	c->pace = PACE_NONE;
	if (!deadline_ms || (c->timer.link && c->timer.due_ms <= deadline_ms))
		return;
	loop_timer_set(c->server->loop, &c->timer, deadline_ms,
		       server_conn_deadline_passed, c);
}

/* Whether another line may be logged; *host is who it is about. */
static bool server_conn_may_log(const struct server *s, struct log_limit *limit,
				const struct sockaddr *from,
				char host[NI_MAXHOST], unsigned *dropped)
{
	limit->burst = LOG_BURST;
	limit->period_ms = LOG_PERIOD_MS;
	if (!log_allow(limit, loop_now_ms(s->loop), dropped))
		return false;
	if (from && from->sa_family == AF_UNIX)
		snprintf(host, NI_MAXHOST, "a local client");
	else if (!from || getnameinfo(from, from->sa_family == AF_INET6 ?
					       sizeof(struct sockaddr_in6) :
					       sizeof(struct sockaddr_in),
				 host, NI_MAXHOST, NULL, 0, NI_NUMERICHOST))
		snprintf(host, NI_MAXHOST, "a client");
	return true;
}

static void server_conn_count_too_large(struct server *s,
					const struct sockaddr *from,
					unsigned status)
{
	char host[NI_MAXHOST], room[64];
	unsigned dropped;

	atomic_fetch_add_explicit(&s->too_large, 1, memory_order_relaxed);
	if (server_conn_may_log(s, &s->too_large_log, from, host, &dropped))
		log_write(LOG_WARNING, "server", "%s: %u to %s: the "
			  "header is larger than max_header_size = %zu, or has "
			  "too many fields%s", s->label, status, host,
			  s->settings.max_header_bytes,
			  log_suppressed(dropped, room));
}

void server_count_tls_failure(struct server *s, const struct sockaddr *from,
			      const char *why)
{
	char host[NI_MAXHOST], room[64];
	unsigned dropped;

	atomic_fetch_add_explicit(&s->tls_failures, 1, memory_order_relaxed);
	if (server_conn_may_log(s, &s->tls_log, from, host, &dropped))
		log_write(LOG_WARNING, "tls", "%s: handshake with %s "
			  "failed%s%s%s", s->label, host, *why ? ": " : "", why,
			  log_suppressed(dropped, room));
}

/* Counts a connection that is closed before a request, and logs why. */
static void server_conn_count_closed(struct server *s,
				     atomic_uint_fast64_t *counter,
				     struct log_limit *limit,
				     const struct sockaddr *from,
				     const char *why)
{
	char host[NI_MAXHOST], room[64];
	unsigned dropped;

	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	if (server_conn_may_log(s, limit, from, host, &dropped))
		log_write(LOG_WARNING, "server", "%s: a connection from "
			  "%s is closed: %s%s", s->label, host, why,
			  log_suppressed(dropped, room));
}

void server_count_flood(struct server *s, const struct sockaddr *from)
{
	server_conn_count_closed(s, &s->floods, &s->floods_log, from,
				 "a flood of HTTP/2 frames");
}

void server_count_proxy_refusal(struct server *s, const struct sockaddr *from,
				const char *why)
{
	server_conn_count_closed(s, &s->proxy_refused, &s->proxy_log, from,
				 why);
}

void server_count_surplus(struct server *s, const struct sockaddr *from,
			  const char *why)
{
	server_conn_count_closed(s, &s->surplus, &s->surplus_log, from, why);
}

bool server_allows(const struct server *s, const struct sockaddr *from)
{
	return !s->allowed.count || from->sa_family == AF_UNIX ||
	       address_prefixes_have(&s->allowed, from);
}

void server_count_unlisted(struct server *s, const struct sockaddr *from)
{
	char why[64];

	snprintf(why, sizeof(why), "its address is not in %s",
		 s->settings.allowed_by);
	server_conn_count_closed(s, &s->refused[REFUSAL_forbidden],
				 &s->unlisted_log, from, why);
}

void server_count_refusal(struct server *s, const struct sockaddr *from,
			  unsigned status, const char *why)
{
	enum refusal reason = refusal_of_status(status);
	/* so that slow clients do not keep what else is wrong out of the log */
	struct log_limit *limit = reason == REFUSAL_slow ? &s->slow_log :
							   &s->refused_log;
	char host[NI_MAXHOST], room[64];
	unsigned dropped;

	if (reason < REFUSAL_COUNT)
		atomic_fetch_add_explicit(&s->refused[reason], 1,
					  memory_order_relaxed);
	if (status == 414 || status == 431)
		server_conn_count_too_large(s, from, status);
	else if (why && server_conn_may_log(s, limit, from, host, &dropped))
		log_write(LOG_WARNING, "server", "%s: %u to %s: %s%s",
			  s->label, status, host, why,
			  log_suppressed(dropped, room));
}
