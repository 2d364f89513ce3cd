/*
 * What of a simulation can be set.
 */
#include "cachesim/parameter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "digestd/store/eviction.h"

enum { MILLION = 1000000 };

static const char no_word[] = ""; /* the fault of what is none of the words */

/* A number with its unit; false: it is none, or is not within 0..most. */
static bool parameter_number(const char *text, double most, double *out,
			     const char **unit)
{
	char *end;

	*out = strtod(text, &end);
	*unit = end;
	return end != text && *out >= 0 && *out <= most;
}

static const char *parameter_whole(const char *text, uint64_t most, double *out)
{
	const char *unit;

	if (!parameter_number(text, (double)most, out, &unit) || *unit ||
	    *out > (double)(uint64_t)*out)
		return "is not a whole number, or is too large";
	return NULL;
}

/* "0.01" or "1%", in millionths. */
static const char *parameter_share(const char *text, uint32_t *ppm, double *out)
{
	const char *unit;

	if (!parameter_number(text, 100, out, &unit))
		return "is not a share";
	if (!strcmp(unit, "%"))
		*out /= 100;
	else if (*unit)
		return "is not a share";
	if (*out > 1)
		return "is more than 1";
	*ppm = (uint32_t)(*out * MILLION + .5);
	return NULL;
}

const char *parameter_seconds(const char *text, uint32_t *s, double *out)
{
	static const char units[] = "smhd";
	static const double lengths[] = { 1, 60, 3600, 86400 };
	const char *unit, *at;

	if (!parameter_number(text, 1e9, out, &unit))
		return "is not a time";
	at = *unit && !unit[1] ? strchr(units, *unit) : units;
	if (!at)
		return "is not a time: s, m, h, d";
	*out *= lengths[at - units];
	if (*out > UINT32_MAX)
		return "is too long";
	*s = (uint32_t)*out;
	return NULL;
}

/* Bytes with a unit of 1024: K, KB, KiB, and so on; 0: it is none. */
static double parameter_size_unit(const char *unit)
{
	static const char units[] = "KMGT";
	double scale = 1;

	if (!*unit || !strcasecmp(unit, "B"))
		return 1;
	for (const char *u = units; *u; u++) {
		scale *= 1024;
		if (strncasecmp(unit, u, 1))
			continue;
		unit++;
		if (!*unit || !strcasecmp(unit, "B") || !strcmp(unit, "iB"))
			return scale;
		return 0;
	}
	return 0;
}

static const char *parameter_set_size(struct sim_config *c, const char *text,
				      double *v)
{
	const char *unit;
	double bytes;

	if (!parameter_number(text, 0x1p62, v, &unit) || !(*v > 0))
		return "is not a size";
	if (!strcmp(unit, "%") || (!*unit && *v < 1)) {
		c->capacity = 0;
		return parameter_share(text, &c->capacity_ppm, v);
	}
	bytes = *v * parameter_size_unit(unit);
	if (bytes < 1 || bytes > 0x1p62)
		return "is not a size";
	c->capacity = (uint64_t)bytes;
	return NULL;
}

static const char *parameter_set_size_limit(struct sim_config *c,
					    const char *text, double *v)
{
	const char *unit;

	if (!parameter_number(text, 0x1p62, v, &unit) ||
	    !(parameter_size_unit(unit) > 0))
		return "is not a size";
	*v *= parameter_size_unit(unit);
	c->size_limit = (uint64_t)*v;
	return NULL;
}

static const char *parameter_set_protocol(struct sim_config *c,
					  const char *text, double *v)
{
	const struct protocol *p = protocol_find(text);

	*v = 0;
	if (!p)
		return no_word;
	sim_config_use(c, p);
	if (p->way == PROTOCOL_ALONE)
		c->protocol = NULL;
	return NULL;
}

