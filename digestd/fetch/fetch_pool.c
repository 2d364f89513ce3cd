/*
 * The pool: hosts in a hash table, each with its addresses, its idle
 * connections and who waits; all idle connections by age in one list.
 *
 * What was asked for is worked off from the loop (fetch_pool_run_host()), never
 * inside a call, so nobody is called back from where he calls.
 */
#include "digestd/fetch/fetch_pool.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "digestd/fetch/fetch_place.h"
#include "digestd/fetch/fetch_tickets.h"
#include "digestd/os/address.h"
#include "digestd/tls/tls_client.h"
#include "digestd/tls/tls_stream.h"

enum {
	IDLE_MAX = 512,          /* connections kept */
	IDLE_MS = 60000,         /* for so long; servers close earlier */
	SWEEP_MS = 5000,
	LATELY_MS = 1000,        /* servers keep connections for longer */
	NAME_FRESH_MS = 60000,   /* what name servers mostly allow */
	NAME_USABLE_MS = 300000, /* while it is looked up anew */
	TRY_MIN_MS = 200,        /* before the next address is tried */
	BUCKETS = 256,
	HOSTS_MAX = 4096,        /* more: those not in use go at once */
};

struct pool_host {
	struct pool_host *next;
	struct pool *pool;
	struct pool_conn *idle[2]; /* [1]: of uploads; used last first */
	struct pool_want *waiting, **waiting_end;
	unsigned nconns; /* of whatever state */
	struct loop_call run;
	struct resolver_query *query;
	struct resolver_answer at;
	size_t first;  /* of its addresses, to try */
	bool numeric;  /* needs no lookup, ever */
	bool placed;   /* the address came with the place */
	int64_t resolved_ms, asked_ms, used_ms;
	unsigned port;
	struct tls_client *tls; /* null: without TLS */
	struct tickets tickets;
	char name[POOL_HOST_MAX + 1];
};

struct pool {
	struct loop *loop;
	unsigned max_per_host;
	bool public_only;
	struct resolver *resolver; /* made for the first name */
	struct pool_host *hosts[BUCKETS];
	size_t nhosts, nidle;
	struct pool_conn *oldest, *newest; /* idle */
	struct loop_timer sweep;
};

static void fetch_pool_sweep(void *arg);

static void fetch_pool_arm_sweep(struct pool *pool)
{
	if (!pool->sweep.link)
		loop_timer_set(pool->loop, &pool->sweep,
			       loop_now_ms(pool->loop) + SWEEP_MS,
			       fetch_pool_sweep, pool);
}

/* Idle connections */

static void fetch_pool_list_idle(struct pool *pool, struct pool_conn *c)
{
	struct pool_conn **idle = &c->host->idle[c->uploads];

	c->next = *idle;
	c->link = idle;
	if (c->next)
		c->next->link = &c->next;
	*idle = c;
	c->newer = NULL;
	c->older = pool->newest;
	*(c->older ? &c->older->newer : &pool->oldest) = c;
	pool->newest = c;
	pool->nidle++;
}

static void fetch_pool_unlist_idle(struct pool *pool, struct pool_conn *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	*(c->older ? &c->older->newer : &pool->oldest) = c->newer;
	*(c->newer ? &c->newer->older : &pool->newest) = c->older;
	c->next = c->older = c->newer = NULL;
	c->link = NULL;
	pool->nidle--;
}

static void fetch_pool_close_socket(struct pool *pool, struct pool_conn *c)
{
	int fd = c->watch.fd;

	tls_stream_free(c->tls);
	c->tls = NULL;
	loop_unwatch(pool->loop, &c->watch);
	if (fd >= 0)
		close(fd);
	c->watch.fd = -1;
}

void pool_close(struct pool *pool, struct pool_conn *conn)
{
	struct pool_host *host = conn->host;

	assert(host->nconns);
	if (conn->link)
		fetch_pool_unlist_idle(pool, conn);
	fetch_pool_close_socket(pool, conn);
	free(conn);
	host->nconns--;
	if (host->waiting)
		loop_defer(pool->loop, &host->run);
}

