/*
 * What is asked for most, of a stream of access records: the algorithm
 * Space-Saving (Metwally, Agrawal, El Abbadi, 2005), which keeps a fixed number
 * of URLs, over a window that fades.
 *
 * A new URL takes the place of the one that has the fewest requests, with that
 * number as its possible error; what is shown leaves the error out. So a flood
 * of URLs that come once shows nothing, and each URL that has more than one
 * request of HOT_URLS is there. A record costs a look at HOT_URLS words.
 */
#ifndef DIGESTD_CTL_HOT_URLS_H
#define DIGESTD_CTL_HOT_URLS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum {
	HOT_URLS = 256,
	HOT_URL_BYTES = 512, /* of a URL are kept, with the 0 */
	HOT_SOURCE_BYTES = 16,
	HOT_URLS_FADE_S = 5, /* after which e times less counts */
};

struct hot_url {
	double requests, error, bytes;
	char url[HOT_URL_BYTES];
	char source[HOT_SOURCE_BYTES]; /* of the last reply */
};

struct hot_urls {
	unsigned n;
	uint64_t hashes[HOT_URLS]; /* of whole URLs */
	struct hot_url at[HOT_URLS];
	/* in the same window; requests: with those that have no record */
	double records, requests, seconds;
};

/* Adds a record, a line of JSON as access_log_format "json" has it; what is
 * none is left out. */
void hot_urls_add(struct hot_urls *h, const char *line, size_t len);

/*
 * Ends a frame of so many seconds, in which the node had so many requests: what
 * was added counts in proportion to all of them, also where records are a
 * sample or some were missed. To be called before what is shown.
 */
void hot_urls_end_frame(struct hot_urls *h, double requests, double seconds);

/* Fades what there is by so many seconds, for the next frame. */
void hot_urls_fade(struct hot_urls *h, double seconds);

/* Prints an empty line, a head and at most so many rows, the most frequent
 * first; nothing where there is none. */
void hot_urls_print(const struct hot_urls *h, unsigned most, FILE *to);

/* The same as an array; null without memory. */
json_t *hot_urls_json(const struct hot_urls *h, unsigned most);

#endif
