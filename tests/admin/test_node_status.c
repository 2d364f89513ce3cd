/*
 * What a node tells of itself: the text of Prometheus is well formed, each
 * counter is in it and in the JSON, with its value, and what a node has not
 * (disk, shared memory, peers) is not told of.
 */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/admin/node_status.h"
#include "digestd/os/memory.h"
#include "tests/admin/status_read.h"
#include "tests/unit.h"

/* In place of digestd/peers/peer_follower.c: two, one with a digest. */
struct peer_follower {
	struct peer_follower_status peers[3];
};

size_t peer_follower_count(const struct peer_follower *f)
{
	return f->peers[0].name ? 3 : 0;
}

void peer_follower_status(const struct peer_follower *f, size_t i,
			  struct peer_follower_status *out)
{
	assert_true(i < 3);
	*out = f->peers[i];
}

static struct peer_digest digest = {
	.bloom = { .nbits = 4096, .nhash = 3 },
	.instance = 0xabc,
	.generation = 17,
	.nkeys = 99,
	.fill = .5,
	.fp = .25,
};
static struct peer_follower nobody;
static struct peer_follower peers = { {
	{ .name = "b", .url = "http://b:1", .digest = &digest,
	  .usable = true, .health = HEALTH_GOOD, .rtt_ms = 2.5,
	  .confirmed_ms = 1000 },
	{ .name = "c", .url = "http://c:1", .health = HEALTH_QUARANTINE },
	{ .name = "d", .url = "http://d:1", .gone = true },
} };

/* Every counter of a table has another value. */
static struct node_status numbered(void)
{
	struct node_status s = {
		.node = "a",
		.instance = 0x1234,
		.ready = true,
		.now_ms = 3500,
		.started_s = 1000000,
		.uptime_s = 60,
		.threads = 2,
		.listeners = { { "data", "unix:/d" }, { "admin", "[::]:2" } },
		.nlisteners = 2,
		.certificates = { { "data", 2000000000 }, { "peer", 7 } },
		.ncertificates = 2,
		.tls_admin_failed = 5,
		.store = { .keys = 11, .entries = 12, .weight = 13,
			   .max_weight = 14, .evicted = 15,
			   .variants_dropped = 16 },
		.has_disk = true,
		.disk_store = { .keys = 21, .entries = 22, .weight = 23,
				.max_weight = 24, .evicted = 25 },
		.admission = { .window = 31, .bytes = 32, .admits_all = true },
		.shares = true,
		.sharing = { .seen = { .nkeys = 41, .changed = 42, .fp = .5 },
			     .published = { .generation = 43,
					    .full_bytes = 44,
					    .delta_bytes = 45 },
			     .follow = &peers },
		.catalog = { .nkeys = 51, .nbits = 1024, .nones = 256,
			     .nhash = 3, .changed = 52, .saturated = 53,
			     .grown = 54, .shrunk = 55 },
		.has_members = true,
		.members = { .found = 71, .introduced = 72, .readings = 73,
			     .failed_readings = 74, .reads = true },
		.publishes = true,
		.publisher = { .generation = 61, .full_bytes = 62,
			       .delta_bytes = 63, .array_bytes = 128,
			       .fp = .015625, .encode_ms = 1.5 },
		.follow = &peers,
		.reloads = { .done = 82, .failed = 83, .last_failed = true,
			     .last_done_s = 81 },
		.figures = {
			.responses = { [2] = 84 },
			.not_stored = { [NOT_STORED_NO_STORE] = 85 },
			.duration = { { .cells = { 2, 0, 3,
						   [HISTOGRAM_CELLS - 1] = 1 },
					.sum_us = 12000001 } },
		},
	};
	uint64_t n = 1000;

#define X(name, help) s.counters.name = n++;
	WORKER_COUNTERS(X)
#undef X
#define X(name, help) s.disk.name = n++;
	DISK_COUNTERS(X)
#undef X
#define X(name, help) s.admission.name = n++;
	ADMITTER_COUNTERS(X)
#undef X
#define X(name, held, seen) s.digests.name = n++;
	DIGEST_API_COUNTERS(X)
#undef X
#define X(name, held, seen) s.sharing.sent.name = n++;
	DIGEST_API_COUNTERS(X)
#undef X
#define X(name, help) peers.peers[0].counters.name = n++;
	PEER_FOLLOWER_COUNTERS(X)
#undef X
	return s;
}

