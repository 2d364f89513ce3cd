/*
 * A listener, a client and a connection between them, while the i-th
 * allocation fails or the i-th call of a function of GnuTLS or the system, for
 * every i: an error, or a connection as it should be, and nothing is left.
 */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"
#include "digestd/tls/tls_session.h"
#include "digestd/tls/tls_stream.h"
#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

enum { EXPIRES = 2000000000, TURNS = 50, MAX_CALLS = 100 };

/* clang-format off */
CALL_WRAPPER(int, gnutls_init, (gnutls_session_t *a, unsigned b), (a, b), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_priority_init, (gnutls_priority_t *a, const char *b, const char **c),
	     (a, b, c), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_priority_set, (gnutls_session_t a, gnutls_priority_t b), (a, b),
	     GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_credentials_set, (gnutls_session_t a, gnutls_credentials_type_t b, void *c),
	     (a, b, c), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_alpn_set_protocols,
	     (gnutls_session_t a, const gnutls_datum_t *b, unsigned c, unsigned d), (a, b, c, d),
	     GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_certificate_allocate_credentials, (gnutls_certificate_credentials_t *a), (a),
	     GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_certificate_set_x509_key_mem2,
	     (gnutls_certificate_credentials_t a, const gnutls_datum_t *b, const gnutls_datum_t *c,
	      gnutls_x509_crt_fmt_t d, const char *e, unsigned f), (a, b, c, d, e, f), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_certificate_set_x509_trust_mem,
	     (gnutls_certificate_credentials_t a, const gnutls_datum_t *b, gnutls_x509_crt_fmt_t c),
	     (a, b, c), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_session_ticket_key_generate, (gnutls_datum_t *a), (a), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_session_ticket_enable_server, (gnutls_session_t a, const gnutls_datum_t *b),
	     (a, b), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_server_name_set,
	     (gnutls_session_t a, gnutls_server_name_type_t b, const void *c, size_t d), (a, b, c, d),
	     GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_x509_crt_init, (gnutls_x509_crt_t *a), (a), GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_x509_crt_import,
	     (gnutls_x509_crt_t a, const gnutls_datum_t *b, gnutls_x509_crt_fmt_t c), (a, b, c),
	     GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_x509_trust_list_init, (gnutls_x509_trust_list_t *a, unsigned b), (a, b),
	     GNUTLS_E_MEMORY_ERROR)
CALL_WRAPPER(int, gnutls_load_file, (const char *a, gnutls_datum_t *b), (a, b), GNUTLS_E_FILE_ERROR)
CALL_WRAPPER(int, gnutls_handshake, (gnutls_session_t a), (a), GNUTLS_E_INTERRUPTED)
CALL_WRAPPER(ssize_t, gnutls_record_recv, (gnutls_session_t a, void *b, size_t c), (a, b, c),
	     GNUTLS_E_INTERRUPTED)
CALL_WRAPPER(ssize_t, gnutls_record_send, (gnutls_session_t a, const void *b, size_t c), (a, b, c),
	     GNUTLS_E_PUSH_ERROR)
/* clang-format on */

static const char *const calls[] = {
	"gnutls_init", "gnutls_priority_init", "gnutls_priority_set",
	"gnutls_credentials_set", "gnutls_alpn_set_protocols",
	"gnutls_certificate_allocate_credentials",
	"gnutls_certificate_set_x509_key_mem2",
	"gnutls_certificate_set_x509_trust_mem",
	"gnutls_session_ticket_key_generate",
	"gnutls_session_ticket_enable_server", "gnutls_server_name_set",
	"gnutls_x509_crt_init", "gnutls_x509_crt_import",
	"gnutls_x509_trust_list_init", "gnutls_load_file", "gnutls_handshake",
	"gnutls_record_recv", "gnutls_record_send", "memfd_create", "write",
};

static struct certificate ca, host;

/* One of everything; null, as long as there is none. */
static struct {
	struct tls *listener;
	struct tls_client *client;
	struct tls_session *session;
	struct tls_stream *stream;
	int fds[2];
} at;

/* `pem` and `key` are files of the client's; null: it has none. */
static int make(bool asks, const char *pem, const char *key)
{
	char authorities[PATH_MAX];
	const struct tls_files files = {
		.certificate = certificate_path("pem"),
		.key = certificate_path("key"),
		.authorities = asks ? authorities : NULL,
	};
	struct tls_files own = { .authorities = authorities };
	const struct tls_ticket none = { 0 };
	struct tls_server server = { .host = "host", .fd = at.fds[0] };
	struct tls_fault fault;
	int err;

	snprintf(authorities, PATH_MAX, "%s", certificate_path("ca"));
	err = tls_new(&files, &at.listener, &fault);
	if (pem) {
		own.certificate = certificate_path(pem);
		own.key = certificate_path(key);
	}
	if (!err)
		err = tls_client_new(&own, &at.client, &fault);
	server.client = at.client;
	if (!err)
		err = tls_session_new(at.listener, at.fds[1], &at.session);
	if (!err)
		err = tls_stream_new(&server, &none, &at.stream);
	return err;
}

