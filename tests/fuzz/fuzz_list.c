/*
 * Any bytes as a list, as its ages, as a frame for a list with and without
 * ages, and as a delta for a list of its width. What
 * decodes must be what its header says, and encode to the same bytes; what is
 * applied must have the checksum that was announced.
 */
#include "codec/coder/list_coder.h"
#include "codec/filter/list_ages.h"
#include "codec/filter/list_state.h"
#include "tests/fuzz/frame.h"

enum { MOST = 64 }; /* entries that the limits of frame.h allow */

static uint64_t entries_of(const struct scd_list *list, uint64_t *out)
{
	fuzz_must(list->n <= MOST);
	fuzz_must(scd_list_entries(list, 0, MOST, out) == list->n);
	return list->n;
}

/* The sum over what is there, and the order. */
static void check_list(const struct scd_list *list)
{
	uint64_t entries[MOST], sum = 0;
	const uint64_t n = entries_of(list, entries);

	for (uint64_t i = 0; i < n; i++) {
		const struct scd_key key = {entries[i] << (64 - list->width),
					    0};

		fuzz_must(i == 0 || entries[i - 1] <= entries[i]);
		fuzz_must(scd_list_has(list, &key));
		sum += scd__list_hash(list, entries[i]);
	}
	fuzz_must(sum == list->sum);
}

/* The list that a delta is for: some entries, and twins. */
static struct scd_list *base_of(uint64_t nbits)
{
	const uint64_t n = nbits / 32 < MOST / 2 ? nbits / 32 : MOST / 2;
	struct scd_list_change c = {.nadded = (size_t)n};
	struct scd_list *list;

	fuzz_must(scd_list_new(&list, (unsigned)__builtin_ctzll(nbits),
			       FRAME_INSTANCE) == SCD_OK);
	c.added = fuzz_allocate((size_t)n * sizeof(*c.added));
	for (uint64_t i = 0; i < n; i++)
		c.added[i] = (i & ~UINT64_C(3)) * (nbits / MOST);
	fuzz_must(scd_list_change(list, &c, FRAME_BASE_GENERATION) == SCD_OK);
	free(c.added);
	return list;
}

static void try_list(const uint8_t *in, size_t len)
{
	struct scd_digest_info info;
	struct scd_list *list;
	uint8_t *out;
	size_t out_len;

	if (scd_list_decode(in, len, &fuzz_limits, &info, &list) != SCD_OK)
		return;
	check_list(list);
	fuzz_must(list->n == info.nones && list->sum == info.checksum);
	fuzz_must(scd_list_encode(list, &out, &out_len) == SCD_OK);
	fuzz_must(out_len == len);
	fuzz_must(memcmp(out + SCD_DIGEST_HEADER_BYTES,
			 in + SCD_DIGEST_HEADER_BYTES,
			 len - SCD_DIGEST_HEADER_BYTES) == 0);
	free(out);
	scd_list_free(&list);
}

/* The same change once more, in the form that an encoder gives it. */
static void try_again(const struct scd_list *base,
		      const struct scd_list_change *c,
		      const struct scd_digest_info *info)
{
	struct scd_list_change back;
	struct scd_digest_info again;
	uint8_t *out;
	size_t len;

	fuzz_must(scd_list_delta_encode(base, c, info->generation, &out,
					&len) == SCD_OK);
	fuzz_must(scd_list_delta_decode(out, len, &fuzz_limits, base, &again,
					&back) == SCD_OK);
	fuzz_must(again.checksum == info->checksum);
	fuzz_must(back.nremoved == c->nremoved && back.nadded == c->nadded);
	scd_list_change_free(&back);
	free(out);
}

static void try_delta(const uint8_t *in, size_t len, struct scd_list *base)
{
	const uint64_t before = base->sum;
	struct scd_digest_info info;
	struct scd_list_change c;

	if (scd_list_delta_decode(in, len, &fuzz_limits, base, &info, &c) ==
	    SCD_OK) {
		try_again(base, &c, &info);
		fuzz_must(base->sum == before);
		fuzz_must(scd_list_change(base, &c, info.generation) == SCD_OK);
		fuzz_must(base->sum == info.checksum && base->n == info.nones);
		scd_list_change_free(&c);
	}
	check_list(base);
}

/* The base of a frame, whose width the bytes choose. */
static struct scd_list *frame_base_of(const uint8_t *in, size_t len)
{
	return base_of(UINT64_C(1) << (SCD_LIST_MIN_WIDTH +
				       (len ? in[len - 1] : 0) % 36));
}

