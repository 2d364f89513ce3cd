/*
 * Asking a running node at its control socket: a line of JSON, and a line of
 * JSON for an answer (digestd/admin/control.h).
 */
#ifndef DIGESTD_CTL_NODE_CLIENT_H
#define DIGESTD_CTL_NODE_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "digestd/tool/options.h"

/* What commands that ask a node begin their structures with. */
struct control_options {
	bool json;
	const char *path; /* null: $DIGESTD_CONTROL, or /run/digestd/control */
};

/* --json and --control, for such structures. */
extern const struct tool_option control_options[];

/* Tables of a command that has no others. */
extern const struct tool_option *const control_only_options[];

/* A connection. */
struct node_client {
	const char *path;
	int fd;
	int passed; /* a descriptor that came with an answer; -1: none */
	char *in; /* what has come */
	size_t len, room;
};

/*
 * Connects. Returns an exit code; what is wrong was told, with what is to be
 * done about it, and there is nothing to close.
 */
int node_client_open(struct node_client *c, const struct control_options *o);

/* Hangs up. Once it is closed nothing happens. */
void node_client_close(struct node_client *c);

/*
 * Asks for something, of which the version is added; the request is released.
 * *answer, to be released with json_decref(), is what the node says, also where
 * that is "no": then the exit code is CTL_NO, and nothing was told. Where there
 * is no answer, it is null, and that was told.
 */
int node_client_ask(struct node_client *c, json_t *request, json_t **answer);

/*
 * Asks for one thing, and prints the answer as JSON or as tell(answer) does,
 * which returns an exit code; null: there is no more to say. A "no" is told on
 * stderr. Returns an exit code.
 */
int node_client_run(const struct control_options *o, json_t *request,
		    int (*tell)(const json_t *answer));

/* Tells why a node has said "no". */
void node_client_tell_refusal(const json_t *answer);

/* The same as node_client_run() for a whole command line without operands. */
int node_client_run_bare(int argc, char **argv, const char *help,
			 const char *command,
			 int (*tell)(const json_t *answer));

/* For one whose only operand is this member of its request. */
int node_client_run_with(int argc, char **argv, const char *help,
			 const char *command, const char *member,
			 int (*tell)(const json_t *answer));

#endif
