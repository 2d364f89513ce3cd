/*
 * Fetches over TLS: a server with a thread a connection, which does with each
 * request what its path says.
 */
#include "tests/unit.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"
#include "tests/codec/alloc.h"
#include "tests/fetch/accepting.h"
#include "tests/fetch/fetched.h"
#include "tests/loopback.h"
#include "tests/os/call_faults.h"
#include "tests/spared.h"
#include "tests/tls/certificate.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum {
	MAX_FAULTS = 200,
	BIG = 1000000,
	HUGE_BODY = 6 * BIG, /* more than the buffers of a socket take */
	HEAD_MAX = 4096,
};

static const char *const versions[] = {
	"NORMAL:-VERS-ALL:+VERS-TLS1.3", "NORMAL:-VERS-ALL:+VERS-TLS1.2",
};

static struct certificate ca, stranger, host;
static struct tls *listener;
static struct tls_client *right, *wrong;
static char pattern[BIG];
static pthread_t client; /* the thread that fetches */

static struct {
	struct accepting server;
	unsigned port;
	const char *version;
	atomic_uint requests, resumed, ended, tickets, shaken;
	bool slow; /* it reads nothing for a while, and the upload is huge */
	struct loop *loop;
	struct fetcher *fetcher;
} at;

/* How the first address of the server spoils each handshake. */
enum spoil { WITH_RESET, WITH_END, WITH_HTTP, NSPOILS };

static struct {
	bool used, alone;
	enum spoil how;
	int listen_fd;
	pthread_t thread;
	atomic_uint accepted;
} spoiler;

/* A fetch, and how much of its body is sent. */
struct seen {
	struct fetched got;
	size_t sent;
};

/* The server */

