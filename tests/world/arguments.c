/*
 * Options of a world.
 */
#include "tests/world/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t arguments_number(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-') {
		fprintf(stderr, "world: \"%s\" is no number\n", text);
		exit(2);
	}
	return n;
}

static void arguments_read_list(int option, char *text, struct cut *cut)
{
	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		if (option == 'y')
			cut_add_only(cut, arguments_number(word));
		else if (!cut_add_word(cut, word)) {
			fprintf(stderr, "world: nothing is called %s\n", word);
			exit(2);
		}
	}
}

void arguments_read(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "worlds", required_argument, NULL, 'w' },
		{ "requests", required_argument, NULL, 'r' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "shrink", no_argument, NULL, 'k' },
		{ "without", required_argument, NULL, 'o' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "urls", required_argument, NULL, 'u' },
		{ "only", required_argument, NULL, 'y' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		a->chosen |= c == 's' || c == 'w';
		switch (c) {
		case 's':
			a->seed = arguments_number(optarg);
			break;
		case 'w':
			a->worlds = arguments_number(optarg);
			break;
		case 'r':
			a->cut.requests = arguments_number(optarg);
			break;
		case 'v':
			a->verbose = true;
			break;
		case 'k':
			a->shrinks = true;
			break;
		case 'n':
			a->cut.nodes = (unsigned)arguments_number(optarg);
			break;
		case 'u':
			a->cut.urls = (uint32_t)arguments_number(optarg);
			break;
		case 'o':
		case 'y':
			arguments_read_list(c, optarg, &a->cut);
			break;
		default:
			exit(2);
		}
	}
}
