/*
 * What it costs to read the head of a request: two lines, and what a browser
 * sends, whole and a byte at a time; and to find the ends of the browser's
 * values, with SSE2 (where there is) and without.
 *
 *     bench_request [rounds]
 *
 * by default 21, of which the median is printed; all are measured in turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/octets.h"
#include "digestd/http/request_head.h"
#include "tests/bench/clock.h"

enum { MAX_ROUNDS = 1001, CALLS = 20000 };

static const char two_lines[] = "GET /images/logo.png HTTP/1.1\r\n"
				"Host: www.example.com\r\n\r\n";
static const char browser[] =
	"GET /gallery/2026/11/harbour-at-dawn.jpg?width=1280 HTTP/1.1\r\n"
	"Host: www.example.com\r\n"
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) "
	"Gecko/20100101 Firefox/128.0\r\n"
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,"
	"image/avif,image/webp,*/*;q=0.8\r\n"
	"Accept-Language: de,en-US;q=0.7,en;q=0.3\r\n"
	"Accept-Encoding: gzip, deflate, br\r\n"
	"Referer: https://www.example.com/gallery/2026/11/index.html\r\n"
	"Connection: keep-alive\r\n"
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; "
	"visited=1763800000.1763810000.1763820000.12; "
	"consent=analytics:no|adverts:no|functional:yes\r\n"
	"If-Modified-Since: Sat, 21 Nov 2026 08:15:00 GMT\r\n"
	"If-None-Match: \"5f3c-62a1b9d04e2c7\"\r\n\r\n";

static const struct request_limits limits = { 8192, 8192 };

static void must(bool holds)
{
	if (holds)
		return;
	fprintf(stderr, "bench_request: a request was not accepted\n");
	exit(1);
}

static void read_whole(const char *in, size_t len)
{
	static struct request_head h;

	request_head_init(&h, &limits);
	must(request_head_read(&h, in, len) == REQUEST_HEAD_DONE);
}

static void read_bytes(const char *in, size_t len)
{
	static struct request_head h;

	request_head_init(&h, &limits);
	for (size_t n = 1; n < len; n++)
		must(request_head_read(&h, in, n) == REQUEST_HEAD_MORE);
	must(request_head_read(&h, in, len) == REQUEST_HEAD_DONE);
}

/* Each line from its colon on, and the request line. */
static void scan_values(const char *in, size_t len,
			const char *(*skip)(const char *at, const char *end))
{
	const char *end = in + len;

	while (in < end) {
		in = skip(in, end);
		in += 2; /* CR LF */
	}
	must(in == end);
}

static void scan_portable(const char *in, size_t len)
{
	scan_values(in, len, octets_skip_value_portable);
}

static void scan_fastest(const char *in, size_t len)
{
	scan_values(in, len, octets_skip_value);
}

static const struct work {
	const char *name;
	void (*run)(const char *in, size_t len);
	const char *in;
	size_t len;
} works[] = {
	{ "two lines", read_whole, two_lines, sizeof(two_lines) - 1 },
	{ "browser", read_whole, browser, sizeof(browser) - 1 },
	{ "browser, bytes", read_bytes, browser, sizeof(browser) - 1 },
	{ "lines alone", scan_fastest, browser, sizeof(browser) - 1 },
	{ "lines, portable", scan_portable, browser, sizeof(browser) - 1 },
};
enum { NWORKS = sizeof(works) / sizeof(works[0]) };

static double measure_ns(const struct work *w)
{
	double begin_s = clock_used_s();

	for (int i = 0; i < CALLS; i++)
		w->run(w->in, w->len);
	return (clock_used_s() - begin_s) * 1e9 / CALLS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static double ns[NWORKS][MAX_ROUNDS];
	int rounds = argc > 1 ? atoi(argv[1]) : 21;

	if (rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: bench_request [rounds]\n");
		return 2;
	}
	for (int i = 0; i < rounds; i++) {
		for (int w = 0; w < NWORKS; w++)
			ns[w][i] = measure_ns(&works[w]);
	}
	printf("%-16s %6s %8s %8s\n", "request", "bytes", "ns", "least");
	for (int w = 0; w < NWORKS; w++) {
		qsort(ns[w], (size_t)rounds, sizeof(ns[w][0]), compare);
		printf("%-16s %6zu %8.0f %8.0f\n", works[w].name, works[w].len,
		       ns[w][rounds / 2], ns[w][0]);
	}
	return 0;
}