static void say(gnutls_session_t s, const char *text, size_t len)
{
	while (len) {
		ssize_t n = gnutls_record_send(s, text, len);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

/* Whether bytes are those of the pattern, which begins again at its end. */
static bool is_pattern(size_t from, const char *at_byte, size_t len)
{
	for (size_t n; len; from += n, at_byte += n, len -= n) {
		n = BIG - from % BIG < len ? BIG - from % BIG : len;
		if (memcmp(at_byte, pattern + from % BIG, n) != 0)
			return false;
	}
	return true;
}

/* Reads a request with its body, which must be the pattern. Returns false at
 * the end. */
static bool read_request(gnutls_session_t s, char *path)
{
	char head[HEAD_MAX], piece[20000], *end;
	size_t have = 0, len = 0, want;
	const char *field;

	do {
		ssize_t n = gnutls_record_recv(s, head + have,
					       sizeof(head) - 1 - have);

		if (n <= 0)
			return false;
		have += (size_t)n;
		head[have] = '\0';
		end = strstr(head, "\r\n\r\n");
	} while (!end);
	field = strstr(head, "Content-Length: ");
	want = field ? strtoul(field + 16, NULL, 10) : 0;
	len = have - (size_t)(end + 4 - head);
	if (!is_pattern(0, end + 4, len))
		return false;
	while (len < want) {
		ssize_t n = gnutls_record_recv(s, piece, sizeof(piece));

		if (n <= 0 || !is_pattern(len, piece, (size_t)n))
			return false;
		len += (size_t)n;
	}
	atomic_fetch_add(&at.requests, 1);
	return sscanf(head, "%*s %63s", path) == 1;
}

static void say_big(gnutls_session_t s)
{
	char head[100];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BIG);
	say(s, head, strlen(head));
	say(s, pattern, BIG);
}

/* Does as the path says. Returns whether the connection stays. */
static bool answer(gnutls_session_t s, const char *path)
{
	static const char by_close[] = "HTTP/1.1 200 OK\r\n\r\nok";
	bool stays = !strcmp(path, "/ok") || !strcmp(path, "/big") ||
		     !strcmp(path, "/ticket");

	if (!strcmp(path, "/big"))
		say_big(s);
	else if (stays || !strcmp(path, "/leave"))
		say(s, OK, sizeof(OK) - 1);
	else if (strcmp(path, "/none") != 0)
		say(s, by_close, sizeof(by_close) - 1);
	if (!strcmp(path, "/bye"))
		gnutls_bye(s, GNUTLS_SHUT_WR);
	if (!strcmp(path, "/ticket")) { /* when the connection is idle */
		usleep(5000);
		gnutls_session_ticket_send(s, 1, 0);
		atomic_fetch_add(&at.tickets, 1);
	}
	return stays;
}

static void *serve_one(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct tls_handshake h;
	gnutls_session_t s;
	char path[64];

	gnutls_init(&s, GNUTLS_SERVER | GNUTLS_NO_SIGNAL);
	if (!tls_begin(listener, s, &h)) {
		gnutls_priority_set_direct(s, at.version, NULL);
		gnutls_transport_set_int(s, fd);
		if (!gnutls_handshake(s)) {
			atomic_fetch_add(&at.resumed,
					 gnutls_session_is_resumed(s) != 0);
			atomic_fetch_add(&at.shaken, 1);
			if (at.slow)
				usleep(30000);
			while (read_request(s, path) && answer(s, path))
				continue;
		}
	}
	gnutls_deinit(s);
	tls_end(&h);
	close(fd);
	atomic_fetch_add(&at.ended, 1);
	return NULL;
}

/* The name has a second address, before the one of the server. */
int getaddrinfo(const char *name, const char *port,
		const struct addrinfo *hints, struct addrinfo **out)
{
	static struct sockaddr_in to[2];
	static struct addrinfo list[2];

	(void)name;
	(void)hints;
	for (unsigned i = 0; i < 2; i++) {
		to[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons((uint16_t)atoi(port)),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 - i),
		};
		list[i] = (struct addrinfo){
			.ai_family = AF_INET,
			.ai_addrlen = sizeof(to[i]),
			.ai_addr = (struct sockaddr *)&to[i],
			.ai_next = i || spoiler.alone ? NULL : &list[1],
		};
	}
	*out = &list[!spoiler.used];
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

static void spoil_one(int fd)
{
	static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	static const struct linger at_once = { .l_onoff = 1 };
	char hello[2000];

	if (spoiler.how == WITH_RESET)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once,
			   sizeof(at_once));
	else
		(void)!recv(fd, hello, sizeof(hello), 0);
	if (spoiler.how == WITH_HTTP)
		(void)!write(fd, http, sizeof(http) - 1);
	close(fd);
}

static void *spoil(void *arg)
{
	int fd;

	while ((fd = accept(spoiler.listen_fd, NULL, NULL)) >= 0) {
		atomic_fetch_add(&spoiler.accepted, 1);
		spoil_one(fd);
	}
	return arg;
}

static void begin_spoiling(enum spoil how)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)at.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1),
	};

	spoiler.used = true;
	spoiler.how = how;
	spoiler.accepted = 0;
	spoiler.listen_fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(spoiler.listen_fd, (struct sockaddr *)&to,
			      sizeof(to)), 0);
	assert_int_equal(listen(spoiler.listen_fd, 8), 0);
	assert_int_equal(pthread_create(&spoiler.thread, NULL, spoil, NULL),
			 0);
}

static void end_spoiling(void)
{
	shutdown(spoiler.listen_fd, SHUT_RDWR);
	pthread_join(spoiler.thread, NULL);
	close(spoiler.listen_fd);
	spoiler.used = spoiler.alone = false;
}

static void open_with(enum fetcher_use use, const char *version)
{
	at.requests = at.resumed = at.ended = 0;
	at.tickets = at.shaken = 0;
	at.version = version;
	accepting_begin(&at.server, loopback_listen(&at.port), serve_one);
	assert_int_equal(loop_new(&at.loop), 0);
	assert_int_equal(fetcher_new(at.loop, use, 0, &at.fetcher), 0);
}

static void open_all(const char *version)
{
	open_with(FETCHER_DATA, version);
}

