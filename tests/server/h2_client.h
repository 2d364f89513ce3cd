/*
 * A client of HTTP/2 for tests, by nghttp2: it asks on many streams of one
 * connection, and notes what comes of each. It blocks, for a while at most.
 */
#ifndef TESTS_SERVER_H2_CLIENT_H
#define TESTS_SERVER_H2_CLIENT_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>

enum { H2_ANSWERS = 256, H2_ANSWER_BYTES = 1024, H2_COLLECTED = 16384 };

/* What has come on a stream. */
struct h2_answer {
	unsigned status, interims;
	char fields[H2_ANSWER_BYTES]; /* "name: value\n", and trailers */
	char body[H2_ANSWER_BYTES];   /* how it begins */
	size_t len;                   /* of all of it */
	bool ended;                   /* as it should */
	bool closed;
	uint32_t error;
	size_t to_send;               /* of a body, left */
	bool stuck;                   /* it is not sent */
	const nghttp2_nv *trailer;    /* behind it; null: none */
	size_t ntrailers;             /* so often; 0: once */
	const char *expected;         /* what comes; null: anything */
};

struct h2_client {
	int fd;
	nghttp2_session *session;
	bool over;          /* the server has closed it */
	bool collects;
	size_t ncollected;
	char collected[H2_COLLECTED];
	unsigned goaways, pongs;
	uint32_t error;     /* of the last */
	int32_t last_id;
	struct h2_answer answers[H2_ANSWERS]; /* by stream id / 2 */
};

/* A field; a list of them ends with one that has no name. */
struct h2_field {
	const char *name, *value;
};

/* Connects; slow: opens no window of a stream after what it began with. */
void h2_client_open(struct h2_client *c, bool slow);
/* Leaves without a word. */
void h2_client_close(struct h2_client *c);

/* Asks, with fields (null: none; else up to one without name) and a body of
 * so many bytes (0: none). Returns the stream. */
int32_t h2_client_ask(struct h2_client *c, const char *method, const char *path,
		      const struct h2_field *fields, size_t body);
/* Asks for nothing but these fields, as they are. */
int32_t h2_client_ask_raw(struct h2_client *c, const struct h2_field *fields);

struct h2_answer *h2_client_answer(struct h2_client *c, int32_t id);

/* What is sent from now on waits; and goes out, by one call. */
void h2_client_collect(struct h2_client *c, bool collects);

/* Sends a frame past nghttp2. */
void h2_client_send_frame(struct h2_client *c, unsigned type, unsigned flags,
			  int32_t id, const void *payload, size_t len);

/* Sends and receives until there is nothing to do for so long. */
void h2_client_run(struct h2_client *c, int quiet_ms);
/* ... until a stream has closed, or the connection; the test fails if that
 * takes too long. */
struct h2_answer *h2_client_wait(struct h2_client *c, int32_t id);
void h2_client_wait_over(struct h2_client *c);

#endif
