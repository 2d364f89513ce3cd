/*
 * Counts of failures, by origin and cause: a table in the order in which they
 * came, whose last row is for all others.
 */
#include "digestd/proxy/origin_faults.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/log.h"

enum { ORIGIN_LOG_MS = 10000 };

struct origin_row {
	char url[ORIGIN_FAULTS_NAME];
	uint64_t counts[FETCH_CAUSE_COUNT];
	struct log_limit limits[FETCH_CAUSE_COUNT];
};

struct origin_faults {
	pthread_mutex_t lock; /* guards the rest */
	size_t n;
	struct origin_row rows[ORIGIN_FAULTS_MAX];
	struct origin_row others;
};

int origin_faults_new(struct origin_faults **out)
{
	struct origin_faults *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	strcpy(f->others.url, "other");
	*out = f;
	return 0;
}

void origin_faults_free(struct origin_faults **faults)
{
	if (!*faults)
		return;
	pthread_mutex_destroy(&(*faults)->lock);
	free(*faults);
	*faults = NULL;
}

static struct origin_row *origin_faults_row(struct origin_faults *f,
					    const char *url)
{
	size_t i = 0;

	if (!url || strlen(url) >= ORIGIN_FAULTS_NAME)
		return &f->others;
	while (i < f->n && strcmp(f->rows[i].url, url) != 0)
		i++;
	if (i == ORIGIN_FAULTS_MAX)
		return &f->others;
	if (i == f->n)
		strcpy(f->rows[f->n++].url, url);
	return &f->rows[i];
}

void origin_faults_add(struct origin_faults *faults, const char *url,
		       enum fetch_cause cause, int64_t now_ms)
{
	struct log_limit *limit;
	struct origin_row *row;
	unsigned dropped;
	char room[64];
	bool logged;

	assert(cause < FETCH_CAUSE_COUNT);
	if (!faults || cause == FETCH_CAUSE_none)
		return;
	pthread_mutex_lock(&faults->lock);
	row = origin_faults_row(faults, url);
	row->counts[cause]++;
	limit = &row->limits[cause];
	limit->burst = 1;
	limit->period_ms = ORIGIN_LOG_MS;
	logged = log_allow(limit, now_ms, &dropped);
	pthread_mutex_unlock(&faults->lock);
	if (logged)
		log_write(LOG_WARNING, "fetch", "origin %s: %s%s",
			  url ? url : "of a forward proxy",
			  fetch_cause_text(cause),
			  log_suppressed(dropped, room));
}

static void origin_faults_each_cause(const struct origin_row *row,
				     void (*each)(void *arg, const char *url,
						  enum fetch_cause cause,
						  uint64_t n),
				     void *arg)
{
	for (int i = 0; i < FETCH_CAUSE_COUNT; i++) {
		if (row->counts[i])
			each(arg, row->url, (enum fetch_cause)i,
			     row->counts[i]);
	}
}

void origin_faults_each(struct origin_faults *faults,
			void (*each)(void *arg, const char *url,
				     enum fetch_cause cause, uint64_t n),
			void *arg)
{
	assert(each);
	if (!faults)
		return;
	pthread_mutex_lock(&faults->lock);
	for (size_t i = 0; i < faults->n; i++)
		origin_faults_each_cause(&faults->rows[i], each, arg);
	origin_faults_each_cause(&faults->others, each, arg);
	pthread_mutex_unlock(&faults->lock);
}
