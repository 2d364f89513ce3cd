/*
 * The files of a cache folder.
 */
#include "digestd/sidecar/nginx_files.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/sidecar/holdings.h"
#include "digestd/store/key_table.h"

enum { NGINX_FILES_BATCH = 256 }; /* that are removed after a walk */

struct nginx_file {
	struct scd_key key;
	int64_t valid_s;
	uint32_t seen; /* the reading that has last seen it */
	uint32_t held; /* its key counts in the holdings */
};

struct nginx_files {
	struct holdings *holdings;
	struct key_table *table; /* of struct nginx_file */
	uint32_t reading;
	uint64_t part; /* the next that nginx_files_expire() looks at */
};

int nginx_files_new(struct holdings *holdings, uint64_t max_files,
		    struct nginx_files **out)
{
	struct nginx_files *f = calloc(1, sizeof(*f));

	assert(holdings && max_files);
	if (!f)
		return -ENOMEM;
	f->holdings = holdings;
	if (key_table_new(&f->table, sizeof(struct nginx_file), max_files)) {
		free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}

void nginx_files_free(struct nginx_files **f)
{
	if (!*f)
		return;
	key_table_free(&(*f)->table);
	free(*f);
	*f = NULL;
}

static int nginx_files_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool nginx_files_name(const char *text, struct scd_key *name)
{
	uint64_t words[2] = { 0, 0 };

	for (unsigned i = 0; i < NGINX_NAME_LEN; i++) {
		int digit = nginx_files_digit(text[i]);

		if (digit < 0)
			return false;
		words[i / 16] = words[i / 16] << 4 | (unsigned)digit;
	}
	*name = (struct scd_key){ words[0], words[1] };
	return !text[NGINX_NAME_LEN];
}

bool nginx_files_have(const struct nginx_files *f, const struct scd_key *name)
{
	return key_table_find(f->table, name);
}

uint64_t nginx_files_count(const struct nginx_files *f)
{
	return key_table_count(f->table);
}

/* Ends what a file counts for. With the lock of the holdings. */
static void nginx_files_end_holding(struct nginx_files *f,
				    struct nginx_file *file)
{
	if (file->held)
		holdings_drop(f->holdings, &file->key);
	file->held = false;
}

static bool nginx_files_is_key(const struct nginx_file *file,
			       const struct scd_key *key)
{
	return file->key.lo == key->lo && file->key.hi == key->hi;
}

/* With the lock of the holdings. */
static void nginx_files_set(struct nginx_files *f, struct nginx_file *file,
			    const struct holdings_key *key, bool fresh)
{
	if (!fresh || !nginx_files_is_key(file, &key->own))
		nginx_files_end_holding(f, file);
	file->key = key->own;
	if (fresh && !file->held)
		file->held = holdings_take(f->holdings, key);
}

bool nginx_files_put(struct nginx_files *f, const struct scd_key *name,
		     const struct holdings_key *key, int64_t valid_s,
		     int64_t now_s)
{
	struct nginx_file *file = key_table_find(f->table, name);
	void *value;

	if (!file && key_table_add(f->table, name, &value))
		return false;
	if (!file)
		file = value;
	holdings_lock(f->holdings);
	nginx_files_set(f, file, key, valid_s > now_s);
	holdings_unlock(f->holdings);
	file->valid_s = valid_s;
	file->seen = f->reading;
	return file->held || valid_s <= now_s;
}

void nginx_files_remove(struct nginx_files *f, const struct scd_key *name)
{
	struct nginx_file *file = key_table_find(f->table, name);

	if (!file)
		return;
	holdings_lock(f->holdings);
	nginx_files_end_holding(f, file);
	holdings_unlock(f->holdings);
	key_table_remove(f->table, name);
}

static void nginx_files_end_one(void *arg, const struct scd_key *name,
				void *value)
{
	(void)name;
	nginx_files_end_holding(arg, value);
}

void nginx_files_clear(struct nginx_files *f)
{
	const struct keypart all = { .count = 1 };

	holdings_lock(f->holdings);
	key_table_walk(f->table, &all, nginx_files_end_one, f);
	holdings_unlock(f->holdings);
	key_table_clear(f->table);
}

/* A walk for what has gone stale. */
struct nginx_files_sweep {
	struct nginx_files *f;
	int64_t now_s;
	uint64_t n;
};

static void nginx_files_expire_one(void *arg, const struct scd_key *name,
				   void *value)
{
	struct nginx_files_sweep *sweep = arg;
	struct nginx_file *file = value;

	(void)name;
	if (!file->held || file->valid_s > sweep->now_s)
		return;
	nginx_files_end_holding(sweep->f, file);
	sweep->n++;
}

uint64_t nginx_files_expire(struct nginx_files *f, unsigned parts,
			    int64_t now_s)
{
	struct nginx_files_sweep sweep = { f, now_s, 0 };
	const uint64_t count = key_table_parts(f->table);
	uint64_t left = (count + parts - 1) / parts;

	for (; left; left--) {
		const struct keypart part = { f->part & (count - 1), count };

		holdings_lock(f->holdings);
		key_table_walk(f->table, &part, nginx_files_expire_one,
			       &sweep);
		holdings_unlock(f->holdings);
		f->part++;
	}
	return sweep.n;
}

/* Readings */

void nginx_files_begin_reading(struct nginx_files *f)
{
	f->reading++;
}

bool nginx_files_see(struct nginx_files *f, const struct scd_key *name)
{
	struct nginx_file *file = key_table_find(f->table, name);

	if (file)
		file->seen = f->reading;
	return file;
}

/* Files that a reading has not seen. */
struct nginx_files_unseen {
	uint32_t reading;
	size_t n;
	struct scd_key names[NGINX_FILES_BATCH];
};

static void nginx_files_note_unseen(void *arg, const struct scd_key *name,
				    void *value)
{
	struct nginx_files_unseen *unseen = arg;
	const struct nginx_file *file = value;

	if (file->seen != unseen->reading && unseen->n < NGINX_FILES_BATCH)
		unseen->names[unseen->n++] = *name;
}

uint64_t nginx_files_end_reading(struct nginx_files *f)
{
	struct keypart part = { 0, key_table_parts(f->table) };
	struct nginx_files_unseen unseen = { .reading = f->reading };
	uint64_t removed = 0;

	while (part.number < part.count) {
		unseen.n = 0;
		key_table_walk(f->table, &part, nginx_files_note_unseen,
			       &unseen);
		for (size_t i = 0; i < unseen.n; i++)
			nginx_files_remove(f, &unseen.names[i]);
		removed += unseen.n;
		if (unseen.n < NGINX_FILES_BATCH)
			part.number++;
	}
	return removed;
}
