/*
 * The file of peers' lists for modules: what lists have is found in it, by
 * another mapping of the path, while they change, grow and go, in another
 * thread; what it says of peers; and what happens when it cannot be written, or
 * has no room. The clock stands still.
 */
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/shared_table_write.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/loop.h"
#include "digestd/peers/table_share.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/os/call_faults.h"
#include "tests/os/still_clock.h"

enum {
	NPEERS = 5,
	NKEPT = 100,
	NCHANGES = 300,
	WIDTH = 30,
	BEAT_MS = 500,    /* as table_share.c has them */
	RETRY_MS = 10000,
	TRIES = 4,        /* with a file that is twice as large each time */
};

struct fixture {
	char folder[32], path[64];
	struct loop *loop;
	struct table_share *share;
	struct peer_table *table;
	struct peer_slot slots[NPEERS];
	struct peer_digest digests[NPEERS];
	atomic_bool end;
	atomic_uint lookups, missed;
};

/* How many of the next entries find no room, first. */
static unsigned no_room;

int __real_scd__shared_table_insert(void *memory, unsigned peer, unsigned width,
				    uint64_t fingerprint);
int __wrap_scd__shared_table_insert(void *memory, unsigned peer, unsigned width,
				    uint64_t fingerprint);
int __wrap_scd__shared_table_insert(void *memory, unsigned peer, unsigned width,
				    uint64_t fingerprint)
{
	if (!no_room)
		return __real_scd__shared_table_insert(memory, peer, width,
						       fingerprint);
	no_room--;
	return SCD_ENOMEM;
}

CALL_WRAPPER(ssize_t, getrandom, (void *a, size_t b, unsigned c), (a, b, c), -1)

static uint64_t now_ms(void)
{
	return still_clock_ms;
}

static void start(struct fixture *f)
{
	struct table_share_settings settings = { .secret = { 9 } };
	struct peer_table_watcher watcher;

	memset(f, 0, sizeof(*f));
	strcpy(f->folder, "table-share-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/table", f->folder);
	settings.path = f->path;
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(table_share_new(f->loop, &settings, &f->share), 0);
	assert_int_equal(peer_table_new(&f->table, NPEERS), 0);
	watcher = table_share_watcher(f->share);
	peer_table_watch(f->table, &watcher);
	for (unsigned i = 0; i < NPEERS; i++) {
		assert_true(peer_table_claim(f->table, &f->slots[i]));
		f->digests[i].users = 1;
		f->digests[i].slot = f->slots[i];
	}
}

static void stop(struct fixture *f)
{
	peer_table_unref(f->table);
	table_share_free(&f->share);
	loop_free(&f->loop);
	unlink(f->path);
	assert_int_equal(rmdir(f->folder), 0);
}

/* All peers may be asked; but for one, if it is below NPEERS. */
static void say_peers(struct fixture *f, unsigned but)
{
	static const char *const names[NPEERS] = { "a", "b", "c", "d", "e" };
	struct peerset_peer peers[NPEERS];
	struct peerset *view;

	for (unsigned i = 0; i < NPEERS; i++)
		peers[i] = (struct peerset_peer){
			.id = i,
			.usable = i != but,
			.digest = &f->digests[i],
			.name = names[i],
			.url = "http://h",
		};
	view = peerset_new(peers, NPEERS);
	assert_non_null(view);
	table_share_set_view(f->share, view);
	peerset_unref(view);
}

/* A reader's mapping; none of it stays. */
struct mapping {
	void *memory;
	size_t bytes;
	struct scd_shared_table table;
};