int pool_watch(struct pool *pool, struct pool_conn *conn, unsigned events)
{
	const unsigned edge = !conn->tls && events & LOOP_READ ?
				      LOOP_HANGUP | LOOP_EDGE : 0;
	int err;

	assert(conn->watch.fd >= 0);
	if (conn->watch.active && events == conn->events)
		return 0;
	if (!events) { /* a broken connection would be reported again and
			  again */
		loop_unwatch(pool->loop, &conn->watch);
		return 0;
	}
	err = conn->watch.active ?
		      loop_rewatch(pool->loop, &conn->watch, events | edge) :
		      loop_watch(pool->loop, &conn->watch, conn->watch.fd,
				 events | edge, conn->watch.ready, conn);
	if (!err)
		conn->events = events;
	return err;
}

void pool_use(struct pool_conn *conn,
	      void (*ready)(void *arg, unsigned events), void *arg)
{
	assert(ready);
	assert(!conn->link);
	conn->ready = ready;
	conn->arg = arg;
}

void pool_keep(struct pool *pool, struct pool_conn *conn)
{
	struct pool_host *host = conn->host;

	assert(!conn->link && !conn->want);
	conn->ready = NULL;
	conn->idle_since_ms = loop_now_ms(pool->loop);
	if (pool_watch(pool, conn, LOOP_READ)) {
		pool_close(pool, conn);
		return;
	}
	fetch_pool_list_idle(pool, conn);
	if (pool->nidle > IDLE_MAX)
		pool_close(pool, pool->oldest);
	fetch_pool_arm_sweep(pool);
	if (host->waiting)
		loop_defer(pool->loop, &host->run);
}

static int fetch_pool_look_up(struct pool_host *host);

/* Whether the name still stands for the address of a connection, as far as is
 * known; has it looked up anew in time, also where no connection is made any
 * more, as those that there are do. */
static bool fetch_pool_is_current(struct pool_host *host,
				  const struct pool_conn *c)
{
	if (host->numeric || !host->at.n)
		return true;
	if (loop_now_ms(host->pool->loop) - host->resolved_ms >= NAME_FRESH_MS)
		(void)fetch_pool_look_up(host);
	for (size_t i = 0; i < host->at.n; i++) {
		if (resolver_address_is(&host->at.addresses[i], &c->to))
			return true;
	}
	return false;
}

/* The idle connection that was used last and is as it was left, or null. What
 * has come on one since belongs to no request. */
static struct pool_conn *fetch_pool_quiet(struct pool *pool,
					  struct pool_host *host, bool uploads)
{
	struct pool_conn **c = &host->idle[uploads];

	while (*c && (!pool_is_quiet(*c) || !fetch_pool_is_current(host, *c)))
		pool_close(pool, *c);
	return *c;
}

/* An idle connection for it, or null. */
static struct pool_conn *fetch_pool_take_idle(struct pool *pool,
					      struct pool_host *host,
					      const struct pool_want *want)
{
	struct pool_conn *c = want->fresh ? NULL : fetch_pool_quiet(
		pool, host, want->uploads);

	if (!c || (want->lately &&
		   loop_now_ms(pool->loop) - c->idle_since_ms >= LATELY_MS))
		return NULL;
	fetch_pool_unlist_idle(pool, c);
	c->reused = true;
	return c;
}

/* Who waits */

static void fetch_pool_enqueue(struct pool_host *host, struct pool_want *want)
{
	want->host = host;
	want->next = NULL;
	want->link = host->waiting_end;
	*host->waiting_end = want;
	host->waiting_end = &want->next;
}

static void fetch_pool_dequeue(struct pool_host *host, struct pool_want *want)
{
	*want->link = want->next;
	if (want->next)
		want->next->link = want->link;
	else
		host->waiting_end = want->link;
	want->next = NULL;
	want->link = NULL;
}

/* It waits no more, for whatever it was. */
static void fetch_pool_settle(struct pool *pool, struct pool_want *want)
{
	if (want->link)
		fetch_pool_dequeue(want->host, want);
	loop_timer_clear(pool->loop, &want->timer);
	want->host = NULL;
	want->conn = NULL;
	want->deadline_ms = 0;
}

static void fetch_pool_give(struct pool *pool, struct pool_want *want,
			    struct pool_conn *c)
{
	fetch_pool_settle(pool, want);
	c->want = NULL;
	want->got(want, c);
}

