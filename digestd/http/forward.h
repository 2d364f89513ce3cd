/*
 * What a proxy changes in messages that pass through it (RFC 9110, 7.6).
 */
#ifndef DIGESTD_HTTP_FORWARD_H
#define DIGESTD_HTTP_FORWARD_H

#include <stdbool.h>
#include <stdint.h>

struct fields;
struct httpdate_last;

/* How a request reached this node, and where it goes. */
struct forward_request {
	const char *node;  /* this node's name */
	const char *host;  /* Host of the request to send */
	unsigned minor;    /* HTTP/1.minor of the request received */
	bool http2;        /* by HTTP/2, which is like 1.1 otherwise */
	const struct fields *marks; /* of the node, see via_marks_make(): they
				       live longer than the request to send;
				       null: they are made for it */
};

/*
 * The fields of a request to send to an origin: hop-by-hop fields and proxy
 * credentials dropped, and Expect of HTTP/1.0; Host set, Via and CDN-Loop
 * appended, the rest as it came. *out is overwritten; text that it has of
 * `request` stays there, see fields_lend(). Returns 0 or -ENOMEM.
 */
int forward_to_origin(const struct fields *request,
		      const struct forward_request *how, struct fields *out);

/*
 * The fields of a request to a peer: as to an origin, without the client's
 * preconditions, with Cache-Control: only-if-cached in place of its own, and
 * with Proxy-Authorization: Bearer token, unless it is null. A 504 then means
 * that the peer holds nothing fresh, whatever the client would have liked to be
 * fresh enough. What nodes alone say to each other is dropped, and who the
 * request has passed.
 * Returns 0 or -ENOMEM.
 */
int forward_to_peer(const struct fields *request,
		    const struct forward_request *how, const char *token,
		    struct fields *out);

/*
 * Makes the fields of a response those with which it is stored and sent on:
 * hop-by-hop fields are dropped, Date is added where it is missing (RFC 9110,
 * 6.6.1), or empty, and then remembered. Returns 0, or -ENOMEM and an empty
 * list.
 */
int forward_response(struct fields *response, int64_t now_s,
		     struct httpdate_last *dates);

#endif
