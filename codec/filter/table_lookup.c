/*
 * Peer tables: lookups, as far as they are no matter of speed.
 */
#include "codec/filter/table_lookup.h"

enum { TOGETHER = 1024 }; /* keys, at most, that are looked up anew together */

/* Whether a slot is an entry of a list that has as many bits as are the same.
 */
static bool table_lookup_is_narrow(const struct scd_table *t,
				   const struct scd__table_probe *p,
				   unsigned slot)
{
	const unsigned code = slot & ~(unsigned)t->tag_mask;
	const unsigned tag = (slot ^ p->want) >> t->code_bits;
	unsigned width;

	if (!code)
		return false;
	width = __atomic_load_n(&t->widths[code - 1], __ATOMIC_ACQUIRE);
	return scd__table_tag_cut(
		       t, tag, scd__table_tag_bits(t, p->segment, width)) == 0;
}

/* The slots that may be narrow entries. */
static uint32_t table_lookup_match_narrow(const struct scd_table *t,
					  const struct scd__table_probe *p,
					  const struct scd__table_line *line,
					  uint64_t narrow)
{
	uint32_t found = 0;

	for (; narrow; narrow &= narrow - 1) {
		const unsigned bits = (unsigned)__builtin_ctzll(narrow);
		const unsigned tag = scd__table_tag_cut(
			t, p->want >> t->code_bits, bits);

		found |= t->engine->match(
			line, (uint16_t)(tag << t->code_bits), t->tag_mask);
	}
	return found;
}

void scd__table_lookup_line(const struct scd_table *t,
			    const struct scd__table_probe *p,
			    const struct scd__table_line *line, uint64_t *out)
{
	const uint64_t narrow = scd__table_load(&p->segment->narrow);
	uint32_t found = t->engine->match(line, p->want, t->tag_mask);

	if (__builtin_expect(narrow != 0, 0))
		found |= table_lookup_match_narrow(t, p, line, narrow);
	for (; found; found &= found - 1) {
		const unsigned slot = scd__table_slot(
			line, (unsigned)__builtin_ctz(found));
		const unsigned peer = (slot & ~(unsigned)t->tag_mask) - 1;

		if (narrow ? table_lookup_is_narrow(t, p, slot)
			   : scd__table_is(t, slot, p->want))
			out[peer / 64] |= UINT64_C(1) << peer % 64;
	}
}

bool scd__table_lookup_all(const struct scd_table *t, const struct scd_key *key,
			   uint64_t *out)
{
	const struct scd__table_line *line;
	struct scd__table_probe p;
	uint64_t version, any;

	do {
		version = scd__table_load(&t->version);
		p = scd__table_probe(t, key);
		for (unsigned i = 0; i < t->nwords; i++)
			out[i] = 0;
		for (line = p.line; line;
		     line = scd__table_next(p.segment, line))
			scd__table_lookup_line(t, &p, line, out);
	} while (scd__table_load(&t->version) != version);
	any = 0;
	for (unsigned i = 0; i < t->nwords; i++)
		any |= out[i];
	return any != 0;
}

bool scd_table_lookup(const struct scd_table *table, const struct scd_key *key,
		      uint64_t *out)
{
	return table->engine->lookup(table, key, out);
}

void scd_table_lookup_many(const struct scd_table *table,
			   const struct scd_key *keys, size_t n, uint64_t *out)
{
	while (n) {
		const size_t some = n < TOGETHER ? n : TOGETHER;
		uint64_t version;

		do {
			version = scd__table_load(&table->version);
			table->engine->lookup_many(table, keys, some, out);
		} while (scd__table_load(&table->version) != version);
		out += some * table->nwords;
		keys += some;
		n -= some;
	}
}

void scd_table_prefetch(const struct scd_table *table,
			const struct scd_key *key)
{
	__builtin_prefetch(scd__table_probe(table, key).line);
}
