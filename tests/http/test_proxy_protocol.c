/*
 * Headers of the PROXY protocol: what each must come to, whole, byte by byte,
 * and with anything behind it.
 */
#include "tests/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/ip_text.h"
#include "digestd/http/proxy_protocol.h"
#include "tests/codec/random.h"

#define V2 "\r\n\r\n\0\r\nQUIT\n"
#define FOUR "\xc0\0\2\1" "\xc6\x33\x64\2" "\xdc\x04" "\x01\xbb"
#define SIX "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1" \
	    "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2" "\0\1" "\xff\xff"
#define TEXT(string) ((struct field_part){ string, strlen(string) })
#define ROW(bytes) bytes, sizeof(bytes) - 1
#define FROM4 "192.0.2.1:56324 198.51.100.2:443"
#define FROM6 "20010db8000000000000000000000001:1 " \
	      "20010db8000000000000000000000002:65535"

static const char BAD[] = "bad";

/* clang-format off */
static const struct row {
	const char *name, *input;
	size_t len;
	const char *from; /* addresses as below; "": none; BAD */
	bool tls;
} rows[] = {
	{ "line, 4", ROW("PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n"), FROM4, 0 },
	{ "line, 6", ROW("PROXY TCP6 2001:db8::1 2001:DB8:0:0::2 1 65535\r\n"), FROM6, 0 },
	{ "longest line", ROW("PROXY TCP6 2001:0db8:0000:0000:0000:0000:0000:0001 2001:0db8:0000:0000:0000:0000:0000:0002 1 65535\r\n"), FROM6, 0 },
	{ "unknown", ROW("PROXY UNKNOWN\r\n"), "", 0 },
	{ "unknown, longest", ROW("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535 and whatever else is in 107 bytes of it, all of\r\n"), "", 0 },
	{ "a byte more", ROW("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535 and whatever else is in 107 bytes of it, all of!\r\n"), BAD, 0 },
	{ "no such family", ROW("PROXY TCP5 192.0.2.1 198.51.100.2 1 2\r\n"), BAD, 0 },
	{ "UNKNOWNS", ROW("PROXY UNKNOWNS\r\n"), BAD, 0 },
	{ "bare LF", ROW("PROXY TCP4 192.0.2.1 198.51.100.2 1 2\n"), BAD, 0 },
	{ "two blanks", ROW("PROXY  TCP4 192.0.2.1 198.51.100.2 1 2\r\n"), BAD, 0 },
	{ "two blanks later", ROW("PROXY TCP4 192.0.2.1  198.51.100.2 1 2\r\n"), BAD, 0 },
	{ "blank at the end", ROW("PROXY TCP4 192.0.2.1 198.51.100.2 1 2 \r\n"), BAD, 0 },
	{ "a port less", ROW("PROXY TCP4 192.0.2.1 198.51.100.2 1\r\n"), BAD, 0 },
	{ "port too large", ROW("PROXY TCP4 192.0.2.1 198.51.100.2 1 65536\r\n"), BAD, 0 },
	{ "port with zero", ROW("PROXY TCP4 192.0.2.1 198.51.100.2 01 2\r\n"), BAD, 0 },
	{ "port with sign", ROW("PROXY TCP4 192.0.2.1 198.51.100.2 +1 2\r\n"), BAD, 0 },
	{ "6 in 4", ROW("PROXY TCP4 ::1 198.51.100.2 1 2\r\n"), BAD, 0 },
	{ "4 in 6", ROW("PROXY TCP6 192.0.2.1 198.51.100.2 1 2\r\n"), BAD, 0 },
	{ "nothing in it", ROW("PROXY \r\n"), BAD, 0 },
	{ "lower case", ROW("proxy TCP4 192.0.2.1 198.51.100.2 1 2\r\n"), BAD, 0 },
	{ "a request", ROW("GET / HTTP/1.1\r\n\r\n"), BAD, 0 },
	{ "a request after an empty line", ROW("\r\nGET / HTTP/1.1\r\n\r\n"), BAD, 0 },
	{ "block, 4", ROW(V2 "\x21\x11\0\x0c" FOUR), FROM4, 0 },
	{ "block, 6", ROW(V2 "\x21\x21\0\x24" SIX), FROM6, 0 },
	{ "local", ROW(V2 "\x20\0\0\0"), "", 0 },
	{ "local with what is ignored", ROW(V2 "\x20\xff\0\3abc"), "", 0 },
	{ "unspecified", ROW(V2 "\x21\0\0\2ab"), "", 0 },
	{ "datagrams", ROW(V2 "\x21\x12\0\x0c" FOUR), "", 0 },
	{ "Unix", ROW(V2 "\x21\x31\0\4abcd"), "", 0 },
	{ "no such command", ROW(V2 "\x22\x11\0\x0c" FOUR), BAD, 0 },
	{ "no such version", ROW(V2 "\x31\x11\0\x0c" FOUR), BAD, 0 },
	{ "no such family in a block", ROW(V2 "\x21\x41\0\x0c" FOUR), BAD, 0 },
	{ "no such protocol", ROW(V2 "\x21\x13\0\x0c" FOUR), BAD, 0 },
	{ "addresses cut", ROW(V2 "\x21\x11\0\x0b" FOUR), BAD, 0 },
	{ "addresses of 4 for 6", ROW(V2 "\x21\x21\0\x0c" FOUR), BAD, 0 },
	{ "values", ROW(V2 "\x21\x11\0\x13" FOUR "\4\0\0\2\0\1x"), FROM4, 0 },
	{ "value cut", ROW(V2 "\x21\x11\0\x13" FOUR "\4\0\0\2\0\2x"), BAD, 0 },
	{ "value without length", ROW(V2 "\x21\x11\0\x0e" FOUR "\4\0"), BAD, 0 },
	{ "TLS", ROW(V2 "\x21\x11\0\x14" FOUR "\x20\0\5\1\0\0\0\0"), FROM4, 1 },
	{ "TLS and more", ROW(V2 "\x21\x11\0\x18" FOUR "\x20\0\x09\3\0\0\0\0\x21\0\1v"), FROM4, 1 },
	{ "TLS of somebody else", ROW(V2 "\x21\x11\0\x14" FOUR "\x20\0\5\2\0\0\0\0"), FROM4, 0 },
	{ "TLS cut", ROW(V2 "\x21\x11\0\x13" FOUR "\x20\0\4\1\0\0\0"), BAD, 0 },
	{ "too long", ROW(V2 "\x21\x11\x07\xf1" FOUR), BAD, 0 },
};
/* clang-format on */

