/*
 * Figures of a running node as people read them, in a few columns.
 */
#ifndef DIGESTD_CTL_FIGURES_H
#define DIGESTD_CTL_FIGURES_H

#include <jansson.h>
#include <stdint.h>

enum { FIGURES_BYTES = 24 };

/* "512", "1.2K", "84M", in units of 1024. */
const char *figures_size(double bytes, char out[FIGURES_BYTES]);

/* "0.3s", "12s", "5m", "4h 10m", "3d 4h". */
const char *figures_time(double seconds, char out[FIGURES_BYTES]);

/* Of a share or rate: ".084", ".0006", "1.2e-06"; "0" is none at all. */
const char *figures_share(double share, char out[FIGURES_BYTES]);

/* A number at a path of members, "store.bytes"; 0 if there is none. */
double figures_number(const json_t *o, const char *path);

/* A text at such a path; "" if there is none. Of the object. */
const char *figures_text(const json_t *o, const char *path);

#endif
