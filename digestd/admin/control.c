/*
 * The control socket. A client is always at one of three things: it may send a
 * line, it waits for its answer, or it takes that; and is watched for no more.
 */
#include "config.h"

#include "digestd/admin/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/listen_local.h"
#include "digestd/os/loop.h"

enum {
	CONTROL_FIRST_ROOM = 1024, /* for a line; most are shorter */
	CONTROL_ERROR_BYTES = 512,
};

static const char no_memory[] =
	"{\"v\": 1, \"ok\": false, \"error\": \"out of memory\"}\n";
static const char too_many[] =
	"{\"v\": 1, \"ok\": false, \"error\": \"too many clients at the "
	"control socket; end some\"}\n";

static const char too_long[] =
	"{\"v\": 1, \"ok\": false, \"error\": \"the line is too long\"}\n";

struct control_client {
	struct control *control;
	int fd;
	struct loop_watch watch;
	struct loop_timer timer;
	struct loop_call next; /* line, that is here already */
	struct control_reply *reply; /* null: it waits for none */
	char *in; /* what it has sent; in_room bytes */
	size_t in_len, in_room;
	bool ended; /* nothing more is read of it */
	char *out; /* the answer; null: there is none to take */
	size_t out_len, out_sent;
	struct control_lease lease; /* left null: there is none */
	struct control_client *following, **link;
};

struct control_reply {
	struct control_client *client; /* null: it has left */
};

struct control {
	struct loop *loop;
	struct control_settings settings;
	char *path;
	struct listen_local listener;
	struct loop_watch watch;
	struct control_client *clients;
	unsigned nclients;
};

static void control_client_free(struct control_client *c)
{
	struct loop *loop = c->control->loop;

	loop_unwatch(loop, &c->watch);
	loop_timer_clear(loop, &c->timer);
	loop_undefer(loop, &c->next);
	close(c->fd);
	if (c->reply)
		c->reply->client = NULL;
	if (c->lease.left)
		c->lease.left(c->lease.arg);
	*c->link = c->following;
	if (c->following)
		c->following->link = c->link;
	c->control->nclients--;
	free(c->in);
	free(c->out);
	free(c);
}

static void control_client_on_late(void *arg)
{
	control_client_free(arg);
}

/* Waits for the next of these events, for so long; but for an answer for as
 * long as it takes. It ends later, if at all. */
static void control_client_wait(struct control_client *c, unsigned events)
{
	struct loop *loop = c->control->loop;
	int err = loop_rewatch(loop, &c->watch, events);
	int64_t patience_ms = err ? 0 : c->control->settings.patience_ms;

	if ((c->reply || (c->lease.left && !c->out)) && !err)
		loop_timer_clear(loop, &c->timer);
	else
		loop_timer_set(loop, &c->timer,
			       loop_now_ms(loop) + patience_ms,
			       control_client_on_late, c);
}

/* The answer has been taken: the next line, which may be here. */
static void control_client_go_on(struct control_client *c)
{
	free(c->out);
	c->out = NULL;
	if (memchr(c->in, '\n', c->in_len)) {
		loop_defer(c->control->loop, &c->next);
		control_client_wait(c, 0);
	} else if (c->ended) {
		control_client_free(c);
	} else {
		control_client_wait(c, LOOP_READ);
	}
}

/* Sends some of an answer; the descriptor goes with its first byte. */
static ssize_t control_client_send_some(struct control_client *c)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { c->out + c->out_sent, c->out_len - c->out_sent };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (c->lease.left && !c->out_sent) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.head), &c->lease.fd, sizeof(int));
	}
	return sendmsg(c->fd, &m, MSG_NOSIGNAL);
}

static void control_client_send(struct control_client *c)
{
	while (c->out_sent < c->out_len) {
		ssize_t n = control_client_send_some(c);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			control_client_free(c);
			return;
		}
		c->out_sent += (size_t)n;
	}
	control_client_go_on(c);
}

/* Gives a client its answer, a line of malloc(); null: there is no memory. */
static void control_client_answer(struct control_client *c, char *line)
{
	c->out = line ? line : strdup(no_memory);
	c->out_len = c->out ? strlen(c->out) : 0;
	c->out_sent = 0;
	c->reply = NULL;
	if (!c->out) {
		control_client_free(c);
		return;
	}
	control_client_wait(c, LOOP_WRITE);
}

static char *control_reply_line(json_t *answer, bool ok)
{
	char *text = NULL, *line = NULL;

	if (answer && !json_object_set_new(answer, "v",
					   json_integer(CONTROL_VERSION)) &&
	    !json_object_set_new(answer, "ok", json_boolean(ok)))
		text = json_dumps(answer, 0);
	json_decref(answer);
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
}

static void control_reply_give(struct control_reply *reply, json_t *answer,
			       bool ok)
{
	char *line = control_reply_line(answer, ok);

	if (reply->client)
		control_client_answer(reply->client, line);
	else
		free(line);
	free(reply);
}

void control_reply_end(struct control_reply *reply, json_t *answer)
{
	control_reply_give(reply, answer, true);
}

void control_reply_last(struct control_reply *reply, json_t *answer,
			const struct control_lease *lease)
{
	struct control_client *c = reply->client;

	if (!c || c->lease.left) { /* one at a time */
		lease->left(lease->arg);
		control_reply_refuse(reply, "this connection has one already");
		json_decref(answer);
		return;
	}
	c->lease = *lease;
	control_reply_give(reply, answer, true);
}

