/*
 * Requests without memory at nodes that do more than the plain ones of
 * test_proxy_faults.c: the i-th allocation of a node fails, for every i. The
 * client gets the right bytes, an error or the end of its connection, and
 * nothing is left (two_nodes_end() looks).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/node/site.h"
#include "digestd/os/log.h"
#include "tests/disk/disk_folder.h"
#include "tests/loopback.h"
#include "tests/os/fault_kinds.h"
#include "tests/proxy/one_site.h"
#include "tests/proxy/scripted.h"
#include "tests/proxy/two_nodes.h"
#include "tests/spared.h"
#include "tests/unit.h"

enum {
	/* the first allocation is that of a connection, which the listener
	 * waits for; test_proxy_faults.c has it fail */
	FIRST = 2,
	MAX_CALLS = 600,
	QUIET = 3,
	SLICE = 8192,
	PATIENCE_US = 10000, /* a slice waits ten times as long for memory */
};

#define OBJECT "Proxy-Authorization: Bearer " TOKEN "\r\n"

static pthread_t clients;
static struct sites *made;
static struct scripted script;

/* Only the nodes are to fail, not their clients and origins. */
bool spared_thread(void)
{
	return pthread_equal(pthread_self(), clients) ||
	       pthread_equal(pthread_self(), at.thread) ||
	       (script.url[0] && pthread_equal(pthread_self(), script.thread));
}

/* What a node is told for a row */

static void with_slices(void)
{
	at.a.settings.slice_bytes = at.b.settings.slice_bytes = SLICE;
}

static void with_checks(void)
{
	at.b.settings.peer_check = 1;
}

static void with_leases(void)
{
	at.b.settings.leases = true;
}

static void as_forward_proxy(void)
{
	at.a.settings.forward = at.a.settings.forward_private = true;
}

static void beside_a_cache(void)
{
	at.a.settings.sidecar = at.url;
}

static void with_hints(void)
{
	script = (struct scripted){ .texts = {
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
		"HTTP/1.1 200 OK\r\nConnection: close\r\n"
		"Content-Length: 4\r\n\r\n/hit",
	} };
	scripted_begin(&script);
	at.a.settings.default_origin = script.url;
}

static void with_tunnels(void)
{
	script = (struct scripted){ .texts = {
		"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
		"Upgrade: echo\r\n\r\nhello",
	} };
	scripted_begin(&script);
	at.a.settings.default_origin = script.url;
}

static void with_health(void)
{
	at.a.settings.health = "/up";
	/* of no effect: there is nobody to count clients */
	at.a.settings.client_rate.per_s = 1;
}

static void with_purgers(void)
{
	assert_true(address_prefixes_read("127.0.0.1",
					  &at.a.settings.purgers));
}

/* A site of that policy, and another one for its paths /p*. */
static void with_policy(const struct policy *policy)
{
	static const struct policy none;

	made = one_site(policy, &none);
	at.a.settings.sites = made;
}

/* Of whose objects clients purge none, whatever others let them. */
static void with_a_site_that_bars(void)
{
	static const struct policy policy = {
		.set = 1 << POLICY_purge_addresses,
		.purge_addresses = "10.0.0.0/8",
	};

	with_purgers();
	with_policy(&policy);
}

static void with_edits(void)
{
	static const struct policy policy = {
		.set = 1 << POLICY_field_drop | 1 << POLICY_field_set |
		       1 << POLICY_encodings | 1 << POLICY_cookies |
		       1 << POLICY_drop,
		.field_drop = "ETag\nX-None", .field_set = "X-Site: all",
		.encodings = true, .cookies = "session", .drop = "utm_*",
	};

	with_policy(&policy);
}

static void with_cookies_stripped(void)
{
	static const struct policy policy = {
		.set = 1 << POLICY_set_cookie, .set_cookie = SET_COOKIE_STRIP,
	};

	with_policy(&policy);
}

/* What there is before a round */

static void a_part_at_a(const char *target)
{
	free(ask(port_a(), "GET", target, "Range: bytes=0-99\r\n"));
}

static void it_at_a(const char *target)
{
	free(ask(port_a(), "GET", target, ""));
}

static void it_at_a_peer(const char *target)
{
	free(ask(port_a(), "GET", target, ""));
	introduce(NULL);
}

