/*
 * Following a cache folder of nginx.
 *
 * All that changes `files` is done in one thread, in the order of inotify's
 * events; a reading of the folder goes on between them, a few names at a time.
 * A name that a reading finds and that is not known may be one whose event is
 * still in the queue: the queue is emptied before it counts as drift.
 */
#include "digestd/sidecar/nginx_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/sidecar/holdings.h"
#include "digestd/sidecar/nginx_entry.h"
#include "digestd/sidecar/nginx_files.h"

enum {
	NGINX_EVENTS_BYTES = 65536,
	NGINX_NAMES = 256,	  /* of a reading, in a turn of the loop */
	NGINX_PATH_BYTES = 16,	  /* "1/23/45/" */
	NGINX_WATCHES = 1 << 16,  /* numbers of watches; then it begins anew */
	NGINX_RETRY_MS = 1000,	  /* until it looks for the folder again */
	NGINX_EXPIRE_MS = 100,
	NGINX_EXPIRE_PARTS = 16,
	NGINX_LAG_WINDOW_MS = 30000,
	NGINX_LOG_MS = 60000,
};

static const uint32_t nginx_mask =
	IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_CREATE |
	IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

/* A folder below the cache's, by its path there with a slash at its end; "" is
 * that itself. */
struct nginx_path {
	char text[NGINX_PATH_BYTES];
	bool known; /* it was watched before it was to be read */
};

/* What a reading is for. */
enum nginx_reading {
	NGINX_READS_NOTHING, /* whole; only folders that have come */
	NGINX_READS_FIRST,   /* or what is there was not announced */
	NGINX_READS_DRIFT,   /* what it finds should be known */
};

struct nginx_folder {
	struct loop *loop;
	struct nginx_folder_settings settings;
	struct holdings *holdings;
	struct nginx_files *files;
	int fd; /* of inotify; -1: the folder is not there */
	struct loop_watch watch;
	struct nginx_path *watches; /* by the numbers of watches */
	size_t nwatches;
	int root; /* its number */
	bool lost; /* begin anew, once the queue is empty */

	/* reading */
	enum nginx_reading reading;
	struct nginx_path *queue; /* folders to read, the last one next */
	size_t nqueue, queue_cap;
	DIR *dir;	       /* that is being read; null: none */
	struct nginx_path at;
	uint64_t drift;	       /* of the reading so far */
	struct loop_call step;

	struct loop_timer retry, expire, rescan;
	struct log_limit log;
	int64_t lag_since_ms;
	uint64_t lag_now, lag_before; /* [us], the longest of a window */
	struct nginx_folder_stats stats; /* changed atomically */
};

static void nginx_folder_add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static void nginx_folder_set(uint64_t *gauge, uint64_t value)
{
	__atomic_store_n(gauge, value, __ATOMIC_RELAXED);
}

static bool nginx_folder_may_log(struct nginx_folder *f)
{
	unsigned dropped;

	f->log.burst = 1;
	f->log.period_ms = NGINX_LOG_MS;
	return log_allow(&f->log, loop_now_ms(f->loop), &dropped);
}

/* Lag */

/* How long ago a file was changed [us], by the clock of the file system. */
static uint64_t nginx_folder_lag_us(const struct stat *st)
{
	struct timespec now;
	int64_t us;

	clock_gettime(CLOCK_REALTIME, &now);
	us = (now.tv_sec - st->st_ctim.tv_sec) * INT64_C(1000000) +
	     (now.tv_nsec - st->st_ctim.tv_nsec) / 1000;
	return us > 0 ? (uint64_t)us : 0;
}

static void nginx_folder_note_lag(struct nginx_folder *f, uint64_t us)
{
	int64_t now_ms = loop_now_ms(f->loop);

	if (now_ms - f->lag_since_ms > NGINX_LAG_WINDOW_MS) {
		f->lag_since_ms = now_ms;
		nginx_folder_set(&f->lag_before, f->lag_now);
		nginx_folder_set(&f->lag_now, 0);
	}
	if (us > f->lag_now)
		nginx_folder_set(&f->lag_now, us);
}

