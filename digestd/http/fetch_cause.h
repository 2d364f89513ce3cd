/*
 * Why a fetch has failed, in the words of whoever runs the server that it was
 * from: for logs and metrics. What follows from it goes by fetch_result.h.
 */
#ifndef DIGESTD_HTTP_FETCH_CAUSE_H
#define DIGESTD_HTTP_FETCH_CAUSE_H

#include "digestd/http/fetch_result.h"

/* X(name, text) */
/* clang-format off */
#define FETCH_CAUSES(X) \
	X(none,            "it has not failed") \
	X(refused,         "it refuses connections") \
	X(no_such_name,    "there is no such name") \
	X(name_server,     "its name cannot be looked up: no name server answers") \
	X(unreachable,     "it cannot be reached") \
	X(connect_timeout, "no connection within origin_connect_timeout") \
	X(answer_timeout,  "no answer within origin_timeout, or no more of it " \
			   "within origin_stall") \
	X(hung_up,         "it hung up without an answer") \
	X(cut_off,         "its answer broke off") \
	X(not_http,        "no valid answer") \
	X(no_tls,          "there is no TLS with it") \
	X(certificate,     "its certificate is not trusted") \
	X(private_address, "its address is not public, see forward_private") \
	X(descriptors,     "no descriptor is left here") \
	X(memory,          "no memory is left here")
/* clang-format on */

enum fetch_cause {
#define X(name, text) FETCH_CAUSE_##name,
	FETCH_CAUSES(X)
#undef X
	FETCH_CAUSE_COUNT
};

/* What a result alone says of it. */
enum fetch_cause fetch_cause_of_result(enum fetch_result result);

/* Its name, for a label, and what it says. Both static. */
const char *fetch_cause_name(enum fetch_cause cause);
const char *fetch_cause_text(enum fetch_cause cause);

#endif