static int shake_hands(void)
{
	int client = -EAGAIN, server = -EAGAIN;

	for (int i = 0; i < TURNS && (client || server); i++) {
		if (client == -EAGAIN)
			client = tls_stream_handshake(at.stream);
		if (server == -EAGAIN)
			server = tls_session_handshake(at.session);
	}
	return client ? client : server;
}

/* A few bytes there and back. */
static int talk(void)
{
	char got[16] = "";
	ssize_t n = tls_stream_send(at.stream, "hello", 5);

	if (n == 5)
		n = tls_session_recv(at.session, got, sizeof(got));
	if (n == 5)
		n = tls_session_send(at.session,
				     &(struct iovec){ got, 5 }, 1);
	for (int i = 0; i < TURNS && (n == 5 || n == -EAGAIN); i++) {
		n = tls_stream_receive(at.stream, got + 5, 5);
		if (n == 5)
			return memcmp(got, "hellohello", 10) ? -EBADMSG : 0;
	}
	return n < 0 ? (int)n : -EPIPE;
}

static void end(void)
{
	tls_stream_free(at.stream);
	tls_session_free(&at.session);
	tls_client_unref(at.client);
	tls_unref(at.listener);
	close(at.fds[0]);
	close(at.fds[1]);
}

/* Returns what it comes to. */
static int connect_once(bool asks)
{
	int err;

	memset(&at, 0, sizeof(at));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				    at.fds), 0);
	err = make(asks, asks ? "pem" : NULL, asks ? "key" : NULL);
	if (!err)
		err = shake_hands();
	if (!err)
		err = talk();
	end();
	return err;
}

static void each_allocation_fails(void **state)
{
	(void)state;
	for (int asks = 0; asks < 2; asks++) {
		unsigned i = 0;
		int err, failed;

		do {
			alloc_fail_at(++i);
			err = connect_once(asks);
			failed = alloc_failed();
			alloc_fail_at(0);
			assert_true(failed || !err);
		} while (failed && i < MAX_CALLS);
		assert_int_equal(err, 0);
	}
}

static void each_call_fails(void **state)
{
	const unsigned descriptors = call_descriptors();

	(void)state;
	for (size_t c = 0; c < 2 * NROWS(calls); c++) {
		const char *name = calls[c / 2];
		unsigned i = 0;
		int err, failed;

		do {
			call_fail_at(name, ++i, ENOSPC);
			err = connect_once(c % 2);
			failed = call_failed();
			call_fail_at(name, 0, 0);
			if (!failed && err)
				fail_msg("%s: %s", name, strerror(-err));
			assert_int_equal(call_descriptors(), descriptors);
		} while (failed && i < MAX_CALLS);
		assert_int_equal(err, 0);
	}
}

/* Whom a listener refuses that asks for a certificate, and what it says. */
static void who_is_refused(void **state)
{
	static const struct {
		const char *pem, *key, *why;
	} rows[] = {
		{ "pem", "key", "" },
		{ "stranger", "stranger-key", "" }, /* does not show it */
		{ "forged", "forged-key", "signature" },
		{ "expired", "expired-key", "expired" },
		{ NULL, NULL, "" },
	};
	struct certificate stranger, false_ca, forged, expired;

	(void)state;
	certificate_make(&stranger, "host", NULL, EXPIRES);
	certificate_make(&false_ca, "ca", NULL, EXPIRES);
	certificate_make(&forged, "host", &false_ca, EXPIRES);
	certificate_make(&expired, "host", &ca, 2 * 86400);
	certificate_write_text("forged", certificate_text(&forged));
	certificate_write_text("forged-key", certificate_key_text(&forged));
	certificate_write_text("stranger", certificate_text(&stranger));
	certificate_write_text("stranger-key", certificate_key_text(&stranger));
	certificate_write_text("expired", certificate_text(&expired));
	certificate_write_text("expired-key", certificate_key_text(&expired));
	for (size_t i = 0; i < NROWS(rows); i++) {
		int err;

		memset(&at, 0, sizeof(at));
		assert_int_equal(socketpair(AF_UNIX,
					    SOCK_STREAM | SOCK_NONBLOCK, 0,
					    at.fds), 0);
		assert_int_equal(make(true, rows[i].pem, rows[i].key), 0);
		err = shake_hands();
		if (!err)
			err = talk();
		assert_int_equal(!err, i == 0);
		if (!strstr(tls_session_refusal(at.session), rows[i].why))
			fail_msg("%s: %s", rows[i].pem,
				 tls_session_refusal(at.session));
		end();
	}
	certificate_free(&stranger);
	certificate_free(&false_ca);
	certificate_free(&forged);
	certificate_free(&expired);
}

static int set_up(void **state)
{
	certificate_make(&ca, "ca", NULL, EXPIRES);
	certificate_make(&host, "host", &ca, EXPIRES);
	if (certificate_folder_make(state))
		return -1;
	certificate_write_text("pem", certificate_text(&host));
	certificate_write_text("key", certificate_key_text(&host));
	certificate_write_text("ca", certificate_text(&ca));
	return 0;
}

static int tear_down(void **state)
{
	certificate_free(&ca);
	certificate_free(&host);
	return certificate_folder_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_fails),
		cmocka_unit_test(each_call_fails),
		cmocka_unit_test(who_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
