/*
 * digestctl build: a digest of a list of URLs or keys. Options come first,
 * then the shape of the filter, for which the lines may have to be counted,
 * then the lines.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/ctl/build_input.h"
#include "digestd/ctl/build_shape.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/key_arguments.h"
#include "digestd/ctl/line_reader.h"
#include "digestd/ctl/json_report.h"

const char ctl_build_help[] =
	"usage: digestctl build --key HEX [OPTIONS] [FILE...]\n"
	"       digestctl build --hex [OPTIONS] [FILE...]\n"
	"       digestctl build --hashing squid [OPTIONS] [FILE...]\n"
	"Makes a full digest of the URLs in files (-, none: standard input),\n"
	"one a line. Lines that are no http or https URL are named and left\n"
	"out; then the exit code is 1.\n"
	"  -k, --key HEX        the cluster key, 32 hexadecimal digits\n"
	"  -x, --hex            lines are keys, 32 hexadecimal digits\n"
	"      --hashing WAY    double, or squid: as Squid's digests have it,\n"
	"                       without a key, with 4 hash functions (double)\n"
	"  -b, --bits M         size of the array, and\n"
	"  -H, --hashes K       hash functions, see digestctl tune; or\n"
	"  -n, --objects N      as many as N objects need (the lines of the\n"
	"                       files, if they can be read twice)\n"
	"  -f, --fp F           and so many false positives (0.01; of squid,\n"
	"                       what 5 bits an object give)\n"
	"  -c, --counting       a counting digest, from which keys can be\n"
	"                       removed again\n"
	"  -o, --output FILE    where the digest goes (standard output)\n"
	"  -i, --instance N     instance in its header (1)\n"
	"  -g, --generation N   generation in its header (1)\n"
	"  -p, --progress       tell on stderr how far it is, also if that is\n"
	"                       no terminal\n"
	"  -q, --quiet          do not, even if it is one\n"
	"  -j, --json           tell as JSON what it is; needs --output\n";

enum { OPTION_HASHING = 256 };

static const struct option options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ "hex", no_argument, NULL, 'x' },
	{ "hashing", required_argument, NULL, OPTION_HASHING },
	{ "bits", required_argument, NULL, 'b' },
	{ "hashes", required_argument, NULL, 'H' },
	{ "objects", required_argument, NULL, 'n' },
	{ "fp", required_argument, NULL, 'f' },
	{ "counting", no_argument, NULL, 'c' },
	{ "output", required_argument, NULL, 'o' },
	{ "instance", required_argument, NULL, 'i' },
	{ "generation", required_argument, NULL, 'g' },
	{ "progress", no_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "json", no_argument, NULL, 'j' },
	{ 0 },
};

struct build {
	uint8_t secret[SCD_SECRET_BYTES];
	bool has_key, hex, counting, json;
	struct build_shape shape;
	struct scd_digest_info ids;
	const char *output;
	enum progress_wish wish;
	char **paths;
	uint64_t total; /* bytes of the input, 0: not known */
};

static bool ctl_build_take_value(struct build *b, int option, const char *text)
{
	switch (option) {
	case 'k':
		b->has_key = arguments_key(text, b->secret);
		return b->has_key;
	case OPTION_HASHING:
		return arguments_hashing(text, &b->shape.hashing);
	case 'b':
		return arguments_number("--bits", text, &b->shape.nbits);
	case 'H':
		return arguments_number("--hashes", text, &b->shape.nhash);
	case 'n':
		return arguments_number("--objects", text, &b->shape.objects);
	case 'f':
		return arguments_real("--fp", text, 0, 1, &b->shape.fp);
	case 'i':
		return arguments_number("--instance", text, &b->ids.instance);
	case 'g':
		return arguments_number("--generation", text,
					&b->ids.generation);
	}
	return false;
}

