/*
 * TLS of a listener, by GnuTLS: for tls_session.h, and for libmicrohttpd.
 *
 * libmicrohttpd's own certificates are fixed when its daemon starts. So each
 * session gets its credentials here, before its handshake: that is what makes
 * a reload possible, of authorities too, and lets the handshake itself refuse
 * a client without the right certificate.
 */
#include "digestd/tls/tls.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digestd/tls/tls_pair.h"
#include "digestd/tls/tls_priorities.h"
#include "digestd/tls/tls_ticket_key.h"

enum { NAME_BYTES = 256 }; /* of a server, with a zero */

struct tls {
	atomic_uint users;
	struct tls_pair *pairs; /* the first one has the authorities, too */
	size_t npairs;
	gnutls_priority_t priority;
	struct tls_ticket_key *ticket_key;
	enum tls_version oldest;
	bool asks; /* for a client's certificate */
};

static gnutls_alert_description_t tls_alert_of(unsigned status)
{
	if (status & GNUTLS_CERT_EXPIRED)
		return GNUTLS_A_CERTIFICATE_EXPIRED;
	if (status & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA))
		return GNUTLS_A_UNKNOWN_CA;
	return GNUTLS_A_BAD_CERTIFICATE;
}

static void tls_note_refusal(struct tls_handshake *h, unsigned status)
{
	gnutls_datum_t text = { 0 };

	gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509,
						     &text, 0);
	snprintf(h->refused, sizeof(h->refused), "%s",
		 text.data ? (const char *)text.data : "not trusted");
	gnutls_free(text.data);
}

/*
 * Within the handshake: is the client's certificate good? A connection's
 * handshake is found through the session's database pointer, which is for the
 * application; libmicrohttpd keeps the other one for itself.
 */
static int tls_verify(gnutls_session_t session)
{
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	struct tls_handshake *h = gnutls_db_get_ptr(session);
	unsigned status = GNUTLS_CERT_INVALID;

	if (!gnutls_certificate_verify_peers(session, &purpose, 1, &status) &&
	    !status)
		return 0;
	tls_note_refusal(h, status);
	/* so that the other end knows why; libmicrohttpd only closes */
	gnutls_alert_send(session, GNUTLS_AL_FATAL, tls_alert_of(status));
	return GNUTLS_E_CERTIFICATE_ERROR;
}

static int tls_finished(gnutls_session_t session, unsigned type, unsigned when,
			unsigned incoming, const gnutls_datum_t *message)
{
	struct tls_handshake *h = gnutls_db_get_ptr(session);

	(void)type;
	(void)when;
	(void)message;
	if (incoming)
		h->done = true;
	return 0;
}

static int tls_load_other(struct tls *tls, const struct tls_pair_files *files,
			  struct tls_fault *fault)
{
	const struct tls_files only = { .certificate = files->certificate,
					.key = files->key };
	struct tls_pair *pair = &tls->pairs[tls->npairs++];
	int err = tls_pair_load(pair, &only, fault);

	if (!err && !pair->nnames)
		err = tls_pem_fail(fault, TLS_CERTIFICATE, "has no DNS name "
				   "that a client could ask for");
	if (!err && tls->asks)
		err = tls_pem_trust(&tls->pairs[0].pem, pair->credentials,
				    fault);
	return err;
}

static int tls_load_pairs(struct tls *tls, const struct tls_files *files,
			  struct tls_fault *fault)
{
	int err;

	fault->pair = 0;
	tls->npairs = 1;
	err = tls_pair_load(&tls->pairs[0], files, fault);
	for (size_t i = 0; i < files->nothers && !err; i++) {
		fault->pair = i + 1;
		err = tls_load_other(tls, &files->others[i], fault);
	}
	return err;
}

static int tls_fill(struct tls *tls, const struct tls_files *files,
		    struct tls_fault *fault)
{
	int err;

	tls->oldest = files->oldest;
	tls->asks = files->authorities;
	tls->pairs = calloc(1 + files->nothers, sizeof(*tls->pairs));
	if (!tls->pairs ||
	    gnutls_priority_init(&tls->priority, tls_priorities(files->oldest),
				 NULL) ||
	    tls_ticket_key_new(&tls->ticket_key))
		return -ENOMEM;
	err = tls_load_pairs(tls, files, fault);
	for (size_t i = 0; i < tls->npairs && tls->asks && !err; i++)
		gnutls_certificate_set_verify_function(
			tls->pairs[i].credentials, tls_verify);
	return err;
}

int tls_new(const struct tls_files *files, struct tls **out,
	    struct tls_fault *fault)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	int err;

	assert(files->certificate && files->key);
	if (!tls)
		return -ENOMEM;
	atomic_init(&tls->users, 1);
	err = tls_fill(tls, files, fault);
	if (err) {
		tls_unref(tls);
		return err;
	}
	*out = tls;
	return 0;
}

struct tls *tls_ref(struct tls *tls)
{
	assert(atomic_load(&tls->users) > 0);
	atomic_fetch_add(&tls->users, 1);
	return tls;
}

