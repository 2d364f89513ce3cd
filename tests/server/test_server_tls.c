/*
 * Clients over TLS, with either engine: what they get, those that speak none or
 * stop in the middle of the handshake, and a certificate that changes.
 */
#include "tests/server/served.h"
#include "tests/server/served_clock.h"

#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/tls/tls.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

enum { EXPIRES = 2000000000 };

static struct certificate host, later;
static gnutls_certificate_credentials_t none;

/* A client; its handshake must succeed. */
static gnutls_session_t meet(int fd)
{
	gnutls_session_t s;
	int err;

	assert_int_equal(gnutls_init(&s, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL), 0);
	gnutls_set_default_priority(s);
	gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, none);
	gnutls_transport_set_int(s, fd);
	do
		err = gnutls_handshake(s);
	while (err && !gnutls_error_is_fatal(err));
	assert_int_equal(err, 0);
	return s;
}

static void part(gnutls_session_t s, int fd)
{
	gnutls_deinit(s);
	close(fd);
}

static void send_all(gnutls_session_t s, const char *data, size_t len)
{
	while (len) {
		ssize_t n = gnutls_record_send(s, data, len);

		assert_true(n > 0);
		data += n;
		len -= (size_t)n;
	}
}

/* What comes until the other side closes, to be freed. */
static char *receive_all(gnutls_session_t s, size_t *len)
{
	char *text = malloc(REPLY_MAX);
	ssize_t n;

	*len = 0;
	while (*len < REPLY_MAX - 1 &&
	       ((n = gnutls_record_recv(s, text + *len,
					REPLY_MAX - 1 - *len)) > 0 ||
		n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED))
		*len += n > 0 ? (size_t)n : 0;
	text[*len] = '\0';
	return text;
}

