/*
 * Digests in files; "-" is standard input or output. What is wrong is told on
 * stderr, with the file's name.
 */
#ifndef DIGESTD_CTL_DIGEST_FILE_H
#define DIGESTD_CTL_DIGEST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a whole file into *bytes, to be released with free(); of one that is
 * no digest, or longer than its header says, as much as shows that. On failure
 * it is null, and errno says why. */
bool digest_file_read(const char *path, uint8_t **bytes, size_t *len);

/* Writes a whole file. */
bool digest_file_write(const char *path, const uint8_t *bytes, size_t len);

#endif
