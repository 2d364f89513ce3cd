/*
 * What ways to fetch are made of, one by one: lines for libcurl, sessions that
 * are kept, a transfer's TLS, and connections without any.
 */
#include "tests/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/fetch/fetch_lines.h"
#include "digestd/fetch/fetch_place.h"
#include "digestd/fetch/fetch_pool.h"
#include "digestd/fetch/fetch_tickets.h"
#include "digestd/fetch/fetch_tls.h"
#include "digestd/fetch/fetch_url.h"
#include "digestd/fetch/fetch_way.h"
#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/tls/tls_client.h"
#include "tests/codec/alloc.h"
#include "tests/tls/certificate.h"

static struct certificate ca;

/* Lines of a request: its fields, a name and a value each, and what becomes of
 * them, with "|" between. */
static const struct {
	const char *method, *fields[6], *lines;
} requests[] = {
	/* clang-format off */
	{ "GET", { NULL }, "Expect:|Accept:" },
	{ "GET", { "Accept", "a/b" }, "Expect:|Accept: a/b" },
	{ "GET", { "aCCEPT", "" }, "Expect:|aCCEPT;" },
	{ "GET", { "Accept", "a/b", "Accept", "c/d" }, "Expect:|Accept: a/b|Accept: c/d" },
	{ "GET", { "A", "b", "A", "" }, "Expect:|A: b|A;|Accept:" },
	{ "GET", { "Connection", "x", "Content-Length", "1", "TE", "y" },
	  "Expect:|Accept:" },
	{ "GET", { "Content_Length", "1", "transfer_Encoding", "chunked" },
	  "Expect:|Accept:" },
	{ "GET", { "Transfer-Encoding", "x", "Expect", "y" },
	  "Expect:|Accept:" },
	{ "POST", { NULL }, "Expect:|Accept:|Content-Length: 0" },
	{ "PUT", { NULL }, "Expect:|Accept:|Content-Length: 0" },
	{ "PATCH", { NULL }, "Expect:|Accept:|Content-Length: 0" },
	{ "DELETE", { NULL }, "Expect:|Accept:" },
	/* clang-format on */
};

static void add_fields(struct fields *fields, const char *const *of)
{
	for (; of[0]; of += 2)
		assert_int_equal(fields_add(fields, of[0], of[1]), 0);
}

static void check_lines(const struct curl_slist *lines, const char *wanted)
{
	char text[256] = "";

	for (; lines; lines = lines->next) {
		strncat(text, lines->data, sizeof(text) - strlen(text) - 1);
		if (lines->next)
			strcat(text, "|");
	}
	assert_string_equal(text, wanted);
}

static void fields_become_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(requests); i++) {
		struct fields fields;
		struct fetch_request r = { .method = requests[i].method };
		struct curl_slist *lines = NULL;
		const char *of[7] = { NULL };

		memcpy(of, requests[i].fields, sizeof(requests[i].fields));
		fields_init(&fields);
		add_fields(&fields, of);
		r.fields = of[0] ? &fields : NULL;
		assert_int_equal(fetch_lines_make(&r, &lines), 0);
		check_lines(lines, requests[i].lines);
		curl_slist_free_all(lines);
		fields_free(&fields);
	}
}

static void long_fields_are_refused(void **state)
{
	enum { MOST = 16383 };
	static char value[MOST + 1];
	struct fetch_request r = { .method = "GET" };

	(void)state;
	for (size_t len = MOST - 5; len <= MOST; len++) {
		struct curl_slist *lines = NULL;
		struct fields fields;

		memset(value, 'v', len);
		value[len] = '\0';
		fields_init(&fields);
		assert_int_equal(fields_add(&fields, "N", value), 0);
		r.fields = &fields;
		/* with ": " and its name */
		assert_int_equal(fetch_lines_make(&r, &lines),
				 len + 3 <= MOST ? 0 : -EINVAL);
		curl_slist_free_all(lines);
		fields_free(&fields);
	}
}

/* libcurl's allocations are this test's, see main(). */
static void lines_need_memory(void **state)
{
	static const char *const of[] = { "A", "b", "C", "", NULL };
	struct fields fields;
	struct fetch_request r = { .method = "POST", .fields = &fields };
	int err = -ENOMEM;

	(void)state;
	fields_init(&fields);
	add_fields(&fields, of);
	for (unsigned i = 1; err; i++) {
		struct curl_slist *lines = NULL;

		alloc_fail_at(i);
		err = fetch_lines_make(&r, &lines);
		assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
		alloc_fail_at(0);
		if (!err)
			check_lines(lines, "Expect:|A: b|C;|Accept:|"
					   "Content-Length: 0");
		curl_slist_free_all(lines);
	}
	fields_free(&fields);
}

