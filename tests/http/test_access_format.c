/*
 * Lines of access logs: formats, what is escaped in them, and texts that are no
 * format.
 */
#include <errno.h>
#include <string.h>

#include "digestd/http/access_format.h"
#include "digestd/http/trouble.h"
#include "digestd/http/refusal.h"
#include "tests/unit.h"

#define TEXT(s) { s, sizeof(s) - 1 }

static const struct access_record plain = {
	.time_ms = 1795315939147,
	.bytes = 1024,
	.status = 200,
	.reply_ms = 3,
	.duration_ms = 83,
	.peer_ms = 2,
	.origin_ms = 80,
	.minor = 1,
	.source = ACCESS_FROM_peer,
	.client = TEXT("192.0.2.1"),
	.method = TEXT("GET"),
	.target = TEXT("/p?q"),
	.host = TEXT("h:1"),
	.referer = TEXT("http://r/"),
	.agent = TEXT("a\"\\\n\xc3\x7f"),
	.from = TEXT("cache2"),
	.reason = TEXT("uri-miss"),
	.trace_id = "0af7651916cd43dd8448eb211c80319c",
};

#define ASKED .method = TEXT("GET"), .target = TEXT("/"), .host = TEXT("h")

static const struct access_record of_memory = {
	ASKED, .status = 200, .source = ACCESS_FROM_memory,
};
static const struct access_record of_disk = {
	ASKED, .status = 200, .source = ACCESS_FROM_disk, .aborted = true,
};
static const struct access_record renewed = {
	ASKED, .status = 200, .source = ACCESS_FROM_origin, .stale = true,
	.fwd_status = 304, .from = TEXT("http://h:80"),
};
static const struct access_record replaced = {
	ASKED, .status = 200, .source = ACCESS_FROM_origin, .stale = true,
	.fwd_status = 200,
};
static const struct access_record stale = {
	ASKED, .status = 200, .source = ACCESS_FROM_origin, .stale = true,
	.fwd_status = 502,
};
static const struct access_record denied = {
	ASKED, .status = 403, .source = ACCESS_FROM_node,
};
static const struct access_record unreadable = {
	.status = 400, .source = ACCESS_FROM_node,
};

static const struct access_record local = { .local = true };

static const struct access_record bare = { .source = ACCESS_FROM_nobody,
					   .http2 = true,
					   .aborted = true };

/* clang-format off */
static const struct {
	const char *label, *format;
	const struct access_record *record;
	const char *line;
} lines[] = {
	{ "common", "common", &plain,
	  "192.0.2.1 - - [22/Nov/2026:02:52:19 +0000] \"GET /p?q HTTP/1.1\" 200 1024\n" },
	{ "combined", "combined", &plain,
	  "192.0.2.1 - - [22/Nov/2026:02:52:19 +0000] \"GET /p?q HTTP/1.1\" 200 1024 "
	  "\"http://r/\" \"a\\x22\\x5c\\x0a\\xc3\\x7f\"\n" },
	{ "nothing known", "combined", &bare,
	  "- - - [01/Jan/1970:00:00:00 +0000] \"- - HTTP/2.0\" 000 0 \"-\" \"-\"\n" },
	{ "json", "json", &plain,
	  "{\"@timestamp\":\"2026-11-22T02:52:19.147Z\",\"source.ip\":\"192.0.2.1\","
	  "\"http.request.method\":\"GET\",\"url.full\":\"http://h:1/p?q\","
	  "\"http.version\":\"HTTP/1.1\",\"http.request.referrer\":\"http://r/\","
	  "\"user_agent.original\":\"a\\u0022\\u005c\\u000a\\u00c3\\u007f\","
	  "\"http.response.status_code\":200,\"http.response.body.bytes\":1024,"
	  "\"digestd.source\":\"peer\",\"digestd.from\":\"cache2\","
	  "\"digestd.reason\":\"uri-miss\",\"digestd.reply_ms\":3,"
	  "\"digestd.duration_ms\":83,\"digestd.peer_ms\":2,"
	  "\"digestd.origin_ms\":80,\"digestd.end\":\"done\","
	  "\"trace.id\":\"0af7651916cd43dd8448eb211c80319c\"}\n" },
	{ "json of little", "{\"%{source}\":%{status},\"a\":\"%{agent}\"}", &bare,
	  "{\"nobody\":0,\"a\":\"\"}\n" },
	{ "all else", "%{time_s} %{time_iso} %{url}|%{from}%{reason} %% %{end}", &plain,
	  "1795315939.147 2026-11-22T02:52:19.147Z http://h:1/p?q|cache2uri-miss %% done\n" },
	{ "a peer's", "squid", &plain,
	  "1795315939.230 83 192.0.2.1 TCP_MISS/200 1024 GET http://h:1/p?q - CD_SIBLING_HIT/cache2 -\n" },
	{ "a hit in memory", "squid", &of_memory,
	  "0.000 0 - TCP_MEM_HIT/200 0 GET http://h/ - HIER_NONE/- -\n" },
	{ "a hit on disk, cut off", "%{squid_code}", &of_disk, "TCP_HIT_ABORTED\n" },
	{ "renewed", "%{squid_code} %{squid_hierarchy}", &renewed,
	  "TCP_REFRESH_UNMODIFIED HIER_DIRECT/h:80\n" },
	{ "another version", "%{squid_code}", &replaced, "TCP_REFRESH_MODIFIED\n" },
	{ "stale, as the origin failed", "%{squid_code}", &stale, "TCP_REFRESH_FAIL_OLD\n" },
	{ "who may not", "%{squid_code}", &denied, "TCP_DENIED\n" },
	{ "nothing that can be read", "%{squid_code} %{squid_hierarchy}", &unreadable, "NONE HIER_NONE/-\n" },
	{ "at a UNIX socket", "%{client}", &local, "unix:\n" },
	{ "the same, where IPs are meant", "{\"%{client}\"}", &local, "{\"\"}\n" },
	{ "the last", "%{end}", &bare, "aborted\n" },
};
/* clang-format on */