/* Files */

/* A file that cannot be used. */
static void nginx_folder_refuse(struct nginx_folder *f,
				const struct nginx_path *in, const char *name,
				const struct nginx_entry *entry,
				enum nginx_entry_fault fault)
{
	nginx_folder_add(&f->stats.unreadable, 1);
	if (!nginx_folder_may_log(f))
		return;
	if (fault == NGINX_ENTRY_VERSION)
		log_write(LOG_ERROR, "sidecar", "%s/%s%s: a cache file of "
			  "version %" PRIu64 " of nginx's format, of which %d "
			  "to %d are known: it is not published",
			  f->settings.path, in->text, name, entry->version,
			  NGINX_ENTRY_OLDEST, NGINX_ENTRY_NEWEST);
	else
		log_write(LOG_ERROR, "sidecar", "%s/%s%s: is no cache file of "
			  "nginx", f->settings.path, in->text, name);
}

/* The key of a file's KEY; false: there is none. */
static bool nginx_folder_key(struct nginx_folder *f,
			     const struct nginx_entry *entry,
			     struct holdings_key *key)
{
	char url[HOLDINGS_URI_BYTES];
	size_t len = nginx_key_url(&f->settings.key, &f->settings.url,
				   entry->key, entry->key_len, url,
				   sizeof(url));

	if (len && !holdings_key(f->holdings, url, len, key))
		return true;
	nginx_folder_add(&f->stats.unmapped, 1);
	if (nginx_folder_may_log(f))
		log_write(LOG_WARNING, "sidecar", "%s: the KEY \"%.*s\" is not "
			  "as nginx_key says, or of no URL: it is not "
			  "published", f->settings.path,
			  entry->key_len < 200 ? (int)entry->key_len : 200,
			  entry->key);
	return false;
}

/* Takes the header of a file. False: there is nothing to publish. */
static bool nginx_folder_take(struct nginx_folder *f,
			      const struct nginx_path *in, const char *text,
			      const struct scd_key *name, int fd)
{
	char bytes[NGINX_ENTRY_MAX_BYTES];
	enum nginx_entry_fault fault;
	struct nginx_entry entry;
	struct holdings_key key;
	ssize_t n = pread(fd, bytes, NGINX_ENTRY_BYTES, 0);

	fault = nginx_entry_read(bytes, n > 0 ? (size_t)n : 0, &entry);
	if (fault == NGINX_ENTRY_SHORT) {
		n = pread(fd, bytes, sizeof(bytes), 0);
		fault = nginx_entry_read(bytes, n > 0 ? (size_t)n : 0, &entry);
	}
	if (fault) {
		nginx_folder_refuse(f, in, text, &entry, fault);
		return false;
	}
	return nginx_folder_key(f, &entry, &key) &&
	       nginx_files_put(f->files, name, &key, entry.valid_s,
			       loop_wall_s(f->loop));
}

/* Opens a file of a folder, and waits for nobody where it is a pipe; a negative
 * errno. */
static int nginx_folder_open(const struct nginx_folder *f,
			     const struct nginx_path *in, const char *name)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/%s%s", f->settings.path,
			 in->text, name);
	int fd;

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* A file has come, or has changed; `announced`, just now. */
static void nginx_folder_read_file(struct nginx_folder *f,
				   const struct nginx_path *in,
				   const char *text, const struct scd_key *name,
				   bool announced)
{
	int fd = nginx_folder_open(f, in, text);
	struct stat st;

	if (fd < 0 && fd != -ENOENT) {
		nginx_folder_add(&f->stats.unreadable, 1);
		if (nginx_folder_may_log(f))
			log_write(LOG_ERROR, "sidecar", "%s/%s%s: %s",
				  f->settings.path, in->text, text,
				  strerror(-fd));
	}
	if (fd < 0 || !nginx_folder_take(f, in, text, name, fd))
		nginx_files_remove(f->files, name);
	if (fd < 0)
		return;
	if (announced && !fstat(fd, &st))
		nginx_folder_note_lag(f, nginx_folder_lag_us(&st));
	close(fd);
}