/* Ages, of some changes, and the sizes that they have. */
static void age(struct scd_list *list)
{
	uint64_t entries[MOST];

	fuzz_must(scd_list_keep_ages(list) == SCD_OK);
	for (unsigned i = 0; i < 3 && list->n > 1; i++) {
		const uint64_t n = entries_of(list, entries);
		struct scd_list_change c = {.removed = entries + n / 2,
					    .nremoved = (size_t)(n - n / 2)};

		fuzz_must(scd_list_change(list, &c, list->generation) ==
			  SCD_OK);
		c = (struct scd_list_change){.added = entries + n / 2,
					     .nadded = (size_t)(n - n / 2)};
		fuzz_must(scd_list_change(list, &c, list->generation) ==
			  SCD_OK);
	}
}

static void check_ages(const struct scd_list *list)
{
	const struct scd__cohorts *cohorts = &list->ages->cohorts;
	uint64_t counts[SCD__COHORTS_MAX] = {0};
	uint8_t of_entry[MOST];

	fuzz_must(scd__cohorts_are_valid(cohorts, list->n));
	scd__list_ages_read(list, of_entry);
	for (uint64_t i = 0; i < list->n; i++)
		counts[of_entry[i]]++;
	fuzz_must(memcmp(counts, cohorts->size, sizeof(counts)) == 0);
}

/* Say that ages are those of a list, behind type and length. */
static void repair_ages(uint8_t *in, size_t len, const struct scd_list *list)
{
	size_t at = 1;

	while (at < len && in[at] > 127)
		at++;
	for (unsigned i = 0; i < 4 && at + 1 + i < len; i++)
		in[at + 1 + i] = (uint8_t)(list->sum >> 8 * i);
}

/* The bytes as ages. */
static void try_ages(const uint8_t *data, size_t len)
{
	struct scd_list *list = frame_base_of(data, len);
	uint8_t *in = fuzz_allocate(len), *out;
	size_t used, out_len;

	memcpy(in, data, len);
	repair_ages(in, len, list);
	if (scd_list_ages_decode(in, len, list, &used) == SCD_OK) {
		check_ages(list);
		fuzz_must(scd_list_ages_encode(list, &out, &out_len) ==
			  SCD_OK);
		fuzz_must(out_len <= used);
		free(out);
	}
	free(in);
	scd_list_free(&list);
}