static void print_address(const struct proxy_protocol *p,
			  const struct proxy_protocol_address *a, char *out)
{
	if (p->family == PROXY_PROTOCOL_IPV4) {
		sprintf(out, "%u.%u.%u.%u:%u", a->bytes[0], a->bytes[1],
			a->bytes[2], a->bytes[3], a->port);
		return;
	}
	for (int i = 0; i < 16; i++)
		out += sprintf(out, "%02x", a->bytes[i]);
	sprintf(out, ":%u", a->port);
}

/* Reads the first len bytes, in memory of their own. */
static enum proxy_protocol_event read_first(const char *input, size_t len,
					    struct proxy_protocol *p)
{
	char *copy = malloc(len + 1);
	enum proxy_protocol_event event;

	memcpy(copy, input, len);
	event = proxy_protocol_read(p, copy, len);
	free(copy);
	return event;
}

static void check(const struct row *row, enum proxy_protocol_event event,
		  const struct proxy_protocol *p)
{
	char client[64], server[64], from[130] = "";

	if (row->from == BAD) {
		assert_int_equal(event, PROXY_PROTOCOL_BAD);
		return;
	}
	assert_int_equal(event, PROXY_PROTOCOL_DONE);
	assert_int_equal(p->len, row->len);
	assert_int_equal(p->tls, row->tls);
	if (p->family != PROXY_PROTOCOL_NONE) {
		print_address(p, &p->client, client);
		print_address(p, &p->server, server);
		sprintf(from, "%s %s", client, server);
	}
	assert_string_equal(from, row->from);
}

static void byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		enum proxy_protocol_event event = PROXY_PROTOCOL_MORE;
		struct proxy_protocol p = { .len = 1 };
		size_t len = 0;

		print_message("# %s\n", rows[i].name);
		while (event == PROXY_PROTOCOL_MORE && len < rows[i].len)
			event = read_first(rows[i].input, ++len, &p);
		check(&rows[i], event, &p);
		if (event == PROXY_PROTOCOL_DONE)
			assert_int_equal(len, rows[i].len);
		/* and as it was, it stays */
		assert_int_equal(read_first(rows[i].input, rows[i].len, &p),
				 event);
		assert_int_equal(read_first(rows[i].input, 0, &p),
				 PROXY_PROTOCOL_MORE);
	}
}

static void what_follows_is_the_clients(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct proxy_protocol p;
		char input[300];

		memcpy(input, rows[i].input, rows[i].len);
		memcpy(input + rows[i].len, "GET / HTTP/1.1\r\n", 16);
		check(&rows[i], read_first(input, rows[i].len + 16, &p), &p);
	}
}

static void the_largest(void **state)
{
	/* of one value, of 2048 - 31 bytes */
	static char input[PROXY_PROTOCOL_MAX] = V2 "\x21\x11\x07\xf0" FOUR
						"\4\x07\xe1";
	struct proxy_protocol p;

	(void)state;
	assert_int_equal(proxy_protocol_read(&p, input, sizeof(input) - 1),
			 PROXY_PROTOCOL_MORE);
	assert_int_equal(proxy_protocol_read(&p, input, sizeof(input)),
			 PROXY_PROTOCOL_DONE);
	assert_int_equal(p.len, PROXY_PROTOCOL_MAX);
}

