/*
 * A listener's sessions over a pair of sockets that take little at once, with
 * a client of GnuTLS at the other end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gnutls/gnutls.h>

#include "digestd/os/memory.h"
#include "digestd/tls/tls_session.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

enum { EXPIRES = 2000000000, BIG = 3 << 20, TURNS = 100000,
       LITTLE = 16000,
       KEY_UPDATES = 4 /* GnuTLS takes 8 a second */ };

static struct certificate host;
static gnutls_certificate_credentials_t none;
static char big[BIG], got[BIG];

static struct {
	int fds[2];
	struct tls_session *server;
	gnutls_session_t client;
} at;

/* The listener's socket takes little, and nothing every other time. */
static bool stingy;

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	static bool full;
	ssize_t sent = 0;

	full = !full;
	if (stingy && fd == at.fds[0] && full) {
		errno = EAGAIN;
		return -1;
	}
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		const struct iovec *part = &message->msg_iov[i];
		bool cut = stingy && fd == at.fds[0] && part->iov_len > 7;
		ssize_t n = send(fd, part->iov_base, cut ? 7 : part->iov_len,
				 flags);

		if (n < 0)
			return sent ? sent : n;
		sent += n;
		if ((size_t)n < part->iov_len)
			break;
	}
	return sent;
}

static struct tls *listener_new(void)
{
	const struct tls_files files = {
		.certificate = certificate_path("pem"),
		.key = certificate_path("key"),
	};
	char *pem = certificate_text(&host), *key = certificate_key_text(&host);
	struct tls_fault fault;
	struct tls *tls;

	certificate_write("pem", pem, strlen(pem));
	certificate_write("key", key, strlen(key));
	free(pem);
	free(key);
	assert_int_equal(tls_new(&files, &tls, &fault), 0);
	return tls;
}

static int set_up_all(void **state)
{
	certificate_make(&host, "host", NULL, EXPIRES);
	for (size_t i = 0; i < BIG; i++)
		big[i] = (char)(i * 7 % 251);
	assert_int_equal(gnutls_certificate_allocate_credentials(&none), 0);
	return certificate_folder_make(state);
}

static int tear_down_all(void **state)
{
	certificate_free(&host);
	gnutls_certificate_free_credentials(none);
	return certificate_folder_remove(state);
}

