/*
 * The nodes of a world: each a service as the daemon runs it, with a
 * configuration of its own and two workers.
 */
#ifndef CACHESIM_WORLD_NODES_H
#define CACHESIM_WORLD_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODES_MAX = 256 };

/* How a disk fares when its node ends. */
enum nodes_disk_end {
	NODES_DISK_CLOSED,  /* all is written */
	NODES_DISK_KILLED,  /* what was written stays */
	NODES_DISK_POWER,   /* what was written lately may go */
	NODES_DISK_EMPTIED, /* another disk takes its place */
	NODES_DISK_ENDS,
};

/* Disks of nodes that have some. */
struct nodes_disks {
	/*
	 * Before the node of the disk in this folder ends: from now on what it
	 * writes is in vain, unless it is closed. Returns whether something
	 * that it was told is safe may come back.
	 */
	bool (*end)(const char *path, enum nodes_disk_end how);

	/* Frees all; no node runs. */
	void (*stop)(void);
};

/* What all nodes have in common. */
struct nodes_plan {
	unsigned nnodes;
	unsigned threads;
	bool peers;          /* they cooperate */
	unsigned locations;  /* where they are, in turn; 0: all at one */
	bool clocks_differ;  /* their wall clocks, by up to 100 s */
	uint64_t cache_bytes;
	uint64_t max_object_bytes;
	const char *origin;  /* where the origin listens, "10.0.0.1:80" */
	const char *more_origins; /* URLs of others, each behind a comma; null:
				     there are none */
	uint64_t disk_bytes; /* of each */
	const struct nodes_disks *disks; /* null: no node has one */
	const char *options; /* lines of the configuration */
	bool strict;         /* purges are: invalidation = "strict" */
	bool once;           /* none is started again */
	int64_t down_us;     /* else after so long; 0: two seconds */
	const char *stranger; /* null, or where a peer "bad" of all listens */
};

struct node_status;
struct scd_key;

/* The location of a node: the same number for those that are together. */
unsigned nodes_location(unsigned i);

/* Writes the configurations and starts all nodes. */
void nodes_start(const struct nodes_plan *plan);

/* Where clients connect, "10.0.0.1:8080"; and where operators do. */
const char *nodes_data_name(unsigned i);
const char *nodes_admin_name(unsigned i);

/* Where peers connect, and the token that they have to show, which is that of
 * the cluster key with which the node was started last. */
const char *nodes_peer_name(unsigned i);
const char *nodes_token(unsigned i);

/* The key of a GET of a URL in its canonical form, as that node hashes it. */
void nodes_hash(unsigned i, const char *url, size_t len, struct scd_key *key);

/* How it stands; it runs. */
void nodes_status(unsigned i, struct node_status *out);

/* What the digests of its peers take there [bytes]; it runs. */
size_t nodes_peer_bytes(unsigned i);

/* Whether one of them, which runs, has a response to such a GET. */
bool nodes_holds(unsigned i, const struct scd_key *key);

/* Drops it there, and tells nobody of it; it runs. */
void nodes_drop(unsigned i, const struct scd_key *key);

/* Whether it runs. */
bool nodes_runs(unsigned i);

/* How many there are; whether there are some. */
unsigned nodes_count(void);
bool nodes_are_there(void);

/* Ends a node at once: all that is under way is cut off. Returns what
 * the `end` of its disk does. */
bool nodes_kill(unsigned i, enum nodes_disk_end how);

/* The wall clock of a node jumps; others do not. */
void nodes_jump(unsigned i, int64_t by_s);

/* Whether nodes have disks. */
bool nodes_have_disks(void);

/* By how much clocks have jumped back so far, all together [us]. */
int64_t nodes_jumped_back_us(void);

/*
 * Has a node read a new configuration: of another size, with other lines of
 * options, and without some of its peers (a bit for each of the first 64).
 */
void nodes_reload(unsigned i, uint64_t cache_bytes, const char *options,
		  uint64_t without);

/* Puts one of two cluster keys into what a node reads from now on; all begin
 * with the first. Only a node that starts takes it. */
enum { NODES_KEYS = 2 };
void nodes_set_key(unsigned i, unsigned key);

/* Has all of them read the one that they began with. */
void nodes_restore(void);

/* Whether one runs with another cluster key than the first, so that it has to
 * be started again. */
bool nodes_has_another_key(unsigned i);

/* Starts those again that have been down for long enough. */
void nodes_tend(void);

/* Removes the configurations, which nodes need to start only. */
void nodes_remove_files(void);

/* Ends all. */
void nodes_stop(void);

/* Of the fakes, for nodes.c: the place of the node that is being started. */
extern int nodes_place;

/* In world_loop.c: the wall clock of all [s]. */
int64_t world_wall_s(void);

#endif
