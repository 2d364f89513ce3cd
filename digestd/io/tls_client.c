/*
 * TLS of fetches: PEM files, checked, and copied into files in memory.
 */
#include "config.h"
#include "digestd/io/tls_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "digestd/io/tls_pem.h"

/*
 * The names are those of descriptors. Numbers are taken in turn from a range,
 * so that one is not had again soon after it was closed.
 */
enum { FIRST_FD = 64, FD_RANGE = 256, NFILES = 3 };

struct tls_client {
	atomic_uint users;
	struct tls_pem pem;
	enum tls_version oldest;
	bool unverified;
	struct {
		int fd; /* -1: not given */
		char path[32];
	} files[NFILES];
};

static int write_all(int fd, const gnutls_datum_t *data)
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
static int copy(const gnutls_datum_t *data)
{
	static atomic_uint turn;
	unsigned next = atomic_fetch_add(&turn, 1) % FD_RANGE;
	int raw = memfd_create("digestd-tls", MFD_CLOEXEC);
	int fd, err;

	if (raw < 0)
		return -errno;
	fd = fcntl(raw, F_DUPFD_CLOEXEC, FIRST_FD + (int)next);
	err = fd < 0 ? -errno : write_all(fd, data);
	close(raw);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

static int copy_all(struct tls_client *tls)
{
	const gnutls_datum_t *data[NFILES] = {
		[TLS_CERTIFICATE] = &tls->pem.certificate,
		[TLS_KEY] = &tls->pem.key,
		[TLS_AUTHORITIES] = &tls->pem.authorities,
	};

	for (unsigned i = 0; i < NFILES; i++) {
		if (!data[i]->size)
			continue;
		tls->files[i].fd = copy(data[i]);
		if (tls->files[i].fd < 0)
			return tls->files[i].fd;
		snprintf(tls->files[i].path, sizeof(tls->files[i].path),
			 "/proc/self/fd/%d", tls->files[i].fd);
	}
	return 0;
}

int tls_client_new(const struct tls_files *files, struct tls_client **out,
		   struct tls_fault *fault)
{
	gnutls_certificate_credentials_t check = NULL;
	struct tls_client *tls = calloc(1, sizeof(*tls));
	int err;

	if (!tls || gnutls_certificate_allocate_credentials(&check)) {
		free(tls);
		return -ENOMEM;
	}
	atomic_init(&tls->users, 1);
	tls->oldest = files->oldest;
	tls->unverified = files->unverified;
	for (unsigned i = 0; i < NFILES; i++)
		tls->files[i].fd = -1;
	err = tls_pem_load(&tls->pem, files, check, fault);
	gnutls_certificate_free_credentials(check);
	if (!err)
		err = copy_all(tls);
	if (err) {
		tls_client_unref(tls);
		return err;
	}
	*out = tls;
	return 0;
}

struct tls_client *tls_client_ref(struct tls_client *tls)
{
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
	return *tls->files[file].path ? tls->files[file].path : NULL;
}

enum tls_version tls_client_oldest(const struct tls_client *tls)
{
	return tls->oldest;
}

bool tls_client_verifies(const struct tls_client *tls)
{
	return !tls->unverified;
}
