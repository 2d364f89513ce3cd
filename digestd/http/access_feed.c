/*
 * Lines of access records in shared memory. The order that matters: `begun`
 * before what is written, which is before `done`; and what is read before
 * `begun` is looked at. Source: Boehm, "Can Seqlocks Get Along with Programming
 * Language Memory Models?", 2012.
 */
#include "digestd/http/access_feed.h"

#include <assert.h>
#include <string.h>

enum {
	FEED_HEAD_WORDS = 2, /* number; bytes, or FEED_SKIP */
};

static const uint64_t FEED_SKIP = UINT64_MAX; /* the rest of the ring */

static void access_feed_set(struct access_feed *feed, uint64_t at,
			    uint64_t word)
{
	atomic_store_explicit(&feed->words[at % ACCESS_FEED_WORDS], word,
			      memory_order_relaxed);
}

static uint64_t access_feed_get(const struct access_feed *feed, uint64_t at)
{
	return atomic_load_explicit(&feed->words[at % ACCESS_FEED_WORDS],
				    memory_order_relaxed);
}

static void access_feed_write(struct access_feed *feed, uint64_t at,
			      const char *line, size_t len)
{
	uint64_t word;

	for (size_t i = 0; i < len; i += sizeof(word)) {
		size_t n = len - i < sizeof(word) ? len - i : sizeof(word);

		word = 0;
		memcpy(&word, line + i, n);
		access_feed_set(feed, at++, word);
	}
}

void access_feed_put(struct access_feed *feed, const char *line, size_t len)
{
	uint64_t number = atomic_load_explicit(&feed->lines,
					       memory_order_relaxed);
	uint64_t at = atomic_load_explicit(&feed->done, memory_order_relaxed);
	uint64_t need = FEED_HEAD_WORDS + (len + 7) / 8;
	uint64_t rest = ACCESS_FEED_WORDS - at % ACCESS_FEED_WORDS;
	uint64_t begin = rest < need ? at + rest : at;

	assert(len <= ACCESS_FEED_LINE_MAX);
	atomic_store_explicit(&feed->begun, begin + need, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	if (begin != at) {
		access_feed_set(feed, at, number);
		if (rest > 1)
			access_feed_set(feed, at + 1, FEED_SKIP);
	}
	access_feed_set(feed, begin, number);
	access_feed_set(feed, begin + 1, len);
	access_feed_write(feed, begin + FEED_HEAD_WORDS, line, len);
	atomic_store_explicit(&feed->lines, number + 1, memory_order_relaxed);
	atomic_store_explicit(&feed->done, begin + need, memory_order_release);
}

void access_feed_begin(struct access_feed_reader *r,
		       const struct access_feed *feed)
{
	*r = (struct access_feed_reader){
		.feed = feed,
		.at = atomic_load_explicit(&feed->done, memory_order_acquire),
		.line = atomic_load_explicit(&feed->lines,
					     memory_order_relaxed),
		.dropped = atomic_load_explicit(&feed->dropped,
						memory_order_relaxed),
	};
}

/* What the node itself had no time for. */
static uint64_t access_feed_take_dropped(struct access_feed_reader *r)
{
	uint64_t dropped = atomic_load_explicit(&r->feed->dropped,
						memory_order_relaxed);
	uint64_t more = dropped - r->dropped;

	r->dropped = dropped;
	return more;
}

/* Whether what was read at a place had been there all the time. */
static bool access_feed_was_whole(const struct access_feed_reader *r)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&r->feed->begun, memory_order_relaxed) -
		       r->at <= ACCESS_FEED_WORDS;
}

/* Where the record begins whose rest of the ring may be skipped. */
static uint64_t access_feed_skip(const struct access_feed_reader *r)
{
	uint64_t rest = ACCESS_FEED_WORDS - r->at % ACCESS_FEED_WORDS;

	if (rest < FEED_HEAD_WORDS ||
	    access_feed_get(r->feed, r->at + 1) == FEED_SKIP)
		return r->at + rest;
	return r->at;
}

static void access_feed_read(const struct access_feed *feed, uint64_t at,
			     char *to, size_t len)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t word = access_feed_get(feed, at++);

		memcpy(to + i, &word, len - i < 8 ? len - i : 8);
	}
}

/* Copies the record at r->at, which may be nonsense by now; whether it was. */
static bool access_feed_copy(struct access_feed_reader *r, char *to,
			     size_t *len, uint64_t *number)
{
	uint64_t begin = access_feed_skip(r), bytes;

	*number = access_feed_get(r->feed, begin);
	bytes = access_feed_get(r->feed, begin + 1);
	if (bytes <= ACCESS_FEED_LINE_MAX)
		access_feed_read(r->feed, begin + FEED_HEAD_WORDS, to,
				 (size_t)bytes);
	if (bytes > ACCESS_FEED_LINE_MAX || !access_feed_was_whole(r))
		return false;
	*len = (size_t)bytes;
	to[*len] = '\0';
	r->at = begin + FEED_HEAD_WORDS + (bytes + 7) / 8;
	return true;
}

bool access_feed_next(struct access_feed_reader *r, char *to, size_t *len,
		      uint64_t *lost)
{
	uint64_t number;

	*lost = access_feed_take_dropped(r);
	if (r->at == atomic_load_explicit(&r->feed->done,
					  memory_order_acquire))
		return false;
	if (!access_feed_copy(r, to, len, &number)) {
		/* behind: go on with what comes next, whose number tells */
		r->at = atomic_load_explicit(&r->feed->done,
					     memory_order_acquire);
		return false;
	}
	*lost += number - r->line;
	r->line = number + 1;
	return true;
}
