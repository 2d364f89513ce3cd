/*
 * The key of the session tickets that a listener gives to its clients, shared
 * by all connections of all workers, and by what takes its place at a reload.
 *
 * GnuTLS derives keys from it, another one every 18 hours; a ticket is good for
 * six. But whoever has the one here has all of those. So it is replaced after a
 * day, when each client's next handshake is a full one. From any thread.
 */
#ifndef DIGESTD_TLS_TLS_TICKET_KEY_H
#define DIGESTD_TLS_TLS_TICKET_KEY_H

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { TLS_TICKET_KEY_S = 86400 };

struct tls_ticket_key {
	atomic_uint users;
	pthread_mutex_t lock; /* of the rest */
	gnutls_datum_t key;   /* empty: none yet */
	int64_t made_s;
};

/* Makes one. Returns 0 or -ENOMEM. */
int tls_ticket_key_new(struct tls_ticket_key **out);

/* One user more; one less (null is allowed). */
struct tls_ticket_key *tls_ticket_key_ref(struct tls_ticket_key *k);
void tls_ticket_key_unref(struct tls_ticket_key *k);

/*
 * Lets a session of a listener give and take tickets. now_s: by a clock that
 * is not set. Returns 0 or -ENOMEM.
 */
int tls_ticket_key_use(struct tls_ticket_key *k, gnutls_session_t session,
		       int64_t now_s);

#endif
