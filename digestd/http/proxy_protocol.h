/*
 * The header of the PROXY protocol, versions 1 and 2, with which a load
 * balancer says on behalf of whom it connects ("The PROXY protocol", haproxy
 * project, doc/proxy-protocol.txt). Bytes in, a value out.
 */
#ifndef DIGESTD_HTTP_PROXY_PROTOCOL_H
#define DIGESTD_HTTP_PROXY_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROXY_PROTOCOL_MAX = 2048 }; /* bytes; a longer header is bad */

enum proxy_protocol_event {
	PROXY_PROTOCOL_MORE,
	PROXY_PROTOCOL_DONE,
	PROXY_PROTOCOL_BAD, /* no such header, or against its rules: close */
};

enum proxy_protocol_family {
	PROXY_PROTOCOL_NONE, /* the connection's own addresses hold: LOCAL,
				UNKNOWN, or neither of the two below */
	PROXY_PROTOCOL_IPV4, /* the first 4 bytes of each address */
	PROXY_PROTOCOL_IPV6,
};

struct proxy_protocol_address {
	uint8_t bytes[16]; /* in network order */
	uint16_t port;     /* in the host's */
};

struct proxy_protocol {
	enum proxy_protocol_family family;
	struct proxy_protocol_address client, server;
	bool tls;   /* the client came by TLS; version 2 can say so */
	size_t len; /* of the header: what follows is the client's */
};

/*
 * Reads a header from the first bytes of a connection, all of them at each
 * call. Only DONE fills *p. Linear: less than PROXY_PROTOCOL_MAX bytes are
 * looked at in each call, of an incomplete header 16 (version 2) or
 * 107 (version 1).
 */
enum proxy_protocol_event proxy_protocol_read(struct proxy_protocol *p,
					      const void *at, size_t len);

#endif