/* Addresses by a letter: a, b IPv4; c, d IPv6; C is c on another link. */
static union resolver_address address(char letter)
{
	union resolver_address at;

	memset(&at, 0, sizeof(at));
	if (letter == 'a' || letter == 'b') {
		at.in4.sin_family = AF_INET;
		at.in4.sin_addr.s_addr = (in_addr_t)letter;
		return at;
	}
	at.in6.sin6_family = AF_INET6;
	at.in6.sin6_addr.s6_addr[15] = (uint8_t)(letter | 32);
	at.in6.sin6_scope_id = letter == 'C';
	return at;
}

static void put(struct tickets *t, char from, unsigned char number)
{
	union resolver_address at = address(from);
	struct tls_ticket ticket = { gnutls_malloc(1), 1 };

	assert_non_null(ticket.data);
	*ticket.data = number;
	tickets_put(t, &at, &ticket);
}

/* The number of the one that is given away; 0: there is none. */
static unsigned take(struct tickets *t, char from)
{
	union resolver_address at = address(from);
	struct tls_ticket ticket = tickets_take(t, &at);
	unsigned number = ticket.data ? *ticket.data : 0;

	tls_ticket_free(&ticket);
	return number;
}

static void sessions_go_to_where_they_are_from(void **state)
{
	struct tickets t = { 0 };

	(void)state;
	assert_int_equal(take(&t, 'a'), 0);
	for (unsigned i = 0; i < 4; i++)
		put(&t, "abcC"[i], (unsigned char)(i + 1));
	assert_int_equal(take(&t, 'd'), 0);
	assert_int_equal(take(&t, 'C'), 4);
	assert_int_equal(take(&t, 'C'), 0); /* once */
	assert_int_equal(take(&t, 'c'), 3);
	assert_int_equal(take(&t, 'b'), 2);
	assert_int_equal(take(&t, 'a'), 1);
	tickets_free(&t);
}

static void the_newest_session_goes_first(void **state)
{
	struct tickets t = { 0 };

	(void)state;
	for (unsigned i = 1; i <= TICKETS_MAX + 2; i++)
		put(&t, 'a', (unsigned char)i);
	for (unsigned i = TICKETS_MAX + 2; i > 2; i--)
		assert_int_equal(take(&t, 'a'), i);
	assert_int_equal(take(&t, 'a'), 0); /* the oldest were overwritten */
	put(&t, 'a', 1);
	tickets_free(&t);
	assert_int_equal(take(&t, 'a'), 0);
}

static void hosts_are_taken_from_urls(void **state)
{
	static const struct {
		const char *url, *host;
	} rows[] = {
		{ "http://h/", NULL },
		{ "https://h.example/a", "h.example" },
		{ "HTTPS://h:8443/", "h" },
		{ "https://[::1]:8443/", "::1" },
		{ "https://192.0.2.1", "192.0.2.1" },
	};
	CURL *easy = curl_easy_init();
	struct tls_client *client = certificate_client(&ca);

	(void)state;
	assert_non_null(easy);
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fetch_tls t = { 0 };

		assert_int_equal(fetch_tls_set(&t, easy, rows[i].url, client),
				 0);
		if (rows[i].host)
			assert_string_equal(t.host, rows[i].host);
		else
			assert_null(t.host);
		/* not connected: nobody is who it should be */
		assert_int_equal(fetch_tls_trusts(&t), !rows[i].host);
		assert_int_equal(t.trouble, rows[i].host ?
						    TROUBLE_tls_untrusted :
						    TROUBLE_none);
		fetch_tls_free(&t);
	}
	tls_client_unref(client);
	curl_easy_cleanup(easy);
}

static void without_a_client_libcurl_verifies(void **state)
{
	CURL *easy = curl_easy_init();
	struct fetch_tls t = { 0 };

	(void)state;
	assert_non_null(easy);
	assert_int_equal(fetch_tls_set(&t, easy, "https://h/", NULL), 0);
	assert_null(t.client);
	assert_true(fetch_tls_trusts(&t));
	fetch_tls_free(&t);
	curl_easy_cleanup(easy);
}

