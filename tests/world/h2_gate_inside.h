/*
 * What the two sides of HTTP/2 in a world share: gates, in h2_gate.c, and those
 * who come to them, in h2_browser.c.
 */
#ifndef TESTS_WORLD_H2_GATE_INSIDE_H
#define TESTS_WORLD_H2_GATE_INSIDE_H

/* Where the gate of a node listens, for bytes of HTTP/2. */
const char *gate_name(unsigned node);

void gates_start(unsigned nnodes);
void gates_stop(void);

#endif
