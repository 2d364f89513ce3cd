/*
 * The control socket: operators on the same machine ask and order by lines of
 * JSON (control_request.h), and each line has one answer, a line too:
 *
 *   {"v": 1, "ok": true, ...}
 *   {"v": 1, "ok": false, "error": "no peer \"n9\""}
 *
 * All on the loop of who serves. A client costs nothing but its descriptor and
 * what it has sent: it has patience_ms for a line, and as long to take
 * an answer, and its next line is read when it has done so. Of more than
 * CONTROL_CLIENTS at a time the next one is told so.
 */
#ifndef DIGESTD_ADMIN_CONTROL_H
#define DIGESTD_ADMIN_CONTROL_H

#include <jansson.h>
#include <stdint.h>

#include "digestd/admin/control_request.h"

enum { CONTROL_CLIENTS = 16 };

struct control;
struct loop;

/* An answer that is to come; see control_reply_end(). */
struct control_reply;

struct control_settings {
	const char *path; /* copied */
	int64_t patience_ms;
	/* Serves a request, which is gone when it returns: has one
	 * control_reply_end() or _refuse() follow, at once or later, also where
	 * the client has left. */
	void (*serve)(void *arg, const struct control_request *request,
		      struct control_reply *reply);
	void *arg;
};

/*
 * Opens the socket, see listen_local_open(). Returns 0 or a negative errno, of
 * which the log has nothing.
 */
int control_new(struct loop *loop, const struct control_settings *settings,
		struct control **out);

/* Ends it: *c becomes null, null is allowed. Answers that come later go
 * nowhere. */
void control_free(struct control **c);

/*
 * Answers with an object, which becomes its own and gets "v" and "ok"; null:
 * there was no memory for it. The reply is gone.
 */
void control_reply_end(struct control_reply *reply, json_t *answer);

/* What lasts as long as a client is connected. */
struct control_lease {
	int fd; /* the client gets it with its answer; borrowed until `left` */
	void (*left)(void *arg);
	void *arg;
};

/*
 * As control_reply_end(), and calls left() when the client leaves, which may be
 * at once, from here; it may be silent for as long as it likes.
 */
void control_reply_last(struct control_reply *reply, json_t *answer,
			const struct control_lease *lease);

/* As control_reply_end() for what was not done: says why, to a person. */
void control_reply_refuse(struct control_reply *reply, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