static const char *parameter_set_proxies(struct sim_config *c, const char *text,
					 double *v)
{
	const char *fault = parameter_whole(text, UINT32_MAX, v);

	c->nproxies = (unsigned)*v;
	if (fault || (*v >= 1 && *v <= SIM_MAX_PROXIES))
		return fault;
	return "is not 1 to 1024";
}

/* In any case, and as libCacheSim has them: "S3-FIFO". */
static const char *parameter_set_eviction(struct sim_config *c,
					  const char *text, double *v)
{
	char name[32];
	size_t n = 0;

	*v = 0;
	for (; *text && n + 1 < sizeof(name); text++) {
		if (*text >= 'A' && *text <= 'Z')
			name[n++] = (char)(*text - 'A' + 'a');
		else if (*text != '-' && *text != '_')
			name[n++] = *text;
	}
	name[n] = '\0';
	c->eviction = eviction_policy_find(name);
	return c->eviction ? NULL : no_word;
}

/* in the order of enum sim_partition, which has a column in between */
static const char *const partitions[] = { "client", "number", "prefix",
					  "column", "round-robin", NULL };

static const char *const answers[] = { "no", "yes", NULL };

/* in the order of enum protocol_form */
static const char *const forms[] = { "full", "xor", "conditional", NULL };

static const char *const sizes[] = { "computed", "coded", NULL };

/* The position of a word; or false. */
static bool parameter_word(const char *text, const char *const *words,
			   unsigned *at)
{
	for (*at = 0; words[*at]; ++*at) {
		if (!strcmp(text, words[*at]))
			return true;
	}
	return false;
}

static const char *parameter_set_placement(struct sim_config *c,
					   const char *text, double *v)
{
	*v = 0;
	return placement_read(text, &c->placement) ? NULL : no_word;
}

/* "exact:min-uses=3:window=1000": commas are between values. */
static const char *parameter_set_admission(struct sim_config *c,
					   const char *text, double *v)
{
	char spec[256];
	size_t len = strlen(text);

	*v = 0;
	if (len >= sizeof(spec))
		return "is too long";
	memcpy(spec, text, len + 1);
	for (char *at = spec; *at; at++) {
		if (*at == ':')
			*at = ',';
	}
	if (!admission_parse(spec, &c->admission, &c->admission_options))
		return NULL;
	spec[strcspn(spec, ",")] = '\0';
	return admission_find(spec) ? "has an option that is unknown, or out "
				      "of range" :
				      no_word;
}

static const char *parameter_set_shared_admission(struct sim_config *c,
						  const char *text, double *v)
{
	unsigned at;

	*v = 0;
	if (!parameter_word(text, answers, &at))
		return no_word;
	c->admission_shared = at;
	return NULL;
}

static const char *parameter_set_partition(struct sim_config *c,
					   const char *text, double *v)
{
	unsigned at;

	*v = 0;
	if (!parameter_word(text, partitions, &at) || at == SIM_BY_COLUMN)
		return no_word;
	c->partition = (enum sim_partition)at;
	return NULL;
}

static const char *parameter_set_prefix_bits(struct sim_config *c,
					     const char *text, double *v)
{
	const char *fault = parameter_whole(text, 128, v);

	c->prefix_bits = (unsigned)*v;
	return fault;
}

/* Within the simulator 0 stands for what was not given: a row of a sweep that
 * says 0 would have the figures of the default. */
static const char *parameter_not_zero(const char *fault, double v)
{
	return fault || v > 0 ? fault : "is not more than 0";
}

static const char *parameter_set_bits(struct sim_config *c, const char *text,
				      double *v)
{
	const char *unit;

	if (!parameter_number(text, 1024, v, &unit) || *unit || *v <= 0)
		return "is not a number of bits";
	c->digest.bits = *v;
	return NULL;
}

static const char *parameter_set_hashes(struct sim_config *c, const char *text,
					double *v)
{
	const char *fault = parameter_whole(text, 32, v);

	c->digest.nhash = (unsigned)*v;
	return parameter_not_zero(fault, *v);
}