static void map(const struct fixture *f, struct mapping *m)
{
	struct stat st;
	int fd = open(f->path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	m->bytes = (size_t)st.st_size;
	m->memory = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(m->memory, MAP_FAILED);
	close(fd);
	assert_int_equal(scd_shared_table_open(m->memory, m->bytes, &m->table),
			 0);
}

static void unmap(struct mapping *m)
{
	munmap(m->memory, m->bytes);
}

static enum scd_shared_table_state state_of(const struct mapping *m)
{
	return scd_shared_table_state(&m->table, now_ms());
}

static bool found(const struct mapping *m, const struct scd_key *key,
		  unsigned peer)
{
	unsigned out[NPEERS];
	const size_t n = scd_shared_table_lookup(&m->table, key, now_ms(), out,
						 NPEERS);

	for (size_t i = 0; i < n; i++) {
		if (out[i] == peer)
			return true;
	}
	return false;
}

/* Of each peer, NKEPT keys that it keeps, and others. */
static struct scd_key key_of(unsigned peer, unsigned i)
{
	uint64_t seed = (uint64_t)peer << 32 | i;
	const uint64_t lo = random_next(&seed);

	return (struct scd_key){ lo, random_next(&seed) };
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The fingerprints of keys from..to-1, in order; to be freed. */
static uint64_t *fingerprints(unsigned peer, unsigned from, unsigned to,
			      unsigned width)
{
	uint64_t *out = calloc(to - from + 1, sizeof(*out));

	assert_non_null(out);
	for (unsigned i = from; i < to; i++) {
		const struct scd_key key = key_of(peer, i);

		out[i - from] = scd_fingerprint(&key, width);
	}
	qsort(out, to - from, sizeof(*out), by_number);
	return out;
}

static struct scd_list *list_of(unsigned peer, unsigned n, unsigned width)
{
	struct scd_list_change change = {
		.added = fingerprints(peer, 0, n, width), .nadded = n
	};
	struct scd_list *list;

	assert_int_equal(scd_list_new(&list, width, 7), 0);
	assert_int_equal(scd_list_change(list, &change, 1), 0);
	free(change.added);
	return list;
}

/* Keys from..to-1 come, or go. */
static void change(struct fixture *f, unsigned peer, unsigned from, unsigned to,
		   bool come, uint64_t generation)
{
	uint64_t *entries = fingerprints(peer, from, to, WIDTH);
	const struct scd_list_change change = {
		.added = come ? entries : NULL,
		.nadded = come ? to - from : 0,
		.removed = come ? NULL : entries,
		.nremoved = come ? 0 : to - from,
	};

	assert_int_equal(peer_table_change(&f->slots[peer], &change,
					   generation),
			 0);
	free(entries);
}

/* Whether the file at the path says that a peer has what it has. */
static bool finds(const struct fixture *f, unsigned peer, unsigned i)
{
	const struct scd_key key = key_of(peer, i);
	struct mapping m;
	bool is;

	map(f, &m);
	is = found(&m, &key, peer);
	unmap(&m);
	return is;
}

/* Its beats, for so long. */
static void beat_for(struct fixture *f, unsigned ms)
{
	for (; ms; ms -= ms < 100 ? ms : 100) {
		still_clock_ms += 100;
		assert_int_equal(loop_turn(f->loop, 0), 0);
	}
}

static struct table_share_stats stats_of(const struct fixture *f)
{
	struct table_share_stats stats;

	table_share_stats(f->share, &stats);
	return stats;
}

static void lists_are_in_the_file(void **state)
{
	struct table_share_stats stats;
	struct fixture f;
	struct mapping m;
	struct stat st;

	(void)state;
	start(&f);
	assert_int_equal(stat(f.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	for (unsigned p = 0; p < NPEERS; p++)
		assert_int_equal(peer_table_set(&f.slots[p],
						list_of(p, 20, WIDTH)),
				 0);
	say_peers(&f, 3);
	map(&f, &m);
	for (unsigned i = 0; i < NPEERS * 20; i++) {
		const struct scd_key key = key_of(i / 20, i % 20);

		assert_int_equal(found(&m, &key, i / 20), i / 20 != 3);
	}
	table_share_stats(f.share, &stats);
	assert_int_equal(stats.entries, NPEERS * 20);
	assert_int_equal(stats.peers, NPEERS - 1);
	assert_int_equal(stats.bytes, m.bytes);
	assert_int_equal(stats.files, 1);
	peer_table_remove(&f.slots[0]);
	table_share_stats(f.share, &stats);
	assert_int_equal(stats.entries, (NPEERS - 1) * 20);
	unmap(&m);
	stop(&f);
}

/* A list in the place of another, wider or not: none of what both have goes. */
static void lists_are_exchanged(void **state)
{
	static const unsigned widths[] = { 20, 20, 31, 12, 40 };
	struct table_share_stats stats;
	struct fixture f;
	struct mapping m;

	(void)state;
	start(&f);
	for (unsigned i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		assert_int_equal(peer_table_set(&f.slots[1],
						list_of(1, 50 + i, widths[i])),
				 0);
		say_peers(&f, NPEERS);
		map(&f, &m);
		for (unsigned k = 0; k < 50 + i; k++) {
			const struct scd_key key = key_of(1, k);

			assert_true(found(&m, &key, 1));
		}
		table_share_stats(f.share, &stats);
		assert_int_equal(stats.entries, 50 + i);
		unmap(&m);
	}
	stop(&f);
}

/* The first NKEPT of each peer are found all the while. */
static void *reader(void *arg)
{
	struct fixture *f = arg;
	struct mapping m;

	map(f, &m);
	while (!atomic_load(&f->end)) {
		if (state_of(&m) != SCD_SHARED_TABLE_LIVE) {
			unmap(&m);
			map(f, &m);
		}
		for (unsigned i = 0; i < NPEERS * NKEPT; i++) {
			const unsigned peer = i % NPEERS;
			const struct scd_key key = key_of(peer, i / NPEERS);

			atomic_fetch_add(&f->lookups, 1);
			if (!found(&m, &key, peer))
				atomic_fetch_add(&f->missed, 1);
		}
	}
	unmap(&m);
	return NULL;
}

static void what_stays_is_found_while_the_table_grows(void **state)
{
	struct table_share_stats stats;
	unsigned n = NKEPT;
	struct fixture f;
	pthread_t thread;

	(void)state;
	start(&f);
	for (unsigned p = 0; p < NPEERS; p++)
		assert_int_equal(peer_table_set(&f.slots[p],
						list_of(p, NKEPT, WIDTH)),
				 0);
	say_peers(&f, NPEERS);
	assert_int_equal(pthread_create(&thread, NULL, reader, &f), 0);
	for (unsigned i = 2; i < NCHANGES; i++, n += 50) {
		for (unsigned p = 0; p < NPEERS; p++)
			change(&f, p, n, n + 50, true, i);
		loop_turn(f.loop, 0);
	}
	for (unsigned p = 0; p < NPEERS; p++)
		change(&f, p, NKEPT, n, false, NCHANGES);
	/* the next change finds that it is much too large */
	for (unsigned p = 0; p < NPEERS; p++)
		change(&f, p, NKEPT, NKEPT + 1, true, NCHANGES + 1);
	while (atomic_load(&f.lookups) < 10 * NPEERS * NKEPT)
		loop_turn(f.loop, 10);
	atomic_store(&f.end, true);
	pthread_join(thread, NULL);
	assert_int_equal(f.missed, 0);
	table_share_stats(f.share, &stats);
	assert_int_equal(stats.entries, NPEERS * (NKEPT + 1));
	assert_true(stats.files > 5);
	assert_int_equal(stats.failed, 0);
	assert_true(stats.bytes < 400000);
	stop(&f);
}

/* One fingerprint, n times. */
static struct scd_list_change twins_of(uint64_t *room, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		room[i] = 77;
	return (struct scd_list_change){ .added = room, .nadded = n };
}

static struct scd_list *list_of_twins(unsigned n)
{
	static uint64_t room[5000];
	const struct scd_list_change c = twins_of(room, n);
	struct scd_list *list;

	assert_in_range(n, 1, NROWS(room));
	assert_int_equal(scd_list_new(&list, WIDTH, 7), 0);
	assert_int_equal(scd_list_change(list, &c, 1), 0);
	return list;
}

/* That peer is left out, until its list is another. */
static void a_list_of_twins_is_refused(void **state)
{
	const struct scd_key other = key_of(1, 0);
	struct table_share_stats stats;
	struct scd_key key;
	struct fixture f;
	struct mapping m;

	(void)state;
	key = (struct scd_key){ UINT64_C(77) << (64 - WIDTH), 0 };
	start(&f);
	assert_int_equal(peer_table_set(&f.slots[1], list_of(1, 20, WIDTH)), 0);
	assert_int_equal(peer_table_set(&f.slots[0], list_of_twins(100)), 0);
	say_peers(&f, NPEERS);
	map(&f, &m);
	assert_false(found(&m, &key, 0));
	assert_true(found(&m, &other, 1));
	unmap(&m);
	table_share_stats(f.share, &stats);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.peers, NPEERS - 1);
	assert_int_equal(peer_table_set(&f.slots[0], list_of(0, 20, WIDTH)), 0);
	say_peers(&f, NPEERS);
	map(&f, &m);
	key = key_of(0, 0);
	assert_true(found(&m, &key, 0));
	assert_false(found(&m, &(struct scd_key){ UINT64_C(77) << 34, 0 }, 0));
	unmap(&m);
	table_share_stats(f.share, &stats);
	assert_int_equal(stats.entries, 40);
	stop(&f);
}

/* It is found out when a file is made of it, or when they come as a change; the
 * list may change then, or go, and others grow. */
static void a_refused_list_may_go_on(void **state)
{
	uint64_t room[100];
	const struct scd_list_change twins = twins_of(room, 100);
	struct fixture f;

	(void)state;
	start(&f);
	for (unsigned p = 0; p < 3; p++)
		assert_int_equal(peer_table_set(&f.slots[p],
						list_of(p, 20, WIDTH)), 0);
	say_peers(&f, NPEERS);
	assert_int_equal(peer_table_set(&f.slots[0], list_of_twins(5000)), 0);
	assert_int_equal(stats_of(&f).files, 2);
	assert_int_equal(peer_table_change(&f.slots[1], &twins, 2), 0);
	assert_int_equal(stats_of(&f).refused, 2);
	say_peers(&f, NPEERS);
	assert_int_equal(stats_of(&f).peers, NPEERS - 2);
	assert_false(finds(&f, 1, 0)); /* what was there does not count, too */
	change(&f, 1, 20, 30, true, 3);
	for (unsigned i = 0; i < 40; i++)
		change(&f, 2, 20 + 100 * i, 120 + 100 * i, true, 2 + i);
	assert_int_equal(stats_of(&f).refused, 2);
	assert_true(finds(&f, 2, 0) && !finds(&f, 1, 0));
	peer_table_remove(&f.slots[0]);
	assert_int_equal(peer_table_set(&f.slots[1], list_of(1, 20, WIDTH)), 0);
	say_peers(&f, NPEERS);
	assert_true(finds(&f, 1, 0));
	assert_int_equal(stats_of(&f).entries, 20 + 4020);
	stop(&f);
}

/* Where an entry has no room, in spite of what there is, another file is made,
 * and a larger one; until that is in vain. */
static void entries_without_room_get_a_larger_file(void **state)
{
	struct fixture f;
	uint64_t bytes;

	(void)state;
	start(&f);
	assert_int_equal(peer_table_set(&f.slots[1], list_of(1, 20, WIDTH)), 0);
	say_peers(&f, NPEERS);
	bytes = stats_of(&f).bytes;
	for (unsigned n = 1; n <= TRIES; n++) {
		no_room = n; /* once in the file that there is */
		change(&f, 1, 19 + n, 20 + n, true, 1 + n);
		assert_int_equal(no_room, 0);
		assert_int_equal(stats_of(&f).files, 1 + n);
		assert_true(finds(&f, 1, 0) && finds(&f, 1, 19 + n));
		assert_int_equal(stats_of(&f).entries, 20 + n);
		if (n > 1)
			assert_true(stats_of(&f).bytes > bytes);
	}
	no_room = TRIES + 1;
	change(&f, 1, 24, 25, true, 10);
	assert_int_equal(no_room, 0);
	assert_int_equal(stats_of(&f).failed, 1);
	beat_for(&f, SCD_SHARED_TABLE_SILENT_MS + BEAT_MS);
	assert_false(finds(&f, 1, 0)); /* it is silent */
	peer_table_remove(&f.slots[1]);
	still_clock_ms += RETRY_MS;
	assert_int_equal(peer_table_set(&f.slots[1], list_of(1, 30, WIDTH)), 0);
	beat_for(&f, BEAT_MS);
	say_peers(&f, NPEERS);
	assert_true(finds(&f, 1, 0) && finds(&f, 1, 29));
	stop(&f);
}

static void a_table_lives_while_there_are_beats(void **state)
{
	struct fixture f;
	struct mapping m;

	(void)state;
	start(&f);
	map(&f, &m);
	beat_for(&f, 5 * SCD_SHARED_TABLE_SILENT_MS);
	assert_int_equal(state_of(&m), SCD_SHARED_TABLE_LIVE);
	still_clock_ms += SCD_SHARED_TABLE_SILENT_MS + 1;
	assert_int_equal(state_of(&m), SCD_SHARED_TABLE_SILENT);
	unmap(&m);
	stop(&f);
}

/* Another process has the path; and this one takes it back. */
static void the_path_is_left_and_taken_back(void **state)
{
	const struct scd_key key = key_of(1, 0);
	struct fixture f;
	struct mapping m;

	(void)state;
	start(&f);
	assert_int_equal(peer_table_set(&f.slots[1], list_of(1, 20, WIDTH)), 0);
	say_peers(&f, NPEERS);
	table_share_retire(f.share);
	map(&f, &m);
	assert_int_equal(state_of(&m), SCD_SHARED_TABLE_RETIRED);
	beat_for(&f, SCD_SHARED_TABLE_SILENT_MS + BEAT_MS);
	assert_int_equal(state_of(&m), SCD_SHARED_TABLE_SILENT);
	unmap(&m);
	assert_int_equal(unlink(f.path), 0);
	for (unsigned i = 0; i < 40; i++) /* it grows, but not at the path */
		change(&f, 1, 20 + 100 * i, 120 + 100 * i, true, 2 + i);
	assert_int_equal(access(f.path, F_OK), -1);
	table_share_resume(f.share);
	change(&f, 1, 20, 21, false, 100);
	beat_for(&f, BEAT_MS);
	map(&f, &m);
	assert_int_equal(state_of(&m), SCD_SHARED_TABLE_LIVE);
	assert_true(found(&m, &key, 1));
	unmap(&m);
	stop(&f);
}

/* No folder for a larger file: readers are told nothing any more. */
static void a_file_that_cannot_be_written_falls_silent(void **state)
{
	struct table_share_stats stats;
	char away[64];
	struct fixture f;
	struct mapping m;

	(void)state;
	start(&f);
	snprintf(away, sizeof(away), "%s.away", f.folder);
	assert_int_equal(peer_table_set(&f.slots[1], list_of(1, 20, WIDTH)), 0);
	map(&f, &m);
	assert_int_equal(rename(f.folder, away), 0);
	for (unsigned i = 0; i < 40; i++)
		change(&f, 1, 20 + 100 * i, 120 + 100 * i, true, 2 + i);
	assert_int_equal(rename(away, f.folder), 0);
	table_share_stats(f.share, &stats);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(stats.files, 1);
	beat_for(&f, SCD_SHARED_TABLE_SILENT_MS + BEAT_MS);
	assert_int_equal(state_of(&m), SCD_SHARED_TABLE_SILENT);
	unmap(&m);
	/* it is not tried again at each change */
	change(&f, 1, 0, 1, false, 100);
	assert_int_equal(stats_of(&f).files, 1);
	still_clock_ms += RETRY_MS;
	change(&f, 1, 1, 2, false, 101);
	assert_int_equal(stats_of(&f).files, 2);
	beat_for(&f, BEAT_MS);
	say_peers(&f, NPEERS);
	assert_true(finds(&f, 1, 2) && !finds(&f, 1, 1));
	stop(&f);
}

/* Only a peer whose list is here may be asked, and has a name that fits. */
static void modules_are_told_of_some_peers(void **state)
{
	char name[SCD_SHARED_TABLE_NAME_BYTES + 1];
	struct peer_digest array = { .users = 1 };
	struct fixture f;
	const struct {
		const char *label;
		struct peerset_peer peer;
		bool shown;
	} rows[] = {
		{ "whole", { .usable = true, .digest = &f.digests[1],
			     .name = "b" }, true },
		{ "not usable", { .digest = &f.digests[1], .name = "b" },
		  false },
		{ "suspect", { .usable = true, .suspect = true,
			       .digest = &f.digests[1], .name = "b" }, false },
		{ "elsewhere", { .usable = true, .sector = { 0, 2 },
				 .digest = &f.digests[1], .name = "b" },
		  false },
		{ "no digest", { .usable = true, .name = "b" }, false },
		{ "an array", { .usable = true, .digest = &array,
				.name = "b" }, false },
		{ "a long name", { .usable = true, .digest = &f.digests[1],
				   .name = name }, false },
	};

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	start(&f);
	assert_int_equal(peer_table_set(&f.slots[1], list_of(1, 20, WIDTH)), 0);
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct peerset_peer peer = rows[i].peer;
		struct peerset *view;

		peer.url = "http://h";
		view = peerset_new(&peer, 1);
		assert_non_null(view);
		table_share_set_view(f.share, view);
		peerset_unref(view);
		if (finds(&f, 1, 0) != rows[i].shown ||
		    stats_of(&f).peers != rows[i].shown)
			fail_msg("%s", rows[i].label);
	}
	stop(&f);
}

/* Nothing is left of what could not be made. */
static void nothing_is_shared_or_all(void **state)
{
	static const struct {
		const char *call;
		int error, wanted;
	} rows[] = {
		{ "getrandom", EINTR, -EIO },
		{ "rename", EACCES, -EACCES },
		{ "open", EMFILE, -EMFILE },
	};
	struct table_share_settings settings = { .path = "table-share" };
	struct table_share *share = NULL;
	struct loop *loop;
	int err = -ENOMEM;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	for (size_t i = 0; i < NROWS(rows); i++) {
		call_fail_at(rows[i].call, 1, rows[i].error);
		assert_int_equal(table_share_new(loop, &settings, &share),
				 rows[i].wanted);
		assert_true(call_failed());
		assert_int_equal(access(settings.path, F_OK), -1);
	}
	call_fail_at("", 0, 0);
	for (unsigned n = 1; err; n++) {
		alloc_fail_at(n);
		err = table_share_new(loop, &settings, &share);
		assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
		alloc_fail_at(0);
		assert_int_equal(access(settings.path, F_OK), err ? -1 : 0);
	}
	table_share_free(&share);
	assert_null(share);
	table_share_free(&share);
	assert_int_equal(unlink(settings.path), 0);
	loop_free(&loop);
}

static void what_cannot_be_made_is_said(void **state)
{
	struct table_share_settings settings = { .path = "none/table" };
	struct table_share *share;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(table_share_new(loop, &settings, &share), -ENOENT);
	settings.group = "no-such-group";
	assert_int_equal(table_share_new(loop, &settings, &share), -ENOENT);
	loop_free(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_in_the_file),
		cmocka_unit_test(lists_are_exchanged),
		cmocka_unit_test(what_stays_is_found_while_the_table_grows),
		cmocka_unit_test(a_list_of_twins_is_refused),
		cmocka_unit_test(a_refused_list_may_go_on),
		cmocka_unit_test(entries_without_room_get_a_larger_file),
		cmocka_unit_test(modules_are_told_of_some_peers),
		cmocka_unit_test(a_table_lives_while_there_are_beats),
		cmocka_unit_test(the_path_is_left_and_taken_back),
		cmocka_unit_test(a_file_that_cannot_be_written_falls_silent),
		cmocka_unit_test(nothing_is_shared_or_all),
		cmocka_unit_test(what_cannot_be_made_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
