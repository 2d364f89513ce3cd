/*
 * The process. Sanitizers end it at the first fault, with an exit code of
 * their own; leaks are found when it ends.
 */
#include "tests/storm/storm_node.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/codec/random.h"
#include "tests/storm/storm_log.h"
#include "tests/storm/storm_world.h"

enum {
	STORM_NODE_READY_MS = 20000,
	STORM_NODE_END_MS = 30000,
	STORM_NODE_POLL_US = 5000,
	STORM_NODE_DYING_POLLS = 60, /* for a trace to be written */
	STORM_NODE_PORTS = 3,
	STORM_NODE_FIRST_PORT = 10000, /* below those the kernel gives away */
	STORM_NODE_LAST_PORT = 32000,
};

static char storm_node_folder[2048];
static char storm_node_store_path[2100];
static pid_t storm_node_pid;

void storm_node_prepare(const char *folder)
{
	snprintf(storm_node_folder, sizeof(storm_node_folder), "%s", folder);
	snprintf(storm_node_store_path, sizeof(storm_node_store_path),
		 "%s/store", folder);
}

const char *storm_node_store(void)
{
	return storm_node_store_path;
}

static bool storm_node_bind(int fd, unsigned port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
}

/* A free port, which the socket in *held keeps from being found again. */
static unsigned storm_node_free_port(uint64_t *random, int *held)
{
	for (;;) {
		unsigned port = STORM_NODE_FIRST_PORT +
				(unsigned)random_below(
					random, STORM_NODE_LAST_PORT -
							STORM_NODE_FIRST_PORT);
		*held = socket(AF_INET, SOCK_STREAM, 0);
		if (*held >= 0 && storm_node_bind(*held, port))
			return port;
		if (*held >= 0)
			close(*held);
	}
}

/* Where it listens depends on who else is there, not on the seed. */
static void storm_node_take_ports(void)
{
	uint64_t random = (uint64_t)storm_log_now_ms() ^ (uint64_t)getpid()
								 << 32;
	unsigned *ports[STORM_NODE_PORTS] = {&storm.data, &storm.peer,
					     &storm.admin};
	int held[STORM_NODE_PORTS];

	for (size_t i = 0; i < STORM_NODE_PORTS; i++)
		*ports[i] = storm_node_free_port(&random, &held[i]);
	for (size_t i = 0; i < STORM_NODE_PORTS; i++)
		close(held[i]);
}

static void storm_node_write_origins(FILE *f)
{
	fprintf(f,
		"origin \"good.example\" { url = \"http://127.0.0.1:%u\" }\n",
		storm.good_origin);
	for (size_t i = 0; i < STORM_ORIGINS; i++)
		fprintf(f,
			"origin \"bad%.*zu.example\" "
			"{ url = \"http://127.0.0.1:%u\" }\n",
			i ? 1 : 0, i, storm.origins[i]);
	for (size_t i = 0; i < STORM_PEERS && !storm.costs; i++)
		fprintf(f,
			"peer \"liar%zu\" { url = "
			"\"http://127.0.0.1:%u\" }\n",
			i, storm.peers[i]);
}

/* One of the words that an option may have. */
static void storm_node_write_word(FILE *f, uint64_t *random, const char *option,
				  const char *const *words, size_t n)
{
	const char *word = storm_text_choose(random, words, n);

	if (*word)
		fprintf(f, "%s = \"%s\"\n", option, word);
}

static void storm_node_write_options(FILE *f, uint64_t *random)
{
	static const struct {
		const char *option;
		const char *words[6];
		size_t n;
	} choices[] = {
		{"threads", {"1", "2"}, 2},
		{"placement",
		 {"", "keep", "second", "single", "single-seen",
		  "single-shared"},
		 6},
		{"admission", {"", "none", "aged", "probation", "auto"}, 5},
		{"eviction",
		 {"", "sieve", "lru", "gdsf", "s3fifo", "wtinylfu"},
		 6},
		{"cache_size", {"8M", "1M", "64M"}, 3},
		{"max_object_size", {"", "", "100K"}, 3},
		{"stream_window", {"", "16K"}, 2},
		{"max_header_size", {"", "", "32K"}, 3},
		{"vary_limit", {"", "4"}, 2},
		{"forwarded", {"", "none", "x-forwarded", "forwarded"}, 4},
		{"purge_peers", {"", "true"}, 2},
		{"admission_tell", {"", "nginx", "field"}, 3},
		{"max_upload_size", {"", "1K"}, 2},
		{"origin_connections", {"", "", "", "8"}, 4},
		{"disk_size", {"64M", "4M"}, 2},
		{"keep_generations", {"", "1"}, 2},
		{"set_cookie", {"", "strip", "allow"}, 3},
		{"trusted_proxies", {"", "127.0.0.0/8"}, 2},
		{"memory_limit", {"", "", "96M"}, 3},
		{"stale_on_disconnect", {"", "0s"}, 2},
	};

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		storm_node_write_word(f, random, choices[i].option,
				      choices[i].words, choices[i].n);
}

static bool storm_node_write(const char *path, uint64_t seed)
{
	FILE *f = fopen(path, "w");
	uint64_t random = seed;

	if (!f)
		return false;
	fprintf(f,
		"node = \"storm\"\n"
		"cluster_key = \"5107a3e4c9d28b60f1e2d3c4b5a69788\"\n"
		"listen_data = \"127.0.0.1:%u\"\n"
		"listen_peer = \"127.0.0.1:%u\"\n"
		"listen_admin = \"127.0.0.1:%u\"\n"
		"drain = \"2s\"\nwait = \"1s\"\npoll = \"100ms\"\n"
		"log_level = \"warning\"\norigin_timeout = \"5s\"\n"
		"digest_timeout = \"2s\"\nquarantine = \"1s\"\n"
		"digest_max_size = \"%llu\"\nexpected_objects = \"20000\"\n",
		storm.data, storm.peer, storm.admin,
		(unsigned long long)storm.digest_bits / 8);
	storm_node_write_options(f, &random);
	if (!storm_text_once_in(&random, 4))
		fprintf(f, "disk_path = \"%s\"\n", storm_node_store_path);
	storm_node_write_origins(f);
	return fclose(f) == 0;
}

