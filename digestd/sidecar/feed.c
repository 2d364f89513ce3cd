/*
 * The feed's socket.
 */
#define _GNU_SOURCE /* accept4() */
#include "digestd/sidecar/feed.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/listen_local.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/sidecar/feed_lines.h"
#include "digestd/sidecar/holdings.h"

enum {
	FEED_READ_BYTES = 65536,
};

struct feed_conn {
	struct feed *feed;
	struct loop_watch watch;
	int fd;
	uint64_t lines, refused;
	bool skips; /* the rest of a line that is too long */
	size_t len; /* of what has come and is not done yet, */
	size_t at;  /* and where that begins */
	size_t answer_len, answer_at;
	char in[FEED_LINE_BYTES + FEED_READ_BYTES];
	char answer[FEED_ANSWER_BYTES];
	struct feed_conn *next, **link;
};

struct feed {
	struct loop *loop;
	struct holdings *holdings;
	struct loop_watch watch;
	struct listen_local listener;
	char *path;
	struct feed_conn *conns;
	unsigned nconns;
};

static void feed_conn_free(struct feed_conn *c)
{
	loop_unwatch(c->feed->loop, &c->watch);
	close(c->fd);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->feed->nconns--;
	free(c);
}

/* Sends what there is of an answer; false: the connection has ended. */
static bool feed_conn_send(struct feed_conn *c)
{
	while (c->answer_at < c->answer_len) {
		ssize_t n = send(c->fd, c->answer + c->answer_at,
				 c->answer_len - c->answer_at, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		c->answer_at += (size_t)n;
	}
	c->answer_at = c->answer_len = 0;
	return true;
}

static void feed_conn_fault(struct feed_conn *c, const char *fault)
{
	c->answer_len = (size_t)snprintf(c->answer, sizeof(c->answer),
					 "error %llu: %s\n",
					 (unsigned long long)c->lines, fault);
}

static void feed_conn_do_line(struct feed_conn *c, const char *text, size_t len)
{
	struct holdings *h = c->feed->holdings;
	struct holdings_stats now;
	struct feed_line line;
	const char *fault;

	c->lines++;
	fault = feed_line_read(h, text, len, &line);
	if (fault) {
		feed_conn_fault(c, fault);
		return;
	}
	if (line.word == FEED_ACK) {
		holdings_stats(h, &now);
		c->answer_len = feed_line_answer(&line, now.keys, c->refused,
						 c->answer);
		return;
	}
	holdings_lock(h);
	c->refused += !feed_line_apply(h, &line);
	holdings_unlock(h);
}

/* The next line that is whole, without its end; null: none, or an answer has
 * not gone out yet. */
static const char *feed_conn_next(struct feed_conn *c, size_t *len)
{
	const char *line = c->in + c->at;
	const char *end = memchr(line, '\n', c->len);

	if (!end || c->answer_len)
		return NULL;
	*len = (size_t)(end - line);
	c->at += *len + 1;
	c->len -= *len + 1;
	return line;
}

/* What is left is a line that has not ended. */
static void feed_conn_keep_rest(struct feed_conn *c)
{
	if (c->len > FEED_LINE_BYTES || c->skips) {
		if (!c->skips) {
			c->lines++;
			feed_conn_fault(c, "too long");
		}
		c->skips = true;
		c->len = 0;
	}
	memmove(c->in, c->in + c->at, c->len);
	c->at = 0;
}

/* Does all lines that are here. False: the connection has ended. */
static bool feed_conn_do_lines(struct feed_conn *c)
{
	const char *line;
	size_t len;

	for (;;) {
		line = feed_conn_next(c, &len);
		if (!line)
			break;
		if (!c->skips)
			feed_conn_do_line(c, line, len);
		c->skips = false;
		if (!feed_conn_send(c))
			return false;
	}
	/* lines behind an answer that has not gone out stay where they are,
	 * until it has */
	if (c->answer_len)
		return true;
	feed_conn_keep_rest(c);
	return feed_conn_send(c);
}

/* False: it has ended. */
static bool feed_conn_read(struct feed_conn *c)
{
	ssize_t n = recv(c->fd, c->in + c->len, sizeof(c->in) - c->len, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n)
		return false;
	c->len += (size_t)n;
	return feed_conn_do_lines(c);
}

static void feed_conn_ready(void *arg, unsigned events)
{
	struct feed_conn *c = arg;
	bool goes_on;

	(void)events;
	if (c->answer_len)
		goes_on = feed_conn_send(c) &&
			  (c->answer_len || feed_conn_do_lines(c));
	else
		goes_on = feed_conn_read(c);
	if (!goes_on || loop_rewatch(c->feed->loop, &c->watch,
				     c->answer_len ? LOOP_WRITE : LOOP_READ))
		feed_conn_free(c);
}

static int feed_conn_new(struct feed *f, int fd)
{
	struct feed_conn *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->feed = f;
	c->fd = fd;
	err = loop_watch(f->loop, &c->watch, fd, LOOP_READ, feed_conn_ready, c);
	if (err) {
		free(c);
		return err;
	}
	c->next = f->conns;
	c->link = &f->conns;
	if (c->next)
		c->next->link = &c->next;
	f->conns = c;
	f->nconns++;
	return 0;
}

static void feed_accept(void *arg, unsigned events)
{
	struct feed *f = arg;
	int fd = accept4(f->listener.fd, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd < 0)
		return;
	if (f->nconns < FEED_CONNECTIONS && !feed_conn_new(f, fd))
		return;
	log_write(LOG_WARNING, "sidecar", "a connection to the feed is "
		  "refused: there are %u, or there is no memory", f->nconns);
	close(fd);
}

int feed_new(struct loop *loop, const char *path, struct holdings *holdings,
	     struct feed **out)
{
	struct feed *f = calloc(1, sizeof(*f));
	int err;

	assert(loop && path && holdings);
	if (!f)
		return -ENOMEM;
	f->loop = loop;
	f->holdings = holdings;
	f->listener.fd = -1;
	f->path = strdup(path);
	err = f->path ? listen_local_open(path, &f->listener) : -ENOMEM;
	if (!err)
		err = loop_watch(loop, &f->watch, f->listener.fd, LOOP_READ,
				 feed_accept, f);
	if (err) {
		feed_free(&f);
		return err;
	}
	*out = f;
	return 0;
}

void feed_free(struct feed **f)
{
	if (!*f)
		return;
	while ((*f)->conns)
		feed_conn_free((*f)->conns);
	loop_unwatch((*f)->loop, &(*f)->watch);
	if ((*f)->path)
		listen_local_close(&(*f)->listener, (*f)->path);
	free((*f)->path);
	free(*f);
	*f = NULL;
}
