/*
 * One request of a trace, and the errors of everything that makes requests
 * out of bytes. Every format and the generator fill the same structure; what
 * a format does not know it leaves at the stated neutral value.
 *
 * Texts are borrowed: they live until the next request is read from the same
 * source. Hashes are XXH3-64 of the text, the same on every machine.
 */
#ifndef TRACE_TRACE_REQUEST_H
#define TRACE_TRACE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/error.h"

/* A borrowed run of bytes, without a terminating NUL. */
struct trace_text {
	const char *at;
	size_t len;
};

struct trace_request {
	int64_t time_ms;	   /* since the epoch; 0 when unknown */
	uint64_t client;	   /* hash of the client's name; 0: no client */
	uint64_t key;		   /* hash of the URL, or the trace's key */
	uint64_t size;		   /* body [bytes]; 0 unless has_size */
	uint64_t version;	   /* of the object's content; 0: unknown */
	struct trace_text name;	   /* the client; empty: no client */
	struct trace_text url;	   /* absolute, or the key of the trace */
	struct trace_text method;  /* "GET" when the trace names none */
	unsigned status;	   /* HTTP status, 100..599; 0: unknown */
	bool has_size;
};

/* What a cache may do with a request: see trace/cacheable.h. */
enum trace_class {
	TRACE_CACHEABLE = 0, /* its response may be stored */
	TRACE_UNCACHEABLE,   /* it passes to the origin */
	TRACE_UNSAFE,	     /* the same, and its object is not valid then */
};

/*
 * The same in short, for those who read many at a time: what a simulation
 * needs of a request. The name lives until the next rows are read.
 */
struct trace_row {
	uint64_t key, client;	/* as in a request */
	uint64_t size;		/* [bytes]; 0 unless has_size */
	uint64_t version;	/* of the object's content; 0: unknown */
	int64_t time_ms;
	struct trace_text name; /* of the client */
	uint16_t status;
	uint8_t class; /* of enum trace_class */
	bool has_size;
};

/*
 * What can go wrong beside the errors of libscd, a row each: name, number, text
 * for people. Numbers lie beyond those of scd_error, so that a code says whose
 * it is. From ELONG to EKEY they are reasons why a record is bad.
 */
/* clang-format off */
#define TRACE_ERRORS(X) \
	X(EIO,       -102, "cannot read") \
	X(ECODING,   -103, "the compressed stream is damaged or cut") \
	X(EUNKNOWN,  -104, "not a known trace format") \
	X(EOPTION,   -105, "unknown option or value out of range") \
	X(ELONG,     -106, "line too long") \
	X(EFIELDS,   -107, "fields are missing") \
	X(ETIME,     -108, "no valid time") \
	X(EREQUEST,  -109, "no request line") \
	X(EMETHOD,   -110, "not a method") \
	X(EURL,      -111, "not a URL") \
	X(ESTATUS,   -112, "not an HTTP status") \
	X(ESIZE,     -113, "not a size") \
	X(ECUT,      -114, "the trace ends inside a record") \
	X(EKEY,      -117, "the key is not a number") \
	X(EHEADER,   -118, "the columns are not known") \
	X(EBLANKS,   -119, "lines with blanks, in no known format; name it with --trace-type and --trace-type-params, as in --trace-type csv --trace-type-params delimiter=space,time=1,url=3") \
	X(EOBJECTS,  -115, "more objects or clients than 2^32 - 1") \
	X(ECOMPACT,  -116, "the compact trace is damaged")
/* clang-format on */

enum trace_error {
	TRACE_OK = 0,
	TRACE_ENOMEM = SCD_ENOMEM,
#define X(name, number, text) TRACE_##name = number,
	TRACE_ERRORS(X)
#undef X
};

/* One line of English for a code, also of libscd, without a full stop; never
 * null, static. */
const char *trace_strerror(int code);

/* XXH3-64 of len bytes; what the client and key of a request are made with. */
uint64_t trace_hash(const char *at, size_t len);

/* Makes a request neutral: no time, client, size or status; method "GET". */
void trace_request_clear(struct trace_request *req);

/* Sets the client's name and its hash. An empty name or "-" is no client. */
void trace_request_client(struct trace_request *req, struct trace_text name);

/*
 * A version out of what a trace calls it: a time of modification, an entity
 * tag, a number. 0, which is none, for an empty one or "-".
 */
uint64_t trace_version(struct trace_text name);

/* Sets the URL and the key that is its hash. */
void trace_request_url(struct trace_request *req, struct trace_text url);

#endif
