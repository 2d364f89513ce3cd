/*
 * The stream of a list's frames: whatever the pieces in which it is read, and
 * whatever is published meanwhile, a reader gets each frame from its place on,
 * once and whole, and is told when none leads on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/mesh/digest_stream.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { INSTANCE = 7, FRAMES = 60, MOST = 400, KEPT = 12 };

/* Frame i leads from generation i to i + 1; its bytes tell which it is. */
static struct blob *frames[FRAMES];

static void make_frames(void)
{
	uint64_t random = 3;

	for (unsigned i = 0; i < FRAMES; i++) {
		size_t body = random_below(&random, MOST - 3);
		size_t head = body < 128 ? 2 : 3;
		uint8_t *bytes = malloc(head + body);

		assert_non_null(bytes);
		bytes[0] = 1;
		bytes[1] = (uint8_t)(head == 2 ? body : body % 128 | 0x80);
		if (head == 3)
			bytes[2] = (uint8_t)(body / 128);
		memset(bytes + head, (int)i, body);
		frames[i] = blob_take(bytes, head + body);
	}
}

static void free_frames(void)
{
	for (unsigned i = 0; i < FRAMES; i++)
		blob_unref(frames[i]);
}

/* A publication, with the frames from `first` on. */
struct source {
	struct publication p;
	struct list_publication *list;
};

static void source_make(struct source *s, uint64_t first, uint64_t generation)
{
	const size_t n = (size_t)(generation - first);

	s->list = calloc(1, sizeof(*s->list) + n * sizeof(s->list->steps[0]));
	assert_non_null(s->list);
	s->list->generation = s->list->full_generation = generation;
	s->list->full = blob_take(calloc(1, FRAMES * MOST), FRAMES * MOST);
	s->list->nsteps = n;
	for (size_t i = 0; i < n; i++) {
		s->list->steps[i].from = first + i;
		s->list->steps[i].frame = blob_ref(frames[first + i]);
	}
	s->p = (struct publication){ .instance = INSTANCE,
				     .generation = generation,
				     .list = s->list };
}

static struct digest_ask ask_from(uint64_t generation)
{
	return (struct digest_ask){
		.tags = { { INSTANCE, generation, true } },
		.ntags = 1,
		.takes_lists = true,
		.takes_frames = true,
		.takes_stream = true,
		.wait_s = 30,
	};
}

static bool begin(struct digest_stream *s, const struct digest_ask *ask,
		  const struct publication *p)
{
	const struct digest_answer answer = digest_answer_to(ask, p, 60);

	return digest_stream_begin(s, ask, p, &answer);
}

/* The notes of an input, one behind the other, each with its kind in front. */
static char noted[64];

static void on_note(void *arg, enum digest_note kind, const uint8_t *body,
		    size_t len)
{
	size_t had = strlen(noted);

	(void)arg;
	snprintf(noted + had, sizeof(noted) - had, "%u%.*s,", (unsigned)kind,
		 (int)len, (const char *)body);
}

/* What it has got, as far as it is whole frames: which they are. */
static void check_frames(uint8_t *got, size_t len, uint64_t from, uint64_t to)
{
	struct digest_stream_input in = {
		.bytes = got, .len = len, .most = MOST, .on_note = on_note,
	};
	size_t at = 0;
	bool quiet;

	assert_int_equal(digest_stream_sort(&in, &quiet), SCD_OK);
	assert_false(quiet);
	assert_int_equal(in.whole, in.len);
	len = in.len;
	for (uint64_t i = from; i < to; i++) {
		assert_true(len - at >= frames[i]->len);
		assert_memory_equal(got + at, frames[i]->bytes, frames[i]->len);
		at += frames[i]->len;
	}
	assert_int_equal(at, len);
}

static void test_any_pieces(void **state)
{
	static uint8_t got[FRAMES * MOST];

	(void)state;
	make_frames();
	for (uint64_t seed = 0; seed < 200; seed++) {
		uint64_t random = seed, generation = 3 + seed % 5, from = 3;
		const struct digest_ask ask = ask_from(from);
		struct digest_stream stream;
		struct source s;
		size_t len = 0;

		source_make(&s, 0, generation);
		assert_true(begin(&stream, &ask, &s.p));
		while (generation < FRAMES || stream.generation < FRAMES) {
			bool over;
			size_t n = digest_stream_read(
				&stream, &s.p, got + len,
				1 + random_below(&random, 2 * MOST), &over);

			assert_false(over);
			len += n;
			assert_true(n || stream.generation == generation);
			if (generation == FRAMES || random_below(&random, 2))
				continue;
			list_publication_free(s.list);
			generation += 1 + random_below(&random, 2);
			if (generation > FRAMES)
				generation = FRAMES;
			source_make(&s, 0, generation);
		}
		len += digest_stream_finish(&stream, got + len, MOST);
		check_frames(got, len, from, FRAMES);
		digest_stream_end(&stream);
		list_publication_free(s.list);
	}
	free_frames();
}

