/*
 * What caches in front are told.
 */
#include "tests/unit.h"

#include "digestd/admission/admission_tell.h"
#include "tests/http/message.h"

#define N ADMISSION_NO
#define R ADMISSION_RAM
#define D ADMISSION_DISK

/* clang-format off */
static const struct {
	const char *how, *response;
	struct admission_news news;
	const char *result;
} rows[] = {
	{ "none",  "A: b\n",               { N, 9, 0 },  "A: b\n" },
	{ "none",  "A: b\n",               { D, 9, 5 },  "A: b\n" },
	{ "nginx", "A: b\n",               { N, 9, 0 },  "A: b\nX-Accel-Expires: 0\n" },
	{ "nginx", "A: b\n",               { R, 9, 5 },  "A: b\nX-Accel-Expires: 0\n" },
	{ "nginx", "X-Accel-Expires: 7\n", { N, 9, 0 },  "X-Accel-Expires: 0\n" },
	{ "nginx", "X-Accel-Expires: 7\n", { D, 9, 5 },  "X-Accel-Expires: 7\n" },
	{ "nginx", "A: b\n",               { D, 9, 0 },  "A: b\n" },
	{ "nginx", "A: b\n",               { D, 9, 5 },  "A: b\nX-Accel-Expires: 9\n" },
	{ "nginx", "A: b\n",               { D, -3, 5 }, "A: b\nX-Accel-Expires: 0\n" },
	{ "field", "A: b\n",               { N, 9, 5 },  "A: b\nScd-Admit: no\n" },
	{ "field", "A: b\n",               { R, 9, 5 },  "A: b\nScd-Admit: ram\n" },
	{ "field", "scd-admit: x\n",       { D, 9, 5 },  "Scd-Admit: disk\n" },
};
/* clang-format on */

static void telling(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		enum admission_tell how;
		struct fields f;
		char text[MESSAGE_MAX];

		assert_true(admission_tell_read(rows[i].how, &how));
		message_must(&f, rows[i].response);
		assert_int_equal(admission_tell(how, &rows[i].news, &f), 0);
		message_text(&f, text);
		if (strcmp(text, rows[i].result) != 0)
			fail_msg("row %zu: %s", i, text);
		fields_free(&f);
	}
}

static void names(void **state)
{
	enum admission_tell how;

	(void)state;
	assert_false(admission_tell_read("", &how));
	assert_false(admission_tell_read("varnish", &how));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(telling),
		cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
