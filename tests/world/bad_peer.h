/*
 * A peer that goes bad, in a world of nodes that do not.
 *
 * It is no node: it has a listener, a digest that claims all that caches may
 * share, and answers of its own. It is good until the nodes have its digest,
 * but for having nothing of what it claims; then it goes bad in one way of
 * BAD_PEER_WAYS. No client may notice.
 */
#ifndef TESTS_WORLD_BAD_PEER_H
#define TESTS_WORLD_BAD_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One row each: how it answers for an object, its listener, its digests, and
 * whether no answer is good, so that the breaker has to open.
 */
/* clang-format off */
#define BAD_PEER_WAYS(X) \
	X("refuses",              SILENCE,   REFUSES, STAYS,   true) \
	X("accepts and hangs",    SILENCE,   ACCEPTS, STAYS,   true) \
	X("black hole",           SILENCE,   HOLE,    STAYS,   true) \
	X("a byte a second",      DRIPS,     ACCEPTS, STAYS,   true) \
	X("resets",               RESETS,    ACCEPTS, STAYS,   true) \
	X("resets in the middle", HALF,      ACCEPTS, STAYS,   true) \
	X("stops in the middle",  HALF_ONLY, ACCEPTS, STAYS,   true) \
	X("breaks off",           SHORT,     ACCEPTS, STAYS,   true) \
	X("closes",               CLOSES,    ACCEPTS, STAYS,   true) \
	X("two lengths",          LENGTHS,   ACCEPTS, STAYS,   true) \
	X("chunks that are none", CHUNKS,    ACCEPTS, STAYS,   true) \
	X("lies",                 LIES,      ACCEPTS, STAYS,   false) \
	X("garbage",              GARBAGE,   ACCEPTS, STAYS,   true) \
	X("errors",               ERROR,     ACCEPTS, STAYS,   true) \
	X("garbage for a digest", LIES,      ACCEPTS, JUNK,    false) \
	X("a digest that flips",  LIES,      ACCEPTS, FLIPS,   false)
/* clang-format on */

enum {
#define X(name, answer, listener, digest, opens) +1
	BAD_PEER_NWAYS = 0 BAD_PEER_WAYS(X)
#undef X
};

extern const char *const bad_peer_place; /* where it listens */

/* Listens, and goes bad that way from bad_peer_befall() on. Clients ask for one
 * of these resources every gap_us, on average; gap_us > 0. */
void bad_peer_start(unsigned way, unsigned nresources, uint32_t gap_us);
void bad_peer_befall(void);

/*
 * Fails the world unless nodes have asked it and have noticed: they ask it no
 * more, or, where it only lies, have asked it in vain for as long as that may
 * take.
 */
void bad_peer_check(void);

/* How the world that ends went bad: counts it as met, if it was. */
void bad_peer_stop(void);

/* Prints the ways that no world has met. Returns how many. */
unsigned bad_peer_report(void);

#endif
