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
#include "digestd/config/configuration.h"
#include "digestd/os/log.h"
#include "digestd/service.h"
#include "digestd/tool/command.h"
#include "digestd/tool/options.h"

#ifdef JEMALLOC_SLABS
/*
 * jemalloc's own settings, which MALLOC_CONF may change. A slab of a page costs
 * 128 bytes that say what it is: 32 an object of 1 KiB, and 128 one of 4 KiB.
 * Of 16 pages it costs 2 and 8.
 */
extern const char *malloc_conf;
const char *malloc_conf = "slab_sizes:256-256:8|512-512:8|1024-1024:16"
			  "|2048-2048:16|4096-4096:16";
#endif

/* What the command line says. */
struct arguments {
	const char *path;
	bool test, options, metrics;
};

#define AT(member) .at = offsetof(struct arguments, member)

/* clang-format off */
static const struct tool_option main_options[] = {
	{ .name = "config", .letter = 'c', .kind = OPTION_TEXT, AT(path),
	  .value = "FILE", .help = "the configuration, see digestd.conf(5)" },
	{ .name = "test", .letter = 't', .kind = OPTION_FLAG, AT(test),
	  .help = "check it, and do nothing else" },
	{ .name = "options", .kind = OPTION_FLAG, AT(options),
	  .help = "list the options of a configuration" },
	{ .name = "metrics", .kind = OPTION_FLAG, AT(metrics),
	  .help = "list what /metrics has: name, type, help" },
	{ .name = NULL },
};
/* clang-format on */

static const struct tool_program main_program = {
	.name = "digestd",
	.help = "usage: digestd -c FILE [-t]\n"
		"A caching proxy that tells its peers what it holds.\n\n",
	.after_help = "\nSIGHUP reloads the configuration, SIGUSR1 opens the "
		      "access log anew,\nSIGTERM drains and ends.\n",
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

static int main_run(struct config *config, const char *path)
{
	struct service *service;
	int err;

	main_raise_descriptors();
	service_block_signals();
	if (service_new(config, path, &service))
		return EXIT_FAILURE;
	err = service_run(service);
	service_free(&service);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int main_load_and_run(const char *path, bool test)
{
	struct config_errors errors;
	struct config *config;

	if (config_load(path, &config, &errors)) {
		fputs(errors.text, stderr);
		return EXIT_FAILURE;
	}
	fputs(errors.text, stderr); /* warnings */
	if (!test)
		return main_run(config, path);
	config_free(&config);
	printf("%s: ok\n", path);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct arguments a = { .path = NULL };
	int code = tool_read(&main_program, argc, argv, &a);

	if (code == TOOL_GO_ON && a.options) {
		config_print_options(stdout);
		return EXIT_SUCCESS;
	}
	if (code == TOOL_GO_ON && a.metrics) {
		node_status_list_metrics(stdout);
		return EXIT_SUCCESS;
	}
	if (code == TOOL_GO_ON && a.path && optind == argc)
		return main_load_and_run(a.path, a.test);
	if (code == TOOL_OK)
		return EXIT_SUCCESS;
	tool_help(&main_program, stderr);
	return TOOL_USAGE;
}