/* clang-format off */
static const struct address {
	const char *text, *hex; /* null: it is none */
} addresses4[] = {
	{ "0.0.0.0", "00000000" }, { "255.10.9.1", "ff0a0901" },
	{ "256.0.0.1", NULL }, { "1.2.3", NULL }, { "1.2.3.4.5", NULL },
	{ "1.2.3.", NULL }, { "01.2.3.4", NULL }, { "1.2.3.4 ", NULL },
	{ "", NULL }, { "1..3.4", NULL }, { "0x1.2.3.4", NULL },
	{ "1.2.3.0004", NULL }, { "-1.2.3.4", NULL },
}, addresses6[] = {
	{ "::", "00000000000000000000000000000000" },
	{ "::1", "00000000000000000000000000000001" },
	{ "1::", "00010000000000000000000000000000" },
	{ "1:2:3:4:5:6:7:8", "00010002000300040005000600070008" },
	{ "1:2:3:4:5:6:7::", "00010002000300040005000600070000" },
	{ "::2:3:4:5:6:7:8", "00000002000300040005000600070008" },
	{ "fE80::AbCd", "fe80000000000000000000000000abcd" },
	{ "::ffff:192.0.2.1", "00000000000000000000ffffc0000201" },
	{ "1:2:3:4:5:6:1.2.3.4", "00010002000300040005000601020304" },
	{ "64:ff9b::1.2.3.4", "0064ff9b000000000000000001020304" },
	{ "", NULL }, { ":", NULL }, { ":::", NULL }, { "1", NULL },
	{ "1:2:3:4:5:6:7", NULL }, { "1:2:3:4:5:6:7:8:9", NULL },
	{ "1:2:3:4:5:6:7:8:", NULL }, { ":1:2:3:4:5:6:7:8", NULL },
	{ "1:2:3:4::5:6:7:8", NULL }, { "1::2::3", NULL }, { "1:::2", NULL },
	{ "12345::", NULL }, { "g::", NULL }, { "fe80::1%eth0", NULL },
	{ "1:2:3:4:5:6:7:1.2.3.4", NULL }, { "1.2.3.4::", NULL },
	{ "::1.2.3", NULL }, { ":1", NULL }, { "1:", NULL },
	{ "::1.2.3.4:5", NULL }, { "1.2.3.4", NULL },
};
/* clang-format on */

static void check_address(const struct address *a, bool six)
{
	uint8_t bytes[16];
	char hex[33] = "";
	bool is = six ? ip_text_parse6(TEXT(a->text), bytes) :
			ip_text_parse4(TEXT(a->text), bytes);

	print_message("# %s\n", a->text);
	assert_int_equal(is, a->hex != NULL);
	for (int i = 0; is && i < (six ? 16 : 4); i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
	if (is)
		assert_string_equal(hex, a->hex);
}

static void addresses_as_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(addresses4); i++)
		check_address(&addresses4[i], false);
	for (size_t i = 0; i < NROWS(addresses6); i++)
		check_address(&addresses6[i], true);
}

/* Changes some bytes of an address into others that may be in one. */
static void mutate_address(char *text, uint64_t *random)
{
	static const char bytes[] = "0:1.2fF:9::g%";
	size_t len = strlen(text);

	for (uint64_t n = random_below(random, 3); len && n-- > 0;)
		text[random_below(random, len)] =
			bytes[random_below(random, sizeof(bytes) - 1)];
}

static void as_the_c_library_reads_them(void **state)
{
	enum { ROUNDS = 200000 };
	uint64_t random = 7;
	unsigned nread = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		bool six = i & 1;
		const struct address *a = six ?
			&addresses6[i / 2 % NROWS(addresses6)] :
			&addresses4[i / 2 % NROWS(addresses4)];
		uint8_t ours[16], theirs[16];
		char text[50];
		bool is;

		strcpy(text, a->text);
		mutate_address(text, &random);
		is = six ? ip_text_parse6(TEXT(text), ours) :
			   ip_text_parse4(TEXT(text), ours);
		if (is != (inet_pton(six ? AF_INET6 : AF_INET, text,
				     theirs) == 1))
			fail_msg("%s: %d", text, is);
		if (is)
			assert_memory_equal(ours, theirs, six ? 16 : 4);
		nread += is;
	}
	assert_true(nread > ROUNDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(byte_by_byte),
		cmocka_unit_test(what_follows_is_the_clients),
		cmocka_unit_test(the_largest),
		cmocka_unit_test(addresses_as_text),
		cmocka_unit_test(as_the_c_library_reads_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
