/*
 * Tuning: from what is wanted of a digest to the size of its array and the
 * number of its hash functions.
 *
 * What counts for a digest is its size on the wire, after coding. For that a
 * larger, emptier array with fewer hash functions is better than the one that
 * is best for memory: 14 bits an object with 2 functions are sent in as many
 * bytes as 8 bits with 6, and have fewer false positives.
 *
 * Source: Mitzenmacher, "Compressed Bloom Filters", IEEE/ACM Transactions on
 * Networking, 2002. All formulas assume independent, uniform hash functions
 * and a coder that reaches the entropy.
 */
#ifndef SCD_TUNE_H
#define SCD_TUNE_H

#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Throughout: n: distinct keys (>= 0); m: size of the array [bits] (> 0);
 * k: hash functions (1..32); none of these functions can fail.
 */

/* Probability that a bit is still zero, 0..1: p0 = e^(-k n / m). */
double scd_tune_zero(double n, double m, unsigned k);

/* Rate of false positives, 0..1: f = (1 - p0)^k. */
double scd_tune_fp(double n, double m, unsigned k);

/* Size of a full digest, coded [bits]: z = m H(p0), H the binary entropy. */
double scd_tune_full_bits(double n, double m, unsigned k);

/*
 * Size of an XOR delta, coded [bits], when a share c (0..1) of the n keys has
 * been replaced: m H(q), where a bit has flipped with q = 2 p0 (1 - p0^c).
 */
double scd_tune_delta_bits(double n, double m, unsigned k, double c);

/* What is wanted. Zero in a member means that it is not. */
struct scd_goal {
	uint64_t objects;    /* keys to expect; > 0 */
	double fp;           /* highest false-positive rate of a cluster, 0..1:
				that any of the peers' digests says yes */
	unsigned peers;      /* nodes in the cluster; 0 counts as 2 */
	double wire_bits;    /* most bits an object on the wire, for a full
				digest */
	double churn;        /* share of the objects replaced between updates */
	double deltas;       /* deltas sent for each full digest */
	uint64_t max_memory; /* most bytes of an array; 0: SCD_TUNE_BYTES
				for each object */
};

enum { SCD_TUNE_BYTES = 8 };

/* What keeps a better answer away. */
enum scd_bound {
	SCD_BOUND_FP,     /* the false positives: fewer bytes would mean
			     more */
	SCD_BOUND_WIRE,   /* the size on the wire: fewer false positives cost
			     more */
	SCD_BOUND_MEMORY, /* the memory: a larger array would be better */
};

struct scd_tuning {
	uint64_t nbits;      /* m, a power of two */
	unsigned nhash;      /* k */
	double fp;           /* of one digest */
	double full_bytes;   /* coded */
	double delta_bytes;  /* coded, at the stated churn; 0 without churn */
	double update_bytes; /* on average: a full digest and its deltas */
	double array_bytes;  /* memory for each peer's digest */
	double own_bytes;    /* memory for the counting filter */
	enum scd_bound bound;
};

/*
 * Find the array size and number of functions for a goal: with fp, the fewest
 * bytes an update that reach it (a cluster of P nodes allows each digest
 * fp / (P - 1)); with wire_bits, the lowest false-positive rate within it;
 * with both, the first within the second. Of equals the smaller array wins.
 *
 * SCD_EINVAL: no objects, neither fp nor wire_bits, or a member out of range.
 * SCD_EGOAL: nothing reaches the goal within the memory. *out is left alone.
 */
int scd_tune(const struct scd_goal *goal, struct scd_tuning *out);

/* One line of English for a bound. Static, never null. */
const char *scd_bound_text(enum scd_bound bound);

#ifdef __cplusplus
}
#endif

#endif
