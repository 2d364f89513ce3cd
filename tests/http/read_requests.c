/*
 * The parser of requests as a process, to which connections are given: on
 * standard input the number of bytes that come at a time, the number of all
 * (each in 4 bytes, of this machine's order), and the bytes; on standard output
 * the length of the text that request_text.h describes, and the text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/request_text.h"

enum { MAX_INPUT = 16384, MAX_TARGET = 300, MAX_HEADER = 1000 };

static int read_number(uint32_t *n)
{
	return fread(n, sizeof(*n), 1, stdin) == 1;
}

int main(void)
{
	static char in[MAX_INPUT], text[REQUEST_TEXT_MAX];
	uint32_t step, len, out;

	while (read_number(&step) && read_number(&len)) {
		const struct request_text_way way = {
			{ MAX_TARGET, MAX_HEADER }, step
		};

		if (!step || len > sizeof(in) ||
		    fread(in, 1, len, stdin) != len)
			return EXIT_FAILURE;
		request_text_read(in, len, &way, text);
		out = (uint32_t)strlen(text);
		fwrite(&out, sizeof(out), 1, stdout);
		fwrite(text, 1, out, stdout);
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}
