/*
 * See ahead.h. A ring of blocks between one writer and one reader; the lock
 * is taken twice a block, not while its bytes are written or read.
 */
#include "cachesim/trace/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/trace_request.h"

enum { BLOCKS = 4, BLOCK_BYTES = 64 * 1024 };

struct block {
	ssize_t len; /* or how the source ended */
	uint8_t bytes[BLOCK_BYTES];
};

struct ahead {
	ahead_source *source;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	unsigned filled, emptied; /* blocks so far; filled - emptied wait */
	bool stopping;
	/* of the thread, and of the reader once it has the last block */
	bool ended;
	ssize_t end; /* what the source said... */
	int error;   /* ...and errno */
	/* of the reader */
	size_t used; /* of the block that is being read */
	struct block block[BLOCKS];
};

/* Waits for an empty block. False: no more are wanted. */
static bool ahead_wait_empty(struct ahead *a)
{
	bool go_on;

	pthread_mutex_lock(&a->lock);
	while (!a->stopping && a->filled - a->emptied == BLOCKS)
		pthread_cond_wait(&a->changed, &a->lock);
	go_on = !a->stopping;
	pthread_mutex_unlock(&a->lock);
	return go_on;
}

static void ahead_advance(struct ahead *a, unsigned *count)
{
	pthread_mutex_lock(&a->lock);
	++*count;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

/*
 * Fills a block as far as the source goes. An end behind some bytes is for the
 * next block: the source is not asked again.
 */
static void ahead_fill(struct ahead *a, struct block *b)
{
	b->len = 0;
	while (!a->ended && b->len < BLOCK_BYTES) {
		ssize_t n = a->source(a->arg, b->bytes + b->len,
				      BLOCK_BYTES - (size_t)b->len);

		if (n > 0) {
			b->len += n;
			continue;
		}
		a->ended = true;
		a->end = n;
		a->error = errno;
	}
	if (b->len == 0)
		b->len = a->end;
}

static void *ahead_fill_blocks(void *arg)
{
	struct ahead *a = arg;

	for (unsigned i = 0; ahead_wait_empty(a); i++) {
		struct block *b = &a->block[i % BLOCKS];
		bool ended;

		ahead_fill(a, b);
		ended = b->len <= 0; /* then the block is the reader's */
		ahead_advance(a, &a->filled);
		if (ended)
			break;
	}
	return NULL;
}

int ahead_start(struct ahead **out, ahead_source *source, void *arg)
{
	struct ahead *a = malloc(sizeof(*a));

	*out = NULL;
	if (!a)
		return TRACE_ENOMEM;
	a->source = source;
	a->arg = arg;
	a->filled = a->emptied = 0;
	a->stopping = a->ended = false;
	a->used = 0;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	if (pthread_create(&a->thread, NULL, ahead_fill_blocks, a)) {
		pthread_cond_destroy(&a->changed);
		pthread_mutex_destroy(&a->lock);
		free(a);
		return TRACE_ENOMEM;
	}
	*out = a;
	return 0;
}

static void ahead_wait_filled(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	while (a->filled == a->emptied)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

ssize_t ahead_read(struct ahead *a, uint8_t *out, size_t cap)
{
	struct block *b;
	size_t n;

	/* only the reader changes emptied */
	b = &a->block[a->emptied % BLOCKS];
	if (a->used == 0)
		ahead_wait_filled(a);
	if (b->len <= 0) {
		errno = a->error;
		return b->len;
	}
	n = (size_t)b->len - a->used;
	if (n > cap)
		n = cap;
	memcpy(out, b->bytes + a->used, n);
	a->used += n;
	if (a->used == (size_t)b->len) {
		a->used = 0;
		ahead_advance(a, &a->emptied);
	}
	return (ssize_t)n;
}

void ahead_stop(struct ahead **out)
{
	struct ahead *a = *out;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stopping = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
	*out = NULL;
}