void tls_unref(struct tls *tls)
{
	if (!tls || atomic_fetch_sub(&tls->users, 1) > 1)
		return;
	while (tls->npairs)
		tls_pair_free(&tls->pairs[--tls->npairs]);
	free(tls->pairs);
	if (tls->priority)
		gnutls_priority_deinit(tls->priority);
	tls_ticket_key_unref(tls->ticket_key);
	free(tls);
}

int64_t tls_pair_expires_s(const struct tls *tls, size_t pair)
{
	assert(pair < tls->npairs);
	return tls->pairs[pair].pem.expires_s;
}

int64_t tls_expires_s(const struct tls *tls)
{
	int64_t first_s = INT64_MAX;

	for (size_t i = 0; i < tls->npairs; i++) {
		if (tls_pair_expires_s(tls, i) < first_s)
			first_s = tls_pair_expires_s(tls, i);
	}
	return first_s;
}

bool tls_same(const struct tls *a, const struct tls *b)
{
	if (a->oldest != b->oldest || a->npairs != b->npairs)
		return false;
	for (size_t i = 0; i < a->npairs; i++) {
		if (!tls_pem_same(&a->pairs[i].pem, &b->pairs[i].pem))
			return false;
	}
	return true;
}

void tls_keep_tickets(const struct tls *now, struct tls *next)
{
	assert(now != next);
	assert(atomic_load(&next->users) == 1);
	tls_ticket_key_unref(next->ticket_key);
	next->ticket_key = tls_ticket_key_ref(now->ticket_key);
}

/* The pair for who asks for a name. */
static const struct tls_pair *tls_choose(const struct tls *tls,
					 const char *asked)
{
	const struct tls_pair *best = &tls->pairs[0];
	enum tls_match best_match = TLS_MATCH_NONE;

	for (size_t i = 0; i < tls->npairs; i++) {
		enum tls_match match = tls_pair_match(&tls->pairs[i], asked);

		if (match > best_match) {
			best_match = match;
			best = &tls->pairs[i];
		}
	}
	return best;
}

/* Once the client's hello was read. A name that is too long is nobody's. */
static int tls_hello_read(gnutls_session_t session)
{
	const struct tls_handshake *h = gnutls_db_get_ptr(session);
	char asked[NAME_BYTES] = "";
	size_t len = sizeof(asked) - 1;
	unsigned type = 0;

	if (gnutls_server_name_get(session, asked, &len, &type, 0) ||
	    type != GNUTLS_NAME_DNS)
		return 0;
	return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
				      tls_choose(h->tls, asked)->credentials);
}

/* Goes on while the machine sleeps, and is never set. */
static int64_t tls_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec;
}

/* The best of them comes first. Returns 0 or -ENOMEM. */
static int tls_set_protocols(gnutls_session_t session, bool h2)
{
	static const gnutls_datum_t names[] = {
		{ (unsigned char *)"h2", 2 },
		{ (unsigned char *)"http/1.1", 8 },
		{ (unsigned char *)"http/1.0", 8 },
	};

	return gnutls_alpn_set_protocols(session, h2 ? names : names + 1,
					 h2 ? 3 : 2,
					 GNUTLS_ALPN_MANDATORY |
					 GNUTLS_ALPN_SERVER_PRECEDENCE) ?
		       -ENOMEM : 0;
}

int tls_offer_h2(struct tls_handshake *h)
{
	return tls_set_protocols(h->session, true);
}

bool tls_chose_h2(const struct tls_handshake *h)
{
	gnutls_datum_t name;

	return !gnutls_alpn_get_selected_protocol(h->session, &name) &&
	       name.size == 2 && !memcmp(name.data, "h2", 2);
}

/*
 * No tickets where certificates are asked for: a client that comes again with
 * one would not be verified again.
 */
int tls_begin(struct tls *tls, void *session, struct tls_handshake *h)
{
	gnutls_session_t s = session;

	assert(session && tls->npairs);
	*h = (struct tls_handshake){ .tls = tls_ref(tls), .session = session };
	gnutls_db_set_ptr(s, h);
	gnutls_handshake_set_hook_function(s, GNUTLS_HANDSHAKE_FINISHED,
					   GNUTLS_HOOK_POST, tls_finished);
	if (tls->npairs > 1)
		gnutls_handshake_set_post_client_hello_function(
			s, tls_hello_read);
	if (gnutls_priority_set(s, tls->priority) ||
	    gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE,
				   tls->pairs[0].credentials) ||
	    tls_set_protocols(s, false))
		return -ENOMEM;
	if (tls->asks)
		gnutls_certificate_server_set_request(s, GNUTLS_CERT_REQUIRE);
	else if (tls_ticket_key_use(tls->ticket_key, s, tls_now_s()))
		return -ENOMEM;
	return 0;
}

bool tls_sends(const struct tls_handshake *h)
{
	assert(h->session);
	return gnutls_record_get_direction(h->session) == 1;
}

void tls_end(struct tls_handshake *h)
{
	tls_unref(h->tls);
	h->tls = NULL;
}
