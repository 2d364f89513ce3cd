/*
 * Handshakes in memory: what a listener shows, whatever becomes of its files,
 * and whom a client trusts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>

#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

enum { EXPIRES = 2000000000, PIPE_BYTES = 1 << 16 };

/* Bytes on their way to one end. */
struct pipe {
	uint8_t bytes[PIPE_BYTES];
	size_t n, at;
};

struct end {
	gnutls_session_t session;
	struct pipe in, *out;
};

static ssize_t push(gnutls_transport_ptr_t arg, const void *bytes, size_t len)
{
	struct end *e = arg;

	assert_true(e->out->n + len <= PIPE_BYTES);
	memcpy(e->out->bytes + e->out->n, bytes, len);
	e->out->n += len;
	return (ssize_t)len;
}

static ssize_t pull(gnutls_transport_ptr_t arg, void *out, size_t room)
{
	struct end *e = arg;
	size_t left = e->in.n - e->in.at;

	if (!left) {
		gnutls_transport_set_errno(e->session, EAGAIN);
		return -1;
	}
	if (left > room)
		left = room;
	memcpy(out, e->in.bytes + e->in.at, left);
	e->in.at += left;
	return (ssize_t)left;
}

static int ready(gnutls_transport_ptr_t arg, unsigned ms)
{
	const struct end *e = arg;

	(void)ms;
	return e->in.n > e->in.at;
}

static struct end *end_new(unsigned flags)
{
	struct end *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	assert_int_equal(gnutls_init(&e->session, flags | GNUTLS_NONBLOCK), 0);
	gnutls_transport_set_ptr(e->session, e);
	gnutls_transport_set_push_function(e->session, push);
	gnutls_transport_set_pull_function(e->session, pull);
	gnutls_transport_set_pull_timeout_function(e->session, ready);
	return e;
}

static void end_free(struct end *e)
{
	gnutls_deinit(e->session);
	free(e);
}

/* Lets both go on until both are done; whether they are without an error. */
static bool shake_hands(struct end *a, struct end *b)
{
	int one = GNUTLS_E_AGAIN, other = GNUTLS_E_AGAIN;

	a->out = &b->in;
	b->out = &a->in;
	for (unsigned turn = 0; turn < 20 && (one || other); turn++) {
		if (one)
			one = gnutls_handshake(a->session);
		if (other)
			other = gnutls_handshake(b->session);
		if ((one && gnutls_error_is_fatal(one)) ||
		    (other && gnutls_error_is_fatal(other)))
			return false;
	}
	return !one && !other;
}

/* A listener's certificate, as `trusting` finds it for a host. */
static bool is_trusted(struct tls *listener, struct tls_client *trusting,
		       const char *host)
{
	gnutls_certificate_credentials_t none;
	struct end *server = end_new(GNUTLS_SERVER);
	struct end *client = end_new(GNUTLS_CLIENT);
	struct tls_handshake h;
	bool trusted;

	assert_int_equal(gnutls_certificate_allocate_credentials(&none), 0);
	assert_int_equal(tls_begin(listener, server->session, &h), 0);
	gnutls_set_default_priority(client->session);
	gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, none);
	assert_true(shake_hands(client, server));
	assert_true(h.done);
	trusted = !tls_client_judge(trusting, client->session, host);
	end_free(client);
	end_free(server);
	tls_end(&h);
	gnutls_certificate_free_credentials(none);
	return trusted;
}

static struct certificate ca, stranger, host, next;

static int set_up(void **state)
{
	certificate_make(&ca, "ca", NULL, EXPIRES);
	certificate_make(&stranger, "stranger", NULL, EXPIRES);
	certificate_make(&host, "host", &ca, EXPIRES);
	certificate_make(&next, "next", &ca, EXPIRES);
	return certificate_folder_make(state);
}

static int tear_down(void **state)
{
	certificate_free(&ca);
	certificate_free(&stranger);
	certificate_free(&host);
	certificate_free(&next);
	return certificate_folder_remove(state);
}

static int listener_new(struct tls **out, struct tls_fault *fault)
{
	const struct tls_files files = {
		.certificate = certificate_path("pem"),
		.key = certificate_path("key"),
	};

	return tls_new(&files, out, fault);
}

