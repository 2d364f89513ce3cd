/*
 * The client's end of connections, beside a server's in the same thread, over
 * a pair of sockets: whom it talks to, what it resumes, and bytes of which
 * neither the socket nor the library can take or give all at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/os/memory.h"
#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"
#include "digestd/tls/tls_stream.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

enum {
	EXPIRES = 2000000000,
	BIG = 3000000,
	LARGE = 100000,
	TURNS_MAX = 20000,
	KEY_UPDATES = 4, /* GnuTLS takes 8 a second */
};

static const char *const versions[] = {
	"NORMAL:-VERS-ALL:+VERS-TLS1.3", "NORMAL:-VERS-ALL:+VERS-TLS1.2",
};

static struct certificate ca, stranger, host;
static struct tls *listener;
static char pattern[BIG], got[BIG];

/* A connection. */
static struct {
	int client_fd, server_fd;
	gnutls_session_t session; /* the server's end */
	struct tls_handshake handshake;
	struct tls_stream *stream;
	bool shaken; /* at the server's end */
} at;

static int set_up(void **state)
{
	certificate_make(&ca, "ca", NULL, EXPIRES);
	certificate_make(&stranger, "stranger", NULL, EXPIRES);
	certificate_make(&host, "host", &ca, EXPIRES);
	for (size_t i = 0; i < BIG; i++)
		pattern[i] = (char)(i * 7 % 251);
	if (certificate_folder_make(state))
		return -1;
	listener = certificate_listener(&host);
	return 0;
}

static int tear_down(void **state)
{
	tls_unref(listener);
	certificate_free(&ca);
	certificate_free(&stranger);
	certificate_free(&host);
	return certificate_folder_remove(state);
}

static void begin(const char *version, struct tls_client *client,
		  const char *name, const struct tls_ticket *ticket)
{
	static const struct tls_ticket none;
	struct tls_server server = { client, name, -1 };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	memset(&at, 0, sizeof(at));
	at.client_fd = server.fd = fds[0];
	at.server_fd = fds[1];
	for (int i = 0; i < 2; i++)
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	assert_int_equal(gnutls_init(&at.session,
				     GNUTLS_SERVER | GNUTLS_NONBLOCK), 0);
	assert_int_equal(tls_begin(listener, at.session, &at.handshake), 0);
	gnutls_priority_set_direct(at.session, version, NULL);
	gnutls_transport_set_int(at.session, fds[1]);
	assert_int_equal(tls_stream_new(&server, ticket ? ticket : &none,
					&at.stream), 0);
}

static void end(void)
{
	tls_stream_free(at.stream);
	gnutls_deinit(at.session);
	tls_end(&at.handshake);
	close(at.client_fd);
	if (at.server_fd >= 0)
		close(at.server_fd);
}

static void hang_up(void)
{
	close(at.server_fd);
	at.server_fd = -1;
}

static void serve_handshake(void)
{
	if (!at.shaken)
		at.shaken = !gnutls_handshake(at.session);
}

/* What the client's handshake comes to. */
static int shake_hands(void)
{
	int err = -EAGAIN;

	for (int i = 0; i < 20 && err == -EAGAIN; i++) {
		err = tls_stream_handshake(at.stream);
		serve_handshake();
	}
	serve_handshake();
	return err;
}

static int meet(const char *version, struct tls_client *client,
		const char *name, const struct tls_ticket *ticket)
{
	begin(version, client, name, ticket);
	return shake_hands();
}

static void whom_it_talks_to(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	struct tls_client *wrong = certificate_client(&stranger);

	(void)state;
	for (size_t i = 0; i < NROWS(versions); i++) {
		assert_int_equal(meet(versions[i], right, "host", NULL), 0);
		end();
		assert_int_equal(meet(versions[i], right, "other", NULL),
				 -EACCES);
		end();
		assert_int_equal(meet(versions[i], right, "127.0.0.1", NULL),
				 -EACCES);
		end();
		assert_int_equal(meet(versions[i], wrong, "host", NULL),
				 -EACCES);
		end();
	}
	tls_client_unref(right);
	tls_client_unref(wrong);
}

