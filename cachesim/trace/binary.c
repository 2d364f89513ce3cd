/*
 * Traces of fixed-size records: libCacheSim's oracleGeneral, and bare integer
 * keys. Objects are known by number; the URL is that number in decimal.
 */
#include "cachesim/trace/format.h"

#include "cachesim/trace/scan.h"

enum { ORACLE_BYTES = 24, ORACLE_SAMPLE = 64 /* records */ };

static uint64_t little(const char *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | (unsigned char)at[bytes];
	return v;
}

static uint64_t big(const char *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

/* uint32 seconds, uint64 key, uint32 size, int64 next access; little-endian */
static int oracle_parse(struct trace_parser *p, struct trace_text record,
			struct trace_request *req)
{
	req->time_ms = (int64_t)little(record.at, 4) * 1000;
	req->size = little(record.at + 12, 4);
	req->has_size = true;
	scan_number_key(p, little(record.at + 4, 8), req);
	return 0;
}

/* Times that never fall, next accesses that lie ahead or are -1 or -2. */
static unsigned oracle_score(struct trace_text sample)
{
	uint64_t last = 0;
	size_t records = sample.len / ORACLE_BYTES;

	if (records > ORACLE_SAMPLE)
		records = ORACLE_SAMPLE;
	for (size_t i = 0; i < records; i++) {
		const char *at = sample.at + i * ORACLE_BYTES;
		uint64_t time = little(at, 4);
		int64_t next = (int64_t)little(at + 16, 8);

		if (time < last || next < -2 || next > INT64_MAX / 2 ||
		    (next >= 0 && next <= (int64_t)i))
			return 0;
		last = time;
	}
	return records >= 2 ? 60 : 0;
}

static int i32le_parse(struct trace_parser *p, struct trace_text record,
		       struct trace_request *req)
{
	scan_number_key(p, little(record.at, 4), req);
	return 0;
}

static int i64be_parse(struct trace_parser *p, struct trace_text record,
		       struct trace_request *req)
{
	scan_number_key(p, big(record.at, 8), req);
	return 0;
}

const struct trace_format trace_oracle = {
	.name = "oracleGeneral",
	.about = "libCacheSim's binary format",
	.block = ORACLE_BYTES,
	.score = oracle_score,
	.parse = oracle_parse,
};

const struct trace_format trace_i32le = {
	.name = "i32le",
	.about = "32-bit keys, little-endian",
	.block = 4,
	.parse = i32le_parse,
};

const struct trace_format trace_i64be = {
	.name = "i64be",
	.about = "64-bit keys, big-endian",
	.block = 8,
	.parse = i64be_parse,
};
