/*
 * What of a simulation can be set, and in a sweep varied: a row each. Its
 * option, the column in which results have it, and how a text changes a
 * configuration.
 */
#ifndef CACHESIM_DIMENSION_H
#define CACHESIM_DIMENSION_H

#include "cachesim/report/report.h"
#include "cachesim/sim/cluster.h"
#include "digestd/tool/options.h"

/* In the order in which they are set. */
enum dimension {
	DIMENSION_PROTOCOL,
	DIMENSION_PROXIES,
	DIMENSION_EVICTION,
	DIMENSION_SIZE,
	DIMENSION_SIZE_LIMIT,
	DIMENSION_ADMISSION,
	DIMENSION_SHARED_ADMISSION,
	DIMENSION_PLACEMENT,
	DIMENSION_PARTITION,
	DIMENSION_PREFIX_BITS,
	DIMENSION_BITS,
	DIMENSION_HASHES,
	DIMENSION_FP,
	DIMENSION_EXPECTED,
	DIMENSION_FORM,
	DIMENSION_THRESHOLD,
	DIMENSION_PERIOD,
	DIMENSION_TRIES,
	DIMENSION_PEER_USE,
	DIMENSION_DELAY,
	DIMENSION_LOSS,
	DIMENSION_EPOCH,
	DIMENSION_WARMUP,
	DIMENSION_WARMUP_SEC,
	DIMENSION_SEED,
	DIMENSIONS
};

/* The options, each with the text of a value, or several with commas between
 * them: of an array of DIMENSIONS texts. Ends with an empty row. */
extern const struct tool_option dimension_options[DIMENSIONS + 1];

/* Its column; its value stands there as text, or as the number it is. */
struct report_column dimension_column(enum dimension d);

/* Room for all words that one takes. */
enum { DIMENSION_WORDS = 64 };

/*
 * The words that it takes, and a null behind them; false: numbers.
 */
bool dimension_words(enum dimension d, const char *words[DIMENSION_WORDS]);

/*
 * Changes the configuration. Returns null, or what is wrong with the text, in
 * English without a full stop, empty where it is none of the words; static.
 * *value is the number it is; 0 where the
 * column has texts.
 */
const char *dimension_set(enum dimension d, const char *text,
			  struct sim_config *c, double *value);

/*
 * A time like 90, 300s, 5m, 12h, 7d: in seconds, and as it was given. Returns
 * null, or what is wrong as above.
 */
const char *dimension_seconds(const char *text, uint32_t *s, double *out);

#endif
