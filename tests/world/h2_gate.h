/*
 * HTTP/2 before the nodes of a world.
 *
 * Each node has a gate, which is the daemon's own engine of HTTP/2
 * (digestd/server/h2*.c, nghttp2) on virtual connections of bytes. What it
 * hears it asks the node for, in exchanges of the world, and passes on both
 * ways as there is room. On the other side browsers turn the requests of
 * clients into streams: many of one connection, with windows that are small and
 * are opened late, streams that are reset as their clients leave, connections
 * that go with all their streams.
 */
#ifndef TESTS_WORLD_H2_GATE_H
#define TESTS_WORLD_H2_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct h2_gate_plan {
	uint32_t window; /* of a stream to a client, at first [bytes]; > 0 */
	uint32_t visits; /* of a connection, at most, before there is another */
	uint32_t streams; /* of a connection at once, at most; > 0 */
	unsigned cuts;   /* in a thousand requests: the connection they come by
			    is cut, a while later */
};

/* Gates for so many nodes; before clients start. */
void h2_gate_start(unsigned nnodes, const struct h2_gate_plan *plan);

/* No connection is cut from now on. */
void h2_gate_heal(void);

/* Ends all; clients have gone, and nodes run. */
void h2_gate_stop(void);

/* Where clients connect who speak HTTP/2 with a node. */
const char *h2_gate_name(unsigned node);

/* For close(): whether a descriptor was a connection's of a gate, which is
 * closed then. */
bool h2_gate_close(int fd);

/* Of all worlds: streams that have ended whole, that have not, and connections
 * that were cut. */
struct h2_gate_count {
	uint64_t whole, broken, cut;
};
const struct h2_gate_count *h2_gate_count(void);

#endif
