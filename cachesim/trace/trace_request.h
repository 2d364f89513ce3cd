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

/* What can go wrong. The lower part are reasons why a record is bad. */
enum trace_error {
	TRACE_OK = 0,
	TRACE_ENOMEM = -1,   /* no memory */
	TRACE_EIO = -2,	     /* reading failed; errno says why */
	TRACE_ECODING = -3,  /* the packed stream is damaged or cut */
	TRACE_EUNKNOWN = -4, /* no format recognises the trace, or its name */
	TRACE_EOPTION = -5,  /* an option outside its documented range */
	TRACE_ELONG = -6,    /* bad record: longer than the limit */
	TRACE_EFIELDS = -7,  /* bad record: fields are missing */
	TRACE_ETIME = -8,    /* bad record: no time */
	TRACE_EREQUEST = -9, /* bad record: no request line */
	TRACE_EMETHOD = -10, /* bad record: the method is no token */
	TRACE_EURL = -11,    /* bad record: no URL, or control bytes in it */
	TRACE_ESTATUS = -12, /* bad record: the status is not 100..599 */
	TRACE_ESIZE = -13,   /* bad record: the size is no number */
	TRACE_ECUT = -14,    /* bad record: the trace ends inside it */
	TRACE_EKEY = -17,    /* bad record: the key is no number */
	TRACE_EHEADER = -18, /* the columns of a CSV cannot be told */
	TRACE_EBLANKS = -19, /* a text with blanks whose format is unknown */
	TRACE_EOBJECTS = -15, /* more objects or clients than numbers */
	TRACE_ECOMPACT = -16, /* a file in the compact format is damaged */
};

/* One line of English for a code, without a full stop; never null, static. */
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
