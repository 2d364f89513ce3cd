/*
 * Reading many records at once gives what reading one by one gives: the same
 * values, the same complaints, for texts that were damaged at random places.
 */
#include "tests/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachesim/trace/cacheable.h"
#include "cachesim/trace/reader.h"
#include "tests/codec/random.h"

enum {
	RECORDS = 700,
	TEXT_MAX = 128 * 1024,
	COMPLAINTS_MAX = 4096,
	ROUNDS = 60,
};

struct text {
	char at[TEXT_MAX];
	size_t len;
};

struct complaints {
	struct {
		uint64_t number;
		int reason;
	} of[COMPLAINTS_MAX];
	unsigned n;
};

static void complain(void *arg, const struct trace_complaint *c)
{
	struct complaints *all = arg;

	assert_true(all->n < COMPLAINTS_MAX);
	all->of[all->n].number = c->number;
	all->of[all->n++].reason = c->reason;
}

struct kind {
	const char *label, *format, *columns, *header;
	void (*write)(uint64_t *seed, struct text *to);
};

static void print(struct text *to, const char *line)
{
	size_t len = strlen(line);

	assert_true(to->len + len < TEXT_MAX);
	memcpy(to->at + to->len, line, len);
	to->len += len;
}

/* One of several texts, often the first. */
static const char *one_of(uint64_t *seed, const char *const *texts, size_t n)
{
	return random_below(seed, 3) ? texts[0]
				     : texts[random_below(seed, n)];
}

static void write_csv(uint64_t *seed, struct text *to)
{
	static const char *const ends[] = { "\n", "\r\n", "\r\r\n", ",\n",
					    ",x,y\n", "\n\n", "\n#c\n" };
	static const char *const times[] = {
		"123", "1700000000", "12345678", "123456789.123", "1.5",
		"1700000000123", "0000000000000000012", "12345678901234567",
		"", "-1", "1e5", ".123", "1234.", "99999999999999999999",
	};
	static const char *const clients[] = { "10.0.0.1", "-", "", "::1",
					       "a b", "\"q\"", "x\tz" };
	static const char *const urls[] = {
		"http://x/a", "/a", "", "k", "1234567890123456789", "\"a,b\"",
		"a\"b", "a\x7f", "a\x01", "\xc3\xa4", "#", "0017",
	};
	static const char *const sizes[] = { "5", "-", "", "x",
					     "12345678901234567890",
					     "9223372036854775808", "00" };
	static const char *const codes[] = { "200", "", "099", "600", "2000",
					     "20x" };
	char line[256];

	snprintf(line, sizeof(line), "%s,%s,%s,%s,%s%s",
		 one_of(seed, times, NROWS(times)),
		 one_of(seed, clients, NROWS(clients)),
		 one_of(seed, urls, NROWS(urls)),
		 one_of(seed, codes, NROWS(codes)),
		 one_of(seed, sizes, NROWS(sizes)),
		 one_of(seed, ends, NROWS(ends)));
	print(to, line);
}

static void write_methods(uint64_t *seed, struct text *to)
{
	static const char *const methods[] = { "GET", "POST", "HEAD", "PUT",
					       "get", "OPTIONS", "" };
	static const char *const codes[] = { "200", "404", "304", "206", "",
					     "500", "301", "302" };
	char line[256];

	snprintf(line, sizeof(line), "%s,u%u,%s\n",
		 methods[random_below(seed, NROWS(methods))],
		 (unsigned)random_below(seed, 9),
		 codes[random_below(seed, NROWS(codes))]);
	print(to, line);
}

/* Digits of all lengths around the 8 and 16 that are read at once. */
static void write_numbers(uint64_t *seed, struct text *to)
{
	char line[256];
	size_t n = 0;

	for (int field = 0; field < 3; field++) {
		size_t digits = (size_t)random_below(seed, 19);

		for (size_t i = 0; i < digits; i++)
			line[n++] = (char)('0' + random_below(seed, 10));
		line[n++] = field < 2 ? ';' : '\n';
	}
	line[n] = '\0';
	print(to, line);
}