static void fetch_pool_refuse(struct pool *pool, struct pool_want *want,
			      enum fetch_result result)
{
	fetch_pool_settle(pool, want);
	want->failed(want, result);
}

/* All who wait now; whoever is told may ask again. */
static void fetch_pool_refuse_all(struct pool_host *host,
				  enum fetch_result result)
{
	size_t n = 0;

	for (struct pool_want *w = host->waiting; w; w = w->next)
		n++;
	while (n-- && host->waiting)
		fetch_pool_refuse(host->pool, host->waiting, result);
}

void pool_forget(struct pool *pool, struct pool_want *want)
{
	struct pool_conn *conn = want->conn;

	assert(!want->conn || want->conn->want == want);
	if (!want->host)
		return;
	fetch_pool_settle(pool, want);
	if (conn)
		pool_close(pool, conn);
}

/* Connecting */

static enum trouble fetch_pool_cause(const struct pool_conn *c,
				     enum fetch_result result)
{
	return result == FETCH_TIMEOUT	   ? TROUBLE_timeout_connect
	       : result == FETCH_UNTRUSTED ? tls_stream_trouble(c->tls)
	       : result != FETCH_NOCONNECT ? TROUBLE_none
					   : trouble_of_connect(c->error);
}

static void fetch_pool_connect_failed(struct pool *pool, struct pool_conn *c,
				      enum fetch_result result)
{
	struct pool_want *want = c->want;
	struct pool_host *host = c->host;

	want->cause = fetch_pool_cause(c, result);
	/* the name may stand for others by now */
	if (host->resolved_ms > loop_now_ms(pool->loop) - NAME_FRESH_MS)
		host->resolved_ms = loop_now_ms(pool->loop) - NAME_FRESH_MS;
	pool_close(pool, c);
	fetch_pool_refuse(pool, want, result);
}

static void fetch_pool_conn_ready(void *arg, unsigned events);