static void whom_a_client_trusts(void **state)
{
	struct tls_client *right = certificate_client(&ca);
	struct tls_client *wrong = certificate_client(&stranger);
	struct tls *good = certificate_listener(&host), *old;
	struct certificate expired;

	(void)state;
	certificate_make(&expired, "host", &ca, 86400 * 2);
	old = certificate_listener(&expired);
	assert_true(is_trusted(good, right, "host"));
	assert_false(is_trusted(good, right, "other"));
	assert_false(is_trusted(good, right, "127.0.0.1"));
	assert_false(is_trusted(good, wrong, "host"));
	assert_false(is_trusted(old, right, "host"));
	tls_client_unref(right);
	tls_client_unref(wrong);
	tls_unref(good);
	tls_unref(old);
	certificate_free(&expired);
}

/* A reload in between finds the new certificate with the old key. */
static void a_half_written_pair_leaves_the_old_one(void **state)
{
	struct tls_client *client = certificate_client(&ca);
	struct tls *tls = certificate_listener(&host), *none = NULL;
	struct tls_fault fault;

	(void)state;
	certificate_write_text("pem", certificate_text(&next));
	assert_int_equal(listener_new(&none, &fault), -EINVAL);
	assert_null(none);
	assert_int_equal(fault.file, TLS_KEY);
	assert_true(is_trusted(tls, client, "host"));
	certificate_write_text("key", certificate_key_text(&next));
	assert_int_equal(listener_new(&none, &fault), 0);
	assert_true(is_trusted(none, client, "next"));
	assert_false(is_trusted(none, client, "host"));
	assert_true(is_trusted(tls, client, "host"));
	tls_unref(tls);
	tls_unref(none);
	tls_client_unref(client);
}

/* A client with a share of X25519 alone, as most have, is served with that:
 * another group would cost it a round trip. */
static void what_is_chosen_costs_little(void **state)
{
	static const struct {
		const char *offered;
		gnutls_group_t group;
		gnutls_cipher_algorithm_t cipher;
	} cases[] = {
		{"NORMAL:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1",
		 GNUTLS_GROUP_X25519, GNUTLS_CIPHER_AES_128_GCM},
		{"NORMAL:-GROUP-ALL:+GROUP-SECP256R1", GNUTLS_GROUP_SECP256R1,
		 GNUTLS_CIPHER_AES_128_GCM},
		{"NORMAL:-CIPHER-ALL:+CHACHA20-POLY1305:+AES-256-GCM:"
		 "-GROUP-ALL:+GROUP-X25519", GNUTLS_GROUP_X25519,
		 GNUTLS_CIPHER_AES_256_GCM},
		{"NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-CBC:"
		 "+AES-128-GCM:-GROUP-ALL:+GROUP-X25519", GNUTLS_GROUP_X25519,
		 GNUTLS_CIPHER_AES_128_GCM},
	};
	gnutls_certificate_credentials_t none;
	struct tls *tls = certificate_listener(&host);

	(void)state;
	assert_int_equal(gnutls_certificate_allocate_credentials(&none), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct end *server = end_new(GNUTLS_SERVER);
		struct end *client = end_new(GNUTLS_CLIENT |
					     GNUTLS_KEY_SHARE_TOP);
		struct tls_handshake h;

		assert_int_equal(tls_begin(tls, server->session, &h), 0);
		assert_int_equal(gnutls_priority_set_direct(client->session,
							    cases[i].offered,
							    NULL), 0);
		gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE,
				       none);
		assert_true(shake_hands(client, server));
		assert_int_equal(gnutls_group_get(client->session),
				 cases[i].group);
		assert_int_equal(gnutls_cipher_get(client->session),
				 cases[i].cipher);
		end_free(client);
		end_free(server);
		tls_end(&h);
	}
	tls_unref(tls);
	gnutls_certificate_free_credentials(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_a_client_trusts),
		cmocka_unit_test(a_half_written_pair_leaves_the_old_one),
		cmocka_unit_test(what_is_chosen_costs_little),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