static void write_clf(uint64_t *seed, struct text *to)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "10.0.0.%u - - [09/Jul/1995:00:%02u:01 -0400] "
		 "\"GET /%u HTTP/1.0\" 200 %u\n",
		 (unsigned)random_below(seed, 9),
		 (unsigned)random_below(seed, 60),
		 (unsigned)random_below(seed, 99),
		 (unsigned)random_below(seed, 9999));
	print(to, line);
}

static void write_squid(uint64_t *seed, struct text *to)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "%u.%03u 5 10.0.0.%u TCP_MISS/%s %u GET http://x/%u - - -\n",
		 (unsigned)random_below(seed, 1000000),
		 (unsigned)random_below(seed, 1000),
		 (unsigned)random_below(seed, 9),
		 random_below(seed, 9) ? "200" : "000",
		 (unsigned)random_below(seed, 9999),
		 (unsigned)random_below(seed, 99));
	print(to, line);
}

static void write_keys(uint64_t *seed, struct text *to)
{
	static const char *const lines[] = { "http://x/a\n", "k\r\n", "/k\n",
					     "#k\n", "\n", "a\tb\n", "12\n",
					     "1234567\n", "12345678\n" };

	print(to, one_of(seed, lines, NROWS(lines)));
}

static void write_bytes(uint64_t *seed, struct text *to)
{
	for (int i = 0; i < 20; i++) {
		assert_true(to->len < TEXT_MAX);
		to->at[to->len++] = (char)(random_below(seed, 3)
						   ? random_below(seed, 8)
						   : random_next(seed));
	}
}

/* clang-format off */
static const struct kind kinds[] = {
	{ "csv", "csv", NULL, "time,client,url,status,size\n", write_csv },
	{ "csv, some columns", "csv", "size=5,url=3,has-header=0", "",
	  write_csv },
	{ "csv, method", "csv", "-,method,url", "", write_csv },
	{ "csv, method and status", "csv", NULL, "method,url,status\n",
	  write_methods },
	{ "csv, status and method", "csv", "status=3,url=2,method=1", "",
	  write_methods },
	{ "csv, versions", "csv", "etag,url,modified", "", write_csv },
	{ "csv, client as version", "csv", "time,version,url,-,size", "",
	  write_csv },
	{ "csv, one column twice", "csv", "client=3,url=3", "", write_csv },
	{ "csv, number keys", "csv", "url=3,obj-id-is-num=1", "", write_csv },
	{ "csv, last column of many", "csv", "url=6", "", write_csv },
	{ "csv, tabs", "csv", "url=1,delimiter=\\t", "", write_csv },
	{ "csv, guessed", "csv", NULL, "", write_csv },
	{ "numbers", "csv", "time,url,size,delimiter=;", "", write_numbers },
	{ "number keys", "csv", "time,size,url,delimiter=;,obj-id-is-num=1",
	  "", write_numbers },
	{ "clf", "clf", NULL, "", write_clf },
	{ "squid", "squid", NULL, "", write_squid },
	{ "keys", "keys", NULL, "", write_squid },
	{ "keys of all kinds", "keys", NULL, "", write_keys },
	{ "oracleGeneral", "oracleGeneral", NULL, "", write_bytes },
	{ "i32le", "i32le", NULL, "", write_bytes },
	{ "i32be", "i32be", NULL, "", write_bytes },
	{ "i64le", "i64le", NULL, "", write_bytes },
	{ "i64be", "i64be", NULL, "", write_bytes },
	{ "worldcup", "worldcup", NULL, "", write_bytes },
	{ "binary, versions", "binary", "format=<IbHQi,url=4,version=1", "",
	  write_bytes },
	{ "binary", "binary", "format=<IbHQi,client=2,url=4,size=5,time=1,"
	  "status=3", "", write_bytes },
};
/* clang-format on */

