/*
 * Network addresses: as text, and which of them are public, that is, what a
 * forward proxy may be asked to connect to without handing its own network to
 * strangers.
 */
#ifndef DIGESTD_OS_ADDRESS_H
#define DIGESTD_OS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

/*
 * Whether an IPv4 or IPv6 address is a public unicast one: not loopback,
 * private, shared, link-local, unique local, multicast, reserved, nor an IPv6
 * form that carries such an IPv4 address. Other families are not public.
 * Source: the IANA special-purpose address registries (RFC 6890).
 */
bool address_is_public(const struct sockaddr *addr);

enum { ADDRESS_TEXT_BYTES = 46 }; /* of IPv6, with the NUL */

/*
 * An IPv4 or IPv6 address as text, without port or brackets; an IPv4 one that
 * a socket for both gives is as IPv4. False: it is of another family.
 */
bool address_text(const struct sockaddr *addr, char text[ADDRESS_TEXT_BYTES]);

/* What one subscriber has to himself: of IPv6 the first 64 bits, of IPv4, also
 * as a socket for both gives it, the address. */
struct address_block {
	uint64_t high, low;
};

/* All zero for other families. */
struct address_block address_block_of(const struct sockaddr *addr);

#endif