/* Folders */

/* Whether a name is one of nginx's levels. */
static bool nginx_folder_is_level(const char *name)
{
	size_t len = strlen(name);

	return len && len <= 2 &&
	       strspn(name, "0123456789abcdef") == len;
}

/* The path of a folder in another one; false: nginx has none so deep. */
static bool nginx_folder_join(const struct nginx_path *in, const char *name,
			      struct nginx_path *out)
{
	int n;

	if (!nginx_folder_is_level(name))
		return false;
	n = snprintf(out->text, sizeof(out->text), "%.9s%.2s/", in->text, name);
	return n > 0 && strlen(in->text) <= 6 && (size_t)n < sizeof(out->text);
}

/* Room for one more in an array of paths. */
static bool nginx_folder_room(struct nginx_path **paths, size_t *cap,
			      size_t wanted)
{
	size_t n = *cap ? *cap : 64;
	struct nginx_path *more;

	if (wanted <= *cap)
		return true;
	while (n < wanted)
		n *= 2;
	more = realloc(*paths, n * sizeof(*more));
	if (!more)
		return false;
	memset(more + *cap, 0, (n - *cap) * sizeof(*more));
	*paths = more;
	*cap = n;
	return true;
}

/* Watches a folder, and finds out whether it was watched already. A level that
 * is a link is none of nginx's: one to its own folder would be read at each
 * depth. Returns the number of the watch, or a negative errno. */
static int nginx_folder_watch(struct nginx_folder *f, struct nginx_path *in)
{
	const size_t below = strlen(in->text);
	char path[4096];
	/* without the slash at its end, which would follow a link */
	int n = snprintf(path, sizeof(path), "%s/%.*s", f->settings.path,
			 below ? (int)below - 1 : 0, in->text);
	int number;

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	number = inotify_add_watch(f->fd, path, below ?
				   nginx_mask | IN_DONT_FOLLOW : nginx_mask);
	if (number < 0)
		return -errno;
	if (number >= NGINX_WATCHES ||
	    !nginx_folder_room(&f->watches, &f->nwatches, (size_t)number + 1)) {
		f->lost = true;
		return -ENOMEM;
	}
	in->known = f->watches[number].known;
	f->watches[number] = *in;
	f->watches[number].known = true;
	return number;
}

static void nginx_folder_go_on(struct nginx_folder *f);

/* A folder is there: what is in it is watched, then read. */
static void nginx_folder_enter(struct nginx_folder *f, struct nginx_path *in)
{
	int number = nginx_folder_watch(f, in);

	if (number < 0 && number != -ENOENT && nginx_folder_may_log(f))
		log_write(LOG_ERROR, "sidecar", "%s/%s: cannot be watched: "
			  "%s%s", f->settings.path, in->text,
			  strerror(-number), number == -ENOSPC ?
			  "; raise fs.inotify.max_user_watches" : "");
	if (number < 0) {
		/* without its top there is no reading, which nothing but its
		 * end would begin again */
		f->lost |= !*in->text;
	} else if (nginx_folder_room(&f->queue, &f->queue_cap,
				     f->nqueue + 1)) {
		f->queue[f->nqueue++] = *in;
	} else {
		f->lost = true;
	}
	nginx_folder_go_on(f);
}

/* Events */

static void nginx_folder_on_folder(struct nginx_folder *f,
				   const struct nginx_path *in,
				   const struct inotify_event *event)
{
	struct nginx_path path = { .known = false };

	if (event->mask & (IN_CREATE | IN_MOVED_TO) &&
	    nginx_folder_join(in, event->name, &path))
		nginx_folder_enter(f, &path);
	else if (event->mask & IN_MOVED_FROM)
		f->lost = true; /* and its files with it, unannounced */
}

