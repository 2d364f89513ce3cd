/*
 * A connection as a whole: from accept() to close().
 *
 * A client that ends its half of the connection while its request waits for a
 * reply has gone; a reply that is there goes out all the same.
 */
#include "digestd/server/front.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "digestd/tls/tls_session.h"

/*
 * What arrives at a closed socket resets the connection, which can take the
 * last reply away before the client has read it (RFC 9112, 9.6). So a
 * connection that may have more to come is closed when the client has closed
 * it, or nothing has come for LINGER_MS, or after LINGER_MAX_MS; or after
 * LINGER_LATE_MS if the time that it had is over already.
 */
enum { LINGER_MS = 5000, LINGER_MAX_MS = 60000, LINGER_LATE_MS = 1000 };

enum { STEPS = 16 }; /* of a connection in one turn of the loop */

static void front_conn_ready(void *arg, unsigned events)
{
	struct front_conn *c = arg;

	if (events & (LOOP_READ | LOOP_HANGUP))
		c->readable = true;
	if (events & (LOOP_WRITE | LOOP_HANGUP))
		c->writable = true;
	if (events & LOOP_HANGUP)
		c->hung_up = true;
	front_conn_run(c);
}

void front_conn_idle(struct front_conn *c, unsigned ms)
{
	conn_idle_enter(&c->base);
	conn_set_deadline(&c->base, loop_now_ms(c->base.server->loop) + ms);
}

static enum front_phase front_conn_first_phase(const struct server *s)
{
	if (s->settings.proxy_protocol)
		return FRONT_PROXY;
	return s->tls ? FRONT_HANDSHAKE : FRONT_HEAD;
}

static int front_conn_begin_tls(struct front_conn *c)
{
	struct tls *tls = c->base.server->tls;

	int err = tls ? tls_session_new(tls, c->base.fd, &c->tls) : 0;

	if (!err && c->tls && c->base.server->settings.http2)
		err = tls_session_offer_h2(c->tls);
	return err;
}

bool front_conn_is_surplus(const struct front_conn *c)
{
	unsigned max = c->base.server->settings.client_connections;
	bool surplus = max && conn_client_count(&c->base) > max;

	if (surplus)
		server_count_surplus(c->base.server, c->base.address,
				     "its address has client_connections "
				     "already");
	return surplus;
}

/* Before its handshake: strangers learn nothing here. */
static bool front_conn_is_unlisted(const struct front_conn *c)
{
	bool unlisted = !server_allows(c->base.server, c->base.address);

	if (unlisted)
		server_count_unlisted(c->base.server, c->base.address);
	return unlisted;
}

/* Behind a PROXY header it is another's, whose address is not known yet. */
static bool front_conn_may_enter(const struct front_conn *c)
{
	if (front_conn_is_unlisted(c))
		return false;
	return c->phase == FRONT_PROXY ? c->base.trusted :
					 !front_conn_is_surplus(c);
}

int front_conn_open(struct front_server *s, int fd,
		    const struct sockaddr_in6 *from)
{
	struct front_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->base.server = &s->base;
	c->base.exchanges = &front_exchanges;
	c->base.fd = fd;
	c->base.address = &c->from.any;
	c->from.v6 = *from;
	c->phase = front_conn_first_phase(&s->base);
	c->writable = true;
	c->out_end = &c->out;
	c->run = (struct loop_call){ .run = front_conn_run, .arg = c };
	conn_enter(&c->base);
	if (!front_conn_may_enter(c)) { /* and nobody makes room for it */
		front_conn_free(c);
		return 0;
	}
	server_make_room(&s->base);
	if (!server_has_memory_for(&c->base)) {
		server_count_surplus(&s->base, c->base.address,
				     "its address has many, and all of "
				     "memory_limit is in use");
		front_conn_free(c);
		return 0;
	}
	if (front_conn_begin_tls(c) ||
	    loop_watch(s->base.loop, &c->watch, fd,
		       LOOP_READ | LOOP_WRITE | LOOP_HANGUP | LOOP_EDGE,
		       front_conn_ready, c)) {
		front_conn_free(c);
		return -ENOMEM;
	}
	front_conn_idle(c, s->base.settings.header_ms);
	return 0;
}

static void front_conn_end_tls(struct front_conn *c)
{
	const char *why;

	if (!c->tls)
		return;
	why = tls_session_refusal(c->tls);
	if (c->phase == FRONT_HANDSHAKE && !c->base.server->stopping)
		server_count_tls_failure(c->base.server, c->base.address,
					 *why ? why : "no more of it came");
	tls_session_free(&c->tls);
}

void front_conn_free(struct front_conn *c)
{
	struct front_server *s = front_server(c);

	assert(!c->running);
	c->running = true; /* nothing is run or closed by what ends here */
	while (c->out) {
		struct front_exchange *fx = c->out;

		c->out = fx->next;
		front_exchange_end(fx, EXCHANGE_ABORTED);
	}
	if (c->now)
		front_exchange_end(c->now, EXCHANGE_ABORTED);
	h2_conn_free(c);
	if (c->phase == FRONT_PROXY)
		front_proxy_end(c);
	front_conn_end_tls(c);
	loop_undefer(s->base.loop, &c->run);
	loop_unwatch(s->base.loop, &c->watch);
	front_input_free(c);
	front_output_return_queue(c);
	reply_head_free(&c->interim);
	conn_leave(&c->base);
	if (c->cut)
		front_io_reset(c);
	else
		close(c->base.fd);
	free(c);
	front_accept_resume(s);
}

