/*
 * The engine's clients over TLS: what they send beside requests, and in how
 * many pieces it comes. What is left unread would be read only when something
 * else comes, which it does not here.
 */
#include "config.h"

#include "tests/server/served.h"

#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/address_prefix.h"
#include "digestd/tls/tls.h"
#include "tests/tls/certificate.h"

enum { EXPIRES = 2000000000, OUT_MAX = 100000, NSTEPS = 6, ODD_MAX = 8 };

/* What a client does; all it sends lies in one buffer, and goes out together,
 * or in single bytes. */
enum step {
	END,
	ASK,           /* a request, and more will come */
	ASK_LAST,      /* a request, the connection's last one */
	UPLOAD,        /* the header of one, also its last */
	BODY,          /* half of its body */
	NEW_KEYS,      /* its own */
	NEW_KEYS_BOTH, /* also the server's */
};

/* Of TLS 1.3: 1.2 has no such thing. */
static const struct {
	const char *label;
	enum step steps[NSTEPS];
	size_t replies;
} rows[] = {
	{ "requests", { ASK, ASK_LAST }, 2 },
	{ "keys before", { NEW_KEYS, ASK_LAST }, 1 },
	{ "keys between", { ASK, NEW_KEYS, ASK_LAST }, 2 },
	{ "keys of both", { ASK, NEW_KEYS_BOTH, ASK_LAST }, 2 },
	{ "again and again", { NEW_KEYS, NEW_KEYS_BOTH, NEW_KEYS, ASK_LAST },
	  1 },
	{ "in a body", { UPLOAD, BODY, NEW_KEYS, BODY }, 1 },
};

static struct {
	gnutls_certificate_credentials_t none;
	gnutls_session_t session;
	int fd;
	bool collects;
	size_t len;
	char out[OUT_MAX], got[OUT_MAX];
} client;

static ssize_t client_push(gnutls_transport_ptr_t arg, const void *data,
			   size_t len)
{
	(void)arg;
	if (!client.collects)
		return send(client.fd, data, len, MSG_NOSIGNAL);
	assert_true(client.len + len <= OUT_MAX);
	memcpy(client.out + client.len, data, len);
	client.len += len;
	return (ssize_t)len;
}

/* before: what is said in clear, before the handshake; protocol: what is asked
 * for by ALPN, null: nothing. Returns what becomes of the handshake. */
static int client_connect(const char *before, const char *protocol)
{
	const gnutls_datum_t name = {
		(unsigned char *)(uintptr_t)protocol,
		protocol ? (unsigned)strlen(protocol) : 0,
	};

	client.fd = dial();
	say(client.fd, before);
	client.len = 0;
	client.collects = false;
	assert_int_equal(gnutls_init(&client.session, GNUTLS_CLIENT), 0);
	gnutls_set_default_priority(client.session);
	gnutls_credentials_set(client.session, GNUTLS_CRD_CERTIFICATE,
			       client.none);
	gnutls_transport_set_ptr(client.session,
				 (gnutls_transport_ptr_t)(intptr_t)client.fd);
	gnutls_transport_set_push_function(client.session, client_push);
	if (protocol)
		gnutls_alpn_set_protocols(client.session, &name, 1, 0);
	return gnutls_handshake(client.session);
}

static void client_open_with(const char *before, const char *protocol)
{
	assert_int_equal(client_connect(before, protocol), 0);
	assert_int_equal(gnutls_protocol_get_version(client.session),
			 GNUTLS_TLS1_3);
	client.collects = true;
}

static void client_open(void)
{
	client_open_with("", NULL);
}

static void client_send_text(const char *text)
{
	assert_int_equal(gnutls_record_send(client.session, text,
					    strlen(text)), strlen(text));
}

