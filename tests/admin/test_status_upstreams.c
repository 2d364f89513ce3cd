/*
 * What a node tells of others: origins and peers by name, what went wrong with
 * them, purges that they lack, and the cache beside it. Whatever is more than
 * has a name of its own is told as "other".
 */
#include "config.h"

#include "digestd/admin/node_status.h"
#include "tests/admin/status_read.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum { NPEERS = UPSTREAM_NAMES_MAX + 3, NORIGINS = UPSTREAM_NAMES_MAX + 2 };

/* In place of digestd/peers/peer_follower.c: peers that count requests. */
struct peer_follower {
	struct peer_follower_status peers[NPEERS];
};

size_t peer_follower_count(const struct peer_follower *f)
{
	return NROWS(f->peers);
}

void peer_follower_status(const struct peer_follower *f, size_t i,
			  struct peer_follower_status *out)
{
	assert_true(i < NROWS(f->peers));
	*out = f->peers[i];
}

/* ... of digestd/peers/teller.c: two, one of which lacks purges. */
struct teller {
	struct teller_peer_status peers[2];
};

size_t teller_peers(const struct teller *t)
{
	return NROWS(t->peers);
}

void teller_peer_status(const struct teller *t, size_t i,
			struct teller_peer_status *out)
{
	assert_true(i < NROWS(t->peers));
	*out = t->peers[i];
}

/* ... and of digestd/proxy/origin_group.c: any list of origins. */
struct origins {
	struct origin_status list[NORIGINS];
	size_t n;
};

void origins_status(struct origins *origins, int64_t now_ms,
		    void (*each)(void *arg, const struct origin_status *s),
		    void *arg)
{
	(void)now_ms;
	for (size_t i = 0; origins && i < origins->n; i++)
		each(arg, &origins->list[i]);
}

static const json_t *member_named(const json_t *list, const char *name)
{
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o) {
		const char *is = json_string_value(json_object_get(o, "name"));

		if (is && !strcmp(is, name))
			return o;
	}
	fail_msg("no member named %s", name);
	return NULL;
}

/* Those beyond the names have one line, which is their sum. */
static void test_peers_beyond_the_names(void **state)
{
	static char names[NPEERS][16];
	static struct peer_follower all;
	const struct node_status s = { .node = "a", .follow = &all };
	char *text;
	json_t *o;

	(void)state;
	for (unsigned i = 0; i < NPEERS; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u", i);
		all.peers[i].name = names[i];
		all.peers[i].url = "http://n:1";
		all.peers[i].counters.unchanged = i + 1;
	}
	text = metrics_of(&s);
	o = json_of(&s);
	check_line(text, "peer_unchanged_total{peer=\"n0\"}", 1);
	check_line(text, "peer_unchanged_total{peer=\"n49\"}", 50);
	check_line(text, "peer_unchanged_total{peer=\"other\"}", 51 + 52 + 53);
	check_line(text, "peer_usable{peer=\"n49\"}", 0);
	assert_null(strstr(text, "peer=\"n50\""));
	assert_int_equal(json_array_size(json_object_get(o, "peers")), NPEERS);
	json_decref(o);
	free(text);
}

/* Whether a peer asks for leases is told once it has said; a list of
 * fingerprints is called one. */
static void test_what_peers_say(void **state)
{
	static struct peer_follower all;
	static const uint8_t table;
	const struct node_status s = { .node = "a", .follow = &all };
	struct peer_digest list = { .generation = 3 };
	const json_t *peers;
	char *text;
	json_t *o;

	(void)state;
	list.slot.table = (void *)(uintptr_t)&table; /* some */
	for (unsigned i = 0; i < NPEERS; i++)
		all.peers[i] = (struct peer_follower_status){ .name = "x",
							      .url = "" };
	all.peers[0].name = "yes";
	all.peers[0].says = (struct digest_node){ .leases_said = true,
						  .leases = true };
	all.peers[1].name = "no";
	all.peers[1].says = (struct digest_node){ .leases_said = true };
	all.peers[2].name = "silent";
	all.peers[2].digest = &list;
	text = metrics_of(&s);
	o = json_of(&s);
	peers = json_object_get(o, "peers");
	check_line(text, "peer_leases{peer=\"yes\"}", 1);
	check_line(text, "peer_leases{peer=\"no\"}", 0);
	assert_null(strstr(text, "peer_leases{peer=\"silent\"}"));
	assert_true(json_is_true(
		json_object_get(member_named(peers, "yes"), "leases")));
	assert_true(json_is_false(
		json_object_get(member_named(peers, "no"), "leases")));
	assert_true(json_is_null(
		json_object_get(member_named(peers, "silent"), "leases")));
	check_text(json_object_get(member_named(peers, "silent"), "digest"),
		   "form", "list");
	json_decref(o);
	free(text);
}

