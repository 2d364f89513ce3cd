/*
 * The only file that knows LMDB. Keys are big-endian, so that their order is
 * that of the numbers.
 */
#include "digestd/disk/disk_index.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codec/cursor.h"
#include "digestd/disk/disk_record.h"

enum {
	KEY_BYTES = 8,
	COPY_BATCH = 4096, /* records in a commit; dirty pages are in memory */
	MAX_READERS = 32,
	LOCK_BYTES = 8192, /* more than so many readers take */
	PATH_BYTES = PATH_MAX,
};

#define FILE_NAME "index.mdb"

struct disk_index {
	char *path;
	unsigned flags;
	MDB_env *env; /* null: it could not be opened again */
	MDB_dbi dbi;
	MDB_txn *batch;
	size_t max_bytes;
	pthread_rwlock_t mapped; /* read: by reads; written: by growing and
				    opening again, which move the map under
				    them */
};

static int disk_index_error_of(int rc)
{
	switch (rc) {
	case MDB_SUCCESS:
		return 0;
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_PANIC:
		return -EAGAIN;
	case MDB_MAP_FULL:
	case MDB_TXN_FULL:
		return -ENOSPC;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
	case MDB_INCOMPATIBLE:
	case MDB_CURSOR_FULL:
		return -EBADMSG;
	}
	return rc > 0 ? -rc : -EIO;
}

static MDB_val disk_index_key_of(uint64_t id, uint8_t bytes[KEY_BYTES])
{
	struct scd__writer w = scd__writer(bytes, KEY_BYTES);

	scd__write_be32(&w, (uint32_t)(id >> 32));
	scd__write_be32(&w, (uint32_t)id);
	return (MDB_val){ KEY_BYTES, bytes };
}

/* 0 is nobody's number. */
static uint64_t disk_index_id_of(const MDB_val *key)
{
	struct scd__reader r = scd__reader(key->mv_data, key->mv_size);
	uint64_t high = scd__read_be32(&r);
	uint64_t low = scd__read_be32(&r);

	return r.error || scd__reader_left(&r) ? 0 : high << 32 | low;
}

static int disk_index_path_of(const char *folder, const char *suffix,
			      char *path)
{
	int n = snprintf(path, PATH_BYTES, "%s/" FILE_NAME "%s", folder,
			 suffix);

	return n < 0 || n >= PATH_BYTES ? -ENAMETOOLONG : 0;
}

/* Who grows would else wait for ever behind reads that overlap. */
static void disk_index_init_lock(struct disk_index *index)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&index->mapped, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static int disk_index_open_env(struct disk_index *index)
{
	MDB_txn *txn;
	int rc = mdb_env_create(&index->env);

	if (!rc)
		rc = mdb_env_set_mapsize(index->env, index->max_bytes);
	if (!rc)
		rc = mdb_env_set_maxreaders(index->env, MAX_READERS);
	if (!rc)
		rc = mdb_env_open(index->env, index->path,
				  MDB_NOSUBDIR | index->flags, 0600);
	if (!rc)
		rc = mdb_txn_begin(index->env, NULL, index->flags & MDB_RDONLY,
				   &txn);
	if (rc)
		return disk_index_error_of(rc);
	rc = mdb_dbi_open(txn, NULL, 0, &index->dbi);
	if (rc) {
		mdb_txn_abort(txn);
		return disk_index_error_of(rc);
	}
	return disk_index_error_of(mdb_txn_commit(txn));
}

static void disk_index_close_env(struct disk_index *index)
{
	if (index->env)
		mdb_env_close(index->env);
	index->env = NULL;
}

static int disk_index_open_index(const char *path, size_t max_bytes,
				 unsigned flags, struct disk_index **out)
{
	struct disk_index *index = calloc(1, sizeof(*index));
	int err;

	if (!index)
		return -ENOMEM;
	disk_index_init_lock(index);
	index->max_bytes = max_bytes;
	index->flags = flags;
	index->path = strdup(path);
	err = index->path ? disk_index_open_env(index) : -ENOMEM;
	if (err)
		disk_index_close(&index);
	else
		*out = index;
	return err;
}