static void close_all(void)
{
	fetcher_free(&at.fetcher);
	loop_free(&at.loop);
	accepting_end(&at.server);
}

/* The client */

static ssize_t read_big(void *arg, void *buf, size_t cap)
{
	struct seen *seen = arg;
	size_t left = BIG - seen->sent % BIG, n = left < cap ? left : cap;

	memcpy(buf, pattern + seen->sent % BIG, n);
	seen->sent += n;
	return (ssize_t)n;
}

static void begin(const char *method, const char *path, struct tls_client *tls,
		  struct seen *seen)
{
	static const struct fetch_limits limits = {
		.connect_ms = 20000,
		.first_byte_ms = 20000,
		.max_header_bytes = 1000,
	};
	const struct fetch_upload upload = {
		.len = at.slow ? HUGE_BODY : BIG,
		.read = read_big,
	};
	char url[64];
	const struct fetch_request request = {
		.method = method, .url = url, .target = path,
		.limits = &limits, .tls = tls,
		.upload = strcmp(method, "PUT") ? NULL : &upload,
	};

	snprintf(url, sizeof(url), "https://localhost:%u", at.port);
	fetched_begin(&seen->got, at.loop, at.fetcher, &request);
}

static enum fetch_result ask(const char *method, const char *path,
			     struct tls_client *tls)
{
	struct seen seen = { 0 };

	begin(method, path, tls, &seen);
	return fetched_end(&seen.got);
}

/* Tests */

static void connections_are_kept(void **state)
{
	(void)state;
	for (size_t v = 0; v < NROWS(versions); v++) {
		open_all(versions[v]);
		for (int i = 0; i < 10; i++)
			assert_int_equal(ask(i % 2 ? "GET" : "POST", "/ok",
					     right), FETCH_COMPLETE);
		assert_int_equal(at.server.accepted, 1);
		assert_int_equal(at.requests, 10);
		close_all();
	}
}

static void sessions_are_resumed_once_each(void **state)
{
	(void)state;
	for (size_t v = 0; v < NROWS(versions); v++) {
		struct seen two[2] = { 0 };

		open_all(versions[v]);
		for (int i = 0; i < 5; i++)
			assert_int_equal(ask("GET", "/bye", right),
					 FETCH_COMPLETE);
		assert_int_equal(at.server.accepted, 5);
		assert_int_equal(at.resumed, 4);
		begin("GET", "/ok", right, &two[0]);
		begin("GET", "/ok", right, &two[1]);
		fetched_end(&two[0].got);
		fetched_end(&two[1].got);
		assert_int_equal(at.server.accepted, 7);
		assert_int_equal(at.resumed, 5);
		close_all();
	}
}

/* Neither connections nor sessions of one help another. */
static void who_is_trusted(void **state)
{
	(void)state;
	for (size_t v = 0; v < NROWS(versions); v++) {
		open_all(versions[v]);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(ask("GET", "/ok", right),
					 FETCH_COMPLETE);
			assert_int_equal(ask("GET", "/ok", wrong),
					 FETCH_UNTRUSTED);
			/* what the system trusts */
			assert_int_equal(ask("GET", "/ok", NULL),
					 FETCH_UNTRUSTED);
		}
		assert_int_equal(at.requests, 2);
		assert_int_equal(at.resumed, 0);
		close_all();
	}
}

static void bytes_both_ways(void **state)
{
	(void)state;
	for (size_t v = 0; v < NROWS(versions); v++) {
		struct seen up = { 0 };
		struct seen paused = {
			.got = { .pauses = 3, .body = pattern },
		};

		open_all(versions[v]);
		begin("PUT", "/big", right, &up);
		fetched_end(&up.got);
		assert_int_equal(up.got.done.result, FETCH_COMPLETE);
		assert_int_equal(up.got.len, BIG);
		begin("GET", "/big", right, &paused);
		fetched_end(&paused.got);
		assert_int_equal(paused.got.done.result, FETCH_COMPLETE);
		assert_int_equal(paused.got.len, BIG);
		assert_true(paused.got.calls > 3);
		/* uploads have their own */
		assert_int_equal(at.server.accepted, 2);
		close_all();
	}
}

