/*
 * Ways to fetch: what stands behind fetch.h. A way is a file, and a row in the
 * table of fetch.c: the first that takes a request gets it.
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

/* As the functions of fetch.h do. */
struct fetch_way {
	int (*open)(struct loop *loop, unsigned max_per_host,
		    struct fetch_means **out);
	void (*close)(struct fetch_means *means); /* null is allowed */
	void (*public_only)(struct fetch_means *means);
	bool (*takes)(const struct fetch_request *request);
	int (*start)(struct fetch_means *means,
		     const struct fetch_request *request,
		     const struct fetch_callbacks *callbacks, void *arg,
		     struct fetch **out);
	void (*resume)(struct fetch *f);
	void (*resume_upload)(struct fetch *f);
	void (*cancel)(struct fetch *f);
};

/* HTTP/1.1 without a library between: GET and HEAD to http. */
extern const struct fetch_way fetch_way_plain;

/* libcurl: GET and HEAD to any server. */
extern const struct fetch_way fetch_way_curl;

/*
 * libcurl: everything, on connections of its own, which are used again within
 * a second or closed. What is not idempotent, or has a body, is sent once.
 */
extern const struct fetch_way fetch_way_once;

/* Once in a process, before there are threads. Returns 0 or -ENOMEM. */
int fetch_curl_global_init(void);

/*
 * Whether a field of a request is the client's own to write: how the message
 * is framed, what becomes of the connection.
 */
bool fetch_is_framing(const char *name);

#endif
