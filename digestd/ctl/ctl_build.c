/*
 * digestctl build: a digest of a list of URLs or keys. Options come first,
 * then the shape of the filter, for which the lines may have to be counted,
 * then the lines.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/ctl/build_input.h"
#include "digestd/ctl/build_shape.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/digest_output.h"
#include "digestd/ctl/key_arguments.h"
#include "digestd/ctl/line_reader.h"
#include "digestd/ctl/json_report.h"

const char ctl_build_help[] =
	"usage: digestctl build --key HEX [OPTIONS] [FILE...]\n"
	"       digestctl build --hex [OPTIONS] [FILE...]\n"
	"       digestctl build --hashing squid [OPTIONS] [FILE...]\n"
	"Makes a full digest of the URLs in files (-, none: standard input),\n"
	"one a line. Lines that are no http or https URL are named and left\n"
	"out; then the exit code is 1.\n";

struct build {
	struct digest_output out; /* first: see digest_output_options */
	uint8_t secret[SCD_SECRET_BYTES];
	bool has_key, hex, counting, loud, quiet;
	unsigned hashing; /* enum scd_hashing */
	struct build_shape shape;
	char **paths;
	uint64_t total; /* bytes of the input, 0: not known */
};

/* In the order of enum scd_hashing. */
static const char *const hashing_names[] = { "double", "squid", NULL };

static bool ctl_build_take_key(const char *option, const char *text, void *to)
{
	struct build *b = to;

	(void)option;
	b->has_key = arguments_key(text, b->secret);
	return b->has_key;
}

#define AT(member) .at = offsetof(struct build, member)

static const struct tool_option build_rows[] = {
	{ .name = "key", .letter = 'k', .kind = OPTION_CALL,
	  .take = ctl_build_take_key, .value = "HEX",
	  .help = "the cluster key, 32 hexadecimal digits" },
	{ .name = "hex", .letter = 'x', .kind = OPTION_FLAG, AT(hex),
	  .help = "lines are keys, 32 hexadecimal digits" },
	{ .name = "hashing", .kind = OPTION_WORD, AT(hashing),
	  .words = hashing_names, .value = "WAY",
	  .help = "double, or squid: as Squid's digests have\n"
		  "it, without a key, with 4 hash functions\n"
		  "(double)" },
	{ .name = "bits", .letter = 'b', .kind = OPTION_COUNT,
	  AT(shape.nbits), .positive = true, .value = "M",
	  .help = "size of the array, and" },
	{ .name = "hashes", .letter = 'H', .kind = OPTION_COUNT,
	  AT(shape.nhash), .positive = true, .value = "K",
	  .help = "hash functions, see digestctl tune; or" },
	{ .name = "objects", .letter = 'n', .kind = OPTION_COUNT,
	  AT(shape.objects), .value = "N",
	  .help = "as many as N objects need (the lines of the\n"
		  "files, if they can be read twice)" },
	{ .name = "fp", .letter = 'f', .kind = OPTION_REAL, AT(shape.fp),
	  .max = 1, .value = "F",
	  .help = "and so many false positives (0.01; of squid,\n"
		  "what 5 bits an object give)" },
	{ .name = "list", .letter = 'l', .kind = OPTION_FLAG,
	  AT(shape.list),
	  .help = "a list of fingerprints, as nodes publish it,\n"
		  "so wide that it has so few false positives" },
	{ .name = "counting", .letter = 'c', .kind = OPTION_FLAG,
	  AT(counting),
	  .help = "a counting digest, from which keys can be\n"
		  "removed again" },
	{ .name = "progress", .letter = 'p', .kind = OPTION_FLAG, AT(loud),
	  .help = "tell on stderr how far it is, also if that\n"
		  "is no terminal" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, AT(quiet),
	  .help = "do not, even if it is one" },
	{ .name = NULL },
};

#undef AT

const struct tool_option *const ctl_build_options[] = {
	build_rows, digest_output_options, digest_output_ids, NULL
};

static enum progress_wish ctl_build_wish(const struct build *b)
{
	if (b->quiet)
		return PROGRESS_NEVER;
	return b->loud ? PROGRESS_ALWAYS : PROGRESS_TERMINAL;
}

/* Finds how much there is to read. */
static int ctl_build_measure(struct build *b)
{
	bool all = true;

	for (char **path = b->paths; *path; path++) {
		bool regular;
		uint64_t size;
		int code = line_reader_size(*path, &size, &regular);

		if (code)
			return code;
		if (!regular && build_shape_needs_count(&b->shape)) {
			fprintf(stderr,
				"digestctl: %s: lines can be counted of "
				"regular files only: --objects N\n",
				*path);
			return CTL_USAGE;
		}
		all = all && regular;
		b->total += size;
	}
	if (!all)
		b->total = 0;
	return CTL_OK;
}

static int ctl_build_read_all(const struct build *b, struct build_input *in,
			      const char *what)
{
	int code = CTL_OK;

	progress_start(&in->progress, ctl_build_wish(b), what, b->total);
	for (char **path = b->paths; !code && *path; path++)
		code = build_input_read(in, *path);
	progress_end(&in->progress, in->bytes, in->lines);
	return code;
}

/* Counts the lines, and leaves standard input where it was. */
static int ctl_build_count_objects(struct build *b)
{
	off_t begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
	struct build_input in = { 0 };
	int code = ctl_build_read_all(b, &in, "counting");

	b->shape.objects = in.lines;
	if (begin >= 0 && lseek(STDIN_FILENO, begin, SEEK_SET) < 0) {
		fprintf(stderr, "digestctl: -: %s\n", strerror(errno));
		return CTL_IO;
	}
	return code;
}