/* A server that takes nothing for a while gets all of it then, in order; what
 * of a record the socket has not taken is not sent anew. */
static void a_server_that_reads_late(void **state)
{
	static const int few = 8192;

	(void)state;
	at.slow = true;
	for (size_t v = 0; v < NROWS(versions); v++) {
		struct seen up = { 0 };

		open_all(versions[v]);
		assert_int_equal(setsockopt(at.server.listen_fd, SOL_SOCKET,
					    SO_RCVBUF, &few, sizeof(few)), 0);
		begin("PUT", "/ok", right, &up);
		assert_int_equal(fetched_end(&up.got), FETCH_COMPLETE);
		assert_int_equal(up.sent, HUGE_BODY);
		assert_int_equal(at.requests, 1); /* which was the pattern */
		close_all();
	}
	at.slow = false;
}

static void turn_until(const atomic_uint *counter, unsigned value)
{
	while (atomic_load(counter) < value)
		loop_turn(at.loop, 1);
	for (int i = 0; i < 5; i++)
		loop_turn(at.loop, 1);
}

/* What comes on a connection that waits for its next request: a session's
 * ticket is welcome, an end is noticed. */
static void news_on_idle_connections(void **state)
{
	(void)state;
	open_all(versions[0]);
	assert_int_equal(ask("GET", "/ticket", right), FETCH_COMPLETE);
	turn_until(&at.tickets, 1);
	assert_int_equal(ask("GET", "/ok", right), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 1);
	assert_int_equal(ask("GET", "/leave", right), FETCH_COMPLETE);
	turn_until(&at.ended, 1);
	assert_int_equal(ask("POST", "/ok", right), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 2);
	assert_int_equal(at.requests, 4); /* none was asked twice */
	close_all();
}

static void warm(struct tls_client *tls)
{
	char url[64];

	snprintf(url, sizeof(url), "https://localhost:%u", at.port);
	fetcher_warm(at.fetcher, url, tls, 20000, 1);
}

/* The handshake is done before there is a request; of a server that is not
 * trusted nothing comes of it, nor of authorities that there is no memory for.
 */
static void connections_made_beforehand(void **state)
{
	struct seen seen = { 0 };
	unsigned shaken;

	(void)state;
	open_all(versions[0]);
	alloc_fail_at(1);
	warm(NULL);
	assert_true(alloc_failed());
	alloc_fail_at(0);
	for (int i = 0; i < 5; i++)
		loop_turn(at.loop, 1);
	assert_int_equal(at.server.accepted, 0);
	warm(NULL);
	turn_until(&at.ended, 1);
	shaken = atomic_load(&at.shaken); /* to its server that was one */
	warm(right);
	turn_until(&at.shaken, shaken + 1);
	begin("GET", "/ok", right, &seen);
	assert_int_equal(fetched_end(&seen.got), FETCH_COMPLETE);
	assert_int_equal(at.server.accepted, 2);
	assert_int_equal(at.requests, 1);
	close_all();
}

/* An end that is not announced cuts a body off: anybody can make one. */
static void ends(void **state)
{
	(void)state;
	for (size_t v = 0; v < NROWS(versions); v++) {
		open_all(versions[v]);
		assert_int_equal(ask("GET", "/bye", right), FETCH_COMPLETE);
		assert_int_equal(ask("GET", "/cut", right), FETCH_TRUNCATED);
		assert_int_equal(ask("GET", "/none", right), FETCH_BAD);
		/* on a kept connection: once more, or not */
		assert_int_equal(ask("GET", "/ok", right), FETCH_COMPLETE);
		assert_int_equal(at.requests, 4);
		assert_int_equal(ask("GET", "/none", right), FETCH_BAD);
		assert_int_equal(at.requests, 6);
		assert_int_equal(ask("GET", "/ok", right), FETCH_COMPLETE);
		assert_int_equal(ask("POST", "/none", right), FETCH_BAD);
		assert_int_equal(at.requests, 8);
		close_all();
	}
}