/* Begins to connect to one address. Returns 0, or -1 when that cannot be. */
static int fetch_pool_try_address(struct pool *pool, struct pool_conn *c,
				  const union resolver_address *to)
{
	static const int on = 1;
	socklen_t len = to->any.sa_family == AF_INET6 ? sizeof(to->in6) :
							sizeof(to->in4);

	if (pool->public_only && !address_is_public(&to->any)) {
		c->refused = true;
		return -1;
	}
	c->watch.fd = socket(to->any.sa_family,
			     SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	c->error = errno;
	if (c->watch.fd < 0)
		return -1;
	setsockopt(c->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if ((connect(c->watch.fd, &to->any, len) && errno != EINPROGRESS) ||
	    loop_watch(pool->loop, &c->watch, c->watch.fd, LOOP_WRITE,
		       fetch_pool_conn_ready, c)) {
		c->error = errno;
		fetch_pool_close_socket(pool, c);
		return -1;
	}
	c->events = LOOP_WRITE;
	c->to = *to;
	return 0;
}

static void fetch_pool_want_late(void *arg);

/* When to give this address up: each gets its share of the time. */
static int64_t fetch_pool_try_until(const struct pool *pool,
				    const struct pool_want *want, size_t others)
{
	int64_t left = want->deadline_ms - loop_now_ms(pool->loop);
	int64_t share = left / (int64_t)(others + 1);

	if (share < TRY_MIN_MS)
		share = TRY_MIN_MS;
	return want->deadline_ms - left + (share < left ? share : left);
}

/* Why no address would do. */
static enum fetch_result fetch_pool_failure(const struct pool_conn *c)
{
	if (c->refused)
		return FETCH_REFUSED;
	return c->no_tls ? FETCH_NOTLS : FETCH_NOCONNECT;
}

static void fetch_pool_try_next(struct pool *pool, struct pool_conn *c)
{
	struct pool_host *host = c->host;
	size_t n = host->at.n;

	while (c->tried < n) {
		c->address = (host->first + c->tried++) % n;
		if (!fetch_pool_try_address(pool, c,
					    &host->at.addresses[c->address])) {
			loop_timer_set(pool->loop, &c->want->timer,
				       fetch_pool_try_until(pool, c->want,
							    n - c->tried),
				       fetch_pool_want_late, c->want);
			return;
		}
	}
	fetch_pool_connect_failed(pool, c, fetch_pool_failure(c));
}

static void fetch_pool_try_another(struct pool *pool, struct pool_conn *c)
{
	fetch_pool_close_socket(pool, c);
	fetch_pool_try_next(pool, c);
}

static void fetch_pool_want_late(void *arg)
{
	struct pool_want *want = arg;
	struct pool *pool = want->host->pool;
	struct pool_conn *c = want->conn;

	if (!c) {
		want->cause = TROUBLE_name_server;
		fetch_pool_refuse(pool, want, FETCH_TIMEOUT);
	} else if (c->tried < c->host->at.n &&
		   loop_now_ms(pool->loop) < want->deadline_ms) {
		fetch_pool_try_another(pool, c);
	} else {
		fetch_pool_connect_failed(pool, c, FETCH_TIMEOUT);
	}
}

static void fetch_pool_established(struct pool *pool, struct pool_conn *c)
{
	if (pool_watch(pool, c, LOOP_READ)) {
		fetch_pool_connect_failed(pool, c, FETCH_NOMEM);
		return;
	}
	c->host->first = c->address;
	fetch_pool_give(pool, c->want, c);
}

static void fetch_pool_handshake_failed(struct pool *pool, struct pool_conn *c,
					int err)
{
	if (err == -EACCES) {
		fetch_pool_connect_failed(pool, c, FETCH_UNTRUSTED);
		return;
	}
	c->no_tls |= err == -EPROTO;
	c->error = -err;
	fetch_pool_try_another(pool, c);
}

static void fetch_pool_shake_hands(struct pool *pool, struct pool_conn *c)
{
	int err = tls_stream_handshake(c->tls);

	if (!err)
		fetch_pool_established(pool, c);
	else if (err != -EAGAIN)
		fetch_pool_handshake_failed(pool, c, err);
	else if (pool_watch(pool, c, tls_stream_holds(c->tls) ? LOOP_WRITE :
								LOOP_READ))
		fetch_pool_connect_failed(pool, c, FETCH_NOMEM);
}

/* Begins TLS on a connection. Returns 0 or -ENOMEM. */
static int fetch_pool_begin_tls(struct pool_host *host, struct pool_conn *c)
{
	struct tls_ticket ticket = tickets_take(&host->tickets, &c->to);
	size_t len = strlen(host->name);
	char name[POOL_HOST_MAX + 1];
	bool bracketed = host->name[0] == '[';
	const struct tls_server server = { host->tls, name, c->watch.fd };
	int err;

	memcpy(name, host->name + bracketed, len - bracketed + 1);
	if (bracketed)
		name[len - 2] = '\0';
	err = tls_stream_new(&server, &ticket, &c->tls);
	tls_ticket_free(&ticket);
	return err;
}

static void fetch_pool_connected(struct pool *pool, struct pool_conn *c)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &err, &len) || err) {
		c->error = err;
		fetch_pool_try_another(pool, c);
	} else if (!c->host->tls) {
		fetch_pool_established(pool, c);
	} else if (fetch_pool_begin_tls(c->host, c)) {
		fetch_pool_connect_failed(pool, c, FETCH_NOMEM);
	} else {
		fetch_pool_shake_hands(pool, c);
	}
}

static void fetch_pool_conn_ready(void *arg, unsigned events)
{
	struct pool_conn *c = arg;

	if (c->want && c->tls)
		fetch_pool_shake_hands(c->host->pool, c);
	else if (c->want)
		fetch_pool_connected(c->host->pool, c);
	else if (c->ready)
		c->ready(c->arg, events);
	else if (!c->tls || !pool_is_quiet(c))
		/* idle: closed, or it speaks without being asked */
		pool_close(c->host->pool, c);
}

static void fetch_pool_set_deadline(struct pool *pool, struct pool_want *want)
{
	if (want->deadline_ms)
		return;
	want->deadline_ms = loop_now_ms(pool->loop) + want->connect_ms;
	loop_timer_set(pool->loop, &want->timer, want->deadline_ms,
		       fetch_pool_want_late, want);
}

static void fetch_pool_make_connection(struct pool *pool,
				       struct pool_want *want)
{
	struct pool_conn *c = calloc(1, sizeof(*c));

