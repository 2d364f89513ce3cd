/*
 * What goes wrong, counted by whom it is of and by cause, and logged: the first
 * time at once, then a line in ten seconds at most, with how often it happened
 * since the last one; each reload that fails has its line. For all threads;
 * troubles are rare, so that a lock does.
 *
 *   warning trouble: origin=http://10.0.0.1:80 cause=refused count=312
 *   what="it refuses connections" do="start it, or correct its address..."
 */
#ifndef DIGESTD_OS_TROUBLES_H
#define DIGESTD_OS_TROUBLES_H

#include <stdint.h>

#include "digestd/http/trouble.h"
#include "digestd/os/upstream_names.h"

/* X(name): parts of the node, values of the label "part" */
/* clang-format off */
#define TROUBLE_PARTS(X) \
	X(disk) \
	X(listener) \
	X(memory) \
	X(configuration)
/* clang-format on */

/* X(part, cause): what each node has a count of, even if it is 0, so that the
 * first time is seen as a change. */
/* clang-format off */
#define TROUBLES_OF_PARTS(X) \
	X(disk,          disk_full) \
	X(disk,          disk_error) \
	X(disk,          disk_damaged) \
	X(listener,      descriptors) \
	X(memory,        memory) \
	X(configuration, configuration)
/* clang-format on */

enum trouble_part {
#define X(name) TROUBLE_PART_##name,
	TROUBLE_PARTS(X)
#undef X
	TROUBLE_PART_COUNT
};

struct troubles;

/* Makes one. `names` are borrowed. Returns 0 or -ENOMEM. */
int troubles_new(struct upstream_names *names, struct troubles **out);
void troubles_free(struct troubles **troubles); /* null: nothing */

/*
 * Something went wrong with an origin or a peer: its name as
 * upstream_names_find() takes it. detail: more of it, for the log only; or
 * null. Null troubles: nobody counts. now_ms: of a clock that goes on.
 */
void troubles_of_upstream(struct troubles *troubles, enum upstream_kind kind,
			  const char *name, enum trouble trouble,
			  const char *detail, int64_t now_ms);

/* The same of a part of this node. */
void troubles_of_part(struct troubles *troubles, enum trouble_part part,
		      enum trouble trouble, const char *detail,
		      int64_t now_ms);

/* Trouble that there was, or may be. */
struct trouble_count {
	const char *kind; /* "origin", "peer"; null: of a part of this node */
	const char *name; /* whose it is, or which part */
	enum trouble trouble;
	uint64_t n;
	int64_t last_ms; /* when it was there last */
};

/* Calls back for each that there was, and TROUBLES_OF_PARTS. */
void troubles_each(struct troubles *troubles,
		   void (*each)(void *arg, const struct trouble_count *count),
		   void *arg);

#endif