static void client_step(enum step step)
{
	switch (step) {
	case END:
		break;
	case ASK:
		client_send_text("GET /a%41?q" KEEP);
		break;
	case ASK_LAST:
		client_send_text("GET /a%41?q" CLOSE);
		break;
	case UPLOAD:
		client_send_text("POST /upload HTTP/1.1\r\nHost: h\r\n"
				 "Connection: close\r\n"
				 "Content-Length: 8\r\n\r\n");
		break;
	case BODY:
		client_send_text("half");
		break;
	case NEW_KEYS:
	case NEW_KEYS_BOTH:
		assert_int_equal(gnutls_session_key_update(
					 client.session,
					 step == NEW_KEYS ? 0 : GNUTLS_KU_PEER),
				 0);
		break;
	}
}

/* Reads to the end. Returns the number of replies. */
static size_t client_hear(void)
{
	size_t have = 0, odd = 0;
	ssize_t n;

	do {
		n = gnutls_record_recv(client.session, client.got + have,
				       sizeof(client.got) - 1 - have);
		if (n > 0)
			have += (size_t)n;
		else /* a ticket, or a key update */
			odd++;
	} while (n > 0 || (n == GNUTLS_E_AGAIN && odd < ODD_MAX));
	assert_int_equal(n, 0);
	client.got[have] = '\0';
	return count_of(client.got, "HTTP/1.1 200 OK");
}

static void client_close(void)
{
	gnutls_deinit(client.session);
	close(client.fd);
}

static void client_send_all(size_t piece)
{
	for (size_t at_byte = 0; at_byte < client.len; at_byte += piece) {
		size_t left = client.len - at_byte;

		assert_true(send(client.fd, client.out + at_byte,
				 left < piece ? left : piece,
				 MSG_NOSIGNAL) > 0);
	}
}

static void conversations(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		for (int bytes = 0; bytes < 2; bytes++) {
			print_message("# %s\n", rows[i].label);
			client_open();
			for (int k = 0; k < NSTEPS; k++)
				client_step(rows[i].steps[k]);
			client_send_all(bytes ? 1 : client.len);
			assert_int_equal(client_hear(), rows[i].replies);
			client_close();
		}
	}
}

/* How a client leaves a tunnel: only with a word of TLS it has said all. */
static const struct {
	const char *label;
	bool bye, reset;
	int done;
} ends[] = {
	{ "close_notify", true, false, 1 },
	{ "cut off", false, false, 0 },
	{ "reset", false, true, 0 },
};

static void client_begin_tunnel(void)
{
	char got[400] = "";
	ssize_t have = 0, n;

	client_open();
	client.collects = false;
	client_send_text("GET /tunnel HTTP/1.1\r\nHost: h\r\n"
			 "Connection: upgrade\r\nUpgrade: echo\r\n\r\nhello");
	while (!strstr(got, "\r\n\r\nhello")) {
		n = gnutls_record_recv(client.session, got + have,
				       sizeof(got) - 1 - (size_t)have);
		assert_true(n > 0 || n == GNUTLS_E_AGAIN);
		have += n > 0 ? n : 0;
	}
}

static void ends_of_tunnels(void **state)
{
	static const struct linger now = { .l_onoff = 1 };

	(void)state;
	for (size_t i = 0; i < NROWS(ends); i++) {
		print_message("# %s\n", ends[i].label);
		atomic_store(&at.done, 0);
		atomic_store(&at.aborted, 0);
		client_begin_tunnel();
		if (ends[i].bye)
			gnutls_bye(client.session, GNUTLS_SHUT_WR);
		if (ends[i].reset)
			setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &now,
				   sizeof(now));
		client_close();
		wait_for(ends[i].done ? &at.done : &at.aborted, 1);
		assert_int_equal(atomic_load(&at.done), ends[i].done);
	}
}

/* Reads until a text is there; the bytes of frames are in between. */
static void client_hear_text(const char *text)
{
	size_t have = 0;
	ssize_t n;

	while (!memmem(client.got, have, text, strlen(text))) {
		n = gnutls_record_recv(client.session, client.got + have,
				       sizeof(client.got) - have);
		assert_true(n > 0 || n == GNUTLS_E_AGAIN);
		have += n > 0 ? (size_t)n : 0;
	}
}

