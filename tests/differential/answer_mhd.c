/*
 * libmicrohttpd as a reader of requests: a server that answers each with what
 * it read, in the field X-Read, as hexadecimal digits of a text:
 *
 *     METHOD TARGET VERSION
 *     : NAME: VALUE            each field
 *     = BODY
 *
 * nginx and haproxy have it behind them, and so show what they have read.
 * Prints its port, and ends with its standard input.
 */
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <unistd.h>

enum { MEMORY = 1 << 18, BODY_MAX = 1 << 15 };

struct exchange {
	bool begun;
	char *target;
	size_t body_len;
	char body[BODY_MAX];
};

static void *begin(void *cls, const char *target, struct MHD_Connection *c)
{
	struct exchange *x = calloc(1, sizeof(*x));

	(void)cls;
	(void)c;
	if (!x || !(x->target = strdup(target)))
		abort();
	return x;
}

static void end(void *cls, struct MHD_Connection *c, void **arg,
		enum MHD_RequestTerminationCode how)
{
	struct exchange *x = *arg;

	(void)cls;
	(void)c;
	(void)how;
	if (x)
		free(x->target);
	free(x);
	*arg = NULL;
}

static void put_hex(FILE *to, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(to, "%02x", (unsigned char)bytes[i]);
}

static void put(FILE *to, const char *text)
{
	put_hex(to, text, strlen(text));
}

static enum MHD_Result put_field(void *arg, enum MHD_ValueKind kind,
				 const char *name, const char *value)
{
	(void)kind;
	put(arg, ": ");
	put(arg, name);
	put(arg, ": ");
	put(arg, value ? value : "");
	put(arg, "\n");
	return MHD_YES;
}

static char *report(const struct exchange *x, struct MHD_Connection *c,
		    const char *method, const char *version)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		abort();
	put(to, method);
	put(to, " ");
	put(to, x->target);
	put(to, " ");
	put(to, version);
	put(to, "\n");
	MHD_get_connection_values(c, MHD_HEADER_KIND, put_field, to);
	put(to, "= ");
	put_hex(to, x->body, x->body_len);
	fclose(to);
	return text;
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *c,
			      const char *url, const char *method,
			      const char *version, const char *data,
			      size_t *len, void **arg)
{
	struct exchange *x = *arg;
	struct MHD_Response *response;
	enum MHD_Result queued;
	char *text;

	(void)cls;
	(void)url;
	/* the first call is for the header alone: a reply then would leave the
	 * body unread */
	if (!x->begun) {
		x->begun = true;
		return MHD_YES;
	}
	if (*len > BODY_MAX - x->body_len)
		return MHD_NO;
	if (*len) {
		memcpy(x->body + x->body_len, data, *len);
		x->body_len += *len;
		*len = 0;
		return MHD_YES;
	}
	text = report(x, c, method, version);
	response = MHD_create_response_from_buffer(0, NULL,
						   MHD_RESPMEM_PERSISTENT);
	if (!response ||
	    MHD_add_response_header(response, "X-Read", text) != MHD_YES)
		abort();
	free(text);
	queued = MHD_queue_response(c, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return queued;
}

int main(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL,
		MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_URI_LOG_CALLBACK, begin,
		NULL, MHD_OPTION_NOTIFY_COMPLETED, end, NULL,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, 30U, MHD_OPTION_END);
	char byte;

	if (!d)
		return EXIT_FAILURE;
	printf("%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	MHD_stop_daemon(d);
	return EXIT_SUCCESS;
}
