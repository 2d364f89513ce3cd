/*
 * The clients of a world: requests at random times to random nodes, each answer
 * held against the oracle, byte by byte.
 */
#ifndef TESTS_WORLD_CLIENTS_H
#define TESTS_WORLD_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachesim/world/nodes.h"

struct cut_list;

struct clients_plan {
	uint64_t requests;     /* in all */
	uint32_t gap_us;       /* between two of them, on average */
	uint32_t resources;    /* that are asked for */
	unsigned leaving;      /* in a thousand: leave in the middle */
	unsigned slow;         /* in a thousand: read slowly */
	unsigned posts, ranges, conditions, validations, heads, uploads;
	unsigned tunnels;      /* in a thousand: ask for ORIGIN_PROTOCOL */
	unsigned purges;       /* in a thousand: an operator's PURGE */
	unsigned siblings;     /* in a thousand: ask as a peer does */
	unsigned kills;        /* in a thousand PURGEs: ends the node then */
	unsigned changes;      /* in a thousand: the origin's change */
	unsigned streams;      /* in a thousand: speak HTTP/2 */
	bool no_errors;        /* nothing fails in this world */
	bool final;            /* purges are, once they are acknowledged */
	bool strict;           /* and of all nodes, whatever becomes of them */
	uint32_t urls;         /* 0: all; else only so many are asked for */
	const struct cut_list *only; /* these requests; null: all */
};

/* What has come of them. */
struct clients_count {
	uint64_t started, ended;
	uint64_t right, partial, not_modified, errors, left, broken, purged;
	uint64_t hits, from_peers; /* as Cache-Status says */
};

void clients_start(const struct clients_plan *plan);

/* Makes so many more, in a world that has no errors any more. */
void clients_go_on(uint64_t requests);

/* Ends a node at once, see nodes_kill(): what it has purged may be back then,
 * where it has not promised that it is not. */
void clients_kill(unsigned node, enum nodes_disk_end how);

/* Whether all requests have been made and have ended. */
bool clients_done(void);

const struct clients_count *clients_count(void);

void clients_stop(void);

#endif
