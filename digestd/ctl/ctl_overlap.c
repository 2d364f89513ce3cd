/*
 * digestctl overlap: how many objects caches have in common, judged by their
 * digests alone: |A| + |B| - |A or B|, each estimated from the ones of its
 * array (bloom.h).
 *
 * With t = nhash * keys / bits of a set, the variance of that estimate is
 * bits / nhash^2 (v(A or B) - v(A) - v(B) + 2 v(A and B)), v = e^t - 1 - t:
 * the delta method on the covariances of empty bins, all of which are
 * e^-t(A or B) - (1 + t(A and B)) e^-(t(A) + t(B)).
 * Source: Whang, Vander-Zanden, Taylor, "A Linear-Time Probabilistic Counting
 * Algorithm for Database Applications", 1990, for one set.
 *
 * Lists say more: as many of their fingerprints are equal as objects are, and
 * of the others one of one with one of the other by chance, with probability
 * 2^-width; how many these are is the variance. All are compared in the
 * smallest of their widths.
 *
 * All digests are in memory at the same time. They are compared at the smallest
 * of their sizes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_list.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_overlap_help[] =
	"usage: digestctl overlap [OPTIONS] DIGEST DIGEST...\n"
	"Estimates how many objects caches have in common, from full digests\n"
	"with the same hash functions or from lists (-: standard input), and\n"
	"their share of either; for more than two, as a matrix. All are\n"
	"compared in the smallest of their sizes.\n";

const struct tool_option *const ctl_overlap_options[] = {
	json_report_options, NULL
};

struct overlap {
	struct digest_open *digests;
	double *counts; /* estimated keys of each */
	struct digest_entries *entries; /* of lists: of each, of */
	unsigned width;			/* so many bits; 0: of arrays */
	size_t n;
};

/* What two digests have in common. */
struct common {
	double objects;
	double sd;               /* of the estimate */
	double share_a, share_b; /* of either's objects, 0..1 */
};

static double ctl_overlap_excess(double t)
{
	return expm1(t) - t;
}

static double ctl_overlap_share(double part, double whole)
{
	return whole > 0 ? fmin(1, part / whole) : 0;
}

static struct common ctl_overlap_compare_lists(const struct overlap *o,
					       size_t a, size_t b)
{
	const double na = o->counts[a], nb = o->counts[b];
	const double equal = (double)digest_entries_common(&o->entries[a],
							   &o->entries[b]);
	const double chance = (na - equal) * (nb - equal) / exp2(o->width);
	struct common c = { .objects = fmax(0, equal - chance),
			    .sd = sqrt(chance) };

	c.share_a = ctl_overlap_share(c.objects, na);
	c.share_b = ctl_overlap_share(c.objects, nb);
	return c;
}

static struct common ctl_overlap_compare_arrays(const struct overlap *o,
						size_t a, size_t b)
{
	const struct scd_bloom *bloom = &o->digests[a].bloom;
	double bits = (double)bloom->nbits, load = bloom->nhash / bits;
	double na = o->counts[a], nb = o->counts[b], variance;
	struct common c = { 0 };

	scd_bloom_overlap(bloom, &o->digests[b].bloom, &c.objects);
	variance = ctl_overlap_excess(load * (na + nb - c.objects)) -
		   ctl_overlap_excess(load * na) -
		   ctl_overlap_excess(load * nb) +
		   2 * ctl_overlap_excess(load * c.objects);
	c.sd = sqrt(fmax(0, variance) * bits) / bloom->nhash;
	c.share_a = ctl_overlap_share(c.objects, na);
	c.share_b = ctl_overlap_share(c.objects, nb);
	return c;
}

static struct common ctl_overlap_compare(const struct overlap *o, size_t a,
					 size_t b)
{
	return o->width ? ctl_overlap_compare_lists(o, a, b)
			: ctl_overlap_compare_arrays(o, a, b);
}

static void ctl_overlap_print_pair(const struct overlap *o)
{
	const char *a = o->digests[0].path, *b = o->digests[1].path;
	struct common c = ctl_overlap_compare(o, 0, 1);

	printf("%12.0f objects in %s\n", o->counts[0], a);
	printf("%12.0f objects in %s\n", o->counts[1], b);
	printf("%12.0f in common (sd %.0f): %.1f %% of %s, %.1f %% of %s\n",
	       c.objects, c.sd, 100 * c.share_a, a, 100 * c.share_b, b);
}

static void ctl_overlap_print_matrix(const struct overlap *o)
{
	puts("  #      objects  file");
	for (size_t i = 0; i < o->n; i++)
		printf("%3zu %12.0f  %s\n", i + 1, o->counts[i],
		       o->digests[i].path);
	fputs("\nIn common, and the share of the line's objects:\n   ", stdout);
	for (size_t i = 0; i < o->n; i++)
		printf(" %20zu", i + 1);
	for (size_t a = 0; a < o->n; a++) {
		printf("\n%3zu", a + 1);
		for (size_t b = 0; b < o->n; b++) {
			struct common c = ctl_overlap_compare(o, a, b);

			printf(" %12.0f %5.1f %%", c.objects, 100 * c.share_a);
		}
	}
	putchar('\n');
}

