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

enum { EXIT_USAGE = 2 };

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

static const struct option long_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "test", no_argument, NULL, 't' },
	{ "options", no_argument, NULL, 'o' },
	{ "metrics", no_argument, NULL, 'm' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static void main_usage(FILE *to)
{
	fputs("usage: digestd -c FILE [-t]\n"
	      "A caching proxy that tells its peers what it holds.\n"
	      "\n"
	      "  -c, --config FILE  the configuration, see digestd.conf(5)\n"
	      "  -t, --test         check it, and do nothing else\n"
	      "      --options      list the options of a configuration\n"
	      "      --metrics      list what /metrics has: name, type, help\n"
	      "  -h, --help         this text\n"
	      "  -V, --version      the version\n"
	      "\n"
	      "SIGHUP reloads the configuration, SIGTERM drains and ends.\n",
	      to);
}

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
	const char *path = NULL;
	bool test = false;
	int c;

	while ((c = getopt_long(argc, argv, "c:thV", long_options, NULL)) !=
	       -1) {
		switch (c) {
		case 'c':
			path = optarg;
			break;
		case 't':
			test = true;
			break;
		case 'o':
			config_print_options(stdout);
			return EXIT_SUCCESS;
		case 'm':
			node_status_list_metrics(stdout);
			return EXIT_SUCCESS;
		case 'h':
			main_usage(stdout);
			return EXIT_SUCCESS;
		case 'V':
			puts("digestd " PACKAGE_VERSION);
			return EXIT_SUCCESS;
		default:
			main_usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (!path || optind < argc) {
		main_usage(stderr);
		return EXIT_USAGE;
	}
	return main_load_and_run(path, test);
}