static void test_counters_are_in_both(void **state)
{
	struct node_status s = numbered();
	char *text = metrics_of(&s);
	json_t *o = json_of(&s);
	const json_t *part;

	(void)state;
#define CHECK(prefix, name, from) \
	check_line(text, prefix #name "_total", (from).name); \
	check_member(part, #name, (from).name);
	part = json_object_get(o, "counters");
#define X(name, help) CHECK("", name, s.counters)
	WORKER_COUNTERS(X)
#undef X
	part = json_object_get(o, "disk");
#define X(name, help) CHECK("disk_", name, s.disk)
	DISK_COUNTERS(X)
#undef X
	part = json_object_get(o, "admission");
#define X(name, help) CHECK("admission_", name, s.admission)
	ADMITTER_COUNTERS(X)
#undef X
	part = json_object_get(o, "digest");
#define X(name, held, seen) CHECK("", name, s.digests)
	DIGEST_API_COUNTERS(X)
#undef X
#define X(name, held, seen) \
	check_line(text, "seen_" #name "_total", s.sharing.sent.name);
	DIGEST_API_COUNTERS(X)
#undef X
	part = json_array_get(json_object_get(o, "peers"), 0);
#define X(name, help) \
	check_line(text, "peer_" #name "_total{peer=\"b\"}", \
		   peers.peers[0].counters.name); \
	check_line(text, "peer_" #name "_total{peer=\"c\"}", 0); \
	check_member(part, #name, peers.peers[0].counters.name);
	PEER_FOLLOWER_COUNTERS(X)
#undef X
	json_decref(o);
	free(text);
}

#define BUCKET \
	"digestd_request_duration_seconds_bucket{source=\"memory\",le="

static const char *const gauges[] = {
	"digestd_start_time_seconds 1000000",
	"digestd_ready 1",
	"digestd_store_keys 11",
	"digestd_store_objects 12",
	"digestd_store_bytes 13",
	"digestd_store_limit_bytes 14",
	"digestd_store_evicted_total 15",
	"digestd_store_variants_dropped_total 16",
	"digestd_disk_keys 21",
	"digestd_disk_objects 22",
	"digestd_disk_bytes 23",
	"digestd_disk_limit_bytes 24",
	"digestd_disk_evicted_total 25",
	"digestd_admission_window_keys 31",
	"digestd_admission_bytes 32",
	"digestd_admission_admits_all 1",
	"digestd_tls_admin_failed_total 5",
	("digestd_certificate_expiry_timestamp_seconds{listener=\"data\"} "
	 "2000000000"),
	"digestd_certificate_expiry_timestamp_seconds{listener=\"peer\"} 7",
	"digestd_seen_keys 41",
	"digestd_seen_generation 43",
	"digestd_members_readable 1",
	"digestd_members_found 71",
	"digestd_members_introduced 72",
	"digestd_members_readings_total 73",
	"digestd_members_failed_readings_total 74",
	"digestd_digest_generation 61",
	"digestd_digest_filter_bytes 128",
	"digestd_digest_grown_total 54",
	"digestd_digest_shrunk_total 55",
	"digestd_digest_array_bytes 128",
	"digestd_digest_full_bytes 62",
	"digestd_digest_delta_bytes 63",
	"digestd_digest_fill_ratio 0.25",
	"digestd_digest_false_positive_ratio 0.015625",
	"digestd_digest_unpublished_changes 52",
	"digestd_peer_usable{peer=\"b\"} 1",
	"digestd_peer_usable{peer=\"c\"} 0",
	"digestd_peer_digest_generation{peer=\"b\"} 17",
	"digestd_peer_digest_generation{peer=\"c\"} 0",
	"digestd_peer_digest_age_seconds{peer=\"b\"} 2.5",
	"digestd_peer_digest_fill_ratio{peer=\"b\"} 0.5",
	"digestd_peer_digest_false_positive_ratio{peer=\"b\"} 0.25",
	"digestd_peer_round_trip_seconds{peer=\"b\"} 0.0025",
	"digestd_peer_round_trip_seconds{peer=\"c\"} 0",
	"digestd_threads 2",
	"digestd_build_info{version=\"" PACKAGE_VERSION "\"} 1",
	"digestd_config_last_reload_successful 0",
	"digestd_config_last_reload_success_timestamp_seconds 81",
	"digestd_config_reloads_total{result=\"success\"} 82",
	"digestd_config_reloads_total{result=\"failure\"} 83",
	"digestd_responses_total{class=\"2xx\"} 84",
	"digestd_not_stored_total{reason=\"no-store\"} 85",
	BUCKET "\"0.0001\"} 2",
	BUCKET "\"0.00025\"} 2",
	BUCKET "\"0.0005\"} 5",
	BUCKET "\"10\"} 5",
	BUCKET "\"+Inf\"} 6",
	"digestd_request_duration_seconds_sum{source=\"memory\"} 12.000001",
	"digestd_request_duration_seconds_count{source=\"memory\"} 6",
};

static void test_gauges(void **state)
{
	struct node_status s = numbered();
	char *text = metrics_of(&s);

	(void)state;
	for (size_t i = 0; i < NROWS(gauges); i++) {
		if (!has_line(text, gauges[i]))
			fail_msg("no line \"%s\"", gauges[i]);
	}
	/* without a digest nothing is known of its age */
	assert_null(strstr(text, "digest_age_seconds{peer=\"c\"}"));
	free(text);
}

/* Whether a peer may be asked is the follower's to say. */
static void test_usable_peers(void **state)
{
	const struct peer_follower_status saved = peers.peers[0];

	(void)state;
	for (unsigned usable = 0; usable <= 1; usable++) {
		struct node_status s = numbered();
		char *text;
		json_t *o;

		peers.peers[0].usable = usable;
		text = metrics_of(&s);
		o = json_of(&s);
		check_line(text, "peer_usable{peer=\"b\"}", usable);
		assert_int_equal(
			json_is_true(json_object_get(
				json_array_get(json_object_get(o, "peers"), 0),
				"usable")),
			usable);
		json_decref(o);
		free(text);
	}
	peers.peers[0] = saved;
}

/* Prometheus' text: each sample follows the HELP and TYPE of its metric, which
 * come once; counters, and only they, end in _total. */
static void check_well_formed(char *text)
{
	char *rest, name[128] = "", type[16] = "";
	char seen[65536] = "\n";

	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		size_t len = strlen(name);
		char key[160];

		if (!strncmp(line, "# HELP ", 7)) {
			assert_int_equal(sscanf(line, "# HELP %127s", name), 1);
			assert_true(strlen(line) > 8 + strlen(name));
			snprintf(key, sizeof(key), "\n%s\n", name);
			if (strstr(seen, key))
				fail_msg("%s comes twice", name);
			assert_true(strlen(seen) + 160 < sizeof(seen));
			strcat(seen, key + 1);
			line = strtok_r(NULL, "\n", &rest);
			assert_int_equal(sscanf(line, "# TYPE %127s %15s", key,
						type), 2);
			assert_string_equal(key, name);
			assert_int_equal(!strcmp(type, "counter"),
					 strstr(name, "_total") != NULL);
			continue;
		}
		if (!*name || strncmp(line, name, len) != 0 ||
		    (line[len] != ' ' && line[len] != '{' &&
		     (strcmp(type, "histogram") != 0 || line[len] != '_')))
			fail_msg("\"%s\" after the head of %s", line, name);
		assert_non_null(strchr("0123456789", line[strlen(line) - 1]));
	}
}

/* What a node may have or not, in each combination. */
static void test_parts_that_are_not_there(void **state)
{
	(void)state;
	for (unsigned has = 0; has < 16; has++) {
		struct node_status s = numbered();
		char *text;
		json_t *o;

		s.has_disk = has & 1;
		s.shares = has & 2;
		s.publishes = has & 4;
		s.follow = has & 8 ? &peers : has & 1 ? &nobody : NULL;
		if (!(has & 8)) {
			s.ncertificates = 0;
			s.sharing.follow = NULL;
		}
		text = metrics_of(&s);
		o = json_of(&s);
		assert_int_equal(strstr(text, "digestd_disk_keys") != NULL,
				 s.has_disk);
		assert_int_equal(json_is_object(json_object_get(o, "disk")),
				 s.has_disk);
		assert_int_equal(strstr(text, "digestd_seen_keys") != NULL,
				 s.shares);
		assert_int_equal(json_is_object(json_object_get(o, "seen")),
				 s.shares);
		assert_int_equal(strstr(text, "digestd_digest_gen") != NULL,
				 s.publishes);
		assert_int_equal(json_is_object(json_object_get(o, "digest")),
				 s.publishes);
		assert_int_equal(strstr(text, "digestd_peer_usable") != NULL,
				 s.follow == &peers);
		assert_int_equal(json_array_size(json_object_get(o, "peers")),
				 s.follow == &peers ? 3 : 0);
		assert_int_equal(strstr(text, "certificate_expiry") != NULL,
				 s.ncertificates != 0);
		check_well_formed(text);
		json_decref(o);
		free(text);
	}
}

static void test_json(void **state)
{
	struct node_status s = numbered();
	json_t *o = json_of(&s);
	const json_t *list = json_object_get(o, "peers"), *p, *d;

	(void)state;
	check_text(o, "node", "a");
	check_text(o, "instance", "0000000000001234");
	assert_true(json_is_true(json_object_get(o, "ready")));
	check_member(o, "uptime_s", 60);
	check_member(o, "threads", 2);
	d = json_array_get(json_object_get(o, "listeners"), 1);
	check_text(d, "listener", "admin");
	check_text(d, "address", "[::]:2");
	d = json_array_get(json_object_get(o, "certificates"), 1);
	check_text(d, "listener", "peer");
	check_member(d, "expires", 7);
	d = json_object_get(o, "members");
	check_member(d, "found", 71);
	assert_true(json_is_true(json_object_get(d, "readable")));
	d = json_object_get(o, "seen");
	check_member(d, "keys", 41);
	check_member(json_object_get(d, "peers"), "b", 17);
	check_member(json_object_get(d, "peers"), "c", 0);
	check_member(json_object_get(o, "digest"), "saturated_counters", 53);
	p = json_array_get(list, 0);
	check_text(p, "name", "b");
	check_text(p, "url", "http://b:1");
	check_text(p, "health", peer_health_state_text(HEALTH_GOOD));
	d = json_object_get(p, "digest");
	check_text(d, "instance", "0000000000000abc");
	check_member(d, "generation", 17);
	check_member(d, "bits", 4096);
	assert_true(json_real_value(json_object_get(d, "age_s")) == 2.5);
	assert_true(json_is_null(json_object_get(json_array_get(list, 1),
						 "digest")));
	check_text(json_array_get(list, 2), "health", "unreachable");
	json_decref(o);
}

/* A catalog of no bits at all, as before the first digest, has no fill. */
static void test_no_digest_yet(void **state)
{
	struct node_status s = numbered();
	char *text;

	(void)state;
	s.catalog = (struct catalog_stats){ 0 };
	text = metrics_of(&s);
	check_line(text, "digest_fill_ratio", 0);
	free(text);
}

/* What digestd --metrics prints has a line for each name, and no values. */
static void test_list(void **state)
{
	struct node_status s = numbered();
	char *text = metrics_of(&s), *list = NULL, *at = text;
	size_t len, n = 0;
	FILE *to = open_memstream(&list, &len);

	(void)state;
	assert_non_null(to);
	node_status_list_metrics(to);
	assert_int_equal(fclose(to), 0);
	while ((at = strstr(at, "# TYPE "))) {
		char name[128];

		at += strlen("# TYPE ");
		assert_int_equal(sscanf(at, "%127s", name), 1);
		if (!strstr(list, name))
			fail_msg("no %s", name);
		n++;
	}
	assert_true(n > 100);
	assert_null(strchr(list, '#'));
	assert_null(strchr(list, '{'));
	free(list);
	free(text);
}

/* The ledger is in both, use by use. */
static void test_memory(void **state)
{
	struct node_status s = numbered();
	const json_t *part;
	char *text;
	json_t *o;

	(void)state;
	memory_limit(1000000);
	ledger_add(&memory_ledger, LEDGER_streams, 12345);
	text = metrics_of(&s);
	o = json_of(&s);
	part = json_object_get(o, "memory");
	check_line(text, "memory_bytes{use=\"streams\"}", 12345);
	check_line(text, "memory_bytes{use=\"uploads\"}", 0);
	check_line(text, "memory_limit_bytes", 1000000);
	check_member(part, "streams", 12345);
	check_member(part, "limit_bytes", 1000000);
	check_member(part, "left_bytes", 1000000 - 12345);
	json_decref(o);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_are_in_both),
		cmocka_unit_test(test_gauges),
		cmocka_unit_test(test_usable_peers),
		cmocka_unit_test(test_parts_that_are_not_there),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_no_digest_yet),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
