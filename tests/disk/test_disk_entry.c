/*
 * Entries of objects on disk: which requests they are for, and what they take
 * of memory, since there is one for each object on disk.
 */
#include "tests/unit.h"

#include "digestd/disk/disk_entry.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

static void for_any_request(void **state)
{
	const struct fields nothing = { 0 };
	const struct fields *selecting[] = { NULL, &nothing };

	(void)state;
	for (size_t i = 0; i < NROWS(selecting); i++) {
		struct disk_entry *e;

		alloc_bytes();
		e = disk_entry_new(7, selecting[i]);
		assert_int_equal(alloc_bytes(), 64);
		assert_int_equal(e->id, 7);
		assert_int_equal(fields_count(disk_entry_selecting(e)), 0);
		disk_entry_free(e);
	}
	disk_entry_free(NULL);
}

static void for_some(void **state)
{
	static const char lines[] = "Accept: a\nAccept-Language: fr\n";
	char text[MESSAGE_MAX];
	struct disk_entry *e;
	struct fields f;
	int failed;

	(void)state;
	message_must(&f, lines);
	for (unsigned n = 1;; n++) {
		alloc_fail_at(n);
		e = disk_entry_new(7, &f);
		failed = alloc_failed();
		alloc_fail_at(0);
		if (!failed)
			break;
		disk_entry_free(e); /* without memory to be smaller */
	}
	fields_free(&f);
	assert_string_equal(message_text(disk_entry_selecting(e), text), lines);
	disk_entry_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(for_any_request),
		cmocka_unit_test(for_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
