/*
 * What no server undercuts that takes requests from an epoll set: it receives,
 * finds the end of the header, and sends the same 200 whatever was asked for.
 * It has no store, no clock and no parser. Hits of other servers are measured
 * beside it.
 *
 *     responder PORT BYTES [CACHE-CONTROL]
 *
 * listens on loopback and answers with so many bytes of body, which may be
 * stored for a day unless CACHE-CONTROL says otherwise, in one thread, until a
 * signal ends it. One recv() and one send() a request: a header that comes in
 * two pieces, or two in one, are not its concern, and a connection that it
 * cannot write to is closed.
 */
#define _GNU_SOURCE /* accept4(), memmem() */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BACKLOG = 4096,
	EVENTS = 512, /* of one epoll_wait(): all clients at once */
	HEADER_BYTES = 8192,
};

/* The answer to everything, header and body. */
struct responder {
	int epoll, listener;
	char *answer;
	size_t answer_bytes;
};

static void responder_fail(const char *what)
{
	perror(what);
	exit(2);
}

static void responder_watch(const struct responder *r, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev))
		responder_fail("epoll_ctl");
}

static void responder_listen(struct responder *r, const char *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (r->epoll < 0 || r->listener < 0 ||
	    bind(r->listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(r->listener, BACKLOG))
		responder_fail("listen");
	responder_watch(r, r->listener);
}

static void responder_compose(struct responder *r, const char *bytes,
			      const char *cache_control)
{
	size_t body_bytes = strtoul(bytes, NULL, 10);
	int head_bytes;

	r->answer = malloc(HEADER_BYTES + body_bytes);
	if (!r->answer)
		responder_fail("malloc");
	head_bytes = snprintf(r->answer, HEADER_BYTES,
			      "HTTP/1.1 200 OK\r\n"
			      "Content-Type: text/plain\r\n"
			      "Cache-Control: %s\r\n"
			      "Content-Length: %zu\r\n\r\n",
			      cache_control, body_bytes);
	if (head_bytes < 0 || head_bytes >= HEADER_BYTES)
		responder_fail("snprintf");
	memset(r->answer + head_bytes, 'x', body_bytes);
	r->answer_bytes = (size_t)head_bytes + body_bytes;
}

static void responder_accept(const struct responder *r)
{
	int fd = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK), on = 1;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	responder_watch(r, fd);
}

static void responder_answer(const struct responder *r, int fd)
{
	static char header[HEADER_BYTES];
	ssize_t n = recv(fd, header, sizeof(header), 0);

	if (n <= 0 || !memmem(header, (size_t)n, "\r\n\r\n", 4) ||
	    send(fd, r->answer, r->answer_bytes, MSG_NOSIGNAL) !=
		    (ssize_t)r->answer_bytes)
		close(fd);
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];
	struct responder r;
	int n;

	if (argc != 3 && argc != 4) {
		fputs("usage: responder PORT BYTES [CACHE-CONTROL]\n", stderr);
		return 2;
	}
	responder_listen(&r, argv[1]);
	responder_compose(&r, argv[2], argc == 4 ? argv[3] : "max-age=86400");
	while ((n = epoll_wait(r.epoll, events, EVENTS, -1)) >= 0) {
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == r.listener)
				responder_accept(&r);
			else
				responder_answer(&r, events[i].data.fd);
		}
	}
	responder_fail("epoll_wait");
}
