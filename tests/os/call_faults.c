/*
 * The linker sends every call of these functions here.
 */
#include "tests/os/call_faults.h"

#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/spared.h"

static const char *_Atomic failing;
static atomic_uint left; /* calls until then; 0: none will */
static atomic_int failing_error, failed;

void call_fail_at(const char *function, unsigned n, int error)
{
	atomic_store(&left, 0);
	atomic_store(&failed, 0);
	atomic_store(&failing, function);
	atomic_store(&failing_error, error);
	atomic_store(&left, n);
}

int call_failed(void)
{
	return atomic_load(&failed);
}

unsigned call_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

int call_error(void)
{
	return atomic_load(&failing_error);
}

bool call_fails(const char *function)
{
	if (!atomic_load(&left) || strcmp(function, atomic_load(&failing)) ||
	    spared() || atomic_fetch_sub(&left, 1) != 1)
		return false;
	atomic_store(&failed, 1);
	errno = atomic_load(&failing_error);
	return true;
}

/* clang-format off */
CALL_WRAPPER(int, socket, (int a, int b, int c), (a, b, c), -1)
CALL_WRAPPER(int, bind, (int a, const struct sockaddr *b, socklen_t c), (a, b, c), -1)
CALL_WRAPPER(int, listen, (int a, int b), (a, b), -1)
CALL_WRAPPER(int, setsockopt, (int a, int b, int c, const void *d, socklen_t e),
     (a, b, c, d, e), -1)
CALL_WRAPPER(int, getsockname, (int a, struct sockaddr *b, socklen_t *c), (a, b, c), -1)
CALL_WRAPPER(int, getsockopt, (int a, int b, int c, void *d, socklen_t *e),
     (a, b, c, d, e), -1)
CALL_WRAPPER(int, accept4, (int a, struct sockaddr *b, socklen_t *c, int d),
     (a, b, c, d), -1)
CALL_WRAPPER(int, connect, (int a, const struct sockaddr *b, socklen_t c),
     (a, b, c), -1)
CALL_WRAPPER(ssize_t, recv, (int a, void *b, size_t c, int d), (a, b, c, d), -1)
CALL_WRAPPER(ssize_t, send, (int a, const void *b, size_t c, int d),
     (a, b, c, d), (shutdown(a, SHUT_RDWR), -1)) /* as when the peer is gone */
CALL_WRAPPER(ssize_t, sendmsg, (int a, const struct msghdr *b, int c), (a, b, c), -1)
CALL_WRAPPER(ssize_t, sendfile, (int a, int b, off_t *c, size_t d), (a, b, c, d), -1)
CALL_WRAPPER(int, memfd_create, (const char *a, unsigned b), (a, b), -1)
CALL_WRAPPER(int, eventfd, (unsigned a, int b), (a, b), -1)
CALL_WRAPPER(int, epoll_create1, (int a), (a), -1)
CALL_WRAPPER(int, epoll_wait, (int a, struct epoll_event *b, int c, int d),
     (a, b, c, d), -1)
CALL_WRAPPER(ssize_t, read, (int a, void *b, size_t c), (a, b, c), -1)
CALL_WRAPPER(ssize_t, write, (int a, const void *b, size_t c), (a, b, c), -1)
CALL_WRAPPER(FILE *, fopen, (const char *a, const char *b), (a, b), NULL)
CALL_WRAPPER(int, fclose, (FILE *a), (a), (__real_fclose(a), EOF))
CALL_WRAPPER(int, rename, (const char *a, const char *b), (a, b), -1)
CALL_WRAPPER(int, fsync, (int a), (a), -1)
CALL_WRAPPER(int, fstat, (int a, struct stat *b), (a, b), -1)
CALL_WRAPPER(int, ftruncate, (int a, off_t b), (a, b), -1)
CALL_WRAPPER(int, mkdir, (const char *a, mode_t b), (a, b), -1)
CALL_WRAPPER(int, mkdirat, (int a, const char *b, mode_t c), (a, b, c), -1)
CALL_WRAPPER(int, flock, (int a, int b), (a, b), -1)
CALL_WRAPPER(DIR *, fdopendir, (int a), (a), NULL)
CALL_WRAPPER(ssize_t, pread, (int a, void *b, size_t c, off_t d), (a, b, c, d),
	     -1)
CALL_WRAPPER(pid_t, fork, (void), (), -1)
CALL_WRAPPER(pid_t, waitpid, (pid_t a, int *b, int c), (a, b, c), -1)
CALL_WRAPPER(int, posix_fallocate, (int a, off_t b, off_t c), (a, b, c), errno)
CALL_WRAPPER(int, pthread_create, (pthread_t *a, const pthread_attr_t *b,
			   void *(*c)(void *), void *d), (a, b, c, d), errno)
CALL_WRAPPER(int, getaddrinfo, (const char *a, const char *b,
			const struct addrinfo *c, struct addrinfo **d),
     (a, b, c, d), EAI_SYSTEM)
/* clang-format on */

/* What is watched can always be removed, and is freed by who does: the kernel
 * needs no memory for it, and refuses only descriptors that are not there. */
int __real_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
	return what != EPOLL_CTL_DEL && call_fails("epoll_ctl") ?
		       -1 : __real_epoll_ctl(epoll, what, fd, event);
}

/* As the C library has it: the mode is looked at with O_CREAT only. */
int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
	return call_fails("open") ? -1 : __real_open(path, flags, mode);
}

/* One that fails has closed it all the same. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int err = __real_close(fd);

	return call_fails("close") ? -1 : err;
}

int __real_openat(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode)
{
	return call_fails("openat") ? -1 :
				      __real_openat(folder, path, flags, mode);
}
