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

#include "cachesim/live/arguments.h"
#include "cachesim/live/load.h"
#include "cachesim/live/origin_server.h"

struct settings {
	const char *trace, *port_file;
	const char *listen;
	struct trace_options reading;
	struct origin_options serving;
};

static const char usage[] =
	"usage: scd-origin [options]\n"
	"Answers any URL with a body that can be verified.\n"
	"  -l, --listen ADDRESS:PORT  where (127.0.0.1:0: a free port)\n"
	"      --trace FILE           sizes and statuses; gen:PRESET too\n"
	"  -f, --trace-type TYPE      format of the trace (detected)\n"
	"      --trace-type-params COLS\n"
	"                             its columns: time,client,url,size\n"
	"  -b, --base URL             before URLs that begin with a slash\n"
	"  -N, --num-thread N         threads that answer (2)\n"
	"      --max-age SECONDS      Cache-Control of answers (86400)\n"
	"      --delay-ms N           wait before each answer (0)\n"
	"      --truncate SHARE       of bodies that end early (0)\n"
	"      --lie SHARE            of bodies with a wrong byte (0)\n"
	"      --port-file FILE       written once the port is open\n"
	"  -h, --help  -V, --version\n";

enum {
	OPT_PARAMS = 256,
	OPT_MAX_AGE,
	OPT_DELAY,
	OPT_TRUNCATE,
	OPT_LIE,
	OPT_PORT_FILE,
};

/* clang-format off */
static const struct option options[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "trace", required_argument, NULL, 't' },
	{ "trace-type", required_argument, NULL, 'f' },
	{ "trace-type-params", required_argument, NULL, OPT_PARAMS },
	{ "base", required_argument, NULL, 'b' },
	{ "num-thread", required_argument, NULL, 'N' },
	{ "max-age", required_argument, NULL, OPT_MAX_AGE },
	{ "delay-ms", required_argument, NULL, OPT_DELAY },
	{ "truncate", required_argument, NULL, OPT_TRUNCATE },
	{ "lie", required_argument, NULL, OPT_LIE },
	{ "port-file", required_argument, NULL, OPT_PORT_FILE },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	/* names of earlier versions */
	{ "format", required_argument, NULL, 'f' },
	{ "columns", required_argument, NULL, OPT_PARAMS },
	{ "threads", required_argument, NULL, 'N' },
	{ NULL, 0, NULL, 0 },
};
/* clang-format on */

/* One option. False: not one of ours (getopt has said so). */
static bool origin_take_option(struct settings *s, int c)
{
	switch (c) {
	case 'l':
		s->listen = optarg;
		return true;
	case 't': /* as it was before cachesim had another -t */
		s->trace = optarg;
		return true;
	case 'f':
		s->reading.format = optarg;
		return true;
	case 'b':
		s->reading.base = optarg;
		return true;
	case OPT_PARAMS:
		s->reading.columns = optarg;
		return true;
	case OPT_MAX_AGE:
		s->serving.rules.max_age_s =
			arguments_number("--max-age", optarg, 0, INT32_MAX);
		return true;
	case 'N':
		s->serving.threads =
			arguments_number("--num-thread", optarg, 1, INT32_MAX);
		return true;
	case OPT_DELAY:
		s->serving.delay_ms =
			arguments_number("--delay-ms", optarg, 0, INT32_MAX);
		return true;
	case OPT_TRUNCATE:
		s->serving.truncate =
			arguments_real("--truncate", optarg, 0, 1);
		return true;
	case OPT_LIE:
		s->serving.lie = arguments_real("--lie", optarg, 0, 1);
		return true;
	case OPT_PORT_FILE:
		s->port_file = optarg;
		return true;
	}
	return false;
}

static void origin_take_options(struct settings *s, int argc, char **argv)
{
	static const char letters[] = "l:f:t:b:N:hV";
	int c;

	while ((c = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (c == 'h' || c == 'V') {
			fputs(c == 'h' ? usage
				       : "scd-origin " PACKAGE_VERSION "\n",
			      stdout);
			exit(0);
		}
		if (!origin_take_option(s, c))
			exit(2);
	}
	if (optind < argc)
		arguments_wrong("takes no operands", usage);
}

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
	int err;

	origin_take_options(&s, argc, argv);
	at = origin_resolve(s.listen);
	if (!at)
		arguments_bad("--listen", s.listen,
			      "not an address such as 127.0.0.1:8000");
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
