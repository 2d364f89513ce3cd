/*
 * Tuning: from what is wanted of a digest to the size of its array, the number
 * of its hash functions, how updates are sent, and when.
 *
 * What counts for a digest is its size on the wire, after coding. For that a
 * larger, emptier array with fewer hash functions is better than the one that
 * is best for memory: 14 bits an object with 2 functions are sent in as many
 * bytes as 8 bits with 6, and have fewer false positives.
 *
 * The answer is found by trying all powers of two, all numbers of functions
 * and a ladder of publish shares: a few ten thousand predictions, some
 * milliseconds.
 *
 * The model
 *
 * All formulas assume independent, uniform hash functions and a coder that
 * reaches the entropy. Of the objects a share c is replaced between two
 * updates, and a node sends every update to each of its peers once.
 *
 * A lookup for what its own cache misses costs a node, for each peer,
 *
 *     f C  +  h/(P-1) c/2 (C + M)      bytes:
 *
 * false positives at f; and staleness. An update is followed by c n
 * replacements until the next, so on average c/2 of a peer's objects are not
 * in the digest that is held of it, and c/2 of the digest's objects are gone.
 * Of the lookups a share h finds its object at one of the P-1 peers. If new
 * and old objects are wanted alike, h c/2 of the lookups miss what is there
 * (a false miss, M bytes), and as many ask for what is gone (a false hit, C
 * bytes). That the loss is proportional to the share of new objects is what
 * Summary Cache measured: 0.1 to 1.7 % of the hits at c = 1 %, in four traces
 * of five, where this model says 0.5 %. What is best for the bytes of updates
 * and lookups in sum is a matter of arithmetic.
 *
 * Sources: Mitzenmacher, "Compressed Bloom Filters", IEEE/ACM Transactions on
 * Networking, 2002: p0, f, z and q below. Fan, Cao, Almeida, Broder, "Summary
 * Cache", IEEE/ACM Transactions on Networking, 2000, V-A: the publish share,
 * false misses in proportion to it.
 */
#ifndef SCD_TUNE_H
#define SCD_TUNE_H

#include <stddef.h>
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

/*
 * Size of a conditional delta, coded [bits]: who has the old array needs to be
 * told only which of its ones were cleared, and which of its zeros were set:
 * m ((1 - p0) H(q/2 / (1 - p0)) + p0 H(q/2 / p0)). Never above the XOR delta.
 */
double scd_tune_conditional_bits(double n, double m, unsigned k, double c);

/* How updates are sent, from the plainest on. */
enum scd_update {
	SCD_UPDATE_STORED,      /* full digests, not worth coding */
	SCD_UPDATE_FULL,        /* full digests, coded */
	SCD_UPDATE_XOR,         /* XOR deltas */
	SCD_UPDATE_CONDITIONAL, /* conditional deltas */
};

/*
 * What is wanted of a digest. A member that is zero is not wanted, or not
 * known. An interval is any stretch of time over which replaced keys and
 * lookups are counted; where replaced is 0, it is the time between two updates.
 */
struct scd_goal {
	uint64_t objects;  /* keys that are there now */
	uint64_t expected; /* keys to be ready for; 0: objects. One is > 0 */
	unsigned peers;    /* nodes in the cluster; 0 counts as 2 */

	double fp;               /* highest false-positive rate of a cluster,
				    0..1: that any of the peers' digests says
				    yes */
	double false_hit_bytes;  /* C, cost of a false hit */
	double false_miss_bytes; /* M, of a false miss; 0: as a false hit */
	double lookups;          /* that a node's peers' digests are asked, an
				    interval */
	double peer_hits;        /* h, share of the lookups that a peer could
				    serve; 0: SCD_TUNE_PEER_HITS_PERCENT */
	double wire_bits;        /* most bits an object on the wire, for a full
				    digest */

	double replaced;      /* keys replaced, an interval */
	double seconds;       /* length of an interval */
	double churn;         /* c, share of the keys replaced between updates;
				 0: chosen, if lookups have a cost, else
				 SCD_TUNE_SHARE_PERCENT, if keys are replaced */
	enum scd_update max_update; /* the furthest way that may be used; 0:
				       full digests */
	double deltas;        /* deltas sent for each full digest; 0: a full
				 digest only at first contact */
	uint64_t max_memory;  /* most bytes of memory_bytes below; 0: no array
				 takes more than SCD_TUNE_BYTES an object */
	uint64_t reserved[6]; /* 0; further wishes */
};

enum {
	SCD_TUNE_BYTES = 8,         /* as many as a plain hash of each object */
	SCD_TUNE_SHARE_PERCENT = 1, /* as in Summary Cache */
	SCD_TUNE_PEER_HITS_PERCENT = 10, /* a guess: measure it */
	SCD_TUNE_TIE_PERCENT = 2, /* of the bytes: less is no difference */
	SCD_TUNE_LEAST_MS = 100,  /* between updates, where churn is chosen */
	SCD_TUNE_HTTP_BYTES = 600 /* request and header of the reply around an
				     update: 175 and 411 with digestd */
};