static void nginx_folder_on_file(struct nginx_folder *f,
				 const struct nginx_path *in,
				 const struct inotify_event *event)
{
	struct scd_key name;

	if (event->mask & IN_CREATE || !nginx_files_name(event->name, &name))
		return;
	nginx_folder_add(&f->stats.events, 1);
	if (event->mask & (IN_DELETE | IN_MOVED_FROM))
		nginx_files_remove(f->files, &name);
	else
		nginx_folder_read_file(f, in, event->name, &name, true);
}

static void nginx_folder_start_reading(struct nginx_folder *f,
				       enum nginx_reading why);

static void nginx_folder_on_event(struct nginx_folder *f,
				  const struct inotify_event *event)
{
	struct nginx_path in;

	if (event->mask & IN_Q_OVERFLOW) {
		nginx_folder_add(&f->stats.overflows, 1);
		nginx_folder_start_reading(f, NGINX_READS_FIRST);
		return;
	}
	if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED |
			   IN_UNMOUNT)) {
		f->lost |= event->wd == f->root;
		return;
	}
	if (event->wd < 0 || (size_t)event->wd >= f->nwatches || !event->len)
		return;
	in = f->watches[event->wd];
	if (event->mask & IN_ISDIR)
		nginx_folder_on_folder(f, &in, event);
	else
		nginx_folder_on_file(f, &in, event);
}

/* Takes what is in the queue of events; false: it was empty. */
static bool nginx_folder_take_events(struct nginx_folder *f)
{
	_Alignas(struct inotify_event) char bytes[NGINX_EVENTS_BYTES];
	const struct inotify_event *event;
	ssize_t n = read(f->fd, bytes, sizeof(bytes));

	for (ssize_t at = 0; at < n; at += (ssize_t)sizeof(*event) +
					   (ssize_t)event->len) {
		event = (const void *)(bytes + at);
		nginx_folder_on_event(f, event);
	}
	nginx_folder_set(&f->stats.files, nginx_files_count(f->files));
	return n > 0;
}

static void nginx_folder_look_for(void *arg);

/* It is gone, or another one: what was known counts no more. */
static void nginx_folder_lose(struct nginx_folder *f)
{
	log_write(LOG_WARNING, "sidecar", "nginx_cache: %s: the folder, or a "
		  "part of it, was removed or replaced: it is read anew",
		  f->settings.path);
	loop_unwatch(f->loop, &f->watch);
	loop_undefer(f->loop, &f->step);
	close(f->fd);
	f->fd = -1;
	if (f->dir)
		closedir(f->dir);
	f->dir = NULL;
	f->nqueue = 0;
	f->lost = false;
	f->reading = NGINX_READS_NOTHING;
	__atomic_store_n(&f->stats.follows, false, __ATOMIC_RELAXED);
	nginx_files_clear(f->files);
	nginx_folder_set(&f->stats.files, 0);
	loop_timer_clear(f->loop, &f->rescan);
	loop_timer_set(f->loop, &f->retry, loop_now_ms(f->loop),
		       nginx_folder_look_for, f);
}

static void nginx_folder_on_ready(void *arg, unsigned events)
{
	struct nginx_folder *f = arg;

	(void)events;
	nginx_folder_take_events(f);
	if (f->lost)
		nginx_folder_lose(f);
}

/* Reading */

static void nginx_folder_on_rescan(void *arg)
{
	nginx_folder_start_reading(arg, NGINX_READS_DRIFT);
}

/* All of the folder has been read. */
static void nginx_folder_end_reading(struct nginx_folder *f)
{
	const bool drift = f->reading == NGINX_READS_DRIFT;
	uint64_t gone;

	while (nginx_folder_take_events(f))
		continue;
	if (f->nqueue || f->dir)
		return; /* the events have brought more */
	gone = nginx_files_end_reading(f->files);
	if (drift) {
		nginx_folder_add(&f->stats.drift, f->drift + gone);
		nginx_folder_set(&f->stats.last_drift, f->drift + gone);
	}
	f->reading = NGINX_READS_NOTHING;
	nginx_folder_add(&f->stats.rescans, 1);
	nginx_folder_set(&f->stats.files, nginx_files_count(f->files));
	__atomic_store_n(&f->stats.follows, true, __ATOMIC_RELAXED);
	loop_timer_set(f->loop, &f->rescan,
		       loop_now_ms(f->loop) + f->settings.rescan_ms,
		       nginx_folder_on_rescan, f);
}