/* Some bytes become others, so that no rule stays unbroken. */
static void damage(uint64_t *seed, struct text *t)
{
	static const char favourites[] = "\n\r\",;\t#-. /0\x7f\x01\xff";
	uint64_t n = random_below(seed, 40);

	for (uint64_t i = 0; i < n; i++)
		t->at[random_below(seed, t->len)] =
			favourites[random_below(seed, sizeof(favourites))];
}

/* Reads one by one into rows; their names are kept. */
static int read_slowly(struct trace_reader *r, struct trace_row *rows,
		       size_t *n)
{
	struct trace_request q;
	int err;

	for (*n = 0; (err = trace_next(r, &q)) > 0; ++*n) {
		char *name = malloc(q.name.len + 1);

		memcpy(name, q.name.at, q.name.len);
		rows[*n] = (struct trace_row){
			.key = q.key,
			.client = q.client,
			.size = q.size,
			.version = q.version,
			.time_ms = q.time_ms,
			.name = { name, q.name.len },
			.status = (uint16_t)q.status,
			.class = (uint8_t)trace_cacheable_class(q.method,
								q.status),
			.has_size = q.has_size,
		};
	}
	return err;
}

static void same_row(const char *label, const struct trace_row *a,
		     const struct trace_row *b)
{
	/* names beyond what an address can be may be left out */
	bool name = b->name.len == a->name.len
			    ? !memcmp(a->name.at, b->name.at, a->name.len)
			    : a->name.len > 48 && !b->name.len;

	if (a->key != b->key || a->client != b->client ||
	    a->size != b->size || a->version != b->version ||
	    a->time_ms != b->time_ms ||
	    a->status != b->status || a->class != b->class ||
	    a->has_size != b->has_size || !name)
		fail_msg("%s: a row differs: key %llx %llx", label,
			 (unsigned long long)a->key,
			 (unsigned long long)b->key);
}

static void compare(const struct kind *k, const char *path, uint64_t *seed)
{
	static struct trace_row one[TEXT_MAX], many[256];
	static struct complaints told[2];
	struct trace_reader *r[2];
	size_t n, at = 0;
	int end, got;

	for (int i = 0; i < 2; i++) {
		struct trace_options opt = { .format = k->format,
					     .columns = k->columns,
					     .complain = complain,
					     .arg = &told[i] };

		told[i].n = 0;
		assert_int_equal(trace_open(&r[i], path, &opt), 0);
	}
	end = read_slowly(r[0], one, &n);
	while ((got = trace_rows(r[1], many,
				 1 + (int)random_below(seed, 300))) > 0) {
		assert_true(at + (size_t)got <= n);
		for (int i = 0; i < got; i++)
			same_row(k->label, &one[at++], &many[i]);
	}
	assert_int_equal(at, n);
	assert_int_equal(got, end);
	assert_int_equal(told[1].n, told[0].n);
	assert_memory_equal(told[1].of, told[0].of,
			    told[0].n * sizeof(told[0].of[0]));
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)one[i].name.at);
	trace_close(&r[0]);
	trace_close(&r[1]);
}

static void write_file(const char *path, const struct text *t)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(t->at, 1, t->len, f), t->len);
	fclose(f);
}

static void same_as_one_by_one(void **state)
{
	static struct text t;
	static const char path[] = "trace-test-rows";
	uint64_t seed = 11;

	(void)state;
	for (size_t k = 0; k < NROWS(kinds); k++) {
		for (int round = 0; round < ROUNDS; round++) {
			t.len = 0;
			print(&t, kinds[k].header);
			for (int i = 0; i < RECORDS; i++)
				kinds[k].write(&seed, &t);
			t.len -= random_below(&seed, 3); /* cut */
			if (round % 4)
				damage(&seed, &t);
			write_file(path, &t);
			compare(&kinds[k], path, &seed);
		}
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_one_by_one),
	};

	return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
