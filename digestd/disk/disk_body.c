/*
 * Blocks and their checksums.
 */
#include "digestd/disk/disk_body.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

#include "codec/cursor.h"

enum { SUM_BYTES = 8 };

/* Between the seeds of an object's blocks; odd, so that no two are the same. */
static const uint64_t SEED_STEP = 0x9e3779b97f4a7c15;

uint64_t disk_block_sum(uint64_t id, uint64_t block, const void *bytes,
			size_t len)
{
	return XXH3_64bits_withSeed(bytes, len, id ^ block * SEED_STEP);
}

uint64_t disk_blocks(uint64_t len)
{
	return len ? (len - 1) / DISK_BLOCK_BYTES + 1 : 1;
}

size_t disk_block_bytes(uint64_t len, uint64_t block)
{
	uint64_t left = len - block * DISK_BLOCK_BYTES;

	assert(block < disk_blocks(len));
	return (size_t)(left < DISK_BLOCK_BYTES ? left : DISK_BLOCK_BYTES);
}

uint64_t disk_body_sum(const struct disk_body *body, uint64_t block)
{
	struct scd__reader r =
		scd__reader(body->sums + block * SUM_BYTES, SUM_BYTES);

	return scd__read_u64(&r);
}

uint8_t *disk_body_sums(uint64_t id, const void *bytes, uint64_t len)
{
	uint64_t n = disk_blocks(len);
	uint8_t *sums = malloc((size_t)n * SUM_BYTES);
	struct scd__writer w;

	assert(bytes || !len);
	if (!sums)
		return NULL;
	w = scd__writer(sums, (size_t)n * SUM_BYTES);
	for (uint64_t i = 0; i < n; i++) {
		/* an empty body is null */
		const char *block = i ? (const char *)bytes +
						i * DISK_BLOCK_BYTES :
					bytes;

		scd__write_u64(&w, disk_block_sum(id, i, block,
						  disk_block_bytes(len, i)));
	}
	return sums;
}
