/*
 * The table of docs/ADMISSION.md: what admission policies do to hit ratios and
 * disk writes.
 *
 *     admission_table [-e EVICTION] [-s SHARE,...] [-p POLICY;...]
 *                     TRACE[:FORMAT]...
 *
 * by default LRU, caches of .1, 1, 5 and 20 % of the bytes of all objects, and
 * all policies with their usual options. A trace is what cachesim reads, the
 * generator too (gen:...). Writes are a share of those without admission.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/admission_run.h"

enum { MAX_COLUMNS = 8, MAX_POLICIES = 16, MAX_TEXT = 4096 };

struct table {
	const char *eviction;
	double shares[MAX_COLUMNS];
	int nshares;
	const char *policies[MAX_POLICIES];
	int npolicies;
};

static void die(const char *what)
{
	fprintf(stderr, "admission_table: %s\n", what);
	exit(1);
}

static void take_shares(struct table *t, char *text)
{
	t->nshares = 0;
	for (char *s = strtok(text, ","); s; s = strtok(NULL, ",")) {
		if (t->nshares == MAX_COLUMNS)
			die("too many shares");
		t->shares[t->nshares++] = strtod(s, NULL);
	}
}

static void take_policies(struct table *t, char *text)
{
	t->npolicies = 0;
	for (char *s = strtok(text, ";"); s; s = strtok(NULL, ";")) {
		if (t->npolicies == MAX_POLICIES)
			die("too many policies");
		t->policies[t->npolicies++] = s;
	}
}

static void take_all_policies(struct table *t)
{
	for (; admission_policies[t->npolicies]; t->npolicies++)
		t->policies[t->npolicies] =
			admission_policies[t->npolicies]->name;
}

static void print_row(const struct table *t, const struct sim_trace *trace,
		      const char *policy, struct admission_run *none)
{
	struct admission_run r = { 0 };

	printf("| %s |", policy);
	for (int i = 0; i < t->nshares; i++) {
		if (!admission_run(trace, policy, t->eviction, t->shares[i],
				   &r))
			die(policy);
		if (none[i].writes <= 0)
			none[i] = r;
		printf(" %.3f %.3f (%.0f) |", r.ohr, r.bhr,
		       100 * r.writes / none[i].writes);
		fflush(stdout);
	}
	printf(" %.1f | %.2f |\n", r.key_bytes, 100 * r.false_seen);
	fflush(stdout);
}

static void print_trace(const struct table *t, char *name)
{
	struct admission_run none[MAX_COLUMNS] = { { 0 } };
	struct trace_options options = { 0 };
	struct sim_trace trace;
	char *colon = strrchr(name, ':');

	if (colon && strncmp(name, "gen:", 4) != 0) {
		*colon = '\0';
		options.format = colon + 1;
	}
	if (sim_trace_load(&trace, name, &options, NULL))
		die(name);
	printf("%s: %llu requests, %u objects, %llu bytes of objects; "
	       "eviction %s\n\n| policy |",
	       name, (unsigned long long)trace.nrequests, trace.nobjects,
	       (unsigned long long)admission_footprint(&trace), t->eviction);
	for (int i = 0; i < t->nshares; i++)
		printf(" %g %% |", 100 * t->shares[i]);
	printf(" B/key | false seen %% |\n|---|");
	for (int i = 0; i < t->nshares; i++)
		printf("---|");
	printf("---|---|\n");
	for (int i = 0; i < t->npolicies; i++)
		print_row(t, &trace, t->policies[i], none);
	printf("\n");
	sim_trace_free(&trace);
}

int main(int argc, char **argv)
{
	struct table t = { .eviction = "lru" };
	char shares[] = ".001,.01,.05,.2";
	int option;

	take_shares(&t, shares);
	take_all_policies(&t);
	while ((option = getopt(argc, argv, "e:s:p:")) != -1) {
		switch (option) {
		case 'e':
			t.eviction = optarg;
			break;
		case 's':
			take_shares(&t, optarg);
			break;
		case 'p':
			take_policies(&t, optarg);
			break;
		default:
			return 2;
		}
	}
	for (int i = optind; i < argc; i++)
		print_trace(&t, argv[i]);
	return 0;
}
