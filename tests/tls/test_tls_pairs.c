/*
 * A listener with several certificates: which one a client is shown for the
 * name that it asks for, and what is said of files that are not right.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gnutls/gnutls.h>

#include "digestd/tls/tls.h"
#include "digestd/tls/tls_session.h"
#include "tests/tls/certificate.h"
#include "tests/unit.h"

enum { EXPIRES = 2000000000, NPAIRS = 4, TURNS = 20 };

static const char *const versions[] = {
	"NORMAL:-VERS-ALL:+VERS-TLS1.3", "NORMAL:-VERS-ALL:+VERS-TLS1.2",
};

/* What the listener's certificates are for, in their order. */
static const char *const names[NPAIRS] = {
	"first.example", "*.example.com,example.com",
	"www.example.com,shop.example", "*.example.com,*.example.net",
};

static struct certificate ca, pairs[NPAIRS], nameless, guest;

static int set_up(void **state)
{
	certificate_make(&ca, "ca", NULL, EXPIRES);
	for (unsigned i = 0; i < NPAIRS; i++)
		certificate_make(&pairs[i], names[i], &ca, EXPIRES - i);
	certificate_make(&nameless, NULL, &ca, EXPIRES);
	certificate_make(&guest, "guest", &ca, EXPIRES);
	return certificate_folder_make(state);
}

static int tear_down(void **state)
{
	certificate_free(&ca);
	for (unsigned i = 0; i < NPAIRS; i++)
		certificate_free(&pairs[i]);
	certificate_free(&nameless);
	certificate_free(&guest);
	return certificate_folder_remove(state);
}

/* Where their files are. */
struct paths {
	char text[2 * NPAIRS][128];
	struct tls_pair_files of[NPAIRS];
};

static void write_pair(unsigned i, const struct certificate *c)
{
	char name[16];

	snprintf(name, sizeof(name), "pem%u", i);
	certificate_write_text(name, certificate_text(c));
	snprintf(name, sizeof(name), "key%u", i);
	certificate_write_text(name, certificate_key_text(c));
}

static void write_all(struct paths *paths)
{
	certificate_write_text("ca", certificate_text(&ca));
	for (unsigned i = 0; i < NPAIRS; i++) {
		char name[16];

		write_pair(i, &pairs[i]);
		for (unsigned key = 0; key < 2; key++) {
			snprintf(name, sizeof(name), "%s%u",
				 key ? "key" : "pem", i);
			snprintf(paths->text[2 * i + key],
				 sizeof(paths->text[0]), "%s",
				 certificate_path(name));
		}
		paths->of[i].certificate = paths->text[2 * i];
		paths->of[i].key = paths->text[2 * i + 1];
	}
}

static int load(const struct paths *paths, const char *authorities,
		struct tls **out, struct tls_fault *fault)
{
	const struct tls_files files = {
		.certificate = paths->of[0].certificate,
		.key = paths->of[0].key,
		.authorities = authorities,
		.others = paths->of + 1,
		.nothers = NPAIRS - 1,
	};

	*fault = (struct tls_fault){ 0 };
	return tls_new(&files, out, fault);
}

static struct tls *listener_new(const char *authorities)
{
	struct paths paths;
	struct tls_fault fault;
	struct tls *tls = NULL;

	write_all(&paths);
	assert_int_equal(load(&paths, authorities, &tls, &fault), 0);
	return tls;
}

/* Who asks: a name, or null, and a certificate, or null. */
struct asking {
	const char *version, *name;
	const struct certificate *shown;
};

static gnutls_session_t client_new(const struct asking *as, int fd,
				   gnutls_certificate_credentials_t own)
{
	struct certificate *shown = (struct certificate *)(uintptr_t)as->shown;
	gnutls_session_t s;

	assert_int_equal(gnutls_init(&s, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
	gnutls_priority_set_direct(s, as->version, NULL);
	if (shown)
		assert_int_equal(gnutls_certificate_set_x509_key(
					 own, &shown->crt, 1, shown->key), 0);
	gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, own);
	if (as->name)
		gnutls_server_name_set(s, GNUTLS_NAME_DNS, as->name,
				       strlen(as->name));
	gnutls_transport_set_int(s, fd);
	return s;
}

/* Which of the certificates it is; NPAIRS: none of them. */
static unsigned pair_of(gnutls_session_t client)
{
	unsigned n = 0, i = 0;
	const gnutls_datum_t *der = gnutls_certificate_get_peers(client, &n);
	gnutls_x509_crt_t crt;

	assert_true(der && n);
	assert_int_equal(gnutls_x509_crt_init(&crt), 0);
	assert_int_equal(gnutls_x509_crt_import(crt, der,
						GNUTLS_X509_FMT_DER), 0);
	while (i < NPAIRS && !gnutls_x509_crt_equals(crt, pairs[i].crt))
		i++;
	gnutls_x509_crt_deinit(crt);
	return i;
}

/* Which certificate a client gets, or the error of the listener's end. */
static int meet(struct tls *tls, const struct asking *as)
{
	int fds[2], server = -EAGAIN, client = GNUTLS_E_AGAIN, result;
	gnutls_certificate_credentials_t own;
	struct tls_session *session;
	gnutls_session_t s;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				    fds), 0);
	assert_int_equal(gnutls_certificate_allocate_credentials(&own), 0);
	assert_int_equal(tls_session_new(tls, fds[0], &session), 0);
	s = client_new(as, fds[1], own);
	for (int i = 0; i < TURNS && (server == -EAGAIN || client); i++) {
		client = client ? gnutls_handshake(s) : 0;
		server = server ? tls_session_handshake(session) : 0;
		if (server && server != -EAGAIN)
			break;
	}
	result = server ? server : (int)pair_of(s);
	gnutls_deinit(s);
	gnutls_certificate_free_credentials(own);
	tls_session_free(&session);
	close(fds[0]);
	close(fds[1]);
	return result;
}

