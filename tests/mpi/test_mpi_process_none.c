/*
 * cachesim built without MPI: a process is alone, and refuses to be one of
 * several, which only the first one says.
 */
#include "config.h"

#include "cachesim/mpi/mpi_process.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "digestd/tool/command.h"
#include "tests/unit.h"

/* What begins, as an exit code, and whether it says something. */
static int begin(bool *said)
{
	int place = memfd_create("said", MFD_CLOEXEC);
	int before = dup(STDERR_FILENO), code;

	assert_true(place >= 0 && before >= 0);
	dup2(place, STDERR_FILENO);
	code = mpi_process_begin();
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	*said = lseek(place, 0, SEEK_END) > 0;
	close(place);
	close(before);
	return code;
}

static void several_are_refused(void **state)
{
	static const struct {
		const char *rank, *size;
		int code;
		bool another, says;
	} rows[] = {
		{ NULL, NULL, TOOL_OK, false, false },
		{ "0", "1", TOOL_OK, false, false },
		{ "0", NULL, TOOL_OK, false, false },
		{ "0", "2", TOOL_USAGE, false, true },
		{ "1", "2", TOOL_USAGE, true, false },
		{ "1", NULL, TOOL_USAGE, true, false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		bool said;

		unsetenv("PMIX_RANK");
		unsetenv("PMI_SIZE");
		if (rows[i].rank)
			setenv("PMIX_RANK", rows[i].rank, 1);
		if (rows[i].size)
			setenv("PMI_SIZE", rows[i].size, 1);
		assert_int_equal(mpi_process_is_another(), rows[i].another);
		if (begin(&said) != rows[i].code || said != rows[i].says)
			fail_msg("row %zu", i);
	}
}

static void a_process_is_alone(void **state)
{
	(void)state;
	assert_null(mpi_process_exchange());
	assert_int_equal(mpi_process_here(), 1);
	assert_true(mpi_process_is_first());
	assert_false(mpi_process_failed());
	assert_int_equal(mpi_process_end(TOOL_IO), TOOL_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_are_refused),
		cmocka_unit_test(a_process_is_alone),
	};

	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("OMPI_COMM_WORLD_SIZE");
	unsetenv("PMI_RANK");
	unsetenv("PMIX_SIZE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