static void replies(void **state)
{
	static const struct {
		const char *request, *has;
		size_t min_len;
	} rows[] = {
		{ "GET /a%41?q" CLOSE, "\r\n\r\n/a%41?q", 0 },
		{ "GET /big" CLOSE, "bbb", BIG },
		{ "GET /drip" CLOSE, "ddd", 5000 },
		{ "GET /chunks" CLOSE, "\r\n0\r\n\r\n", 5000 },
		{ "GET /shared" CLOSE, "X-Made: once", BIG },
		{ "GET /written" CLOSE, "", 3 },
		{ "HEAD /big" CLOSE, "3145728", 0 },
		{ "GET /a%41?q" KEEP "GET /late" CLOSE, "late", 0 },
		{ "GET /hints" CLOSE, "hinted", 0 },
		{ "GET /nowhere" CLOSE, "404", 0 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		int fd = dial();
		gnutls_session_t s = meet(fd);
		size_t len;
		char *reply;

		send_all(s, rows[i].request, strlen(rows[i].request));
		reply = receive_all(s, &len);
		if (!strstr(reply, rows[i].has) || len < rows[i].min_len)
			fail_msg("%s: %zu bytes, %.100s", rows[i].request, len,
				 reply);
		free(reply);
		part(s, fd);
	}
}

static void uploads(void **state)
{
	static const char head[] =
		"POST /upload HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		"Content-Length: 3145728\r\n\r\n";
	int fd = dial();
	gnutls_session_t s = meet(fd);
	size_t len;
	char *reply;

	(void)state;
	send_all(s, head, sizeof(head) - 1);
	send_all(s, at.big, BIG);
	reply = receive_all(s, &len);
	assert_non_null(strstr(reply, "\r\n\r\n3145728"));
	free(reply);
	part(s, fd);
}

/* Waits until so many handshakes have failed. */
static void wait_for_failures(uint64_t n)
{
	for (int i = 0; i < 20000 && server_tls_failures(at.server) < n; i++)
		usleep(1000);
	assert_int_equal(server_tls_failures(at.server), n);
}

static void who_speaks_no_tls(void **state)
{
	char *reply;
	int fd;

	served_be_hasty(state);
	reply = ask("GET /a%41?q" CLOSE, NULL);
	assert_null(strstr(reply, "HTTP/1.1 200"));
	free(reply);
	wait_for_failures(1);
	fd = dial(); /* says nothing: header_ms is over some time */
	served_pass(0);
	served_pass(1100);
	assert_int_equal(recv(fd, &(char){ 0 }, 1, 0), 0);
	close(fd);
	fd = dial(); /* leaves in the middle */
	assert_int_equal(send(fd, "\x16\x03\x01\x02", 4, MSG_NOSIGNAL), 4);
	usleep(20000);
	close(fd);
	fd = dial();
	part(meet(fd), fd);
	assert_int_equal(atomic_load(&at.begun), 0);
}

static void change_certificate(void *arg)
{
	server_set_tls(at.server, arg);
	atomic_store(&at.dropped, 1);
}

/* The certificate that the other side has shown. */
static bool has_shown(gnutls_session_t s, const struct certificate *c)
{
	unsigned n;
	const gnutls_datum_t *shown = gnutls_certificate_get_peers(s, &n);
	gnutls_datum_t der;
	bool same;

	assert_int_equal(gnutls_x509_crt_export2(c->crt, GNUTLS_X509_FMT_DER,
						 &der), 0);
	same = n == 1 && shown->size == der.size &&
	       !memcmp(shown->data, der.data, der.size);
	gnutls_free(der.data);
	return same;
}

/* Connections that began with the old one keep it. */
static void another_certificate(void **state)
{
	struct tls *other = certificate_listener(&later);
	int before = dial(), after;
	gnutls_session_t s = meet(before);
	size_t len;
	char *reply;

	(void)state;
	send_all(s, "GET /a%41?q" KEEP, strlen("GET /a%41?q" KEEP));
	wait_for(&at.done, 1);
	assert_true(has_shown(s, &host));
	at.stop = (struct loop_call){ .run = change_certificate, .arg = other };
	loop_post(at.loop, &at.stop);
	wait_for(&at.dropped, 1);
	send_all(s, "GET /late" CLOSE, strlen("GET /late" CLOSE));
	reply = receive_all(s, &len);
	assert_non_null(strstr(reply, "late"));
	free(reply);
	part(s, before);
	after = dial();
	s = meet(after);
	assert_true(has_shown(s, &later));
	part(s, after);
	tls_unref(other);
}

static void stopping_in_handshakes(void **state)
{
	int fds[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		fds[i] = dial();
		assert_int_equal(send(fds[i], "\x16\x03", 2, MSG_NOSIGNAL), 2);
	}
	usleep(20000);
	served_tear_down(NULL);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static int set_up_library(void **state)
{
	at.strict = false;
	return served_set_up(state);
}

static int set_up_strict(void **state)
{
	at.strict = true;
	return served_set_up(state);
}

static int set_up_all(void **state)
{
	certificate_make(&host, "localhost", NULL, EXPIRES);
	certificate_make(&later, "localhost", NULL, EXPIRES);
	if (gnutls_certificate_allocate_credentials(&none) ||
	    certificate_folder_make(state))
		return -1;
	at.tls = certificate_listener(&host);
	return 0;
}

static int tear_down_all(void **state)
{
	tls_unref(at.tls);
	gnutls_certificate_free_credentials(none);
	certificate_free(&host);
	certificate_free(&later);
	return certificate_folder_remove(state);
}

/* clang-format off */
#define ENGINES(test, tear_down)                                              \
	{ #test ", libmicrohttpd", test, set_up_library, tear_down, NULL },   \
	{ #test ", strict", test, set_up_strict, tear_down, NULL }
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENGINES(replies, served_tear_down),
		ENGINES(uploads, served_tear_down),
		ENGINES(who_speaks_no_tls, served_tear_down),
		ENGINES(another_certificate, served_tear_down),
		ENGINES(stopping_in_handshakes, NULL),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
