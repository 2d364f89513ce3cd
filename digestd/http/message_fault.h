/*
 * What can be wrong with an HTTP/1.1 message (RFC 9112), or with the header of
 * an HTTP/2 request, and the status with which a server refuses a request that
 * has it. After a refusal nothing more of a connection of HTTP/1.1 is read: two
 * readers might disagree about where the next request begins.
 */
#ifndef DIGESTD_HTTP_MESSAGE_FAULT_H
#define DIGESTD_HTTP_MESSAGE_FAULT_H

/* X(name, status, reason) */
/* clang-format off */
#define MESSAGE_FAULTS(X) \
	X(EMPTY_LINES, 400, "more than one empty line before the request") \
	X(METHOD, 400, "the method is no token") \
	X(METHOD_LENGTH, 501, "the method is too long") \
	X(REQUEST_LINE, 400, "the request line is not three words and two blanks") \
	X(TARGET_BYTE, 400, "invalid byte in the target") \
	X(TARGET_LENGTH, 414, "the target is too long") \
	X(TARGET_FORM, 400, "the target has a form that the method does not take") \
	X(TARGET_USER, 400, "the target has user information") \
	X(VERSION, 505, "the version is not HTTP/1") \
	X(LINE_END, 400, "a line does not end in CR LF") \
	X(FIELD_NAME, 400, "invalid field name") \
	X(FIELD_FOLDED, 400, "folded field") \
	X(FIELD_BLANK, 400, "blank before the colon of a field") \
	X(FIELD_VALUE, 400, "invalid byte in a field") \
	X(FIELD_CONNECTION, 400, "a field that HTTP/2 does not have") \
	X(PSEUDO_FIELD, 400, "a pseudo-field is missing, malformed, repeated, unknown or late") \
	X(FIELD_COUNT, 431, "too many fields") \
	X(HEADER_LENGTH, 431, "the header is too large") \
	X(HOST_MISSING, 400, "no Host") \
	X(HOST_REPEATED, 400, "repeated Host") \
	X(HOST, 400, "invalid Host") \
	X(HOST_DIFFERS, 400, "target and Host differ") \
	X(LENGTH, 400, "invalid Content-Length") \
	X(LENGTH_REPEATED, 400, "repeated Content-Length") \
	X(LENGTH_AND_CODING, 400, "Content-Length with Transfer-Encoding") \
	X(CODING, 501, "unknown Transfer-Encoding") \
	X(CODING_REPEATED, 400, "repeated Transfer-Encoding") \
	X(CODING_VERSION, 400, "Transfer-Encoding in HTTP/1.0") \
	X(CONNECTION, 400, "Connection names a field that frames or routes") \
	X(EXPECTATION, 417, "unknown expectation") \
	X(CHUNK_SIZE, 400, "invalid chunk size") \
	X(CHUNK_EXTENSION, 400, "invalid or too long chunk extensions") \
	X(CHUNK_END, 400, "a chunk is longer than its size")
/* clang-format on */

enum message_fault {
	MESSAGE_OK,
#define X(name, status, reason) MESSAGE_##name,
	MESSAGE_FAULTS(X)
#undef X
	MESSAGE_FAULT_COUNT,
};

/* The status of a refusal; fault: not MESSAGE_OK. */
unsigned message_fault_status(enum message_fault fault);

/* One line of text that says what is wrong, for a log or an error page. */
const char *message_fault_reason(enum message_fault fault);

#endif
