/*
 * Lists of addresses and prefixes: "192.0.2.1, 10.0.0.0/8, 2001:db8::/32"; and
 * "unix:", which are all UNIX sockets.
 */
#ifndef DIGESTD_OS_ADDRESS_PREFIX_H
#define DIGESTD_OS_ADDRESS_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;

enum { ADDRESS_PREFIXES_MAX = 64 };

struct address_prefix {
	uint8_t bytes[16]; /* an IPv4 one as ::ffff:a.b.c.d */
	unsigned nbits;    /* of them that count */
	bool local;        /* it is "unix:" instead */
};

struct address_prefixes {
	size_t count;
	struct address_prefix at[ADDRESS_PREFIXES_MAX];
};

/*
 * Reads a list, its members apart by commas, blanks or both; null or "" is an
 * empty one. False: one of them is no address or has bits behind its prefix,
 * or there are too many.
 */
bool address_prefixes_read(const char *text, struct address_prefixes *out);

/* The first member of a list that is no address, of *len bytes; null: of a list
 * that is read, or too long. */
const char *address_prefixes_bad(const char *text, size_t *len);

/* Whether an address is one of the list: an IPv4 one in either form, or that of
 * a UNIX socket. */
bool address_prefixes_have(const struct address_prefixes *list,
			   const struct sockaddr *addr);

#endif