static void who_gets_which(void **state)
{
	static const struct {
		const char *label, *name;
		int pair;
	} rows[] = {
		{ "no name", NULL, 0 },
		{ "nobody's name", "other.example", 0 },
		{ "the first", "first.example", 0 },
		{ "its second name", "shop.example", 2 },
		{ "upper case", "SHOP.example", 2 },
		{ "a name before wildcards", "www.example.com", 2 },
		{ "the first of two wildcards", "a.example.com", 1 },
		{ "a name beside its wildcard", "example.com", 1 },
		{ "the second wildcard", "a.example.net", 3 },
		{ "not below it", "a.b.example.net", 0 },
		{ "nor above it", "example.net", 0 },
	};
	struct tls *tls = listener_new(NULL);

	(void)state;
	for (size_t v = 0; v < NROWS(versions); v++) {
		for (size_t i = 0; i < NROWS(rows); i++) {
			const struct asking as = { versions[v], rows[i].name,
						   NULL };

			print_message("# %s\n", rows[i].label);
			assert_int_equal(meet(tls, &as), rows[i].pair);
		}
	}
	tls_unref(tls);
}

/* By whatever name it comes, a client has to show who it is. */
static void clients_are_asked_by_each(void **state)
{
	static const char *const asked[] = { "first.example", "shop.example" };
	char authorities[128];
	struct tls *tls;

	(void)state;
	snprintf(authorities, sizeof(authorities), "%s",
		 certificate_path("ca"));
	tls = listener_new(authorities);
	for (size_t v = 0; v < NROWS(versions); v++) {
		for (size_t i = 0; i < NROWS(asked); i++) {
			struct asking as = { versions[v], asked[i], &guest };

			assert_int_equal(meet(tls, &as), i ? 2 : 0);
			as.shown = NULL;
			assert_int_equal(meet(tls, &as), -EPROTO);
		}
	}
	tls_unref(tls);
}

static void what_is_wrong_is_named(void **state)
{
	static const char empty[] = "";
	struct paths paths;
	struct tls_fault fault;
	struct tls *tls = NULL;

	(void)state;
	for (unsigned i = 0; i < NPAIRS; i++) {
		write_all(&paths);
		remove(paths.of[i].key);
		assert_int_equal(load(&paths, NULL, &tls, &fault), -EINVAL);
		assert_int_equal(fault.pair, i);
		assert_int_equal(fault.file, TLS_KEY);
		assert_string_equal(fault.text, "No such file or directory");

		write_all(&paths);
		paths.of[i].key = paths.of[(i + 1) % NPAIRS].key;
		assert_int_equal(load(&paths, NULL, &tls, &fault), -EINVAL);
		assert_int_equal(fault.pair, i);
		assert_int_equal(fault.file, TLS_KEY);
		assert_non_null(strstr(fault.text, "is not the key of /"));
		assert_non_null(strstr(fault.text, paths.of[i].certificate));
	}
	write_all(&paths);
	certificate_write("pem2", empty, 0);
	assert_int_equal(load(&paths, NULL, &tls, &fault), -EINVAL);
	assert_int_equal(fault.pair, 2);
	assert_int_equal(fault.file, TLS_CERTIFICATE);
	assert_null(tls);
}

/* One that nobody can ask for is only good as the first. */
static void names_are_needed(void **state)
{
	struct paths paths;
	struct tls_fault fault;
	struct tls *tls = NULL;

	(void)state;
	write_all(&paths);
	write_pair(0, &nameless);
	assert_int_equal(load(&paths, NULL, &tls, &fault), 0);
	tls_unref(tls);
	write_pair(1, &nameless);
	assert_int_equal(load(&paths, NULL, &tls, &fault), -EINVAL);
	assert_int_equal(fault.pair, 1);
	assert_int_equal(fault.file, TLS_CERTIFICATE);
	assert_string_equal(fault.text,
			    "has no DNS name that a client could ask for");
}

static void the_first_that_expires(void **state)
{
	struct tls *tls = listener_new(NULL);

	(void)state;
	for (unsigned i = 0; i < NPAIRS; i++)
		assert_int_equal(tls_pair_expires_s(tls, i), EXPIRES - i);
	assert_int_equal(tls_expires_s(tls), EXPIRES - (NPAIRS - 1));
	tls_unref(tls);
}

/* Their order and number count. */
static void the_same_files_are_the_same(void **state)
{
	struct paths paths;
	struct tls_fault fault;
	struct tls *a = listener_new(NULL), *b = listener_new(NULL), *c, *d;
	struct tls_pair_files third;
	struct tls_files one;

	(void)state;
	assert_true(tls_same(a, b));
	write_all(&paths);
	third = paths.of[2];
	paths.of[2] = paths.of[3];
	paths.of[3] = third;
	assert_int_equal(load(&paths, NULL, &c, &fault), 0);
	assert_false(tls_same(a, c));
	one = (struct tls_files){ .certificate = paths.of[0].certificate,
				  .key = paths.of[0].key };
	assert_int_equal(tls_new(&one, &d, &fault), 0);
	assert_false(tls_same(a, d));
	assert_false(tls_same(d, a));
	tls_unref(a);
	tls_unref(b);
	tls_unref(c);
	tls_unref(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_gets_which),
		cmocka_unit_test(clients_are_asked_by_each),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(names_are_needed),
		cmocka_unit_test(the_first_that_expires),
		cmocka_unit_test(the_same_files_are_the_same),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
