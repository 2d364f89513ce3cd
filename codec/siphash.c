/*
 * SipHash-2-4-128: two rounds for each 8 bytes, four rounds before each of
 * the two words of output.
 */
#include "codec/siphash.h"

#include "codec/le64.h"

static inline uint64_t siphash_rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static inline void siphash_sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = siphash_rotl(v[1], 13) ^ v[0];
	v[0] = siphash_rotl(v[0], 32);
	v[2] += v[3];
	v[3] = siphash_rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = siphash_rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = siphash_rotl(v[1], 17) ^ v[2];
	v[2] = siphash_rotl(v[2], 32);
}

static inline void siphash_compress(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	siphash_sip_round(v);
	siphash_sip_round(v);
	v[0] ^= word;
}

static inline uint64_t siphash_load_le32(const uint8_t *p)
{
	return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
	       (uint64_t)p[3] << 24;
}

static inline void siphash_begin(struct scd__siphash *s, const uint8_t key[16])
{
	uint64_t k0 = scd__load_le64(key);
	uint64_t k1 = scd__load_le64(key + 8);

	s->v[0] = k0 ^ UINT64_C(0x736f6d6570736575);
	s->v[1] = k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee;
	s->v[2] = k0 ^ UINT64_C(0x6c7967656e657261);
	s->v[3] = k1 ^ UINT64_C(0x7465646279746573);
	s->tail = 0;
	s->len = 0;
}

void scd__siphash_init(struct scd__siphash *s, const uint8_t key[16])
{
	siphash_begin(s, key);
}

/* Fewer than eight bytes as the lower ones of a word. The loads of four bytes
 * overlap where there are fewer than eight, and agree on what they share. */
static inline uint64_t siphash_load_part(const uint8_t *p, size_t n)
{
	if (n >= 4)
		return siphash_load_le32(p) |
		       siphash_load_le32(p + n - 4) << (n - 4) * 8;
	if (!n)
		return 0;
	return (uint64_t)p[0] | (uint64_t)p[n / 2] << n / 2 * 8 |
	       (uint64_t)p[n - 1] << (n - 1) * 8;
}

/* Always inline, so that the state stays in registers, which saves a third of
 * the time. */
static inline __attribute__((always_inline)) void
siphash_read(struct scd__siphash *s, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	const unsigned waiting = (unsigned)(s->len % 8 * 8); /* bits */
	uint64_t word;
	size_t left = len;

	/* eight bytes complete a word, and as many as before wait */
	for (; left >= 8; left -= 8, p += 8) {
		word = scd__load_le64(p);
		siphash_compress(s->v, s->tail | word << waiting);
		s->tail = word >> 1 >> (63 - waiting); /* 0 if none waits */
	}
	word = siphash_load_part(p, left);
	s->tail |= word << waiting;
	if (waiting + left * 8 >= 64) {
		siphash_compress(s->v, s->tail);
		s->tail = word >> (64 - waiting); /* which is above 0 */
	}
	s->len += len;
}

/* The state is in variables meanwhile: the bytes could be any object's, also
 * its own, as far as a compiler knows. */
void scd__siphash_update(struct scd__siphash *s, const void *bytes, size_t len)
{
	struct scd__siphash here = *s;

	siphash_read(&here, bytes, len);
	*s = here;
}

static inline uint64_t siphash_finish(uint64_t v[4])
{
	for (int i = 0; i < 4; i++)
		siphash_sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline void siphash_end(struct scd__siphash *s, uint64_t out[2])
{
	siphash_compress(s->v, s->tail | s->len << 56);
	s->v[2] ^= 0xee;
	out[0] = siphash_finish(s->v);
	s->v[1] ^= 0xdd;
	out[1] = siphash_finish(s->v);
}

void scd__siphash_final(struct scd__siphash *s, uint64_t out[2])
{
	struct scd__siphash here = *s;

	siphash_end(&here, out);
}

void scd__siphash_whole(const uint8_t key[16], uint64_t before,
			unsigned before_len, const void *bytes, size_t len,
			uint64_t out[2])
{
	struct scd__siphash s;

	siphash_begin(&s, key);
	s.tail = before;
	s.len = before_len;
	siphash_read(&s, bytes, len);
	siphash_end(&s, out);
}
