/*
 * Requests: what each must come to, in pieces of every size, and cut at every
 * length. What is refused is a table with each fault; what is accepted, one
 * with what it means.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/guard.h"
#include "digestd/http/octets.h"
#include "digestd/http/request_body.h"
#include "digestd/http/target.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/http/request_text.h"

#define GET "GET / HTTP/1.1\r\n"
#define HOST "Host: h\r\n"
#define POST "POST / HTTP/1.1\r\n" HOST
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define END "\r\n\r\n"
#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define TWO_HUNDRED FIFTY FIFTY FIFTY FIFTY
#define ROW(bytes) bytes, sizeof(bytes) - 1

enum { MAX_TARGET = 50, MAX_HEADER = 200 };

static const struct request_limits limits = { MAX_TARGET, MAX_HEADER };

/* clang-format off */
static const struct refusal {
	const char *name, *input;
	size_t len;
	enum message_fault fault;
} refusals[] = {
	/* RFC 9112, 2.2 */
	{ "bare LF behind the request line", ROW("GET / HTTP/1.1\n" HOST "\r\n"), MESSAGE_LINE_END },
	{ "bare LF behind a field", ROW(GET "Host: h\n\r\n"), MESSAGE_LINE_END },
	{ "bare LF as the end", ROW(GET HOST "\n"), MESSAGE_LINE_END },
	{ "bare LF first", ROW("\n" GET HOST "\r\n"), MESSAGE_LINE_END },
	{ "bare CR behind the request line", ROW("GET / HTTP/1.1\r" HOST "\r\n"), MESSAGE_LINE_END },
	{ "bare CR behind a field", ROW(GET "A: b\rHost: h" END), MESSAGE_LINE_END },
	{ "two CRs", ROW(GET "A: b\r\r\n" HOST "\r\n"), MESSAGE_LINE_END },
	{ "two CRs at the end", ROW(GET HOST "\r\r\n"), MESSAGE_LINE_END },
	{ "bare CR first", ROW("\rGET / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_LINE_END },
	{ "two empty lines first", ROW("\r\n\r\n" GET HOST "\r\n"), MESSAGE_EMPTY_LINES },
	{ "blank before the first field", ROW(GET " Host: h" END), MESSAGE_FIELD_FOLDED },
	{ "NUL in a value", ROW(GET HOST "A: b\0c" END), MESSAGE_FIELD_VALUE },
	{ "NUL in a name", ROW(GET HOST "A\0: b" END), MESSAGE_FIELD_NAME },
	{ "NUL in a target", ROW("GET /\0 HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "control in a value", ROW(GET HOST "A: \x01" END), MESSAGE_FIELD_VALUE },
	{ "ESC in a value", ROW(GET HOST "A: b\x1b" END), MESSAGE_FIELD_VALUE },
	{ "DEL in a value", ROW(GET HOST "A: \x7f" END), MESSAGE_FIELD_VALUE },
	{ "vertical tab in a value", ROW(GET HOST "A: \vb" END), MESSAGE_FIELD_VALUE },

	/* 3: the request line */
	{ "blank first", ROW(" GET / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_METHOD },
	{ "no method", ROW("/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_METHOD },
	{ "method with a colon", ROW("GET: / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_METHOD },
	{ "method with 8 bits", ROW("G\xc3\x89T / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_METHOD },
	{ "method with quotes", ROW("\"GET\" / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_METHOD },
	{ "method of 33 bytes", ROW(TEN TEN TEN "123 / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_METHOD_LENGTH },
	{ "endless method", ROW(FIFTY), MESSAGE_METHOD_LENGTH },
	{ "TLS", ROW("\x16\x03\x01\x02\0\x01"), MESSAGE_METHOD },
	{ "method alone", ROW("GET\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "method and tab", ROW("GET\t/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_METHOD },
	{ "two blanks", ROW("GET  / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "two blanks later", ROW("GET /  HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "blank at the end", ROW("GET / HTTP/1.1 \r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "tab before the version", ROW("GET /\tHTTP/1.1\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "HTTP/0.9", ROW("GET /\r\n"), MESSAGE_REQUEST_LINE },
	{ "no version", ROW("GET / \r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "half a version", ROW("GET / HTTP/1\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "no minor version", ROW("GET / HTTP/1.\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "blank in the target", ROW("GET /a b HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "HTTP/2.0", ROW("GET / HTTP/2.0\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "HTTP/1.10", ROW("GET / HTTP/1.10\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "HTTP/1.x", ROW("GET / HTTP/1.x\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "HTTP/01.1", ROW("GET / HTTP/01.1\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "http/1.1", ROW("GET / http/1.1\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "HTTP/1,1", ROW("GET / HTTP/1,1\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "ICAP", ROW("GET / ICAP/1.0\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "NUL in the version", ROW("GET / HTTP/1.1\0\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "preface behind an empty line", ROW("\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), MESSAGE_VERSION },
	{ "preface with another end", ROW("PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n"), MESSAGE_VERSION },
	{ "preface's line", ROW("PRI * HTTP/2.0\r\n" HOST "\r\n"), MESSAGE_VERSION },
	{ "PRI", ROW("PRI * HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },

	/* 3.2: the target */
	{ "no target", ROW("GET HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_REQUEST_LINE },
	{ "fragment", ROW("GET /#a HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "quote", ROW("GET /?a=\"b\" HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "angle", ROW("GET /<a> HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "backslash in the path", ROW("GET /a\\b HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "backslash before the query", ROW("GET /a\\b?c HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "8 bits in the target", ROW("GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "DEL in the target", ROW("GET /\x7f HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "control in the target", ROW("GET /\x01 HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_BYTE },
	{ "target of 51 bytes", ROW("GET /" FIFTY " HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_LENGTH },
	{ "endless target", ROW("GET /" FIFTY FIFTY), MESSAGE_TARGET_LENGTH },
	{ "relative path", ROW("GET a HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "query alone", ROW("GET ?a HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "authority-form without CONNECT", ROW("GET h:80 HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "origin-form with CONNECT", ROW("CONNECT / HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "CONNECT without port", ROW("CONNECT h HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "CONNECT with an empty port", ROW("CONNECT h: HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "CONNECT with a user", ROW("CONNECT u@h:1 HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "CONNECT with a scheme", ROW("CONNECT http://h/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "asterisk without OPTIONS", ROW("GET * HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "asterisk and more", ROW("OPTIONS *a HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "options, lower case", ROW("options * HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "other scheme", ROW("GET ftp://h/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "scheme without slashes", ROW("GET http:h HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "scheme alone", ROW("GET http:// HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "https alone", ROW("GET https:// HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "no authority", ROW("GET http:///a HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "authority that is none", ROW("GET http://h:x/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_FORM },
	{ "user information", ROW("GET http://u@h/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_USER },
	{ "user and password", ROW("GET http://u:p@h/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_USER },
	{ "empty user", ROW("GET http://@h/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_TARGET_USER },

	/* 3.2, 3.2.2: Host */
	{ "no Host", ROW(GET "\r\n"), MESSAGE_HOST_MISSING },
	{ "no Host, 1.2", ROW("GET / HTTP/1.2\r\n\r\n"), MESSAGE_HOST_MISSING },
	{ "no Host, absolute", ROW("GET http://h/ HTTP/1.1\r\n\r\n"), MESSAGE_HOST_MISSING },
	{ "two Hosts", ROW(GET HOST "Host: i" END), MESSAGE_HOST_REPEATED },
	{ "two equal Hosts", ROW(GET HOST "HOST: h" END), MESSAGE_HOST_REPEATED },
	{ "two Hosts, 1.0", ROW("GET / HTTP/1.0\r\n" HOST HOST "\r\n"), MESSAGE_HOST_REPEATED },
	{ "empty Host", ROW(GET "Host:" END), MESSAGE_HOST },
	{ "empty Host first, then another", ROW(GET "Host:\r\n" HOST "\r\n"), MESSAGE_HOST },
	{ "list of Hosts", ROW(GET "Host: h, i:x" END), MESSAGE_HOST },
	{ "Host with a user", ROW(GET "Host: u@h" END), MESSAGE_HOST },
	{ "Host with a path", ROW(GET "Host: h/a" END), MESSAGE_HOST },
	{ "Host with a blank", ROW(GET "Host: h i" END), MESSAGE_HOST },
	{ "Host with 8 bits", ROW(GET "Host: \xc3\xa9" END), MESSAGE_HOST },
	{ "Host with half an escape", ROW(GET "Host: h%4" END), MESSAGE_HOST },
	{ "Host with two dots", ROW(GET "Host: h.." END), MESSAGE_HOST },
	{ "dot as Host", ROW(GET "Host: ." END), MESSAGE_HOST },
	{ "port alone", ROW(GET "Host: :80" END), MESSAGE_HOST },
	{ "port 0", ROW(GET "Host: h:0" END), MESSAGE_HOST },
	{ "port 65536", ROW(GET "Host: h:65536" END), MESSAGE_HOST },
	{ "port with sign", ROW(GET "Host: h:+1" END), MESSAGE_HOST },
	{ "two ports", ROW(GET "Host: h:1:2" END), MESSAGE_HOST },
	{ "IPv6 without brackets", ROW(GET "Host: ::1" END), MESSAGE_HOST },
	{ "half a bracket", ROW(GET "Host: [::1" END), MESSAGE_HOST },
	{ "name in brackets", ROW(GET "Host: [h]" END), MESSAGE_HOST },
	{ "IPv6 and more", ROW(GET "Host: [::1]a" END), MESSAGE_HOST },
	{ "IPv6 with zone", ROW(GET "Host: [fe80::1%25lo]" END), MESSAGE_HOST },
	{ "target and Host differ", ROW("GET http://i/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_HOST_DIFFERS },
	{ "ports differ", ROW("GET http://h:81/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_HOST_DIFFERS },
	{ "ports differ by scheme", ROW("GET https://h:80/ HTTP/1.1\r\n" HOST "\r\n"), MESSAGE_HOST_DIFFERS },
	{ "they differ, 1.0", ROW("GET http://i/ HTTP/1.0\r\n" HOST "\r\n"), MESSAGE_HOST_DIFFERS },

	/* 5 */
	{ "blank before the colon", ROW(GET "Host : h" END), MESSAGE_FIELD_BLANK },
	{ "tab before the colon", ROW(GET "Host\t: h" END), MESSAGE_FIELD_BLANK },
	{ "no name", ROW(GET HOST ": a" END), MESSAGE_FIELD_NAME },
	{ "no colon", ROW(GET HOST "abc" END), MESSAGE_FIELD_NAME },
	{ "name that is no token", ROW(GET HOST "a(b): c" END), MESSAGE_FIELD_NAME },
	{ "name with 8 bits", ROW(GET HOST "\xc3\xa9: c" END), MESSAGE_FIELD_NAME },
	{ "blank in a name", ROW(GET HOST "a b: c" END), MESSAGE_FIELD_BLANK },
	{ "folded", ROW(GET HOST "A: b\r\n c" END), MESSAGE_FIELD_FOLDED },
	{ "folded with a tab", ROW(GET HOST "A: b\r\n\tc: d" END), MESSAGE_FIELD_FOLDED },
	{ "folded Host", ROW(GET "Host:\r\n h" END), MESSAGE_HOST },
	{ "blank line that is not empty", ROW(GET HOST " \r\n\r\n"), MESSAGE_FIELD_FOLDED },
	{ "header of 201 bytes", ROW(GET HOST "A: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "12345" END), MESSAGE_HEADER_LENGTH },
	{ "endless value", ROW(GET "A: " TWO_HUNDRED FIFTY), MESSAGE_HEADER_LENGTH },
	{ "endless name", ROW(GET TWO_HUNDRED FIFTY), MESSAGE_HEADER_LENGTH },
	{ "endless blanks", ROW(GET "A:                                                                                                                                                                                                              "), MESSAGE_HEADER_LENGTH },

	/* 6 */
	{ "length and coding", ROW(POST "Content-Length: 3\r\nTransfer-Encoding: chunked" END "0" END), MESSAGE_LENGTH_AND_CODING },
	{ "coding and length", ROW(POST "Transfer-Encoding: chunked\r\nContent-Length: 3" END), MESSAGE_LENGTH_AND_CODING },
	{ "coding in 1.0", ROW("POST / HTTP/1.0\r\nTransfer-Encoding: chunked" END), MESSAGE_CODING_VERSION },
	{ "two codings", ROW(POST "Transfer-Encoding: chunked\r\ntransfer-encoding: chunked" END), MESSAGE_CODING_REPEATED },
	{ "two codings in a list", ROW(POST "Transfer-Encoding: chunked, chunked" END), MESSAGE_CODING },
	{ "gzip, chunked", ROW(POST "Transfer-Encoding: gzip, chunked" END), MESSAGE_CODING },
	{ "gzip", ROW(POST "Transfer-Encoding: gzip" END), MESSAGE_CODING },
	{ "identity", ROW(POST "Transfer-Encoding: identity" END), MESSAGE_CODING },
	{ "xchunked", ROW(POST "Transfer-Encoding: xchunked" END), MESSAGE_CODING },
	{ "chunked;q=1", ROW(POST "Transfer-Encoding: chunked;q=1" END), MESSAGE_CODING },
	{ "quoted coding", ROW(POST "Transfer-Encoding: \"chunked\"" END), MESSAGE_CODING },
	{ "vertical tab before chunked", ROW(POST "Transfer-Encoding:\vchunked" END), MESSAGE_FIELD_VALUE },
	{ "no coding at all", ROW(POST "Transfer-Encoding:" END), MESSAGE_CODING },
	{ "two lengths", ROW(POST "Content-Length: 3\r\nContent-Length: 4" END), MESSAGE_LENGTH_REPEATED },
	{ "two equal lengths", ROW(POST "Content-Length: 3\r\ncontent-length: 3" END), MESSAGE_LENGTH_REPEATED },
	{ "list of lengths", ROW(POST "Content-Length: 3, 3" END), MESSAGE_LENGTH },
	{ "no length at all", ROW(POST "Content-Length:" END), MESSAGE_LENGTH },
	{ "length with sign", ROW(POST "Content-Length: +3" END), MESSAGE_LENGTH },
	{ "negative length", ROW(POST "Content-Length: -3" END), MESSAGE_LENGTH },
	{ "hexadecimal length", ROW(POST "Content-Length: 0x3" END), MESSAGE_LENGTH },
	{ "length with a blank", ROW(POST "Content-Length: 1 2" END), MESSAGE_LENGTH },
	{ "length of 19 digits", ROW(POST "Content-Length: 0000000000000000003" END), MESSAGE_LENGTH },
	{ "length of 2^64 + 3", ROW(POST "Content-Length: 18446744073709551619" END), MESSAGE_LENGTH },

	/* RFC 9110, 7.6.1 and 10.1.1 */
	{ "Connection: Host", ROW(GET HOST "Connection: Host" END), MESSAGE_CONNECTION },
	{ "Connection: a, content-length", ROW(GET HOST "Connection: a, content-length" END), MESSAGE_CONNECTION },
	{ "Connection: Transfer-Encoding", ROW(GET HOST "Connection: close\r\nConnection: ,Transfer-Encoding," END), MESSAGE_CONNECTION },
	{ "Connection with quotes", ROW(GET HOST "Connection: \"a, host, b\"" END), MESSAGE_CONNECTION },
	{ "Connection in 1.0", ROW("GET / HTTP/1.0\r\nConnection: host" END), MESSAGE_CONNECTION },
	{ "Expect", ROW(GET HOST "Expect: 200-ok" END), MESSAGE_EXPECTATION },
	{ "Expect, a list", ROW(GET HOST "Expect: 100-continue, a" END), MESSAGE_EXPECTATION },
	{ "Expect of nothing", ROW(GET HOST "Expect:" END), MESSAGE_EXPECTATION },

	/* RFC 9112, 7.1 */
	{ "chunk size of nothing", ROW(CHUNKED "\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size with sign", ROW(CHUNKED "+3\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "negative chunk size", ROW(CHUNKED "-3\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size with 0x", ROW(CHUNKED "0x3\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size behind a blank", ROW(CHUNKED " 3\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size before a blank", ROW(CHUNKED "3 \r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size before blank and semicolon", ROW(CHUNKED "3 ;a\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size with an underscore", ROW(CHUNKED "1_0\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size of 16 digits", ROW(CHUNKED "0000000000000003\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "chunk size of 2^64 + 3", ROW(CHUNKED "10000000000000003\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "extension alone", ROW(CHUNKED ";a\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "NUL behind a chunk size", ROW(CHUNKED "3\0\r\nabc\r\n"), MESSAGE_CHUNK_SIZE },
	{ "bare LF behind a chunk size", ROW(CHUNKED "3\nabc\r\n"), MESSAGE_LINE_END },
	{ "bare CR behind a chunk size", ROW(CHUNKED "3\rabc\r\n"), MESSAGE_LINE_END },
	{ "bare LF behind an extension", ROW(CHUNKED "3;a\nabc\r\n"), MESSAGE_LINE_END },
	{ "bare CR in an extension", ROW(CHUNKED "3;a\rb\r\nabc\r\n"), MESSAGE_LINE_END },
	{ "control in an extension", ROW(CHUNKED "3;a\x01\r\nabc\r\n"), MESSAGE_CHUNK_EXTENSION },
	{ "extension of 257 bytes", ROW(CHUNKED "3;" TWO_HUNDRED FIFTY "123456\r\nabc\r\n"), MESSAGE_CHUNK_EXTENSION },
	{ "endless extension", ROW(CHUNKED "3;" TWO_HUNDRED TWO_HUNDRED), MESSAGE_CHUNK_EXTENSION },
	{ "chunk too long", ROW(CHUNKED "3\r\nabcd\r\n0" END), MESSAGE_CHUNK_END },
	{ "bare LF behind a chunk", ROW(CHUNKED "3\r\nabc\n0" END), MESSAGE_CHUNK_END },
	{ "bare CR behind a chunk", ROW(CHUNKED "3\r\nabc\r0" END), MESSAGE_CHUNK_END },
	{ "nothing behind a chunk", ROW(CHUNKED "3\r\nabc0" END), MESSAGE_CHUNK_END },
	{ "trailer without name", ROW(CHUNKED "0\r\n: a" END), MESSAGE_FIELD_NAME },
	{ "trailer without colon", ROW(CHUNKED "0\r\nGET / HTTP/1.1" END), MESSAGE_FIELD_BLANK },
	{ "blank in a trailer", ROW(CHUNKED "0\r\na : b" END), MESSAGE_FIELD_BLANK },
	{ "folded trailer", ROW(CHUNKED "0\r\na: b\r\n c" END), MESSAGE_FIELD_FOLDED },
	{ "control in a trailer", ROW(CHUNKED "0\r\na: \x02" END), MESSAGE_FIELD_VALUE },
	{ "bare LF behind a trailer", ROW(CHUNKED "0\r\na: b\n\r\n"), MESSAGE_LINE_END },
	{ "bare LF as the end of a body", ROW(CHUNKED "0\r\n\n"), MESSAGE_LINE_END },
	{ "trailer too long", ROW(CHUNKED "0\r\na: " FIFTY FIFTY FIFTY TEN END), MESSAGE_HEADER_LENGTH },
	{ "endless trailer", ROW(CHUNKED "0\r\na:" TWO_HUNDRED), MESSAGE_HEADER_LENGTH },

	/* behind another request */
	{ "fault behind a request", ROW(GET HOST "\r\nGET  / HTTP/1.1\r\n"), MESSAGE_REQUEST_LINE },
	{ "fault behind a body", ROW(POST "Content-Length: 3" END "abcGET /\r\n"), MESSAGE_REQUEST_LINE },
};

static const struct acceptance {
	const char *name, *input;
	size_t len;
	const char *text; /* request_text.h, without the offsets' lines */
} acceptances[] = {
	{ "nothing", ROW(""), "idle" },
	{ "empty line", ROW("\r\n"), "more" },
	{ "two lines", ROW(GET HOST "\r\n"), "GET / o h / 1k\n: Host: h\nidle" },
	{ "behind an empty line", ROW("\r\n" GET HOST "\r\n"), "GET / o h / 1k\n: Host: h\nidle" },
	{ "two of them", ROW(GET HOST "\r\n\r\n" GET HOST "\r\n"), "GET / o h / 1k\n: Host: h\nGET / o h / 1k\n: Host: h\nidle" },
	{ "1.0", ROW("GET /a HTTP/1.0" END), "GET /a o - /a 0\nclose" },
	{ "1.0 with Host", ROW("GET /a HTTP/1.0\r\n" HOST "\r\n"), "GET /a o h /a 0\n: Host: h\nclose" },
	{ "1.0, kept", ROW("GET /a HTTP/1.0\r\nConnection: Keep-Alive" END), "GET /a o - /a 0k\n: Connection: Keep-Alive\nidle" },
	{ "1.0, kept and closed", ROW("GET /a HTTP/1.0\r\nConnection: keep-alive, close" END), "GET /a o - /a 0\n: Connection: keep-alive, close\nclose" },
	{ "1.9", ROW("GET /a HTTP/1.9\r\n" HOST "\r\n"), "GET /a o h /a 1k\n: Host: h\nidle" },
	{ "closed", ROW(GET HOST "Connection: a ,\tCLOSE" END "GET"), "GET / o h / 1\n: Host: h\n: Connection: a ,\\x09CLOSE\nclose" },
	{ "closed by the second line", ROW(GET HOST "connection: a\r\nConnection: close" END), "GET / o h / 1\n: Host: h\n: connection: a\n: Connection: close\nclose" },
	{ "not closed", ROW(GET HOST "Connection: close1, \"close\"" END), "GET / o h / 1k\n: Host: h\n: Connection: close1, \"close\"\nidle" },
	{ "method of 32 bytes", ROW(TEN TEN TEN "12 / HTTP/1.1\r\n" HOST "\r\n"), TEN TEN TEN "12 / o h / 1k\n: Host: h\nidle" },
	{ "all of a token", ROW("!#$%&'*+-.^_`|~0Az / HTTP/1.1\r\n" HOST "\r\n"), "!#$%&'*+-.^_`|~0Az / o h / 1k\n: Host: h\nidle" },
	{ "all of a target", ROW("GET /-._~:/[]@!$&'()*+,;=%?^`{|}\\ HTTP/1.1\r\n" HOST "\r\n"), "GET /-._~:/[]@!$&'()*+,;=%?^`{|}\\x5c o h /-._~:/[]@!$&'()*+,;=%?^`{|}\\x5c 1k\n: Host: h\nidle" },
	{ "target of 50 bytes", ROW("GET /" TEN TEN TEN TEN "012345678 HTTP/1.1\r\n" HOST "\r\n"), "GET /" TEN TEN TEN TEN "012345678 o h /" TEN TEN TEN TEN "012345678 1k\n: Host: h\nidle" },
	{ "two slashes", ROW("GET //i/a HTTP/1.1\r\n" HOST "\r\n"), "GET //i/a o h //i/a 1k\n: Host: h\nidle" },
	{ "absolute", ROW("GET http://h/a?b HTTP/1.1\r\n" HOST "\r\n"), "GET http://h/a?b a h /a?b 1k\n: Host: h\nidle" },
	{ "absolute, upper case", ROW("GET HTTP://H:80/ HTTP/1.1\r\n" HOST "\r\n"), "GET HTTP://H:80/ a H:80 / 1k\n: Host: h\nidle" },
	{ "absolute, dot and port", ROW("GET http://h./ HTTP/1.1\r\nHost: H:080" END), "GET http://h./ a h. / 1k\n: Host: H:080\nidle" },
	{ "absolute without path", ROW("GET http://h HTTP/1.1\r\n" HOST "\r\n"), "GET http://h a h - 1k\n: Host: h\nidle" },
	{ "absolute with query", ROW("GET http://h?a/@b HTTP/1.1\r\n" HOST "\r\n"), "GET http://h?a/@b a h ?a/@b 1k\n: Host: h\nidle" },
	{ "absolute, https", ROW("GET https://h:443/ HTTP/1.1\r\n" HOST "\r\n"), "GET https://h:443/ a h:443 / 1ks\n: Host: h\nidle" },
	{ "absolute, OPTIONS", ROW("OPTIONS http://h HTTP/1.1\r\n" HOST "\r\n"), "OPTIONS http://h a h - 1k\n: Host: h\nidle" },
	{ "absolute, 1.0", ROW("GET http://h/ HTTP/1.0" END), "GET http://h/ a h / 0\nclose" },
	{ "asterisk", ROW("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), "OPTIONS * * h - 1k\n: Host: h\nidle" },
	{ "CONNECT", ROW("CONNECT h:443 HTTP/1.1\r\nHost: h:443" END), "CONNECT h:443 c h:443 - 1k\n: Host: h:443\nidle" },
	{ "connect", ROW("connect /a HTTP/1.1\r\n" HOST "\r\n"), "connect /a o h /a 1k\n: Host: h\nidle" },
	{ "Hosts", ROW(GET "host: a-b_c.D~!$&'()*+,;=%2Ef.:65535" END), "GET / o a-b_c.D~!$&'()*+,;=%2Ef.:65535 / 1k\n: host: a-b_c.D~!$&'()*+,;=%2Ef.:65535\nidle" },
	{ "empty port", ROW(GET "Host: h:" END), "GET / o h: / 1k\n: Host: h:\nidle" },
	{ "IPv6", ROW(GET "Host: [2001:db8::1]:8080" END), "GET / o [2001:db8::1]:8080 / 1k\n: Host: [2001:db8::1]:8080\nidle" },
	{ "IPv6 alone", ROW(GET "Host: [::ffff:1.2.3.4]" END), "GET / o [::ffff:1.2.3.4] / 1k\n: Host: [::ffff:1.2.3.4]\nidle" },
	{ "fields", ROW(GET "Host:h\r\nA:\r\nB: \t \r\nC:  c\td \t\r\nD::\r\nA: \xff\x80" END), "GET / o h / 1k\n: Host: h\n: A: \n: B: \n: C: c\\x09d\n: D: :\n: A: \\xff\\x80\nidle" },
	{ "names as long as known ones", ROW(GET HOST "Date: a\r\nAccept: b\r\nReferer: c\r\nUser-Agent: d\r\nAccept-Charset: e\r\nIf-Modified-Since: f" END), "GET / o h / 1k\n: Host: h\n: Date: a\n: Accept: b\n: Referer: c\n: User-Agent: d\n: Accept-Charset: e\n: If-Modified-Since: f\nidle" },
	{ "values of every length", ROW(GET HOST "a:0123456789abcde\r\nb:0123456789abcdef\r\nc:0123456789abcdefg\r\nd:0123456789abcdef0123456789abcde" END), "GET / o h / 1k\n: Host: h\n: a: 0123456789abcde\n: b: 0123456789abcdef\n: c: 0123456789abcdefg\n: d: 0123456789abcdef0123456789abcde\nidle" },
	{ "header of 200 bytes", ROW(GET HOST "A: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "1234" END), "GET / o h / 1k\n: Host: h\n: A: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "1234\nidle" },
	{ "expectation", ROW(POST "Expect: 100-Continue\r\nContent-Length: 1" END "a"), "POST / o h / 1ke\n: Host: h\n: Expect: 100-Continue\n: Content-Length: 1\n= a\nidle" },
	{ "expectation in 1.0", ROW("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1" END "a"), "POST / o - / 0\n: Expect: 100-continue\n: Content-Length: 1\n= a\nclose" },
	{ "upgrade", ROW(GET HOST "Connection: Upgrade\r\nUpgrade: websocket" END), "GET / o h / 1k\n: Host: h\n: Connection: Upgrade\n: Upgrade: websocket\n^ websocket\nidle" },
	{ "upgrade without option", ROW(GET HOST "Upgrade: websocket" END), "GET / o h / 1k\n: Host: h\n: Upgrade: websocket\nidle" },
	{ "upgrade in 1.0", ROW("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: a" END), "GET / o - / 0\n: Connection: upgrade\n: Upgrade: a\nclose" },
	{ "upgrade with a body", ROW(GET HOST "Connection: upgrade\r\nUpgrade: a\r\nContent-Length: 1" END "b"), "GET / o h / 1k\n: Host: h\n: Connection: upgrade\n: Upgrade: a\n: Content-Length: 1\n= b\nidle" },
	{ "upgrade of POST", ROW(POST "Connection: upgrade\r\nUpgrade: a" END), "POST / o h / 1k\n: Host: h\n: Connection: upgrade\n: Upgrade: a\nidle" },
	{ "two upgrades", ROW(GET HOST "Connection: upgrade\r\nUpgrade: a\r\nUpgrade: b" END), "GET / o h / 1k\n: Host: h\n: Connection: upgrade\n: Upgrade: a\n: Upgrade: b\nidle" },
	{ "length", ROW(POST "Content-Length: 5" END "hello" GET HOST "\r\n"), "POST / o h / 1k\n: Host: h\n: Content-Length: 5\n= hello\nGET / o h / 1k\n: Host: h\nidle" },
	{ "length with blanks", ROW(POST "Content-Length: \t 5 " END "hello"), "POST / o h / 1k\n: Host: h\n: Content-Length: 5\n= hello\nidle" },
	{ "length with zeros", ROW(POST "Content-Length: 000000000000000005" END "hello"), "POST / o h / 1k\n: Host: h\n: Content-Length: 000000000000000005\n= hello\nidle" },
	{ "length of nothing", ROW(POST "Content-Length: 0" END), "POST / o h / 1k\n: Host: h\n: Content-Length: 0\nidle" },
	{ "no length", ROW(POST "\r\n" GET HOST "\r\n"), "POST / o h / 1k\n: Host: h\nGET / o h / 1k\n: Host: h\nidle" },
	{ "GET with a body", ROW(GET HOST "Content-Length: 5" END "hello"), "GET / o h / 1k\n: Host: h\n: Content-Length: 5\n= hello\nidle" },
	{ "body that is cut", ROW(POST "Content-Length: 5" END "hel"), "POST / o h / 1k\n: Host: h\n: Content-Length: 5\n= hel\nmore" },
	{ "all bytes in a body", ROW(POST "Content-Length: 5" END "\0\r\n\xff\\"), "POST / o h / 1k\n: Host: h\n: Content-Length: 5\n= \\x00\\x0d\\x0a\\xff\\x5c\nidle" },
	{ "huge length", ROW(POST "Content-Length: 999999999999999999" END "a"), "POST / o h / 1k\n: Host: h\n: Content-Length: 999999999999999999\n= a\nmore" },
	{ "chunks", ROW(CHUNKED "5\r\nhello\r\n00A\r\n, world!!!\r\n0" END GET HOST "\r\n"), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n= hello, world!!!\nGET / o h / 1k\n: Host: h\nidle" },
	{ "Chunked", ROW(POST "transfer-encoding:\tChunked " END "1\r\na\r\n0" END), "POST / o h / 1kt\n: Host: h\n: transfer-encoding: Chunked\n= a\nidle" },
	{ "no chunk", ROW(CHUNKED "0" END), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\nidle" },
	{ "zeros", ROW(CHUNKED "000000000000001\r\na\r\n000000000000000" END), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n= a\nidle" },
	{ "largest chunk", ROW(CHUNKED "fffffffffffffff\r\na"), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n= a\nmore" },
	{ "extensions", ROW(CHUNKED "1;a=b;c=\" ;\t\xff\" \r\na\r\n0;z" END), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n= a\nidle" },
	{ "extension of 256 bytes", ROW(CHUNKED "1;" TWO_HUNDRED FIFTY "12345\r\na\r\n0" END), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n= a\nidle" },
	{ "trailer", ROW(CHUNKED "1\r\na\r\n0\r\nA: b\r\nc:\r\nHost: i\r\nTransfer-Encoding: chunked\r\ncontent-length: 5\r\nAuthorization: x\r\nD:  e " END GET HOST "\r\n"), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n= a\n+ A: b\n+ c: \n+ D: e\nGET / o h / 1k\n: Host: h\nidle" },
	{ "trailer of other words", ROW(CHUNKED "0\r\nContent_Length: 5\r\nX-HTTP-Method: a\r\nX_HTTP_Method_Override: b\r\nProxy-Authenticate: c\r\nX-HTTP: d" END), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n+ X-HTTP: d\nidle" },
	{ "longest trailer", ROW(CHUNKED "0\r\na: " FIFTY FIFTY FIFTY "0123" END), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n+ a: " FIFTY FIFTY FIFTY "0123\nidle" },
	{ "chunk that is cut", ROW(CHUNKED "5\r\nhel"), "POST / o h / 1kt\n: Host: h\n: Transfer-Encoding: chunked\n= hel\nmore" },
	{ "preface", ROW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nabc"), "preface" },
	{ "half a preface", ROW("PRI * HTTP/2.0\r\n\r\nSM"), "more" },
	{ "PRIOR", ROW("PRIOR / HTTP/1.1\r\n" HOST "\r\n"), "PRIOR / o h / 1k\n: Host: h\nidle" },
};
/* clang-format on */

static char text[REQUEST_TEXT_MAX], again[REQUEST_TEXT_MAX];

static enum message_fault read_in_steps(const char *input, size_t len,
					size_t step, char *out)
{
	const struct request_text_way way = { limits, step };

	return request_text_read(input, len, &way, out);
}

/* The text without the lines of offsets. */
static void cut_offsets(char *at)
{
	char *line;

	while ((line = strstr(at, "\n. "))) {
		char *end = strchr(line + 1, '\n');

		memmove(line, end, strlen(end) + 1);
		at = line;
	}
}

static void what_is_refused(void **state)
{
	bool seen[MESSAGE_FAULT_COUNT] = { [MESSAGE_OK] = true };

	(void)state;
	for (size_t i = 0; i < NROWS(refusals); i++) {
		const struct refusal *r = &refusals[i];

		for (size_t step = 1; step <= r->len; step++) {
			enum message_fault fault =
				read_in_steps(r->input, r->len, step, text);

			if (fault != r->fault)
				fail_msg("%s: %s, not %s", r->name,
					 message_fault_reason(fault),
					 message_fault_reason(r->fault));
		}
		seen[r->fault] = true;
	}
	seen[MESSAGE_FIELD_COUNT] = true; /* below */
	seen[MESSAGE_FIELD_CONNECTION] = true; /* of HTTP/2 */
	seen[MESSAGE_PSEUDO_FIELD] = true;
	for (int i = 0; i < MESSAGE_FAULT_COUNT; i++)
		assert_true(seen[i]);
}

static void what_is_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(acceptances); i++) {
		const struct acceptance *a = &acceptances[i];

		for (size_t step = 1; step <= a->len + 1; step++) {
			read_in_steps(a->input, a->len, step, text);
			cut_offsets(text);
			if (strcmp(text, a->text) != 0)
				fail_msg("%s by %zu:\n%s\nnot\n%s", a->name,
					 step, text, a->text);
		}
	}
}

/* The end of a request's text: behind the line of its offset. */
static size_t first_offset(const char *at)
{
	const char *line = strstr(at, "\n. ");

	return line ? strtoul(line + 3, NULL, 10) : 0;
}

/* What there is of a good message is never refused, and never whole. */
static void cut_at_every_length(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(acceptances); i++) {
		const struct acceptance *a = &acceptances[i];
		size_t first;

		read_in_steps(a->input, a->len, a->len + 1, text);
		first = first_offset(text);
		for (size_t len = 0; len < a->len; len++) {
			assert_int_equal(read_in_steps(a->input, len, len + 1,
						       again), MESSAGE_OK);
			assert_int_equal(first_offset(again),
					 len < first ? 0 : first);
		}
	}
}

static void what_is_behind_does_not_matter(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(acceptances); i++) {
		const struct acceptance *a = &acceptances[i];
		size_t first;
		char input[2048];

		read_in_steps(a->input, a->len, a->len + 1, text);
		first = first_offset(text);
		memcpy(input, a->input, a->len);
		memset(input + first, '\r', sizeof(input) - first);
		read_in_steps(input, sizeof(input), sizeof(input), again);
		if (first)
			assert_memory_equal(text, again,
					    (size_t)(strstr(text, "\n. ") -
						     text));
	}
}

static void the_same_from_then_on(void **state)
{
	static const char good[] = GET HOST "\r\n", bad[] = GET "\r\n";
	struct request_head h;

	(void)state;
	request_head_init(&h, &limits);
	assert_int_equal(request_head_read(&h, bad, sizeof(bad) - 1),
			 REQUEST_HEAD_REFUSED);
	assert_int_equal(request_head_read(&h, good, sizeof(good) - 1),
			 REQUEST_HEAD_REFUSED);
	request_head_init(&h, &limits);
	assert_int_equal(request_head_read(&h, good, sizeof(good)),
			 REQUEST_HEAD_DONE);
	assert_int_equal(request_head_read(&h, good, sizeof(good)),
			 REQUEST_HEAD_DONE);
	assert_int_equal(h.len, sizeof(good) - 1);
	assert_int_equal(h.header_len, 11);
}

/* The body of CHUNKED, of which all is there; the event that comes last. */
static enum request_body_event read_body(struct request_body *b,
					 struct field_part *in)
{
	const struct framing chunked = { .length = -1, .chunked = true };
	enum request_body_event event;

	request_body_init(b, &chunked, MAX_HEADER);
	do
		event = request_body_next(b, in);
	while (event == REQUEST_BODY_PIECE);
	return event;
}

static void a_body_stays_as_it_ended(void **state)
{
	static const char good[] = "1\r\na\r\n0" END "GET";
	static const char bad[] = "1\r\nab\r\n";
	struct field_part in = { good, sizeof(good) - 1 };
	struct request_body b;

	(void)state;
	assert_int_equal(read_body(&b, &in), REQUEST_BODY_END);
	assert_int_equal(in.len, 3);
	assert_int_equal(request_body_next(&b, &in), REQUEST_BODY_END);
	assert_int_equal(in.len, 3);
	in = (struct field_part){ bad, sizeof(bad) - 1 };
	assert_int_equal(read_body(&b, &in), REQUEST_BODY_REFUSED);
	in = (struct field_part){ good, sizeof(good) - 1 };
	assert_int_equal(request_body_next(&b, &in), REQUEST_BODY_REFUSED);
	assert_int_equal(b.fault, MESSAGE_CHUNK_END);
}

/* A header with so many fields, Host one of them. */
static enum message_fault read_fields(unsigned n, const char *end)
{
	const struct request_text_way way = { { 10, 1 << 16 }, 7 };
	char input[4096] = GET HOST;

	for (unsigned i = 1; i < n; i++)
		strcat(input, "a: b\r\n");
	strcat(input, end);
	return request_text_read(input, strlen(input), &way, text);
}

static enum message_fault read_trailer(unsigned n)
{
	const struct request_text_way way = { { 10, 1 << 16 }, 7 };
	char input[4096] = CHUNKED "0\r\n";

	for (unsigned i = 0; i < n; i++)
		strcat(input, "host: b\r\n");
	strcat(input, "\r\n");
	return request_text_read(input, strlen(input), &way, text);
}

static void fields_are_counted(void **state)
{
	(void)state;
	assert_int_equal(read_fields(REQUEST_HEAD_FIELDS, "\r\n"), MESSAGE_OK);
	assert_int_equal(read_fields(REQUEST_HEAD_FIELDS + 1, "\r\n"),
			 MESSAGE_FIELD_COUNT);
	assert_int_equal(read_trailer(REQUEST_BODY_FIELDS), MESSAGE_OK);
	assert_int_equal(read_trailer(REQUEST_BODY_FIELDS + 1),
			 MESSAGE_FIELD_COUNT);
}

/* 16 KB of them in a body, though none is long. */
static void extensions_are_counted(void **state)
{
	const struct request_text_way way = { limits, 100000 };
	char *input = calloc(1, 100000);
	size_t len;

	(void)state;
	assert_non_null(input);
	for (unsigned n = 163; n <= 164; n++) {
		len = (size_t)sprintf(input, CHUNKED);
		for (unsigned i = 0; i < n; i++)
			len += (size_t)sprintf(input + len,
					       "1;%099d\r\na\r\n", 0);
		len += (size_t)sprintf(input + len, "0" END);
		assert_int_equal(request_text_read(input, len, &way, text),
				 n < 164 ? MESSAGE_OK :
					   MESSAGE_CHUNK_EXTENSION);
	}
	free(input);
}

/* What is accepted passes the guard, and makes a URI. */
static void the_guard_agrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(acceptances); i++) {
		const struct acceptance *a = &acceptances[i];
		struct guard_request request;
		struct request_head h;
		struct fields f;
		struct target t;
		char input[2048];

		memcpy(input, a->input, a->len);
		request_head_init(&h, &limits);
		if (request_head_read(&h, input, a->len) != REQUEST_HEAD_DONE)
			continue;
		fields_init(&f);
		assert_int_equal(request_head_borrow_fields(&h, input, &f), 0);
		request = (struct guard_request){
			.method = input + h.method.at,
			.target = input + h.target.at,
			.target_len = h.target.len,
			.minor = h.minor,
			.fields = &f,
		};
		assert_int_equal(guard_check(&request).status,
				 h.form == REQUEST_AUTHORITY_FORM ? 501 : 0);
		if (h.authority.len && h.path.len) {
			assert_int_equal(
				target_resolve(&t, request.target,
					       request.target_len,
					       fields_get(&f, "Host")), 0);
			target_free(&t);
		}
		fields_free(&f);
	}
}

static const char listed[] = "\r\nGET /a HTTP/1.1\r\nHost: h\r\nA:\r\n"
			     "B: \t b c \r\n\r\nrest";

static void check_list(const struct fields *f)
{
	assert_int_equal(fields_count(f), 3);
	assert_string_equal(fields_get(f, "host"), "h");
	assert_string_equal(fields_get(f, "a"), "");
	assert_string_equal(fields_get(f, "b"), "b c");
}

static void fields_as_a_list(void **state)
{
	struct request_head h;
	struct fields f;
	char input[sizeof(listed)];

	(void)state;
	memcpy(input, listed, sizeof(listed));
	request_head_init(&h, &limits);
	assert_int_equal(request_head_read(&h, input, sizeof(input)),
			 REQUEST_HEAD_DONE);
	fields_init(&f);
	assert_int_equal(request_head_borrow_fields(&h, input, &f), 0);
	check_list(&f);
	assert_string_equal(input + h.method.at, "GET");
	assert_string_equal(input + h.target.at, "/a");
	assert_string_equal(input + h.len, "rest");
	fields_free(&f);
}

static void lists_without_memory(void **state)
{
	char input[sizeof(listed)];
	struct request_head h;
	struct fields f;

	(void)state;
	request_head_init(&h, &limits);
	assert_int_equal(request_head_read(&h, listed, sizeof(listed)),
			 REQUEST_HEAD_DONE);
	memcpy(input, listed, sizeof(listed));
	h.base = input;
	for (unsigned n = 1; n <= 2; n++) { /* one is all that it takes */
		fields_init(&f);
		alloc_fail_at(n);
		assert_int_equal(request_head_borrow_fields(&h, input, &f),
				 n == 1 ? -ENOMEM : 0);
		alloc_fail_at(0);
		fields_free(&f);
	}
}

/* Both scans of a value, on bytes of which one is none of a value, or none. */
static void both_scans_agree(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		size_t len = (size_t)random_below(&random, 70);
		size_t at = (size_t)random_below(&random, 70);
		char *bytes = malloc(len + 1);
		const char *end = bytes + len;

		memset(bytes, (int)(' ' + i % 95), len + 1);
		if (at < len)
			bytes[at] = (char)random_next(&random);
		assert_ptr_equal(octets_skip_value(bytes, end),
				 octets_skip_value_portable(bytes, end));
		free(bytes);
	}
}

static void classes_of_bytes(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		bool ascii = c > 0 && c < 128;
		char byte = (char)c;

		assert_int_equal(octets_has(OCTETS_TOKEN, byte),
				 ascii && c > ' ' && c < 127 &&
				 !strchr("\"(),/:;<=>?@[\\]{}", c));
		assert_int_equal(octets_has(OCTETS_VALUE, byte),
				 c == '\t' || (c >= ' ' && c != 127));
		assert_int_equal(octets_has(OCTETS_DIGIT, byte),
				 c >= '0' && c <= '9');
		assert_int_equal(octets_has(OCTETS_BROWSER, byte),
				 ascii && strchr("^`{|}", c));
		assert_int_equal(octets_has(OCTETS_TARGET, byte),
				 c > ' ' && c < 127 &&
				 !strchr("\"#<>\\^`{|}", c));
		assert_int_equal(octets_has(OCTETS_NAME, byte),
				 c > ' ' && c < 127 &&
				 !strchr("\"#<>\\^`{|}%/:?@[]", c));
	}
}

/* What a server does not serve, of all that can be read. */
static void what_is_not_served(void **state)
{
	static const struct {
		const char *input;
		unsigned status;
	} rows[] = {
		{ GET HOST "\r\n", 0 },
		{ "BREW / HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "TRACE / HTTP/1.1\r\n" HOST "\r\n", 501 },
		{ "trace / HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "TRACER / HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "CONNECT h:443 HTTP/1.1\r\nHost: h:443" END, 501 },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505 },
		{ "GET / HTTP/2.0\r\n" HOST "\r\n", 505 },
		{ "GET /a#b HTTP/1.1\r\n" HOST "\r\n", 400 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct request_head h;
		enum request_head_event event;

		request_head_init(&h, &limits);
		event = request_head_read(&h, rows[i].input,
					  strlen(rows[i].input));
		assert_int_equal(request_head_refusal(&h, event),
				 rows[i].status);
	}
}

static void each_fault_has_its_text(void **state)
{
	(void)state;
	for (int i = 1; i < MESSAGE_FAULT_COUNT; i++) {
		unsigned status = message_fault_status((enum message_fault)i);

		assert_true(status == 400 || status == 414 || status == 417 ||
			    status == 431 || status == 501 || status == 505);
		assert_true(*message_fault_reason((enum message_fault)i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(what_is_accepted),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(what_is_behind_does_not_matter),
		cmocka_unit_test(the_same_from_then_on),
		cmocka_unit_test(a_body_stays_as_it_ended),
		cmocka_unit_test(fields_are_counted),
		cmocka_unit_test(extensions_are_counted),
		cmocka_unit_test(the_guard_agrees),
		cmocka_unit_test(fields_as_a_list),
		cmocka_unit_test(lists_without_memory),
		cmocka_unit_test(both_scans_agree),
		cmocka_unit_test(classes_of_bytes),
		cmocka_unit_test(what_is_not_served),
		cmocka_unit_test(each_fault_has_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
