/*
 * What of a simulation can be set, and in a sweep varied: a row each. Its
 * option, the column in which results have it, and how a text changes a
 * configuration.
 */
#ifndef CACHESIM_PARAMETER_H
#define CACHESIM_PARAMETER_H

#include "cachesim/report/report.h"
#include "cachesim/sim/cluster.h"
#include "digestd/tool/options.h"

/* In the order in which they are set. */
enum parameter {
	PARAMETER_PROTOCOL,
	PARAMETER_PROXIES,
	PARAMETER_EVICTION,
	PARAMETER_SIZE,
	PARAMETER_SIZE_LIMIT,
	PARAMETER_ADMISSION,
	PARAMETER_SHARED_ADMISSION,
	PARAMETER_PLACEMENT,
	PARAMETER_PARTITION,
	PARAMETER_PREFIX_BITS,
	PARAMETER_BITS,
	PARAMETER_HASHES,
	PARAMETER_FP,
	PARAMETER_EXPECTED,
	PARAMETER_FORM,
	PARAMETER_SIZES,
	PARAMETER_THRESHOLD,
	PARAMETER_PERIOD,
	PARAMETER_TRIES,
	PARAMETER_PEER_USE,
	PARAMETER_DELAY,
	PARAMETER_LOSS,
	PARAMETER_EPOCH,
	PARAMETER_WARMUP,
	PARAMETER_WARMUP_SEC,
	PARAMETER_SEED,
	PARAMETERS
};

/* The options, each with the text of a value, or several with commas between
 * them: of an array of PARAMETERS texts. Ends with an empty row. */
extern const struct tool_option parameter_options[PARAMETERS + 1];

/* Its column; its value stands there as text, or as the number it is. */
struct report_column parameter_column(enum parameter d);

/* Room for all words that one takes. */
enum { PARAMETER_WORDS = 64 };

/*
 * The words that it takes, and a null behind them; false: numbers.
 */
bool parameter_words(enum parameter d, const char *words[PARAMETER_WORDS]);

/*
 * Changes the configuration. Returns null, or what is wrong with the text, in
 * English without a full stop, empty where it is none of the words; static.
 * *value is the number it is; 0 where the
 * column has texts.
 */
const char *parameter_set(enum parameter d, const char *text,
			  struct sim_config *c, double *value);

/*
 * A time like 90, 300s, 5m, 12h, 7d: in seconds, and as it was given. Returns
 * null, or what is wrong as above.
 */
const char *parameter_seconds(const char *text, uint32_t *s, double *out);

#endif
