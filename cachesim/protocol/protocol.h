/*
 * How proxies find out which of them has an object: a cooperation protocol is
 * a struct of functions in a file of its own and a row in protocol.c. The
 * cluster (cachesim/sim/cluster.h) decides when something is published, who
 * receives it, and counts; a protocol says who may have an object, what a
 * publication consists of, and how many bytes it takes.
 *
 * Views. What is known of all proxies' summaries is a view. If every
 * publication reaches every proxy at the same time, one view serves all;
 * otherwise each proxy has its own.
 *
 * Sets of proxies are masks of one or several words: bit p % 64 of word p / 64
 * is proxy p.
 *
 * Messages (Fan et al., "Summary Cache", 2000, section V-D): a query is 20
 * bytes of ICP's header and a URL of 50; a reply the same; an update of an
 * exact directory or of server names has a header of 20 bytes and 16 for each
 * change, one of a Bloom filter 32 and 4 for each bit that flips. Protocols
 * whose bytes come out of libscd count those and the request and header of
 * the reply around them, as digestd sends them.
 */
#ifndef CACHESIM_PROTOCOL_PROTOCOL_H
#define CACHESIM_PROTOCOL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROTOCOL_WORD = 64, /* proxies in a word of a mask */
	PROTOCOL_MAX_WORDS = 16,
	PROTOCOL_MAX_PROXIES = PROTOCOL_MAX_WORDS * PROTOCOL_WORD,
};

/* How a request that its own proxy cannot serve goes on. */
enum protocol_way {
	PROTOCOL_ALONE,   /* to the origin */
	PROTOCOL_ASK_ALL, /* every peer is asked, by a message */
	PROTOCOL_SUMMARY, /* peers whose summary says so are asked */
	PROTOCOL_OWNER,	  /* every object has one proxy that is asked for it */
	PROTOCOL_ONE,	  /* there is one cache for all */
};

/* What is sent when a digest is published. */
enum protocol_form {
	PROTOCOL_FULL,
	PROTOCOL_XOR,         /* delta as the XOR of the arrays */
	PROTOCOL_CONDITIONAL, /* delta given the old array */
	PROTOCOL_FORMS
};

/* Parameters of digests; a protocol reads those that it has a use for. */
struct protocol_digest {
	double bits;	   /* an expected object; 0: what is usual */
	unsigned nhash;	   /* hash functions; 0: what is usual */
	double fp;	   /* false positives of a kind; 0: by bits */
	uint64_t expected; /* objects of a proxy; > 0 */
	enum protocol_form form; /* that is sent, where there is a choice */
	bool all_forms;	  /* has every form each time, to count them */
	bool coded;	  /* sizes are those of bytes that libscd made; else
			     computed (digest_sizes.h), where that is so */
};

struct protocol_config {
	unsigned nproxies, nviews; /* nviews: 1, or nproxies */
	uint32_t nobjects;
	const uint64_t *hash;	/* of the key, by object; borrowed */
	const uint32_t *server; /* number, by object; borrowed; null: unknown */
	uint32_t nservers;
	struct protocol_digest digest;
};

/* Bytes of messages, without what a publication contains. */
struct protocol_sizes {
	unsigned query;  /* is it there? */
	unsigned reply;  /* it is, it is not */
	unsigned fetch;  /* asked for it, and it was not there: both ways */
	unsigned update; /* around a publication */
};

/* What changed since the last publication of a proxy. */
struct protocol_changes {
	const uint32_t *added, *removed; /* objects; none twice */
	size_t nadded, nremoved;
};

/* One proxy's publication. A protocol's own begins with it. */
struct protocol_publication {
	unsigned proxy;
	unsigned users;	  /* who holds it: made with one */
	uint64_t changes; /* entries: objects, servers, bits that flipped */
	uint64_t wire;	  /* bytes of what is sent, with its header */
	bool full;	  /* does not need the one before */
	uint64_t whole;	  /* bytes if it were sent in full; with one view
			     only it may be 0: not known */
	/* bytes of each form, where it was made; 0: it was not */
	uint64_t raw[2];		/* full, delta: not coded */
	uint64_t coded[PROTOCOL_FORMS]; /* exactly as libscd makes them */
};

