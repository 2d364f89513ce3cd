/*
 * TLS of fetches: which authorities are trusted, and the certificate to show.
 *
 * Checked and copied when it is made, so that a change of the files counts
 * from a reload on and not before; immutable, reference-counted, from any
 * thread. The copies of certificate and key are files in memory, because file
 * names are what libcurl takes; each object's have other names, so that no kept
 * connection made with one is used with the next.
 *
 * Authorities are loaded once and used here: libcurl would load the system's
 * for every connection, which takes 25 ms.
 */
#ifndef DIGESTD_TLS_TLS_CLIENT_H
#define DIGESTD_TLS_TLS_CLIENT_H

#include "digestd/http/trouble.h"
#include "digestd/tls/tls.h"

struct tls_client;

/*
 * `certificate` and `key` may be null (both), `authorities` too: then the
 * system's are trusted. Errors as those of tls_new(), and the negative errno
 * of a file in memory that could not be made.
 */
int tls_client_new(const struct tls_files *files, struct tls_client **out,
		   struct tls_fault *fault);

/* One user more; one less (null is allowed). */
struct tls_client *tls_client_ref(struct tls_client *tls);
void tls_client_unref(struct tls_client *tls);

/* Whether two are the same to whom they connect to. */
bool tls_client_same(const struct tls_client *a, const struct tls_client *b);

/* The names of its certificate and key, null where there is none. */
const char *tls_client_path(const struct tls_client *tls, enum tls_file file);

/* The oldest version that is spoken. */
enum tls_version tls_client_oldest(const struct tls_client *tls);

/*
 * Prepares a session (gnutls_session_t) that this client begins: versions,
 * ALPN "http/1.1", the certificate to show. Returns 0 or -ENOMEM. The session
 * ends before the client's last reference goes.
 */
int tls_client_begin(const struct tls_client *tls, void *session);

/*
 * Whether the other end of a session (gnutls_session_t), after its handshake,
 * is who it should: its certificate is one of the authorities', for a server,
 * for this host (a name or an address, without brackets), and within its
 * dates. Returns TROUBLE_none if so, which the session remembers; or
 * TROUBLE_tls_untrusted, _tls_name or _tls_expired, the first of them that is
 * so. Blocks for 25 ms when the system's authorities are used for the first
 * time.
 */
enum trouble tls_client_judge(struct tls_client *tls, void *session,
			      const char *host);

#endif