/* LMDB maps its lock file: without room for it, it would die of a signal. */
static int disk_index_reserve_lock(const char *folder)
{
	char path[PATH_BYTES];
	int err = disk_index_path_of(folder, "-lock", path), fd;

	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = -posix_fallocate(fd, 0, LOCK_BYTES);
	close(fd);
	return err;
}

int disk_index_open(const char *folder, size_t max_bytes,
		    struct disk_index **out)
{
	char path[PATH_BYTES];
	int err;

	assert(folder && max_bytes);
	err = disk_index_path_of(folder, "", path);
	if (!err)
		err = disk_index_reserve_lock(folder);
	return err ? err
		   : disk_index_open_index(path, max_bytes,
					   MDB_NOTLS | MDB_NOMETASYNC, out);
}

int disk_index_grow(struct disk_index *index, size_t max_bytes)
{
	int err;

	if (max_bytes <= index->max_bytes)
		return 0;
	pthread_rwlock_wrlock(&index->mapped);
	err = -EAGAIN;
	if (index->env)
		err = disk_index_error_of(
			mdb_env_set_mapsize(index->env, max_bytes));
	pthread_rwlock_unlock(&index->mapped);
	if (!err)
		index->max_bytes = max_bytes;
	return err;
}

void disk_index_close(struct disk_index **index)
{
	if (!*index)
		return;
	disk_index_give_up(*index);
	disk_index_close_env(*index);
	pthread_rwlock_destroy(&(*index)->mapped);
	free((*index)->path);
	free(*index);
	*index = NULL;
}

static void disk_index_remove_files(const char *folder, const char *suffix)
{
	char path[PATH_BYTES], name[32];

	if (!disk_index_path_of(folder, suffix, path))
		unlink(path);
	snprintf(name, sizeof(name), "%s-lock", suffix);
	if (!disk_index_path_of(folder, name, path))
		unlink(path);
}

void disk_index_remove(const char *folder)
{
	disk_index_remove_files(folder, "");
}

/* Batches */

static int disk_index_open_again(struct disk_index *index)
{
	int err;

	pthread_rwlock_wrlock(&index->mapped);
	disk_index_close_env(index);
	err = disk_index_open_env(index);
	if (err)
		disk_index_close_env(index);
	pthread_rwlock_unlock(&index->mapped);
	return err;
}

/* After an error of writing its first pages LMDB does nothing more until it is
 * opened again: a disk that was full for a moment would end the tier. */
int disk_index_begin(struct disk_index *index)
{
	int rc, err;

	assert(!index->batch);
	rc = index->env ? mdb_txn_begin(index->env, NULL, 0, &index->batch) :
			  MDB_PANIC;
	if (rc != MDB_PANIC)
		return disk_index_error_of(rc);
	err = disk_index_open_again(index);
	return err ? err
		   : disk_index_error_of(
			     mdb_txn_begin(index->env, NULL, 0, &index->batch));
}

static int disk_disk_index_put(struct disk_index *index, uint64_t id,
			       MDB_val value, unsigned flags)
{
	uint8_t bytes[KEY_BYTES];
	MDB_val key = disk_index_key_of(id, bytes);

	return disk_index_error_of(
		mdb_put(index->batch, index->dbi, &key, &value, flags));
}

int disk_index_put(struct disk_index *index, uint64_t id, const void *bytes,
		   size_t len)
{
	assert(index->batch);
	assert(id && len);
	/* the library takes it as writable, but only reads it */
	return disk_disk_index_put(index, id,
				   (MDB_val){len, (void *)(uintptr_t)bytes}, 0);
}

