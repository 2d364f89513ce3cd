/*
 * Replies that are made once. A copy in a file is counted to the ledger; the
 * body that it was made of is held beside it, as replies are found by its
 * address.
 */
#include "config.h"

#include "digestd/server/shared_reply.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "digestd/os/memory.h"

/* A copy in a file of its own, in memory; -1: that did not work. */
static int shared_reply_copy(const struct body_memory *body)
{
	int fd;

	if (!body->to_file || !ledger_take(&memory_ledger, LEDGER_files,
					   body->len, memory_reserve()))
		return -1;
	fd = memfd_create("reply", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, body->data, body->len) == (ssize_t)body->len)
		return fd;
	if (fd >= 0)
		close(fd);
	ledger_return(&memory_ledger, LEDGER_files, body->len);
	return -1;
}

static void shared_reply_free(struct shared_reply *reply)
{
	if (reply->made)
		reply->unmake(reply->made);
	if (reply->fd >= 0) {
		close(reply->fd);
		ledger_return(&memory_ledger, LEDGER_files, reply->body.len);
	}
	if (reply->body.release)
		reply->body.release(reply->body.arg);
	reply_head_free(&reply->head);
	free(reply);
}

struct shared_reply *shared_reply_new(unsigned status,
				      const struct fields *fields,
				      const struct body_memory *body)
{
	struct shared_reply *reply = calloc(1, sizeof(*reply));

	assert(status >= 200 && status <= 999);
	assert(body->data || !body->len);
	if (!reply) {
		if (body->release)
			body->release(body->arg);
		return NULL;
	}
	reply->status = status;
	reply->users = 1;
	reply->body = *body;
	reply->fd = shared_reply_copy(body);
	reply_head_begin(&reply->head, status);
	reply->dated = reply_head_add_fields(&reply->head, fields);
	reply_head_add_length(&reply->head, body->len);
	if (reply->head.failed) {
		shared_reply_free(reply);
		return NULL;
	}
	return reply;
}

struct shared_reply *shared_reply_ref(struct shared_reply *reply)
{
	assert(reply->users);
	reply->users++;
	return reply;
}

void shared_reply_unref(struct shared_reply *reply)
{
	if (reply && !--reply->users)
		shared_reply_free(reply);
}