static void test_purges_that_peers_lack(void **state)
{
	const struct teller told = { {
		{ .name = "b", .acknowledged = 7 },
		{ .name = "c", .acknowledged = 4, .lacking = 3,
		  .lacking_ms = 1500, .failing = true },
	} };
	const struct node_status s = { .node = "a", .teller = &told,
				       .serves = true };
	char *text = metrics_of(&s);
	json_t *o = json_of(&s);
	const json_t *purges = json_object_get(o, "purges"), *peers, *c;

	(void)state;
	check_line(text, "purges_unacknowledged{peer=\"b\"}", 0);
	check_line(text, "purges_unacknowledged{peer=\"c\"}", 3);
	assert_true(has_line(text, "digestd_purges_unacknowledged_seconds{"
				   "peer=\"c\"} 1.500"));
	assert_true(json_is_true(json_object_get(purges, "serves")));
	peers = json_object_get(purges, "peers");
	assert_int_equal(json_array_size(peers), 2);
	assert_true(json_is_false(
		json_object_get(json_array_get(peers, 0), "failing")));
	c = json_array_get(peers, 1);
	check_text(c, "peer", "c");
	assert_true(json_is_true(json_object_get(c, "failing")));
	check_member(c, "acknowledged", 4);
	check_member(c, "unacknowledged", 3);
	json_decref(o);
	free(text);
}

/* Who was asked has figures; names are escaped as Prometheus wants it. */
static void test_upstreams_by_name(void **state)
{
	struct node_status s = { .node = "a" };
	struct upstream_names *names;
	struct upstream_figures *u;
	const json_t *list;
	unsigned quoted, peer;
	char *text;
	json_t *o;

	(void)state;
	assert_int_equal(upstream_names_new(&names), 0);
	quoted = upstream_names_find(names, UPSTREAM_origin, "http://o/\"\\");
	upstream_names_find(names, UPSTREAM_origin, "http://never:1");
	peer = upstream_names_find(names, UPSTREAM_peer, "b");
	s.names = names;
	u = &s.figures.upstreams[UPSTREAM_origin][quoted];
	histogram_add(&u->duration, 200);
	u->bytes = 10;
	u = &s.figures.upstreams[UPSTREAM_peer][peer];
	histogram_add(&u->duration, 300);
	histogram_add(&u->duration, 400);
	u->bytes = 20;
	text = metrics_of(&s);
	o = json_of(&s);
	check_line(text, "upstream_received_bytes_total{kind=\"origin\","
			 "upstream=\"http://o/\\\"\\\\\"}", 10);
	check_line(text, "upstream_duration_seconds_count{kind=\"peer\","
			 "upstream=\"b\"}", 2);
	assert_null(strstr(text, "never"));
	list = json_object_get(o, "upstreams");
	assert_int_equal(json_array_size(list), 2);
	check_text(member_named(list, "b"), "kind", "peer");
	check_member(member_named(list, "b"), "received_bytes", 20);
	check_member(member_named(list, "http://o/\"\\"), "received_bytes", 10);
	json_decref(o);
	free(text);
	upstream_names_free(&names);
}

/* Of whom something went wrong, and what to do; a part of the node has its
 * rows from the start in the metrics, in the JSON only once there was some. */
