/*
 * Shared tables, for who writes them.
 */
#include "codec/shared_table_write.h"

#include <assert.h>
#include <string.h>

#include "codec/filter/shared_table_state.h"

enum {
	/* Of two lines of 16 the emptier takes an entry: even at four fifths
	 * none of 10^7 finds both full. */
	MADE_PERCENT = 50,
	FULL_PERCENT = 78,
};

static uint64_t shared_table_write_room(uint64_t nlines, unsigned percent)
{
	return nlines * SCD__SHARED_TABLE_SLOTS / 100 * percent;
}

size_t scd__shared_table_bytes(uint64_t nlines)
{
	return scd__shared_lines_at() +
	       (size_t)nlines * sizeof(struct scd__shared_line);
}

uint64_t scd__shared_table_lines_for(uint64_t nentries)
{
	uint64_t nlines = SCD__SHARED_TABLE_MIN_LINES;

	while (shared_table_write_room(nlines, MADE_PERCENT) < nentries)
		nlines *= 2;
	return nlines;
}

bool scd__shared_table_is_full(uint64_t nlines, uint64_t nentries)
{
	return shared_table_write_room(nlines, FULL_PERCENT) < nentries;
}

void scd__shared_table_format(void *memory,
			      const struct scd__shared_shape *shape)
{
	struct scd__shared_head *head = memory;

	assert((uintptr_t)memory % 64 == 0);
	assert(!(shape->nlines & (shape->nlines - 1)));
	assert(shape->nlines >= SCD__SHARED_TABLE_MIN_LINES);
	head->version = SCD__SHARED_VERSION;
	head->nlines = shape->nlines;
	memcpy(head->secret, shape->secret, sizeof(head->secret));
	head->salt = shape->salt;
}

void scd__shared_table_publish(void *memory)
{
	struct scd__shared_head *head = memory;

	scd__shared_store(&head->magic, SCD__SHARED_MAGIC);
}

/* The two lines of a fingerprint, and what an entry of a peer is there. */
struct shared_table_spot {
	struct scd__shared_line *lines[2];
	uint32_t value;
};

static struct shared_table_spot shared_table_write_spot(void *memory,
							unsigned peer,
							unsigned width,
							uint64_t fingerprint)
{
	struct scd__shared_head *head = memory;
	struct scd__shared_line *lines = (void *)(head + 1);
	const struct scd__shared_places at = scd__shared_places_of(
		head->salt, head->nlines, width, fingerprint);

	assert(peer < SCD__SHARED_TABLE_PEERS && width >= 1 && width < 56);
	return (struct shared_table_spot){
		{ lines + at.lines[0], lines + at.lines[1] },
		at.tag | (peer + 1),
	};
}

/* How many entries of a line have a value, and where the last one is. */
static unsigned shared_table_write_count(const struct scd__shared_line *line,
					 uint32_t value, unsigned *last)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SCD__SHARED_TABLE_SLOTS; i++) {
		if (line->slots[i] != value)
			continue;
		count++;
		*last = i;
	}
	return count;
}

static void shared_table_write_slot(struct scd__shared_line *line, unsigned i,
				    uint32_t value)
{
	__atomic_store_n(&line->slots[i], value, __ATOMIC_RELEASE);
}

int scd__shared_table_insert(void *memory, unsigned peer, unsigned width,
			     uint64_t fingerprint)
{
	const struct shared_table_spot spot =
		shared_table_write_spot(memory, peer, width, fingerprint);
	unsigned twins = 0, best = 0, most = 0, slot = 0, unused;

	for (unsigned i = 0; i < 2; i++) {
		unsigned empty;
		const unsigned n =
			shared_table_write_count(spot.lines[i], 0, &empty);

		twins += shared_table_write_count(spot.lines[i], spot.value,
						  &unused);
		if (n <= most)
			continue;
		most = n;
		best = i;
		slot = empty;
	}
	if (twins >= SCD__SHARED_TABLE_TWINS)
		return SCD_ELIMIT;
	if (!most)
		return SCD_ENOMEM;
	shared_table_write_slot(spot.lines[best], slot, spot.value);
	return SCD_OK;
}

bool scd__shared_table_remove(void *memory, unsigned peer, unsigned width,
			      uint64_t fingerprint)
{
	const struct shared_table_spot spot =
		shared_table_write_spot(memory, peer, width, fingerprint);

	for (unsigned i = 0; i < 2; i++) {
		unsigned slot;

		if (!shared_table_write_count(spot.lines[i], spot.value, &slot))
			continue;
		shared_table_write_slot(spot.lines[i], slot, 0);
		return true;
	}
	return false;
}

void scd__shared_table_set_widths(void *memory, uint64_t widths)
{
	struct scd__shared_head *head = memory;

	scd__shared_store(&head->widths, widths);
}

/* FNV-1a: no secret, only to tell peers apart. */
static uint64_t shared_table_write_hash(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) *
		       UINT64_C(0x100000001b3);
	return hash;
}

static void shared_table_write_row(struct scd__shared_row *row,
				   const struct scd__shared_peer *about)
{
	uint64_t words[SCD__SHARED_NAME_WORDS] = { 0 };
	const size_t len = strlen(about->name);

	assert(len < SCD_SHARED_TABLE_NAME_BYTES);
	memcpy(words, about->name, len);
	for (unsigned i = 0; i < SCD__SHARED_NAME_WORDS; i++)
		scd__shared_store(&row->name[i], words[i]);
	scd__shared_store(&row->name_hash,
			  shared_table_write_hash(about->name));
	scd__shared_store(&row->rtt_us, about->rtt_us);
}

void scd__shared_table_set_peer(void *memory, unsigned peer,
				const struct scd__shared_peer *about)
{
	struct scd__shared_head *head = memory;
	const uint64_t bit = UINT64_C(1) << peer % 64;
	uint64_t *word = &head->usable[peer / 64];

	assert(peer < SCD__SHARED_TABLE_PEERS);
	if (about)
		shared_table_write_row(&head->peers[peer], about);
	scd__shared_store(word, about ? *word | bit : *word & ~bit);
}

void scd__shared_table_copy_peers(void *to, const void *from)
{
	struct scd__shared_head *new = to;
	const struct scd__shared_head *old = from;

	memcpy(new->peers, old->peers, sizeof(new->peers));
	memcpy(new->usable, old->usable, sizeof(new->usable));
	new->beat_ms = old->beat_ms;
}

void scd__shared_table_beat(void *memory, uint64_t now_ms)
{
	struct scd__shared_head *head = memory;

	scd__shared_store(&head->beat_ms, now_ms);
}

void scd__shared_table_retire(void *memory)
{
	struct scd__shared_head *head = memory;

	scd__shared_store(&head->retired, 1);
}
