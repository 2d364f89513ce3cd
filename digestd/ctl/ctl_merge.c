/*
 * digestctl merge: the digest of everything that several digests have. The
 * union of the arrays is the array of the union; how many keys that are has
 * to be estimated, as what two digests share counts once. The smallest size
 * of array is everyone's.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_merge_help[] =
	"usage: digestctl merge [OPTIONS] DIGEST...\n"
	"Makes the full digest of everything that full digests with the same\n"
	"hash functions have (-: standard input), in the smallest of their\n"
	"sizes; its number of keys is an estimate.\n"
	"  -o, --output FILE   where the digest goes (standard output)\n"
	"  -i, --instance N    instance in its header (1)\n"
	"  -g, --generation N  generation in its header (1)\n"
	"  -j, --json          tell as JSON what it is; needs --output\n";

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "instance", required_argument, NULL, 'i' },
	{ "generation", required_argument, NULL, 'g' },
	{ "json", no_argument, NULL, 'j' },
	{ 0 },
};

struct merge {
	struct digest_open all; /* its path: whose shape it has */
	uint64_t most_bits;     /* of the inputs */
	uint64_t most, sum; /* keys of the inputs, as their headers have it */
	struct scd_digest_info ids;
	const char *output;
	bool json;
};

static bool ctl_merge_take(struct merge *m, int option, const char *text)
{
	switch (option) {
	case 'o':
		m->output = text;
		return true;
	case 'i':
		return arguments_number("--instance", text, &m->ids.instance);
	case 'g':
		return arguments_number("--generation", text,
					&m->ids.generation);
	case 'j':
		m->json = true;
		return true;
	}
	return false;
}

static void ctl_merge_count(struct merge *m, const struct digest_open *one)
{
	uint64_t nkeys = one->info.nkeys;

	if (nkeys > m->most)
		m->most = nkeys;
	m->sum = nkeys > UINT64_MAX - m->sum ? UINT64_MAX : m->sum + nkeys;
	if (one->info.nbits > m->most_bits)
		m->most_bits = one->info.nbits;
}

/* Gives what there is and one more the smaller of both sizes. */
static int ctl_merge_fit(struct merge *m, struct digest_open *one)
{
	int code;

	if (one->bloom.nbits >= m->all.bloom.nbits)
		return digest_fold(one, &m->all);
	code = digest_fold(&m->all, one);
	if (!code)
		m->all.path = one->path;
	return code;
}

static int ctl_merge_add(struct merge *m, const char *path)
{
	struct digest_open one;
	int code = digest_open_full(path, &one);

	if (!code)
		code = ctl_merge_fit(m, &one);
	if (!code) {
		scd_bloom_union(&m->all.bloom, &one.bloom);
		ctl_merge_count(m, &one);
	}
	digest_close(&one);
	return code;
}

/* The estimate, within what the headers allow; a full array has none. */
static uint64_t ctl_merge_keys_of_union(const struct merge *m)
{
	double estimate = round(scd_bloom_cardinality(&m->all.bloom));

	if (estimate >= (double)m->sum)
		return m->sum;
	return estimate <= (double)m->most ? m->most : (uint64_t)estimate;
}

static int ctl_merge_merge(struct merge *m, char **paths)
{
	int code = digest_open_full(*paths++, &m->all);

	if (!code)
		ctl_merge_count(m, &m->all);
	for (; !code && *paths; paths++)
		code = ctl_merge_add(m, *paths);
	if (code)
		return code;
	digest_tell_folded("merge", m->most_bits, m->all.bloom.nbits);
	m->ids.nkeys = ctl_merge_keys_of_union(m);
	m->all.info = m->ids;
	return digest_write_full(&m->all, m->output);
}

static int ctl_merge_report(const struct merge *m, int ndigests)
{
	return json_report_print(json_pack(
		"{s:s, s:o, s:I, s:i, s:I, s:f, s:f, s:I}", "output", m->output,
		"instance", json_report_hex(m->ids.instance), "generation",
		(json_int_t)m->ids.generation, "digests", ndigests, "nkeys",
		(json_int_t)m->ids.nkeys, "fill", scd_bloom_fill(&m->all.bloom),
		"fp", scd_bloom_fp(&m->all.bloom), "bytes",
		(json_int_t)m->all.len));
}

int ctl_merge(int argc, char **argv)
{
	struct merge m = { .output = "-",
			   .ids = { .instance = 1, .generation = 1 } };
	int c, code;

	while ((c = getopt_long(argc, argv, "o:i:g:j", options, NULL)) != -1) {
		if (c == '?' || !ctl_merge_take(&m, c, optarg))
			return CTL_USAGE;
	}
	if (argc == optind)
		return arguments_wrong("merge", "needs digests",
				       ctl_merge_help);
	if (!m.ids.instance)
		return arguments_wrong("merge", "--instance: may not be 0",
				       ctl_merge_help);
	if (!digest_one_stdin(NULL, argv + optind) ||
	    !json_report_has_output(m.json, m.output) ||
	    !digest_file_may_write(m.output))
		return CTL_USAGE;
	code = ctl_merge_merge(&m, argv + optind);
	if (!code && m.json)
		code = ctl_merge_report(&m, argc - optind);
	digest_close(&m.all);
	return code;
}
