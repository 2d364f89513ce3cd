/*
 * A stream of bytes from a file or from standard input. A gzip, zstd or xz
 * stream is recognised by its first bytes and unpacked on the way; several
 * members or frames one after the other are one stream, as for zcat, zstdcat
 * and xzcat. A thread of its own unpacks, some blocks ahead.
 */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_input;

/*
 * Opens a file; "-" is standard input. Reads its first bytes to see how it is
 * packed. 0, TRACE_ENOMEM, TRACE_EIO (errno) or TRACE_ECODING. The caller ends
 * it with trace_input_free().
 */
int trace_input_open(struct trace_input **out, const char *path);

/*
 * Up to cap unpacked bytes. Returns their number; 0 at the end of the stream
 * and ever after; TRACE_EIO or TRACE_ECODING (a damaged or cut stream).
 */
ssize_t trace_input_read(struct trace_input *in, uint8_t *out, size_t cap);

/*
 * How much of the file has been read, 0..1, packed as it is; what is read ahead
 * counts. 0 where nobody knows: of a pipe.
 */
double trace_input_share(const struct trace_input *in);

/* Closes the file. Accepts a half-open or null input and nulls the pointer. */
void trace_input_free(struct trace_input **in);

#endif
