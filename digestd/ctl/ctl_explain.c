/*
 * digestctl explain: why a running node answers a URL as it does.
 */
#include <stdio.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/figures.h"
#include "digestd/ctl/node_client.h"
#include "digestd/tool/arguments.h"

const char ctl_explain_help[] =
	"usage: digestctl explain [OPTIONS] URL\n"
	"Tells which site a URL is of, and what its rules say of it; what a\n"
	"running node has for it, from where, how old and how long fresh by\n"
	"which rule, or why the last response was not stored; which peers\n"
	"claim it, and what came last of asking one. The exit code is 0 when\n"
	"it is stored, else 1.\n";

const struct tool_option *const ctl_explain_options[] = { control_options,
							  NULL };

static bool ctl_explain_is_stored(const json_t *e)
{
	return figures_number(e, "stored.in_memory") > 0 ||
	       figures_number(e, "stored.on_disk") > 0;
}

static void ctl_explain_variant_of(json_t *fields)
{
	const char *name;
	json_t *value;

	json_object_foreach(fields, name, value) {
		if (json_is_string(value))
			printf("         for %s: %s\n", name,
			       json_string_value(value));
		else
			printf("         for requests without %s\n", name);
	}
}

/* "fresh for 48s by max-age" */
static void ctl_explain_freshness(const json_t *v)
{
	double left = figures_number(v, "fresh_s");
	char time[FIGURES_BYTES];

	if (left >= 0)
		printf("fresh for %s", figures_time(left, time));
	else
		printf("stale since %s", figures_time(-left, time));
	printf(" by %s%s", figures_text(v, "by"),
	       json_is_true(json_object_get(v, "validates")) ?
		       ", but validated each time (no-cache)" : "");
}

static void ctl_explain_stored_one(const json_t *v)
{
	const char *peer = figures_text(v, "peer");
	char size[FIGURES_BYTES], age[FIGURES_BYTES];

	printf("here     in memory%s%s: %.0f, %s bytes, from %s%s, age %s, ",
	       json_is_true(json_object_get(v, "disk")) ? " and on disk" : "",
	       json_is_true(json_object_get(v, "probation")) ? " on probation" :
							       "",
	       figures_number(v, "status"),
	       figures_size(figures_number(v, "bytes"), size),
	       *peer ? "peer " : "the origin", peer,
	       figures_time(figures_number(v, "age_s"), age));
	ctl_explain_freshness(v);
	putchar('\n');
	ctl_explain_variant_of(json_object_get(v, "variant"));
}

static void ctl_explain_stored(const json_t *e)
{
	const json_t *stored = json_object_get(e, "stored");
	const json_t *list = json_object_get(stored, "variants");
	double in_memory = figures_number(stored, "in_memory");
	double more = in_memory - (double)json_array_size(list);

	if (in_memory > 1)
		printf("here     %.0f variants in memory, %.0f on disk\n",
		       in_memory, figures_number(stored, "on_disk"));
	for (size_t i = 0; i < json_array_size(list); i++)
		ctl_explain_stored_one(json_array_get(list, i));
	if (more > 0)
		printf("         and %.0f more variants\n", more);
	if (!json_array_size(list) && ctl_explain_is_stored(e))
		printf("here     on disk, not in memory: %.0f variants\n",
		       figures_number(stored, "on_disk"));
	else if (!ctl_explain_is_stored(e))
		puts("here     nothing is stored");
}

static void ctl_explain_unstored(const json_t *e)
{
	const json_t *why = json_object_get(e, "not_stored");
	char ago[FIGURES_BYTES];

	if (!json_is_object(why)) {
		if (!ctl_explain_is_stored(e))
			puts("why      not known: it was not asked for of "
			     "late, the origin failed (see troubles in "
			     "digestctl status), or what was stored was "
			     "evicted or purged");
		return;
	}
	printf("why      %s ago the %s's response was not stored: %s (%s)\n",
	       figures_time(figures_number(why, "ago_s"), ago),
	       figures_text(why, "source"), figures_text(why, "reason"),
	       figures_text(why, "meaning"));
}