/* Somebody else has just asked for it. */
static void it_on_its_way(const char *target)
{
	static int fd = -1;
	char request[128];

	if (fd >= 0)
		close(fd);
	fd = loopback_dial(port_a());
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n",
		 target);
	say(fd, request);
	usleep(1000);
}

/* Stale at b, and fresh at a. */
static void it_at_both(const char *target)
{
	free(ask(port_b(), "DELETE", target, ""));
	free(ask(port_a(), "DELETE", target, ""));
	atomic_store(&at.seen, 0);
	free(ask(port_b(), "GET", target, ""));
	free(ask(port_a(), "GET", target, ""));
	introduce(NULL);
}

static void peer_without_it(const char *target)
{
	(void)target;
	introduce(NULL);
}

/* Rows */

enum whom { NODE_A, NODE_B, PEER_PORT_OF_A };

/* What is asked for; a star at the end of a target becomes the number of the
 * round, and one before its path the origin's port. The body begins with
 * `bytes`; null: it is of at.sliced. */
/* clang-format off */
static const struct row {
	const char *label;
	void (*configure)(void);
	void (*before)(const char *target);
	enum whom whom;
	const char *method, *target, *fields, *bytes;
	unsigned status;
	bool goes_on; /* behind the answer */
	bool leaves;  /* a client that has to wait */
} rows[] = {
	{ "a part of what is not here", with_slices, NULL, NODE_A, "GET", "/sliced*", "Range: bytes=0-99\r\n", NULL, 206, false, false },
	{ "all of it", with_slices, NULL, NODE_A, "GET", "/sliced*", "", NULL, 200, false, false },
	{ "more than what is here", with_slices, a_part_at_a, NODE_A, "GET", "/sliced*", "", NULL, 200, false, true },
	{ "a part of one slice", with_slices, a_part_at_a, NODE_A, "GET", "/sliced", "Range: bytes=0-9\r\n", NULL, 206, false, false },
	{ "slices of a peer", with_slices, it_at_a_peer, NODE_B, "GET", "/sliced*", "", NULL, 200, false, false },
	{ "a part of a peer's", with_slices, it_at_a_peer, NODE_B, "GET", "/sliced*", "Range: bytes=0-99\r\n", NULL, 206, false, false },
	{ "slices for a peer", with_slices, it_at_a, PEER_PORT_OF_A, "GET", "http://h/sliced", OBJECT, NULL, 200, false, false },
	{ "a checked answer", with_checks, it_at_a_peer, NODE_B, "GET", "/hit*", "", "/hit", 200, true, false },
	{ "a lease", with_leases, peer_without_it, NODE_B, "GET", "/hit*", "", "/hit", 200, false, false },
	{ "what a peer confirms", NULL, it_at_both, NODE_B, "GET", "/aged?60,0", "", "aged", 200, false, false },
	{ "of a forward proxy", as_forward_proxy, NULL, NODE_A, "GET", "http://127.0.0.1*/hit", "", "/hit?", 200, false, false },
	{ "of the cache beside", beside_a_cache, NULL, PEER_PORT_OF_A, "GET", "http://h/hit*", OBJECT, "/hit", 200, false, false },
	{ "an edited response", with_edits, NULL, NODE_A, "GET", "/aged*", "Accept-Encoding: br;q=0, gzip\r\nCookie: a=b; session=1\r\n", "aged", 200, false, false },
	{ "an edited hit", with_edits, it_at_a, NODE_A, "GET", "/aged", "", "aged", 200, false, false },
	{ "cookies that are stripped", with_cookies_stripped, NULL, NODE_A, "GET", "/cookie*", "", "baked", 200, false, false },
	{ "a purge", with_purgers, it_at_a, NODE_A, "PURGE", "/hit", "", "{\"purged\":", 200, false, false },
	{ "a purge of a prefix", with_purgers, it_at_a, NODE_A, "PURGE", "/", "Purge-Prefix: http://h/\r\n", "{\"purged\":", 200, false, false },
	{ "a purge that is barred", with_a_site_that_bars, it_at_a, NODE_A, "PURGE", "/", "Purge-Prefix: http://h/hit\r\n", "403", 403, false, false },
	{ "early hints", with_hints, NULL, NODE_A, "GET", "/hit*", "", "/hit", 200, false, false },
	{ "another protocol", with_tunnels, NULL, NODE_A, "GET", "/ws", "Connection: upgrade\r\nUpgrade: echo\r\n", "hello", 101, false, false },
	{ "what is at other places", NULL, it_at_a, NODE_A, "POST", "/change", "Content-Length: 0\r\n", "changed", 200, false, false },
	{ "health", with_health, NULL, NODE_A, "GET", "/up", "", "ready", 200, false, false },
	{ "a part of another's fetch", NULL, it_on_its_way, NODE_A, "GET", "/big*", "", "bbbb", 200, false, false },
	{ "options", NULL, NULL, NODE_A, "OPTIONS", "/x", "Max-Forwards: 0\r\n", "", 200, false, false },
	{ "options of an origin", NULL, NULL, NODE_A, "OPTIONS", "/x", "Max-Forwards: 2\r\n", "plain", 200, false, false },
	{ "a wrong part", NULL, it_at_a, NODE_A, "GET", "/hit", "Range: bytes=9-\r\n", "", 416, false, false },
};
/* clang-format on */

