/*
 * The admission filter: notes, questions, and how blocks grow older.
 *
 * A block's generation is the filter's, and one more once the sweep of this
 * generation has passed it. Slice g & 7 is the newest of a block in generation
 * g, g - 1 & 7 the one before, and so on; g + 1 & 7 the oldest.
 */
#include "codec/admission.h"

#include <stdlib.h>
#include <string.h>

#include "codec/filter/admission_state.h"

enum {
	SLICE_BITS = 64,
	PARTS = 4,	/* of a slice; in each one bit is a key's */
	PART_BITS = SLICE_BITS / PARTS,
	PLACE_BITS = 4, /* which say a place in a part */
	TURN_BITS = 6,	/* which say how far a pattern is turned */
	AHEAD = 16,	/* keys that are fetched before they are needed */
	SAMPLED_BLOCKS = 4096,
};

/* Where a key's bits are. */
struct places {
	uint64_t block;
	uint64_t pattern; /* of slice 0 before it is turned */
	uint64_t turns;	  /* TURN_BITS for each slice, lowest first */
};

/* The high bits of lo choose the block: all keys of a block have the same, so
 * that nothing else may come from them alone. */
static struct places admission_places_of(const struct scd_admission *a,
					 const struct scd_key *key)
{
	struct places p = {
		.block = (uint64_t)((unsigned __int128)key->lo * a->nblocks >>
				    64),
		.turns = key->lo ^ key->hi >> 16,
	};

	for (unsigned i = 0; i < PARTS; i++) {
		unsigned place = (key->hi >> i * PLACE_BITS) % PART_BITS;

		p.pattern |= UINT64_C(1) << (i * PART_BITS + place);
	}
	return p;
}

/* A key's bits in a slice: the same pattern in all, turned differently. */
static uint64_t admission_bits_in(const struct places *p, unsigned slice)
{
	unsigned turn = (p->turns >> slice * TURN_BITS) % SLICE_BITS;

	return p->pattern << turn | p->pattern >> (-turn % SLICE_BITS);
}

/* The slice that is a block's newest at this time. */
static unsigned admission_newest_of(uint64_t clock, uint64_t block)
{
	uint64_t swept = (uint32_t)clock >> ADMISSION_NOTES_SHIFT;

	return (unsigned)((clock >> 32) + (block < swept)) % ADMISSION_SLICES;
}

/* A bit for each slice that has a key's bits. */
static unsigned admission_slices_with(const uint64_t *block,
				      const struct places *p)
{
	unsigned found = 0;

	for (unsigned i = 0; i < ADMISSION_SLICES; i++) {
		uint64_t bits = admission_bits_in(p, i);
		uint64_t word = scd__admission_get(&block[i]);

		found |= (unsigned)((word & bits) == bits) << i;
	}
	return found;
}

/*
 * Bit i: slices i and i + 1 have it, counted from the newest on. Going up from
 * it one comes to the oldest first and gets younger, so that bit 7 is the
 * newest with the one before; bit 0, newest and oldest, means nothing.
 */
static unsigned admission_pairs_of(unsigned found, unsigned newest)
{
	unsigned turned = (found >> newest | found << (ADMISSION_SLICES -
						       newest)) & 0xff;

	return turned & (turned >> 1 | turned << 7) & 0xfe;
}

enum { NEWEST_PAIR = 1 << 7 };

/* A key has been noted: a block may age, a generation end. */
static void admission_tick(struct scd_admission *a)
{
	uint64_t clock = __atomic_fetch_add(a->clock, 1, __ATOMIC_RELAXED);
	uint64_t note = (uint32_t)clock, generation = clock >> 32;
	uint64_t block = note >> ADMISSION_NOTES_SHIFT;

	if ((note + 1) % (1 << ADMISSION_NOTES_SHIFT) || block >= a->nblocks)
		return;
	scd__admission_put(&a->words[block * ADMISSION_SLICES +
				     (generation + 1) % ADMISSION_SLICES],
			   0);
	if (block + 1 == a->nblocks)
		scd__admission_put(a->clock, (generation + 1) << 32);
}

