/*
 * Rings of one writer and one reader each: bytes up to `head` are there, up to
 * `tail` they have been taken. A note lies in one piece; where it would cross
 * the end, the rest of the ring is skipped.
 *
 * The thread sleeps while there is nothing: who notes something wakes it by a
 * semaphore, once. After that it looks each 20 ms by itself.
 */
#include "config.h"

#include "digestd/os/access_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "digestd/http/access_feed.h"
#include "digestd/os/address.h"
#include "digestd/os/log.h"
#include "digestd/os/syslog_socket.h"

enum {
	ACCESS_RINGS = 256,
	ACCESS_RING_BYTES = 4 << 20, /* a power of two; half a second of hits */
	ACCESS_TEXTS = 7,
	ACCESS_TEXT_MAX = 8192,     /* of each is kept */
	ACCESS_LINGER_NS = 20000000,
	ACCESS_LINE_MAX = 512 * 1024,
	ACCESS_BUFFER_BYTES = 1 << 20, /* two lines */
	ACCESS_COMPLAIN_MS = 10000,
	ACCESS_WAIT_MS = 100,
	ACCESS_LEAVE_WAITS = 10, /* for a pipe that is to be left */
};

/* In a ring; behind it its texts. */
struct access_note {
	uint32_t bytes; /* of all of it; a multiple of 8 */
	bool skip;      /* the rest of the ring */
	uint32_t lens[ACCESS_TEXTS];
	struct access_record record; /* its texts point nowhere */
	union {
		struct sockaddr any; /* family 0: unknown */
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	} client;
	char texts[];
};

struct access_ring {
	struct access_log *log;
	_Alignas(64) _Atomic uint64_t head;
	uint64_t tail_seen;       /* the worker's */
	_Atomic uint64_t dropped; /* written by the worker alone */
	char *bytes;              /* null: there was nothing yet */
	_Alignas(64) _Atomic uint64_t tail;
};

/* Where lines go. */
struct access_place {
	int fd; /* -1: nowhere */
	bool is_file; /* and no pipe, that may be full for long */
	char *syslog; /* what it is as an option; null: none */
	struct access_format *format;
};

/* Lines for live readers. Made for the first one, and kept. */
struct access_live {
	atomic_bool on; /* there are some */
	int fd; /* -1: there never was one */
	struct access_feed *feed;
	struct access_format *format;
	char *line;
};

struct access_log {
	atomic_bool on;
	atomic_bool sleeps, stops;
	sem_t wake;
	pthread_t thread;
	bool runs; /* there is one */
	_Atomic uint64_t written, failed;
	struct log_limit complaints;

	pthread_mutex_t lock; /* guards what follows */
	struct access_place next;
	bool has_next;
	struct access_ring *rings[ACCESS_RINGS];
	unsigned nrings;

	struct access_live live;
	unsigned readers; /* of it; the thread's of access_log_set() */
	bool has_place;   /* the same: lines go somewhere */

	/* the thread's */
	struct access_place now;
	char *buffer;
	size_t len, nlines; /* in it */
	bool cut; /* the last line that was written is not whole */
};

/* Noting */

bool access_ring_is_on(const struct access_ring *ring)
{
	return atomic_load_explicit(&ring->log->on, memory_order_relaxed);
}

static void access_log_wake(struct access_log *log)
{
	if (atomic_exchange(&log->sleeps, false))
		sem_post(&log->wake);
}

/* Room in one piece for so many bytes; null: there is none. */
static struct access_note *access_ring_reserve(struct access_ring *ring,
					       size_t bytes, uint64_t *head)
{
	uint64_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);
	size_t rest = ACCESS_RING_BYTES - at % ACCESS_RING_BYTES;
	size_t need = rest < bytes ? rest + bytes : bytes;
	struct access_note *note;

	if (!ring->bytes)
		ring->bytes = malloc(ACCESS_RING_BYTES);
	if (!ring->bytes)
		return NULL;
	if (at + need - ring->tail_seen > ACCESS_RING_BYTES)
		ring->tail_seen = atomic_load_explicit(&ring->tail,
						       memory_order_acquire);
	if (at + need - ring->tail_seen > ACCESS_RING_BYTES)
		return NULL;
	if (rest < bytes) {
		/* at least 8 bytes, which say so */
		note = (struct access_note *)(void *)(
			ring->bytes + at % ACCESS_RING_BYTES);
		note->bytes = (uint32_t)rest;
		note->skip = true;
		at += rest;
	}
	*head = at + bytes;
	return (struct access_note *)(void *)(ring->bytes +
					      at % ACCESS_RING_BYTES);
}