static void hosts_need_memory(void **state)
{
	CURL *easy = curl_easy_init();
	struct tls_client *client = certificate_client(&ca);
	int err = -ENOMEM;

	(void)state;
	assert_non_null(easy);
	for (unsigned i = 1; err; i++) {
		struct fetch_tls t = { 0 };

		alloc_fail_at(i);
		err = fetch_tls_set(&t, easy, "https://[::1]/", client);
		alloc_fail_at(0);
		assert_true(err == 0 || err == -ENOMEM);
		assert_true(err || !strcmp(t.host, "::1"));
		fetch_tls_free(&t);
	}
	tls_client_unref(client);
	curl_easy_cleanup(easy);
}

static void no_fetch_ends(void *arg, struct fetch *f,
			  const struct fetch_done *done)
{
	(void)arg;
	(void)f;
	(void)done;
	fail();
}

/* Fetches without authorities of their own cannot begin without memory for the
 * system's. */
static void authorities_need_memory(void **state)
{
	static const struct fetch_callbacks callbacks = {
		.on_done = no_fetch_ends,
	};
	struct fetcher *fetcher;
	struct fetch *fetch;
	struct loop *loop;
	unsigned i = 0;
	int err;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(fetcher_new(loop, FETCHER_DATA, 0, &fetcher), 0);
	do {
		static const struct fetch_limits limits = {
			.connect_ms = 5000, .first_byte_ms = 5000,
			.max_header_bytes = 1000,
		};
		const struct fetch_request request = {
			.method = "GET", .url = "https://localhost:1/",
			.limits = &limits,
		};

		alloc_fail_at(++i);
		err = fetch_start(fetcher, &request, &callbacks, NULL, &fetch);
		assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
		alloc_fail_at(0);
	} while (err);
	assert_true(i > 3);
	fetcher_free(&fetcher);
	loop_free(&loop);
}

/* Hosts that are addresses need no name server; what looks like one and is none
 * has no address, and is not asked for either. */
static void places_that_are_addresses(void **state)
{
	static const struct {
		const char *host;
		bool numeric;
		const char *at; /* null: none */
	} rows[] = {
		{ "127.0.0.1", true, "127.0.0.1" },
		{ "255.255.255.255", true, "255.255.255.255" },
		{ "127.0.0.1.", false, NULL }, { "1.2.3", false, NULL },
		{ "256.0.0.1", false, NULL }, { "a", false, NULL },
		{ "[::1]", true, "::1" },
		{ "[2001:db8:1:2:3:4:5:6]", true, "2001:db8:1:2:3:4:5:6" },
		{ "[::ffff:192.0.2.7]", true, "::ffff:192.0.2.7" },
		{ "[]", true, NULL }, { "[::x]", true, NULL },
		{ "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]", true,
		  NULL },
		{ "[", false, NULL }, { "[::1", false, NULL },
		{ "[2001:db8:1:2:3:4:5:6", false, NULL },
		{ "a.name.that.is.longer.than.an.address", false, NULL },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct pool_place place = {
			.host = rows[i].host, .host_len = strlen(rows[i].host),
			.port = 80,
		};
		char text[INET6_ADDRSTRLEN] = "";
		struct resolver_answer at;

		if (fetch_place_address(&place, &at) != rows[i].numeric ||
		    at.n != (rows[i].at != NULL))
			fail_msg("%s", rows[i].host);
		if (!at.n)
			continue;
		assert_int_equal(at.addresses[0].in4.sin_port, htons(80));
		if (at.addresses[0].any.sa_family == AF_INET)
			inet_ntop(AF_INET, &at.addresses[0].in4.sin_addr, text,
				  sizeof(text));
		else
			inet_ntop(AF_INET6, &at.addresses[0].in6.sin6_addr,
				  text, sizeof(text));
		assert_string_equal(text, rows[i].at);
	}
}

/* A connection of the pool, without a pool, and its other end. */
static int open_pair(struct pool_conn *conn)
{
	int fds[2];

	memset(conn, 0, sizeof(*conn));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				    fds), 0);
	conn->watch.fd = fds[0];
	return fds[1];
}

