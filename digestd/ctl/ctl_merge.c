/*
 * digestctl merge: the digest of everything that several digests have. The
 * union of the arrays is the array of the union; how many keys that are has
 * to be estimated, as what two digests share counts once. The smallest size
 * of array is everyone's. Of lists it is the same, in the smallest of their
 * widths; there the entries are the keys.
 */
#include <math.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_list.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/digest_output.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_merge_help[] =
	"usage: digestctl merge [OPTIONS] DIGEST...\n"
	"Makes the full digest of everything that full digests with the same\n"
	"hash functions have (-: standard input), in the smallest of their\n"
	"sizes; its number of keys is an estimate. Or the list of what lists\n"
	"have, in the smallest of their widths.\n";

const struct tool_option *const ctl_merge_options[] = {
	digest_output_options, digest_output_ids, NULL
};

struct merge {
	struct digest_output out; /* first: see digest_output_options */
	struct digest_open all; /* its path: whose shape it has */
	uint64_t most_bits;     /* of the inputs */
	uint64_t most, sum; /* keys of the inputs, as their headers have it */
};

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

/* The entries of two lists, cut to a width. */
static int ctl_merge_unite(const struct merge *m, const struct digest_open *one,
			   unsigned width, struct digest_entries *all)
{
	struct digest_entries a = { 0 }, b = { 0 };
	int error = digest_entries_of(m->all.list, &a);

	if (!error)
		error = digest_entries_of(one->list, &b);
	if (!error) {
		digest_entries_cut(&a, scd_list_width_of(m->all.list), width);
		digest_entries_cut(&b, scd_list_width_of(one->list), width);
		error = digest_entries_union(&a, &b, all);
	}
	digest_entries_free(&a);
	digest_entries_free(&b);
	return error;
}

static int ctl_merge_add_list(struct merge *m, const struct digest_open *one)
{
	const unsigned have = scd_list_width_of(m->all.list);
	const unsigned its = scd_list_width_of(one->list);
	const unsigned width = its < have ? its : have;
	struct digest_entries all = { 0 };
	struct scd_list *list = NULL;
	int error = ctl_merge_unite(m, one, width, &all);

	if (!error)
		error = digest_list_make(&all, width, m->out.instance,
					 m->out.generation, &list);
	digest_entries_free(&all);
	if (error)
		return digest_wrong(one->path, error);
	scd_list_free(&m->all.list);
	m->all.list = list;
	return CTL_OK;
}

static int ctl_merge_add_array(struct merge *m, struct digest_open *one)
{
	int code = ctl_merge_fit(m, one);

	if (!code)
		scd_bloom_union(&m->all.bloom, &one->bloom);
	return code;
}

static int ctl_merge_add(struct merge *m, const char *path)
{
	struct digest_open one;
	int code = digest_open_full(path, &one);

	if (!code && !one.list != !m->all.list) {
		digest_same_shape(&m->all, &one);
		code = CTL_NO;
	}
	if (!code)
		code = one.list ? ctl_merge_add_list(m, &one)
				: ctl_merge_add_array(m, &one);
	if (!code)
		ctl_merge_count(m, &one);
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

/* A list that is merged with nothing has ids of its own still. */
static int ctl_merge_begin(struct merge *m, const char *path)
{
	int code = digest_open_full(path, &m->all);

	if (code)
		return code;
	ctl_merge_count(m, &m->all);
	return m->all.list ? ctl_merge_add_list(m, &m->all) : CTL_OK;
}

static int ctl_merge_merge(struct merge *m, char **paths)
{
	int code = ctl_merge_begin(m, *paths++);

	for (; !code && *paths; paths++)
		code = ctl_merge_add(m, *paths);
	if (code)
		return code;
	if (m->all.list) {
		scd_list_info(m->all.list, &m->all.info);
		return digest_write_full(&m->all, m->out.path);
	}
	digest_tell_folded("merge", m->most_bits, m->all.bloom.nbits);
	m->all.info = (struct scd_digest_info){
		.instance = m->out.instance,
		.generation = m->out.generation,
		.nkeys = ctl_merge_keys_of_union(m),
	};
	return digest_write_full(&m->all, m->out.path);
}

static int ctl_merge_report(const struct merge *m, int ndigests)
{
	const struct digest_open *d = &m->all;
	const double fill = digest_fill(d);

	return json_report_print(json_pack(
		"{s:s, s:o, s:I, s:i, s:I, s:f, s:f, s:I}", "output",
		m->out.path, "instance", json_report_hex(d->info.instance),
		"generation", (json_int_t)d->info.generation, "digests",
		ndigests, "nkeys", (json_int_t)d->info.nkeys, "fill",
		fill, "fp", pow(fill, d->list ? 1 : d->bloom.nhash),
		"bytes", (json_int_t)d->len));
}

int ctl_merge(int argc, char **argv)
{
	struct merge m = { .out = DIGEST_OUTPUT_DEFAULT };
	int code;

	if (!options_read(ctl_merge_options, argc, argv, &m))
		return CTL_USAGE;
	if (argc == optind)
		return arguments_wrong("merge", "needs digests",
				       ctl_merge_help);
	if (!m.out.instance)
		return arguments_wrong("merge", "--instance: may not be 0",
				       ctl_merge_help);
	if (!digest_one_stdin(NULL, argv + optind) ||
	    !digest_output_may(&m.out))
		return CTL_USAGE;
	code = ctl_merge_merge(&m, argv + optind);
	if (!code && m.out.json)
		code = ctl_merge_report(&m, argc - optind);
	digest_close(&m.all);
	return code;
}