/* The bytes as a frame, for a base with or without ages. */
static void try_frame(const uint8_t *in, size_t len, bool aged)
{
	struct scd_list *base = frame_base_of(in, len);
	struct scd_list_change c;
	uint64_t generation;
	size_t used;

	if (aged)
		age(base);
	if (scd_list_frame_decode(in, len, &fuzz_limits, base, &used,
				  &generation, &c) == SCD_OK) {
		fuzz_must(used <= len && generation > base->generation);
		fuzz_must(scd_list_change(base, &c, generation) == SCD_OK);
		scd_list_change_free(&c);
	}
	check_list(base);
	if (aged)
		check_ages(base);
	scd_list_free(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scd_digest_info info;
	struct scd_list *base;

	try_list(data, len);
	try_frame(data, len, false);
	try_frame(data, len, true);
	try_ages(data, len);
	if (scd_digest_parse(data, len, &fuzz_limits, &info) != SCD_OK ||
	    info.kind != SCD_LIST_DELTA)
		return 0;
	base = base_of(info.nbits);
	try_delta(data, len, base);
	scd_list_free(&base);
	return 0;
}

static uint64_t get_u64(const uint8_t *at)
{
	struct scd__reader r = scd__reader(at, 8);

	return scd__read_u64(&r);
}

/* The checksum of a payload that can be read; else it stays. */
static void repair_list(uint8_t *in, size_t len, struct scd_list *list,
			uint64_t n)
{
	const uint64_t all = scd__list_last(list) + 1;
	struct scd__reader r = scd__reader(in + SCD_DIGEST_HEADER_BYTES,
					   len - SCD_DIGEST_HEADER_BYTES);
	struct scd__gap_decoder d;
	struct scd__gap_model model;
	uint64_t entries[MOST], last = 0, sum = 0;

	if (scd__list_decoder_begin(&d, &r) != SCD_OK)
		return;
	scd__list_expect_entries(&d, &model, n, all);
	if (scd__list_get_entries(&d, entries, n, all, &last) != SCD_OK)
		return;
	for (uint64_t i = 0; i < n; i++)
		sum += scd__list_hash(list, entries[i]);
	fuzz_put_u64(in + 64, sum);
}

static void repair_delta(uint8_t *in, size_t len, struct scd_list *base,
			 uint64_t go, uint64_t come)
{
	const uint64_t all = scd__list_last(base) + 1;
	struct scd__reader r = scd__reader(in + SCD_DIGEST_HEADER_BYTES,
					   len - SCD_DIGEST_HEADER_BYTES);
	struct scd__gap_decoder d;
	struct scd__gap_model model;
	uint64_t ranks[MOST], entries[MOST], last = 0, sum = base->sum;

	if (scd__list_decoder_begin(&d, &r) != SCD_OK ||
	    scd__list_get_ranks(&d, ranks, go, base->n) != SCD_OK)
		return;
	scd__list_expect_entries(&d, &model, come, all);
	if (scd__list_get_entries(&d, entries, come, all, &last) != SCD_OK)
		return;
	scd__list_entries_at(base, ranks, go, ranks);
	for (uint64_t i = 0; i < go; i++)
		sum -= scd__list_hash(base, ranks[i]);
	for (uint64_t i = 0; i < come; i++)
		sum += scd__list_hash(base, entries[i]);
	fuzz_put_u64(in + 64, sum);
}

/* Make the shape, the numbers and the base's fields those of a list. */
static void repair(uint8_t *in, size_t len)
{
	const bool is_delta = in[4] % 2;
	uint64_t nbits = get_u64(in + 8), n, go, come;
	struct scd_list *base;

	if (nbits < 32 || nbits & (nbits - 1) || nbits >> 41)
		nbits = UINT64_C(1) << (SCD_LIST_MIN_WIDTH + in[8] % 36);
	base = base_of(nbits);
	n = nbits / 32 < MOST / 2 ? nbits / 32 : MOST / 2;
	go = is_delta ? in[72] % (base->n + 1) : 0;
	come = in[24] % ((is_delta ? go : n) + 1);
	n = is_delta ? base->n - go + come : come;
	in[4] = is_delta ? SCD_LIST_DELTA : SCD_LIST;
	in[5] = SCD_CODING_LIST;
	in[6] = SCD_HASHING_PREFIX;
	in[7] = 1;
	fuzz_put_u64(in + 8, nbits);
	fuzz_put_u64(in + 16, n);
	fuzz_put_u64(in + 24, n);
	fuzz_put_u64(in + 32, FRAME_INSTANCE);
	fuzz_put_u64(in + 48, is_delta ? FRAME_BASE_GENERATION : 0);
	fuzz_put_u64(in + 56, is_delta ? base->sum : 0);
	fuzz_put_u64(in + 72, is_delta ? go + come : n);
	if (is_delta)
		repair_delta(in, len, base, go, come);
	else
		repair_list(in, len, base, n);
	scd_list_free(&base);
}

/* Of the bytes: which entries of the base go, and the steps to others. */
static size_t make(struct fuzz_bytes *b, uint8_t **out)
{
	struct scd_list *list = base_of(
		UINT64_C(1) << (SCD_LIST_MIN_WIDTH + fuzz_take(b) % 36));
	const bool is_delta = fuzz_take(b) % 2;
	const unsigned shift = fuzz_take(b) % 33;
	uint64_t held[MOST], go[MOST], come[MOST], last = 0;
	const uint64_t n = entries_of(list, held);
	struct scd_list_change c = {.removed = go, .added = come};
	size_t len;

	for (uint64_t i = 0; i < n; i++) {
		if (fuzz_take(b) % 4 == 0)
			go[c.nremoved++] = held[i];
	}
	while (b->left && c.nadded < c.nremoved) {
		last += (uint64_t)fuzz_take(b) << shift;
		if (last > scd__list_last(list))
			break;
		come[c.nadded++] = last;
	}
	if (is_delta) {
		fuzz_must(scd_list_delta_encode(list, &c,
						FRAME_BASE_GENERATION + 1, out,
						&len) == SCD_OK);
	} else {
		fuzz_must(scd_list_change(list, &c, 1) == SCD_OK);
		fuzz_must(scd_list_encode(list, out, &len) == SCD_OK);
	}
	scd_list_free(&list);
	return len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	static const struct fuzz_frame frame = {repair, make};

	return fuzz_mutate_frame(&frame, data, len, max, seed);
}