static size_t access_ring_size(const uint32_t lens[ACCESS_TEXTS])
{
	size_t bytes = sizeof(struct access_note);

	for (int i = 0; i < ACCESS_TEXTS; i++)
		bytes += lens[i];
	return (bytes + 7) & ~(size_t)7;
}

static void access_ring_set_client(struct access_note *note,
				   const struct sockaddr *client)
{
	note->client.any.sa_family = 0;
	if (client && client->sa_family == AF_INET)
		memcpy(&note->client.in4, client, sizeof(note->client.in4));
	else if (client && client->sa_family == AF_INET6)
		memcpy(&note->client.in6, client, sizeof(note->client.in6));
	else if (client && client->sa_family == AF_UNIX)
		note->client.any.sa_family = AF_UNIX;
}

void access_ring_put(struct access_ring *ring, const struct access_record *r,
		     const struct sockaddr *client)
{
	const struct field_part texts[ACCESS_TEXTS] = {
		r->method, r->target, r->host, r->referer,
		r->agent, r->from, r->reason,
	};
	uint32_t lens[ACCESS_TEXTS];
	struct access_note *note;
	uint64_t head;
	size_t bytes;
	char *at;

	for (int i = 0; i < ACCESS_TEXTS; i++)
		lens[i] = texts[i].len < ACCESS_TEXT_MAX
				  ? (uint32_t)texts[i].len : ACCESS_TEXT_MAX;
	bytes = access_ring_size(lens);
	note = access_ring_reserve(ring, bytes, &head);
	if (!note) {
		uint64_t n = atomic_load_explicit(&ring->dropped,
						  memory_order_relaxed);

		atomic_store_explicit(&ring->dropped, n + 1,
				      memory_order_relaxed);
		return;
	}
	note->bytes = (uint32_t)bytes;
	note->skip = false;
	memcpy(note->lens, lens, sizeof(lens));
	note->record = *r;
	access_ring_set_client(note, client);
	at = note->texts;
	for (int i = 0; i < ACCESS_TEXTS; i++) {
		if (lens[i])
			memcpy(at, texts[i].at, lens[i]);
		at += lens[i];
	}
	/* in the order of whoever falls asleep: see access_log_sleep() */
	atomic_store(&ring->head, head);
	if (atomic_load(&ring->log->sleeps))
		access_log_wake(ring->log);
}

/* Writing */

