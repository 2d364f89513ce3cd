/*
 * The network of a world: connections that carry one request and its response.
 *
 * Each direction is a first-in-first-out pipe with a window: a head, bytes that
 * arrive in pieces of the seed's choice, an end. A receiver that takes less
 * than it is offered holds its sender back. A connection may be refused, lead
 * nowhere, break or fall silent after any byte.
 */
#ifndef CACHESIM_WORLD_WIRE_H
#define CACHESIM_WORLD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fields;
struct wire;

enum wire_side { WIRE_ASKER, WIRE_ANSWERER };

/* Places between which there are links: the nodes from 0 on, and these. */
enum { WIRE_CLIENTS = -1, WIRE_ORIGIN = -2 };

/* The head of a request, or of a response. What a receiver is shown lives
 * until its wire_close(). */
struct wire_head {
	const char *method, *target; /* null: a response */
	unsigned status;
	const struct fields *fields;
	bool has_body;
	int64_t body_len; /* -1: unknown */
	bool until_close; /* of that length, as the connection ends with it */
};

/* Why a connection is no more. */
enum wire_end { WIRE_REFUSED, WIRE_BROKEN, WIRE_GARBAGE };

/* What a side hears, one call an event, never inside a call of wire_*(). */
struct wire_ops {
	void (*on_connected)(void *arg); /* the asker; null: not interested */
	void (*on_head)(void *arg, const struct wire_head *head);
	/* returns how many it takes; after fewer, see wire_resume() */
	size_t (*on_bytes)(void *arg, const char *data, size_t len);
	/* null, or in place of on_bytes(): counts bytes that are not copied */
	void (*on_length)(void *arg, size_t len);
	void (*on_end)(void *arg);
	/* the other side has gone before its end, or before it has heard all;
	 * wire_close() is still due */
	void (*on_broken)(void *arg, enum wire_end why);
	void (*on_room)(void *arg); /* there is room in the window again */
};

/* How the links of a kind behave. */
struct wire_faults {
	unsigned refused, black_hole, cut, silent; /* in a thousand */
};

/* Set by the world's kind. */
extern struct wire_weather {
	uint32_t latency_us; /* one way, at least half and at most 1.5 of it */
	uint32_t piece_us;   /* between two pieces, at most */
	uint32_t piece_bytes; /* at most */
	size_t window;
	struct wire_faults faults;
	bool calm; /* no more faults from now on */
	/* null, or in place of latency_us: one way between two places */
	int64_t (*latency)(int from, int to);
	/* What was sent arrives at once, and a connection costs nothing, as
	 * one that is kept open. */
	bool whole;
	/* null, or bytes that are all alike, and how many: what is sent out of
	 * them is not copied, and comes out of them */
	const char *alike;
	size_t nalike;
	/* with `alike`: among them, where what is sent piece by piece is put;
	 * what others put there is lost */
	char *scratch;
	size_t nscratch;
} wire_weather;

/* Whether bytes are among those that are all alike. */
bool wire_are_alike(const char *data);

/* Joins all links again. */
void wire_reset(void);

/* Accepts connections to a name ("10.0.0.1:8080") at a place; several may, and
 * each connection goes to one of the seed's choice. */
struct wire_listener {
	const char *name;
	int place;
	void (*accept)(void *arg, struct wire *wire);
	void *arg;
	struct wire_listener *next, **link; /* of those of like names */
};

/* Begins and ends that; a null link is one that does not listen. */
void wire_listen(struct wire_listener *l);
void wire_unlisten(struct wire_listener *l);

/* Connects; ops and arg are the asker's. Never fails at once. */
struct wire *wire_open(int from, const char *to, const struct wire_ops *ops,
		       void *arg);

/* The answerer's, to be called from accept(). */
void wire_accept(struct wire *wire, const struct wire_ops *ops, void *arg);

/* Sends a head, before any bytes; fields are copied. */
void wire_send_head(struct wire *wire, enum wire_side from,
		    const struct wire_head *head);

/* The same with fields that become the wire's; the list is empty then. */
void wire_move_head(struct wire *wire, enum wire_side from,
		    const struct wire_head *head, struct fields *fields);

/* Bytes that wire_send() will take. */
size_t wire_room(const struct wire *wire, enum wire_side from);

/* Sends them; who has sent bytes of wire_weather.alike sends no others. */
void wire_send(struct wire *wire, enum wire_side from, const char *data,
	       size_t len);

/* Nothing more will be sent. */
void wire_send_end(struct wire *wire, enum wire_side from);

/* The same, after something that is not HTTP: the other side hears on_broken()
 * in place of on_end(). */
void wire_send_garbage(struct wire *wire, enum wire_side from);

/* `to` takes bytes again. */
void wire_resume(struct wire *wire, enum wire_side to);

/* A side is done with it: it hears no more, and *wire becomes null. Before the
 * end of what it had to send, or to receive, the other side hears a break. */
void wire_close(struct wire **wire, enum wire_side side);

/* Cuts the link between two places for a time. */
void wire_part(int a, int b, int64_t until_us);

#endif
