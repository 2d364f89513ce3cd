/*
 * What the command line says, for all commands together: the tables of options
 * fill in one structure, and each command takes the tables that it needs.
 */
#ifndef CACHESIM_SETTINGS_H
#define CACHESIM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachesim/parameter.h"
#include "digestd/tool/options.h"

struct settings {
	/* what is simulated: first, as parameter_options is an array */
	const char *parameter[PARAMETERS]; /* values; null: the default */
	uint64_t threads;
	bool counters, per_proxy; /* are shown */
	bool measure;             /* false-seen rates of admission */
	bool keep_changed;        /* a changed object stays a hit */
	const char *modify_every; /* objects change so often; null: as told */

	/* whole nodes */
	unsigned nodes;   /* enum whole_nodes */
	double rate;      /* requests a second; 0: as the trace has them */
	double speed;     /* times the trace's; 0: 1 */
	const char *client_delay, *peer_delay, *origin_delay; /* one way */
	uint64_t locations;       /* where nodes are; 0: all at one */
	const char *far_delay;    /* between these */
	const char *coding_time;  /* of digests */
	const char *node_options; /* file of lines for their configuration */

	/* hit ratio curves */
	double sample;        /* share of the objects; 0: all */
	uint64_t max_objects; /* in it; 0: no limit */
	bool no_adjust;

	/* advice */
	uint64_t peers;            /* nodes of the cluster */
	const char *configuration; /* file for it; null: standard output */

	/* the trace */
	const char *trace;    /* operand; null: the usual */
	const char *type;     /* its format; null: detected */
	const char *columns;
	const char *base;
	uint64_t num_req;     /* 0: all */
	bool strict;
	bool ignore_obj_size; /* all are 1 */
	bool all_cacheable;   /* whatever their methods and statuses */

	/* what comes out */
	bool json, csv, quiet;
	const char *output; /* file; null: standard output */
	unsigned form;      /* of a trace, in export_forms */
	bool presets;       /* of the generator are listed */
	const char *x, *y;  /* columns that are drawn */
	bool script;        /* for gnuplot is printed */
};

/* How is simulated, and what is shown of it. */
extern const struct tool_option settings_simulation[];

/* What whole nodes are told. */
extern const struct tool_option settings_nodes[];

/* How traces are read. */
extern const struct tool_option settings_trace[];

/* What is done with the result. */
extern const struct tool_option settings_output[];

/* How a trace is written. */
extern const struct tool_option settings_export[];

/* What is generated. */
extern const struct tool_option settings_generate[];

/* What curves are computed of. */
extern const struct tool_option settings_mrc[];

/* What advice is asked for. */
extern const struct tool_option settings_advise[];

/* What the paper's study may be varied in. */
extern const struct tool_option settings_paper[];

/* What is drawn. */
extern const struct tool_option settings_plot[];

/*
 * Reads the options; at most one operand, which is the trace. Returns an exit
 * code; what is wrong was told.
 */
int settings_read(struct settings *s, const struct tool_option *const *tables,
		  int argc, char **argv);

/* The same for any operands, which begin at getopt's optind. */
int settings_read_options(struct settings *s,
			  const struct tool_option *const *tables, int argc,
			  char **argv);

#endif