/* A server that has not shown a certificate is not an untrusted one: the next
 * address is tried, and is the first one from then on. */
static void handshakes_that_fail(void **state)
{
	(void)state;
	for (enum spoil how = WITH_RESET; how < NSPOILS; how++) {
		open_all(versions[0]);
		begin_spoiling(how);
		for (int i = 0; i < 2; i++)
			assert_int_equal(ask("GET", "/bye", right),
					 FETCH_COMPLETE);
		assert_int_equal(spoiler.accepted, 1);
		assert_int_equal(at.server.accepted, 2);
		assert_int_equal(at.resumed, 1);
		end_spoiling();
		close_all();
	}
}

static void no_address_is_left(void **state)
{
	static const struct {
		const char *version;
		bool trusted;
		enum fetch_result result;
	} rows[] = {
		{ "NORMAL:-VERS-ALL:+VERS-TLS1.1", true, FETCH_NOTLS },
		{ "NORMAL:-VERS-ALL:+VERS-TLS1.3", false, FETCH_UNTRUSTED },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		open_all(rows[i].version);
		begin_spoiling(WITH_END);
		assert_int_equal(ask("GET", "/ok",
				     rows[i].trusted ? right : wrong),
				 rows[i].result);
		assert_int_equal(spoiler.accepted, 1);
		assert_int_equal(at.server.accepted, 1);
		assert_int_equal(at.requests, 0);
		end_spoiling();
		close_all();
	}
}

/* As if nobody had listened. */
static void only_resets(void **state)
{
	(void)state;
	open_all(versions[0]);
	begin_spoiling(WITH_RESET);
	spoiler.alone = true;
	assert_int_equal(ask("GET", "/ok", right), FETCH_NOCONNECT);
	assert_int_equal(spoiler.accepted, 1);
	end_spoiling();
	close_all();
}

/* libcurl holds servers to the same authorities. */
static void what_nodes_exchange(void **state)
{
	struct tls_client *newest;
	const struct tls_files files = {
		.authorities = certificate_path("ca"), .oldest = TLS_1_3,
	};
	struct tls_fault fault;

	(void)state;
	certificate_write_text("ca", certificate_text(&ca));
	assert_int_equal(tls_client_new(&files, &newest, &fault), 0);
	for (size_t v = 0; v < NROWS(versions); v++) {
		open_with(FETCHER_EXCHANGE, versions[v]);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(ask("GET", "/ok", right),
					 FETCH_COMPLETE);
			assert_int_equal(ask("POST", "/ok", right),
					 FETCH_COMPLETE);
			assert_int_equal(ask("GET", "/ok", wrong),
					 FETCH_UNTRUSTED);
			assert_int_equal(ask("GET", "/ok", NULL),
					 FETCH_UNTRUSTED);
		}
		assert_int_equal(ask("GET", "/big", right), FETCH_COMPLETE);
		assert_int_equal(ask("GET", "/bye", right), FETCH_COMPLETE);
		assert_int_equal(ask("GET", "/ok", newest) == FETCH_COMPLETE,
				 v == 0);
		close_all();
	}
	tls_client_unref(newest);
}

/* A fetcher and a fetch of its own. Returns what it comes to, or an errno; what
 * fails does so at once. */
static int fetch_once(enum fetcher_use use, const char *method,
		      const struct fields *fields)
{
	static const struct fetch_limits limits = {
		.connect_ms = 5000,
		.first_byte_ms = 5000,
		.max_header_bytes = 1000,
	};
	char url[64];
	const struct fetch_request request = {
		.method = method, .url = url, .target = "/ok",
		.fields = fields, .limits = &limits, .tls = right,
	};
	struct fetched got = { .loop = at.loop };
	int err = fetcher_new(at.loop, use, 0, &at.fetcher);

	snprintf(url, sizeof(url), "https://localhost:%u", at.port);
	if (!err)
		err = fetch_start(at.fetcher, &request, &fetched_callbacks,
				  &got, &got.fetch);
	if (!err)
		err = (int)fetched_end(&got);
	assert_int_not_equal(err, FETCH_TIMEOUT);
	fetcher_free(&at.fetcher);
	return err;
}

