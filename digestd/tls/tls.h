/*
 * TLS of a listener: its certificates with their keys, and the authorities
 * whose certificates clients must show, if they must.
 *
 * Where there are several certificates, the name that a client asks for (SNI)
 * chooses: the first one that has the name, else the first with a wildcard for
 * it, else the first of all, which who asks for none gets, too.
 *
 * Read and checked as a whole, then immutable and reference-counted: a reload
 * makes another one for the connections to come, while those that run keep
 * theirs. TLS 1.2 and 1.3. Clients that offer protocols (ALPN) have to offer
 * "http/1.1" or "http/1.0" (RFC 7301, 3.2), or "h2" where tls_offer_h2() says
 * so. From any thread.
 *
 * A handshake costs some 0.2 ms of CPU; with tickets (where no certificate is
 * asked for) a client that comes again pays less.
 */
#ifndef DIGESTD_TLS_TLS_H
#define DIGESTD_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tls;

enum tls_version { TLS_1_2, TLS_1_3 };

/* PEM files of a certificate and its key. */
struct tls_pair_files {
	const char *certificate;
	const char *key;
};

/* PEM files. */
struct tls_files {
	const char *certificate; /* one's own, then those between it and the
				    root */
	const char *key;         /* of it, without a password */
	const char *authorities; /* the other end needs a certificate of one of
				    them; null: a client needs none */
	enum tls_version oldest; /* that is spoken */
	bool unverified;         /* of a client: takes any server for right */
	const struct tls_pair_files *others; /* of a listener: further pairs */
	size_t nothers;
};

/* What is wrong with files: which one, and why, as a phrase. */
enum tls_file { TLS_CERTIFICATE, TLS_KEY, TLS_AUTHORITIES };

struct tls_fault {
	enum tls_file file;
	size_t pair; /* whose; 0: the first, n: others[n - 1] */
	char text[160];
};

/*
 * Reads and checks. Returns 0, -EINVAL with *fault for files that cannot be
 * read or do not fit, or -ENOMEM. A certificate that has expired is no fault:
 * see tls_expires_s().
 */
int tls_new(const struct tls_files *files, struct tls **out,
	    struct tls_fault *fault);

/* One user more; one less (null is allowed). */
struct tls *tls_ref(struct tls *tls);
void tls_unref(struct tls *tls);

/*
 * When the first certificate of a pair's chain is not valid any more [s, 1970];
 * pair: as in struct tls_fault. And of all pairs.
 */
int64_t tls_pair_expires_s(const struct tls *tls, size_t pair);
int64_t tls_expires_s(const struct tls *tls);

/* Whether two are the same to whoever connects. */
bool tls_same(const struct tls *a, const struct tls *b);

/* Lets `next`, which nobody uses yet, take tickets of `now`. */
void tls_keep_tickets(const struct tls *now, struct tls *next);

/* One connection's handshake. */
struct tls_handshake {
	struct tls *tls;
	void *session;
	bool done;
	char refused[96]; /* why it failed, where that is known; or empty */
};

/*
 * Prepares a connection's session (gnutls_session_t) before its handshake; *h
 * stays where it is until tls_end(), which comes after the session's last use.
 * Returns 0 or -ENOMEM; tls_end() follows either.
 */
int tls_begin(struct tls *tls, void *session, struct tls_handshake *h);
void tls_end(struct tls_handshake *h);

/* Before it: lets the client choose HTTP/2, too, by ALPN. Returns 0 or -ENOMEM.
 * And whether it did. */
int tls_offer_h2(struct tls_handshake *h);
bool tls_chose_h2(const struct tls_handshake *h);

/* Whether a handshake that does not go on waits to send, not to receive. */
bool tls_sends(const struct tls_handshake *h);

#endif
