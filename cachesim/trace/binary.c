/*
 * Traces of fixed-size records: libCacheSim's oracleGeneral, its plain binary
 * format, whose fields are told by the user, and bare integer keys. Objects
 * are known by number; the URL is that number in decimal.
 */
#include "cachesim/trace/format.h"

#include <string.h>

#include "cachesim/trace/bytes.h"
#include "cachesim/trace/scan.h"

enum { ORACLE_BYTES = 24, ORACLE_SAMPLE = 64 /* records */ };

/* uint32 seconds, uint64 key, uint32 size, int64 next access; little-endian */
static int binary_oracle_parse(struct trace_parser *p, struct trace_text record,
			       struct trace_request *req)
{
	req->time_ms = (int64_t)bytes_little(record.at, 4) * 1000;
	req->size = bytes_little(record.at + 12, 4);
	req->has_size = true;
	scan_number_key(p, bytes_little(record.at + 4, 8), req);
	return 0;
}

/* Times that never fall, next accesses that lie ahead or are -1 or -2. */
static unsigned binary_oracle_score(struct trace_text sample)
{
	uint64_t last = 0;
	size_t records = sample.len / ORACLE_BYTES;

	if (scan_is_text(sample))
		return 0;
	if (records > ORACLE_SAMPLE)
		records = ORACLE_SAMPLE;
	for (size_t i = 0; i < records; i++) {
		const char *at = sample.at + i * ORACLE_BYTES;
		uint64_t time = bytes_little(at, 4);
		int64_t next = (int64_t)bytes_little(at + 16, 8);

		if (time < last || next < -2 || next > INT64_MAX / 2 ||
		    (next >= 0 && next <= (int64_t)i))
			return 0;
		last = time;
	}
	return records >= 2 ? 60 : 0;
}

static int binary_i32le_parse(struct trace_parser *p, struct trace_text record,
			      struct trace_request *req)
{
	scan_number_key(p, bytes_little(record.at, 4), req);
	return 0;
}

static int binary_i64be_parse(struct trace_parser *p, struct trace_text record,
			      struct trace_request *req)
{
	scan_number_key(p, bytes_big(record.at, 8), req);
	return 0;
}

static int binary_i64le_parse(struct trace_parser *p, struct trace_text record,
			      struct trace_request *req)
{
	scan_number_key(p, bytes_little(record.at, 8), req);
	return 0;
}

static int binary_i32be_parse(struct trace_parser *p, struct trace_text record,
			      struct trace_request *req)
{
	scan_number_key(p, bytes_big(record.at, 4), req);
	return 0;
}

/* The bits of a float or double as an integer; false: it has none. */
static bool binary_whole_of_float(uint64_t bits, unsigned bytes, int64_t *out)
{
	static const double top = 0x1p63;
	uint32_t half = (uint32_t)bits;
	float narrow;
	double v;

	memcpy(&narrow, &half, sizeof(narrow));
	memcpy(&v, &bits, sizeof(v));
	if (bytes == sizeof(narrow))
		v = (double)narrow;
	if (!(v > -top && v < top))
		return false;
	*out = (int64_t)v;
	return true;
}

/* The number in a column, 0 where there is none. False: a float beyond it. */
static bool binary_number_of(const struct trace_layout *l, enum trace_column c,
			     const char *record, int64_t *out)
{
	const struct trace_field *f;
	unsigned unused;
	uint64_t v;

	*out = 0;
	if (l->column[c] < 0)
		return true;
	f = &l->field[l->column[c]];
	v = l->big ? bytes_big(record + f->offset, f->bytes)
		   : bytes_little(record + f->offset, f->bytes);
	if (f->type == 'f')
		return binary_whole_of_float(v, f->bytes, out);
	unused = 64 - 8 * (unsigned)f->bytes;
	*out = f->type == 'i' ? (int64_t)(v << unused) >> unused : (int64_t)v;
	return true;
}

static void binary_number_client(struct trace_parser *p, int64_t number,
				 struct trace_request *req)
{
	char *text = scan_room(p, 1 + SCAN_DECIMAL_MAX);
	uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	size_t len = 0;

	if (!text)
		return;
	if (number < 0)
		text[len++] = '-';
	len += scan_decimal(size, text + len);
	trace_request_client(req, (struct trace_text){ text, len });
}

static int binary_parse(struct trace_parser *p, struct trace_text record,
			struct trace_request *req)
{
	const struct trace_layout *l = &p->layout;
	int64_t v[TRACE_COLUMNS];

