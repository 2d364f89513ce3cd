/*
 * Which objects a cache takes in: policies that answer, for an object that was
 * fetched, whether it is kept on disk, in a small RAM tier on probation, or
 * not at all. They work under every eviction policy, because all that they
 * know is requests (key hashes and sizes) and evictions.
 *
 * A policy is a struct of functions in a file of its own, which says its
 * source, rules and memory. Those that a node can have are here; the
 * simulator has more to compare with (cachesim/admission). A policy's options
 * are rows of one table, admission_options. All are deterministic: what is
 * random comes from the seed. Nothing allocates per request but the policies
 * that remember exactly, and the measurement.
 *
 * How a cache asks (cachesim/sim/node.c does all of it):
 *   every request        admission_request(a, r, held on disk or in RAM?)
 *   not on disk          admission_decide(a, r): a miss that was fetched, or a
 *                        hit in RAM, where DISK means to move it to the disk
 *   evicted from disk    admission_evicted(a, hash)
 *   requested elsewhere  admission_note(a, hash), where peers share what they
 *                        have seen; or they share the whole instance
 */
#ifndef DIGESTD_ADMISSION_ADMISSION_POLICY_H
#define DIGESTD_ADMISSION_ADMISSION_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eviction_policy;
struct scd_admission;

enum admission_decision { ADMISSION_NO, ADMISSION_RAM, ADMISSION_DISK };

/* What is asked for: the hash of its key, evenly distributed, and what it
 * weighs in the unit of the capacity (bytes; 1 where objects are counted). */
struct admission_item {
	uint64_t hash, size;
};

struct admission_config {
	uint64_t window;     /* keys remembered; 0: of `exact`, all for ever;
				of the others, what the node takes it to be */
	unsigned min_uses;   /* requests until an object is worth a write */
	double false_seen;   /* rate of the filters that are sized by it */
	double ram_share;    /* of the capacity, for the probation tier */
	double size_scale;   /* c of exp(-size/c), in the unit of sizes */
	double lambda;	     /* what a disk write costs, in hits */
	unsigned sample;     /* auto: looks at one key in so many */
	uint64_t sample_min; /* auto: at least so many objects in a miniature */
	uint64_t seed;
	bool measure; /* the false-seen rate, against an exact twin: costs
			 some 16 bytes a distinct key */

	/* of the cache that is asked for; not options of a policy */
	uint64_t capacity;			/* RAM and disk together */
	uint64_t mean_size;			/* of an object; 0: 1 */
	const struct eviction_policy *eviction; /* auto: of its miniatures */
};

struct admission_policy;

/* An instance; a policy's own state begins with it. */
struct admission {
	const struct admission_policy *policy;
	struct admission_config config;
	struct admission_twin *twin; /* null: nothing is measured */
};

struct admission_policy {
	const char *name;
	const char *about;   /* one line */
	const char *options; /* names from admission_options, space between */
	size_t size;	     /* of the state [bytes] */
	bool ram;	     /* answers ADMISSION_RAM, wants a tier for it */
	bool for_ever;	     /* a window of 0 means that it never forgets */

	/* Allocates; called with everything zero but struct admission. 0,
	 * SCD_ENOMEM or SCD_EINVAL. Null: nothing to do. */
	int (*init)(struct admission *a);
	/* Frees what init() allocated, also when it failed halfway. */
	void (*release)(struct admission *a);
	/* Bytes that init() and later calls allocated. */
	size_t (*memory)(const struct admission *a);
	/* Keys that this memory is for. Null: it remembers none. */
	uint64_t (*tracked)(const struct admission *a);

	enum admission_decision (*decide)(struct admission *a,
					  const struct admission_item *r);
	/* These may be null. */
	void (*request)(struct admission *a, const struct admission_item *r,
			bool hit);
	void (*evicted)(struct admission *a, uint64_t hash);
	void (*note)(struct admission *a, uint64_t hash);
	/* Has it enough uses to be worth a write? Changes nothing. */
	bool (*seen)(const struct admission *a, uint64_t hash);
	/* Where its filter of keys is, which may outlive it, or be put there
	 * instead; null: it has none. */
	struct scd_admission **(*filter)(struct admission *a);
	/* The window and the cache are as in *next from now on; what was seen
	 * is not forgotten. As init(); after an error it can be used, and
	 * asked again. */
	int (*resize)(struct admission *a, const struct admission_config *next);
	/* Gives up what a resize has made superfluous; now and then. */
	void (*settle)(struct admission *a);
	/* Does it admit everything, as things stand? Null: no. */
	bool (*admits_all)(const struct admission *a);
};

/* Those that a node can have; a null ends the list. */
extern const struct admission_policy *const admission_offered[];
extern const struct admission_policy admission_none;
extern const struct admission_policy admission_aged;
extern const struct admission_policy admission_probation;
extern const struct admission_policy admission_auto;

/* An option: its name in a text, its range, and which field of a config. */
struct admission_option {
	const char *name, *about;
	double least, most, usual;
	enum { ADMISSION_U64, ADMISSION_UNSIGNED, ADMISSION_DOUBLE } type;
	size_t at;
};

/* All options; a null name ends the list. */
extern const struct admission_option admission_options[];

/* Sets the field that an option is; the value lies within its range. */
void admission_set(struct admission_config *c,
		   const struct admission_option *o, double value);

/* Everything as usual, and nothing known of the cache. */
void admission_defaults(struct admission_config *c);

/*
 * Makes an instance that has seen nothing. A window of 0 becomes one and a
 * half times the objects of mean size that the capacity holds (but of
 * `exact`). 0, SCD_ENOMEM, or SCD_EINVAL: a value is out of range.
 */
int admission_new(struct admission **out, const struct admission_policy *policy,
		  const struct admission_config *c);

/*
 * The cache can hold so many objects (0: the window stays), and has another
 * capacity perhaps: follows with the window, if it is off by more than half,
 * and with the rest. What was seen is not forgotten. To be called now and then
 * after a change, too. 0 or SCD_ENOMEM.
 */
int admission_resize(struct admission *a, uint64_t capacity,
		     uint64_t objects);

/* Accepts null and nulls the pointer. */
void admission_free(struct admission **a);

/* An object that is not on disk: what becomes of it? Counts as a use of it. */
enum admission_decision admission_decide(struct admission *a,
					 const struct admission_item *r);

/* An object was requested; hit: it was on disk or in RAM. */
static inline void admission_request(struct admission *a,
				     const struct admission_item *r, bool hit)
{
	if (a->policy->request)
		a->policy->request(a, r, hit);
}

/* An object went from the disk to make room. */
static inline void admission_evicted(struct admission *a, uint64_t hash)
{
	if (a->policy->evicted)
		a->policy->evicted(a, hash);
}

/* A key was used elsewhere. */
void admission_note(struct admission *a, uint64_t hash);

/* Has a key the uses that admit it? Changes nothing; false of policies that
 * remember no keys. */
bool admission_seen(const struct admission *a, uint64_t hash);

/* Where its filter of keys is, for images of it; null: it has none. */
struct scd_admission **admission_filter(struct admission *a);

/* Does it admit everything, as things stand, so that the RAM tier's share
 * might as well be disk? */
bool admission_admits_all(const struct admission *a);

struct admission_stats {
	size_t bytes;	  /* of the policy, without the measurement */
	uint64_t tracked; /* keys that they are for; 0: none */
	/* With config.measure: decisions on keys that were never used before,
	 * and how many of these it took for seen. */
	uint64_t fresh, false_seen;
};

/* How things stand. */
void admission_stats(const struct admission *a, struct admission_stats *out);

#endif