/* Whether the handler is told that the client came by TLS. */
static void asks_by_http1(void)
{
	client_send_text("GET /claim" CLOSE);
	client_send_all(client.len);
	assert_int_equal(client_hear(), 1);
}

static void asks_by_http2(void)
{
	static const char text[] =
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		"\0\0\0\4\0\0\0\0\0" /* no settings */
		/* GET, https, /claim, h */
		"\0\0\15\1\5\0\0\0\1\x82\x87\x04\6/claim\x41\1h";
	/* an indexed ":status: 200" at the beginning of HEADERS */
	static const char start[] = "\1\4\0\0\0\1\x88";

	assert_int_equal(gnutls_record_send(client.session, text,
					    sizeof(text) - 1),
			 sizeof(text) - 1);
	client_send_all(client.len);
	client_hear_text("none");
	assert_non_null(memmem(client.got, sizeof(client.got), start,
			       sizeof(start) - 1));
}

/* Which protocol a client speaks is its choice in the handshake; one that does
 * not choose speaks HTTP/1.1, and one that chooses another is refused. */
static void protocols_by_alpn(void **state)
{
	static const struct {
		const char *protocol;
		void (*asks)(void);
	} choices[] = {
		{ "h2", asks_by_http2 },
		{ "http/1.1", asks_by_http1 },
		{ NULL, asks_by_http1 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(choices); i++) {
		memset(client.got, 0, sizeof(client.got));
		client_open_with("", choices[i].protocol);
		choices[i].asks();
		client_close();
	}
	assert_int_equal(client_connect("", "something"),
			 GNUTLS_E_FATAL_ALERT_RECEIVED);
	assert_int_equal(gnutls_alert_get(client.session),
			 GNUTLS_A_NO_APPLICATION_PROTOCOL);
	client_close();
}

/* A load balancer's word comes before the handshake, and what it says of the
 * client is what counts. */
static void behind_a_load_balancer(void **state)
{
	(void)state;
	client_open_with("PROXY TCP4 192.0.2.7 192.0.2.1 4000 443\r\n", NULL);
	client_send_text("GET /who" CLOSE);
	client_send_all(client.len);
	assert_int_equal(client_hear(), 1);
	assert_non_null(strstr(client.got, "192.0.2.7 4000 https -;"));
	client_close();
}

static struct address_prefixes loopback;

static int set_up_proxied(void **state)
{
	assert_true(address_prefixes_read("127.0.0.1", &loopback));
	at.strict = at.proxy_protocol = true;
	at.trusted = &loopback;
	return served_set_up(state);
}

static int tear_down_proxied(void **state)
{
	at.proxy_protocol = false;
	at.trusted = NULL;
	return served_tear_down(state);
}

static int set_up_http2(void **state)
{
	at.strict = at.http2 = true;
	return served_set_up(state);
}

static int tear_down_http2(void **state)
{
	at.http2 = false;
	return served_tear_down(state);
}

static int set_up(void **state)
{
	at.strict = true;
	return served_set_up(state);
}

static int set_up_all(void **state)
{
	struct certificate host;

	if (certificate_folder_make(state))
		return -1;
	certificate_make(&host, "host", NULL, EXPIRES);
	at.tls = certificate_listener(&host);
	certificate_free(&host);
	return gnutls_certificate_allocate_credentials(&client.none);
}

static int tear_down_all(void **state)
{
	tls_unref(at.tls);
	gnutls_certificate_free_credentials(client.none);
	return certificate_folder_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(conversations, set_up,
						served_tear_down),
		cmocka_unit_test_setup_teardown(ends_of_tunnels, set_up,
						served_tear_down),
		cmocka_unit_test_setup_teardown(
			protocols_by_alpn, set_up_http2, tear_down_http2),
		cmocka_unit_test_setup_teardown(behind_a_load_balancer,
						set_up_proxied,
						tear_down_proxied),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