static bool ctl_build_take(struct build *b, int option, const char *text)
{
	switch (option) {
	case 'x':
		b->hex = true;
		return true;
	case 'c':
		b->counting = true;
		return true;
	case 'o':
		b->output = text;
		return true;
	case 'p':
		b->wish = PROGRESS_ALWAYS;
		return true;
	case 'q':
		b->wish = PROGRESS_NEVER;
		return true;
	case 'j':
		b->json = true;
		return true;
	}
	return ctl_build_take_value(b, option, text);
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

	progress_start(&in->progress, b->wish, what, b->total);
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
	return code ? code : build_shape_find(&b->shape);
}

/* What is made: a filter, or one that counts. */
struct made {
	struct digest_open digest;
	struct scd_counting *counting;
};

static const struct scd_bloom *ctl_build_filter_of(const struct made *m)
{
	return m->counting ? scd_counting_bloom(m->counting) : &m->digest.bloom;
}

static int ctl_build_report(const struct build *b, const struct made *m,
			    const struct build_input *in)
{
	const struct scd_bloom *bloom = ctl_build_filter_of(m);

	return json_report_print(json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I}", "output",
		b->output, "kind", m->counting ? "counting" : "full", "lines",
		(json_int_t)in->lines, "left_out", (json_int_t)in->bad, "nkeys",
		(json_int_t)in->nkeys, "nbits", (json_int_t)bloom->nbits,
		"nhash", (json_int_t)bloom->nhash, "fill",
		scd_bloom_fill(bloom), "fp", scd_bloom_fp(bloom), "bytes",
		(json_int_t)m->digest.len));
}

static int ctl_build_fill(const struct build *b, struct made *m)
{
	struct build_input in = {
		.bloom = m->counting ? NULL : &m->digest.bloom,
		.counting = m->counting,
		.how = { b->shape.hashing, b->secret },
		.hex = b->hex,
	};
	int code = ctl_build_read_all(b, &in, "building");

	if (code)
		return code;
	m->digest.info.nkeys = in.nkeys;
	code = m->counting ? digest_write_counting(&m->digest, m->counting,
						   b->output)
			   : digest_write_full(&m->digest, b->output);
	if (!code && b->json)
		code = ctl_build_report(b, m, &in);
	return !code && in.bad ? CTL_NO : code;
}

/* An empty filter of the shape: an SCD_ error. */
static int ctl_build_make(const struct build *b, struct made *m)
{
	const unsigned nhash = (unsigned)b->shape.nhash;
	int error;

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
	struct made m = { .digest.info = b->ids };
	int error, code = ctl_build_find_shape(b);

	if (code)
		return code;
	error = ctl_build_make(b, &m);
	code = error ? digest_wrong("build", error) : ctl_build_fill(b, &m);
	scd_counting_free(&m.counting);
	digest_close(&m.digest);
	return code;
}

/* What is missing or wrong, or null. */
static const char *ctl_build_mistake(const struct build *b)
{
	if (!b->has_key && !b->hex && b->shape.hashing == SCD_HASHING_DOUBLE)
		return "--key, --hex or --hashing squid is needed";
	if (!b->ids.instance)
		return "--instance: may not be 0";
	return build_shape_mistake(&b->shape);
}

int ctl_build(int argc, char **argv)
{
	char dash[] = "-", *standard_input[] = { dash, NULL };
	struct build b = { .output = "-",
			   .ids = { .instance = 1, .generation = 1 } };
	const char *what;
	int c;

	while ((c = getopt_long(argc, argv, "k:xb:H:n:f:co:i:g:pqj", options,
				NULL)) != -1) {
		if (c == '?' || !ctl_build_take(&b, c, optarg))
			return CTL_USAGE;
	}
	what = ctl_build_mistake(&b);
	if (what)
		return arguments_wrong("build", what, ctl_build_help);
	b.paths = optind < argc ? argv + optind : standard_input;
	if (!digest_one_stdin(NULL, b.paths) ||
	    !json_report_has_output(b.json, b.output) ||
	    !digest_file_may_write(b.output))
		return CTL_USAGE;
	return ctl_build_build(&b);
}
