/*
 * PURGE of clients: by whose lists they may, what they may purge, and what
 * becomes of it. See two_nodes.h.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/node/site.h"
#include "tests/loopback.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

#define HERE "127.0.0.0/8"
#define THERE "10.0.0.0/8"

static struct sites *made;

static int end(void **state)
{
	int err = two_nodes_end(state);

	sites_unref(made);
	made = NULL;
	return err;
}

/* A rule of a site: who may purge, or null: whoever else may. */
static void rule_set(struct site *site, const char *path, const char *from)
{
	struct site_rule *r = &site->rules[site->nrules++];

	r->kind = path ? SITE_RULE_PATH : SITE_RULE_ALL;
	if (path)
		assert_int_equal(path_pattern_init(&r->pattern, path), 0);
	if (from)
		r->policy = (struct policy){
			.set = 1 << POLICY_purge_addresses,
			.purge_addresses = from,
		};
}

/* Node a has these purgers, and a site "s" with its own and those of /p*. */
static void configure(const char *purgers, const char *site,
		      const char *path)
{
	struct worker_settings changed = at.a.settings;
	const char *twice;

	made = sites_new(1);
	made->n = 1;
	made->at[0].names = calloc(1, sizeof(char *));
	made->at[0].names[0] = strdup("s");
	made->at[0].nnames = 1;
	made->at[0].rules = calloc(3, sizeof(struct site_rule));
	rule_set(&made->at[0], NULL, site);
	rule_set(&made->at[0], "/free*", NULL);
	rule_set(&made->at[0], "/p*", path);
	assert_int_equal(sites_index(made, &twice), 0);
	changed.sites = made;
	assert_true(address_prefixes_read(purgers, &changed.purgers));
	reconfigure(&at.a, &changed);
}

static char *purge(const char *host, const char *target, const char *fields)
{
	char request[512];
	int fd = loopback_dial(port_a());

	snprintf(request, sizeof(request), "PURGE %s HTTP/1.1\r\nHost: %s\r\n"
		 "Connection: close\r\n%s\r\n", target, host, fields);
	say(fd, request);
	return hear(fd);
}

/* Nobody is listed: it is the origin's, as any method is. */
static void it_goes_to_the_origin(void **state)
{
	(void)state;
	configure("", NULL, NULL);
	free(ask(port_a(), "GET", "/hit", ""));
	expect(purge("h", "/hit", ""), 200, "/hit");
	assert_int_equal(atomic_load(&at.seen), 2);
}

/* Who is listed purges one URI, what begins with a prefix, what has a tag; and
 * is told what is wrong. */
static void who_is_listed(void **state)
{
	struct worker_counters sum = { 0 };

	(void)state;
	configure(HERE, NULL, NULL);
	free(ask(port_a(), "GET", "/hit?1", ""));
	free(ask(port_a(), "GET", "/hit?2", ""));
	expect(purge("h", "/hit?1", ""), 200, "{\"purged\": 1}");
	expect(purge("h", "/hit?1", ""), 200, "{\"purged\": 0}");
	expect(ask(port_a(), "GET", "/hit?2", ""), 200, "a; hit");
	expect(ask(port_a(), "GET", "/hit?1", ""), 200, "uri-miss");
	expect(purge("h", "/", "Purge-Prefix: http://h/hit\r\n"), 200,
	       "{\"purged\": 2}");
	expect(ask(port_a(), "GET", "/hit?2", ""), 200, "uri-miss");
	expect(purge("h", "/", "Purge-Tag: a\r\n"), 200, "{\"purged\": 0}");
	expect(purge("h", "/", "Purge-Prefix: http://h/hit\r\n"
		     "Content-Length: 4\r\n\r\nbody"), 200,
	       "{\"purged\": 1}");
	expect(purge("h", "/", "Purge-Prefix: nonsense\r\n"), 400, "\n");
	expect(purge("h", "/", "Purge-Prefix: http:///x\r\n"), 400, "\n");
	assert_int_equal(atomic_load(&at.seen), 4);
	worker_count(at.a.worker, &sum);
	assert_int_equal(sum.client_purges, 7);
}

static const struct {
	const char *label;
	const char *purgers, *site, *path; /* lists of the node, site, /p* */
	const char *host, *target, *fields;
	bool may;
} rows[] = {
	{ "not in the node's list", THERE, NULL, NULL, "h", "/hit", "", false },
	{ "the same by prefix", THERE, NULL, NULL, "h", "/",
	  "Purge-Prefix: http://h/\r\n", false },
	{ "the same by a wrong prefix", THERE, NULL, NULL, "h", "/",
	  "Purge-Prefix: h\r\n", false },
	{ "the same by tag", THERE, NULL, NULL, "h", "/", "Purge-Tag: a\r\n",
	  false },
	{ "the site has its own list", THERE, HERE, NULL, "s", "/hit", "",
	  true },
	{ "which counts for it alone", HERE, THERE, NULL, "s", "/hit", "",
	  false },
	{ "and not for others", HERE, THERE, NULL, "h", "/hit", "", true },
	{ "a rule has another", THERE, THERE, HERE, "s", "/p1", "", true },
	{ "than the site", HERE, HERE, THERE, "s", "/p1", "", false },
	{ "whose other paths it leaves", HERE, HERE, THERE, "s", "/free", "",
	  true },
	{ "a prefix needs the site", HERE, THERE, HERE, "s", "/",
	  "Purge-Prefix: http://s/p\r\n", false },
	{ "and all of its rules", HERE, HERE, THERE, "s", "/free",
	  "Purge-Prefix: http://s/free\r\n", false },
	{ "of the site of the prefix", HERE, HERE, HERE, "s", "/",
	  "Purge-Prefix: http://s/\r\n", true },
	{ "not of the target", HERE, THERE, NULL, "h", "/",
	  "Purge-Prefix: http://s/\r\n", false },
	{ "a prefix elsewhere", HERE, NULL, NULL, "s", "/",
	  "Purge-Prefix: http://h/\r\n", true },
	{ "tags are of all sites", THERE, HERE, HERE, "s", "/",
	  "Purge-Tag: a\r\n", false },
};

static void whose_list_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct sites *before = made;
		int seen = atomic_load(&at.seen);
		char *reply;

		configure(rows[i].purgers, rows[i].site, rows[i].path);
		sites_unref(before);
		reply = purge(rows[i].host, rows[i].target, rows[i].fields);
		if (strncmp(reply, rows[i].may ? "HTTP/1.1 200" :
						 "HTTP/1.1 403", 12) != 0)
			fail_msg("%s: %.300s", rows[i].label, reply);
		free(reply);
		assert_int_equal(atomic_load(&at.seen), seen);
	}
}

/* It is carried out all the same. */
static void who_leaves_at_once(void **state)
{
	struct worker_counters sum = { 0 };
	int fd;

	(void)state;
	configure(HERE, NULL, NULL);
	free(ask(port_a(), "GET", "/hit", ""));
	fd = loopback_dial(port_a());
	say(fd, "PURGE / HTTP/1.1\r\nHost: h\r\nPurge-Prefix: http://h/\r\n"
		"\r\n");
	close(fd);
	for (int i = 0; i < 5000 && !sum.client_purges; i++) {
		usleep(1000);
		sum = (struct worker_counters){ 0 };
		worker_count(at.a.worker, &sum);
	}
	usleep(5000);
	expect(ask(port_a(), "GET", "/hit", ""), 200, "uri-miss");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, two_nodes_begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_goes_to_the_origin),
		TEST(who_is_listed),
		TEST(whose_list_counts),
		TEST(who_leaves_at_once),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