static unsigned row_port(const struct row *row)
{
	switch (row->whom) {
	case NODE_A:
		return port_a();
	case NODE_B:
		return port_b();
	case PEER_PORT_OF_A:
		break;
	}
	return worker_peer_port(at.a.worker);
}

/* An answer as far as it goes; or, if something `failed`, an error, or nothing
 * at all. */
static void check(const struct row *row, unsigned i, const char *reply,
		  bool failed)
{
	const char *bytes = row->bytes ? row->bytes : at.sliced;
	const char *body;
	size_t len;

	if (!strncmp(reply, "HTTP/1.1 103", 12))
		reply = strstr(reply, "\r\n\r\n") + 4;
	if (failed && (!reply[0] || !strncmp(reply, "HTTP/1.1 5", 10)))
		return;
	body = strstr(reply, "\r\n\r\n");
	if (!body)
		fail_msg("%s, fault %u: %.300s", row->label, i, reply);
	len = strlen(body + 4);
	if (len > strlen(bytes))
		len = strlen(bytes);
	if ((unsigned)atoi(reply + strlen("HTTP/1.1 ")) != row->status)
		fail_msg("%s, fault %u: %.300s", row->label, i, reply);
	if (strncmp(body + 4, bytes, len) != 0)
		fail_msg("%s, fault %u: %.300s", row->label, i, body + 4);
}

static void make_target(const struct row *row, unsigned i, char target[64])
{
	const char *star = strchr(row->target, '*');

	if (!star)
		snprintf(target, 64, "%s", row->target);
	else if (star[1])
		snprintf(target, 64, "%.*s%s%s?%u",
			 (int)(star - row->target), row->target,
			 strrchr(at.url, ':'), star + 1, i);
	else
		snprintf(target, 64, "%.*s%u", (int)(star - row->target),
			 row->target, i);
}

/* Host is "h", or that of an absolute target. */
static char *ask_row(const struct row *row, const char *target)
{
	const char *host = strncmp(target, "http://", 7) ? "h" : target + 7;
	struct timeval patience = { .tv_usec = PATIENCE_US };
	int fd = loopback_dial(row_port(row));
	char request[1024];

	snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: %.*s\r\n"
		 "Connection: close\r\n%s\r\n", row->method, target,
		 (int)strcspn(host, "/"), host, row->fields);
	if (row->leaves)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	(void)!send(fd, request, strlen(request), MSG_NOSIGNAL);
	return hear(fd);
}

/* Returns whether something has failed. */
static bool round_fails(const struct row *row, unsigned i)
{
	char target[64], *reply;
	bool failed;

	make_target(row, i, target);
	if (row->before)
		row->before(row->whom == PEER_PORT_OF_A
				    ? strchr(target + 7, '/')
				    : target);
	fault_of_memory.arm(i);
	reply = ask_row(row, target);
	if (row->goes_on)
		usleep(2000);
	failed = fault_of_memory.disarm();
	check(row, i, reply, failed || row->leaves);
	free(reply);
	return failed;
}

static void each_round(const struct row *row)
{
	unsigned quiet = 0, i;

	for (i = FIRST; i < MAX_CALLS && quiet < QUIET; i++)
		quiet = round_fails(row, i) ? 0 : quiet + 1;
	if (i <= FIRST + QUIET || i == MAX_CALLS)
		fail_msg("%s: %u rounds", row->label, i);
}