static const char *parameter_set_fp(struct sim_config *c, const char *text,
				    double *v)
{
	uint32_t ppm;
	const char *fault = parameter_share(text, &ppm, v);

	c->digest.fp = *v;
	return parameter_not_zero(fault, *v);
}

static const char *parameter_set_expected(struct sim_config *c,
					  const char *text, double *v)
{
	const char *fault = parameter_whole(text, UINT32_MAX, v);

	c->digest.expected = (uint64_t)*v;
	return parameter_not_zero(fault, *v);
}

static const char *parameter_set_form(struct sim_config *c, const char *text,
				      double *v)
{
	unsigned at;

	*v = 0;
	if (!parameter_word(text, forms, &at))
		return no_word;
	c->digest.form = (enum protocol_form)at;
	return NULL;
}

static const char *parameter_set_sizes(struct sim_config *c, const char *text,
				       double *v)
{
	unsigned at;

	*v = 0;
	if (!parameter_word(text, sizes, &at))
		return no_word;
	c->digest.coded = at;
	return NULL;
}

static const char *parameter_set_threshold(struct sim_config *c,
					   const char *text, double *v)
{
	return parameter_share(text, &c->publish.share_ppm, v);
}

static const char *parameter_set_period(struct sim_config *c, const char *text,
					double *v)
{
	return parameter_seconds(text, &c->publish.period_s, v);
}

static const char *parameter_set_tries(struct sim_config *c, const char *text,
				       double *v)
{
	const char *fault = parameter_whole(text, UINT32_MAX, v);

	c->tries = (unsigned)*v;
	return fault ? fault
	       : *v > SIM_MAX_PROXIES
		       ? "is more than 1024, the most proxies there can be"
		       : NULL;
}

static const char *parameter_set_peer_use(struct sim_config *c,
					  const char *text, double *v)
{
	unsigned at;

	*v = 0;
	if (!parameter_word(text, answers, &at))
		return no_word;
	c->peer_use = at;
	return NULL;
}

static const char *parameter_set_delay(struct sim_config *c, const char *text,
				       double *v)
{
	return parameter_seconds(text, &c->transport.delay_s, v);
}

static const char *parameter_set_loss(struct sim_config *c, const char *text,
				      double *v)
{
	return parameter_share(text, &c->transport.loss_ppm, v);
}

static const char *parameter_set_epoch(struct sim_config *c, const char *text,
				       double *v)
{
	const char *fault = parameter_whole(text, UINT32_MAX, v);

	c->epoch = (uint64_t)*v;
	return parameter_not_zero(fault, *v);
}

static const char *parameter_set_warmup(struct sim_config *c, const char *text,
					double *v)
{
	return parameter_share(text, &c->warmup_ppm, v);
}

static const char *parameter_set_warmup_sec(struct sim_config *c,
					    const char *text, double *v)
{
	return parameter_seconds(text, &c->warmup_s, v);
}

static const char *parameter_set_seed(struct sim_config *c, const char *text,
				      double *v)
{
	const char *fault = parameter_whole(text, UINT32_MAX, v);

	c->seed = (uint64_t)*v;
	return fault;
}

