/*
 * See compact.h. Where the columns lie follows from the counts in the header:
 * one function lays them out, for writing and for mapping.
 */
#include "cachesim/sim/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	VERSION = 1,
	ALIGN = 64, /* every column begins at a multiple */
	COLUMNS = 12,
	HAS_TIME = 1,
	HAS_CLIENT = 2,
	HAS_ADDRESS = 4,
};

static const char magic[8] = "\x89SCDT\r\n\x1a";
static const uint64_t requests_max = (uint64_t)1 << 48;

struct header {
	char magic[8];
	uint32_t version, has; /* HAS_... */
	uint64_t nrequests, nchanges;
	uint32_t nobjects, nclients;
	uint64_t bytes, unique_bytes, bad;
	int64_t first_ms;
	uint64_t body_checksum; /* of all behind the header */
	uint64_t npasses;
	uint64_t zero[4];
	uint64_t checksum; /* of the header before this field */
};

_Static_assert(sizeof(struct header) == 128, "as the format has it");
_Static_assert(sizeof(struct sim_address) == 16, "as the format has it");

static bool compact_little_endian(void)
{
	const uint16_t one = 1;
	uint8_t first;

	memcpy(&first, &one, 1);
	return first == 1;
}

struct place {
	uint64_t at, bytes; /* of a column, from the file's beginning */
};

/* Where the columns lie. Returns the length of the file. */
static uint64_t compact_lay_out(const struct header *h,
				struct place place[COLUMNS])
{
	const uint64_t bytes[COLUMNS] = {
		4 * h->nrequests,
		h->has & HAS_TIME ? 4 * h->nrequests : 0,
		h->has & HAS_CLIENT ? 4 * h->nrequests : 0,
		4 * (uint64_t)h->nobjects,
		8 * (uint64_t)h->nobjects,
		h->has & HAS_CLIENT ? 8 * (uint64_t)h->nclients : 0,
		h->has & HAS_ADDRESS ? 16 * (uint64_t)h->nclients : 0,
		8 * h->nchanges,
		4 * h->nchanges,
		8 * h->npasses,
		4 * h->npasses,
		h->has & HAS_CLIENT ? 4 * h->npasses : 0,
	};
	uint64_t at = sizeof(*h);

	for (int i = 0; i < COLUMNS; i++) {
		place[i] = (struct place){ at, bytes[i] };
		at += (bytes[i] + ALIGN - 1) / ALIGN * ALIGN;
	}
	return at;
}

/* The columns of a trace in the order of the file. */
static void compact_columns_of(const struct sim_trace *t,
			       const void *out[COLUMNS])
{
	out[0] = t->object;
	out[1] = t->time;
	out[2] = t->client;
	out[3] = t->size;
	out[4] = t->hash;
	out[5] = t->client_hash;
	out[6] = t->address;
	out[7] = t->change;
	out[8] = t->change_size;
	out[9] = t->pass;
	out[10] = t->pass_size;
	out[11] = t->pass_client;
}

static uint64_t compact_header_checksum(const struct header *h)
{
	return XXH3_64bits(h, offsetof(struct header, checksum));
}

static void compact_fill_header(const struct sim_trace *t, struct header *h)
{
	*h = (struct header){
		.version = VERSION,
		.has = (t->time ? HAS_TIME : 0u) |
		       (t->client ? HAS_CLIENT : 0u) |
		       (t->address ? HAS_ADDRESS : 0u),
		.nrequests = t->nrequests,
		.nchanges = t->nchanges,
		.nobjects = t->nobjects,
		.nclients = t->client ? t->nclients : 0,
		.bytes = t->totals.bytes,
		.unique_bytes = t->totals.unique_bytes,
		.bad = t->totals.bad,
		.first_ms = t->totals.first_ms,
		.npasses = t->npasses,
	};
	memcpy(h->magic, magic, sizeof(magic));
}

/* Takes bytes one after the other; nonzero ends it. */
typedef int sink(void *arg, const void *data, size_t len);

static int compact_write_file(void *arg, const void *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len ? 0 : TRACE_EIO;
}

static int compact_add_checksum(void *arg, const void *data, size_t len)
{
	return XXH3_64bits_update(arg, data, len) == XXH_OK ? 0 : TRACE_ENOMEM;
}

