/*
 * Shared tables (shared_table.h), for who writes them: in memory that is
 * mapped from a file, and by one thread at a time.
 *
 * A table has as many lines as it was made with. What belongs to it, and where
 * its entries come from, the writer knows: it makes another one when it says
 * SCD_ENOMEM, or has become too full.
 */
#ifndef SCD_SHARED_TABLE_WRITE_H
#define SCD_SHARED_TABLE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "codec/shared_table.h"

enum {
	SCD__SHARED_TABLE_PEERS = 1023,
	SCD__SHARED_TABLE_MIN_LINES = 64,
	SCD__SHARED_TABLE_SLOTS = 16, /* of a line */
	SCD__SHARED_TABLE_TWINS = 16, /* entries of a peer with one fingerprint,
				       * at most; two lists may meet in one */
};

/* What a table is made with. */
struct scd__shared_shape {
	uint64_t nlines; /* a power of two, the least or more */
	uint8_t secret[SCD_SECRET_BYTES]; /* of keys, see scd_key_make() */
	uint64_t salt; /* random: nobody else knows which entries meet */
};

/* Bytes of a table with so many lines. */
size_t scd__shared_table_bytes(uint64_t nlines);

/* The lines for so many entries: half full. */
uint64_t scd__shared_table_lines_for(uint64_t nentries);

/* Whether so many entries are more than a table should have. */
bool scd__shared_table_is_full(uint64_t nlines, uint64_t nentries);

/* Makes a table of memory that is all 0, aligned to 64 and as large as
 * scd__shared_table_bytes() says. Nobody can open it until it is published. */
void scd__shared_table_format(void *memory,
			      const struct scd__shared_shape *shape);
void scd__shared_table_publish(void *memory);

/*
 * A fingerprint (scd_fingerprint() of width bits) of a peer comes. Of each peer
 * and fingerprint there is an entry for each time that it came. SCD_ELIMIT:
 * there are so many already that the list is no honest one; SCD_ENOMEM: no
 * room.
 */
int scd__shared_table_insert(void *memory, unsigned peer, unsigned width,
			     uint64_t fingerprint);

/* One goes. False: there was none. */
bool scd__shared_table_remove(void *memory, unsigned peer, unsigned width,
			      uint64_t fingerprint);

/* Which widths entries have, a bit each; before the first of a width comes, and
 * after the last one went. */
void scd__shared_table_set_widths(void *memory, uint64_t widths);

/* What is known of a peer; null: it may not be asked. */
struct scd__shared_peer {
	const char *name; /* shorter than SCD_SHARED_TABLE_NAME_BYTES */
	uint32_t rtt_us;
};
void scd__shared_table_set_peer(void *memory, unsigned peer,
				const struct scd__shared_peer *about);

/* Copies what is known of peers to another table. */
void scd__shared_table_copy_peers(void *to, const void *from);

/* The writer lives; and there is another table at the path. */
void scd__shared_table_beat(void *memory, uint64_t now_ms);
void scd__shared_table_retire(void *memory);

#endif
