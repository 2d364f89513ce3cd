/*
 * The peers of a running node as a table, of its status (status_json.c).
 */
#ifndef DIGESTD_CTL_PEER_ROWS_H
#define DIGESTD_CTL_PEER_ROWS_H

#include <jansson.h>
#include <stdio.h>

/* What a table has of hits and bytes: since the node has started, or a second,
 * since an earlier status. */
struct peer_rows {
	const json_t *status;
	const json_t *earlier; /* null: totals */
	double seconds;	       /* between the two */
	unsigned most;	       /* rows; 0: all */
};

/* Prints a head and a row for each peer. */
void peer_rows_print(const struct peer_rows *rows, FILE *to);

#endif
