/*
 * The loop: epoll for sockets, a walk over all connections for what is due,
 * which are a few hundred.
 */
#include "tests/storm/storm_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/mix.h"
#include "tests/storm/storm_log.h"

enum {
	STORM_LINK_MOST = 4096,
	STORM_LINK_LISTENERS = 64,
	STORM_LINK_READ_BYTES = 65536,
	STORM_LINK_ADDRESSES = 200, /* of loopback, to connect from */
	STORM_LINK_EVENTS = 128,
	STORM_LINK_BACKLOG = 512,
};

struct storm_listener {
	int fd;
	unsigned port;
	const struct storm_role *role;
};

struct storm_net {
	int epoll;
	size_t count, listeners;
	struct storm_link *links[STORM_LINK_MOST];
	struct storm_listener listener[STORM_LINK_LISTENERS];
};

static struct sockaddr_in storm_link_address(uint32_t host, unsigned port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(host),
	};
}

static void storm_link_watch(struct storm_link *l, unsigned interest)
{
	struct epoll_event e = {.events = interest, .data.ptr = l};

	if (interest == l->interest)
		return;
	epoll_ctl(l->net->epoll, EPOLL_CTL_MOD, l->fd, &e);
	l->interest = interest;
}

static struct storm_link *storm_link_new(struct storm_net *net, int fd,
					 const struct storm_role *role,
					 unsigned interest)
{
	struct storm_link *l = calloc(1, sizeof(*l));
	struct epoll_event e = {.events = interest, .data.ptr = l};

	if (!l || net->count == STORM_LINK_MOST ||
	    epoll_ctl(net->epoll, EPOLL_CTL_ADD, fd, &e)) {
		close(fd);
		free(l);
		return NULL;
	}
	l->net = net;
	l->fd = fd;
	l->role = role;
	l->interest = interest;
	l->began_ms = storm_log_now_ms();
	l->place = net->count;
	net->links[net->count++] = l;
	return l;
}

static void storm_link_free(struct storm_link *l)
{
	struct storm_net *net = l->net;

	if (l->role->on_end)
		l->role->on_end(l);
	close(l->fd);
	net->links[l->place] = net->links[--net->count];
	net->links[l->place]->place = l->place;
	storm_text_free(&l->in);
	storm_script_free(&l->script);
	free(l);
}

void storm_link_close(struct storm_link *l)
{
	l->dead = true;
}

void storm_link_play(struct storm_link *l)
{
	l->step = l->at = l->sent = 0;
	l->due_ms = 0;
	l->answered = false;
	if (!l->connecting)
		storm_link_watch(l, EPOLLIN | EPOLLOUT);
}

static void storm_link_reset(struct storm_link *l)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	l->dead = true;
}

/* Sends of the step what the socket takes. True: all of it. */
static bool storm_link_send(struct storm_link *l, size_t n)
{
	ssize_t sent = send(l->fd, l->script.text.at + l->at, n - l->sent,
			    MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
		storm_link_watch(l, l->interest | EPOLLOUT);
		return false;
	}
	if (sent < 0) {
		/* what it has said before may still be read */
		l->step = l->script.count;
		return false;
	}
	l->at += (size_t)sent;
	l->sent += (size_t)sent;
	if (l->sent < n) {
		storm_link_watch(l, l->interest | EPOLLOUT);
		return false;
	}
	l->sent = 0;
	return true;
}

/* A step that takes time: true when it is over. */
static bool storm_link_elapsed(struct storm_link *l, size_t ms, int64_t now_ms)
{
	if (!l->due_ms)
		l->due_ms = now_ms + (int64_t)ms;
	if (now_ms < l->due_ms)
		return false;
	l->due_ms = 0;
	return true;
}

/* Plays one step. True: it is over. */
static bool storm_link_step(struct storm_link *l, int64_t now_ms)
{
	const struct storm_step *s = &l->script.steps[l->step];

	switch (s->kind) {
	case STORM_SEND:
		return storm_link_send(l, s->n);
	case STORM_PAUSE:
		return storm_link_elapsed(l, s->n, now_ms);
	case STORM_WAIT:
		if (l->answered || l->ended) {
			l->due_ms = 0;
			l->answered = false;
			return true;
		}
		return storm_link_elapsed(l, s->n, now_ms);
	case STORM_DEAF:
		storm_link_watch(l, 0);
		return storm_link_elapsed(l, s->n, now_ms);
	case STORM_FINISH:
		shutdown(l->fd, SHUT_WR);
		return true;
	case STORM_RESET:
		storm_link_reset(l);
		return true;
	case STORM_CLOSE:
		l->dead = true;
		return true;
	}
	return true;
}

/* Plays what can be played now. */
static void storm_link_advance(struct storm_link *l, int64_t now_ms)
{
	if (l->limit_ms && now_ms > l->limit_ms)
		l->dead = true;
	if (l->connecting)
		return;
	storm_link_watch(l, EPOLLIN);
	while (!l->dead && l->step < l->script.count) {
		if (!storm_link_step(l, now_ms))
			return;
		l->step++;
	}
	if (l->dead || (l->listens && !l->script.count && !l->ended))
		return;
	l->script.count = 0;
	if (l->role->on_rest)
		l->role->on_rest(l);
	if (!l->script.count && (l->ended || !l->listens))
		l->dead = true;
}

