/*
 * The sidecar.
 */
#include "digestd/sidecar/sidecar.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/sidecar/feed.h"

struct sidecar {
	struct loop *loop;
	struct holdings *holdings;
	char *feed_path; /* null: there is no feed */
	struct feed *feed; /* null: nor now */
	struct nginx_folder *nginx;
	pthread_t thread;
	bool started;
};

static void *sidecar_run(void *arg)
{
	struct sidecar *s = arg;

	/* it only fails when epoll itself does: nothing is left to be done */
	(void)loop_run(s->loop);
	return NULL;
}

static int sidecar_run_thread(struct sidecar *s)
{
	int err = -pthread_create(&s->thread, NULL, sidecar_run, s);

	s->started = !err;
	return err;
}

static void sidecar_end_thread(struct sidecar *s)
{
	if (!s->started)
		return;
	loop_stop(s->loop);
	pthread_join(s->thread, NULL);
	s->started = false;
}

/* While no thread runs the loop. */
static int sidecar_make_feed(struct sidecar *s)
{
	int err;

	if (!s->feed_path)
		return 0;
	err = feed_new(s->loop, s->feed_path, s->holdings, &s->feed);
	if (err)
		log_write(LOG_ERROR, "sidecar", "sidecar_feed: %s: %s",
			  s->feed_path, strerror(-err));
	return err;
}

void sidecar_close_feed(struct sidecar *s)
{
	if (!s->feed)
		return;
	sidecar_end_thread(s);
	feed_free(&s->feed);
}

int sidecar_open_feed(struct sidecar *s)
{
	int err;

	if (!s->feed_path || s->feed)
		return 0;
	err = sidecar_make_feed(s);
	if (!err)
		err = sidecar_run_thread(s);
	/* nobody would answer who connects */
	if (err)
		feed_free(&s->feed);
	return err;
}

static int sidecar_start(struct sidecar *s,
			 const struct sidecar_settings *settings)
{
	int err = loop_new(&s->loop);

	if (!err && settings->feed) {
		s->feed_path = strdup(settings->feed);
		err = s->feed_path ? 0 : -ENOMEM;
	}
	if (!err)
		err = holdings_new(&settings->holdings, &s->holdings);
	if (!err)
		err = sidecar_make_feed(s);
	if (!err && settings->nginx.path)
		err = nginx_folder_new(s->loop, s->holdings, &settings->nginx,
				       &s->nginx);
	return err ? err : sidecar_run_thread(s);
}

int sidecar_new(const struct sidecar_settings *settings, struct sidecar **out)
{
	struct sidecar *s = calloc(1, sizeof(*s));
	int err;

	assert(!settings->feed || !settings->nginx.path);
	if (!s)
		return -ENOMEM;
	err = sidecar_start(s, settings);
	if (err) {
		sidecar_free(&s);
		return err;
	}
	*out = s;
	return 0;
}

void sidecar_free(struct sidecar **sidecar)
{
	struct sidecar *s = *sidecar;

	if (!s)
		return;
	sidecar_end_thread(s);
	feed_free(&s->feed);
	free(s->feed_path);
	nginx_folder_free(&s->nginx);
	holdings_free(&s->holdings);
	if (s->loop)
		loop_free(&s->loop);
	free(s);
	*sidecar = NULL;
}

struct holdings *sidecar_holdings(const struct sidecar *s)
{
	return s->holdings;
}

bool sidecar_takes_lines(const struct sidecar *s)
{
	return !s->nginx;
}

void sidecar_stats(const struct sidecar *s, struct sidecar_stats *out)
{
	*out = (struct sidecar_stats){ .has_nginx = s->nginx };
	holdings_stats(s->holdings, &out->holdings);
	if (s->nginx)
		nginx_folder_stats(s->nginx, &out->nginx);
}