static const struct {
	const char *name; /* of the column */
	enum report_type type;
	const char *(*set)(struct sim_config *c, const char *text, double *v);
} rows[PARAMETERS] = {
/* clang-format off */
#define ROW(d, name, type, set) [PARAMETER_##d] = { name, REPORT_##type, set }
	ROW(PROTOCOL,    "protocol",    TEXT,    parameter_set_protocol),
	ROW(PROXIES,     "proxies",     COUNT,   parameter_set_proxies),
	ROW(EVICTION,    "eviction",    TEXT,    parameter_set_eviction),
	ROW(SIZE,        "size",        TEXT,    parameter_set_size),
	ROW(SIZE_LIMIT,  "size_limit",  BYTES,   parameter_set_size_limit),
	ROW(ADMISSION,   "admission",   TEXT,    parameter_set_admission),
	ROW(SHARED_ADMISSION, "shared_admission", TEXT, parameter_set_shared_admission),
	ROW(PLACEMENT,   "placement",   TEXT,    parameter_set_placement),
	ROW(PARTITION,   "partition",   TEXT,    parameter_set_partition),
	ROW(PREFIX_BITS, "prefix_bits", COUNT,   parameter_set_prefix_bits),
	ROW(BITS,        "bits",        REAL,    parameter_set_bits),
	ROW(HASHES,      "hashes",      COUNT,   parameter_set_hashes),
	ROW(FP,          "fp",          SHARE,   parameter_set_fp),
	ROW(EXPECTED,    "expected",    COUNT,   parameter_set_expected),
	ROW(FORM,        "form",        TEXT,    parameter_set_form),
	ROW(SIZES,       "sizes",       TEXT,    parameter_set_sizes),
	ROW(THRESHOLD,   "threshold",   SHARE,   parameter_set_threshold),
	ROW(PERIOD,      "period",      SECONDS, parameter_set_period),
	ROW(TRIES,       "tries",       COUNT,   parameter_set_tries),
	ROW(PEER_USE,    "peer_use",    TEXT,    parameter_set_peer_use),
	ROW(DELAY,       "delay",       SECONDS, parameter_set_delay),
	ROW(LOSS,        "loss",        SHARE,   parameter_set_loss),
	ROW(EPOCH,       "epoch",       COUNT,   parameter_set_epoch),
	ROW(WARMUP,      "warmup",      SHARE,   parameter_set_warmup),
	ROW(WARMUP_SEC,  "warmup_sec",  SECONDS, parameter_set_warmup_sec),
	ROW(SEED,        "seed",        COUNT,   parameter_set_seed),
#undef ROW
	/* clang-format on */
};

const struct tool_option parameter_options[PARAMETERS + 1] = {
/* clang-format off */
#define ROW(d, word, l, v, text) [PARAMETER_##d] = { .name = word, .letter = l, \
	.kind = OPTION_TEXT, .at = PARAMETER_##d * sizeof(char *), \
	.value = v, .help = text }
	ROW(PROTOCOL, "protocol", 'k', "PROTOCOL",
	    "how proxies find what peers have (none)"),
	ROW(PROXIES, "proxies", 'p', "N",
	    "number of proxies (4; without a protocol 1)"),
	ROW(EVICTION, "eviction", 'e', "POLICY", "what goes first (lru)"),
	ROW(SIZE, "size", 's', "SIZE",
	    "of all caches together: 100M, 10G, or a share\n"
	    "of the infinite size: 10% (10%)"),
	ROW(SIZE_LIMIT, "size-limit", 0, "SIZE",
	    "larger objects are not cached"),
	ROW(ADMISSION, "admission", 'a', "ADMISSION",
	    "what is kept at all (none), with options\n"
	    "behind colons: exact:min-uses=3"),
	ROW(SHARED_ADMISSION, "shared-admission", 0, "YES",
	    "whether all proxies share one memory of what\n"
	    "they have seen (no)"),
	ROW(PLACEMENT, "placement", 0, "PLACEMENT",
	    "whether what came from a peer is kept, too\n"
	    "(keep)"),
	ROW(PARTITION, "partition", 0, "PARTITION",
	    "which proxy a request goes to (client)"),
	ROW(PREFIX_BITS, "prefix-bits", 0, "N",
	    "of addresses, with --partition prefix (120)"),
	ROW(BITS, "bits", 'B', "BITS", "of a digest, an object"),
	ROW(HASHES, "hashes", 'H', "N", "hash functions of a digest"),
	ROW(FP, "fp", 0, "SHARE", "false positives of a digest"),
	ROW(EXPECTED, "expected", 0, "N",
	    "objects that a digest is made for\n"
	    "(the capacity by the mean size)"),
	ROW(FORM, "form", 0, "KIND", "what is sent (conditional)"),
	ROW(SIZES, "sizes", 0, "SIZES",
	    "whether sizes of digests are computed, or each\n"
	    "is coded: computed or coded (computed)"),
	ROW(THRESHOLD, "threshold", 'T', "SHARE",
	    "publish when so many of the objects are new\n"
	    "(1%)"),
	ROW(PERIOD, "period", 0, "TIME", "publish so often: 300s, 5m, 1h"),
	ROW(TRIES, "tries", 0, "N", "peers that are tried (1; 0: all)"),
	ROW(PEER_USE, "peer-use", 0, "YES",
	    "whether a remote hit is a use at the peer, too,\n"
	    "as with digestd: yes or no (no)"),
	ROW(DELAY, "delay", 0, "TIME", "of updates on their way"),
	ROW(LOSS, "loss", 0, "SHARE", "of updates on their way"),
	ROW(EPOCH, "epoch", 0, "N", "requests between looks at peers (1)"),
	ROW(WARMUP, "warmup", 'w', "SHARE",
	    "of the requests that are not counted (0)"),
	ROW(WARMUP_SEC, "warmup-sec", 0, "TIME",
	    "of the trace that is not counted: 3600, 1h (0)"),
	ROW(SEED, "seed", 'S', "N", "of what is random (1)"),
