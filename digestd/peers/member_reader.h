/*
 * Reading a source of members beside a loop: a thread for one read.
 */
#ifndef DIGESTD_PEERS_MEMBER_READER_H
#define DIGESTD_PEERS_MEMBER_READER_H

#include <stdbool.h>

#include "digestd/peers/member_list.h"

struct loop;
struct member_reader;

/* What has come of it: a list, which is the caller's to free, or a fault. */
struct member_reading {
	bool well;
	struct member_list list;
	struct member_fault fault;
};

/*
 * Begins to read a source (member_source.h), of which `source` is copied:
 * done(arg, reading) comes from the loop, unless it is cancelled, and *out is
 * over then. Returns 0, -ENOMEM, -EMFILE or -EAGAIN (no thread).
 */
int member_reader_start(struct loop *loop, const char *source, bool https,
			void (*done)(void *arg, struct member_reading *reading),
			void *arg, struct member_reader **out);

/* Nothing comes; a command under way is ended. *r becomes null; null is
 * allowed. */
void member_reader_cancel(struct member_reader **r);

#endif