/* Of the fetcher: the server has its own threads. */
bool spared_thread(void)
{
	return !pthread_equal(pthread_self(), client);
}

static void each_allocation_fails(enum fetcher_use use, const char *method,
				  const struct fields *fields)
{
	int result, failed;
	unsigned i = 0;

	do {
		alloc_fail_at(++i);
		result = fetch_once(use, method, fields);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_true(failed || result == FETCH_COMPLETE);
	} while (failed && i < MAX_FAULTS);
	assert_in_range(i, 5, MAX_FAULTS - 1);
}

static void each_call_fails(enum fetcher_use use)
{
	static const struct {
		const char *name;
		int error;
	} calls[] = {
		{ "socket", EMFILE }, { "connect", ENETUNREACH },
		{ "setsockopt", EINVAL }, { "getsockopt", EINVAL },
		{ "epoll_ctl", ENOSPC }, { "eventfd", EMFILE },
		{ "pthread_create", EAGAIN }, { "getaddrinfo", EIO },
	};

	for (size_t c = 0; c < NROWS(calls); c++) {
		int result, failed;
		unsigned i = 0;

		do {
			call_fail_at(calls[c].name, ++i, calls[c].error);
			result = fetch_once(use, "GET", NULL);
			failed = call_failed();
			call_fail_at(calls[c].name, 0, 0);
			assert_true(failed || result == FETCH_COMPLETE);
		} while (failed && i < MAX_FAULTS);
		assert_in_range(i, 1, MAX_FAULTS - 1);
	}
}

static void faults(void **state)
{
	struct fields fields;

	(void)state;
	fields_init(&fields);
	assert_int_equal(fields_add(&fields, "A", "b"), 0);
	assert_int_equal(fields_add(&fields, "Accept", ""), 0);
	open_all(versions[0]);
	fetcher_free(&at.fetcher);
	for (int use = 0; use < 2; use++) {
		each_allocation_fails((enum fetcher_use)use, "GET", &fields);
		each_allocation_fails((enum fetcher_use)use, "POST", NULL);
		each_call_fails((enum fetcher_use)use);
	}
	close_all();
	fields_free(&fields);
}

static int set_up(void **state)
{
	client = pthread_self();
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < BIG; i++)
		pattern[i] = (char)(i * 7 % 251);
	certificate_make(&ca, "ca", NULL, 2000000000);
	certificate_make(&stranger, "stranger", NULL, 2000000000);
	certificate_make(&host, "localhost", &ca, 2000000000);
	if (certificate_folder_make(state))
		return -1;
	listener = certificate_listener(&host);
	right = certificate_client(&ca);
	wrong = certificate_client(&stranger);
	return 0;
}

static int tear_down(void **state)
{
	tls_unref(listener);
	tls_client_unref(right);
	tls_client_unref(wrong);
	certificate_free(&ca);
	certificate_free(&stranger);
	certificate_free(&host);
	return certificate_folder_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_are_kept),
		cmocka_unit_test(sessions_are_resumed_once_each),
		cmocka_unit_test(who_is_trusted),
		cmocka_unit_test(bytes_both_ways),
		cmocka_unit_test(a_server_that_reads_late),
		cmocka_unit_test(news_on_idle_connections),
		cmocka_unit_test(connections_made_beforehand),
		cmocka_unit_test(ends),
		cmocka_unit_test(handshakes_that_fail),
		cmocka_unit_test(no_address_is_left),
		cmocka_unit_test(only_resets),
		cmocka_unit_test(what_nodes_exchange),
		cmocka_unit_test(faults),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
