/*
 * What was seen within a window of keys, which may become another one: then a
 * new filter begins, and the old one is still asked, but notes nothing, until
 * the new one knows as much. Nothing is copied or cleared at once.
 *
 * So for a while a key may be seen for longer than either window, by the
 * smaller of the two at most; and as long as that, both take memory: 2.67 bytes
 * a key of each.
 */
#ifndef DIGESTD_ADMISSION_ADMISSION_WINDOW_H
#define DIGESTD_ADMISSION_ADMISSION_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scd_admission;

struct admission_window {
	struct scd_admission *now;
	struct scd_admission *before; /* null: it is known no more */
};

/* One that has seen nothing. Errors as those of scd_admission_new(). */
int admission_window_new(struct admission_window *w, uint64_t keys);
void admission_window_free(struct admission_window *w);

/* Was the key, by its hash, seen? And note it; or only that. */
bool admission_window_use(struct admission_window *w, uint64_t hash);
bool admission_window_seen(const struct admission_window *w, uint64_t hash);

/* Begins another window. What was seen before the last one is given up. Errors
 * as above, and then nothing has changed. */
int admission_window_resize(struct admission_window *w, uint64_t keys);

/* Gives up what the new window has made superfluous. */
void admission_window_settle(struct admission_window *w);

/* The window that counts [keys], and the bytes of both. */
uint64_t admission_window_keys(const struct admission_window *w);
size_t admission_window_memory(const struct admission_window *w);

#endif
