/*
 * Squid's digests as the commands read and write them.
 */
#include "digestd/ctl/digest_squid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"

bool digest_squid_maybe(const struct digest_open *d)
{
	return d->len > 0 && d->bytes[0] == 0;
}

/* What a full digest's header would say. */
static void digest_squid_describe(struct digest_open *d)
{
	d->is_squid = true;
	d->info = (struct scd_digest_info){
		.kind = SCD_FULL,
		.coding = SCD_CODING_STORED,
		.hashing = SCD_HASHING_SQUID,
		.nhash = SCD_SQUID_HASH,
		.nbits = d->bloom.nbits,
		.nones = scd_bloom_ones(&d->bloom),
		.instance = 1,
		.generation = 1,
		.checksum = scd_digest_checksum(&d->bloom),
	};
	d->info.ncoded = d->info.nones;
	if (d->squid.count > 0 && d->info.nones > 0)
		d->info.nkeys = (uint64_t)d->squid.count;
}

int digest_squid_open(struct digest_open *d)
{
	int error = scd_squid_decode(d->bytes, d->len, &d->squid, &d->bloom);

	if (!error) {
		digest_squid_describe(d);
		return CTL_OK;
	}
	if (error == SCD_ENOMEM)
		return digest_wrong(d->path, error);
	fprintf(stderr, "digestctl: %s: Squid's digest: %s\n", d->path,
		scd_squid_fault(d->bytes, d->len));
	return CTL_NO;
}

/* Why the filter has no place in Squid's format. */
static int digest_squid_cannot(const struct digest_open *d, int error)
{
	if (error == SCD_ENOMEM)
		return digest_wrong(d->path, error);
	fprintf(stderr, "digestctl: %s: no digest of Squid's: ", d->path);
	if (d->bloom.hashing != SCD_HASHING_SQUID)
		fputs("it has another hashing; see build --hashing\n", stderr);
	else if (error == SCD_ELIMIT)
		fprintf(stderr, "more than %d %% of the bits are set\n",
			SCD_SQUID_MAX_FILL_PERCENT);
	else
		fprintf(stderr,
			"capacity and bits an entry do not give %" PRIu64
			" bits\n",
			d->bloom.nbits);
	return CTL_NO;
}

int digest_squid_write(const struct digest_open *d, const char *output)
{
	struct scd_squid_info info = d->squid;
	uint8_t *bytes;
	size_t len;
	int error;
	bool written;

	info.count =
		d->info.nkeys > INT32_MAX ? INT32_MAX : (int32_t)d->info.nkeys;
	error = scd_squid_encode(&d->bloom, &info, &bytes, &len);
	if (error)
		return digest_squid_cannot(d, error);
	written = digest_file_write(output, bytes, len);
	free(bytes);
	return written ? CTL_OK : CTL_IO;
}
