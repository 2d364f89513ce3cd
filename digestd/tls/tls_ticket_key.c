/*
 * The key of session tickets.
 */
#include "digestd/tls/tls_ticket_key.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void tls_ticket_key_forget(struct tls_ticket_key *k)
{
	if (k->key.data)
		explicit_bzero(k->key.data, k->key.size);
	gnutls_free(k->key.data);
	k->key = (gnutls_datum_t){ 0 };
}

int tls_ticket_key_new(struct tls_ticket_key **out)
{
	struct tls_ticket_key *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	atomic_init(&k->users, 1);
	pthread_mutex_init(&k->lock, NULL);
	*out = k;
	return 0;
}

struct tls_ticket_key *tls_ticket_key_ref(struct tls_ticket_key *k)
{
	assert(atomic_load(&k->users) > 0);
	atomic_fetch_add(&k->users, 1);
	return k;
}

void tls_ticket_key_unref(struct tls_ticket_key *k)
{
	if (!k || atomic_fetch_sub(&k->users, 1) > 1)
		return;
	tls_ticket_key_forget(k);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

/* Has a key that is not too old; the lock is held. */
static int tls_ticket_key_renew(struct tls_ticket_key *k, int64_t now_s)
{
	if (k->key.data && now_s - k->made_s < TLS_TICKET_KEY_S)
		return 0;
	tls_ticket_key_forget(k);
	k->made_s = now_s;
	return gnutls_session_ticket_key_generate(&k->key) ? -ENOMEM : 0;
}

int tls_ticket_key_use(struct tls_ticket_key *k, gnutls_session_t session,
		       int64_t now_s)
{
	int err;

	pthread_mutex_lock(&k->lock);
	err = tls_ticket_key_renew(k, now_s);
	if (!err && gnutls_session_ticket_enable_server(session, &k->key))
		err = -ENOMEM;
	pthread_mutex_unlock(&k->lock);
	return err;
}