static json_t *ctl_overlap_pairs(const struct overlap *o)
{
	json_t *list = json_array();

	for (size_t a = 0; list && a < o->n; a++) {
		for (size_t b = a + 1; b < o->n; b++) {
			struct common c = ctl_overlap_compare(o, a, b);

			json_array_append_new(
				list,
				json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "a",
					  o->digests[a].path, "b",
					  o->digests[b].path, "objects",
					  c.objects, "sd", c.sd, "share_a",
					  c.share_a, "share_b", c.share_b));
		}
	}
	return list;
}

static int ctl_overlap_print_json(const struct overlap *o)
{
	json_t *digests = json_array();

	for (size_t i = 0; digests && i < o->n; i++)
		json_array_append_new(digests,
				      json_pack("{s:s, s:f}", "file",
						o->digests[i].path, "objects",
						o->counts[i]));
	return json_report_print(json_pack("{s:o, s:o}", "digests", digests,
					   "pairs", ctl_overlap_pairs(o)));
}

static int ctl_overlap_read_all(struct overlap *o, char **paths)
{
	int code = CTL_OK;

	while (!code && *paths) {
		code = digest_open_full(*paths++, &o->digests[o->n]);
		if (!code)
			o->n++;
	}
	return code;
}

/* Cuts the entries of all to the smallest width. */
static int ctl_overlap_cut_all(struct overlap *o)
{
	int error = SCD_OK;

	o->width = SCD_LIST_MAX_WIDTH;
	for (size_t i = 0; i < o->n; i++) {
		unsigned width;

		if (!o->digests[i].list) {
			digest_same_shape(&o->digests[0], &o->digests[i]);
			return CTL_NO;
		}
		width = scd_list_width_of(o->digests[i].list);
		o->width = width < o->width ? width : o->width;
	}
	for (size_t i = 0; i < o->n && !error; i++) {
		error = digest_entries_of(o->digests[i].list, &o->entries[i]);
		if (!error)
			digest_entries_cut(&o->entries[i], scd_list_width_of(
						   o->digests[i].list),
					   o->width);
	}
	return error ? digest_wrong("overlap", error) : CTL_OK;
}

/* Folds all to the size of the smallest. */
static int ctl_overlap_fold_all(struct overlap *o)
{
	const struct digest_open *least = &o->digests[0];
	uint64_t most = 0;
	int code = CTL_OK;

	for (size_t i = 0; i < o->n; i++) {
		uint64_t nbits = o->digests[i].bloom.nbits;

		if (nbits < least->bloom.nbits)
			least = &o->digests[i];
		if (nbits > most)
			most = nbits;
	}
	for (size_t i = 0; !code && i < o->n; i++)
		code = digest_fold(&o->digests[i], least);
	if (!code)
		digest_tell_folded("overlap", most, least->bloom.nbits);
	return code;
}

static int ctl_overlap_fit_all(struct overlap *o)
{
	return o->digests[0].list ? ctl_overlap_cut_all(o)
				  : ctl_overlap_fold_all(o);
}

static int ctl_overlap_count_all(struct overlap *o)
{
	for (size_t i = 0; i < o->n; i++) {
		if (o->width) {
			o->counts[i] = (double)o->entries[i].n;
			continue;
		}
		o->counts[i] = scd_bloom_cardinality(&o->digests[i].bloom);
		if (isfinite(o->counts[i]))
			continue;
		fprintf(stderr,
			"digestctl: %s: all of %" PRIu64
			" bits are set: it has everything\n",
			o->digests[i].path, o->digests[i].bloom.nbits);
		return CTL_NO;
	}
	return CTL_OK;
}

static int ctl_overlap_overlap(struct overlap *o, char **paths, bool json)
{
	int code = ctl_overlap_read_all(o, paths);

	if (!code)
		code = ctl_overlap_fit_all(o);
	if (!code)
		code = ctl_overlap_count_all(o);
	if (code)
		return code;
	if (json)
		return ctl_overlap_print_json(o);
	if (o->n == 2)
		ctl_overlap_print_pair(o);
	else
		ctl_overlap_print_matrix(o);
	return CTL_OK;
}

static int ctl_overlap_with_memory(char **paths, size_t n, bool json)
{
	struct overlap o = { .digests = calloc(n, sizeof(*o.digests)),
			     .counts = calloc(n, sizeof(*o.counts)),
			     .entries = calloc(n, sizeof(*o.entries)) };
	int code = CTL_IO;

	if (o.digests && o.counts && o.entries)
		code = ctl_overlap_overlap(&o, paths, json);
	else
		fputs("digestctl: overlap: out of memory\n", stderr);
	while (o.n) {
		digest_close(&o.digests[--o.n]);
		digest_entries_free(&o.entries[o.n]);
	}
	free(o.entries);
	free(o.digests);
	free(o.counts);
	return code;
}

int ctl_overlap(int argc, char **argv)
{
	bool json = false;

	if (!options_read(ctl_overlap_options, argc, argv, &json))
		return CTL_USAGE;
	if (argc - optind < 2)
		return arguments_wrong("overlap", "needs two digests or more",
				       ctl_overlap_help);
	if (!digest_one_stdin(NULL, argv + optind))
		return CTL_USAGE;
	return ctl_overlap_with_memory(argv + optind, (size_t)(argc - optind),
				       json);
}
