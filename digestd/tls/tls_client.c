/*
 * TLS of fetches: PEM files, checked, as GnuTLS takes them, and in copies in
 * memory, as libcurl does; and the verification of the other end.
 */
#include "config.h"
#include "digestd/tls/tls_client.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "digestd/tls/tls_pem.h"
#include "digestd/tls/tls_priorities.h"

/*
 * The names are those of descriptors. Numbers are taken in turn from a range,
 * so that one is not had again soon after it was closed.
 */
enum { FIRST_FD = 64, FD_RANGE = 256, NFILES = 2, CHAIN_MAX = 16 };

struct tls_client {
	atomic_uint users;
	uintptr_t id; /* never that of another one */
	struct tls_pem pem;
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priority;
	pthread_mutex_t lock; /* of the next, until it is there */
	gnutls_x509_trust_list_t trust;
	enum tls_version oldest;
	bool unverified;
	struct {
		int fd; /* -1: not given */
		char path[32];
	} files[NFILES];
};

static int tls_client_write_all(int fd, const gnutls_datum_t *data)
{
	for (size_t sent = 0; sent < data->size;) {
		ssize_t n = write(fd, data->data + sent, data->size - sent);

		if (n < 0)
			return -errno;
		sent += (size_t)n;
	}
	return 0;
}

