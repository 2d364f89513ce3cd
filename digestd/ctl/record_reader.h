/*
 * The access records of a running node as they come, from memory that it shares
 * (digestd/http/access_feed.h): a reader costs the node what its lines cost to
 * make, and nothing by being slow.
 */
#ifndef DIGESTD_CTL_RECORD_READER_H
#define DIGESTD_CTL_RECORD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/ctl/node_client.h"
#include "digestd/http/access_feed.h"

struct record_reader {
	struct node_client client;
	const struct access_feed *feed;
	struct access_feed_reader at;
	char *line;
};

/*
 * Asks a node for its records, and begins with what comes next. Returns an exit
 * code; what is wrong was told, and there is nothing to close.
 */
int record_reader_open(struct record_reader *r,
		       const struct control_options *o);

/* Hangs up. Once it is closed nothing happens. */
void record_reader_close(struct record_reader *r);

/*
 * The next record, a line of JSON without its end, which stays until the next
 * call; null: there is none yet. *lost is how many are missing before it.
 */
const char *record_reader_next(struct record_reader *r, size_t *len,
			       uint64_t *lost);

/* Waits for so long, or until the node ends: returns whether it is there still,
 * and says so where it is not. */
bool record_reader_wait(const struct record_reader *r, int wait_ms);

#endif