	fetch_pool_dequeue(want->host, want);
	if (!c) {
		fetch_pool_refuse(pool, want, FETCH_NOMEM);
		return;
	}
	c->host = want->host;
	c->host->nconns++;
	c->uploads = want->uploads;
	c->tickets = &c->host->tickets;
	c->want = want;
	c->watch.fd = -1;
	want->conn = c;
	fetch_pool_set_deadline(pool, want);
	fetch_pool_try_next(pool, c);
}

/* Names */

static void fetch_pool_run_host(void *arg);

static void fetch_pool_looked_up(void *arg,
				 const struct resolver_answer *answer)
{
	struct pool_host *host = arg;

	host->query = NULL;
	if (answer->n) {
		host->at = *answer;
		host->first = 0;
		host->resolved_ms = loop_now_ms(host->pool->loop);
	} else if (!host->at.n) {
		for (struct pool_want *w = host->waiting; w; w = w->next)
			w->cause = answer->no_such_name
					   ? TROUBLE_no_such_name
					   : TROUBLE_name_server;
		fetch_pool_refuse_all(host, FETCH_NOCONNECT);
	}
	fetch_pool_run_host(host);
}

static int fetch_pool_look_up(struct pool_host *host)
{
	struct pool *pool = host->pool;
	int64_t now_ms = loop_now_ms(pool->loop);
	int err = 0;

	if (host->query || (host->at.n && now_ms - host->asked_ms < SWEEP_MS))
		return 0;
	host->asked_ms = now_ms;
	if (!pool->resolver)
		err = resolver_new(pool->loop, &pool->resolver);
	if (!err)
		err = resolver_start(pool->resolver, host->name, host->port,
				     fetch_pool_looked_up, host, &host->query);
	return err;
}

/* Whether there are addresses to try; asks for them, and for newer ones. */
static bool fetch_pool_has_addresses(struct pool_host *host)
{
	struct pool *pool = host->pool;
	int64_t age = loop_now_ms(pool->loop) - host->resolved_ms;
	int err;

	if (host->numeric || (host->at.n && age < NAME_FRESH_MS))
		return true;
	err = fetch_pool_look_up(host);
	if (host->at.n && age < NAME_USABLE_MS)
		return true;
	host->at.n = 0;
	if (err)
		fetch_pool_refuse_all(host, FETCH_NOMEM);
	for (struct pool_want *w = host->waiting; w; w = w->next)
		fetch_pool_set_deadline(pool, w);
	return false;
}

/* Whether there may be one more; an idle one makes room. */
static bool fetch_pool_has_room(struct pool_host *host)
{
	struct pool *pool = host->pool;

	if (!pool->max_per_host || host->nconns < pool->max_per_host)
		return true;
	if (!host->idle[0] && !host->idle[1])
		return false;
	pool_close(pool, host->idle[!host->idle[0]]);
	return true;
}

static void fetch_pool_run_host(void *arg)
{
	struct pool_host *host = arg;
	struct pool *pool = host->pool;

	while (host->waiting) {
		struct pool_want *want = host->waiting;
		struct pool_conn *c = fetch_pool_take_idle(pool, host, want);

		if (c)
			fetch_pool_give(pool, want, c);
		else if (!fetch_pool_has_room(host) ||
			 !fetch_pool_has_addresses(host))
			return;
		else
			fetch_pool_make_connection(pool, want);
	}
}

/* Hosts */

static bool fetch_pool_is_at(const struct pool_host *host,
			     const struct pool_place *place)
{
	return host->port == place->port && host->tls == place->tls &&
	       !strncasecmp(host->name, place->host, place->host_len) &&
	       !host->name[place->host_len] &&
	       host->placed == !!place->address &&
	       (!place->address ||
		resolver_address_is(&host->at.addresses[0], place->address));
}

static struct pool_host *fetch_pool_find_host(const struct pool *pool,
					      const struct pool_place *place)
{
	struct pool_host *host =
		pool->hosts[fetch_place_bucket(place, BUCKETS)];

	while (host && !fetch_pool_is_at(host, place))
		host = host->next;
	return host;
}

