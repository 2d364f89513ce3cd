/*
 * The PROXY protocol's header: a line of text, or a block.
 */
#include "digestd/http/proxy_protocol.h"

#include <string.h>

#include "codec/cursor.h"
#include "digestd/http/fields.h"
#include "digestd/http/ip_text.h"

enum {
	LINE_MAX = 107,      /* version 1, with CR LF */
	PORT_DIGITS = 5,
	PORT_MAX = 65535,
	BLOCK_SIGNATURE = 12,
	BLOCK_HEAD = 16,     /* version 2: before the addresses */
	AT_COMMAND = 12, AT_FAMILY, AT_LENGTH,
	COMMAND_LOCAL = 0x20, COMMAND_PROXY = 0x21, /* version 2 on top */
	FAMILY_TCP4 = 0x11, FAMILY_TCP6 = 0x21, FAMILY_LAST = 0x32,
	FAMILY_DATAGRAM = 2, /* the last of a family's protocols */
	VALUE_TLS = 0x20,    /* PP2_TYPE_SSL */
	VALUE_TLS_CLIENT = 1, /* PP2_CLIENT_SSL: the client came by TLS */
};

static const char block_signature[] = "\r\n\r\n\0\r\nQUIT\n";
static const char line_signature[] = "PROXY ";

/* Whether what there is begins as a signature does. */
static bool proxy_protocol_begins(const void *at, size_t len,
				  const void *signature, size_t signature_len)
{
	return !memcmp(at, signature,
		       len < signature_len ? len : signature_len);
}

/* Version 1 */

/* The next word, up to a blank or the end. */
static struct field_part proxy_protocol_word(struct field_part *s)
{
	const char *blank = s->len ? memchr(s->at, ' ', s->len) : NULL;
	size_t len = blank ? (size_t)(blank - s->at) : s->len;
	struct field_part word = { s->at, len };

	s->at += len + (blank != NULL);
	s->len -= len + (blank != NULL);
	return word;
}

/* 0 to 65535 without leading zeros; -1: it is none. */
static int proxy_protocol_port(struct field_part word)
{
	int port = 0;

	if (!word.len || word.len > PORT_DIGITS ||
	    (word.len > 1 && *word.at == '0'))
		return -1;
	for (size_t i = 0; i < word.len; i++) {
		if (word.at[i] < '0' || word.at[i] > '9')
			return -1;
		port = port * 10 + (word.at[i] - '0');
	}
	return port <= PORT_MAX ? port : -1;
}

static bool proxy_protocol_parse_address(struct field_part word,
					 enum proxy_protocol_family family,
					 struct proxy_protocol_address *out)
{
	return family == PROXY_PROTOCOL_IPV4 ?
		       ip_text_parse4(word, out->bytes) :
		       ip_text_parse6(word, out->bytes);
}

/* "192.0.2.1 192.0.2.2 56324 443" */
static bool proxy_protocol_parse_addresses(struct proxy_protocol *p,
					   struct field_part line)
{
	struct field_part client = proxy_protocol_word(&line);
	struct field_part server = proxy_protocol_word(&line);
	int client_port = proxy_protocol_port(proxy_protocol_word(&line));
	int server_port = proxy_protocol_port(line);

	if (client_port < 0 || server_port < 0)
		return false;
	p->client.port = (uint16_t)client_port;
	p->server.port = (uint16_t)server_port;
	return proxy_protocol_parse_address(client, p->family, &p->client) &&
	       proxy_protocol_parse_address(server, p->family, &p->server);
}

/* What follows "PROXY ", without its end. */
static bool proxy_protocol_parse_line(struct proxy_protocol *p,
				      struct field_part line)
{
	struct field_part family = proxy_protocol_word(&line);

	if (family.len == 7 && !memcmp(family.at, "UNKNOWN", 7))
		return true; /* whatever follows */
	if (family.len != 4 || memcmp(family.at, "TCP", 3) != 0)
		return false;
	if (family.at[3] == '4')
		p->family = PROXY_PROTOCOL_IPV4;
	else if (family.at[3] == '6')
		p->family = PROXY_PROTOCOL_IPV6;
	else
		return false;
	return proxy_protocol_parse_addresses(p, line);
}