static void storm_link_read(struct storm_link *l)
{
	static char buffer[STORM_LINK_READ_BYTES];
	ssize_t got = recv(l->fd, buffer, sizeof(buffer), 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		l->ended = true;
		storm_link_watch(l, 0);
		if (got < 0)
			l->dead = true;
	} else {
		storm_text_add(&l->in, buffer, (size_t)got);
	}
	if (l->role->on_input)
		l->role->on_input(l);
	if (l->ended && l->step >= l->script.count)
		l->dead = true;
}

static void storm_link_connected(struct storm_link *l)
{
	int error = 0;
	socklen_t len = sizeof(error);

	getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	l->connecting = false;
	if (error) {
		l->refused = l->ended = l->dead = true;
	}
}

static void storm_link_event(struct storm_link *l, unsigned events)
{
	if (l->connecting)
		storm_link_connected(l);
	if (l->dead)
		return;
	if (l->interest & EPOLLIN && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		storm_link_read(l);
	else if (events & (EPOLLHUP | EPOLLERR))
		l->dead = l->ended = true;
}

static int storm_link_prepare(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fcntl(fd, F_SETFL, O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void storm_net_accept(struct storm_net *net, struct storm_listener *from)
{
	struct storm_link *l;
	int fd;

	while ((fd = accept(from->fd, NULL, NULL)) >= 0) {
		storm_link_prepare(fd);
		l = storm_link_new(net, fd, from->role, EPOLLIN);
		if (!l)
			continue;
		l->listens = true;
		l->port = from->port;
	}
}

struct storm_link *storm_net_connect(struct storm_net *net, unsigned port,
				     const struct storm_role *role, uint64_t id)
{
	uint32_t host = INADDR_LOOPBACK +
			(uint32_t)(scd__mix64(id) % STORM_LINK_ADDRESSES);
	struct sockaddr_in from = storm_link_address(host, 0),
			   to = storm_link_address(INADDR_LOOPBACK, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct storm_link *l;

	if (fd < 0)
		return NULL;
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (storm_link_prepare(fd) ||
	    bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    (connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
	     errno != EINPROGRESS)) {
		close(fd);
		return NULL;
	}
	l = storm_link_new(net, fd, role, EPOLLOUT);
	if (!l)
		return NULL;
	l->connecting = true;
	l->port = port;
	l->id = id;
	return l;
}

unsigned storm_net_listen(struct storm_net *net, const struct storm_role *role)
{
	struct sockaddr_in at = storm_link_address(INADDR_LOOPBACK, 0);
	socklen_t len = sizeof(at);
	struct storm_listener *l = &net->listener[net->listeners];
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};

	if (net->listeners == STORM_LINK_LISTENERS)
		abort();
	l->fd = socket(AF_INET, SOCK_STREAM, 0);
	l->role = role;
	if (l->fd < 0 || storm_link_prepare(l->fd) ||
	    bind(l->fd, (struct sockaddr *)&at, len) ||
	    listen(l->fd, STORM_LINK_BACKLOG) ||
	    getsockname(l->fd, (struct sockaddr *)&at, &len) ||
	    epoll_ctl(net->epoll, EPOLL_CTL_ADD, l->fd, &e))
		abort();
	l->port = ntohs(at.sin_port);
	net->listeners++;
	return l->port;
}

struct storm_net *storm_net_new(void)
{
	struct storm_net *net = calloc(1, sizeof(*net));

	if (!net)
		abort();
	net->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (net->epoll < 0)
		abort();
	return net;
}

void storm_net_close_all(struct storm_net *net)
{
	while (net->count)
		storm_link_free(net->links[0]);
}

void storm_net_free(struct storm_net *net)
{
	storm_net_close_all(net);
	for (size_t i = 0; i < net->listeners; i++)
		close(net->listener[i].fd);
	close(net->epoll);
	free(net);
}

static struct storm_listener *storm_net_listener(struct storm_net *net,
						 void *of)
{
	struct storm_listener *l = of;

	return l >= net->listener && l < net->listener + net->listeners ? l
									: NULL;
}

void storm_net_run(struct storm_net *net, int most_ms)
{
	struct epoll_event events[STORM_LINK_EVENTS];
	int n = epoll_wait(net->epoll, events, STORM_LINK_EVENTS, most_ms);
	int64_t now_ms = storm_log_now_ms();

	for (int i = 0; i < n; i++) {
		struct storm_listener *from =
			storm_net_listener(net, events[i].data.ptr);

		if (from)
			storm_net_accept(net, from);
		else
			storm_link_event(events[i].data.ptr, events[i].events);
	}
	for (size_t i = 0; i < net->count; i++)
		if (!net->links[i]->dead)
			storm_link_advance(net->links[i], now_ms);
	for (size_t i = net->count; i-- > 0;)
		if (net->links[i]->dead)
			storm_link_free(net->links[i]);
}

unsigned storm_net_count(const struct storm_net *net,
			 const struct storm_role *role)
{
	unsigned n = 0;

	for (size_t i = 0; i < net->count; i++)
		n += !role || net->links[i]->role == role;
	return n;
}
