/*
 * Why a request is refused before anything is done for it: what servers count
 * and log. Each reason has a status of its own.
 */
#ifndef DIGESTD_HTTP_REFUSAL_H
#define DIGESTD_HTTP_REFUSAL_H

/* X(name, status, what it says of the request) */
/* clang-format off */
#define REFUSALS(X) \
	X(malformed,   400, "two readers could understand it in two ways, or nobody could") \
	X(forbidden,   403, "its client is not in the list of addresses that may ask, connect or purge, or its target is none that this proxy serves") \
	X(slow,        408, "it did not come in time") \
	X(body_size,   413, "its body is larger than max_upload_size") \
	X(target_size, 414, "its target is too long") \
	X(expectation, 417, "it expects what nobody knows") \
	X(host,        421, "its host has no origin here") \
	X(rate,        429, "its client asks more often than client_rate allows") \
	X(header_size, 431, "its header is larger than max_header_size, or has too many fields") \
	X(unsupported, 501, "its method or its coding is not known here") \
	X(version,     505, "it is not HTTP/1, or HTTP/2 where that is not spoken") \
	X(loop,        508, "it has been at this node before")
/* clang-format on */

enum refusal {
#define X(name, status, what) REFUSAL_##name,
	REFUSALS(X)
#undef X
	REFUSAL_COUNT
};

/* The reason that has a status; REFUSAL_COUNT: none has. */
enum refusal refusal_of_status(unsigned status);

/* Its name, as a label of metrics; static. */
const char *refusal_name(enum refusal refusal);

#endif