	for (int c = 0; c < TRACE_COLUMNS; c++)
		if (!binary_number_of(l, (enum trace_column)c, record.at,
				      &v[c]))
			return TRACE_EFIELDS;
	if (v[TRACE_COL_TIME] < 0 || v[TRACE_COL_TIME] > INT64_MAX / 1000)
		return TRACE_ETIME;
	req->time_ms = scan_which_unit(v[TRACE_COL_TIME] * 1000);
	if (v[TRACE_COL_SIZE] < 0)
		return TRACE_ESIZE;
	req->size = (uint64_t)v[TRACE_COL_SIZE];
	req->has_size = l->column[TRACE_COL_SIZE] >= 0;
	if (v[TRACE_COL_STATUS] >= 100 && v[TRACE_COL_STATUS] <= 599)
		req->status = (unsigned)v[TRACE_COL_STATUS];
	req->version = (uint64_t)v[TRACE_COL_VERSION];
	if (l->column[TRACE_COL_CLIENT] >= 0)
		binary_number_client(p, v[TRACE_COL_CLIENT], req);
	scan_number_key(p, (uint64_t)v[TRACE_COL_URL], req);
	return 0;
}

/* Takes a record of that many bytes off. */
static inline const char *binary_take(struct trace_text *rest, size_t bytes)
{
	const char *at = rest->at;

	rest->at += bytes;
	rest->len -= bytes;
	return at;
}

static int binary_oracle_rows(struct trace_parser *p, struct trace_text *rest,
			      struct trace_row *rows, int max)
{
	int n = 0;

	(void)p;
	for (; n < max && rest->len; n++) {
		const char *at = binary_take(rest, ORACLE_BYTES);

		rows[n] = (struct trace_row){
			.name = { "", 0 },
			.time_ms = (int64_t)bytes_little(at, 4) * 1000,
			.key = bytes_little(at + 4, 8),
			.size = bytes_little(at + 12, 4),
			.has_size = true,
		};
	}
	return n;
}

struct key_kind {
	uint64_t (*decode)(const char *at, unsigned bytes);
	unsigned bytes;
};

/* Inlined, with a constant kind. */
static inline int binary_key_rows(struct trace_text *rest,
				  struct trace_row *rows, int max,
				  struct key_kind kind)
{
	int n = 0;

	for (; n < max && rest->len; n++)
		rows[n] = (struct trace_row){
			.name = {"", 0},
			.key = kind.decode(binary_take(rest, kind.bytes),
					   kind.bytes),
		};
	return n;
}

static int binary_i32le_rows(struct trace_parser *p, struct trace_text *rest,
			     struct trace_row *rows, int max)
{
	(void)p;
	return binary_key_rows(rest, rows, max,
			       (struct key_kind){bytes_little, 4});
}

static int binary_i32be_rows(struct trace_parser *p, struct trace_text *rest,
			     struct trace_row *rows, int max)
{
	(void)p;
	return binary_key_rows(rest, rows, max,
			       (struct key_kind){bytes_big, 4});
}

static int binary_i64le_rows(struct trace_parser *p, struct trace_text *rest,
			     struct trace_row *rows, int max)
{
	(void)p;
	return binary_key_rows(rest, rows, max,
			       (struct key_kind){bytes_little, 8});
}

static int binary_i64be_rows(struct trace_parser *p, struct trace_text *rest,
			     struct trace_row *rows, int max)
{
	(void)p;
	return binary_key_rows(rest, rows, max,
			       (struct key_kind){bytes_big, 8});
}

const struct trace_format trace_oracle = {
	.name = "oracleGeneral",
	.alias = "oracleGeneralBin",
	.about = "libCacheSim's binary format",
	.block = ORACLE_BYTES,
	.score = binary_oracle_score,
	.parse = binary_oracle_parse,
	.rows = binary_oracle_rows,
};

const struct trace_format trace_i32le = {
	.name = "i32le",
	.about = "32-bit keys, little-endian",
	.block = 4,
	.parse = binary_i32le_parse,
	.rows = binary_i32le_rows,
};

const struct trace_format trace_i32be = {
	.name = "i32be",
	.about = "32-bit keys, big-endian",
	.block = 4,
	.parse = binary_i32be_parse,
	.rows = binary_i32be_rows,
};

const struct trace_format trace_i64le = {
	.name = "i64le",
	.about = "64-bit keys, little-endian",
	.block = 8,
	.parse = binary_i64le_parse,
	.rows = binary_i64le_rows,
};

const struct trace_format trace_i64be = {
	.name = "i64be",
	.about = "64-bit keys, big-endian",
	.block = 8,
	.parse = binary_i64be_parse,
	.rows = binary_i64be_rows,
};

const struct trace_format trace_binary = {
	.name = "binary",
	.about = "numbers of a layout that is told (format=...)",
	.laid_out = true,
	.parse = binary_parse,
};
