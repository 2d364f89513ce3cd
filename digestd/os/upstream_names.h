/*
 * The origins and peers that figures are kept of, each with a small number: 50
 * of each kind, in the order in which they came; all others are one, "other",
 * so that neither memory nor what Prometheus stores grows with reloads or with
 * the hosts of a forward proxy. A name keeps its number as long as the node
 * runs.
 *
 * From any thread. Looking up a name that is known takes no lock.
 */
#ifndef DIGESTD_OS_UPSTREAM_NAMES_H
#define DIGESTD_OS_UPSTREAM_NAMES_H

/* X(name): values of the label "kind" */
/* clang-format off */
#define UPSTREAM_KINDS(X) \
	X(origin) \
	X(peer)
/* clang-format on */

enum upstream_kind {
#define X(name) UPSTREAM_##name,
	UPSTREAM_KINDS(X)
#undef X
	UPSTREAM_KIND_COUNT
};

enum {
	UPSTREAM_NAMES_MAX = 50,   /* of each kind */
	UPSTREAM_NAME_BYTES = 256, /* with its end; longer ones are "other" */
	/* numbers of a kind, the last one being that of "other" */
	UPSTREAMS = UPSTREAM_NAMES_MAX + 1,
};

struct upstream_names;

/* Makes one. Returns 0 or -ENOMEM. */
int upstream_names_new(struct upstream_names **out);
void upstream_names_free(struct upstream_names **names); /* null: nothing */

/* The number of a name, below UPSTREAMS: the URL of an origin, as configured,
 * or the name of a peer. Null: of a forward proxy's target, which are many. */
unsigned upstream_names_find(struct upstream_names *names,
			     enum upstream_kind kind, const char *name);

/* The name with a number, "other" for the last one; null: there is none yet. It
 * lives as long as the names. */
const char *upstream_names_at(const struct upstream_names *names,
			      enum upstream_kind kind, unsigned number);

/* "origin" or "peer". */
const char *upstream_kind_name(enum upstream_kind kind);

#endif