static void storm_node_exec(const char *conf, const char *log)
{
	const char *build = getenv("top_builddir");
	char path[2200];
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	setenv("ASAN_OPTIONS",
	       "quarantine_size_mb=16:malloc_context_size=12:"
	       "detect_leaks=1:exitcode=99:handle_abort=1",
	       0);
	setenv("UBSAN_OPTIONS", "print_stacktrace=1", 0);
	setenv("TSAN_OPTIONS", "halt_on_error=1:exitcode=99", 0);
	snprintf(path, sizeof(path), "%s/digestd/digestd", build ? build : ".");
	execl(path, path, "-c", conf, (char *)NULL);
	_exit(127);
}

/* A finding of how it ended, with the end of its log. */
static void storm_node_report(int status, const char *when)
{
	char what[64], path[2100];

	snprintf(path, sizeof(path), "%s/node.log", storm_node_folder);
	if (WIFSIGNALED(status))
		snprintf(what, sizeof(what), "signal %d", WTERMSIG(status));
	else
		snprintf(what, sizeof(what), "code %d", WEXITSTATUS(status));
	storm_log_finding("digestd ended %s with %s, see %s", when, what, path);
}

bool storm_node_alive(void)
{
	int status;

	if (!storm_node_pid)
		return false;
	if (waitpid(storm_node_pid, &status, WNOHANG) != storm_node_pid)
		return true;
	storm_node_pid = 0;
	storm_node_report(status, "in the storm");
	return false;
}

bool storm_node_is_dying(void)
{
	for (int i = 0; i < STORM_NODE_DYING_POLLS && storm_node_alive(); i++)
		usleep(STORM_NODE_POLL_US);
	return !storm_node_alive();
}

/* Asks /readyz, as long as it takes. */
static bool storm_node_is_ready(void)
{
	static const char ask[] = "GET /readyz HTTP/1.0\r\nHost: a\r\n\r\n";
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)storm.admin),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval limit = {.tv_sec = 5};
	char answer[64] = "";
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
	    send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) > 0 &&
	    recv(fd, answer, sizeof(answer) - 1, 0) < 12)
		answer[0] = '\0';
	close(fd);
	return strlen(answer) >= 12 && !memcmp(answer + 9, "200", 3);
}

bool storm_node_start(uint64_t seed)
{
	char conf[2100], log[2100];
	int64_t end_ms = storm_log_now_ms() +
			 (int64_t)(STORM_NODE_READY_MS * storm.patience);

	snprintf(conf, sizeof(conf), "%s/node.conf", storm_node_folder);
	snprintf(log, sizeof(log), "%s/node.log", storm_node_folder);
	mkdir(storm_node_store_path, 0700);
	storm_node_take_ports();
	if (!storm_node_write(conf, seed))
		abort();
	fflush(stdout);
	storm_node_pid = fork();
	if (storm_node_pid < 0)
		abort();
	if (storm_node_pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* however the storm ends */
		storm_node_exec(conf, log);
	}
	while (!storm_node_is_ready()) {
		storm_net_run(storm.net, 0);
		usleep(STORM_NODE_POLL_US);
		if (!storm_node_alive())
			return false;
		if (storm_log_now_ms() > end_ms) {
			storm_log_finding("digestd is not ready, see %s", log);
			storm_node_stop(true);
			return false;
		}
	}
	return true;
}

void storm_node_stop(bool hard)
{
	int64_t end_ms = storm_log_now_ms() +
			 (int64_t)(STORM_NODE_END_MS * storm.patience);
	int status = 0;

	if (!storm_node_pid)
		return;
	kill(storm_node_pid, hard ? SIGKILL : SIGTERM);
	while (waitpid(storm_node_pid, &status, WNOHANG) != storm_node_pid) {
		storm_net_run(storm.net, 1);
		usleep(STORM_NODE_POLL_US);
		if (storm_log_now_ms() <= end_ms)
			continue;
		storm_log_finding("digestd did not end");
		kill(storm_node_pid, SIGKILL);
		waitpid(storm_node_pid, &status, 0);
		break;
	}
	storm_node_pid = 0;
	if (!hard && status)
		storm_node_report(status, "when it was asked to");
}

static unsigned storm_node_count_descriptors(void)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)storm_node_pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

struct storm_usage storm_node_usage(void)
{
	struct storm_usage usage = {0};
	unsigned long long user = 0, system = 0, pages = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)storm_node_pid);
	f = fopen(path, "r");
	if (f && fscanf(f,
			"%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u "
			"%*u %*u %llu %llu",
			&user, &system) != 2)
		user = 0;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)storm_node_pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	usage.cpu_ms = (int64_t)((user + system) * 1000 /
				 (unsigned long long)sysconf(_SC_CLK_TCK));
	usage.rss_kb = pages * (unsigned long long)sysconf(_SC_PAGESIZE) / 1024;
	usage.descriptors = storm_node_count_descriptors();
	return usage;
}

uint64_t storm_node_cpu_us(void)
{
	struct timespec t = {0};
	clockid_t clock;

	if (!clock_getcpuclockid(storm_node_pid, &clock))
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
