/*
 * Set-Cookie in responses that are stored, and so go to everybody.
 *
 * What a response withholds is in it for the client that caused it, and never
 * in what is stored: Set-Cookie, unless that is allowed, and the fields that
 * no-cache="..." and private="..." name.
 */
#ifndef DIGESTD_HTTP_SETCOOKIE_H
#define DIGESTD_HTTP_SETCOOKIE_H

#include <stdbool.h>

struct fields;
struct response_facts;

enum set_cookie {
	SET_COOKIE_REFUSE, /* a response that has one is not stored */
	SET_COOKIE_STRIP,  /* it loses it, for all clients */
	SET_COOKIE_ALLOW,  /* it is stored with it */
};

/* Their names, in this order; a null ends them. */
extern const char *const setcookie_names[];

/* Reads a name; false: it is none of them. */
bool setcookie_read(const char *name, enum set_cookie *out);

/* Whether a response must not be stored for its Set-Cookie. */
bool setcookie_refuses(const struct response_facts *facts);

/*
 * Makes *withheld, which is overwritten, the lines of a response that are kept
 * out of what is stored, in their order; nearly all have none. Their text stays
 * the response's. Returns 0 or -ENOMEM.
 */
int setcookie_withheld(const struct response_facts *facts,
		       struct fields *withheld);

/* Makes *shared, which is overwritten, the other lines, in their order; their
 * text stays the response's, too. Returns 0 or -ENOMEM. */
int setcookie_shared(const struct fields *response,
		     const struct fields *withheld, struct fields *shared);

/* Adds copies of those withheld to what was stored without. Returns 0 or
 * -ENOMEM. */
int setcookie_add_withheld(const struct fields *withheld, struct fields *f);

#endif