/* Of whom nothing can be said: no certificate has been seen. */
static void handshakes_that_fail(void **state)
{
	static const char plain[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	struct tls_client *right = certificate_client(&ca);
	char buf[16];

	(void)state;
	assert_int_equal(meet("NORMAL:-VERS-ALL:+VERS-TLS1.1", right, "host",
			      NULL), -EPROTO);
	end();
	begin(versions[0], right, "host", NULL);
	assert_int_equal(send(at.server_fd, plain, sizeof(plain) - 1, 0),
			 sizeof(plain) - 1);
	assert_int_equal(tls_stream_handshake(at.stream), -EPROTO);
	end();
	for (int reset = 0; reset < 2; reset++) {
		begin(versions[0], right, "host", NULL);
		assert_int_equal(tls_stream_handshake(at.stream), -EAGAIN);
		if (!reset) /* else what was not read makes it one */
			while (recv(at.server_fd, buf, sizeof(buf), 0) > 0)
				continue;
		hang_up();
		assert_int_equal(tls_stream_handshake(at.stream),
				 -ECONNRESET);
		end();
	}
	begin(versions[0], right, "host", NULL);
	hang_up();
	assert_int_equal(tls_stream_handshake(at.stream), -ECONNRESET);
	end();
	tls_client_unref(right);
}

/* The server says "hello", and the client hears it. */
static void say_hello(void)
{
	char buf[16];

	assert_int_equal(gnutls_record_send(at.session, "hello", 5), 5);
	assert_int_equal(tls_stream_receive(at.stream, buf, sizeof(buf)), 5);
	assert_memory_equal(buf, "hello", 5);
	assert_int_equal(tls_stream_receive(at.stream, buf, sizeof(buf)),
			 -EAGAIN);
}

/* The next one is shorter, but its server is looked at all the same. */
static void sessions_are_resumed(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	struct tls_client *wrong = certificate_client(&stranger);

	(void)state;
	for (size_t i = 0; i < NROWS(versions); i++) {
		struct tls_ticket ticket, other;

		assert_int_equal(meet(versions[i], right, "host", NULL), 0);
		assert_false(tls_stream_is_resumed(at.stream));
		say_hello();
		assert_true(tls_stream_take_ticket(at.stream, &ticket));
		assert_false(tls_stream_take_ticket(at.stream, &other));
		end();
		assert_int_equal(meet(versions[i], right, "host", &ticket), 0);
		assert_true(tls_stream_is_resumed(at.stream));
		say_hello();
		end();
		assert_int_equal(meet(versions[i], right, "other", &ticket),
				 -EACCES);
		end();
		assert_int_equal(meet(versions[i], wrong, "host", &ticket),
				 -EACCES);
		end();
		tls_ticket_free(&ticket);
		assert_null(ticket.data);
	}
	tls_client_unref(right);
	tls_client_unref(wrong);
}

/* Whether a ticket of the listener is good for another one. */
static bool is_resumed_by(struct tls *other, const char *version,
			  struct tls_client *client)
{
	struct tls *first = listener;
	struct tls_ticket ticket;
	bool resumed;

	assert_int_equal(meet(version, client, "host", NULL), 0);
	say_hello();
	assert_true(tls_stream_take_ticket(at.stream, &ticket));
	end();
	listener = other;
	assert_int_equal(meet(version, client, "host", &ticket), 0);
	listener = first;
	resumed = tls_stream_is_resumed(at.stream);
	end();
	tls_ticket_free(&ticket);
	return resumed;
}

/* Also where a reload brings another certificate. */
static void sessions_outlive_a_reload(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	struct certificate renewed;

	(void)state;
	certificate_make(&renewed, "host", &ca, EXPIRES);
	for (size_t i = 0; i < NROWS(versions); i++) {
		struct tls *next = certificate_listener(&renewed);
		struct tls *other = certificate_listener(&renewed);

		assert_false(tls_same(listener, next));
		tls_keep_tickets(listener, next);
		assert_true(is_resumed_by(next, versions[i], right));
		assert_false(is_resumed_by(other, versions[i], right));
		tls_unref(next);
		tls_unref(other);
	}
	certificate_free(&renewed);
	tls_client_unref(right);
}

static void a_spoilt_ticket_costs_nothing(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	struct tls_ticket ticket = { (unsigned char *)pattern, 1000 };

	(void)state;
	assert_int_equal(meet(versions[0], right, "host", &ticket), 0);
	assert_false(tls_stream_is_resumed(at.stream));
	end();
	tls_client_unref(right);
}

/* What the server's end has received so far. */
static void serve_receive(size_t *have)
{
	ssize_t n;

	do {
		n = gnutls_record_recv(at.session, got + *have, BIG - *have);
		if (n > 0)
			*have += (size_t)n;
	} while (n > 0 && *have < BIG);
}

static uint64_t counted_bytes(void)
{
	return ledger_used(&memory_ledger, LEDGER_requests);
}

static void nothing_is_lost_on_its_way_up(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	size_t sent = 0, have = 0, held = 0;

	(void)state;
	assert_int_equal(meet(versions[0], right, "host", NULL), 0);
	for (int i = 0; i < TURNS_MAX && have < BIG; i++) {
		ssize_t n = tls_stream_send(at.stream, pattern + sent,
					    BIG - sent);

		assert_true(n >= 0 || n == -EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		held += tls_stream_holds(at.stream);
		/* of one record */
		assert_in_range(counted_bytes(),
				tls_stream_holds(at.stream) ? 1 : 0,
				tls_stream_holds(at.stream) ? 17000 : 0);
		if (tls_stream_holds(at.stream))
			assert_int_equal(tls_stream_flush(at.stream), -EAGAIN);
		serve_receive(&have);
		if (sent == BIG)
			assert_int_equal(tls_stream_flush(at.stream), 0);
	}
	assert_int_equal(have, BIG);
	assert_memory_equal(got, pattern, BIG);
	assert_true(held > 0);
	while (!tls_stream_holds(at.stream))
		assert_true(tls_stream_send(at.stream, pattern, BIG) > 0);
	end(); /* whatever it holds */
	assert_int_equal(counted_bytes(), 0);
	tls_client_unref(right);
}

/* The server asks for new keys while a record waits for room in the socket. */
static void key_updates_while_it_sends(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	size_t sent = 0, have = 0, updates = 0;
	char buf[16];

	(void)state;
	assert_int_equal(meet(versions[0], right, "host", NULL), 0);
	for (int i = 0; i < TURNS_MAX && have < BIG; i++) {
		ssize_t n = tls_stream_send(at.stream, pattern + sent,
					    BIG - sent);

		sent += n > 0 ? (size_t)n : 0;
		if (tls_stream_holds(at.stream) && updates < KEY_UPDATES) {
			assert_int_equal(gnutls_session_key_update(
						 at.session, GNUTLS_KU_PEER),
					 0);
			assert_int_equal(tls_stream_receive(at.stream, buf,
							    sizeof(buf)),
					 -EAGAIN);
			updates++;
		}
		serve_receive(&have);
	}
	assert_int_equal(have, BIG);
	assert_memory_equal(got, pattern, BIG);
	assert_int_equal(updates, KEY_UPDATES);
	end();
	tls_client_unref(right);
}

/* In pieces smaller than a record, which the socket does not show. */
static void nothing_is_lost_on_its_way_down(void **state)
{
	static const size_t pieces[] = { 7, 1000, 20000, 65536 };
	struct tls_client *right = certificate_client(&ca);

	(void)state;
	for (size_t i = 0; i < NROWS(pieces); i++) {
		size_t have = 0, sent = 0;
		ssize_t n;

		assert_int_equal(meet(versions[0], right, "host", NULL), 0);
		while (have < LARGE) {
			n = gnutls_record_send(at.session, pattern + sent,
					       LARGE - sent);
			sent += n > 0 ? (size_t)n : 0;
			do {
				n = tls_stream_receive(at.stream, got + have,
						       pieces[i]);
				assert_true(n > 0 || n == -EAGAIN);
				have += n > 0 ? (size_t)n : 0;
			} while (tls_stream_has_more(at.stream));
		}
		assert_memory_equal(got, pattern, LARGE);
		end();
	}
	tls_client_unref(right);
}

/* Only an end that is announced is one. */
static void ends(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	char buf[16];

	(void)state;
	for (int announced = 0; announced < 2; announced++) {
		assert_int_equal(meet(versions[0], right, "host", NULL), 0);
		assert_int_equal(gnutls_record_send(at.session, "x", 1), 1);
		if (announced)
			gnutls_bye(at.session, GNUTLS_SHUT_WR);
		else
			shutdown(at.server_fd, SHUT_WR);
		assert_int_equal(tls_stream_receive(at.stream, buf,
						    sizeof(buf)), 1);
		/* of the socket's end the socket tells */
		assert_int_equal(tls_stream_has_more(at.stream), announced);
		for (int again = 0; again < 2; again++)
			assert_int_equal(tls_stream_receive(at.stream, buf,
							    sizeof(buf)),
					 announced ? 0 : -ECONNRESET);
		tls_stream_end(at.stream);
		assert_int_equal(gnutls_record_recv(at.session, buf, 1), 0);
		end();
	}
	tls_client_unref(right);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_it_talks_to),
		cmocka_unit_test(handshakes_that_fail),
		cmocka_unit_test(sessions_are_resumed),
		cmocka_unit_test(sessions_outlive_a_reload),
		cmocka_unit_test(a_spoilt_ticket_costs_nothing),
		cmocka_unit_test(nothing_is_lost_on_its_way_up),
		cmocka_unit_test(key_updates_while_it_sends),
		cmocka_unit_test(nothing_is_lost_on_its_way_down),
		cmocka_unit_test(ends),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
