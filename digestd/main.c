/*
 * digestd: wires the configuration to the service.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "digestd/admin/node_status.h"
#include "digestd/config/config_explain.h"
#include "digestd/config/configuration.h"
#include "digestd/os/handover.h"
#include "digestd/os/log.h"
#include "digestd/service.h"
#include "digestd/tool/command.h"
#include "digestd/tool/options.h"

#ifdef JEMALLOC_SLABS
/*
 * jemalloc's own settings, which MALLOC_CONF may change. A slab costs 128 bytes
 * that say what it is, and 8 for each of its pages: 34 for each object of 1 KiB
 * if the slab is one page, and 2.5 if it is 64 pages; for each of 4 KiB 136,
 * and 16 if it is 16 pages. What the store has of each object beside its body
 * is 96 to 160 bytes: slabs of 12 pages, in place of 3, save half a byte each.
 */
extern const char *malloc_conf;
const char *malloc_conf = "slab_sizes:96-160:12|256-256:8|512-512:8"
			  "|1024-1024:64|2048-2048:16|4096-4096:16";
#endif

/* What the command line says. */
struct arguments {
	const char *path, *url;
	bool test, options, metrics;
};

#define AT(member) .at = offsetof(struct arguments, member)

/* clang-format off */
static const struct tool_option main_options[] = {
	{ .name = "config", .letter = 'c', .kind = OPTION_TEXT, AT(path),
	  .value = "FILE", .help = "the configuration, see digestd.conf(5)" },
	{ .name = "test", .letter = 't', .kind = OPTION_FLAG, AT(test),
	  .help = "check it, and do nothing else" },
	{ .name = "explain", .kind = OPTION_TEXT, AT(url), .value = "URL",
	  .help = "with -t: what counts for a URL, and which lines say so" },
	{ .name = "options", .kind = OPTION_FLAG, AT(options),
	  .help = "list the options of a configuration" },
	{ .name = "metrics", .kind = OPTION_FLAG, AT(metrics),
	  .help = "list what /metrics has: name, type, help" },
	{ .name = NULL },
};
/* clang-format on */

static const struct tool_program main_program = {
	.name = "digestd",
	.help = "usage: digestd -c FILE [-t [--explain URL]]\n"
		"A caching proxy that tells its peers what it holds.\n\n",
	.after_help = "\nSIGHUP reloads the configuration, SIGUSR1 opens the "
		      "access log anew,\nSIGUSR2 starts the program anew, "
		      "which takes over, SIGTERM drains\nand ends.\n",
	.options = (const struct tool_option *const[]){ main_options, NULL },
};

/*
 * Connections need descriptors: as many as the hard limit allows. Without them
 * all works the same, with fewer connections.
 */
static void main_raise_descriptors(void)
{
	struct rlimit limit;
	int err = getrlimit(RLIMIT_NOFILE, &limit);

	if (!err && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		err = setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (err)
		log_write(LOG_WARNING, "main", "limit of open files: %s",
			  strerror(errno));
}

static int main_run(struct config *config, const char *path,
		    const struct service_process *process)
{
	struct service *service;
	int err;

	main_raise_descriptors();
	service_block_signals();
	if (service_new(config, path, process, &service))
		return EXIT_FAILURE;
	err = service_run(service);
	service_free(&service);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* What this process was given by who has started it. Exits if it is wrong. */
static struct service_process main_process(char *const *argv)
{
	struct service_process process = {
		.argv = argv, .predecessor = handover_channel(),
	};

	if (listen_given_take(process.predecessor >= 0, &process.given)) {
		log_write(LOG_ERROR, "main", "LISTEN_FDS: not as many sockets "
			  "that listen for streams");
		exit(EXIT_FAILURE);
	}
	return process;
}

/* What counts for a URL, in place of "ok". */
static int main_explain(const struct config *config, const char *url)
{
	int err = config_explain_print(config, url, stdout);

	if (err == -EINVAL)
		fprintf(stderr, "digestd: \"%s\" is not a URL such as "
			"http://host/path\n", url);
	else if (err)
		fprintf(stderr, "digestd: %s\n", strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int main_load_and_run(const struct arguments *a, char *const *argv)
{
	const char *path = a->path;
	int code = EXIT_SUCCESS;
	struct config_errors errors;
	struct config *config;
	struct service_process process;

	if (config_load(path, &config, &errors)) {
		fputs(errors.text, stderr);
		return EXIT_FAILURE;
	}
	fputs(errors.text, stderr); /* warnings */
	if (!a->test) {
		process = main_process(argv);
		return main_run(config, path, &process);
	}
	if (a->url)
		code = main_explain(config, a->url);
	else
		printf("%s: ok\n", path);
	config_free(&config);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments a = { .path = NULL };
	int code = tool_read(&main_program, argc, argv, &a);

	log_find_journal();
	if (code == TOOL_GO_ON && a.options) {
		config_print_options(stdout);
		return EXIT_SUCCESS;
	}
	if (code == TOOL_GO_ON && a.metrics) {
		node_status_list_metrics(stdout);
		return EXIT_SUCCESS;
	}
	if (code == TOOL_GO_ON && a.path && optind == argc &&
	    (a.test || !a.url))
		return main_load_and_run(&a, argv);
	if (code == TOOL_OK)
		return EXIT_SUCCESS;
	if (code == TOOL_GO_ON)
		fprintf(stderr, "digestd: %s\n",
			optind < argc ? "takes no operands" :
			!a.path	      ? "needs -c FILE" :
					"--explain needs -t");
	tool_help(&main_program, stderr);
	return TOOL_USAGE;
}
