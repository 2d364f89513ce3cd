/*
 * Sorted numbers in Golomb's code, with an index.
 */
#include "codec/kind/golomb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum {
	STRETCH = 64, /* numbers for each entry of the index */
	SPARE = 8,    /* bytes after the code, so that words can be read */
	MAX_RICE = 56,
	WINDOW = 57, /* bits that a word has at least, wherever it begins */
};

struct scd__golomb_skip {
	uint64_t number;
	uint64_t after; /* bit at which its code ends */
};

struct bits {
	const uint8_t *bytes;
	uint64_t at;
	uint64_t end;
};

/* The next WINDOW bits at least. Compilers make one load of it. */
static uint64_t golomb_peek(const struct bits *b)
{
	const uint8_t *p = b->bytes + (b->at >> 3);
	uint64_t word = 0;

	for (unsigned i = 0; i < 8; i++)
		word |= (uint64_t)p[i] << 8 * i;
	return word >> (b->at & 7);
}

/* The next gap; false: there is none, or one above all bounds. */
static bool golomb_next_gap(struct bits *b, unsigned rice, uint64_t *gap)
{
	const uint64_t window = (UINT64_C(1) << WINDOW) - 1;
	uint64_t zeros = 0, word;
	unsigned more;

	while (!(word = golomb_peek(b) & window)) {
		zeros += WINDOW;
		b->at += WINDOW;
		if (b->at >= b->end)
			return false;
	}
	more = (unsigned)__builtin_ctzll(word);
	zeros += more;
	b->at += more + 1;
	if (b->at > b->end || zeros > SCD__GOLOMB_MAX_BOUND >> rice)
		return false;
	/* most often the low bits are in the same word: saves a load */
	word = more + 1 + rice <= WINDOW ? word >> (more + 1) : golomb_peek(b);
	*gap = zeros << rice | (word & ((UINT64_C(1) << rice) - 1));
	b->at += rice;
	return b->at <= b->end;
}

/* A word is enough for the one and MAX_RICE bits, wherever they begin. */
static void golomb_put_gap(struct bits *b, uint8_t *bytes, uint64_t gap,
			   unsigned rice)
{
	uint64_t word = (gap & ((UINT64_C(1) << rice) - 1)) << 1 | 1;
	uint8_t *p;

	b->at += gap >> rice;
	p = bytes + (b->at >> 3);
	word <<= b->at & 7;
	for (unsigned i = 0; i < 8; i++)
		p[i] |= (uint8_t)(word >> 8 * i);
	b->at += rice + 1;
}

double scd__golomb_bits(double density)
{
	double best = INFINITY;

	/* the mean of gap >> r, where gap >= g has (1 - density)^g */
	for (unsigned r = 0; r <= MAX_RICE; r++) {
		double q = exp(ldexp(1, (int)r) * log1p(-density));
		double bits = r + 1 + q / (1 - q);

		if (bits < best)
			best = bits;
	}
	return best;
}

/* The bits that all numbers take with a parameter. */
static uint64_t golomb_coded_bits(const uint64_t *numbers, uint64_t count,
				  unsigned rice)
{
	uint64_t bits = count * (rice + 1), next = 0;

	for (uint64_t i = 0; i < count; i++) {
		bits += (numbers[i] - next) >> rice;
		next = numbers[i] + 1;
	}
	return bits;
}

/* The bits from one parameter to the next fall and then rise. */
static unsigned golomb_best_rice(const uint64_t *numbers, uint64_t count,
				 uint64_t *bits)
{
	unsigned rice = 0;

	*bits = golomb_coded_bits(numbers, count, 0);
	while (rice < MAX_RICE) {
		uint64_t more = golomb_coded_bits(numbers, count, rice + 1);

		if (more >= *bits)
			break;
		*bits = more;
		rice++;
	}
	return rice;
}

static uint64_t golomb_entries(uint64_t count)
{
	return (count + STRETCH - 1) / STRETCH;
}