unsigned pool_lacks(const struct pool *pool, const struct pool_place *place,
		    unsigned n)
{
	const struct pool_host *host = fetch_pool_find_host(pool, place);
	unsigned have = host ? host->nconns : 0;

	if (pool->max_per_host && n > pool->max_per_host)
		n = pool->max_per_host;
	return n > have ? n - have : 0;
}

static struct pool_host *fetch_pool_add_host(struct pool *pool,
					     const struct pool_place *place)
{
	struct pool_host **bucket =
		&pool->hosts[fetch_place_bucket(place, BUCKETS)];
	struct pool_host *host = calloc(1, sizeof(*host));

	if (!host)
		return NULL;
	assert(place->host_len && place->host_len <= POOL_HOST_MAX);
	host->pool = pool;
	host->waiting_end = &host->waiting;
	host->run.run = fetch_pool_run_host;
	host->run.arg = host;
	host->port = place->port;
	host->tls = place->tls ? tls_client_ref(place->tls) : NULL;
	memcpy(host->name, place->host, place->host_len);
	host->placed = place->address;
	host->numeric = fetch_place_address(place, &host->at);
	host->next = *bucket;
	*bucket = host;
	pool->nhosts++;
	fetch_pool_arm_sweep(pool);
	return host;
}

struct pool_conn *pool_ask(struct pool *pool, struct pool_want *want,
			   const struct pool_place *place, int *err)
{
	struct pool_host *host = fetch_pool_find_host(pool, place);
	struct pool_conn *c;

	assert(want->got && want->failed);
	assert(!want->host);
	assert(want->connect_ms > 0);
	if (!host)
		host = fetch_pool_add_host(pool, place);
	*err = host ? 0 : -ENOMEM;
	if (!host)
		return NULL;
	host->used_ms = loop_now_ms(pool->loop);
	/* nobody overtakes those who wait */
	c = host->waiting ? NULL : fetch_pool_take_idle(pool, host, want);
	if (c)
		return c;
	fetch_pool_enqueue(host, want);
	loop_defer(pool->loop, &host->run);
	return NULL;
}

static void fetch_pool_free_host(struct pool_host *host)
{
	struct pool *pool = host->pool;

	while (host->idle[0] || host->idle[1])
		pool_close(pool, host->idle[!host->idle[0]]);
	assert(!host->nconns && !host->waiting);
	resolver_cancel(&host->query);
	loop_undefer(pool->loop, &host->run);
	tickets_free(&host->tickets);
	tls_client_unref(host->tls);
	free(host);
	pool->nhosts--;
}

static bool fetch_pool_is_unused(const struct pool_host *host, int64_t now_ms)
{
	return !host->nconns && !host->waiting &&
	       (host->pool->nhosts > HOSTS_MAX ||
		now_ms - host->used_ms > NAME_USABLE_MS);
}

static void fetch_pool_sweep(void *arg)
{
	struct pool *pool = arg;
	int64_t now_ms = loop_now_ms(pool->loop);

	while (pool->oldest &&
	       now_ms - pool->oldest->idle_since_ms >= IDLE_MS)
		pool_close(pool, pool->oldest);
	for (size_t i = 0; i < BUCKETS; i++) {
		struct pool_host **at = &pool->hosts[i];

		while (*at) {
			struct pool_host *host = *at;

			if (!fetch_pool_is_unused(host, now_ms)) {
				at = &host->next;
				continue;
			}
			*at = host->next;
			fetch_pool_free_host(host);
		}
	}
	if (pool->nhosts)
		fetch_pool_arm_sweep(pool);
}

int pool_new(struct loop *loop, unsigned max_per_host, struct pool **out)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	assert(loop);
	if (!pool)
		return -ENOMEM;
	pool->loop = loop;
	pool->max_per_host = max_per_host;
	*out = pool;
	return 0;
}

void pool_free(struct pool **pool)
{
	struct pool *gone = *pool;

	*pool = NULL;
	if (!gone)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (gone->hosts[i]) {
			struct pool_host *host = gone->hosts[i];

			gone->hosts[i] = host->next;
			fetch_pool_free_host(host);
		}
	}
	resolver_free(&gone->resolver);
	loop_timer_clear(gone->loop, &gone->sweep);
	free(gone);
}

void pool_public_only(struct pool *pool)
{
	pool->public_only = true;
}
