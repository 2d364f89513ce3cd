/*
 * Who a request comes from, told to the origin, which sees only this node.
 *
 *	for		X-Forwarded-For: the client's address behind what the
 *			field has already, as Varnish does by itself
 *	x-forwarded	that, and X-Forwarded-Proto and X-Forwarded-Host in
 *			place of what the client may have sent: for the node
 *			that clients connect to
 *	forwarded	Forwarded: for=...;host=...;proto=... behind what the
 *			field has already
 *
 * Source: RFC 7239; the other names are nobody's standard, and everybody's.
 */
#ifndef DIGESTD_HTTP_FORWARDED_H
#define DIGESTD_HTTP_FORWARDED_H

#include <stdbool.h>
#include <stddef.h>

struct fields;

enum forwarded {
	FORWARDED_NOTHING,
	FORWARDED_FOR,
	FORWARDED_X,
	FORWARDED_STANDARD,
};

/* Their names, in this order; a null ends them. */
extern const char *const forwarded_names[];

/* Reads a name; false: it is none of them. */
bool forwarded_read(const char *name, enum forwarded *out);

/*
 * Whether a field says where a request comes from, by which scheme, or what it
 * was before somebody rewrote it: Forwarded, X-Forwarded-*, X-Original-*,
 * X-Rewrite-*, X-Real-IP and the like. Origins build answers from them, and
 * keys have none of it, so whoever may send them chooses what others get. "_"
 * counts as "-", which is the same to CGI and to what is modelled on it.
 */
bool forwarded_is_claim(const char *name, size_t len);

/*
 * Sets *https to the scheme that the nearest proxy names, in X-Forwarded-Proto
 * or else in Forwarded; leaves it alone where that is neither http nor https.
 */
void forwarded_scheme(const struct fields *request, bool *https);

/* What is done with what a client says of that. */
enum forwarded_trust {
	FORWARDED_DROP,    /* its claims, for it is not trusted */
	FORWARDED_PASS,    /* them on: nobody was named to be trusted */
	FORWARDED_BELIEVE, /* it is one of the proxies that are */
};

/* Takes in the fields of a request, and the scheme by which its client came. */
void forwarded_admit(enum forwarded_trust trust, struct fields *request,
		     bool *https);

/* How a request came in. */
struct forwarded_by {
	const char *address; /* the client's, an IPv6 one without brackets;
				null: nobody asks */
	const char *host;    /* that it asked for */
	bool https;          /* the scheme, as in the key of the response */
};

/* Tells it in the fields of a request. Returns 0 or -ENOMEM. */
int forwarded_add(enum forwarded how, const struct forwarded_by *by,
		  struct fields *request);

#endif