static void plain_bytes_come_and_go(void **state)
{
	struct pool_conn conn;
	int other = open_pair(&conn);
	char buf[16];

	(void)state;
	assert_false(pool_holds(&conn) || pool_has_more(&conn));
	assert_int_equal(pool_flush(&conn), 0);
	assert_int_equal(pool_receive(&conn, buf, sizeof(buf)), -EAGAIN);
	assert_true(pool_is_quiet(&conn));
	assert_int_equal(pool_send(&conn, "ping", 4), 4);
	assert_int_equal(read(other, buf, sizeof(buf)), 4);
	assert_int_equal(write(other, "pong", 4), 4);
	assert_false(pool_is_quiet(&conn)); /* what nobody asked for */
	assert_int_equal(pool_receive(&conn, buf, sizeof(buf)), 4);
	assert_memory_equal(buf, "pong", 4);
	pool_end(&conn);
	assert_int_equal(read(other, buf, sizeof(buf)), 0);
	close(other);
	assert_int_equal(pool_receive(&conn, buf, sizeof(buf)), 0);
	assert_false(pool_is_quiet(&conn));
	assert_int_equal(pool_send(&conn, "ping", 4), -EPIPE);
	close(conn.watch.fd);
}

static void a_full_socket_takes_no_more(void **state)
{
	static const char bytes[65536];
	struct pool_conn conn;
	int other = open_pair(&conn);
	ssize_t n;

	(void)state;
	while ((n = pool_send(&conn, bytes, sizeof(bytes))) > 0)
		;
	assert_int_equal(n, -EAGAIN);
	close(other);
	close(conn.watch.fd);
}

/* What a place had before is not what is there now; what is long is read each
 * time. */
static void urls_are_taken_apart_once(void **state)
{
	static const char *const texts[] = {
		"http://a.example:81/x", "http://b.example/yy", "http://b",
		"https://b.example/yy",	 "http://a.example:81/x",
	};
	static char room[400];
	struct fetch_urls urls = { 0 };
	struct fetch_url own, known;
	const struct fetch_url *got, *first;

	(void)state;
	assert_null(fetch_urls_read(&urls, "", &own));
	for (size_t i = 0; i < NROWS(texts); i++) {
		strcpy(room, texts[i]); /* all in one place */
		got = fetch_urls_read(&urls, room, &own);
		assert_non_null(got);
		assert_true(fetch_url_read(room, &known));
		assert_int_equal(got->https, known.https);
		assert_int_equal(got->place.port, known.place.port);
		assert_int_equal(got->place.host_len, known.place.host_len);
		assert_memory_equal(got->place.host, known.place.host,
				    known.place.host_len);
		assert_int_equal(got->authority.len, known.authority.len);
		assert_int_equal(got->target.len, known.target.len);
		memset(room, '?', sizeof(room)); /* it is not needed */
		assert_memory_equal(got->target.at, texts[i] +
				    strlen(texts[i]) - got->target.len,
				    got->target.len);
		strcpy(room, texts[i]);
		first = got;
		assert_ptr_equal(fetch_urls_read(&urls, room, &own), first);
		strcpy(room, "ftp://a");
		assert_null(fetch_urls_read(&urls, room, &own));
	}
	memset(room, 'a', sizeof(room));
	memcpy(room, "http://a/", 9);
	room[FETCH_URLS_BYTES] = '\0';
	assert_ptr_equal(fetch_urls_read(&urls, room, &own), &own);
	assert_int_equal(own.target.len, FETCH_URLS_BYTES - 8);
	room[FETCH_URLS_BYTES - 1] = '\0';
	assert_ptr_not_equal(fetch_urls_read(&urls, room, &own), &own);
}

static int set_up(void **state)
{
	certificate_make(&ca, NULL, NULL, time(NULL) + 3600);
	return certificate_folder_make(state);
}

static int tear_down(void **state)
{
	certificate_free(&ca);
	return certificate_folder_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_become_lines),
		cmocka_unit_test(long_fields_are_refused),
		cmocka_unit_test(lines_need_memory),
		cmocka_unit_test(sessions_go_to_where_they_are_from),
		cmocka_unit_test(the_newest_session_goes_first),
		cmocka_unit_test(hosts_are_taken_from_urls),
		cmocka_unit_test(without_a_client_libcurl_verifies),
		cmocka_unit_test(hosts_need_memory),
		cmocka_unit_test(authorities_need_memory),
		cmocka_unit_test(places_that_are_addresses),
		cmocka_unit_test(urls_are_taken_apart_once),
		cmocka_unit_test(plain_bytes_come_and_go),
		cmocka_unit_test(a_full_socket_takes_no_more),
	};

	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, free, realloc,
				 strdup, calloc))
		return 99;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
