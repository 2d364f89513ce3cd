/*
 * The inside of a shared table: a head of one size, and lines of 16 entries.
 *
 * An entry is 32 bits, written and read whole: 22 bits of tag, and the peer's
 * number + 1; 0 is none. A fingerprint belongs to two lines, of which the
 * emptier takes it, and which it never leaves. Line and tag give the other
 * line, so that equal entries of a line belong to the same two lines: whichever
 * of them goes with a fingerprint, as many remain as there are others. Lists
 * differ in width, and one fingerprint has other places in each; so a lookup
 * goes through the widths that are in use, of which there are few.
 *
 * All words that change are atomic. A reader goes by the number of lines that
 * it has checked, not by the one that stands there.
 */
#ifndef SCD_SHARED_TABLE_STATE_H
#define SCD_SHARED_TABLE_STATE_H

#include "codec/mix.h"
#include "codec/shared_table_write.h"

/* "SCDTABLE", as a little-endian machine writes it */
#define SCD__SHARED_MAGIC UINT64_C(0x454c424154444353)

enum {
	SCD__SHARED_VERSION = 1,
	SCD__SHARED_PEER_BITS = 10,
	SCD__SHARED_TAG_SHIFT = 42, /* a tag is the 22 upper bits of a hash */
	SCD__SHARED_MAX_LINES_LOG = 32,
	SCD__SHARED_WORDS = (SCD__SHARED_TABLE_PEERS + 63) / 64,
	SCD__SHARED_NAME_WORDS = SCD_SHARED_TABLE_NAME_BYTES / 8,
};

struct scd__shared_row {
	uint64_t name[SCD__SHARED_NAME_WORDS]; /* text, ended by a NUL */
	uint64_t name_hash;
	uint64_t rtt_us;
};

struct scd__shared_head {
	uint64_t magic; /* 0 until the table can be read */
	uint64_t version;
	uint64_t nlines;
	uint8_t secret[SCD_SECRET_BYTES];
	uint64_t salt;
	/* these change */
	_Alignas(64) uint64_t retired;
	uint64_t beat_ms;
	uint64_t widths;
	uint64_t usable[SCD__SHARED_WORDS];
	_Alignas(64) struct scd__shared_row peers[SCD__SHARED_TABLE_PEERS];
};

struct scd__shared_line {
	_Alignas(64) uint32_t slots[SCD__SHARED_TABLE_SLOTS];
};

/* Where a fingerprint has its entries. */
struct scd__shared_places {
	uint64_t lines[2];
	uint32_t tag; /* in its place, the peer's bits 0 */
};

static inline uint64_t scd__shared_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void scd__shared_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The salt goes in between two bijections: which fingerprints share a line
 * cannot be told without it. */
static inline struct scd__shared_places
scd__shared_places_of(uint64_t salt, uint64_t nlines, unsigned width,
		      uint64_t fingerprint)
{
	const uint64_t one = scd__mix64(fingerprint | (uint64_t)width << 56);
	const uint64_t h = scd__mix64(one ^ salt);
	const uint64_t tag = h >> SCD__SHARED_TAG_SHIFT;
	const uint64_t apart = scd__mix64(tag) | 1;

	return (struct scd__shared_places){
		{ h & (nlines - 1), (h ^ apart) & (nlines - 1) },
		(uint32_t)tag << SCD__SHARED_PEER_BITS,
	};
}

static inline size_t scd__shared_lines_at(void)
{
	return sizeof(struct scd__shared_head);
}

#endif
