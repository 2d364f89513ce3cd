/*
 * Keeps what the admitter has seen in its file: reads it at the start, writes
 * it every five minutes, in a thread of its own, and at the end.
 */
#ifndef DIGESTD_CACHE_ADMISSION_KEEPER_H
#define DIGESTD_CACHE_ADMISSION_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

struct admission_keeper;
struct admitter;
struct loop;

/*
 * Makes one, and reads the file. What is wrong with it is logged, and the
 * admitter starts empty; so it does when the file is of another secret, or of
 * another window than the one that was given. `admitter` is borrowed. Returns
 * 0, -ENOMEM, or -EINVAL, which is logged: the path is of no regular file, and
 * writing would take its place.
 */
int admission_keeper_new(struct loop *loop, struct admitter *admitter,
			 const char *path, const uint8_t secret[16],
			 struct admission_keeper **out);

/* Whether a write is under way. */
bool admission_keeper_is_busy(struct admission_keeper *k);

/* Waits for a write that is under way, without another one. */
void admission_keeper_wait(struct admission_keeper *k);

/* Writes it for the last time. *k becomes null; null is allowed. */
void admission_keeper_free(struct admission_keeper **k);

#endif