/* Gives every column and the zeros behind it. */
static int compact_give_body(const struct sim_trace *t, const struct header *h,
			     sink *to, void *arg)
{
	static const uint8_t zeros[ALIGN];
	struct place place[COLUMNS];
	const void *column[COLUMNS];
	int err = 0;

	compact_lay_out(h, place);
	compact_columns_of(t, column);
	for (int i = 0; i < COLUMNS && !err; i++) {
		if (place[i].bytes)
			err = to(arg, column[i], (size_t)place[i].bytes);
		if (!err && place[i].bytes % ALIGN)
			err = to(arg, zeros, ALIGN - place[i].bytes % ALIGN);
	}
	return err;
}

static int compact_write_all(const struct sim_trace *t, FILE *f)
{
	XXH3_state_t *sum = XXH3_createState();
	struct header h;
	int err;

	if (!sum)
		return TRACE_ENOMEM;
	compact_fill_header(t, &h);
	XXH3_64bits_reset(sum);
	err = compact_give_body(t, &h, compact_add_checksum, sum);
	h.body_checksum = XXH3_64bits_digest(sum);
	h.checksum = compact_header_checksum(&h);
	XXH3_freeState(sum);
	if (!err)
		err = compact_write_file(f, &h, sizeof(h));
	if (!err)
		err = compact_give_body(t, &h, compact_write_file, f);
	if (!err && fflush(f))
		err = TRACE_EIO;
	return err;
}

/* Writes beside the file and puts it in its place, or leaves nothing. */
static int compact_replace(const struct sim_trace *t, const char *path,
			   char *beside)
{
	int fd = mkstemp(beside), err = TRACE_EIO, saved;
	FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;

	if (fd < 0)
		return TRACE_EIO;
	/* mkstemp makes it private; a trace is as any other file */
	if (f && fchmod(fd, 0644) == 0)
		err = compact_write_all(t, f);
	if (!f)
		close(fd);
	else if (fclose(f) && !err)
		err = TRACE_EIO;
	if (!err && rename(beside, path))
		err = TRACE_EIO;
	saved = errno;
	if (err)
		unlink(beside);
	errno = saved;
	return err;
}

int sim_compact_write(const struct sim_trace *t, const char *path)
{
	static const char suffix[] = ".XXXXXX";
	size_t len = strlen(path);
	char *beside;
	int err;

	if (!compact_little_endian())
		return TRACE_EUNKNOWN;
	if (!strcmp(path, "-"))
		return compact_write_all(t, stdout);
	beside = malloc(len + sizeof(suffix));
	if (!beside)
		return TRACE_ENOMEM;
	memcpy(beside, path, len);
	memcpy(beside + len, suffix, sizeof(suffix));
	err = compact_replace(t, path, beside);
	free(beside);
	return err;
}

bool sim_compact_is(const char *path)
{
	char first[sizeof(magic)];
	struct stat st;
	bool is;
	int fd;

	/* a pipe must not be opened twice: its writer would see it closed */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is = read(fd, first, sizeof(first)) == (ssize_t)sizeof(first) &&
	     !memcmp(first, magic, sizeof(magic));
	close(fd);
	return is;
}

static bool compact_not_falling(const uint64_t *column, uint64_t n,
				uint64_t most)
{
	for (uint64_t i = 0; i < n; i++)
		if (column[i] > most || (i && column[i] < column[i - 1]))
			return false;
	return true;
}

/* Every number in a column is below the limit. */
static bool compact_all_below(const uint32_t *column, uint64_t n,
			      uint32_t limit)
{
	uint32_t most = 0;

	for (uint64_t i = 0; column && i < n; i++)
		most = column[i] > most ? column[i] : most;
	return n == 0 || !column || most < limit;
}

static bool compact_none_zero(const uint32_t *column, uint64_t n)
{
	uint32_t least = UINT32_MAX;

	for (uint64_t i = 0; i < n; i++)
		least = column[i] < least ? column[i] : least;
	return least > 0;
}

static bool compact_rising(const uint64_t *column, uint64_t n, uint64_t limit)
{
	for (uint64_t i = 0; i < n; i++)
		if (column[i] >= limit || (i && column[i] <= column[i - 1]))
			return false;
	return true;
}