/* A descriptor for it, or a negative errno. */
static int tls_client_copy(const gnutls_datum_t *data)
{
	static atomic_uint turn;
	unsigned next = atomic_fetch_add(&turn, 1) % FD_RANGE;
	int raw = memfd_create("digestd-tls", MFD_CLOEXEC);
	int fd, err;

	if (raw < 0)
		return -errno;
	fd = fcntl(raw, F_DUPFD_CLOEXEC, FIRST_FD + (int)next);
	err = fd < 0 ? -errno : tls_client_write_all(fd, data);
	close(raw);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

static int tls_client_copy_all(struct tls_client *tls)
{
	const gnutls_datum_t *data[NFILES] = {
		[TLS_CERTIFICATE] = &tls->pem.certificate,
		[TLS_KEY] = &tls->pem.key,
	};

	for (unsigned i = 0; i < NFILES; i++) {
		if (!data[i]->size)
			continue;
		tls->files[i].fd = tls_client_copy(data[i]);
		if (tls->files[i].fd < 0)
			return tls->files[i].fd;
		snprintf(tls->files[i].path, sizeof(tls->files[i].path),
			 "/proc/self/fd/%d", tls->files[i].fd);
	}
	return 0;
}

static int tls_client_load(struct tls_client *tls,
			   const struct tls_files *files,
			   struct tls_fault *fault)
{
	int err;

	if (gnutls_certificate_allocate_credentials(&tls->credentials) ||
	    gnutls_priority_init(&tls->priority,
				 tls_priorities(files->oldest), NULL))
		return -ENOMEM;
	err = tls_pem_load(&tls->pem, files, tls->credentials, fault);
	return err ? err : tls_client_copy_all(tls);
}

int tls_client_new(const struct tls_files *files, struct tls_client **out,
		   struct tls_fault *fault)
{
	static atomic_uintptr_t last_id;
	struct tls_client *tls = calloc(1, sizeof(*tls));
	int err;

	assert(files->oldest == TLS_1_2 || files->oldest == TLS_1_3);
	if (!tls)
		return -ENOMEM;
	atomic_init(&tls->users, 1);
	pthread_mutex_init(&tls->lock, NULL);
	tls->id = atomic_fetch_add(&last_id, 1) + 1;
	tls->oldest = files->oldest;
	tls->unverified = files->unverified;
	for (unsigned i = 0; i < NFILES; i++)
		tls->files[i].fd = -1;
	err = tls_client_load(tls, files, fault);
	if (err) {
		tls_client_unref(tls);
		return err;
	}
	*out = tls;
	return 0;
}

struct tls_client *tls_client_ref(struct tls_client *tls)
{
	assert(atomic_load(&tls->users) > 0);
	atomic_fetch_add(&tls->users, 1);
	return tls;
}

void tls_client_unref(struct tls_client *tls)
{
	if (!tls || atomic_fetch_sub(&tls->users, 1) > 1)
		return;
	for (unsigned i = 0; i < NFILES; i++) {
		if (tls->files[i].fd >= 0)
			close(tls->files[i].fd);
	}
	if (tls->trust)
		gnutls_x509_trust_list_deinit(tls->trust, 1);
	if (tls->credentials)
		gnutls_certificate_free_credentials(tls->credentials);
	if (tls->priority)
		gnutls_priority_deinit(tls->priority);
	pthread_mutex_destroy(&tls->lock);
	tls_pem_free(&tls->pem);
	free(tls);
}

bool tls_client_same(const struct tls_client *a, const struct tls_client *b)
{
	return a->oldest == b->oldest && a->unverified == b->unverified &&
	       tls_pem_same(&a->pem, &b->pem);
}

const char *tls_client_path(const struct tls_client *tls, enum tls_file file)
{
	assert((size_t)file < NFILES);
	return *tls->files[file].path ? tls->files[file].path : NULL;
}

enum tls_version tls_client_oldest(const struct tls_client *tls)
{
	return tls->oldest;
}

int tls_client_begin(const struct tls_client *tls, void *session)
{
	static const gnutls_datum_t alpn = { (unsigned char *)"http/1.1", 8 };

	assert(session && tls->credentials);
	return gnutls_priority_set(session, tls->priority) ||
			       gnutls_credentials_set(session,
						      GNUTLS_CRD_CERTIFICATE,
						      tls->credentials) ||
			       gnutls_alpn_set_protocols(session, &alpn, 1, 0)
		       ? -ENOMEM
		       : 0;
}

static gnutls_x509_trust_list_t
tls_client_load_trust(const struct tls_client *tls)
{
	gnutls_x509_trust_list_t trust;
	int n;

	if (gnutls_x509_trust_list_init(&trust, 0))
		return NULL;
	if (tls->pem.authorities.size)
		n = gnutls_x509_trust_list_add_trust_mem(
			trust, &tls->pem.authorities, NULL,
			GNUTLS_X509_FMT_PEM, 0, 0);
	else
		n = gnutls_x509_trust_list_add_system_trust(trust, 0, 0);
	if (n > 0)
		return trust;
	gnutls_x509_trust_list_deinit(trust, 1);
	return NULL;
}

/* Null: there is nobody to trust, or no memory. */
static gnutls_x509_trust_list_t tls_client_trust_of(struct tls_client *tls)
{
	gnutls_x509_trust_list_t trust;

	pthread_mutex_lock(&tls->lock);
	if (!tls->trust)
		tls->trust = tls_client_load_trust(tls);
	trust = tls->trust;
	pthread_mutex_unlock(&tls->lock);
	return trust;
}

/* What GnuTLS has found, as a set of gnutls_certificate_status_t. */
static enum trouble tls_client_trouble(unsigned status)
{
	const unsigned dates = GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED;
	const unsigned name = GNUTLS_CERT_UNEXPECTED_OWNER;

	if (status & ~(GNUTLS_CERT_INVALID | dates | name) ||
	    status == GNUTLS_CERT_INVALID)
		return TROUBLE_tls_untrusted;
	if (status & name)
		return TROUBLE_tls_name;
	return status ? TROUBLE_tls_expired : TROUBLE_none;
}

static enum trouble tls_client_judge_chain(gnutls_x509_trust_list_t trust,
					   gnutls_x509_crt_t *chain, unsigned n,
					   const char *host)
{
	gnutls_typed_vdata_st wanted[] = {
		{ .type = GNUTLS_DT_DNS_HOSTNAME,
		  .data = (unsigned char *)(uintptr_t)host },
		{ .type = GNUTLS_DT_KEY_PURPOSE_OID,
		  .data = (unsigned char *)(uintptr_t)
			  GNUTLS_KP_TLS_WWW_SERVER },
	};
	unsigned status = GNUTLS_CERT_INVALID;

	if (gnutls_x509_trust_list_verify_crt2(trust, chain, n, wanted, 2, 0,
					       &status, NULL))
		return TROUBLE_tls_untrusted;
	return tls_client_trouble(status);
}

static enum trouble tls_client_verify(struct tls_client *tls,
				      gnutls_session_t session,
				      const char *host)
{
	gnutls_x509_trust_list_t trust = tls_client_trust_of(tls);
	gnutls_x509_crt_t chain[CHAIN_MAX];
	unsigned n = 0, have = 0;
	const gnutls_datum_t *der = gnutls_certificate_get_peers(session, &n);
	enum trouble trouble = TROUBLE_tls_untrusted;

	if (!trust || !der || !n || n > CHAIN_MAX)
		return trouble;
	for (; have < n; have++) {
		if (gnutls_x509_crt_init(&chain[have]))
			break;
		if (gnutls_x509_crt_import(chain[have], &der[have],
					   GNUTLS_X509_FMT_DER)) {
			gnutls_x509_crt_deinit(chain[have]);
			break;
		}
	}
	if (have == n)
		trouble = tls_client_judge_chain(trust, chain, n, host);
	while (have)
		gnutls_x509_crt_deinit(chain[--have]);
	return trouble;
}

/*
 * A kept connection is one to the same host and port, so what it needs to
 * remember is by whom it was found right. Its database pointer is for the
 * application, and libcurl leaves it alone.
 */
enum trouble tls_client_judge(struct tls_client *tls, void *session,
			      const char *host)
{
	void *mark = (void *)tls->id;
	enum trouble trouble;

	assert(session && host);
	assert(tls->id);
	if (tls->unverified || gnutls_db_get_ptr(session) == mark)
		return TROUBLE_none;
	trouble = tls_client_verify(tls, session, host);
	if (!trouble)
		gnutls_db_set_ptr(session, mark);
	return trouble;
}
