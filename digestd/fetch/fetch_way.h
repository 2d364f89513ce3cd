/*
 * Ways to fetch: what stands behind fetch.h. A way is a file, and a row in the
 * table of fetch.c, by what a fetcher is for.
 *
 * What comes to start() has been looked at: the method and the names of fields
 * are tokens, nothing holds CR or LF, the target no blanks.
 */
#ifndef DIGESTD_FETCH_FETCH_WAY_H
#define DIGESTD_FETCH_FETCH_WAY_H

#include <stdbool.h>

#include "digestd/fetch/fetch.h"

/* What every fetch begins with, whatever its way. */
struct fetch {
	const struct fetch_way *way;
	struct fetch *next, **link; /* of its means; link null: not listed */
};

/* Lists a fetch among those of its means, and takes it off (idempotent). */
void fetch_list(struct fetch **list, struct fetch *f);
void fetch_unlist(struct fetch *f);

/* A fetcher's part of one way; each has a structure of its own. */
struct fetch_means;
struct field;
struct fields;

/* As the functions of fetch.h do. */
struct fetch_way {
	int (*open)(struct loop *loop, unsigned max_per_host,
		    struct fetch_means **out);
	void (*close)(struct fetch_means *means); /* null is allowed */
	void (*public_only)(struct fetch_means *means);
	/* null: there is nothing to be had before it is asked for */
	void (*warm)(struct fetch_means *means, const char *url,
		     struct tls_client *tls, unsigned connect_ms, unsigned n);
	int (*start)(struct fetch_means *means,
		     const struct fetch_request *request,
		     const struct fetch_callbacks *callbacks, void *arg,
		     struct fetch **out);
	int (*take_fields)(struct fetch *f, struct fields *fields); /* null: it
								       cannot */
	void (*lift_total)(struct fetch *f);
	void (*resume)(struct fetch *f);
	void (*resume_upload)(struct fetch *f); /* null: there is none */
	unsigned (*connect_ms)(const struct fetch *f); /* null: not known */
	unsigned (*trip_ms)(struct fetch *f); /* null: not known */
	bool (*is_sent)(const struct fetch *f); /* null: not known */
	void (*cancel)(struct fetch *f);
};

/* HTTP/1.1 without a library between, with all that fetch.h offers. */
extern const struct fetch_way fetch_way_http;

/* libcurl: requests without a body, and no interim responses. */
extern const struct fetch_way fetch_way_curl;

/* Once in a process, before there are threads. Returns 0 or -ENOMEM. */
int fetch_curl_global_init(void);

/*
 * Whether a field of a request is the client's own to write: how the message
 * is framed, what becomes of the connection.
 */
bool fetch_is_framing(const struct field *field);

/* Whether a request may be sent twice if need be: its method is safe (RFC 9110,
 * 9.2.1). That PUT and DELETE are idempotent is the origin's promise, which not
 * all keep. */
bool fetch_is_safe(const char *method);

/* Whether the server is asked to say that it wants the body (RFC 9110, 10.1.1):
 * there is one, and its fields say so. */
bool fetch_expects_continue(const struct fetch_request *request);

#endif