static int compact_check_header(const struct header *h)
{
	if (memcmp(h->magic, magic, sizeof(magic)) || h->version != VERSION)
		return TRACE_EUNKNOWN;
	if (h->checksum != compact_header_checksum(h) ||
	    h->nrequests > requests_max || h->npasses > requests_max ||
	    h->nobjects > h->nrequests ||
	    h->nclients > h->nrequests + h->npasses ||
	    h->nchanges > h->nrequests ||
	    h->has > (HAS_TIME | HAS_CLIENT | HAS_ADDRESS) ||
	    (h->nclients && !(h->has & HAS_CLIENT)) ||
	    (h->has & HAS_ADDRESS && !(h->has & HAS_CLIENT)))
		return TRACE_ECOMPACT;
	for (size_t i = 0; i < sizeof(h->zero) / sizeof(h->zero[0]); i++)
		if (h->zero[i])
			return TRACE_ECOMPACT;
	return 0;
}

/* A column in the mapped file; null: the trace does not have it. */
static const void *compact_column_at(const struct sim_trace *t, struct place p,
				     bool has)
{
	return has ? (const uint8_t *)t->map + p.at : NULL;
}

static void compact_point(struct sim_trace *t, const struct header *h,
			  const struct place place[COLUMNS])
{
	bool client = h->has & HAS_CLIENT;

	t->nrequests = h->nrequests;
	t->nchanges = h->nchanges;
	t->npasses = h->npasses;
	t->nobjects = h->nobjects;
	t->nclients = h->nclients;
	t->totals = (struct sim_totals){ h->bytes, h->unique_bytes, h->bad,
					 h->first_ms };
	t->object = compact_column_at(t, place[0], true);
	t->time = compact_column_at(t, place[1], h->has & HAS_TIME);
	t->client = compact_column_at(t, place[2], client);
	t->size = compact_column_at(t, place[3], true);
	t->hash = compact_column_at(t, place[4], true);
	t->client_hash = compact_column_at(t, place[5], client);
	t->address = compact_column_at(t, place[6], h->has & HAS_ADDRESS);
	t->change = compact_column_at(t, place[7], true);
	t->change_size = compact_column_at(t, place[8], true);
	t->pass = compact_column_at(t, place[9], true);
	t->pass_size = compact_column_at(t, place[10], true);
	t->pass_client = compact_column_at(t, place[11], client);
}

static int compact_check_body(const struct sim_trace *t, const struct header *h,
			      bool checksum)
{
	const uint8_t *body = (const uint8_t *)t->map + sizeof(*h);

	if (!compact_all_below(t->object, t->nrequests, t->nobjects) ||
	    !compact_all_below(t->client, t->nrequests, t->nclients) ||
	    !compact_none_zero(t->size, t->nobjects) ||
	    !compact_none_zero(t->change_size, t->nchanges) ||
	    !compact_rising(t->change, t->nchanges, t->nrequests) ||
	    !compact_not_falling(t->pass, t->npasses, t->nrequests) ||
	    !compact_all_below(t->pass_client, t->npasses, t->nclients))
		return TRACE_ECOMPACT;
	if (checksum && XXH3_64bits(body, t->map_bytes - sizeof(*h)) !=
				h->body_checksum)
		return TRACE_ECOMPACT;
	return 0;
}

static int compact_map_file(struct sim_trace *t, int fd, bool checksum)
{
	struct place place[COLUMNS];
	const struct header *h;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return TRACE_EIO;
	if (st.st_size < (off_t)sizeof(*h))
		return TRACE_ECOMPACT;
	t->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (t->map == MAP_FAILED) {
		t->map = NULL;
		return TRACE_EIO;
	}
	t->map_bytes = (size_t)st.st_size;
	h = t->map;
	err = compact_check_header(h);
	if (!err && compact_lay_out(h, place) != t->map_bytes)
		err = TRACE_ECOMPACT;
	if (err)
		return err;
	/* a hint; replaying goes from front to back, too */
	madvise(t->map, t->map_bytes, MADV_SEQUENTIAL);
	compact_point(t, h, place);
	return compact_check_body(t, h, checksum);
}

int sim_compact_map(struct sim_trace *out, const char *path, bool checksum)
{
	int fd, err, saved;

	memset(out, 0, sizeof(*out));
	if (!compact_little_endian())
		return TRACE_EUNKNOWN;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return TRACE_EIO;
	err = compact_map_file(out, fd, checksum);
	saved = errno;
	close(fd);
	if (err)
		sim_trace_free(out);
	errno = saved;
	return err;
}
