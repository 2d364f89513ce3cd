/*
 * Prefixes, all of them as those of IPv6.
 */
#include "digestd/os/address_prefix.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool address_prefix_bit(const uint8_t *bytes, unsigned i)
{
	return bytes[i / 8] >> (7 - i % 8) & 1;
}

/* "10.0.0.0/8": bits behind the prefix are more likely a slip than meant. */
static bool address_prefix_read(const char *text, struct address_prefix *p)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	unsigned skipped = 0;
	char host[64] = "";
	char *end;

	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	if (inet_pton(AF_INET6, host, p->bytes) != 1) {
		memcpy(p->bytes, mapped, sizeof(mapped));
		skipped = 96;
		if (inet_pton(AF_INET, host, p->bytes + 12) != 1)
			return false;
	}
	p->nbits = 128;
	if (slash) {
		if (slash[1] < '0' || slash[1] > '9')
			return false;
		p->nbits = (unsigned)strtoul(slash + 1, &end, 10) + skipped;
		if (*end || p->nbits > 128 || p->nbits < skipped)
			return false;
	}
	for (unsigned i = p->nbits; i < 128; i++) {
		if (address_prefix_bit(p->bytes, i))
			return false;
	}
	return true;
}

static const char separators[] = ", \t";

/* Reads one member of len bytes. */
static bool address_prefix_read_member(const char *text, size_t len,
				       struct address_prefix *p)
{
	char member[64] = "";

	if (len >= sizeof(member))
		return false;
	memcpy(member, text, len);
	p->local = !strcmp(member, "unix:");
	return p->local || address_prefix_read(member, p);
}

const char *address_prefixes_bad(const char *text, size_t *len)
{
	struct address_prefix ignored;

	while (text && *(text += strspn(text, separators))) {
		*len = strcspn(text, separators);
		if (!address_prefix_read_member(text, *len, &ignored))
			return text;
		text += *len;
	}
	return NULL;
}

bool address_prefixes_read(const char *text, struct address_prefixes *out)
{
	*out = (struct address_prefixes){ .count = 0 };
	while (text && *(text += strspn(text, separators))) {
		size_t len = strcspn(text, separators);

		if (out->count == ADDRESS_PREFIXES_MAX ||
		    !address_prefix_read_member(text, len,
						&out->at[out->count++]))
			return false;
		text += len;
	}
	return true;
}

static bool address_prefix_has(const struct address_prefix *p,
			       const uint8_t bytes[16])
{
	unsigned whole = p->nbits / 8, rest = p->nbits % 8;

	return !p->local && !memcmp(p->bytes, bytes, whole) &&
	       (!rest || !((p->bytes[whole] ^ bytes[whole]) >> (8 - rest)));
}

static bool address_prefixes_have_local(const struct address_prefixes *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->at[i].local)
			return true;
	}
	return false;
}

bool address_prefixes_have(const struct address_prefixes *list,
			   const struct sockaddr *addr)
{
	uint8_t bytes[16];

	assert(list->count <= ADDRESS_PREFIXES_MAX);
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *four = (const void *)addr;

		memcpy(bytes, mapped, sizeof(mapped));
		memcpy(bytes + 12, &four->sin_addr, 4);
	} else if (addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)addr;

		memcpy(bytes, &six->sin6_addr, sizeof(bytes));
	} else {
		return addr->sa_family == AF_UNIX &&
		       address_prefixes_have_local(list);
	}
	for (size_t i = 0; i < list->count; i++) {
		if (address_prefix_has(&list->at[i], bytes))
			return true;
	}
	return false;
}