struct protocol;

/* An instance; a protocol's own state begins with it. */
struct protocol_state {
	const struct protocol *protocol;
	struct protocol_config config;
	bool near; /* by init(): prefetch() would not be worth it */
};

struct protocol {
	const char *name;
	const char *about; /* one line */
	enum protocol_way way;
	bool servers;	/* needs config.server */
	bool front;	/* requests come to the object's owner at once, whatever
			   proxy their client has (PROTOCOL_OWNER) */
	bool by_query;	/* of the candidates of a summary: a query to each
			   first; otherwise the object is asked for in turn */
	unsigned period_s; /* publishes so often, unless told otherwise */
	struct protocol_sizes sizes;
	size_t size; /* of the state [bytes] */

	/* Allocates; called with everything zero but the struct
	 * protocol_state. 0 or an SCD_ error. Null: nothing to do. */
	int (*init)(struct protocol_state *s);
	/* Frees what init() allocated, also when it failed halfway. */
	void (*release)(struct protocol_state *s);

	/* Who may have an object, in a view: a word of the mask; may contain
	 * who asks. */
	uint64_t (*candidates)(struct protocol_state *s, unsigned view,
			       uint32_t object, unsigned word);
	/* Fetches what candidates() will touch; null: not worth it. */
	void (*prefetch)(struct protocol_state *s, unsigned view,
			 uint32_t object);
	/* The one proxy for an object (PROTOCOL_OWNER). */
	unsigned (*owner)(const struct protocol_state *s, uint32_t object);

	/* Makes a publication; null if there is nothing to say. 0 or an SCD_
	 * error, then the state is of no more use. */
	int (*publish)(struct protocol_state *s, unsigned proxy,
		       const struct protocol_changes *changes,
		       struct protocol_publication **out);
	/* Puts it into a view. They come in their order, none is left out. */
	int (*deliver)(struct protocol_state *s, unsigned view,
		       struct protocol_publication *p);
	/*
	 * For instances that share the proxies, each publishing for some of
	 * them: the bytes of what a publication contains, to be released with
	 * free(), and a publication from them in another instance (or the
	 * same), of which `head` has all that is not specific to the protocol.
	 * They come from this very program and are trusted. 0 or SCD_ENOMEM, or
	 * an error of libscd.
	 */
	int (*pack)(const struct protocol_publication *p, uint8_t **out,
		    size_t *len);
	int (*unpack)(struct protocol_state *s,
		      const struct protocol_publication *head,
		      const uint8_t *in, size_t len,
		      struct protocol_publication **out);
	/* Frees a publication without users. */
	void (*discard)(struct protocol_state *s,
			struct protocol_publication *p);
	/* Memory that a proxy needs [bytes]: for what it knows of all
	 * others, and to keep its own summary in step. Null: none. */
	void (*memory)(const struct protocol_state *s, unsigned proxy,
		       uint64_t *peers, uint64_t *own);
};

/* All protocols; a null ends the list. */
extern const struct protocol *const protocols[];

/* The protocol of that name; null: unknown. */
const struct protocol *protocol_find(const char *name);

/*
 * Makes an instance in which nothing has been published. 0, SCD_ENOMEM, or
 * SCD_EINVAL: a value is out of range, or servers are needed and not known.
 */
int protocol_new(struct protocol_state **out, const struct protocol *protocol,
		 const struct protocol_config *config);

/* Accepts null and nulls the pointer. */
void protocol_free(struct protocol_state **s);

/* One user less; the last one frees it. */
void protocol_unref(struct protocol_state *s, struct protocol_publication *p);

#endif
