/*
 * Which hosts and ports offer a service: SRV records of the DNS (RFC 2782), by
 * the C library's resolver, that of /etc/resolv.conf.
 */
#ifndef DIGESTD_OS_SERVICE_RECORDS_H
#define DIGESTD_OS_SERVICE_RECORDS_H

#include <stdbool.h>

/*
 * Looks a name such as "_scd._tcp.example.org" up and calls each(arg, host,
 * port) for its records, whatever their priorities and weights. Waits: not for
 * a loop's thread. Returns 0; -ENOENT: no such name; -ENODATA: a name that has
 * no such record; -EAGAIN: no name server answers; -EBADMSG: an answer that is
 * none; -ENOMEM; -ECANCELED: each() has returned false.
 */
int service_records_read(const char *name,
			 bool (*each)(void *arg, const char *host,
				      unsigned port),
			 void *arg);

/* What such an error means. */
const char *service_records_error(int error);

#endif