static void test_troubles(void **state)
{
	struct node_status s = { .node = "a", .now_ms = 5000 };
	struct upstream_names *names;
	const json_t *list, *row;
	char *text;
	json_t *o;

	(void)state;
	assert_int_equal(upstream_names_new(&names), 0);
	assert_int_equal(troubles_new(names, &s.troubles), 0);
	for (int i = 0; i < 2; i++)
		troubles_of_upstream(s.troubles, UPSTREAM_origin, "http://o:1",
				     TROUBLE_refused, NULL, 3500);
	troubles_of_part(s.troubles, TROUBLE_PART_disk, TROUBLE_disk_full,
			 NULL, 4000);
	text = metrics_of(&s);
	o = json_of(&s);
	check_line(text, "upstream_errors_total{kind=\"origin\",upstream="
			 "\"http://o:1\",cause=\"refused\"}", 2);
	check_line(text, "node_errors_total{part=\"disk\",cause=\"disk-full\"}",
		   1);
	check_line(text, "node_errors_total{part=\"memory\",cause=\"memory\"}",
		   0);
	list = json_object_get(o, "troubles");
	assert_int_equal(json_array_size(list), 2);
	row = member_named(list, "http://o:1");
	check_text(row, "of", "origin");
	check_text(row, "cause", "refused");
	check_text(row, "do", trouble_remedy(TROUBLE_refused));
	check_member(row, "count", 2);
	assert_true(json_real_value(json_object_get(row, "ago_s")) == 1.5);
	check_text(member_named(list, "disk"), "of", "part");
	json_decref(o);
	free(text);
	troubles_free(&s.troubles);
	upstream_names_free(&names);
}

/* An origin that several sites have is up if it is for all of them; JSON has
 * each of its groups, beside what was counted of it. */
static void test_origins(void **state)
{
	struct origins all = { .n = 4, .list = {
		{ .group = "o p", .label = "o", .state = ORIGIN_STATE_UP,
		  .outstanding = 2, .answer_ms = 1.5 },
		{ .group = "o p", .label = "p",
		  .state = ORIGIN_STATE_STARTING },
		{ .group = "o q", .label = "o", .state = ORIGIN_STATE_OUT,
		  .cause = TROUBLE_refused, .outstanding = 3 },
		{ .group = "t", .label = "t", .state = ORIGIN_STATE_TRIED },
	} };
	struct node_status s = { .node = "a", .origins = &all };
	const json_t *groups;
	char *text;
	json_t *o;

	(void)state;
	text = metrics_of(&s);
	o = json_of(&s);
	check_line(text, "origin_up{upstream=\"o\"}", 0);
	check_line(text, "origin_up{upstream=\"p\"}", 1);
	check_line(text, "origin_up{upstream=\"t\"}", 0);
	check_line(text, "origin_outstanding{upstream=\"o\"}", 5);
	groups = json_object_get(
		member_named(json_object_get(o, "upstreams"), "o"), "groups");
	assert_int_equal(json_array_size(groups), 2);
	check_text(json_array_get(groups, 0), "urls", "o p");
	check_text(json_array_get(groups, 1), "cause",
		   trouble_label(TROUBLE_refused));
	check_member(json_array_get(groups, 1), "outstanding", 3);
	json_decref(o);
	free(text);
}

/* The figures of an origin that was asked, and its groups, are one member. */
static void test_groups_of_an_origin_with_figures(void **state)
{
	struct origins all = { .n = 1, .list = {
		{ .group = "p", .label = "p" }, /* and a peer of this name */
	} };
	struct node_status s = { .node = "a", .origins = &all };
	struct upstream_names *names;
	const json_t *list, *first, *second;
	unsigned peer, origin;
	json_t *o;

	(void)state;
	assert_int_equal(upstream_names_new(&names), 0);
	s.names = names;
	peer = upstream_names_find(names, UPSTREAM_peer, "p");
	histogram_add(&s.figures.upstreams[UPSTREAM_peer][peer].duration, 1);
	upstream_names_find(names, UPSTREAM_origin, "x");
	origin = upstream_names_find(names, UPSTREAM_origin, "p");
	histogram_add(&s.figures.upstreams[UPSTREAM_origin][origin].duration,
		      1);
	o = json_of(&s);
	list = json_object_get(o, "upstreams");
	assert_int_equal(json_array_size(list), 2);
	first = json_array_get(list, 0);
	second = json_array_get(list, 1);
	check_text(first, "kind", "origin");
	assert_int_equal(json_array_size(json_object_get(first, "groups")), 1);
	check_text(second, "kind", "peer");
	assert_null(json_object_get(second, "groups"));
	json_decref(o);
	upstream_names_free(&names);
}

