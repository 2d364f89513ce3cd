/*
 * Asking a running node at its control socket.
 */
#include "digestd/ctl/node_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

enum {
	CONTROL_VERSION = 1,
	/* a purge waits up to 10 s for peers, a reload reads files */
	CONTROL_WAIT_S = 60,
	CONTROL_ANSWER_MAX = 64 << 20,
};

static const char default_path[] = "/run/digestd/control";

const struct tool_option control_options[] = {
	{ .name = "control", .kind = OPTION_TEXT,
	  .at = offsetof(struct control_options, path), .value = "FILE",
	  .help = "the node's control socket" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG,
	  .at = offsetof(struct control_options, json), .help = "as JSON" },
	{ .name = NULL },
};

const struct tool_option *const control_only_options[] = { control_options,
							   NULL };

static const char *node_client_path(const struct control_options *o)
{
	const char *path = o->path ? o->path : getenv("DIGESTD_CONTROL");

	return path && *path ? path : default_path;
}

/* What somebody should look at who cannot connect. */
static const char *node_client_remedy(int error)
{
	switch (error) {
	case ENOENT:
	case ECONNREFUSED:
		return "; is digestd running, and is this its \"control\"?";
	case EACCES:
		return "; its owner and its group may, see \"The control "
		       "socket\" in digestd(8)";
	case EAGAIN:
		return "; digestd does not answer";
	default:
		return "";
	}
}

static int node_client_fail(const struct node_client *c, int error)
{
	fprintf(stderr, "digestctl: %s: %s%s\n", c->path, strerror(error),
		node_client_remedy(error));
	return CTL_IO;
}

int node_client_open(struct node_client *c, const struct control_options *o)
{
	const struct timeval wait = { .tv_sec = CONTROL_WAIT_S };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int error = 0;

	*c = (struct node_client){ .path = node_client_path(o),
				      .fd = -1,
				      .passed = -1 };
	if (strlen(c->path) >= sizeof(at.sun_path))
		return node_client_fail(c, ENAMETOOLONG);
	strcpy(at.sun_path, c->path);
	c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (c->fd < 0 ||
	    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) ||
	    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) ||
	    connect(c->fd, (struct sockaddr *)&at, sizeof(at)))
		error = errno;
	if (!error)
		return CTL_OK;
	node_client_close(c);
	return node_client_fail(c, error);
}

void node_client_close(struct node_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->passed >= 0)
		close(c->passed);
	c->fd = c->passed = -1;
	free(c->in);
	c->in = NULL;
}

static int node_client_send(struct node_client *c, const char *line)
{
	size_t len = strlen(line), at = 0;

	while (at < len) {
		ssize_t n = send(c->fd, line + at, len - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE)
			break; /* it has said why */
		if (n < 0)
			return node_client_fail(c, errno);
		at += (size_t)n;
	}
	return CTL_OK;
}

static int node_client_grow(struct node_client *c)
{
	size_t room = c->room ? 2 * c->room : 65536;
	char *in;

	if (c->len < c->room)
		return CTL_OK;
	in = room > CONTROL_ANSWER_MAX ? NULL : realloc(c->in, room);
	if (!in)
		return node_client_fail(c, ENOMEM);
	c->in = in;
	c->room = room;
	return CTL_OK;
}

static ssize_t node_client_receive_some(struct node_client *c)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { c->in + c->len, c->room - c->len };
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const ssize_t n = recvmsg(c->fd, &m, 0);
	const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (head && head->cmsg_type == SCM_RIGHTS && c->passed < 0)
		memcpy(&c->passed, CMSG_DATA(head), sizeof(int));
	return n;
}

/* Receives until there is a line; its end. */
static int node_client_receive(struct node_client *c, char **end)
{
	ssize_t n;

	while (!(*end = c->len ? memchr(c->in, '\n', c->len) : NULL)) {
		if (node_client_grow(c))
			return CTL_IO;
		n = node_client_receive_some(c);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return node_client_fail(c, errno);
		if (!n) {
			fprintf(stderr, "digestctl: %s: digestd has hung up; "
				"its log says whether it has ended\n", c->path);
			return CTL_IO;
		}
		c->len += (size_t)n;
	}
	return CTL_OK;
}

/* Takes the line that is there. */
static int node_client_read(struct node_client *c, const char *end,
			       json_t **answer)
{
	size_t len = (size_t)(end - c->in);
	json_t *o = json_loadb(c->in, len, 0, NULL);

	c->len -= len + 1;
	memmove(c->in, end + 1, c->len);
	if (!json_is_object(o) ||
	    json_integer_value(json_object_get(o, "v")) != CONTROL_VERSION) {
		json_decref(o);
		fprintf(stderr, "digestctl: %s: what answers is no digestd of "
			"this version\n", c->path);
		return CTL_IO;
	}
	*answer = o;
	return json_is_true(json_object_get(o, "ok")) ? CTL_OK : CTL_NO;
}

int node_client_ask(struct node_client *c, json_t *request, json_t **answer)
{
	char *text = NULL, *line, *end;
	int code = CTL_IO;

	*answer = NULL;
	if (request && !json_object_set_new(request, "v",
					    json_integer(CONTROL_VERSION)))
		text = json_dumps(request, 0);
	json_decref(request);
	line = text ? realloc(text, strlen(text) + 2) : NULL;
	if (!line) {
		free(text);
		return node_client_fail(c, ENOMEM);
	}
	strcat(line, "\n");
	code = node_client_send(c, line);
	free(line);
	if (!code)
		code = node_client_receive(c, &end);
	return code ? code : node_client_read(c, end, answer);
}

void node_client_tell_refusal(const json_t *answer)
{
	const char *why = json_string_value(json_object_get(answer, "error"));

	fprintf(stderr, "digestctl: %s\n", why ? why : "refused");
}

int node_client_run(const struct control_options *o, json_t *request,
		    int (*tell)(const json_t *answer))
{
	struct node_client c;
	json_t *answer = NULL;
	int code = node_client_open(&c, o), printed = CTL_OK;

	if (code) {
		json_decref(request);
		return code;
	}
	code = node_client_ask(&c, request, &answer);
	node_client_close(&c);
	if (code == CTL_OK && tell)
		code = tell(answer);
	else if (answer && !o->json)
		node_client_tell_refusal(answer);
	if (answer && o->json)
		printed = json_report_print(json_incref(answer));
	json_decref(answer);
	return printed ? printed : code;
}

int node_client_run_bare(int argc, char **argv, const char *help,
			 const char *command,
			 int (*tell)(const json_t *answer))
{
	struct control_options o = { .json = false };

	if (!options_read(control_only_options, argc, argv, &o))
		return CTL_USAGE;
	if (optind < argc)
		return arguments_wrong(command, "takes no operands", help);
	return node_client_run(&o, json_pack("{s:s}", "command", command),
			   o.json ? NULL : tell);
}

int node_client_run_with(int argc, char **argv, const char *help,
			 const char *command, const char *member,
			 int (*tell)(const json_t *answer))
{
	struct control_options o = { .json = false };
	char what[64];

	if (!options_read(control_only_options, argc, argv, &o))
		return CTL_USAGE;
	if (argc - optind != 1) {
		snprintf(what, sizeof(what), "needs one %s", member);
		return arguments_wrong(command, what, help);
	}
	return node_client_run(&o,
			   json_pack("{s:s, s:s}", "command", command, member,
				     argv[optind]),
			   o.json ? NULL : tell);
}
