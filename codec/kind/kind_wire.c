/*
 * The wire of those kinds that have no format of their own.
 */
#include "codec/kind/kind_wire.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codec/cursor.h"
#include "codec/error.h"

enum { SUM_AT = 24 };

static const uint8_t magic[3] = {'S', 'C', 'K'};

/* The header's fields are the seed of the body's sum. */
static uint64_t kind_wire_checksum(const uint8_t *wire, size_t body_len)
{
	return XXH64(wire + SCD__KIND_HEADER_BYTES, body_len,
		     XXH64(wire, SUM_AT, 0));
}

uint8_t *scd__kind_wire_new(size_t body_len)
{
	return calloc(1, SCD__KIND_HEADER_BYTES + body_len);
}

void scd__kind_wire_seal(uint8_t *wire, size_t body_len,
			 const struct scd__kind_header *header)
{
	static const uint8_t zeros[3];
	struct scd__writer w = scd__writer(wire, SCD__KIND_HEADER_BYTES);

	scd__write_bytes(&w, magic, sizeof(magic));
	scd__write_u8(&w, header->letter);
	scd__write_u8(&w, header->parameter);
	scd__write_bytes(&w, zeros, sizeof(zeros));
	scd__write_u64(&w, header->nkeys);
	scd__write_u64(&w, header->size);
	scd__write_u64(&w, kind_wire_checksum(wire, body_len));
}

int scd__kind_wire_open(const uint8_t *in, size_t len,
			struct scd__kind_header *header)
{
	static const uint8_t zeros[3];
	struct scd__reader r = scd__reader(in, len);
	struct scd__kind_header found;
	const uint8_t *begin, *unused;

	if (len < SCD__KIND_HEADER_BYTES)
		return SCD_ETRUNC;
	begin = scd__read_bytes(&r, sizeof(magic));
	found.letter = scd__read_u8(&r);
	found.parameter = scd__read_u8(&r);
	unused = scd__read_bytes(&r, sizeof(zeros));
	found.nkeys = scd__read_u64(&r);
	found.size = scd__read_u64(&r);
	if (memcmp(begin, magic, sizeof(magic)) != 0 ||
	    found.letter != header->letter ||
	    memcmp(unused, zeros, sizeof(zeros)) != 0)
		return SCD_EFORMAT;
	if (scd__read_u64(&r) !=
	    kind_wire_checksum(in, len - SCD__KIND_HEADER_BYTES))
		return SCD_ECHECKSUM;
	*header = found;
	return r.error;
}
