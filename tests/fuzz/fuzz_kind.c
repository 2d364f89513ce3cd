/*
 * Any bytes as a summary of the kind that the first byte says; and the same
 * with the checksum put right, where the kind has one of its own wire. What
 * decodes must keep to the limit of memory, answer, and encode again.
 */
#include <string.h>

#include "codec/kind/kind.h"
#include "codec/kind/kind_wire.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_MEMORY = 1 << 16, ASKED = 20, MAX_INPUT = 4096 };

static void try_decode(const struct scd__kind *kind, const uint8_t *in,
		       size_t len)
{
	struct scd__summary *s = NULL, *back;
	uint8_t *bytes;
	size_t bytes_len;

	if (scd__summary_decode(kind, in, len, MAX_MEMORY, &s)) {
		fuzz_must(s == NULL);
		return;
	}
	fuzz_must(scd__summary_memory(s) <= MAX_MEMORY);
	fuzz_must(scd__summary_encode(s, &bytes, &bytes_len) == SCD_OK);
	fuzz_must(scd__summary_decode(kind, bytes, bytes_len, MAX_MEMORY,
				      &back) == SCD_OK);
	fuzz_must(scd__summary_fp(s) == scd__summary_fp(back));
	for (uint64_t i = 0; i < ASKED; i++) {
		const struct scd_key key = {i * UINT64_C(0x9e3779b97f4a7c15),
					    i * UINT64_C(0xbf58476d1ce4e5b9)};

		fuzz_must(scd__summary_has(s, &key) ==
			  scd__summary_has(back, &key));
	}
	free(bytes);
	scd__summary_free(&s);
	scd__summary_free(&back);
}

static void try_sealed(const struct scd__kind *kind, const uint8_t *in,
		       size_t len)
{
	uint8_t copy[MAX_INPUT];
	struct scd__kind_header h;

	if (len < SCD__KIND_HEADER_BYTES || len > MAX_INPUT)
		return;
	memcpy(copy, in, len);
	h = (struct scd__kind_header){.letter = copy[3], .parameter = copy[4]};
	for (int i = 7; i >= 0; i--) {
		h.nkeys = h.nkeys << 8 | copy[8 + i];
		h.size = h.size << 8 | copy[16 + i];
	}
	scd__kind_wire_seal(copy, len - SCD__KIND_HEADER_BYTES, &h);
	try_decode(kind, copy, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct scd__kind *kind = len ? scd__kind_at(data[0]) : NULL;

	if (!kind)
		return 0;
	try_decode(kind, data + 1, len - 1);
	try_sealed(kind, data + 1, len - 1);
	return 0;
}