/* Some frames are no longer kept. A frame that was begun is got whole all the
 * same. */
static void test_left_behind(void **state)
{
	uint8_t got[MOST];
	const struct digest_ask ask = ask_from(0);
	struct digest_stream stream;
	struct source old, now;
	size_t len;
	bool over;

	(void)state;
	make_frames();
	source_make(&old, 0, 1);
	source_make(&now, FRAMES - KEPT, FRAMES);
	assert_true(begin(&stream, &ask, &old.p));
	assert_int_equal(digest_stream_read(&stream, &old.p, got, 1, &over),
			 1);
	list_publication_free(old.list);
	assert_false(begin(&(struct digest_stream){ 0 }, &ask, &now.p));
	len = 1 + digest_stream_read(&stream, &now.p, got + 1, sizeof(got) - 1,
				     &over);
	assert_false(over);
	check_frames(got, len, 0, 1);
	assert_int_equal(digest_stream_read(&stream, &now.p, got, 1, &over),
			 0);
	assert_true(over);
	assert_int_equal(digest_stream_finish(&stream, got, 1), 0);
	list_publication_free(now.list);
	free_frames();
}

/* A full digest is smaller than the frames. */
static void test_full_is_smaller(void **state)
{
	const struct digest_ask ask = ask_from(0);
	struct digest_stream stream = { .instance = INSTANCE };
	struct source s;
	uint8_t byte;
	bool over;

	(void)state;
	make_frames();
	source_make(&s, 0, FRAMES);
	s.list->full->len = 10;
	assert_false(begin(&(struct digest_stream){ 0 }, &ask, &s.p));
	assert_int_equal(digest_stream_read(&stream, &s.p, &byte, 1, &over),
			 0);
	assert_true(over);
	list_publication_free(s.list);
	free_frames();
}

/* Who gets none. */
static void test_who_begins(void **state)
{
	struct digest_stream stream;
	struct digest_ask ask;
	struct source s;

	(void)state;
	make_frames();
	source_make(&s, 0, 9);
	ask = ask_from(9);
	assert_true(begin(&stream, &ask, &s.p));
	assert_int_equal(stream.generation, 9);
	ask = ask_from(4);
	assert_true(begin(&stream, &ask, &s.p));
	assert_int_equal(stream.generation, 4);
	ask.takes_stream = false;
	assert_false(begin(&stream, &ask, &s.p));
	ask = ask_from(4);
	ask.wait_s = 0;
	assert_false(begin(&stream, &ask, &s.p));
	ask = ask_from(4);
	ask.takes_frames = false;
	assert_false(begin(&stream, &ask, &s.p));
	ask = ask_from(4);
	ask.tags[0].instance++;
	assert_false(begin(&stream, &ask, &s.p));
	ask = ask_from(4); /* there is a list only: it waits for an array */
	ask.takes_lists = false;
	assert_false(begin(&stream, &ask, &s.p));
	list_publication_free(s.list);
	free_frames();
}

/* The other side. */

