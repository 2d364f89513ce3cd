/*
 * The lists of a node's peers, and the table (codec/table.h) in which all of
 * them are looked up at once. Three kinds of threads share it, without a lock:
 *
 *   the loop      gives peers their numbers, and begins a use for each view
 *                 (peerset.h) that it makes
 *   the decoder   sets, changes and removes lists: one thread, see
 *                 digest_decoder.h
 *   any           looks up, under a view; ends the use of a view
 *
 * What was replaced is kept until all views that were made before have gone. A
 * number that a peer has left is given to another one after that, too.
 */
#ifndef DIGESTD_MESH_PEER_TABLE_H
#define DIGESTD_MESH_PEER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "codec/list.h"

enum { PEER_TABLE_WORDS = 16 }; /* of an answer, at most */

struct peer_table;
struct peer_table_use;

/* A peer's place in a table. */
struct peer_slot {
	struct peer_table *table; /* borrowed; null: it has none */
	unsigned number;
};

/*
 * Who hears of lists, after the table has changed, in the thread that changes
 * it: of a list that was set (old: the one before it, which goes; or null), of
 * a change that was applied to one, and of one that goes. set null: nobody.
 */
struct peer_table_watcher {
	void *arg;
	void (*set)(void *arg, unsigned number, const struct scd_list *old,
		    const struct scd_list *list);
	void (*changed)(void *arg, unsigned number, const struct scd_list *list,
			const struct scd_list_change *change);
	void (*removed)(void *arg, unsigned number,
			const struct scd_list *list);
};

/* The loop's */

/* Makes an empty table with one user, for npeers (> 0) peers or some more.
 * SCD_ENOMEM. */
int peer_table_new(struct peer_table **out, unsigned npeers);

/* Has it watched from now on, before there are lists. A table that is freed
 * tells nothing of that. */
void peer_table_watch(struct peer_table *t,
		      const struct peer_table_watcher *watcher);

/* Takes or drops a reference, from any thread; dropping the last one frees it.
 * Null is accepted by the second. */
struct peer_table *peer_table_ref(struct peer_table *t);
void peer_table_unref(struct peer_table *t);

/* Gives a peer a number. False: all are taken, and *out is not set. */
bool peer_table_claim(struct peer_table *t, struct peer_slot *out);

/* The peer has left: no view that is made from now on has its number. Its list
 * is to be removed by the decoder. */
void peer_table_leave(const struct peer_slot *slot);

/* A view begins to look up. Takes a reference. Null: no memory. */
struct peer_table_use *peer_table_begin(struct peer_table *t);

/* Whether a slot's list may have a key, for who asks now and then. False also
 * without memory. */
bool peer_table_has(const struct peer_slot *slot, const struct scd_key *key);

/* Any thread's */

/* A view has ended. Drops the reference. */
void peer_table_end(struct peer_table *t, struct peer_table_use *use);

/* Words of an answer. */
unsigned peer_table_words(const struct peer_table *t);

/* Which numbers' lists may have a key, as scd_table_lookup(). */
bool peer_table_lookup(const struct peer_table *t, const struct scd_key *key,
		       uint64_t *out);

/* The decoder's */

/*
 * Gives a slot a list, which becomes the table's in any case, in the place of
 * the one before. The errors of scd_table_set(): the old one stays, or there is
 * none.
 */
int peer_table_set(const struct peer_slot *slot, struct scd_list *list);

/* Applies a change to a slot's list, see scd_table_change(). */
int peer_table_change(const struct peer_slot *slot,
		      const struct scd_list_change *change,
		      uint64_t generation);

/* Has a slot's list keep ages, which in begins with. Errors as
 * scd_list_ages_decode(), and SCD_EBASE: there is no list, or one with ages. */
int peer_table_set_ages(const struct peer_slot *slot, const uint8_t *in,
			size_t len, size_t *used);

/* Removes and frees a slot's list, if it has one. */
void peer_table_remove(const struct peer_slot *slot);

/* A slot's list; null: none. */
const struct scd_list *peer_table_list(const struct peer_slot *slot);

/*
 * The share of lookups to expect in which a slot is named though its list has
 * no such key: by the width of its list, and by what the table adds.
 */
double peer_table_fp(const struct peer_slot *slot);

/* Bytes of memory of all lists and the table, as of the last change; from any
 * thread. */
size_t peer_table_memory(const struct peer_table *t);

#endif