/* The limit that keeps a better answer away. */
enum scd_bound {
	SCD_BOUND_FP,     /* the false positives: fewer bytes would mean
			     more */
	SCD_BOUND_WIRE,   /* the size on the wire: fewer false positives cost
			     more */
	SCD_BOUND_MEMORY, /* the memory: a larger array would be better */
	SCD_BOUND_COST,   /* nothing: fewer bytes would mean false hits that
			     cost more */
};

/* An answer, and what it predicts, with as many keys as the goal says to be
 * ready for. */
struct scd_tuning {
	uint64_t nbits;         /* m, a power of two */
	unsigned nhash;         /* k */
	enum scd_update update; /* how updates are sent */
	double share;           /* c at which to publish; 0: nothing changes */
	double fp;              /* of one digest */
	double cluster_fp;      /* that any of the peers' says yes */
	double fp_now;          /* of one digest, with the keys there now */
	double full_bytes;      /* a full digest: header, coded array */
	double delta_bytes;     /* a delta; 0: none is sent */
	double update_bytes;    /* on average: full digests and deltas */
	double array_bytes;     /* memory for each peer's digest */
	double own_bytes;       /* memory for the counting filter */
	double memory_bytes;    /* own_bytes and the peers' digests */
	double update_seconds;  /* between two updates; 0: not known */
	double link_rate;       /* bytes a second from one node to one peer,
				   HTTP's included; 0: not known */
	double node_rate;       /* all links of a node, in and out */
	double update_cost;     /* bytes a link, an interval: of updates, */
	double false_hit_cost;  /* of false positives, */
	double stale_cost;      /* and of staleness */
	enum scd_bound bound;
	uint64_t reserved[7]; /* 0 */
};

/*
 * The bytes that a node holds for its cluster of peers nodes: 5 bits a
 * position of its counting filter, and the arrays of peers - 1 others: one
 * each, to which the next delta is applied, and from 8 on all of them again,
 * bit-sliced for lookups, in rows of 1, 2, 4, .. 64 bytes, then of multiples of
 * 64.
 */
double scd_tune_memory(double m, unsigned peers);

/*
 * Find the parameters for a goal. What is made small is: with false_hit_bytes
 * and lookups, the bytes of updates and lookups in sum; else with fp, the
 * bytes of an update; else, within wire_bits, the false positives. fp,
 * wire_bits and the memory are kept in any case, and no digest has more than
 * 5 % false positives, which readers refuse, or more than 60 % ones, which
 * costs lookups more than it saves on the wire; a cluster of P nodes allows
 * each digest fp / (P - 1). Of equals the smaller array wins; then, of bytes
 * that are less than SCD_TUNE_TIE_PERCENT more in an array of that size, those
 * with the fewest functions, as each of them is an access to memory.
 *
 * SCD_EINVAL: no objects; none of fp, wire_bits, and false_hit_bytes with
 * lookups; a member out of range; deltas, but none may be sent.
 * SCD_EGOAL: nothing reaches the goal within the memory. *out is left alone.
 */
int scd_tune(const struct scd_goal *goal, struct scd_tuning *out);

/* Why a candidate is not the answer. */
enum scd_verdict {
	SCD_CHOSEN,        /* it is the answer */
	SCD_LOST_MEMORY,   /* takes more than max_memory */
	SCD_LOST_FP,       /* exceeds fp */
	SCD_LOST_WIRE,     /* exceeds wire_bits */
	SCD_LOST_UNWANTED, /* deltas of a kind that may not be sent */
	SCD_LOST_BYTES,    /* costs more: updates do */
	SCD_LOST_COST,     /* costs more: false hits or staleness do */
	SCD_LOST_WORSE_FP, /* has more false positives, which were to be few */
	SCD_LOST_EQUAL,    /* costs the same, and has the larger array */
	SCD_LOST_LITTLE,   /* costs less, but not by SCD_TUNE_TIE_PERCENT, and
			      has more functions or the larger array */
};

struct scd_candidate {
	struct scd_tuning tuning; /* bound is meaningless where it lost */
	enum scd_verdict verdict;
	uint64_t reserved[2]; /* 0 */
};

enum { SCD_CANDIDATES = 12 };

/*
 * Find the parameters for a goal, and explain them: list[0] is what scd_tune()
 * answers, the others its neighbours: the array as it is, half and double, each
 * with as many functions and with the number that costs least; one function
 * less and more; and the other ways to send updates. *n is how many there are,
 * 2 to SCD_CANDIDATES.
 * The errors of scd_tune(); *n is left alone then.
 */
int scd_tune_explain(const struct scd_goal *goal,
		     struct scd_candidate list[SCD_CANDIDATES], size_t *n);

/* One line of English for a verdict. Static, never null. */
const char *scd_verdict_text(enum scd_verdict verdict);

/* One line of English for a bound. Static, never null. */
const char *scd_bound_text(enum scd_bound bound);

/* One word for how updates are sent. Static, never null. */
const char *scd_update_text(enum scd_update update);

#ifdef __cplusplus
}
#endif

#endif
