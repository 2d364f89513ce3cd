/*
 * Lists on the wire: full digests of kind 4. docs/FORMAT.md, "Lists".
 */
#include "codec/coder/list_coder.h"
#include "codec/filter/list_state.h"
#include "codec/wire/frame.h"

enum { PART = 512 }; /* entries that are read at a time */

/* Put all entries, the last one first. */
static void list_wire_put(struct scd__gap_encoder *e,
			  const struct scd_list *list)
{
	uint64_t before = 0; /* the entry found before */
	bool found = false;

	for (size_t bucket = scd__list_nbuckets(list); bucket-- > 0;) {
		const struct scd__list_bucket *b = &list->buckets[bucket];

		unsigned cell = (1u << list->cell_log) - 1;

		for (uint32_t i = b->n; i-- > 0 && !e->error;) {
			uint64_t entry;

			while (scd__list_cell_start(list, b, cell) > i)
				cell--;
			entry = scd__list_entry(list, bucket, cell,
						scd__list_word(list, b, i));
			if (found)
				scd__gap_put(e, before - entry);
			before = entry;
			found = true;
		}
	}
	scd__gap_put(e, before);
}

static int list_wire_put_payload(const struct scd_list *list,
				 const struct scd__shape *shape,
				 struct scd__writer *out)
{
	struct scd__gap_encoder e;
	struct scd__gap_model model;

	scd__list_coder_begin(&e, out);
	if (shape->nones) {
		scd__gap_model_exact(shape, &model);
		scd__gap_encoder_use(&e, &model);
		list_wire_put(&e, list);
	}
	return scd__list_coder_finish(&e, out);
}

int scd_list_encode(const struct scd_list *list, uint8_t **out, size_t *out_len)
{
	const struct scd__shape shape =
		scd__list_entries_shape(scd__list_last(list) + 1, list->n);
	struct scd_digest_info info;
	struct scd__writer payload;
	int error;

	error = scd__frame_begin((size_t)scd__list_run_room(&shape), &payload);
	if (error)
		return error;
	error = list_wire_put_payload(list, &shape, &payload);
	if (error) {
		scd__frame_drop(&payload);
		return error;
	}
	scd_list_info(list, &info);
	scd__frame_finish(&info, &payload, out, out_len);
	return SCD_OK;
}

/* Read all entries into a new list. */
static int list_wire_get(struct scd__reader *in, uint64_t nones,
			 struct scd_list *list)
{
	const uint64_t all = scd__list_last(list) + 1;
	struct scd__gap_decoder d;
	struct scd__gap_model model;
	uint64_t entries[PART], last = 0;
	int error = scd__list_decoder_begin(&d, in);

	scd__list_expect_entries(&d, &model, nones, all);
	while (!error && nones > 0) {
		const size_t n = nones < PART ? (size_t)nones : PART;

		error = scd__list_get_entries(&d, entries, n, all, &last);
		if (!error)
			error = scd__list_append(list, entries, n);
		nones -= n;
	}
	if (error)
		return error;
	return scd__gap_decoder_is_done(&d) ? SCD_OK : SCD_EFORMAT;
}

int scd_list_decode(const uint8_t *in, size_t len,
		    const struct scd_limits *limits,
		    struct scd_digest_info *info, struct scd_list **out)
{
	struct scd_digest_info parsed;
	struct scd__reader payload;
	struct scd_list *list;
	int error;

	error = scd_digest_parse(in, len, limits, &parsed);
	if (error)
		return error;
	if (parsed.kind != SCD_LIST)
		return SCD_EBASE;
	error = scd__list_new_for(&list,
				  (unsigned)__builtin_ctzll(parsed.nbits),
				  parsed.instance, parsed.nones);
	if (error)
		return error;
	payload = scd__frame_reader(in, &parsed);
	error = list_wire_get(&payload, parsed.nones, list);
	if (!error && list->sum != parsed.checksum)
		error = SCD_ECHECKSUM;
	if (error) {
		scd_list_free(&list);
		return error;
	}
	list->generation = parsed.generation;
	if (info)
		*info = parsed;
	*out = list;
	return SCD_OK;
}