int disk_index_remove_id(struct disk_index *index, uint64_t id)
{
	uint8_t bytes[KEY_BYTES];
	MDB_val key = disk_index_key_of(id, bytes);
	int rc;

	assert(index->batch);
	rc = mdb_del(index->batch, index->dbi, &key, NULL);
	return rc == MDB_NOTFOUND ? 0 : disk_index_error_of(rc);
}

int disk_index_commit(struct disk_index *index)
{
	MDB_txn *batch = index->batch;

	assert(batch);
	index->batch = NULL; /* it is gone in any case */
	return disk_index_error_of(mdb_txn_commit(batch));
}

void disk_index_give_up(struct disk_index *index)
{
	if (index->batch)
		mdb_txn_abort(index->batch);
	index->batch = NULL;
}

/* Reading */

static int disk_disk_index_get(struct disk_index *index, uint64_t id,
			       uint8_t **bytes, size_t *len)
{
	uint8_t number[KEY_BYTES];
	MDB_val key = disk_index_key_of(id, number), value;
	MDB_txn *txn;
	int rc = index->env ? mdb_txn_begin(index->env, NULL, MDB_RDONLY,
					    &txn) : MDB_PANIC;

	if (rc)
		return disk_index_error_of(rc);
	rc = mdb_get(txn, index->dbi, &key, &value);
	if (!rc) {
		*bytes = malloc(value.mv_size ? value.mv_size : 1);
		rc = *bytes ? 0 : ENOMEM;
	}
	if (!rc) {
		memcpy(*bytes, value.mv_data, value.mv_size);
		*len = value.mv_size;
	}
	mdb_txn_abort(txn);
	return disk_index_error_of(rc);
}

int disk_index_get(struct disk_index *index, uint64_t id, uint8_t **bytes,
		   size_t *len)
{
	int err;

	assert(id);
	pthread_rwlock_rdlock(&index->mapped);
	err = disk_disk_index_get(index, id, bytes, len);
	pthread_rwlock_unlock(&index->mapped);
	return err;
}

/* Numbers that do not ascend are those of a tree that was damaged, in which a
 * walk might not end. */
