/*
 * Access records, read from a node's memory.
 */
#include "digestd/ctl/record_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "digestd/ctl/digestctl.h"

static int record_reader_ask(struct record_reader *r)
{
	json_t *answer;
	int code = node_client_ask(&r->client,
				   json_pack("{s:s}", "command", "log"),
				   &answer);

	if (code == CTL_NO)
		node_client_tell_refusal(answer);
	json_decref(answer);
	return code;
}

static int record_reader_map(struct record_reader *r)
{
	void *at = mmap(NULL, sizeof(*r->feed), PROT_READ, MAP_SHARED,
			r->client.passed, 0);

	if (at == MAP_FAILED) {
		fprintf(stderr, "digestctl: %s: shared records: %s\n",
			r->client.path, strerror(errno));
		return CTL_IO;
	}
	r->feed = at;
	if (r->feed->version == ACCESS_FEED_VERSION)
		return CTL_OK;
	fprintf(stderr, "digestctl: %s: what answers is no digestd of this "
		"version\n", r->client.path);
	return CTL_IO;
}

int record_reader_open(struct record_reader *r, const struct control_options *o)
{
	int code;

	*r = (struct record_reader){ .line = malloc(ACCESS_FEED_LINE_MAX + 1) };
	code = r->line ? node_client_open(&r->client, o) : CTL_IO;
	if (code) {
		free(r->line);
		r->line = NULL;
		return code;
	}
	code = record_reader_ask(r);
	if (!code)
		code = record_reader_map(r);
	if (code)
		record_reader_close(r);
	else
		access_feed_begin(&r->at, r->feed);
	return code;
}

void record_reader_close(struct record_reader *r)
{
	if (!r->line)
		return;
	if (r->feed)
		munmap((void *)(uintptr_t)r->feed, sizeof(*r->feed));
	node_client_close(&r->client);
	free(r->line);
	r->line = NULL;
}

const char *record_reader_next(struct record_reader *r, size_t *len,
			       uint64_t *lost)
{
	return access_feed_next(&r->at, r->line, len, lost) ? r->line : NULL;
}

bool record_reader_wait(const struct record_reader *r, int wait_ms)
{
	struct pollfd node = { .fd = r->client.fd, .events = POLLIN };

	if (poll(&node, 1, wait_ms) <= 0)
		return true;
	fprintf(stderr, "digestctl: %s: digestd has ended\n", r->client.path);
	return false;
}
