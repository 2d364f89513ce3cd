/*
 * Any bytes as the image of an admission filter; and the same with the
 * checksum put right. What loads must keep to the limit of memory, answer,
 * give the same image again, and go on.
 */
#include <string.h>

#include "codec/admission.h"
#include "codec/cursor.h"
#include "codec/wire/frame.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_WINDOW = 24 * 60, MAX_INPUT = 4096, ASKED = 100, SUM_AT = 24 };

static void use(struct scd_admission *a)
{
	for (uint64_t i = 1; i <= ASKED; i++) {
		const struct scd_key key = {i * UINT64_C(0x9e3779b97f4a7c15),
					    i * UINT64_C(0xbf58476d1ce4e5b9)};
		bool seen = scd_admission_seen(a, &key);

		fuzz_must(scd_admission_use(a, &key) == seen);
		fuzz_must(scd_admission_seen(a, &key));
	}
}

static void try_load(const uint8_t *in, size_t len)
{
	static uint8_t again[MAX_INPUT];
	struct scd_admission *a = NULL;
	double rate;

	if (scd_admission_load(&a, in, len, MAX_WINDOW)) {
		fuzz_must(a == NULL);
		return;
	}
	fuzz_must(scd_admission_window(a) <= MAX_WINDOW);
	fuzz_must(scd_admission_image_bytes(a) == len);
	fuzz_must(scd_admission_save(a, again, sizeof(again)) == SCD_OK);
	fuzz_must(memcmp(again, in, len) == 0);
	rate = scd_admission_rate(a);
	fuzz_must(rate >= 0 && rate <= 1);
	use(a);
	scd_admission_free(&a);
}

static void try_sealed(const uint8_t *in, size_t len)
{
	uint8_t copy[MAX_INPUT];
	struct scd__writer w;
	uint64_t sum;

	if (len < SCD_ADMISSION_HEADER_BYTES || len > MAX_INPUT)
		return;
	memcpy(copy, in, len);
	sum = scd__bytes_checksum(copy, SUM_AT, UINT64_C(0x736364207365656e));
	sum = scd__bytes_checksum(copy + SCD_ADMISSION_HEADER_BYTES,
				  len - SCD_ADMISSION_HEADER_BYTES, sum);
	w = scd__writer(copy + SUM_AT, 8);
	scd__write_u64(&w, sum);
	try_load(copy, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_load(data, len);
	try_sealed(data, len);
	return 0;
}
