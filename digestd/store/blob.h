/*
 * Immutable bytes with a count of their users, who may be different threads:
 * encoded digests on their way out.
 */
#ifndef DIGESTD_STORE_BLOB_H
#define DIGESTD_STORE_BLOB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct blob {
	atomic_uint users;
	size_t len;
	uint8_t *bytes;
};

/*
 * Makes a blob with one user of bytes from malloc(), which become its own.
 * Null: no memory, and then the bytes are freed too.
 */
struct blob *blob_take(uint8_t *bytes, size_t len);

/* One user more. Returns b. */
struct blob *blob_ref(struct blob *b);

/* One user less; the last one frees it. Null is accepted. */
void blob_unref(struct blob *b);

#endif
