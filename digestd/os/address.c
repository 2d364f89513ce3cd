/*
 * Which network addresses are public: two tables of prefixes that are not.
 */
#include "digestd/os/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct prefix4 {
	uint32_t net;
	unsigned bits;
};

struct prefix6 {
	uint8_t net[16];
	unsigned bits;
	int embeds; /* where an IPv4 address is inside; -1: nowhere, refuse */
};

/* clang-format off */
static const struct prefix4 special4[] = {
	{ 0x00000000,  8 }, /* 0.0.0.0/8        this network */
	{ 0x0a000000,  8 }, /* 10.0.0.0/8       private */
	{ 0x64400000, 10 }, /* 100.64.0.0/10    shared */
	{ 0x7f000000,  8 }, /* 127.0.0.0/8      loopback */
	{ 0xa9fe0000, 16 }, /* 169.254.0.0/16   link-local */
	{ 0xac100000, 12 }, /* 172.16.0.0/12    private */
	{ 0xc0000000, 24 }, /* 192.0.0.0/24     protocol assignments */
	{ 0xc0000200, 24 }, /* 192.0.2.0/24     documentation */
	{ 0xc0586300, 24 }, /* 192.88.99.0/24   6to4 relays */
	{ 0xc0a80000, 16 }, /* 192.168.0.0/16   private */
	{ 0xc6120000, 15 }, /* 198.18.0.0/15    benchmarks */
	{ 0xc6336400, 24 }, /* 198.51.100.0/24  documentation */
	{ 0xcb007100, 24 }, /* 203.0.113.0/24   documentation */
	{ 0xe0000000,  3 }, /* 224.0.0.0/3      multicast, reserved */
};

static const struct prefix6 special6[] = {
	{ { [10] = 0xff, 0xff }, 96, 12 },             /* ::ffff:0:0/96 */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12 },        /* 64:ff9b::/96 */
	{ { 0x20, 0x02 }, 16, 2 },                     /* 6to4 */
	{ { 0 }, 8, -1 },                              /* ::, ::1, reserved */
	{ { 0x00, 0x64, 0xff, 0x9b, 0, 1 }, 48, -1 },  /* local NAT64 */
	{ { 0x01 }, 8, -1 },                           /* discard, reserved */
	{ { 0x20, 0x01 }, 23, -1 },                    /* Teredo, protocols */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, -1 },        /* documentation */
	{ { 0xfc }, 7, -1 },                           /* unique local */
	{ { 0xfe, 0x80 }, 10, -1 },                    /* link-local */
	{ { 0xfe, 0xc0 }, 10, -1 },                    /* site-local */
	{ { 0xff }, 8, -1 },                           /* multicast */
};
/* clang-format on */

static bool address_public4(uint32_t addr)
{
	for (size_t i = 0; i < sizeof(special4) / sizeof(special4[0]); i++) {
		uint32_t mask = ~(uint32_t)0 << (32 - special4[i].bits);

		if ((addr & mask) == special4[i].net)
			return false;
	}
	return true;
}

static bool address_starts_with(const uint8_t *addr, const struct prefix6 *p)
{
	unsigned bytes = p->bits / 8, rest = p->bits % 8;
	unsigned mask = 0xff00u >> rest & 0xff;

	return !memcmp(addr, p->net, bytes) &&
	       (!rest || (addr[bytes] & mask) == p->net[bytes]);
}

static uint32_t address_load_be32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return ntohl(v);
}

static bool address_public6(const uint8_t *addr)
{
	for (size_t i = 0; i < sizeof(special6) / sizeof(special6[0]); i++) {
		const struct prefix6 *p = &special6[i];

		if (address_starts_with(addr, p))
			return p->embeds >= 0 &&
			       address_public4(
				       address_load_be32(addr + p->embeds));
	}
	return true;
}

bool address_is_public(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return address_public4(
			ntohl(((const struct sockaddr_in *)(const void *)addr)
				      ->sin_addr.s_addr));
	case AF_INET6:
		return address_public6(
			((const struct sockaddr_in6 *)(const void *)addr)
				->sin6_addr.s6_addr);
	default:
		return false;
	}
}

static char *address_write_byte(unsigned byte, char *text)
{
	if (byte >= 100)
		*text++ = (char)('0' + byte / 100);
	if (byte >= 10)
		*text++ = (char)('0' + byte / 10 % 10);
	*text++ = (char)('0' + byte % 10);
	return text;
}

/* inet_ntop() does it with sprintf(), and once for each miss. */
static void address_write4(const uint8_t *bytes, char *text)
{
	for (int i = 0; i < 4; i++) {
		text = address_write_byte(bytes[i], text);
		*text++ = i < 3 ? '.' : '\0';
	}
}

bool address_text(const struct sockaddr *addr, char text[ADDRESS_TEXT_BYTES])
{
	const struct sockaddr_in *four = (const void *)addr;
	const struct sockaddr_in6 *six = (const void *)addr;

	assert(addr);
	if (addr->sa_family == AF_INET)
		address_write4((const uint8_t *)&four->sin_addr, text);
	else if (addr->sa_family != AF_INET6)
		return false;
	else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		address_write4(six->sin6_addr.s6_addr + 12, text);
	else
		return inet_ntop(AF_INET6, &six->sin6_addr, text,
				 ADDRESS_TEXT_BYTES);
	return true;
}

struct address_block address_block_of(const struct sockaddr *addr)
{
	const struct sockaddr_in *four = (const void *)addr;
	const struct sockaddr_in6 *six = (const void *)addr;
	struct address_block block = { 0, 0 };
	uint32_t mapped;

	if (addr->sa_family == AF_INET) {
		block.low = four->sin_addr.s_addr;
	} else if (addr->sa_family == AF_INET6) {
		memcpy(&block.high, six->sin6_addr.s6_addr, sizeof(block.high));
		memcpy(&mapped, six->sin6_addr.s6_addr + 12, sizeof(mapped));
		if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
			block.low = mapped;
	}
	return block;
}