static void admission_set_bits(uint64_t *word, uint64_t bits)
{
	if ((scd__admission_get(word) & bits) != bits)
		__atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

bool scd_admission_use(struct scd_admission *a, const struct scd_key *key)
{
	const struct places p = admission_places_of(a, key);
	uint64_t *block = &a->words[p.block * ADMISSION_SLICES];
	unsigned newest =
		admission_newest_of(scd__admission_get(a->clock), p.block);
	unsigned before = (newest + ADMISSION_SLICES - 1) % ADMISSION_SLICES;
	unsigned pairs =
		admission_pairs_of(admission_slices_with(block, &p), newest);

	if (!(pairs & NEWEST_PAIR)) {
		admission_set_bits(&block[newest],
				   admission_bits_in(&p, newest));
		admission_set_bits(&block[before],
				   admission_bits_in(&p, before));
		admission_tick(a);
	}
	return pairs != 0;
}

void scd_admission_note(struct scd_admission *a, const struct scd_key *key)
{
	scd_admission_use(a, key);
}

bool scd_admission_seen(const struct scd_admission *a,
			const struct scd_key *key)
{
	const struct places p = admission_places_of(a, key);
	const uint64_t *block = &a->words[p.block * ADMISSION_SLICES];
	uint64_t clock = scd__admission_get(a->clock);

	return admission_pairs_of(admission_slices_with(block, &p),
				  admission_newest_of(clock, p.block)) != 0;
}

void scd_admission_prefetch(const struct scd_admission *a,
			    const struct scd_key *key)
{
	const struct places p = admission_places_of(a, key);

	__builtin_prefetch(&a->words[p.block * ADMISSION_SLICES], 1);
}

void scd_admission_use_many(struct scd_admission *a, const struct scd_key *keys,
			    size_t n, bool *seen)
{
	for (size_t i = 0; i < n && i < AHEAD; i++)
		scd_admission_prefetch(a, &keys[i]);
	for (size_t i = 0; i < n; i++) {
		if (n - i > AHEAD)
			scd_admission_prefetch(a, &keys[i + AHEAD]);
		seen[i] = scd_admission_use(a, &keys[i]);
	}
}

int scd_admission_new(struct scd_admission **out, uint64_t window)
{
	struct scd_admission *a;
	uintptr_t at;

	if (window < 1 || window > SCD_ADMISSION_MAX_WINDOW)
		return SCD_EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return SCD_ENOMEM;
	a->nblocks = (window + SCD_ADMISSION_BLOCK_KEYS - 1) /
		     SCD_ADMISSION_BLOCK_KEYS;
	a->memory = calloc((size_t)a->nblocks + 2, SCD_ADMISSION_BLOCK_BYTES);
	if (!a->memory) {
		free(a);
		return SCD_ENOMEM;
	}
	at = (uintptr_t)a->memory + SCD_ADMISSION_BLOCK_BYTES - 1;
	a->clock = (uint64_t *)(at - at % SCD_ADMISSION_BLOCK_BYTES);
	a->words = a->clock + ADMISSION_SLICES;
	*out = a;
	return SCD_OK;
}

void scd_admission_free(struct scd_admission **a)
{
	if (!*a)
		return;
	free((*a)->memory);
	free(*a);
	*a = NULL;
}

void scd_admission_clear(struct scd_admission *a)
{
	memset(a->words, 0, (size_t)a->nblocks * SCD_ADMISSION_BLOCK_BYTES);
	*a->clock = 0;
}

uint64_t scd_admission_window(const struct scd_admission *a)
{
	return a->nblocks * SCD_ADMISSION_BLOCK_KEYS;
}

uint64_t scd_admission_noted(const struct scd_admission *a)
{
	uint64_t clock = scd__admission_get(a->clock);

	return (clock >> 32) * scd__admission_notes(a) + (uint32_t)clock;
}

void *scd_admission_memory(const struct scd_admission *a, size_t *bytes)
{
	*bytes = (size_t)a->nblocks * SCD_ADMISSION_BLOCK_BYTES;
	return a->words;
}

/* The probability that some two neighbours in age have a key's bits. */
static double admission_block_rate(const uint64_t *block, unsigned newest)
{
	double none = 1, last = 0; /* no pair; none, but the last slice has */

	for (unsigned i = 1; i <= ADMISSION_SLICES; i++) {
		unsigned slice = (newest + i) % ADMISSION_SLICES;
		uint64_t word = scd__admission_get(&block[slice]);
		double fill = __builtin_popcountll(word) / (double)SLICE_BITS;
		double has = fill * fill * fill * fill;
		double pair = last * has;

		last = none * has - pair;
		none -= pair;
	}
	return 1 - none;
}

double scd_admission_rate(const struct scd_admission *a)
{
	uint64_t clock = scd__admission_get(a->clock);
	uint64_t n = a->nblocks < SAMPLED_BLOCKS ? a->nblocks : SAMPLED_BLOCKS;
	double sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t block = i * (a->nblocks / n);

		sum += admission_block_rate(&a->words[block * ADMISSION_SLICES],
					    admission_newest_of(clock, block));
	}
	return sum / (double)n;
}