static enum proxy_protocol_event
proxy_protocol_read_line(struct proxy_protocol *p, const char *at, size_t len)
{
	enum { SKIP = sizeof(line_signature) - 1 };
	size_t max = len < LINE_MAX ? len : LINE_MAX;
	const char *end = memchr(at, '\n', max);

	if (!end)
		return len < LINE_MAX ? PROXY_PROTOCOL_MORE :
					PROXY_PROTOCOL_BAD;
	if (end[-1] != '\r' ||
	    !proxy_protocol_parse_line(
		    p, (struct field_part){ at + SKIP,
					    (size_t)(end - at) - SKIP - 1 }))
		return PROXY_PROTOCOL_BAD;
	p->len = (size_t)(end - at) + 1;
	return PROXY_PROTOCOL_DONE;
}

/* Version 2 */

static void proxy_protocol_take_address(struct scd__reader *r, size_t n,
					struct proxy_protocol_address *out)
{
	const uint8_t *bytes = scd__read_bytes(r, n);

	if (bytes)
		memcpy(out->bytes, bytes, n);
}

static void proxy_protocol_take_addresses(struct proxy_protocol *p,
					  struct scd__reader *r)
{
	size_t n = p->family == PROXY_PROTOCOL_IPV4 ? 4 : 16;

	proxy_protocol_take_address(r, n, &p->client);
	proxy_protocol_take_address(r, n, &p->server);
	p->client.port = scd__read_be16(r);
	p->server.port = scd__read_be16(r);
}

/* What may follow the addresses: types, lengths, values. */
static void proxy_protocol_take_values(struct proxy_protocol *p,
				       struct scd__reader *r)
{
	while (scd__reader_left(r) && !r->error) {
		uint8_t type = scd__read_u8(r);
		uint16_t len = scd__read_be16(r);
		struct scd__reader value =
			scd__reader(scd__read_bytes(r, len), len);

		if (type != VALUE_TLS)
			continue;
		p->tls = scd__read_u8(&value) & VALUE_TLS_CLIENT;
		scd__read_be32(&value); /* whether its certificate is good */
		if (!r->error)
			r->error = value.error;
	}
}

static bool proxy_protocol_parse_block(struct proxy_protocol *p,
				       const uint8_t *at, size_t len)
{
	struct scd__reader r = scd__reader(at + BLOCK_HEAD, len);

	if (at[AT_COMMAND] == COMMAND_LOCAL)
		return true;
	if (at[AT_COMMAND] != COMMAND_PROXY || at[AT_FAMILY] > FAMILY_LAST ||
	    (at[AT_FAMILY] & 0xf) > FAMILY_DATAGRAM)
		return false;
	if (at[AT_FAMILY] == FAMILY_TCP4)
		p->family = PROXY_PROTOCOL_IPV4;
	else if (at[AT_FAMILY] == FAMILY_TCP6)
		p->family = PROXY_PROTOCOL_IPV6;
	else
		return true; /* of no use for a connection of TCP */
	proxy_protocol_take_addresses(p, &r);
	proxy_protocol_take_values(p, &r);
	return !r.error;
}

static enum proxy_protocol_event
proxy_protocol_read_block(struct proxy_protocol *p, const uint8_t *at,
			  size_t len)
{
	size_t block;

	if (len < BLOCK_HEAD)
		return PROXY_PROTOCOL_MORE;
	block = (size_t)(at[AT_LENGTH] << 8 | at[AT_LENGTH + 1]);
	if (BLOCK_HEAD + block > PROXY_PROTOCOL_MAX)
		return PROXY_PROTOCOL_BAD;
	if (len < BLOCK_HEAD + block)
		return PROXY_PROTOCOL_MORE;
	p->len = BLOCK_HEAD + block;
	return proxy_protocol_parse_block(p, at, block) ? PROXY_PROTOCOL_DONE :
							  PROXY_PROTOCOL_BAD;
}

enum proxy_protocol_event proxy_protocol_read(struct proxy_protocol *p,
					      const void *at, size_t len)
{
	struct proxy_protocol found = { 0 };
	enum proxy_protocol_event event = PROXY_PROTOCOL_BAD;
	enum { LINE_SIGNATURE = sizeof(line_signature) - 1 };

	if (!len)
		return PROXY_PROTOCOL_MORE;
	if (proxy_protocol_begins(at, len, block_signature, BLOCK_SIGNATURE))
		event = proxy_protocol_read_block(&found, at, len);
	else if (proxy_protocol_begins(at, len, line_signature, LINE_SIGNATURE))
		event = proxy_protocol_read_line(&found, at, len);
	if (event == PROXY_PROTOCOL_DONE)
		*p = found;
	return event;
}