void front_conn_defer(struct front_conn *c)
{
	if (!c->running)
		loop_defer(c->base.server->loop, &c->run);
}

void front_conn_break(struct front_conn *c)
{
	c->broken = true;
	front_conn_defer(c);
}

static void front_conn_shake_hands(struct front_conn *c)
{
	int err = tls_session_handshake(c->tls);

	c->readable = c->writable = true; /* nobody knows what was read */
	if (!err && tls_session_is_h2(c->tls))
		h2_conn_begin(c);
	else if (!err)
		c->phase = FRONT_HEAD;
	else if (err != -EAGAIN)
		c->broken = true;
}

static bool front_conn_lingers(const struct front_conn *c)
{
	return c->shut && c->phase == FRONT_LINGER;
}

/* Nothing is left to be sent, and there will be no other request. */
static void front_conn_end(struct front_conn *c)
{
	bool may_come = c->phase == FRONT_LINGER || c->phase == FRONT_TUNNEL ||
			c->readable || c->kept_len;

	if (!c->shut && !c->ended && (may_come || c->tls))
		front_io_shut(c);
	if (c->ended || !may_come) {
		c->broken = true;
		return;
	}
	if (!front_conn_lingers(c)) { /* a tunnel may have been shut before */
		unsigned max_ms = c->late ? LINGER_LATE_MS : LINGER_MAX_MS;

		c->linger_end_ms = loop_now_ms(c->base.server->loop) + max_ms;
		if (!c->base.idle_link)
			front_conn_idle(c, max_ms < LINGER_MS ? max_ms :
								LINGER_MS);
	}
	c->shut = true;
	c->phase = FRONT_LINGER;
}

/* Something has come of a client that should not send any more. */
static void front_conn_linger(struct front_conn *c)
{
	int64_t end_ms = loop_now_ms(c->base.server->loop) + LINGER_MS;

	conn_set_deadline(&c->base, end_ms < c->linger_end_ms ?
					    end_ms : c->linger_end_ms);
}

/* It waits for a request, or has some of its header. */
static void front_conn_await(struct front_conn *c)
{
	const struct server *s = c->base.server;

	assert(!c->now && !c->out);
	if (c->base.idle_link)
		return;
	if (s->draining && !s->handed_over)
		c->broken = true;
	front_conn_idle(c, c->kept_len ? s->settings.header_ms :
					 s->settings.idle_ms);
}

/* Whether it waits for what is not here, but for nothing else. */
static bool front_conn_client_has_gone(const struct front_conn *c)
{
	bool waits = c->phase == FRONT_REPLY ||
		     (c->phase == FRONT_BODY && c->base.held);

	if (c->phase == FRONT_TUNNEL) /* it may yet hear something */
		return false;
	return c->hung_up && ((waits && !front_output_waits(c)) ||
			      front_output_is_starved(c));
}

/* Nothing goes on any more. Returns whether that changes what can be done. */
static bool front_conn_settle(struct front_conn *c)
{
	if (front_conn_client_has_gone(c)) {
		c->broken = true;
	} else if (front_output_waits(c) || c->now) {
		return false;
	} else if (c->closing || c->ended) {
		bool lingers = front_conn_lingers(c);

		front_conn_end(c);
		return !lingers && !c->broken;
	} else if (c->phase == FRONT_HEAD) {
		front_conn_await(c);
	}
	return false;
}

/* Whether all that has come is answered: another step would find nothing to do.
 */
static bool front_conn_rests(const struct front_conn *c)
{
	return c->phase == FRONT_HEAD && !c->kept_len && !c->readable &&
	       !front_output_waits(c);
}

/* Returns whether something went on that may be followed by something else. */
static bool front_conn_step(struct front_conn *c)
{
	bool got_on, held;

	if (c->phase == FRONT_PROXY)
		front_proxy_run(c);
	if (c->phase == FRONT_HANDSHAKE)
		front_conn_shake_hands(c);
	if (c->phase == FRONT_HTTP2)
		return h2_conn_step(c);
	got_on = !c->broken && front_input_run(c);
	if (got_on && front_conn_lingers(c))
		front_conn_linger(c);
	held = c->base.held;
	if (!c->broken && front_output_waits(c))
		got_on |= front_output_run(c);
	if (!c->broken && c->phase == FRONT_TUNNEL)
		front_tunnel_settle(c);
	got_on |= held && !c->base.held; /* what went out has made room */
	if (!c->broken && c->owes_continue &&
	    front_output_interim(c, 100, NULL)) {
		c->owes_continue = false;
		front_output_run(c);
	}
	if (c->broken)
		return false;
	return (got_on && !front_conn_rests(c)) || front_conn_settle(c);
}

/* No client that always sends, or always takes, keeps others waiting. */
void front_conn_run(void *arg)
{
	struct front_conn *c = arg;
	int steps = 0;

	assert(!c->running);
	c->running = true;
	c->yields = false;
	while (front_conn_step(c) && ++steps < STEPS && !c->yields)
		;
	c->running = false;
	if (c->broken)
		front_conn_free(c);
	else if (steps == STEPS || c->yields)
		front_conn_defer(c);
}