/* Where there is no memory for a name, members are missing; nothing else. */
static void test_json_without_memory(void **state)
{
	struct origins all = { .n = 2, .list = {
		{ .group = "o p", .label = "o" },
		{ .group = "o p", .label = "p" },
	} };
	const struct node_status s = { .node = "a", .origins = &all };
	bool failed = true;

	(void)state;
	json_set_alloc_funcs(malloc, free); /* which fail */
	for (unsigned n = 1; failed; n++) {
		alloc_fail_at(n);
		json_decref(node_status_object(&s));
		failed = alloc_failed();
		alloc_fail_at(0);
	}
}

static void test_origins_beyond_the_names(void **state)
{
	static char labels[NORIGINS][16];
	struct origins all = { .n = NORIGINS };
	struct node_status s = { .node = "a", .origins = &all };
	char *text;

	(void)state;
	for (unsigned i = 0; i < NORIGINS; i++) {
		snprintf(labels[i], sizeof(labels[i]), "o%u", i);
		all.list[i] = (struct origin_status){
			.group = labels[i],
			.label = labels[i],
			.state = i < NORIGINS - 1 ? ORIGIN_STATE_UP :
						    ORIGIN_STATE_OUT,
			.outstanding = i,
		};
	}
	text = metrics_of(&s);
	check_line(text, "origin_up{upstream=\"o49\"}", 1);
	check_line(text, "origin_up{upstream=\"other\"}", 0);
	check_line(text, "origin_outstanding{upstream=\"other\"}", 50 + 51);
	assert_null(strstr(text, "upstream=\"o50\""));
	free(text);
}

/* A Squid, an nginx, a sidecar's cache or a module's table: each is told of
 * where there is one, whole, and not otherwise. */
static void test_caches_beside_it(void **state)
{
	struct node_status s = { .node = "a" };
	uint64_t n = 100;

#define X(name, help) s.squid.name = n++;
	SQUID_DIGEST_COUNTERS(X)
#undef X
#define X(name, help) s.sidecar.holdings.name = n++;
	HOLDINGS_COUNTERS(X)
#undef X
#define X(name, help) s.sidecar.nginx.name = n++;
	NGINX_FOLDER_COUNTERS(X)
#undef X
#define X(name, help) s.share.name = n++;
	TABLE_SHARE_COUNTERS(X)
#undef X
	(void)state;
	for (unsigned has = 0; has < 16; has++) {
		const json_t *part;
		char *text;
		json_t *o;

		s.has_squid = has & 1;
		s.has_sidecar = has & 2;
		s.sidecar.has_nginx = has & 4;
		s.has_share = has & 8;
		text = metrics_of(&s);
		o = json_of(&s);
#define CHECK(has, prefix, name, from) \
	if (!(has)) \
		assert_null(strstr(text, "digestd_" prefix #name "_total")); \
	else \
		check_line(text, prefix #name "_total", (from).name); \
	if (has) \
		check_member(part, #name, (from).name);
		part = json_object_get(o, "squid");
		assert_int_equal(json_is_object(part), s.has_squid);
#define X(name, help) CHECK(s.has_squid, "squid_digest_", name, s.squid)
		SQUID_DIGEST_COUNTERS(X)
#undef X
		part = json_object_get(o, "share");
		assert_int_equal(json_is_object(part), s.has_share);
#define X(name, help) CHECK(s.has_share, "share_", name, s.share)
		TABLE_SHARE_COUNTERS(X)
#undef X
		part = json_object_get(o, "sidecar");
		assert_int_equal(json_is_object(part), s.has_sidecar);
#define X(name, help) CHECK(s.has_sidecar, "sidecar_", name, s.sidecar.holdings)
		HOLDINGS_COUNTERS(X)
#undef X
		part = json_object_get(part, "nginx");
		assert_int_equal(json_is_object(part),
				 s.has_sidecar && s.sidecar.has_nginx);
#define X(name, help) \
	CHECK(s.has_sidecar && s.sidecar.has_nginx, "nginx_", name, \
	      s.sidecar.nginx)
		NGINX_FOLDER_COUNTERS(X)
#undef X
		json_decref(o);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peers_beyond_the_names),
		cmocka_unit_test(test_what_peers_say),
		cmocka_unit_test(test_purges_that_peers_lack),
		cmocka_unit_test(test_upstreams_by_name),
		cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_groups_of_an_origin_with_figures),
		cmocka_unit_test(test_json_without_memory),
		cmocka_unit_test(test_origins_beyond_the_names),
		cmocka_unit_test(test_caches_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
