/*
 * The keeper. One write is under way at most: the next one waits for it, which
 * after five minutes it does not have to.
 */
#include "digestd/cache/admission_keeper.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "codec/admission.h"
#include "digestd/cache/admission_file.h"
#include "digestd/cache/admitter.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"

enum { SAVE_MS = 300000 };

struct admission_keeper {
	struct loop *loop;
	struct admitter *admitter;
	struct admission_file file;
	char *path; /* a configuration's does not outlive a reload */
	struct loop_timer timer;
	pthread_t thread;
	bool writing; /* the thread is to be joined */
	bool written; /* it has nothing more to do; changed atomically */
};

static void *admission_keeper_save(void *arg)
{
	struct admission_keeper *k = arg;
	const struct scd_admission *seen = admitter_seen(k->admitter);
	int err = seen ? admission_file_save(&k->file, seen) : 0;

	if (err)
		log_write(LOG_ERROR, "admission", "writing %s: %s",
			  k->file.path, strerror(-err));
	__atomic_store_n(&k->written, true, __ATOMIC_RELEASE);
	return NULL;
}

bool admission_keeper_is_busy(struct admission_keeper *k)
{
	return k->writing && !__atomic_load_n(&k->written, __ATOMIC_ACQUIRE);
}

void admission_keeper_wait(struct admission_keeper *k)
{
	if (k->writing)
		pthread_join(k->thread, NULL);
	k->writing = false;
}

static void admission_keeper_save_now_and_then(void *arg)
{
	struct admission_keeper *k = arg;

	admission_keeper_wait(k);
	k->written = false;
	/* without a thread there is another try in five minutes */
	k->writing =
		!pthread_create(&k->thread, NULL, admission_keeper_save, k);
	loop_timer_set(k->loop, &k->timer, loop_now_ms(k->loop) + SAVE_MS,
		       admission_keeper_save_now_and_then, k);
}

static const char *admission_keeper_fault(int err)
{
	switch (-err) {
	case EBADMSG:
		return "damaged, or no such file";
	case EKEYREJECTED:
		return "of another cluster key";
	case EOVERFLOW:
		return "of another window";
	default:
		return strerror(-err);
	}
}

/* Reads the file, if it can. Fails only where it must not be replaced. */
static int admission_keeper_load(struct admission_keeper *k)
{
	const struct scd_admission *now = admitter_seen(k->admitter);
	struct scd_admission *seen = NULL;
	uint64_t window;
	bool fixed;
	int err;

	if (!now)
		return 0; /* a policy that remembers nothing */
	window = scd_admission_window(now);
	fixed = admitter_is_fixed(k->admitter);
	err = admission_file_load(&k->file, fixed ? window : 16 * window,
				  &seen);
	if (!err && fixed && scd_admission_window(seen) != window) {
		scd_admission_free(&seen);
		err = -EOVERFLOW;
	}
	if (err == -EINVAL) {
		log_write(LOG_ERROR, "admission",
			  "admission_file = %s: not a regular file",
			  k->file.path);
		return err;
	}
	if (!err)
		admitter_take(k->admitter, seen);
	else if (err != -ENOENT)
		log_write(LOG_WARNING, "admission",
			  "%s: %s: starting without what was seen",
			  k->file.path, admission_keeper_fault(err));
	return 0;
}

int admission_keeper_new(struct loop *loop, struct admitter *admitter,
			 const char *path, const uint8_t secret[16],
			 struct admission_keeper **out)
{
	struct admission_keeper *k;
	char *own_path;
	int err;

	assert(loop && admitter && path);
	k = calloc(1, sizeof(*k));
	own_path = strdup(path);
	if (!k || !own_path) {
		free(k);
		free(own_path);
		return -ENOMEM;
	}
	k->loop = loop;
	k->admitter = admitter;
	k->file.path = k->path = own_path;
	memcpy(k->file.secret, secret, sizeof(k->file.secret));
	err = admission_keeper_load(k);
	if (err) {
		free(own_path);
		free(k);
		return err;
	}
	loop_timer_set(loop, &k->timer, loop_now_ms(loop) + SAVE_MS,
		       admission_keeper_save_now_and_then, k);
	*out = k;
	return 0;
}

void admission_keeper_free(struct admission_keeper **out)
{
	struct admission_keeper *k = *out;

	if (!k)
		return;
	loop_timer_clear(k->loop, &k->timer);
	admission_keeper_wait(k);
	admission_keeper_save(k);
	free(k->path);
	free(k);
	*out = NULL;
}