static const struct {
	const char *label;
	const char *bytes;
	size_t len, whole;
	int error;
	size_t taken; /* bytes that are none of frames */
	const char *notes; /* null: none, so what is taken says so */
} wholes[] = {
	{ "nothing", "", 0, 0, SCD_OK, 0, NULL },
	{ "a type", "\1", 1, 0, SCD_OK, 0, NULL },
	{ "an empty one", "\1\0", 2, 2, SCD_OK, 0, NULL },
	{ "one, cut", "\1\3ab", 4, 0, SCD_OK, 0, NULL },
	{ "one", "\1\3abc", 5, 5, SCD_OK, 0, NULL },
	{ "one and a type", "\1\3abc\2", 6, 5, SCD_OK, 0, NULL },
	{ "two", "\1\3abc\2\1d", 8, 8, SCD_OK, 0, NULL },
	{ "half a length", "\1\x83", 2, 0, SCD_OK, 0, NULL },
	{ "the longest", "\1\16nnnnnnnnnnnnnn", 16, 16, SCD_OK, 0, NULL },
	{ "too long", "\1\17", 2, 0, SCD_ELIMIT, 0, NULL },
	{ "a whole one, one too long", "\1\1a\1\xff\1", 6, 3, SCD_ELIMIT, 0,
	  NULL },
	{ "far too long", "\1\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, 0,
	  SCD_ELIMIT, 0, NULL },
	{ "a length that does not end",
	  "\1\x80\x80\x80\x80\x80\x80\x80\x80\x80", 10, 0, SCD_EFORMAT, 0,
	  NULL },
	{ "no news", "\0", 1, 0, SCD_OK, 1, NULL },
	{ "for long", "\0\0\0", 3, 0, SCD_OK, 3, NULL },
	{ "before a frame", "\0\1\1a", 4, 3, SCD_OK, 1, NULL },
	{ "behind one", "\1\1\0\0\0", 5, 3, SCD_OK, 2, NULL },
	{ "between two", "\1\1a\0\1\1b", 7, 6, SCD_OK, 1, NULL },
	{ "in half a frame", "\1\3\0\0", 4, 0, SCD_OK, 0, NULL },
	{ "a note", "\20\2ab", 4, 0, SCD_OK, 4, "0ab," },
	{ "two, with a frame between", "\20\1a\1\0\21\0", 7, 2, SCD_OK, 5,
	  "0a,1," },
	{ "frames behind notes", "\1\0\21\1x\2\1y\1\0\20\0", 12, 7,
	  SCD_OK, 5, "1x,0," },
	{ "one, cut", "\20\3ab", 4, 0, SCD_OK, 0, "" },
	{ "in half a frame", "\1\3\20\0", 4, 0, SCD_OK, 0, "" },
	{ "one that is not known", "\177\1a\1\0", 5, 2, SCD_OK, 3, "" },
	{ "none any more", "\200\1a", 3, 3, SCD_OK, 0, "" },
	{ "one too long", "\20\0\20\17", 4, 0, SCD_ELIMIT, 2, "0," },
};

static void test_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(wholes); i++) {
		const char *notes = wholes[i].notes;
		uint8_t bytes[16] = { 0 };
		struct digest_stream_input in = {
			.bytes = bytes, .len = wholes[i].len, .most = 16,
			.whole = 99, .on_note = on_note,
		};
		bool quiet;
		int error;

		memcpy(bytes, wholes[i].bytes, in.len);
		*noted = '\0';
		error = digest_stream_sort(&in, &quiet);
		if (error != wholes[i].error || in.whole != wholes[i].whole ||
		    wholes[i].len - in.len != wholes[i].taken ||
		    quiet != (!notes && wholes[i].taken) ||
		    strcmp(noted, notes ? notes : "") != 0)
			fail_msg("%s: %d, %zu, %s", wholes[i].label, error,
				 in.whole, noted);
	}
}

/* Frames, notes and what is quiet come in any pieces: frames and notes are the
 * same, each whole, in their order. */
static void test_any_pieces_that_come(void **state)
{
	enum { PARTS = 40 };

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint8_t sent[PARTS * 8], had[PARTS * 8], frames_of[PARTS * 8];
		struct digest_stream_input in = {
			.bytes = had, .most = 16, .on_note = on_note,
		};
		char notes[sizeof(noted)] = "";
		size_t len = 0, nframes = 0, at = 0;
		uint64_t random = seed;

		for (unsigned i = 0; i < PARTS; i++) {
			const size_t body = random_below(&random, 4);
			const bool note = !random_below(&random, 3);
			uint8_t *part = sent + len;

			if (note && strlen(notes) + 8 > sizeof(notes))
				continue;
			part[0] = note ? DIGEST_NOTE_TYPE : 1;
			part[1] = (uint8_t)body;
			memset(part + 2, 'a' + (int)(i % 26), body);
			len += body + 2;
			if (note) {
				snprintf(notes + strlen(notes), 8, "0%.*s,",
					 (int)body, (char *)part + 2);
			} else {
				memcpy(frames_of + nframes, part, body + 2);
				nframes += body + 2;
			}
			if (!random_below(&random, 4))
				sent[len++] = DIGEST_STREAM_QUIET;
		}
		*noted = '\0';
		while (at < len) {
			size_t n = 1 + random_below(&random, 20);
			bool quiet;

			if (n > len - at)
				n = len - at;
			memcpy(had + in.len, sent + at, n);
			in.len += n;
			at += n;
			assert_int_equal(digest_stream_sort(&in, &quiet),
					 SCD_OK);
			assert_true(in.whole <= in.len);
		}
		assert_int_equal(in.whole, nframes);
		assert_int_equal(in.len, nframes);
		assert_memory_equal(had, frames_of, nframes);
		assert_string_equal(noted, notes);
	}
}

