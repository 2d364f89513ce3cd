/*
 * scd-origin: options in, an origin server until a signal, counts out.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachesim/live/load.h"
#include "cachesim/live/origin_server.h"
#include "digestd/tool/arguments.h"
#include "digestd/tool/command.h"
#include "digestd/tool/options.h"

struct settings {
	const char *trace, *port_file;
	const char *listen;
	struct trace_options reading;
	struct origin_options serving;
};

/* The name of earlier versions; what is wrong is told of today's. */
static bool origin_take_threads(const char *option, const char *text, void *to)
{
	struct settings *s = to;

	(void)option;
	return arguments_number_within("--num-thread", text, 1, INT32_MAX,
				       &s->serving.threads);
}

static const char origin_help[] =
	"usage: scd-origin [options]\n"
	"Answers any URL with a body that can be verified.\n";

#define AT(member) .at = offsetof(struct settings, member)

/* clang-format off */
static const struct tool_option origin_options[] = {
	{ .name = "listen", .letter = 'l', .kind = OPTION_TEXT, AT(listen),
	  .value = "ADDRESS:PORT", .help = "where (127.0.0.1:0: a free port)" },
	{ .name = "trace", .kind = OPTION_TEXT, AT(trace), .value = "FILE",
	  .help = "sizes and statuses; gen:PRESET too" },
	{ .name = "trace-type", .letter = 'f', .kind = OPTION_TEXT,
	  AT(reading.format), .value = "TYPE",
	  .help = "format of the trace (detected)" },
	{ .name = "trace-type-params", .kind = OPTION_TEXT,
	  AT(reading.columns), .value = "COLS",
	  .help = "its columns: time,client,url,size" },
	{ .name = "base", .letter = 'b', .kind = OPTION_TEXT, AT(reading.base),
	  .value = "URL", .help = "before URLs that begin with a slash" },
	{ .name = "num-thread", .letter = 'N', .kind = OPTION_COUNT,
	  AT(serving.threads), .least = 1, .most = INT32_MAX, .value = "N",
	  .help = "threads that answer (2)" },
	{ .name = "max-age", .kind = OPTION_COUNT, AT(serving.rules.max_age_s),
	  .most = INT32_MAX, .value = "SECONDS",
	  .help = "Cache-Control of answers (86400)" },
	{ .name = "delay-ms", .kind = OPTION_COUNT, AT(serving.delay_ms),
	  .most = INT32_MAX, .value = "N", .help = "wait before each answer (0)" },
	{ .name = "truncate", .kind = OPTION_REAL, AT(serving.truncate),
	  .max = 1, .value = "SHARE", .help = "of bodies that end early (0)" },
	{ .name = "lie", .kind = OPTION_REAL, AT(serving.lie), .max = 1,
	  .value = "SHARE", .help = "of bodies with a wrong byte (0)" },
	{ .name = "port-file", .kind = OPTION_TEXT, AT(port_file),
	  .value = "FILE", .help = "written once the port is open" },
	/* names of earlier versions, and a letter: cachesim has another -t */
	{ .name = "format", .kind = OPTION_TEXT, AT(reading.format),
	  .value = "TYPE" },
	{ .name = "columns", .kind = OPTION_TEXT, AT(reading.columns),
	  .value = "COLS" },
	{ .name = "threads", .kind = OPTION_CALL, .value = "N",
	  .take = origin_take_threads },
	{ .name = "t", .letter = 't', .kind = OPTION_TEXT, AT(trace),
	  .value = "FILE" },
	{ .name = NULL },
};
/* clang-format on */

static const struct tool_program origin_program = {
	.name = "scd-origin",
	.help = origin_help,
	.options = (const struct tool_option *const[]){ origin_options, NULL },
};

/* Resolves ADDRESS:PORT, numbers only; "[::1]:80" for IPv6. */
static struct addrinfo *origin_resolve(const char *listen)
{
	char host[128], *colon, *from = host;
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV |
					      AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int len = snprintf(host, sizeof(host), "%s", listen);

	colon = strrchr(host, ':');
	if (len >= (int)sizeof(host) || !colon)
		return NULL;
	*colon = '\0';
	if (*host == '[' && colon > host && colon[-1] == ']') {
		from++;
		colon[-1] = '\0';
	}
	return getaddrinfo(from, colon + 1, &hints, &found) ? NULL : found;
}

static int origin_write_port(const char *file, unsigned port)
{
	FILE *f = fopen(file, "w");
	int err;

	if (!f)
		return -errno;
	err = fprintf(f, "%u\n", port) < 0 ? -EIO : 0;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}

static int origin_serve(const struct settings *s, const struct addrinfo *at)
{
	struct origin_server *server;
	struct origin_counts n;
	sigset_t ends;
	int signal_number;
	int err;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL); /* the threads inherit it */
	signal(SIGPIPE, SIG_IGN);
	err = origin_server_new(&server, at->ai_addr, at->ai_addrlen,
				&s->serving);
	if (err)
		return err;
	printf("listening on port %u\n", origin_server_port(server));
	fflush(stdout);
	if (s->port_file)
		err = origin_write_port(s->port_file,
					origin_server_port(server));
	if (!err)
		sigwait(&ends, &signal_number);
	origin_server_counts(server, &n);
	origin_server_free(&server);
	printf("%" PRIu64 " requests, %" PRIu64 " bytes, %" PRIu64
	       " not modified, %" PRIu64 " not found, %" PRIu64 " refused\n",
	       n.requests, n.bytes, n.not_modified, n.not_found, n.refused);
	return err;
}

int main(int argc, char **argv)
{
	struct objects objects = { NULL, 0, 0 };
	struct settings s = {
		.listen = "127.0.0.1:0",
		.serving = { .rules = { .max_age_s = 86400 }, .threads = 2 },
	};
	struct addrinfo *at;
	int err = tool_read(&origin_program, argc, argv, &s);

	if (err != TOOL_GO_ON)
		return err;
	if (optind < argc)
		return arguments_wrong(NULL, "takes no operands", origin_help);
	at = origin_resolve(s.listen);
	if (!at) {
		arguments_refuse("--listen", s.listen,
				 "is not an address such as 127.0.0.1:8000");
		return TOOL_USAGE;
	}
	if (s.trace && load_objects(&objects, s.trace, &s.reading))
		return 1;
	if (s.trace)
		s.serving.rules.objects = &objects;
	err = origin_serve(&s, at);
	if (err)
		fprintf(stderr, "scd-origin: %s\n", strerror(-err));
	freeaddrinfo(at);
	objects_free(&objects);
	return err ? 1 : 0;
}
