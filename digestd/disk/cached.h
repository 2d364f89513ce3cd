/*
 * A stored response, which memory and disk hold alike: counted by its users,
 * so that its body goes to clients without a copy and without a lock.
 */
#ifndef DIGESTD_DISK_CACHED_H
#define DIGESTD_DISK_CACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/store/store.h"

struct disk_entry;

/* Where a stored response's body is. */
enum cached_body {
	CACHED_BODY_OWN,    /* in memory */
	CACHED_BODY_FILE,   /* in an open file */
	CACHED_BODY_SHARED, /* another one's, wherever that has it */
};

/*
 * A stored response: made, given a body, put into the cache, then never
 * changed. Beside its body it is one piece of memory, which small bodies would
 * otherwise be outweighed by: 72 bytes; then what only some have; its URI; and
 * its fields, which are packed, see packed.h.
 */
struct cached {
	struct store_entry entry; /* first: the store hands out these */
	struct freshness freshness;
	union {
		char *own; /* null: none yet, or none of it in memory */
		struct cached_file *file;
		struct cached *shared;
	} body; /* as body_is says; see cached_body() */
	uint64_t body_len : 45;
	uint64_t body_is : 2; /* an enum cached_body */
	uint64_t status : 10;
	uint64_t for_disk : 1;
	uint64_t varies : 1;
	uint64_t sliced : 1; /* the head of one in slices, by its fields */
	uint64_t doubted : 1; /* see cache_doubt_disk(); it is from there */
	uint64_t from_peer : 1; /* by its fields, see tags_source_field, */
	uint64_t unvouched : 1; /* and not to be given to other nodes */
	uint64_t copy : 1;   /* a hot copy of a peer's, see eviction_tiers.h */
	unsigned refs; /* changed atomically */
	uint32_t text_len : 24;
	uint8_t place; /* where it is to be stored, then where it is: an
			  enum admission_decision, changed atomically */
	/* a struct cached_disk if for_disk; the struct fields that select it if
	 * it varies; its URI and a 0, then its fields, of text_len bytes */
	_Alignas(uint64_t) char tail[];
};

/* The same on disk, of what may be there. Under the cache's lock, once it is in
 * the cache. */
struct cached_disk {
	uint64_t id; /* its number, when it was read or written; else 0 */
	struct disk_entry *entry; /* null: it is not there */
};

/* A body in an open file, with what each of its blocks must be. */
struct cached_file {
	int fd;
	uint64_t id;     /* the object's number */
	uint64_t sums[]; /* of blocks, see disk_block_sum() */
};

/* The lengths that there are bits for. */
#define CACHED_BODY_MAX (((uint64_t)1 << 45) - 1)
enum { CACHED_TEXT_MAX = (1 << 24) - 1 };

/* What one is made of; all is copied. */
struct cached_head {
	const char *uri; /* canonical */
	const struct fields *fields; /* as they are sent on */
	const struct fields *selecting; /* see vary_select() */
	unsigned status;
	const struct freshness *freshness;
	bool for_disk; /* there is a disk that it may be written to */
};

/* One with one user, without a body. Null without memory, or when URI and
 * fields are longer than CACHED_TEXT_MAX. */
struct cached *cached_new(const struct cached_head *head);

/* Where what a text, as below, is of came from: see http/tags.h. */
enum cached_origin {
	CACHED_FROM_ORIGIN,
	CACHED_FROM_PEER, /* the body did: not to be given to other nodes */
	CACHED_BY_PEER,   /* a peer has confirmed it, or handed it over */
};
enum cached_origin cached_text_origin(const char *text, size_t len);

/*
 * The same of a text that cached_text() has given: a URI and a 0, and packed
 * fields. head->uri and head->fields are not looked at. The text is
 * one of which cached_text_is_good(). Null without memory.
 */
bool cached_text_is_good(const char *text, size_t len);
struct cached *cached_new_from(const struct cached_head *head, const char *text,
			       size_t len);

/*
 * Gives it a body, once, of len bytes (<= CACHED_BODY_MAX): these bytes, which
 * become its own until body_memory_free() (null: only the length matters); an
 * open file, of malloc(), which it will close and free; or that of another one,
 * which it becomes a user of.
 */
void cached_set_body(struct cached *c, char *bytes, uint64_t len);
void cached_set_file(struct cached *c, struct cached_file *file, uint64_t len);
void cached_share_body(struct cached *c, struct cached *of);

/* Has the processor load the first bytes of a body in memory, which is about to
 * be sent; only saves time. */
void cached_prefetch_body(const struct cached *c);

/* Its body: the bytes in memory, or the open file; null: it is not there. */
const char *cached_body(const struct cached *c);
const struct cached_file *cached_file(const struct cached *c);

/* Whose body it shares, which is one with a body of its own; null: nobody's. */
struct cached *cached_shares(const struct cached *c);

/* What it takes of memory beside the body. */
size_t cached_memory(const struct cached *c);

/* Its URI; what selects it, see vary_select(). */
const char *cached_uri(const struct cached *c);
const struct fields *cached_selecting(const struct cached *c);

/* Its URI, a 0, and its fields as packed.h has them; of so many bytes. */
const char *cached_text(const struct cached *c, size_t *len);

/* Its fields alone, packed, of so many bytes. */
const char *cached_packed(const struct cached *c, size_t *len);

/* Where it is on disk; null: it was not made for one. */
struct cached_disk *cached_disk(struct cached *c);

/*
 * Makes *f, which is overwritten, the list of its fields: they are lent for as
 * long as the caller is a user of c. Returns 0 or -ENOMEM.
 */
int cached_fields(const struct cached *c, struct fields *f);

/* One user more; returns c. */
struct cached *cached_ref(struct cached *c);

/* One user less; the last one frees. *c becomes null; null is allowed, and what
 * it mostly is. */
void cached_release(struct cached *c);
static inline void cached_unref(struct cached **c)
{
	struct cached *gone = *c;

	*c = NULL;
	if (gone)
		cached_release(gone);
}

#endif
