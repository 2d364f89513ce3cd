/*
 * Any bytes as a configuration. A tree comes of it, with lines that go up and
 * are those of the text, and what was read without a fault comes to the same
 * when it is written and read again.
 */
#include <stdbool.h>
#include <string.h>

#include "digestd/config/config_tree.h"
#include "tests/codec/random.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_INPUT = 4096, MAX_TEXT = 1 << 20 };

struct written {
	char *text;
	size_t len;
};

static void write_char(struct written *w, char c)
{
	fuzz_must(w->len < MAX_TEXT);
	w->text[w->len++] = c;
}

/* In double quotes, each byte that could mean something by its number. */
static void write_word(struct written *w, const char *word)
{
	write_char(w, '"');
	for (; *word; word++) {
		unsigned char c = (unsigned char)*word;

		if (c > ' ' && c < 127 && c != '"' && c != '\\') {
			write_char(w, *word);
			continue;
		}
		write_char(w, '\\');
		write_char(w, (char)('0' + (c >> 6)));
		write_char(w, (char)('0' + (c >> 3 & 7)));
		write_char(w, (char)('0' + (c & 7)));
	}
	write_char(w, '"');
	write_char(w, ' ');
}

static void write_text(struct written *w, const char *text)
{
	while (*text)
		write_char(w, *text++);
}

static void write_nodes(struct written *w, const struct config_node *n)
{
	for (; n; n = n->next) {
		const bool list = n->kind == CONFIG_OPTION ||
				  n->kind == CONFIG_APPEND;

		if (n->kind == CONFIG_INCLUDE)
			write_text(w, "include ");
		else
			write_word(w, n->name);
		if (list)
			write_text(w, n->kind == CONFIG_APPEND ? "+={" : "={");
		for (size_t i = 0; i < n->nwords; i++) {
			write_word(w, n->words[i]);
			if (list)
				write_char(w, ',');
		}
		if (list)
			write_char(w, '}');
		if (n->kind == CONFIG_SECTION) {
			write_char(w, '{');
			write_nodes(w, n->children);
			write_char(w, '}');
		}
		write_char(w, '\n');
	}
}

/* Lines go up, and none is past the last one. */
static unsigned check_lines(const struct config_node *n, unsigned least,
			    unsigned most)
{
	for (; n; n = n->next) {
		fuzz_must(n->line >= least && n->line <= most);
		fuzz_must(n->kind != CONFIG_INCLUDE || n->nwords == 1);
		fuzz_must(!n->children || n->kind == CONFIG_SECTION);
		least = check_lines(n->children, n->line, most);
	}
	return least;
}

static bool is_same(const struct config_node *a, const struct config_node *b)
{
	for (; a && b; a = a->next, b = b->next) {
		if (a->kind != b->kind || strcmp(a->name, b->name) ||
		    a->nwords != b->nwords ||
		    !is_same(a->children, b->children))
			return false;
		for (size_t i = 0; i < a->nwords; i++) {
			if (strcmp(a->words[i], b->words[i]) != 0)
				return false;
		}
	}
	return a == b;
}

static void check_again(const struct config_node *first)
{
	struct written w = { .text = fuzz_allocate(MAX_TEXT) };
	struct config_errors errors = { .len = 0 };
	struct config_node *again;

	write_nodes(&w, first);
	fuzz_must(!config_tree_read(w.text, w.len, "again", &again, &errors));
	fuzz_must(!errors.len && is_same(first, again));
	config_tree_free(&again);
	free(w.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct config_errors errors = { .len = 0 };
	struct config_node *first;
	unsigned lines = 1;
	char *text;

	if (len > MAX_INPUT)
		return 0;
	text = fuzz_allocate(len);
	memcpy(text, data, len);
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	fuzz_must(!config_tree_read(text, len, "f", &first, &errors));
	free(text);
	check_lines(first, 1, lines);
	if (!errors.len)
		check_again(first);
	config_tree_free(&first);
	return 0;
}

/* clang-format off */
static const char *const words[] = {
	"\n", "{", "}", "=", "+=", ",", "\"", "'", "\\", "\\\n", "#", "//", "/*",
	"*/", "\\x", "\\0", "\\101", " ", "a = 1\n", "s \"t\" {\n", "}\n",
	"include \"x\"\n", "a = {b, c}\n", "site", "rule", "\"/**\"",
};
/* clang-format on */

/* Puts a word somewhere, or does the usual. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	uint64_t random = seed;
	const char *word = words[random_below(&random, sizeof(words) /
							       sizeof(*words))];
	size_t word_len = strlen(word), at;

	if (len + word_len > max || random_below(&random, 2))
		return fuzz_mutate(data, len, max);
	at = len ? (size_t)random_below(&random, len) : 0;
	memmove(data + at + word_len, data + at, len - at);
	memcpy(data + at, word, word_len);
	return len + word_len;
}
