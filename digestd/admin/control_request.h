/*
 * What an operator asks of a running node: a line of JSON, read and held
 * against its table before anything is done. Without I/O.
 *
 *   {"v": 1, "command": "purge", "url": "http://www.example.com/a"}
 *
 * Members that a command does not know are refused, as nobody is to believe
 * that one he has misspelt was obeyed.
 */
#ifndef DIGESTD_ADMIN_CONTROL_REQUEST_H
#define DIGESTD_ADMIN_CONTROL_REQUEST_H

#include <jansson.h>
#include <stddef.h>

enum {
	CONTROL_VERSION = 1,
	CONTROL_LINE_MAX = 64 << 10, /* bytes of a request, without its end */
	CONTROL_FAULT_BYTES = 200,
};

/* X(name, member): what commands are given */
#define CONTROL_OPERANDS(X) \
	X(URL, "url") \
	X(PREFIX, "prefix") \
	X(TAG, "tag") \
	X(PEER, "peer") \
	X(LEVEL, "level")

enum control_operand {
#define X(name, member) CONTROL_##name,
	CONTROL_OPERANDS(X)
#undef X
	CONTROL_OPERAND_COUNT
};

/* X(name, word, operands): exactly one of these is given; 0: none */
/* clang-format off */
#define CONTROL_COMMANDS(X) \
	X(STATUS,     "status",     0) \
	X(PURGE,      "purge",      1 << CONTROL_URL | 1 << CONTROL_PREFIX | \
				    1 << CONTROL_TAG) \
	X(EXPLAIN,    "explain",    1 << CONTROL_URL) \
	X(LOG,        "log",        0) \
	X(DRAIN,      "drain",      0) \
	X(UNDRAIN,    "undrain",    0) \
	X(QUARANTINE, "quarantine", 1 << CONTROL_PEER) \
	X(RELEASE,    "release",    1 << CONTROL_PEER) \
	X(RELOAD,     "reload",     0) \
	X(TOKEN,      "token",      0) \
	X(LOG_LEVEL,  "log-level",  1 << CONTROL_LEVEL)
/* clang-format on */

enum control_command {
#define X(name, word, operands) CONTROL_##name,
	CONTROL_COMMANDS(X)
#undef X
	CONTROL_COMMAND_COUNT
};

struct control_request {
	enum control_command command;
	enum control_operand operand; /* if the command has one */
	const char *value;	      /* of it; it has no control characters */
	json_t *line;		      /* owns the value */
};

/*
 * Reads a line without its end; `len` may be anything. Returns 0 and a request
 * to be released with control_request_free(), or -EINVAL and in `fault` what is
 * wrong with it, for who has sent it.
 */
int control_request_read(const char *line, size_t len,
			 struct control_request *out,
			 char fault[CONTROL_FAULT_BYTES]);

void control_request_free(struct control_request *r);

/* The word for a command. Static. */
const char *control_command_word(enum control_command command);

#endif