static int disk_index_walk(MDB_cursor *cursor,
			   int (*each)(void *arg, uint64_t id,
				       const uint8_t *bytes, size_t len),
			   void *arg)
{
	MDB_val key, value;
	uint64_t last = 0;
	int err, rc;

	while (!(rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
		uint64_t id = disk_index_id_of(&key);

		if (id <= last)
			return -EBADMSG;
		last = id;
		err = each(arg, id, value.mv_data, value.mv_size);
		if (err)
			return err;
	}
	return rc == MDB_NOTFOUND ? 0 : disk_index_error_of(rc);
}

int disk_index_each(struct disk_index *index,
		    int (*each)(void *arg, uint64_t id, const uint8_t *bytes,
				size_t len),
		    void *arg)
{
	MDB_cursor *cursor;
	MDB_txn *txn;
	int err;

	assert(each && !index->batch);
	err = disk_index_error_of(
		mdb_txn_begin(index->env, NULL, MDB_RDONLY, &txn));
	if (err)
		return err;
	err = disk_index_error_of(mdb_cursor_open(txn, index->dbi, &cursor));
	if (!err) {
		err = disk_index_walk(cursor, each, arg);
		mdb_cursor_close(cursor);
	}
	mdb_txn_abort(txn);
	return err;
}

/* Healing */

/* What the process that copies says with its exit code. */
enum { COPIED, DAMAGED, NO_ROOM, FAILED };

struct copy {
	struct disk_index *to;
	unsigned batch; /* records in it */
	bool damaged;
	int err; /* of writing */
};

static void disk_index_write_copy(struct copy *copy, uint64_t id,
				  MDB_val record)
{
	if (!copy->to->batch)
		copy->err = disk_index_begin(copy->to);
	if (!copy->err)
		copy->err =
			disk_disk_index_put(copy->to, id, record, MDB_APPEND);
	if (!copy->err && ++copy->batch % COPY_BATCH == 0)
		copy->err = disk_index_commit(copy->to);
	if (copy->err)
		disk_index_give_up(copy->to);
}

/* After an error of writing it goes on, to know what the old one is worth. */
static int disk_index_copy_record(void *arg, uint64_t id, const uint8_t *bytes,
				  size_t len)
{
	struct copy *copy = arg;

	if (!disk_record_is_good(id, bytes, len))
		copy->damaged = true;
	else if (!copy->err)
		disk_index_write_copy(copy, id,
				      (MDB_val){len, (void *)(uintptr_t)bytes});
	return 0;
}

/* Whether the old one could not be read for want of something: that says
 * nothing of what is in it. */
static bool disk_index_is_want(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ||
	       err == -EACCES || err == -EAGAIN;
}

static int disk_index_copy_all(struct disk_index *from, struct disk_index *to)
{
	struct copy copy = { .to = to };
	int err = disk_index_each(from, disk_index_copy_record, &copy);

	if (disk_index_is_want(err))
		return FAILED;
	if (err)
		copy.damaged = true;
	if (!copy.err && to->batch)
		copy.err = disk_index_commit(to);
	if (!copy.err)
		copy.err = disk_index_error_of(mdb_env_sync(to->env, 1));
	if (copy.err && !copy.damaged)
		return copy.err == -ENOSPC ? NO_ROOM : FAILED;
	return copy.damaged ? DAMAGED : COPIED;
}

/* The new file is there before the old one is read: a crash leaves what has
 * been committed to it. */
static int disk_index_copy_in_child(const char *folder, size_t max_bytes)
{
	char from_path[PATH_BYTES], to_path[PATH_BYTES];
	struct disk_index *from, *to;
	int err;

	if (disk_index_path_of(folder, "", from_path) ||
	    disk_index_path_of(folder, ".new", to_path))
		return FAILED;
	err = disk_index_open_index(to_path, max_bytes, MDB_NOSYNC | MDB_NOLOCK,
				    &to);
	if (err)
		return err == -ENOSPC ? NO_ROOM : FAILED;
	err = disk_index_open_index(from_path, max_bytes,
				    MDB_RDONLY | MDB_NOLOCK, &from);
	if (err)
		return disk_index_is_want(err) ? FAILED : DAMAGED;
	return disk_index_copy_all(from, to);
}

static int disk_index_wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return FAILED;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) <= FAILED ?
		       WEXITSTATUS(status) :
		       DAMAGED; /* it has crashed */
}

static int disk_index_put_in_place(const char *folder)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int err = disk_index_path_of(folder, ".new", from);

	if (!err)
		err = disk_index_path_of(folder, "", to);
	if (err)
		return err;
	return rename(from, to) ? -errno : 0;
}

/* The lock of the folder is the child's too: it must not outlive its parent. */
static void disk_index_copy_and_exit(const char *folder, size_t max_bytes,
				     pid_t parent)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* whatever the parent would make of them */
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		signal(fatal[i], SIG_DFL);
	_exit(getppid() == parent ? disk_index_copy_in_child(folder, max_bytes)
				  : FAILED);
}

int disk_index_heal(const char *folder, size_t max_bytes)
{
	char path[PATH_BYTES];
	int err = disk_index_path_of(folder, "", path), outcome;
	pid_t parent = getpid(), child;

	if (err || access(path, F_OK))
		return err;
	disk_index_remove_files(folder, ".new");
	child = fork();
	if (child < 0)
		return -errno;
	if (!child)
		disk_index_copy_and_exit(folder, max_bytes, parent);
	outcome = disk_index_wait_for(child);
	if (outcome == COPIED || outcome == DAMAGED)
		err = disk_index_put_in_place(folder);
	else
		err = outcome == NO_ROOM ? -ENOSPC : -EIO;
	disk_index_remove_files(folder, ".new");
	return err ? err : outcome == DAMAGED;
}