static void test_lines(void **state)
{
	char line[1000];

	(void)state;
	for (size_t i = 0; i < NROWS(lines); i++) {
		const struct access_record *r = lines[i].record;
		size_t right = strlen(lines[i].line);
		struct access_format *f;

		assert_true(access_format_is(lines[i].format));
		assert_int_equal(access_format_new(lines[i].format, &f), 0);
		if (access_format_write(f, r, line, sizeof(line)) != right ||
		    memcmp(line, lines[i].line, right) != 0)
			fail_msg("%s: %.*s", lines[i].label, (int)right, line);
		assert_int_equal(access_format_write(f, r, line, right), right);
		assert_int_equal(access_format_write(f, r, line, right - 1), 0);
		access_format_free(&f);
		assert_null(f);
		access_format_free(&f);
	}
}

static void test_no_formats(void **state)
{
	static const char *const texts[] = {
		"", "Common", "%{client", "%{}", "%{Client} %{time}",
		"text without any", "%{client}\n", "\t%{client}",
		"%{client} %{",
	};
	struct access_format *f;

	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		if (access_format_is(texts[i]))
			fail_msg("%s", texts[i]);
		assert_int_equal(access_format_new(texts[i], &f), -EINVAL);
	}
}

/* Each status has one reason, and each result a cause with its words. */
static void test_reasons(void **state)
{
	(void)state;
	assert_int_equal(refusal_of_status(505), REFUSAL_version);
	assert_int_equal(refusal_of_status(200), REFUSAL_COUNT);
	assert_string_equal(refusal_name(REFUSAL_host), "host");
	for (int i = FETCH_COMPLETE + 1; i < FETCH_RESULTS; i++)
		assert_int_not_equal(
			trouble_of_result((enum fetch_result)i),
			TROUBLE_none);
	assert_int_equal(trouble_of_result(FETCH_COMPLETE),
			 TROUBLE_none);
	assert_string_equal(trouble_label(TROUBLE_refused), "refused");
	assert_string_equal(trouble_text(TROUBLE_refused),
			    "it refuses connections");
	assert_string_equal(trouble_label(TROUBLE_no_route), "no-route");
	assert_non_null(strstr(trouble_remedy(TROUBLE_timeout_connect),
			       "origin_connect_timeout"));
	assert_int_equal(trouble_of_connect(ECONNREFUSED), TROUBLE_refused);
	assert_int_equal(trouble_of_connect(EMFILE), TROUBLE_descriptors);
	assert_int_equal(trouble_of_connect(ECONNRESET), TROUBLE_reset);
	assert_int_equal(trouble_of_connect(EHOSTUNREACH), TROUBLE_none);
	/* quotes would end the field of the log line */
	for (int i = 0; i < TROUBLE_COUNT; i++) {
		assert_null(strchr(trouble_text((enum trouble)i), '"'));
		assert_null(strchr(trouble_remedy((enum trouble)i), '"'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_no_formats),
		cmocka_unit_test(test_reasons),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
