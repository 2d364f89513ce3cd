/*
 * Shrinking: what is left out goes in halves, quarters and so on, as in delta
 * debugging (Zeller, "Yesterday, my program worked", 1999).
 */
#include "tests/world/cut.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachesim/world/world.h"

enum {
	CUT_TEXT = 4096,
	CUT_TRIES = 400, /* worlds: some seconds each a hundred */
};

/* How a world failed: its message, without numbers; empty: it did not. */
struct failure {
	char text[CUT_TEXT];
};

static const char *const cut_words[] = {
#define X(name, at) #name,
	CUT_WORDS(X)
#undef X
};

static struct {
	struct cut *cut;
	void (*run)(void);
	struct failure whole;
	unsigned tries;
} shrinking;

bool cut_list_has(const struct cut_list *list, uint64_t number)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list->at[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->n && list->at[low] == number;
}

static struct cut_list *cut_list_new(size_t n)
{
	struct cut_list *list = malloc(sizeof(*list) + n * sizeof(list->at[0]));

	if (!list)
		world_fail("the world itself is out of memory");
	list->n = n;
	return list;
}

void cut_add_only(struct cut *cut, uint64_t number)
{
	size_t n = cut->only ? cut->only->n : 0;
	struct cut_list *list = cut_list_new(n + 1);

	if (n)
		memcpy(list->at, cut->only->at, n * sizeof(list->at[0]));
	list->at[n] = number;
	free(cut->only);
	cut->only = list;
}

bool cut_add_word(struct cut *cut, const char *word)
{
	for (unsigned i = 0; i < CUT_NWORDS; i++) {
		if (strcmp(cut_words[i], word) != 0)
			continue;
		cut->without |= UINT64_C(1) << i;
		return true;
	}
	return false;
}

void cut_print(const struct cut *cut)
{
	const char *between = " --without ";

	printf(" --requests %" PRIu64, cut->requests);
	for (unsigned i = 0; i < CUT_NWORDS; i++) {
		if (!(cut->without & UINT64_C(1) << i))
			continue;
		printf("%s%s", between, cut_words[i]);
		between = ",";
	}
	if (cut->nodes)
		printf(" --nodes %u", cut->nodes);
	if (cut->urls)
		printf(" --urls %" PRIu32, cut->urls);
	between = " --only ";
	for (size_t i = 0; cut->only && i < cut->only->n; i++) {
		printf("%s%" PRIu64, between, cut->only->at[i]);
		between = ",";
	}
}

static void cut_read(int fd, struct failure *out)
{
	char text[CUT_TEXT];
	const char *at;
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	at = strstr(text, "not ok");
	len = 0;
	for (; at && *at && *at != '\n'; at++) {
		if (!isdigit((unsigned char)*at))
			out->text[len++] = *at;
	}
	out->text[len] = '\0';
}

/* Runs it as it is cut now. */
static void cut_try(struct failure *out)
{
	int ends[2], status;
	pid_t child;

	fflush(stdout);
	if (pipe(ends) || (child = fork()) < 0)
		world_fail("no process for another world");
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		shrinking.run();
		exit(0);
	}
	close(ends[1]);
	cut_read(ends[0], out);
	close(ends[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		snprintf(out->text, sizeof(out->text), "signal %d",
			 WTERMSIG(status));
}

/* Whether it still fails as the whole does. */
static bool cut_fails(void)
{
	struct failure f;

	if (shrinking.tries++ >= CUT_TRIES)
		return false;
	cut_try(&f);
	return !strcmp(f.text, shrinking.whole.text);
}

static void cut_shrink_words(struct cut *cut)
{
	for (unsigned i = 0; i < CUT_NWORDS; i++) {
		uint64_t before = cut->without;

		cut->without |= UINT64_C(1) << i;
		if (cut->without != before && !cut_fails())
			cut->without = before;
	}
}

/* Halves a number as long as that fails, then takes one off; 0 is "all". */
static void cut_shrink_nodes(struct cut *cut, unsigned most)
{
	for (unsigned n = 1; n < most; n *= 2) {
		unsigned before = cut->nodes;

		cut->nodes = n;
		if (cut_fails())
			return;
		cut->nodes = before;
	}
}

static void cut_shrink_urls(struct cut *cut, uint32_t most)
{
	for (uint32_t n = 1; n < most; n *= 4) {
		uint32_t before = cut->urls;

		cut->urls = n;
		if (cut_fails())
			return;
		cut->urls = before;
	}
}

/* The first ones are enough, if what happens then is not due to the others. */
static void cut_shrink_end(struct cut *cut)
{
	uint64_t low = 0, high = cut->requests;

	while (low + 1 < high) {
		cut->requests = (low + high) / 2;
		if (cut_fails())
			high = cut->requests;
		else
			low = cut->requests;
	}
	cut->requests = high;
}

static struct cut_list *cut_list_without(const struct cut_list *list,
					 size_t from, size_t n)
{
	struct cut_list *less = cut_list_new(list->n - n);

	memcpy(less->at, list->at, from * sizeof(list->at[0]));
	memcpy(less->at + from, list->at + from + n,
	       (list->n - from - n) * sizeof(list->at[0]));
	return less;
}

/* Leaves out so many in a row, wherever it still fails without them. */
static void cut_shrink_rows(struct cut *cut, size_t n)
{
	for (size_t from = 0; from + n <= cut->only->n;) {
		struct cut_list *before = cut->only;

		cut->only = cut_list_without(before, from, n);
		if (cut_fails()) {
			free(before);
		} else {
			free(cut->only);
			cut->only = before;
			from += n;
		}
	}
}

static void cut_shrink_requests(struct cut *cut, uint64_t last)
{
	size_t n;

	if (!cut->only) {
		cut->only = cut_list_new(last);
		for (size_t i = 0; i < cut->only->n; i++)
			cut->only->at[i] = i;
	}
	for (n = cut->only->n / 2; n; n /= 2)
		cut_shrink_rows(cut, n);
}

bool cut_shrink(struct cut *cut, void (*run)(void))
{
	enum { MOST_NODES = 8, MOST_URLS = 1024, AFTERWARDS = 100 };

	shrinking.cut = cut;
	shrinking.run = run;
	shrinking.tries = 0;
	cut_try(&shrinking.whole);
	if (!*shrinking.whole.text)
		return false;
	cut_shrink_end(cut);
	cut_shrink_nodes(cut, MOST_NODES);
	cut_shrink_urls(cut, MOST_URLS);
	cut_shrink_requests(cut, cut->requests + AFTERWARDS);
	cut_shrink_words(cut);
	cut_shrink_requests(cut, cut->requests + AFTERWARDS);
	printf("# %u worlds tried\n", shrinking.tries);
	run();
	return true;
}
