/*
 * Peer tables: the lists of many peers (list.h) in one table, so that one
 * lookup answers for all of them. Where an index (index.h) takes a memory
 * access for each hash function of the peers' filters, a table takes one, and
 * the memory of the entries that there are.
 *
 *     writer:  new, set ... change and set, again and again ... remove
 *     reader:  lookup, or lookup_many; any number of threads
 *
 * A table is an array of buckets, each a cache line. The first bits of a
 * fingerprint choose the bucket, and an entry there is 16 bits: its peer's
 * number, and as many of the fingerprint's next bits as the number leaves, its
 * tag. A bucket that is full goes on in other lines. So the answer for a key
 * may name a peer whose list does not have it; of all peers of a table
 * together, at most some 25 / 2^(bits of the tag) do so beyond what their own
 * widths make of it: .025 for up to 63 peers (10 bits), .4 for 1023 (6 bits).
 * It never leaves out a peer whose list has the key.
 *
 * Lists may differ in width; each is compared by its own bits, as many as the
 * table has. An entry of a list so narrow that the keys of one fingerprint
 * belong to several buckets stands in each of them: at most one more in 32
 * buckets for the whole list. Twins are entries of their own.
 *
 * Lists. A table borrows the list of each peer that it has, from
 * scd_table_set() until that peer is removed or set again, and reads them all
 * when it grows. Meanwhile they are changed by scd_table_change() alone, which
 * keeps list and table the same. Other threads may read a list at any time but
 * during such a change of its own peer.
 *
 * Threads. One thread may change a table while any number of others look up.
 * Nobody waits. An entry never moves while it may be read, so a key that a
 * list has before and after a change is found at any time during it. What is
 * added is found one entry after the other, and what goes is found less and
 * less: whoever needs a peer to come or go at once leaves its bit out of the
 * answers meanwhile.
 *
 * Epochs. A part of the table that has grown is a new piece of memory, and
 * lookups that are under way may still read the old one. It is kept until the
 * writer calls scd_table_reclaim() with an epoch, a value that
 * scd_table_epoch() once returned: all lookups that began before that have
 * ended. A daemon whose threads look up under views with a count of users
 * notes the epoch with each view that it makes, and reclaims with that of the
 * oldest view in use. Who has no other threads reclaims with the newest.
 *
 * Memory: some 3.1 bytes an entry after scd_table_reserve(), 3 to 4 where a
 * table has grown by itself; 4.4 where each object is held by 8 peers, 5.7
 * where by 32. The lists come on top.
 */
#ifndef SCD_TABLE_H
#define SCD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "key.h"
#include "list.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SCD_TABLE_MAX_PEERS = 1023 };

struct scd_table;

/*
 * Make an empty table for peers 0..npeers-1 (npeers: 1..1023), to be released
 * with scd_table_free(). The fewer, the more bits a tag has: 16 less those of
 * the number npeers. Errors leave *out alone. SCD_EINVAL: npeers is out of
 * range. SCD_ENOMEM.
 */
int scd_table_new(struct scd_table **out, unsigned npeers);

/* Release, with all that is still to be reclaimed, but not the lists; *table
 * becomes null. Null is accepted. */
void scd_table_free(struct scd_table **table);

/*
 * Make room for so many entries of all peers together, so that a table that is
 * about to be filled need not grow step by step. It may still grow. Costs a
 * pass over all lists that it has. The errors of scd_table_set().
 */
int scd_table_reserve(struct scd_table *table, uint64_t nentries);

/*
 * Give a peer (below npeers) a list. One that it has had before is no longer
 * borrowed then; what both lists have is found all the while. In time
 * proportional to both lists, in order, so some 10 to 20 ns an entry; and now
 * and then, as it grows, to all lists. Errors leave the peer with its old list,
 * or none. SCD_ENOMEM; SCD_ELIMIT: fingerprints are so uneven that far too many
 * fall into one part of the table, as those of keys never do.
 */
int scd_table_set(struct scd_table *table, unsigned peer,
		  struct scd_list *list);

/*
 * Apply a change to a peer's list and to the table, as scd_list_change() does
 * it to the list, in time proportional to the change, and now and then, as the
 * table grows, to all lists. The errors of scd_list_change() and of
 * scd_table_set(), which leave both as they were; and SCD_EMISMATCH: the peer
 * has no list.
 */
int scd_table_change(struct scd_table *table, unsigned peer,
		     const struct scd_list_change *change, uint64_t generation);

/* Take a peer's entries out, in time proportional to its list, which is no
 * longer borrowed. A peer that has none is accepted. Cannot fail. */
void scd_table_remove(struct scd_table *table, unsigned peer);

/* The list of a peer; null: it has none. For the writer's thread. */
struct scd_list *scd_table_list(const struct scd_table *table, unsigned peer);

/* The number of words that scd_table_lookup() writes: npeers / 64, rounded
 * up. */
unsigned scd_table_words(const struct scd_table *table);

/* Bytes of memory that a table takes, also what is to be reclaimed, without
 * the lists and what malloc() adds. For the writer's thread. */
size_t scd_table_memory(const struct scd_table *table);

/*
 * The present epoch, which grows as memory is replaced, and the release of what
 * was replaced before an epoch: see above. For the writer's thread.
 */
uint64_t scd_table_epoch(const struct scd_table *table);
void scd_table_reclaim(struct scd_table *table, uint64_t epoch);

/*
 * Which peers may hold a key: bit p & 63 of out[p >> 6] says it of peer p. out
 * has scd_table_words() words. Returns whether any bit is set. Cannot fail.
 */
bool scd_table_lookup(const struct scd_table *table, const struct scd_key *key,
		      uint64_t *out);

/*
 * scd_table_lookup() of keys[0..n-1]; out has n * scd_table_words() words,
 * those of the first key first. Faster than one by one, since the memory
 * accesses of several keys overlap.
 */
void scd_table_lookup_many(const struct scd_table *table,
			   const struct scd_key *keys, size_t n, uint64_t *out);

/* Fetch what the lookup of a key is going to read into the cache. To be called
 * when the key is known, before other work. */
void scd_table_prefetch(const struct scd_table *table,
			const struct scd_key *key);

/*
 * The name of the code that compares the entries of a bucket: "avx512", "avx2"
 * or "portable"; a new table takes the first of them that the processor has.
 * And another choice, before other threads look up. SCD_EINVAL: there is none
 * of this name, or the processor cannot run it.
 */
const char *scd_table_engine(const struct scd_table *table);
int scd_table_set_engine(struct scd_table *table, const char *name);

#ifdef __cplusplus
}
#endif

#endif