#undef ROW
	/* clang-format on */
	{ 0 },
};

/* A copy of a list without one of its words. */
static void parameter_list(const char *words[PARAMETER_WORDS],
			   const char *const *from, const char *without)
{
	size_t n = 0;

	for (; *from && n + 1 < PARAMETER_WORDS; from++) {
		if (strcmp(*from, without))
			words[n++] = *from;
	}
	words[n] = NULL;
}

static void parameter_list_protocols(const char *words[PARAMETER_WORDS])
{
	size_t n = 0;

	for (; protocols[n] && n + 1 < PARAMETER_WORDS; n++)
		words[n] = protocols[n]->name;
	words[n] = NULL;
}

static void parameter_list_policies(const char *words[PARAMETER_WORDS])
{
	size_t n = 0;

	for (; eviction_policies[n] && n + 1 < PARAMETER_WORDS; n++)
		words[n] = eviction_policies[n]->name;
	words[n] = NULL;
}

static void parameter_list_admission(const char *words[PARAMETER_WORDS])
{
	size_t n = 0;

	for (; admission_policies[n] && n + 1 < PARAMETER_WORDS; n++)
		words[n] = admission_policies[n]->name;
	words[n] = NULL;
}

bool parameter_words(enum parameter d, const char *words[PARAMETER_WORDS])
{
	if (d == PARAMETER_PROTOCOL)
		parameter_list_protocols(words);
	else if (d == PARAMETER_EVICTION)
		parameter_list_policies(words);
	else if (d == PARAMETER_PLACEMENT)
		parameter_list(words, placement_names, "");
	else if (d == PARAMETER_PARTITION)
		parameter_list(words, partitions, "column");
	else if (d == PARAMETER_FORM)
		parameter_list(words, forms, "");
	else if (d == PARAMETER_SIZES)
		parameter_list(words, sizes, "");
	else if (d == PARAMETER_ADMISSION)
		parameter_list_admission(words);
	else if (d == PARAMETER_PEER_USE || d == PARAMETER_SHARED_ADMISSION)
		parameter_list(words, answers, "");
	else
		return false;
	return true;
}

struct report_column parameter_column(enum parameter d)
{
	return (struct report_column){ .name = rows[d].name,
				       .type = rows[d].type,
				       .is_key = true };
}

const char *parameter_set(enum parameter d, const char *text,
			  struct sim_config *c, double *value)
{
	return rows[d].set(c, text, value);
}
