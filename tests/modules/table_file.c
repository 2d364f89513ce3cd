/*
 * A table in a file.
 */
#include "tests/modules/table_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec/shared_table_write.h"
#include "tests/os/still_clock.h"
#include "tests/unit.h"

enum { NLINES = SCD__SHARED_TABLE_MIN_LINES, WIDTH = 30 };

char table_file_path[64];

static char folder[32];
static void *memory; /* of the table that was put last; null: none was */

static size_t table_file_bytes(void)
{
	return scd__shared_table_bytes(NLINES);
}

static void table_file_unmap(void)
{
	if (memory)
		munmap(memory, table_file_bytes());
	memory = NULL;
}

void table_file_begin(void)
{
	strcpy(folder, "table-file-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(table_file_path, sizeof(table_file_path), "%s/table", folder);
}

void table_file_end(void)
{
	table_file_unmap();
	unlink(table_file_path);
	assert_int_equal(rmdir(folder), 0);
}

void table_file_put(void)
{
	const struct scd__shared_shape shape = { .nlines = NLINES, .salt = 5 };
	char path[80];
	int fd;

	table_file_unmap();
	snprintf(path, sizeof(path), "%s.new", table_file_path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)table_file_bytes()), 0);
	memory = mmap(NULL, table_file_bytes(), PROT_READ | PROT_WRITE,
		      MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
	scd__shared_table_format(memory, &shape);
	scd__shared_table_set_widths(memory, UINT64_C(1) << WIDTH);
	table_file_beat();
	scd__shared_table_publish(memory);
	assert_int_equal(rename(path, table_file_path), 0);
}

void table_file_beat(void)
{
	scd__shared_table_beat(memory, atomic_load(&still_clock_ms));
}

void table_file_retire(void)
{
	scd__shared_table_retire(memory);
}

void table_file_name(unsigned peer, const char *name, uint32_t rtt_us)
{
	const struct scd__shared_peer about = { name, rtt_us };

	scd__shared_table_set_peer(memory, peer, name ? &about : NULL);
}

void table_file_add(unsigned peer, const char *url)
{
	struct scd_shared_table table;
	struct scd_key key;

	assert_int_equal(scd_shared_table_open(memory, table_file_bytes(),
					       &table), 0);
	assert_int_equal(scd_shared_table_key(&table, url, strlen(url), &key),
			 0);
	assert_int_equal(scd__shared_table_insert(memory, peer, WIDTH,
						  scd_fingerprint(&key,
								  WIDTH)), 0);
}
