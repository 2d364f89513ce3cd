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
#ifndef DIGESTD_CORE_FORWARDED_H
#define DIGESTD_CORE_FORWARDED_H

#include <stdbool.h>

struct fields;

enum forwarded {
	FORWARDED_NOTHING,
	FORWARDED_FOR,
	FORWARDED_X,
	FORWARDED_STANDARD,
};

/* Reads "none", "for", "x-forwarded" or "forwarded"; false: none of them. */
bool forwarded_read(const char *name, enum forwarded *out);

/* How a request came in. */
struct forwarded_by {
	const char *address; /* the client's, an IPv6 one without brackets */
	const char *host;    /* that it asked for */
	bool tls;
};

/* Tells it in the fields of a request. Returns 0 or -ENOMEM. */
int forwarded_add(enum forwarded how, const struct forwarded_by *by,
		  struct fields *request);

#endif