static int set_up(void **state)
{
	struct tls *tls = listener_new();

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				    at.fds), 0);
	assert_int_equal(tls_session_new(tls, at.fds[0], &at.server), 0);
	tls_unref(tls); /* the session has its own reference */
	assert_int_equal(gnutls_init(&at.client,
				     GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
	gnutls_set_default_priority(at.client);
	gnutls_credentials_set(at.client, GNUTLS_CRD_CERTIFICATE, none);
	gnutls_transport_set_int(at.client, at.fds[1]);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stingy = false;
	tls_session_free(&at.server);
	tls_session_free(&at.server);
	assert_null(at.server);
	gnutls_deinit(at.client);
	close(at.fds[0]);
	close(at.fds[1]);
	return 0;
}

static void shake_hands(void)
{
	int server = -EAGAIN, client = GNUTLS_E_AGAIN;

	for (int i = 0; i < TURNS && (server || client); i++) {
		if (server)
			server = tls_session_handshake(at.server);
		if (client)
			client = gnutls_handshake(at.client);
		assert_true(!server || server == -EAGAIN);
	}
	assert_int_equal(server, 0);
	assert_int_equal(client, 0);
	assert_string_equal(tls_session_refusal(at.server), "");
}

/* What the client has of `big`, from its beginning. */
static size_t receive_some(size_t have)
{
	ssize_t n = gnutls_record_recv(at.client, got + have, BIG - have);

	return n > 0 ? have + (size_t)n : have;
}

static uint64_t held_bytes(void)
{
	return ledger_used(&memory_ledger, LEDGER_connections);
}

/* Of who goes while something is held. */
static void nothing_stays_counted(void **state)
{
	const struct iovec all = { big, BIG };

	(void)state;
	shake_hands();
	while (tls_session_send(at.server, &all, 1) > 0)
		continue;
	assert_in_range(held_bytes(), 1, 65536);
	tls_session_free(&at.server);
	assert_int_equal(held_bytes(), 0);
}

/* Three parts, cut anywhere, through a socket that is full most of the time. */
static void all_arrives_in_order(void **state)
{
	size_t sent = 0, have = 0, blocked = 0;

	(void)state;
	shake_hands();
	for (int i = 0; i < TURNS && have < BIG; i++) {
		size_t left = BIG - sent, one = left > 3 ? left / 3 : left;
		const struct iovec parts[3] = {
			{ big + sent, one },
			{ big + sent + one, left > 3 ? one : 0 },
			{ big + sent + 2 * one, left > 3 ? left - 2 * one : 0 },
		};
		ssize_t n = left ? tls_session_send(at.server, parts, 3) : 0;

		assert_true(n >= 0 || n == -EAGAIN);
		/* what it has taken, and the socket has not, is counted */
		if (n == -EAGAIN)
			assert_in_range(held_bytes(), 1, 65536);
		else
			assert_int_equal(held_bytes(), 0);
		if (n > 0)
			sent += (size_t)n;
		blocked += n == -EAGAIN;
		have = receive_some(have);
	}
	assert_int_equal(sent, BIG);
	assert_int_equal(have, BIG);
	assert_memory_equal(got, big, BIG);
	assert_true(blocked > 0);
}

/* From the first byte of the handshake on. */
static void a_socket_that_takes_little(void **state)
{
	static const char *const versions[] = {
		"NORMAL:-VERS-ALL:+VERS-TLS1.3",
		"NORMAL:-VERS-ALL:+VERS-TLS1.2",
	};

	for (size_t v = 0; v < NROWS(versions); v++) {
		const struct iovec all = { big, LITTLE };
		ssize_t n = -EAGAIN;
		size_t have = 0;

		if (v)
			assert_int_equal(set_up(state), 0);
		gnutls_priority_set_direct(at.client, versions[v], NULL);
		stingy = true;
		shake_hands();
		for (int i = 0; i < TURNS && have < LITTLE; i++) {
			if (n == -EAGAIN)
				n = tls_session_send(at.server, &all, 1);
			have = receive_some(have);
		}
		assert_int_equal(n, LITTLE);
		assert_int_equal(have, LITTLE);
		assert_memory_equal(got, big, LITTLE);
		if (!v)
			tear_down(state);
	}
}

static void ends_are_seen(void **state)
{
	char buf[16];
	ssize_t n;

	(void)state;
	shake_hands();
	assert_int_equal(tls_session_recv(at.server, buf, sizeof(buf)),
			 -EAGAIN);
	assert_int_equal(gnutls_record_send(at.client, "hello", 5), 5);
	assert_int_equal(tls_session_recv(at.server, buf, 3), 3);
	assert_int_equal(tls_session_recv(at.server, buf + 3, 13), 2);
	assert_memory_equal(buf, "hello", 5);
	tls_session_shut(at.server);
	do /* there may be tickets before it */
		n = gnutls_record_recv(at.client, got, BIG);
	while (n == GNUTLS_E_AGAIN);
	assert_int_equal(n, 0);
	gnutls_bye(at.client, GNUTLS_SHUT_WR);
	assert_int_equal(tls_session_recv(at.server, buf, sizeof(buf)), 0);
}

/* An end without close_notify: anybody on the way can make one. */
static void a_cut_is_no_end(void **state)
{
	char buf[16];

	(void)state;
	shake_hands();
	shutdown(at.fds[1], SHUT_WR);
	for (int again = 0; again < 2; again++)
		assert_int_equal(tls_session_recv(at.server, buf, sizeof(buf)),
				 -ECONNRESET);
}

/* -EAGAIN says that the socket has nothing: who watches it by its edges would
 * wait for ever. */
static void bytes_behind_a_key_update(void **state)
{
	static const int flags[] = { 0, GNUTLS_KU_PEER, 0 };
	char buf[16];

	(void)state;
	shake_hands();
	for (size_t i = 0; i < NROWS(flags); i++) {
		assert_int_equal(gnutls_session_key_update(
					 at.client, (unsigned)flags[i]), 0);
		assert_int_equal(gnutls_record_send(at.client, "hello", 5), 5);
		assert_int_equal(tls_session_recv(at.server, buf,
						  sizeof(buf)), 5);
		assert_memory_equal(buf, "hello", 5);
		assert_int_equal(tls_session_recv(at.server, buf,
						  sizeof(buf)), -EAGAIN);
	}
}

/* Its own keys are changed between the bytes that wait to be sent. */
static void key_updates_while_it_sends(void **state)
{
	size_t sent = 0, have = 0, updates = 0;
	char buf[16];

	(void)state;
	shake_hands();
	for (int i = 0; i < TURNS && have < BIG; i++) {
		const struct iovec rest = { big + sent, BIG - sent };
		ssize_t n = sent < BIG ? tls_session_send(at.server, &rest, 1) :
					 0;

		assert_true(n >= 0 || n == -EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		if (n == -EAGAIN && updates < KEY_UPDATES) {
			assert_int_equal(gnutls_session_key_update(
						 at.client, GNUTLS_KU_PEER),
					 0);
			assert_int_equal(tls_session_recv(at.server, buf,
							  sizeof(buf)),
					 -EAGAIN);
			updates++;
		}
		have = receive_some(have);
	}
	assert_int_equal(have, BIG);
	assert_memory_equal(got, big, BIG);
	assert_int_equal(updates, KEY_UPDATES);
}

/* A client of TLS 1.2 that begins another handshake. */
static void renegotiation_is_refused(void **state)
{
	char buf[16];

	(void)state;
	gnutls_priority_set_direct(at.client, "NORMAL:-VERS-ALL:+VERS-TLS1.2",
				   NULL);
	shake_hands();
	assert_int_equal(gnutls_handshake(at.client), GNUTLS_E_AGAIN);
	for (int again = 0; again < 2; again++)
		assert_int_equal(tls_session_recv(at.server, buf, sizeof(buf)),
				 -EPROTO);
	assert_int_equal(gnutls_handshake(at.client),
			 GNUTLS_E_WARNING_ALERT_RECEIVED);
	assert_int_equal(gnutls_alert_get(at.client),
			 GNUTLS_A_NO_RENEGOTIATION);
}

/* Of the protocols that clients offer, HTTP/1 must be one. */
static void protocols(void **state)
{
	static const struct {
		const char *offered[3], *chosen; /* null: refused */
	} rows[] = {
		{ { NULL }, "" },
		{ { "http/1.1" }, "http/1.1" },
		{ { "h2", "http/1.1" }, "http/1.1" },
		{ { "http/1.0", "http/1.1" }, "http/1.1" },
		{ { "http/1.0" }, "http/1.0" },
		{ { "h2" }, NULL },
		{ { "h2", "http/1.1 " }, NULL },
		{ { "imap" }, NULL },
	};

	for (size_t i = 0; i < NROWS(rows); i++) {
		gnutls_datum_t offered[3], chosen = { 0 };
		unsigned n = 0;

		if (i)
			assert_int_equal(set_up(state), 0);
		for (; rows[i].offered[n]; n++)
			offered[n] = (gnutls_datum_t){
				(unsigned char *)(uintptr_t)rows[i].offered[n],
				(unsigned)strlen(rows[i].offered[n])
			};
		if (n)
			gnutls_alpn_set_protocols(at.client, offered, n, 0);
		if (rows[i].chosen) {
			shake_hands();
			gnutls_alpn_get_selected_protocol(at.client, &chosen);
			assert_int_equal(chosen.size, strlen(rows[i].chosen));
			assert_memory_equal(chosen.data, rows[i].chosen,
					    chosen.size);
		} else {
			assert_int_equal(gnutls_handshake(at.client),
					 GNUTLS_E_AGAIN);
			assert_int_equal(tls_session_handshake(at.server),
					 -EPROTO);
			assert_int_equal(gnutls_handshake(at.client),
					 GNUTLS_E_FATAL_ALERT_RECEIVED);
			assert_int_equal(gnutls_alert_get(at.client),
					 GNUTLS_A_NO_APPLICATION_PROTOCOL);
		}
		if (i + 1 < NROWS(rows))
			tear_down(state);
	}
}

static void what_is_no_tls_is_refused(void **state)
{
	int err = -EAGAIN;

	(void)state;
	assert_int_equal(send(at.fds[1], "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
	for (int i = 0; i < 10 && err == -EAGAIN; i++)
		err = tls_session_handshake(at.server);
	assert_int_equal(err, -EPROTO);
	assert_non_null(strstr(tls_session_refusal(at.server), "packet"));
}

/* What the log says of those that come to no end. */
static void failures_have_a_reason(void **state)
{
	int err = -EAGAIN;

	(void)state;
	gnutls_priority_set_direct(at.client, "NORMAL:-VERS-ALL:+VERS-TLS1.2",
				   NULL);
	assert_int_equal(gnutls_handshake(at.client), GNUTLS_E_AGAIN);
	assert_int_equal(tls_session_handshake(at.server), -EAGAIN);
	assert_string_equal(tls_session_refusal(at.server), "");
	assert_int_equal(gnutls_alert_send(at.client, GNUTLS_AL_FATAL,
					   GNUTLS_A_UNKNOWN_CA), 0);
	for (int i = 0; i < 10 && err == -EAGAIN; i++)
		err = tls_session_handshake(at.server);
	assert_int_equal(err, -EPROTO);
	assert_string_equal(tls_session_refusal(at.server),
			    "it sent the alert \"CA is unknown\"");
}

static void a_client_that_leaves(void **state)
{
	int err = -EAGAIN;

	(void)state;
	assert_int_equal(shutdown(at.fds[1], SHUT_WR), 0);
	for (int i = 0; i < 10 && err == -EAGAIN; i++)
		err = tls_session_handshake(at.server);
	assert_int_equal(err, -ECONNRESET);
	assert_string_equal(tls_session_refusal(at.server), "it hung up");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_arrives_in_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_socket_that_takes_little,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_stays_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ends_are_seen, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_cut_is_no_end, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(bytes_behind_a_key_update,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(key_updates_while_it_sends,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(renegotiation_is_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(protocols, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_tls_is_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(failures_have_a_reason,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_client_that_leaves, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