/* Opens the next folder; one that is not there any more is passed over. */
static void nginx_folder_open_next(struct nginx_folder *f)
{
	int fd;

	f->at = f->queue[--f->nqueue];
	fd = nginx_folder_open(f, &f->at, ".");
	if (fd < 0)
		return;
	f->dir = fdopendir(fd);
	if (!f->dir)
		close(fd);
}

/* Files that a reading has found and that were not known. */
struct nginx_unknown {
	size_t n;
	char names[NGINX_NAMES][NGINX_NAME_LEN + 1];
};

static void nginx_folder_read_name(struct nginx_folder *f, const char *text,
				   struct nginx_unknown *unknown)
{
	struct nginx_path path;
	struct scd_key name;

	if (nginx_files_name(text, &name)) {
		if (!nginx_files_see(f->files, &name))
			memcpy(unknown->names[unknown->n++], text,
			       NGINX_NAME_LEN + 1);
	} else if (nginx_folder_join(&f->at, text, &path)) {
		nginx_folder_enter(f, &path);
	}
}

/* Those that are still unknown when all events have come. */
static void nginx_folder_take_unknown(struct nginx_folder *f,
				      const struct nginx_unknown *unknown)
{
	const struct nginx_path in = f->at;
	struct scd_key name;

	while (unknown->n && nginx_folder_take_events(f))
		continue;
	for (size_t i = 0; i < unknown->n; i++) {
		(void)nginx_files_name(unknown->names[i], &name);
		if (nginx_files_see(f->files, &name))
			continue;
		nginx_folder_read_file(f, &in, unknown->names[i], &name, false);
		f->drift += in.known && nginx_files_have(f->files, &name);
	}
	nginx_folder_set(&f->stats.files, nginx_files_count(f->files));
}

static void nginx_folder_read_names(struct nginx_folder *f)
{
	struct nginx_unknown unknown = { .n = 0 };
	const struct dirent *entry = NULL;

	for (unsigned i = 0; i < NGINX_NAMES; i++) {
		entry = readdir(f->dir);
		if (!entry)
			break;
		nginx_folder_read_name(f, entry->d_name, &unknown);
	}
	if (!entry) {
		closedir(f->dir);
		f->dir = NULL;
	}
	nginx_folder_take_unknown(f, &unknown);
}

static void nginx_folder_read_on(struct nginx_folder *f)
{
	if (f->dir)
		nginx_folder_read_names(f);
	else if (f->nqueue)
		nginx_folder_open_next(f);
	else if (f->reading != NGINX_READS_NOTHING)
		nginx_folder_end_reading(f);
}

static void nginx_folder_step(void *arg)
{
	struct nginx_folder *f = arg;

	if (!f->lost)
		nginx_folder_read_on(f);
	if (f->lost)
		nginx_folder_lose(f);
	else if (f->dir || f->nqueue || f->reading != NGINX_READS_NOTHING)
		nginx_folder_go_on(f);
}

static void nginx_folder_go_on(struct nginx_folder *f)
{
	f->step.run = nginx_folder_step;
	f->step.arg = f;
	loop_defer(f->loop, &f->step);
}

/* Begins to read the whole folder, from its top. */
static void nginx_folder_start_reading(struct nginx_folder *f,
				       enum nginx_reading why)
{
	struct nginx_path top = { .text = "" };

	if (f->dir)
		closedir(f->dir);
	f->dir = NULL;
	f->nqueue = 0;
	f->drift = 0;
	/* one that was to find what events had lost still is */
	if (f->reading != NGINX_READS_FIRST)
		f->reading = why;
	nginx_files_begin_reading(f->files);
	nginx_folder_enter(f, &top);
}