static int set_up(void **state)
{
	clients = pthread_self();
	log_set_level("error");
	return two_nodes_begin(state);
}

static int tear_down(void **state)
{
	int err = two_nodes_end(state);

	if (script.url[0])
		scripted_end(&script);
	script = (struct scripted){ .url = "" };
	sites_unref(made);
	made = NULL;
	return err;
}

static void without_memory(void **state)
{
	for (size_t i = 0; i < NROWS(rows); i++) {
		if (i) {
			tear_down(state);
			set_up(state);
		}
		if (rows[i].configure)
			rows[i].configure();
		reconfigure(&at.a, &at.a.settings);
		reconfigure(&at.b, &at.b.settings);
		each_round(&rows[i]);
	}
}

/* Lines of messages are kept in blocks: which addition needs another one, and
 * may fail, is a matter of how many there are. */

enum { LINES_LEAST = 5, LINES_MOST = 15 };

/* clang-format off */
static const struct row lines_rows[] = {
	{ "a hit", NULL, NULL, NODE_A, "GET", "/hit", "", "/hit", 200, false, false },
	{ "a part of it", NULL, NULL, NODE_A, "GET", "/hit", "Range: bytes=0-1\r\n", "/h", 206, false, false },
	{ "a hit that has not changed", NULL, NULL, NODE_A, "GET", "/aged", "If-None-Match: \"v1\"\r\n", "", 304, false, false },
	{ "a miss", NULL, NULL, NODE_A, "GET", "/hit*", "", "/hit", 200, false, false },
	{ "one that is not stored", NULL, NULL, NODE_A, "GET", "/nostore", "", "no", 200, false, false },
	{ "one with a cookie", NULL, NULL, NODE_A, "GET", "/cookie", "", "baked", 200, false, false },
	{ "one with a field for one client", NULL, NULL, NODE_A, "GET", "/mine*", "", "mine", 200, false, false },
	{ "one that is validated", NULL, NULL, NODE_A, "GET", "/etag", "", "tagged", 200, false, false },
	{ "the same, validated", NULL, NULL, NODE_A, "GET", "/etag-mine", "", "tagged", 200, false, false },
	{ "options of an origin", NULL, NULL, NODE_A, "OPTIONS", "/x", "Max-Forwards: 2\r\n", "plain", 200, false, false },
	{ "one of a peer", NULL, it_at_a_peer, NODE_B, "GET", "/hit*", "", "/hit", 200, false, false },
};
/* clang-format on */

/* A row whose messages have so many lines more. */
static void each_round_with_lines(const struct row *of, unsigned lines)
{
	char fields[512];
	struct row row = *of;
	size_t len = (size_t)snprintf(fields, sizeof(fields), "%s", of->fields);

	for (unsigned i = 0; i < lines; i++)
		len += (size_t)snprintf(fields + len, sizeof(fields) - len,
					"X-Echo-%u: v\r\n", i);
	row.fields = fields;
	if (!row.before) /* of what is stored, as many */
		free(ask(port_a(), "GET", row.target, fields));
	each_round(&row);
}

static void without_memory_for_lines(void **state)
{
	for (unsigned n = LINES_LEAST; n <= LINES_MOST; n++) {
		if (n > LINES_LEAST) {
			tear_down(state);
			set_up(state);
		}
		for (size_t i = 0; i < NROWS(lines_rows); i++)
			each_round_with_lines(&lines_rows[i], n);
	}
}

/* What is dropped has to be off the disk before anybody hears of that. */
static void changes_of_what_is_on_disk(void **state)
{
	static const struct row row = {
		"a change on disk", NULL, it_at_a, NODE_A, "DELETE", "/hit*",
		"", "/hit", 200, false, false
	};

	(void)state;
	each_round(&row);
	for (int i = 0; i < 10; i++) {
		int fd;

		it_at_a("/hit");
		fd = loopback_dial(port_a());
		say(fd, "DELETE /hit HTTP/1.1\r\nHost: h\r\n\r\n");
		close(fd);
	}
}

static int set_up_disk(void **state)
{
	disk_folder_empty();
	at.disk_path = disk_folder();
	return set_up(state);
}

static int tear_down_disk(void **state)
{
	at.disk_path = NULL;
	return tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_memory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_memory_for_lines,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(changes_of_what_is_on_disk,
						set_up_disk, tear_down_disk),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