static int ctl_build_find_shape(struct build *b)
{
	int code = ctl_build_measure(b);

	if (!code && build_shape_needs_count(&b->shape))
		code = ctl_build_count_objects(b);
	return code || b->shape.list ? code : build_shape_find(&b->shape);
}

/* What is made: a filter, one that counts, or a list. */
struct made {
	struct digest_open digest;
	struct scd_counting *counting;
	struct digest_entries entries; /* of a list */
};

static const struct scd_bloom *ctl_build_filter_of(const struct made *m)
{
	return m->counting ? scd_counting_bloom(m->counting) : &m->digest.bloom;
}

static int ctl_build_report_list(const struct build *b, const struct made *m,
				 const struct build_input *in)
{
	const struct scd_digest_info *info = &m->digest.info;
	const double fp = (double)info->nones / (double)info->nbits;

	return json_report_print(json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:i, s:f, s:I}", "output",
		b->out.path, "kind", "list", "lines", (json_int_t)in->lines,
		"left_out", (json_int_t)in->bad, "nkeys",
		(json_int_t)info->nkeys, "width",
		(int)scd_list_width_of(m->digest.list), "fp", fp, "bytes",
		(json_int_t)m->digest.len));
}

static int ctl_build_report(const struct build *b, const struct made *m,
			    const struct build_input *in)
{
	const struct scd_bloom *bloom = ctl_build_filter_of(m);

	if (m->digest.list)
		return ctl_build_report_list(b, m, in);
	return json_report_print(json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I}", "output",
		b->out.path, "kind", m->counting ? "counting" : "full", "lines",
		(json_int_t)in->lines, "left_out", (json_int_t)in->bad, "nkeys",
		(json_int_t)in->nkeys, "nbits", (json_int_t)bloom->nbits,
		"nhash", (json_int_t)bloom->nhash, "fill",
		scd_bloom_fill(bloom), "fp", scd_bloom_fp(bloom), "bytes",
		(json_int_t)m->digest.len));
}

/* The list of the entries: what is in the input twice is so once. */
static int ctl_build_make_list(const struct build *b, struct made *m)
{
	unsigned width;
	int error;

	digest_entries_sort(&m->entries);
	width = build_shape_width(&b->shape, m->entries.n);
	if (!width)
		return CTL_NO;
	digest_entries_cut(&m->entries, BUILD_INPUT_WIDTH, width);
	error = digest_list_make(&m->entries, width, b->out.instance,
				 b->out.generation, &m->digest.list);
	if (error)
		return digest_wrong("build", error);
	scd_list_info(m->digest.list, &m->digest.info);
	return digest_write_full(&m->digest, b->out.path);
}

static int ctl_build_write(const struct build *b, struct made *m)
{
	if (b->shape.list)
		return ctl_build_make_list(b, m);
	return m->counting ? digest_write_counting(&m->digest, m->counting,
						   b->out.path)
			   : digest_write_full(&m->digest, b->out.path);
}

static int ctl_build_fill(const struct build *b, struct made *m)
{
	struct build_input in = {
		.bloom = m->digest.bloom.bits ? &m->digest.bloom : NULL,
		.counting = m->counting,
		.entries = b->shape.list ? &m->entries : NULL,
		.how = { b->shape.hashing, b->secret },
		.hex = b->hex,
	};
	int code = ctl_build_read_all(b, &in, "building");

	if (code)
		return code;
	m->digest.info.nkeys = in.nkeys;
	code = ctl_build_write(b, m);
	if (!code && b->out.json)
		code = ctl_build_report(b, m, &in);
	return !code && in.bad ? CTL_NO : code;
}

/* An empty filter of the shape: an SCD_ error. */
static int ctl_build_make(const struct build *b, struct made *m)
{
	const unsigned nhash = (unsigned)b->shape.nhash;
	int error;

	if (b->shape.list)
		return SCD_OK;
	if (b->counting) {
		error = scd_counting_new(&m->counting, b->shape.nbits, nhash);
		return error ? error
			     : scd_counting_set_hashing(m->counting,
							b->shape.hashing);
	}
	error = scd_bloom_init(&m->digest.bloom, b->shape.nbits, nhash);
	m->digest.bloom.hashing = b->shape.hashing;
	return error;
}

static int ctl_build_build(struct build *b)
{
	struct made m = {
		.digest.info = { .instance = b->out.instance,
				 .generation = b->out.generation },
	};
	int error, code = ctl_build_find_shape(b);

	if (code)
		return code;
	error = ctl_build_make(b, &m);
	code = error ? digest_wrong("build", error) : ctl_build_fill(b, &m);
	scd_counting_free(&m.counting);
	digest_entries_free(&m.entries);
	digest_close(&m.digest);
	return code;
}

/* What is missing or wrong, or null. */
static const char *ctl_build_mistake(const struct build *b)
{
	if (!b->has_key && !b->hex && b->shape.hashing == SCD_HASHING_DOUBLE)
		return "--key, --hex or --hashing squid is needed";
	if (!b->out.instance)
		return "--instance: may not be 0";
	if (b->shape.list && b->counting)
		return "--list excludes --counting";
	return build_shape_mistake(&b->shape);
}

int ctl_build(int argc, char **argv)
{
	char dash[] = "-", *standard_input[] = { dash, NULL };
	struct build b = { .out = DIGEST_OUTPUT_DEFAULT };
	const char *what;

	if (!options_read(ctl_build_options, argc, argv, &b))
		return CTL_USAGE;
	b.shape.hashing = (enum scd_hashing)b.hashing;
	what = ctl_build_mistake(&b);
	if (what)
		return arguments_wrong("build", what, ctl_build_help);
	b.paths = optind < argc ? argv + optind : standard_input;
	if (!digest_one_stdin(NULL, b.paths) || !digest_output_may(&b.out))
		return CTL_USAGE;
	return ctl_build_build(&b);
}