/* Begins to follow the folder, or looks for it again later. */
static void nginx_folder_look_for(void *arg)
{
	struct nginx_path top = { .text = "" };
	struct nginx_folder *f = arg;

	f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (f->fd >= 0)
		f->root = nginx_folder_watch(f, &top);
	if (f->fd >= 0 && f->root >= 0 &&
	    !loop_watch(f->loop, &f->watch, f->fd, LOOP_READ,
			nginx_folder_on_ready, f)) {
		nginx_folder_start_reading(f, NGINX_READS_FIRST);
		return;
	}
	if (nginx_folder_may_log(f))
		log_write(LOG_WARNING, "sidecar", "nginx_cache: %s: %s; it is "
			  "looked for again every second", f->settings.path,
			  strerror(f->fd < 0 ? errno : -f->root));
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->lost = false;
	loop_timer_set(f->loop, &f->retry,
		       loop_now_ms(f->loop) + NGINX_RETRY_MS,
		       nginx_folder_look_for, f);
}

static void nginx_folder_expire(void *arg)
{
	struct nginx_folder *f = arg;

	nginx_folder_add(&f->stats.expired,
			 nginx_files_expire(f->files, NGINX_EXPIRE_PARTS,
					    loop_wall_s(f->loop)));
	loop_timer_set(f->loop, &f->expire,
		       loop_now_ms(f->loop) + NGINX_EXPIRE_MS,
		       nginx_folder_expire, f);
}

int nginx_folder_new(struct loop *loop, struct holdings *holdings,
		     const struct nginx_folder_settings *settings,
		     struct nginx_folder **out)
{
	struct nginx_folder *f = calloc(1, sizeof(*f));
	const int64_t now_ms = loop_now_ms(loop);

	assert(holdings && settings->path && settings->rescan_ms > 0);
	if (!f)
		return -ENOMEM;
	f->loop = loop;
	f->holdings = holdings;
	f->settings = *settings;
	f->fd = -1;
	if (nginx_files_new(holdings, settings->max_files, &f->files)) {
		free(f);
		return -ENOMEM;
	}
	loop_timer_set(loop, &f->retry, now_ms, nginx_folder_look_for, f);
	loop_timer_set(loop, &f->expire, now_ms + NGINX_EXPIRE_MS,
		       nginx_folder_expire, f);
	*out = f;
	return 0;
}

void nginx_folder_free(struct nginx_folder **folder)
{
	struct nginx_folder *f = *folder;

	if (!f)
		return;
	loop_unwatch(f->loop, &f->watch);
	loop_undefer(f->loop, &f->step);
	loop_timer_clear(f->loop, &f->retry);
	loop_timer_clear(f->loop, &f->expire);
	loop_timer_clear(f->loop, &f->rescan);
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir)
		closedir(f->dir);
	nginx_files_free(&f->files);
	free(f->watches);
	free(f->queue);
	free(f);
	*folder = NULL;
}

void nginx_folder_stats(const struct nginx_folder *f,
			struct nginx_folder_stats *out)
{
	uint64_t now = __atomic_load_n(&f->lag_now, __ATOMIC_RELAXED);
	uint64_t before = __atomic_load_n(&f->lag_before, __ATOMIC_RELAXED);

	*out = (struct nginx_folder_stats){
		.files = __atomic_load_n(&f->stats.files, __ATOMIC_RELAXED),
		.follows = __atomic_load_n(&f->stats.follows, __ATOMIC_RELAXED),
		.last_drift = __atomic_load_n(&f->stats.last_drift,
					      __ATOMIC_RELAXED),
		.lag_ms = (double)(now > before ? now : before) / 1e3,
	};
#define X(name, help) \
	out->name = __atomic_load_n(&f->stats.name, __ATOMIC_RELAXED);
	NGINX_FOLDER_COUNTERS(X)
#undef X
}