/* Cuts off the last character of a text that had no room for all its bytes; in
 * JSON there is no half of one. */
static void control_reply_cut(char *text, size_t len)
{
	size_t at = len;
	unsigned char lead;

	while (at && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
		at--;
	lead = at ? (unsigned char)text[at - 1] : 0;
	if (len - at < (size_t)(lead >= 0xc0) + (lead >= 0xe0) + (lead >= 0xf0))
		text[at - 1] = '\0';
}

void control_reply_refuse(struct control_reply *reply, const char *format, ...)
{
	char text[CONTROL_ERROR_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len >= (int)sizeof(text))
		control_reply_cut(text, sizeof(text) - 1);
	control_reply_give(reply, json_pack("{s:s}", "error", text), false);
}

static void control_client_serve(struct control_client *c, const char *line,
				 size_t len)
{
	const struct control_settings *s = &c->control->settings;
	struct control_reply *reply = calloc(1, sizeof(*reply));
	char fault[CONTROL_FAULT_BYTES];
	struct control_request request;

	if (!reply) {
		control_client_answer(c, NULL);
		return;
	}
	reply->client = c;
	c->reply = reply;
	control_client_wait(c, 0);
	if (control_request_read(line, len, &request, fault)) {
		control_reply_refuse(reply, "%s", fault);
		return;
	}
	s->serve(s->arg, &request, reply);
	control_request_free(&request);
}

/* Serves the line that is there, of which the client keeps nothing: the answer
 * may end it. */
static void control_client_take_line(void *arg)
{
	struct control_client *c = arg;
	char *end = memchr(c->in, '\n', c->in_len);
	size_t len = (size_t)(end - c->in);
	char *line = malloc(len + 1);

	if (!line) {
		control_client_free(c);
		return;
	}
	memcpy(line, c->in, len);
	c->in_len -= len + 1;
	memmove(c->in, end + 1, c->in_len);
	control_client_serve(c, line, len);
	free(line);
}

/* Makes room for more of a line; false: there is no memory. */
static bool control_client_grow(struct control_client *c)
{
	size_t room = c->in_room ? 2 * c->in_room : CONTROL_FIRST_ROOM;
	char *in;

	if (c->in_len < c->in_room)
		return true;
	in = realloc(c->in, room);
	if (!in)
		return false;
	c->in = in;
	c->in_room = room;
	return true;
}

/* What goes on and on is no line: says so, and reads no more of it. */
static void control_client_cut_off(struct control_client *c)
{
	c->ended = true;
	c->in_len = 0;
	control_client_answer(c, strdup(too_long));
}

static void control_client_receive(struct control_client *c)
{
	bool room = control_client_grow(c);
	ssize_t n = room ? recv(c->fd, c->in + c->in_len,
				c->in_room - c->in_len, 0) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		control_client_free(c);
		return;
	}
	c->in_len += (size_t)n;
	if (memchr(c->in, '\n', c->in_len))
		control_client_take_line(c);
	else if (c->in_len > CONTROL_LINE_MAX)
		control_client_cut_off(c);
}

static void control_client_on_ready(void *arg, unsigned events)
{
	struct control_client *c = arg;

	if (c->out && events & LOOP_WRITE)
		control_client_send(c);
	else if (!c->out && !c->reply && events & LOOP_READ)
		control_client_receive(c);
	else if (events & LOOP_HANGUP)
		control_client_free(c);
}

static int control_client_new(struct control *control, int fd)
{
	struct control_client *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = loop_watch(control->loop, &c->watch, fd, LOOP_READ,
			 control_client_on_ready, c);
	if (err) {
		free(c);
		return err;
	}
	c->control = control;
	c->fd = fd;
	c->next = (struct loop_call){ .run = control_client_take_line,
				      .arg = c };
	c->following = control->clients;
	c->link = &control->clients;
	if (c->following)
		c->following->link = &c->following;
	control->clients = c;
	control->nclients++;
	control_client_wait(c, LOOP_READ);
	return 0;
}

static void control_on_connection(void *arg, unsigned events)
{
	struct control *control = arg;
	int fd = accept4(control->listener.fd, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd < 0)
		return;
	if (control->nclients == CONTROL_CLIENTS) {
		/* a new socket has room for it */
		(void)!send(fd, too_many, strlen(too_many), MSG_NOSIGNAL);
		close(fd);
	} else if (control_client_new(control, fd)) {
		close(fd);
	}
}

int control_new(struct loop *loop, const struct control_settings *settings,
		struct control **out)
{
	struct control *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	*out = NULL;
	if (!c)
		return err;
	c->loop = loop;
	c->settings = *settings;
	c->listener.fd = -1;
	c->path = strdup(settings->path);
	if (c->path)
		err = listen_local_open(c->path, &c->listener);
	if (!err)
		err = loop_watch(loop, &c->watch, c->listener.fd, LOOP_READ,
				 control_on_connection, c);
	if (err)
		control_free(&c);
	*out = c;
	return err;
}

void control_free(struct control **out)
{
	struct control *c = *out;

	*out = NULL;
	if (!c)
		return;
	loop_unwatch(c->loop, &c->watch);
	while (c->clients)
		control_client_free(c->clients);
	listen_local_close(&c->listener, c->path);
	free(c->path);
	free(c);
}
