/*
 * The node that is stormed: a digestd of this build, its configuration, which
 * follows from a seed, its end, and what it takes of the machine.
 */
#ifndef TEST_STORM_NODE_H
#define TEST_STORM_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct storm_usage {
	int64_t cpu_ms; /* of all threads, so far */
	uint64_t rss_kb;
	unsigned descriptors;
};

/* A folder of its own for configuration, log and store. */
void storm_node_prepare(const char *folder);

/*
 * Writes a configuration and starts the node; waits until it is ready. False,
 * with a finding, when it does not come so far.
 */
bool storm_node_start(uint64_t seed);

/* Asks it to end, or kills it. A bad end is a finding. */
void storm_node_stop(bool kill);

/* Whether it runs; what it died of is a finding. */
bool storm_node_alive(void);

/* Whether its end is why a connection has ended: waits a moment for that. */
bool storm_node_is_dying(void);
struct storm_usage storm_node_usage(void);

/* Processor time of all threads that run [us]. */
uint64_t storm_node_cpu_us(void);

/* The folder of its store. */
const char *storm_node_store(void);

#endif
