/*
 * Engines of peer tables: lookups that compare all slots of a line at once, for
 * different processors, one file each (table_lookup.h is what they share). All
 * say the same; which one runs is
 * decided when a table is made, or by its owner.
 *
 * The vector engines load whole lines while a writer stores words of them.
 * They rely on what x86 processors do: a word that is stored whole is loaded
 * whole. ThreadSanitizer cannot know, so builds with it have the portable
 * engine alone.
 */
#ifndef SCD_TABLE_ENGINE_H
#define SCD_TABLE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SCD__TABLE_WATCHED
#endif
#endif
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && \
	!defined(SCD__TABLE_WATCHED)
#define SCD__TABLE_VECTORS
#endif

enum { SCD__TABLE_WORDS = 8 };

/* 32 lanes of 16 bits, the first in the lowest bits of the first word; aligned
 * to its size. The last lane is no slot. */
struct scd__table_line {
	uint64_t words[SCD__TABLE_WORDS];
};

#define SCD__TABLE_LANES UINT32_C(0x7fffffff)

/* The slots of a line for which slot & mask == want, a bit each. */
typedef uint32_t scd__table_match_fn(const struct scd__table_line *line,
				     uint16_t want, uint16_t mask);

struct scd_table;
struct scd_key;

struct scd__table_engine {
	const char *name;

	/* May this processor run it? */
	bool (*available)(void);

	scd__table_match_fn *match;

	/* scd_table_lookup(), and scd_table_lookup_many() of some keys while no
	 * widths change. */
	bool (*lookup)(const struct scd_table *t, const struct scd_key *key,
		       uint64_t *out);
	void (*lookup_many)(const struct scd_table *t,
			    const struct scd_key *keys, size_t n,
			    uint64_t *out);
};

/* All that were built, the fastest first; the last one is the portable one. */
extern const struct scd__table_engine *const scd__table_engines[];
extern const size_t scd__table_nengines;

/* The engine of a name, null: the fastest, if this processor can run it; else
 * null. */
const struct scd__table_engine *scd__table_engine(const char *name);

extern const struct scd__table_engine scd__table_portable;
extern const struct scd__table_engine scd__table_avx2;
extern const struct scd__table_engine scd__table_avx512;

#endif