static void access_log_complain(struct access_log *log, int err)
{
	struct timespec now;
	char room[64];
	unsigned dropped;

	clock_gettime(CLOCK_MONOTONIC, &now);
	log->complaints.burst = 1;
	log->complaints.period_ms = ACCESS_COMPLAIN_MS;
	if (log_allow(&log->complaints,
		      (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
		      &dropped))
		log_write(LOG_WARNING, "access", "lines cannot be written: "
			  "%s; requests are answered all the same: make room "
			  "where access_log is, or correct it%s",
			  strerror(err), log_suppressed(dropped, room));
}

static void access_place_close(struct access_place *place)
{
	if (place->fd >= 0 && place->fd != STDOUT_FILENO)
		close(place->fd);
	access_format_free(&place->format);
	free(place->syslog);
	place->syslog = NULL;
	place->fd = -1;
}

static bool access_log_has_next(struct access_log *log)
{
	bool has;

	pthread_mutex_lock(&log->lock);
	has = log->has_next;
	pthread_mutex_unlock(&log->lock);
	return has;
}

/* Waits for a pipe to be read, until the log is to end or, for a while, to go
 * on elsewhere. Returns how much may be written without waiting; 0: nothing. */
static size_t access_log_room(struct access_log *log, size_t len)
{
	struct pollfd ready = { .fd = log->now.fd, .events = POLLOUT };
	int waits = 0;

	if (log->now.is_file)
		return len;
	while (poll(&ready, 1, ACCESS_WAIT_MS) < 1) {
		if (atomic_load(&log->stops))
			return 0;
		if (access_log_has_next(log) && ++waits == ACCESS_LEAVE_WAITS)
			return 0;
	}
	return len < PIPE_BUF ? len : PIPE_BUF;
}

/* Goes on in another file, if there is one. */
static void access_log_take_next(struct access_log *log)
{
	pthread_mutex_lock(&log->lock);
	if (log->has_next) {
		access_place_close(&log->now);
		log->now = log->next;
		log->has_next = false;
		log->cut = false;
	}
	pthread_mutex_unlock(&log->lock);
}

/* Empties the buffer, of which so many bytes have been written. What comes next
 * begins on a line of its own, also after one that is there in part. */
static void access_log_empty(struct access_log *log, size_t written)
{
	if (written)
		log->cut = log->buffer[written - 1] != '\n';
	log->len = log->nlines = 0;
}

/* The syslog has been started anew, and listens at another socket. */
static int access_log_reopen(struct access_log *log)
{
	int fd = syslog_socket_open(log->now.syslog);

	if (fd < 0)
		return fd;
	close(log->now.fd);
	log->now.fd = fd;
	return 0;
}

/* Returns 0 or a negative errno. */
static int access_log_send(struct access_log *log, const char *line, size_t len)
{
	bool anew = false;
	int err;

	do {
		if (!access_log_room(log, len))
			return -ETIMEDOUT;
		err = syslog_socket_send(log->now.fd, line, len);
		if ((err == -ECONNREFUSED || err == -ENOTCONN) && !anew) {
			anew = true;
			err = access_log_reopen(log);
			if (!err)
				err = -EAGAIN;
		}
	} while (err == -EAGAIN);
	return err;
}

/* Each line is a message; one that fails costs itself, and nobody waits for
 * others then where there is another place to go on. */
static void access_log_send_all(struct access_log *log)
{
	const char *at = log->buffer, *all = log->buffer + log->len;
	int err = 0;

	while (at < all) {
		const char *end = memchr(at, '\n', (size_t)(all - at));

		if (!end)
			end = all;
		if (err != -ETIMEDOUT)
			err = access_log_send(log, at, (size_t)(end - at));
		if (err)
			access_log_complain(log, -err);
		atomic_fetch_add(err ? &log->failed : &log->written, 1);
		at = end + 1;
	}
	access_log_empty(log, 0);
	if (err == -ETIMEDOUT)
		access_log_take_next(log);
}

/* A disk that is full costs the lines that it has no room for, and no more; so
 * does a pipe that nobody reads, once there is another place to go on. */
static void access_log_flush(struct access_log *log)
{
	size_t at = 0;
	int err = 0;

	if (log->now.syslog) {
		access_log_send_all(log);
		return;
	}
	while (at < log->len && !err) {
		size_t room = access_log_room(log, log->len - at);
		ssize_t n = room ? write(log->now.fd, log->buffer + at, room)
				 : 0;

		if (n > 0)
			at += (size_t)n;
		else if (!n || (errno != EINTR && errno != EAGAIN))
			err = n ? errno : ETIMEDOUT;
	}
	if (err)
		access_log_complain(log, err);
	atomic_fetch_add(err ? &log->failed : &log->written, log->nlines);
	access_log_empty(log, at);
	if (err == ETIMEDOUT)
		access_log_take_next(log);
}

/* A line for live readers. */
static void access_log_feed(struct access_log *log,
			    const struct access_record *r)
{
	struct access_live *live = &log->live;
	size_t len = access_format_write(live->format, r, live->line,
					 ACCESS_LINE_MAX);

	if (len)
		access_feed_put(live->feed, live->line, len - 1);
}

static void access_log_write_note(struct access_log *log,
				  const struct access_note *note)
{
	bool live = atomic_load(&log->live.on);
	struct access_record r = note->record;
	struct field_part *const texts[ACCESS_TEXTS] = {
		&r.method, &r.target, &r.host, &r.referer,
		&r.agent, &r.from, &r.reason,
	};
	char client[ADDRESS_TEXT_BYTES];
	const char *at = note->texts;

	if (log->now.fd < 0 && !live)
		return;
	for (int i = 0; i < ACCESS_TEXTS; i++) {
		*texts[i] = (struct field_part){ at, note->lens[i] };
		at += note->lens[i];
	}
	r.client = (struct field_part){ "", 0 };
	r.local = note->client.any.sa_family == AF_UNIX;
	if (address_text(&note->client.any, client))
		r.client = (struct field_part){ client, strlen(client) };
	if (live)
		access_log_feed(log, &r);
	if (log->now.fd < 0)
		return;
	if (log->len > ACCESS_BUFFER_BYTES - ACCESS_LINE_MAX)
		access_log_flush(log);
	if (log->now.fd < 0)
		return;
	if (!log->len && log->cut)
		log->buffer[log->len++] = '\n';
	log->len += access_format_write(log->now.format, &r,
					log->buffer + log->len,
					ACCESS_LINE_MAX);
	log->nlines++;
}

/* Takes what there is in a ring. Returns whether there was something. */
static bool access_log_drain(struct access_log *log, struct access_ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load(&ring->head);
	bool some = tail < head;

	while (tail < head) {
		const struct access_note *note =
			(const struct access_note *)(const void *)(
				ring->bytes + tail % ACCESS_RING_BYTES);

		assert(note->bytes && note->bytes <= head - tail);
		if (!note->skip)
			access_log_write_note(log, note);
		tail += note->bytes;
		atomic_store_explicit(&ring->tail, tail, memory_order_release);
	}
	return some;
}

static bool access_log_drain_all(struct access_log *log)
{
	struct access_ring *rings[ACCESS_RINGS];
	uint64_t dropped = 0;
	bool some = false;
	unsigned n;

	pthread_mutex_lock(&log->lock);
	n = log->nrings;
	memcpy(rings, log->rings, n * sizeof(*rings));
	pthread_mutex_unlock(&log->lock);
	for (unsigned i = 0; i < n; i++) {
		some |= access_log_drain(log, rings[i]);
		dropped += atomic_load(&rings[i]->dropped);
	}
	if (atomic_load(&log->live.on))
		atomic_store(&log->live.feed->dropped, dropped);
	if (log->nlines)
		access_log_flush(log);
	return some;
}

static bool access_log_has_some(struct access_log *log)
{
	bool some;

	pthread_mutex_lock(&log->lock);
	some = log->has_next;
	for (unsigned i = 0; i < log->nrings && !some; i++)
		some = atomic_load(&log->rings[i]->head) !=
		       atomic_load(&log->rings[i]->tail);
	pthread_mutex_unlock(&log->lock);
	return some;
}

/* Until there is something. Who notes something after it was looked for sees
 * that this sleeps. */
static void access_log_sleep(struct access_log *log)
{
	atomic_store(&log->sleeps, true);
	if (access_log_has_some(log) || atomic_load(&log->stops)) {
		if (atomic_exchange(&log->sleeps, false))
			return;
	}
	while (sem_wait(&log->wake) && errno == EINTR)
		;
}

static void access_log_linger(const struct access_log *log)
{
	const struct timespec pause = { 0, ACCESS_LINGER_NS };

	if (!atomic_load(&log->stops))
		nanosleep(&pause, NULL);
}

static void *access_log_run(void *arg)
{
	struct access_log *log = arg;
	bool stops;

	do {
		stops = atomic_load(&log->stops);
		if (log->now.fd < 0)
			access_log_take_next(log);
		if (!access_log_drain_all(log) && !stops)
			access_log_sleep(log);
		access_log_take_next(log);
		access_log_linger(log);
	} while (!stops);
	return NULL;
}

/* Life */

int access_log_new(struct access_log **out)
{
	struct access_log *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	log->now.fd = log->next.fd = log->live.fd = -1;
	sem_init(&log->wake, 0, 0);
	pthread_mutex_init(&log->lock, NULL);
	*out = log;
	return 0;
}

static void access_ring_free(struct access_ring *ring)
{
	free(ring->bytes);
	free(ring);
}

static void access_live_free(struct access_live *live)
{
	if (live->feed)
		munmap(live->feed, sizeof(*live->feed));
	if (live->fd >= 0)
		close(live->fd);
	access_format_free(&live->format);
	free(live->line);
	*live = (struct access_live){ .fd = -1 };
}

void access_log_free(struct access_log **out)
{
	struct access_log *log = *out;

	if (!log)
		return;
	atomic_store(&log->stops, true);
	access_log_wake(log);
	if (log->runs)
		pthread_join(log->thread, NULL);
	if (log->has_next)
		access_place_close(&log->next);
	access_place_close(&log->now);
	access_live_free(&log->live);
	for (unsigned i = 0; i < log->nrings; i++)
		access_ring_free(log->rings[i]);
	sem_destroy(&log->wake);
	pthread_mutex_destroy(&log->lock);
	free(log->buffer);
	free(log);
	*out = NULL;
}

struct access_ring *access_log_ring(struct access_log *log)
{
	struct access_ring *ring;

	if (log->nrings == ACCESS_RINGS)
		return NULL;
	ring = aligned_alloc(64, sizeof(*ring));
	if (!ring)
		return NULL;
	memset(ring, 0, sizeof(*ring));
	ring->log = log;
	pthread_mutex_lock(&log->lock);
	log->rings[log->nrings++] = ring;
	pthread_mutex_unlock(&log->lock);
	return ring;
}

/* A pipe that nobody reads is an error, and nothing to wait for. */
static int access_place_open(struct access_place *place, const char *path)
{
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;

	struct stat st;

	if (syslog_socket_is_meant(path)) {
		place->fd = syslog_socket_open(path);
		place->syslog = place->fd < 0 ? NULL : strdup(path);
		return place->fd < 0 ? place->fd : place->syslog ? 0 : -ENOMEM;
	}
	place->fd = strcmp(path, "stdout")
			    ? open(path, flags | O_NONBLOCK, 0640)
			    : STDOUT_FILENO;
	if (place->fd < 0)
		return -errno;
	place->is_file = !fstat(place->fd, &st) && S_ISREG(st.st_mode);
	return 0;
}

static int access_log_start(struct access_log *log)
{
	int err;

	if (log->runs)
		return 0;
	if (!log->buffer)
		log->buffer = malloc(ACCESS_BUFFER_BYTES);
	if (!log->buffer)
		return -ENOMEM;
	err = -pthread_create(&log->thread, NULL, access_log_run, log);
	log->runs = !err;
	return err;
}

/* Whether there is anything to be noted for. */
static void access_log_switch(struct access_log *log)
{
	atomic_store(&log->live.on, log->readers > 0);
	atomic_store(&log->on, log->has_place || log->readers > 0);
}

int access_log_set(struct access_log *log, const char *path,
		   const char *format)
{
	struct access_place place = { .fd = -1 };
	int err = 0;

	if (path)
		err = access_format_new(format, &place.format);
	if (path && !err)
		err = access_place_open(&place, path);
	if (path && !err)
		err = access_log_start(log);
	if (err) {
		access_place_close(&place);
		return err;
	}
	pthread_mutex_lock(&log->lock);
	if (log->has_next)
		access_place_close(&log->next);
	log->next = place;
	log->has_next = true;
	pthread_mutex_unlock(&log->lock);
	log->has_place = path != NULL;
	access_log_switch(log);
	access_log_wake(log);
	return 0;
}

/* Memory that others can map, but not write to, nor make shorter. */
static int access_live_map(struct access_live *live)
{
	const size_t bytes = sizeof(*live->feed);
	void *at;

	live->fd = memfd_create("access", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (live->fd < 0 || ftruncate(live->fd, (off_t)bytes))
		return -errno;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, live->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	live->feed = at;
	if (fcntl(live->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK |
					 F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	live->feed->version = ACCESS_FEED_VERSION;
	return 0;
}

static int access_live_make(struct access_live *live)
{
	int err;

	live->line = malloc(ACCESS_LINE_MAX);
	if (!live->line)
		return -ENOMEM;
	err = access_format_new("json", &live->format);
	if (!err)
		err = access_live_map(live);
	if (err)
		access_live_free(live);
	return err;
}

int access_log_add_reader(struct access_log *log)
{
	int err = 0;

	if (log->live.fd < 0)
		err = access_live_make(&log->live);
	if (!err)
		err = access_log_start(log);
	if (err)
		return err;
	log->readers++;
	access_log_switch(log);
	return log->live.fd;
}

void access_log_remove_reader(struct access_log *log)
{
	assert(log->readers);
	log->readers--;
	access_log_switch(log);
}

void access_log_count(struct access_log *log, struct access_log_counters *out)
{
	*out = (struct access_log_counters){
		.written = atomic_load(&log->written),
		.failed = atomic_load(&log->failed),
	};
	pthread_mutex_lock(&log->lock);
	for (unsigned i = 0; i < log->nrings; i++)
		out->dropped += atomic_load(&log->rings[i]->dropped);
	pthread_mutex_unlock(&log->lock);
}
