/*
 * Shared tables: which peers may hold a key, in memory that one process writes
 * and many map to read. A digestd that follows the digests of its peers writes
 * one to a file (share_table in digestd.conf(5)); a module in a proxy maps that
 * file, and knows without a hop which peer to ask.
 *
 *     reader:  map the file, scd_shared_table_open ... state, key, lookup
 *
 * Nobody waits: a lookup takes no lock, and changes nothing. Of a key that a
 * list has before and after a change it never leaves the peer out; it names a
 * peer without the key by chance in 8 of 10^6 lookups for each width of
 * fingerprints (list.h) that is in use, beyond what those widths lie. Peers
 * whose digests are arrays are not in a table.
 *
 * The file is replaced, not changed in size: a table that is too small is
 * written anew to another file, which is renamed over it, and the old one is
 * marked as retired. So a reader opens the path again when the state of its
 * table is no longer SCD_SHARED_TABLE_LIVE, and may keep the old mapping as
 * long as lookups in it are under way.
 *
 * Trust. A file has the secret of the keys in it. What it says is checked as it
 * is opened, so that no lookup reads beyond it, whatever is written there
 * later. Who may write to the file may make it shorter, and thereby end its
 * readers: nobody but its writer should.
 *
 * The layout belongs to a version of this library: scd_shared_table_open()
 * refuses others. Both sides are of one machine.
 */
#ifndef SCD_SHARED_TABLE_H
#define SCD_SHARED_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "key.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SCD_SHARED_TABLE_NAME_BYTES = 128, /* of a peer, with its NUL */
	SCD_SHARED_TABLE_URI_BYTES = 8192, /* longer ones have no key */
	SCD_SHARED_TABLE_SILENT_MS = 2000, /* the writer says more often that
					    * it is there */
};

/* A table that was opened: a value without anything to release. Its members are
 * private. */
struct scd_shared_table {
	const void *memory;
	uint64_t nlines;
	const void *lines;
	uint64_t reserved[5]; /* 0 */
};

enum scd_shared_table_state {
	SCD_SHARED_TABLE_LIVE,
	SCD_SHARED_TABLE_SILENT,  /* its writer has ended, or stands still */
	SCD_SHARED_TABLE_RETIRED, /* its writer has just left it: there may be
				   * another one at its path */
};

/*
 * Look at len bytes of memory, aligned to 64, that are mapped from a table's
 * file; they are borrowed as long as *out is used. Errors leave *out alone.
 * SCD_ETRUNC: there are fewer bytes than the table has; SCD_EFORMAT: they are
 * none; SCD_EVERSION: of another version; SCD_ELIMIT: of impossible sizes.
 */
int scd_shared_table_open(const void *memory, size_t len,
			  struct scd_shared_table *out);

/* What a table is good for, now_ms being CLOCK_MONOTONIC [ms]. Costs nothing.
 * From any thread, as all below. */
enum scd_shared_table_state
scd_shared_table_state(const struct scd_shared_table *table, uint64_t now_ms);

/*
 * The key of a GET for an absolute http or https URI of len bytes, in whatever
 * spelling. SCD_EURI: it is none; SCD_ELIMIT: too long.
 */
int scd_shared_table_key(const struct scd_shared_table *table, const char *uri,
			 size_t len, struct scd_key *out);

/*
 * The peers that may hold a key and may be asked, the best one first: the
 * nearest; of those as near, each key has an order of its own, so that
 * all get a share. out has room for cap (at most 64) of their numbers. Returns
 * how many there are; none if the table is silent. One that has retired still
 * answers until it is.
 */
size_t scd_shared_table_lookup(const struct scd_shared_table *table,
			       const struct scd_key *key, uint64_t now_ms,
			       unsigned *out, size_t cap);

/*
 * Copy the name of a peer, as the writer's configuration has it, with a final
 * NUL to out. Returns its length; 0: there is no such peer. A number may get
 * another peer's name seconds after its own peer has left.
 */
size_t scd_shared_table_name(const struct scd_shared_table *table,
			     unsigned peer,
			     char out[SCD_SHARED_TABLE_NAME_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