/* Reads one byte after the other until there is none. */
static size_t read_all(struct digest_stream *stream,
		       const struct publication *p, uint8_t *got)
{
	size_t len = 0;
	bool over;

	while (digest_stream_read(stream, p, got + len, 1, &over))
		len++;
	assert_false(over);
	return len;
}

/* A list of 100 of which 10 go at each step: after three steps it is told ages
 * once, if it takes them, and gets frames by age from there on. */
static void test_ages(void **state)
{
	enum { BY_AGE = 3, AGES = 5, STEPS = 8 };
	static const uint8_t wanted[2][STEPS] = {
		{ 1, 1, 1, 1, 1, 1, 1, 1 },
		{ 1, 1, 1, BY_AGE, BY_AGE, BY_AGE, BY_AGE, BY_AGE },
	};

	(void)state;
	make_frames();
	for (int takes_ages = 0; takes_ages < 2; takes_ages++) {
		struct digest_ask ask = ask_from(0);
		struct digest_stream stream;
		unsigned told = 0;
		struct source s;

		ask.takes_ages = takes_ages;
		source_make(&s, 0, 0);
		assert_true(begin(&stream, &ask, &s.p));
		for (unsigned i = 0; i < STEPS; i++) {
			static uint8_t got[3 * MOST];
			size_t len, step = i;

			list_publication_free(s.list);
			source_make(&s, 0, i + 1);
			s.list->nkeys = 100;
			s.list->ages = blob_take(calloc(1, 2), 2);
			s.list->ages->bytes[0] = AGES;
			s.list->steps[step].gone = 10;
			s.list->steps[step].aged = blob_take(calloc(1, 2), 2);
			s.list->steps[step].aged->bytes[0] = BY_AGE;
			len = read_all(&stream, &s.p, got);
			assert_int_equal(got[0], wanted[takes_ages][i]);
			if (got[0] == BY_AGE)
				assert_true(len == 2);
			if (len > frames[i]->len) { /* ages follow */
				told++;
				assert_int_equal(i, 2);
				assert_int_equal(got[frames[i]->len], AGES);
			}
		}
		assert_int_equal(told, takes_ages);
		digest_stream_end(&stream);
		list_publication_free(s.list);
	}
	free_frames();
}

static struct blob *note_of(enum digest_note kind, size_t len)
{
	static const uint8_t body[MOST];
	struct blob *note = digest_note_make(kind, body, len);

	assert_non_null(note);
	return note;
}

/* A note comes between two frames, whatever the pieces; a newer one of its kind
 * in its place. Its reader gets it, and the frames as without. */
static void test_notes(void **state)
{
	static const size_t lens[] = { 0, 1, 127, 128, 300 };
	static uint8_t got[5 * MOST];
	struct digest_stream stream;
	struct source s;

	(void)state;
	make_frames();
	source_make(&s, 0, 4);
	for (size_t i = 0; i < NROWS(lens); i++) {
		const struct digest_ask ask = ask_from(2);
		const size_t size = lens[i] + (lens[i] > 127 ? 3 : 2);
		size_t len = 1;
		bool over;

		assert_true(begin(&stream, &ask, &s.p));
		assert_int_equal(digest_stream_read(&stream, &s.p, got, 1,
						    &over), 1);
		digest_stream_add(&stream, DIGEST_NOTE_SUSPECTS,
				  note_of(DIGEST_NOTE_SUSPECTS, 9));
		digest_stream_add(&stream, DIGEST_NOTE_SUSPECTS,
				  note_of(DIGEST_NOTE_SUSPECTS, lens[i]));
		digest_stream_add(&stream, DIGEST_NOTE_NODE,
				  note_of(DIGEST_NOTE_NODE, 0));
		while (digest_stream_read(&stream, &s.p, got + len, 1, &over))
			len++;
		assert_int_equal(stream.noted, size + 2);
		assert_int_equal(got[frames[2]->len], DIGEST_NOTE_TYPE);
		assert_int_equal(got[frames[2]->len + 2], DIGEST_NOTE_TYPE + 1);
		*noted = '\0';
		check_frames(got, len, 2, 4);
		assert_string_equal(noted, "0,1,");
	}
	digest_stream_add(&stream, DIGEST_NOTE_NODE,
			  note_of(DIGEST_NOTE_NODE, 0));
	digest_stream_end(&stream); /* with one that was not read */
	list_publication_free(s.list);
	free_frames();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_pieces),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_full_is_smaller),
		cmocka_unit_test(test_who_begins),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_any_pieces_that_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
