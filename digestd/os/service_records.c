/*
 * SRV records.
 */
#include "digestd/os/service_records.h"

#include <arpa/nameser.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

enum {
	ANSWER_BYTES = 65536, /* the largest message there is */
	PORT_AT = 4,          /* behind priority and weight */
	TARGET_AT = 6,
};

/* Tells of one record; a target of "." says that there is no such service. */
static int service_records_take(ns_msg *message, const ns_rr *rr,
				bool (*each)(void *arg, const char *host,
					     unsigned port),
				void *arg)
{
	const unsigned char *data = ns_rr_rdata(*rr);
	char host[NS_MAXDNAME];

	if (ns_rr_rdlen(*rr) <= TARGET_AT ||
	    dn_expand(ns_msg_base(*message), ns_msg_end(*message),
		      data + TARGET_AT, host, sizeof(host)) < 0)
		return -EBADMSG;
	if (!*host || !strcmp(host, "."))
		return 0;
	return each(arg, host, ns_get16(data + PORT_AT)) ? 0 : -ECANCELED;
}

/* What the answer of a name server has. */
static int service_records_parse(const unsigned char *answer, int len,
				 bool (*each)(void *arg, const char *host,
					      unsigned port),
				 void *arg)
{
	ns_msg message;
	ns_rr rr;
	int n, err = 0;
	unsigned found = 0;

	if (ns_initparse(answer, len, &message))
		return -EBADMSG;
	n = ns_msg_count(message, ns_s_an);
	for (int i = 0; i < n && !err; i++) {
		if (ns_parserr(&message, ns_s_an, i, &rr))
			return -EBADMSG;
		if (ns_rr_type(rr) != ns_t_srv)
			continue; /* an alias on the way */
		err = service_records_take(&message, &rr, each, arg);
		found++;
	}
	return err ? err : found ? 0 : -ENODATA;
}

/* Why a query has failed, from the resolver's word for it. */
static int service_records_fault(int word)
{
	switch (word) {
	case HOST_NOT_FOUND:
		return -ENOENT;
	case NO_DATA:
		return -ENODATA;
	default:
		return -EAGAIN;
	}
}

int service_records_read(const char *name,
			 bool (*each)(void *arg, const char *host,
				      unsigned port),
			 void *arg)
{
	unsigned char *answer = malloc(ANSWER_BYTES);
	struct __res_state state;
	int len, err;

	memset(&state, 0, sizeof(state));
	if (!answer || res_ninit(&state)) {
		free(answer);
		return -ENOMEM;
	}
	len = res_nquery(&state, name, ns_c_in, ns_t_srv, answer, ANSWER_BYTES);
	if (len < 0)
		err = service_records_fault(state.res_h_errno);
	else
		err = service_records_parse(answer, len, each, arg);
	res_nclose(&state);
	free(answer);
	return err;
}

const char *service_records_error(int error)
{
	assert(error < 0);
	switch (error) {
	case -ENOENT:
		return "no such name";
	case -ENODATA:
		return "the name has no SRV record";
	case -EAGAIN:
		return "no name server answers";
	case -EBADMSG:
		return "a name server's answer makes no sense";
	default:
		return strerror(-error);
	}
}
