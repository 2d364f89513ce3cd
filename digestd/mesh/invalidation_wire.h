/*
 * Invalidations as bytes, as nodes tell them each other (docs/FORMAT.md).
 *
 * A message has sections, one an initiator: entries with ascending numbers, and
 * up to where they and those before them are all there is. It ends with a hash
 * of all before it under the cluster's secret: what was damaged, and what a
 * stranger has made, is refused.
 */
#ifndef DIGESTD_MESH_INVALIDATION_WIRE_H
#define DIGESTD_MESH_INVALIDATION_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/invalidation_log.h"

enum {
	INVALIDATION_WIRE_HEAD_BYTES = 8,
	INVALIDATION_WIRE_SECTION_BYTES = 32,
	INVALIDATION_WIRE_ENTRY_BYTES = 28,
	INVALIDATION_WIRE_END_BYTES = 16,
	/* of a message: a whole log, and all initiators */
	INVALIDATION_WIRE_MAX = INVALIDATION_WIRE_HEAD_BYTES +
				INVALIDATION_LOG_SOURCES *
					INVALIDATION_WIRE_SECTION_BYTES +
				INVALIDATION_LOG_MAX *
					INVALIDATION_WIRE_ENTRY_BYTES +
				INVALIDATION_WIRE_END_BYTES,
};

/* What an initiator has said, as far as it was new to who is told. */
struct invalidation_section {
	uint64_t source; /* the initiator; not 0 */
	uint64_t floor;	 /* see invalidation_log_hear_floor() */
	uint64_t upto;	 /* who applies these entries has applied all to here */
	bool incomplete; /* unless some were lost: all it has is too old */
	uint32_t n;
};

/* A message that is being written. */
struct invalidation_writer {
	uint8_t *bytes;
	size_t cap, len;
	uint16_t nsections;
};

/* Begins a message in `cap` bytes of the caller's, >= HEAD + END. */
struct invalidation_writer invalidation_write_begin(uint8_t *bytes, size_t cap);

/* Adds a section with its entries; false: there is no room for it. */
bool invalidation_write_section(struct invalidation_writer *w,
				const struct invalidation_section *section,
				const struct invalidation_entry *entries);

/* Ends the message. Returns its length. */
size_t invalidation_write_end(struct invalidation_writer *w,
			      const uint8_t secret[SCD_SECRET_BYTES]);

/* A message that is being read, which is borrowed. */
struct invalidation_message {
	const uint8_t *at, *end;
	unsigned nsections; /* that are left */
};

/*
 * Checks a whole message. Returns 0, SCD_EFORMAT (it breaks a rule of
 * FORMAT.md) or SCD_ECHECKSUM (it is damaged, or under another secret).
 */
int invalidation_read(const uint8_t *bytes, size_t len,
		      const uint8_t secret[SCD_SECRET_BYTES],
		      struct invalidation_message *out);

/* The next section; false: no more. Then its n entries, one by one. */
bool invalidation_read_section(struct invalidation_message *m,
			       struct invalidation_section *section);
struct invalidation_entry
invalidation_read_entry(struct invalidation_message *m);

/*
 * What a node knows of initiators, as bytes: up to where it has applied their
 * entries, its own first. It is sent to who is asked for what came later.
 */
enum {
	INVALIDATION_POSITION_BYTES = 16,
	INVALIDATION_POSITIONS_MAX = INVALIDATION_WIRE_HEAD_BYTES +
				     INVALIDATION_LOG_SOURCES *
					     INVALIDATION_POSITION_BYTES +
				     INVALIDATION_WIRE_END_BYTES,
};

/* Writes those of a log, in at most INVALIDATION_POSITIONS_MAX bytes. Returns
 * how many. */
size_t invalidation_write_positions(const struct invalidation_log *log,
				    const uint8_t secret[SCD_SECRET_BYTES],
				    uint8_t *bytes);

/* Reads them, INVALIDATION_LOG_SOURCES at most, at least one. Returns 0,
 * SCD_EFORMAT or SCD_ECHECKSUM. */
int invalidation_read_positions(const uint8_t *bytes, size_t len,
				const uint8_t secret[SCD_SECRET_BYTES],
				struct invalidation_position *out, size_t *n);

#endif
