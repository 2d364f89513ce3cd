/*
 * Any bytes as lines of the feed; the first byte says how many keys there is
 * room for, and whether Squids' are kept. A line that is wrong changes nothing;
 * what the others say is what a plain list of keys then holds, and what is
 * answered to an ack is one line of text.
 */
#include <string.h>

#include "digestd/sidecar/feed_lines.h"
#include "digestd/sidecar/holdings.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_INPUT = 4096, SQUID = 1, MAX_KEYS = 8, NBITS = 1024, NHASH = 3 };

/* The dumbest twin of the holdings. */
struct held {
	struct scd_key keys[MAX_KEYS];
	unsigned n, max, refused;
};

static unsigned held_find(const struct held *t, const struct scd_key *key)
{
	unsigned i = 0;

	while (i < t->n && (t->keys[i].hi != key->hi ||
			    t->keys[i].lo != key->lo))
		i++;
	return i;
}

static int held_apply(struct held *t, const struct feed_line *line)
{
	unsigned i = held_find(t, &line->key.own);

	switch (line->word) {
	case FEED_INSERT:
		if (i < t->n)
			return 1;
		if (t->n == t->max) {
			t->refused++;
			return 0;
		}
		t->keys[t->n++] = line->key.own;
		break;
	case FEED_EVICT:
		if (i < t->n)
			t->keys[i] = t->keys[--t->n];
		break;
	case FEED_RESET:
		t->n = 0;
		break;
	case FEED_ACK:
	case FEED_NOTHING:
		break;
	}
	return 1;
}

static void check_answer(const struct feed_line *line, const struct held *t)
{
	char text[FEED_ANSWER_BYTES];
	size_t len = feed_line_answer(line, t->n, t->refused, text);

	fuzz_must(len > 0 && len < sizeof(text));
	fuzz_must(memchr(text, '\n', len) == text + len - 1);
	for (size_t i = 0; i + 1 < len; i++)
		fuzz_must(text[i] >= ' ' && text[i] <= '~');
	fuzz_must(!memcmp(text + 4, line->text, line->text_len));
}

/* One line, from memory that ends where it does. */
static void try_line(struct holdings *h, struct held *t, const uint8_t *data,
		     size_t len)
{
	struct holdings_stats now;
	char *copy = fuzz_allocate(len);
	struct feed_line line;

	memcpy(copy, data, len);
	if (!feed_line_read(h, copy, len, &line)) {
		holdings_lock(h);
		fuzz_must(feed_line_apply(h, &line) == held_apply(t, &line));
		holdings_unlock(h);
		if (line.word == FEED_ACK)
			check_answer(&line, t);
	}
	holdings_stats(h, &now);
	fuzz_must(now.keys == t->n && now.refused == t->refused);
	for (unsigned i = 0; i < t->n; i++)
		fuzz_must(holdings_have(h, &t->keys[i]));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *at = data + 1, *end = data + len, *stop;
	struct holdings_settings settings = { .nbits = NBITS, .nhash = NHASH };
	struct held t = { .n = 0 };
	struct holdings *h;

	if (len < 1 || len > MAX_INPUT)
		return 0;
	settings.squid = data[0] & SQUID;
	settings.max_keys = t.max = 1 + (data[0] >> 1) % MAX_KEYS;
	fuzz_must(!holdings_new(&settings, &h));
	for (; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		try_line(h, &t, at, (size_t)(stop - at));
	}
	holdings_free(&h);
	return 0;
}

/* clang-format off */
static const char *const words[] = {
	"insert ", "evict ", "reset", "ack ", "http://", "https://", "a/", ":80",
	"%41", "?", "#", "@", "..", "\r", "\n", "insert http://a/\n",
	"evict http://a/\n", "reset\n", "ack 1\n", "[::1]", " ",
};
/* clang-format on */

/* Puts a word somewhere, or does the usual. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	const char *word = words[seed / 2 % (sizeof(words) / sizeof(*words))];
	size_t word_len = strlen(word), at;

	if (len < 1 || len + word_len > max || seed & 1)
		return fuzz_mutate(data, len, max);
	at = 1 + seed / 64 % len;
	memmove(data + at + word_len, data + at, len - at);
	memcpy(data + at, word, word_len);
	return len + word_len;
}
