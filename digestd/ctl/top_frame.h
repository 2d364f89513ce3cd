/*
 * What digestctl top shows: how a node stands, and what has happened between
 * two of its status a second.
 */
#ifndef DIGESTD_CTL_TOP_FRAME_H
#define DIGESTD_CTL_TOP_FRAME_H

#include <jansson.h>
#include <stdio.h>

#include "digestd/ctl/hot_urls.h"

enum { TOP_FRAME_HOTTEST = 10 }; /* URLs that are shown */

/* Two status of one node; the earlier one may be another instance's, of which
 * nothing is subtracted. */
struct top_frame {
	const json_t *earlier, *status;
	double seconds; /* between the two; > 0 */
	unsigned rows;	/* of the terminal; 0: no end */
	const struct hot_urls *hot;
};

/* Prints it as lines; the terminal cuts what is too long. */
void top_frame_print(const struct top_frame *f, FILE *to);

/* The same as an object; null without memory. */
json_t *top_frame_json(const struct top_frame *f);

/* Writes at most so many lines of a text, each cut after so many characters, to
 * a terminal whose cursor is at the top left; clears what was there. */
void top_frame_show(const char *text, unsigned rows, unsigned columns,
		    FILE *to);

#endif