static void ctl_explain_peers(const json_t *e)
{
	const json_t *peers = json_object_get(e, "peers");
	const json_t *claims = json_object_get(peers, "claims");
	char age[FIGURES_BYTES];

	for (size_t i = 0; i < json_array_size(claims); i++) {
		const json_t *p = json_array_get(claims, i);

		printf("peers    %s claims it (digest %.0f, %s old%s%s)\n",
		       figures_text(p, "peer"), figures_number(p, "generation"),
		       figures_time(figures_number(p, "digest_age_s"), age),
		       json_is_true(json_object_get(p, "usable")) ?
			       "" : "; it is not asked: ",
		       json_is_true(json_object_get(p, "usable")) ?
			       "" : figures_text(p, "health"));
	}
	if (!json_array_size(claims))
		printf("peers    none claims it, of %.0f whose digests are "
		       "known\n", figures_number(peers, "digests"));
}

static void ctl_explain_asked(const json_t *e)
{
	const json_t *asked = json_object_get(e, "asked");
	char ago[FIGURES_BYTES];

	if (json_is_object(asked))
		printf("asked    %s %s ago: %s\n", figures_text(asked, "peer"),
		       figures_time(figures_number(asked, "ago_s"), ago),
		       figures_text(asked, "outcome"));
}

static int ctl_explain_code(const json_t *answer)
{
	return ctl_explain_is_stored(json_object_get(answer, "explain")) ?
		       CTL_OK : CTL_NO;
}

/* "fresh_least = 1d (www.conf:9, rule /static/a)", or "status 404: ..." of one
 * that is for such answers. */
static void ctl_explain_setting(const json_t *setting, bool for_answers)
{
	const char *rule = figures_text(setting, "rule");

	if (for_answers)
		printf("%s: ", rule);
	printf("%s = %s (%s", figures_text(setting, "name"),
	       figures_text(setting, "value"), figures_text(setting, "from"));
	if (*rule && !for_answers)
		printf(", rule %s", rule);
	puts(")");
}

/* Those that a line sets; the first has the label. */
static void ctl_explain_settings(const json_t *list, bool for_answers,
				 const char **label)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *setting = json_array_get(list, i);

		if (!*figures_text(setting, "from"))
			continue;
		printf("%-8s ", *label);
		ctl_explain_setting(setting, for_answers);
		*label = "";
	}
}

static void ctl_explain_site(const json_t *e)
{
	const char *origin = figures_text(e, "origin.url");
	const char *key = figures_text(e, "key");
	const char *label = "rules";

	printf("key      %s\n", *key ? key : "none: requests pass");
	if (json_is_object(json_object_get(e, "site")))
		printf("site     %s (%s)\n", figures_text(e, "site.name"),
		       figures_text(e, "site.from"));
	else
		puts("site     no site: the general options count");
	if (*origin)
		printf("origin   %s (%s)\n", origin,
		       figures_text(e, "origin.from"));
	else
		printf("origin   %s\n", figures_text(e, "origin.from"));
	ctl_explain_settings(json_object_get(e, "settings"), false, &label);
	ctl_explain_settings(json_object_get(e, "answers"), true, &label);
}

static int ctl_explain_tell(const json_t *answer)
{
	const json_t *e = json_object_get(answer, "explain");

	printf("url      %s\n", figures_text(e, "url"));
	ctl_explain_site(e);
	ctl_explain_stored(e);
	ctl_explain_unstored(e);
	ctl_explain_peers(e);
	ctl_explain_asked(e);
	return ctl_explain_code(answer);
}

int ctl_explain(int argc, char **argv)
{
	struct control_options o = { .json = false };

	if (!options_read(ctl_explain_options, argc, argv, &o))
		return CTL_USAGE;
	if (argc - optind != 1)
		return arguments_wrong("explain", "needs one URL",
				       ctl_explain_help);
	return node_client_run(&o,
			       json_pack("{s:s, s:s}", "command", "explain",
					 "url", argv[optind]),
			       o.json ? ctl_explain_code : ctl_explain_tell);
}