size_t scd__golomb_memory(uint64_t count, size_t len)
{
	return len + SPARE +
	       (size_t)golomb_entries(count) * sizeof(struct scd__golomb_skip);
}

/* Room for a code and its index. */
static int golomb_allocate(struct scd__golomb *g, size_t len)
{
	if (golomb_entries(g->count) > SIZE_MAX / sizeof(*g->skips) - 1)
		return SCD_ENOMEM;
	g->len = len;
	g->code = calloc(1, len + SPARE);
	g->skips = malloc((size_t)(golomb_entries(g->count) + 1) *
			  sizeof(*g->skips));
	if (g->code && g->skips)
		return SCD_OK;
	scd__golomb_free(g);
	return SCD_ENOMEM;
}

/* Decode all, to make the index; false: it is not what is said of it. */
static bool golomb_make_index(struct scd__golomb *g)
{
	struct bits b = {g->code, 0, 8 * (uint64_t)g->len};
	uint64_t next = 0, gap;

	for (uint64_t i = 0; i < g->count; i++) {
		if (!golomb_next_gap(&b, g->rice, &gap) ||
		    gap >= g->bound - next)
			return false;
		if (i % STRETCH == 0)
			g->skips[i / STRETCH] = (struct scd__golomb_skip){
				.number = next + gap,
				.after = b.at,
			};
		next += gap + 1;
	}
	return b.end - b.at < 8 && !(golomb_peek(&b) & 0xff);
}

int scd__golomb_make(const uint64_t *numbers, uint64_t count, uint64_t bound,
		     struct scd__golomb *g)
{
	struct scd__golomb new = {.bound = bound, .count = count};
	struct bits b = {NULL, 0, 0};
	uint64_t nbits, next = 0;
	int error;

	new.rice = golomb_best_rice(numbers, count, &nbits);
	error = golomb_allocate(&new, (size_t)((nbits + 7) / 8));
	if (error)
		return error;
	for (uint64_t i = 0; i < count; i++) {
		golomb_put_gap(&b, new.code, numbers[i] - next, new.rice);
		next = numbers[i] + 1;
	}
	golomb_make_index(&new);
	*g = new;
	return SCD_OK;
}

int scd__golomb_load(struct scd__golomb *g, const uint8_t *code, size_t len)
{
	struct scd__golomb new = {
		.bound = g->bound,
		.count = g->count,
		.rice = g->rice,
	};
	int error;

	if (new.rice > MAX_RICE || new.count > new.bound)
		return SCD_EFORMAT;
	if (new.count > 8 * (uint64_t)len / (new.rice + 1))
		return SCD_EFORMAT;
	error = golomb_allocate(&new, len);
	if (error)
		return error;
	if (len)
		memcpy(new.code, code, len);
	if (!golomb_make_index(&new)) {
		scd__golomb_free(&new);
		return SCD_EFORMAT;
	}
	*g = new;
	return SCD_OK;
}

/* The entry of the last stretch that begins at a number or below it. */
static const struct scd__golomb_skip *golomb_find(const struct scd__golomb *g,
						  uint64_t number)
{
	size_t low = 0, high = (size_t)golomb_entries(g->count);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->skips[middle].number <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &g->skips[low - 1] : NULL;
}

bool scd__golomb_has(const struct scd__golomb *g, uint64_t number)
{
	struct bits b = {g->code, 0, 8 * (uint64_t)g->len};
	const struct scd__golomb_skip *skip = golomb_find(g, number);
	uint64_t at, gap, left;

	if (!skip)
		return false;
	b.at = skip->after;
	at = skip->number;
	left = g->count - (uint64_t)(skip - g->skips) * STRETCH;
	while (at < number && --left > 0 && golomb_next_gap(&b, g->rice, &gap))
		at += gap + 1;
	return at == number;
}

void scd__golomb_free(struct scd__golomb *g)
{
	free(g->code);
	free(g->skips);
	*g = (struct scd__golomb){0};
}
