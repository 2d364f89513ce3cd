/*
 * cachesim's processes by MPI: what each gives arrives at all, in any amount;
 * when one of them fails, all end with its code, and the first one says what it
 * has said. MPI itself is played, tests/mpi/played.h.
 */
#include "config.h"

#include "cachesim/mpi/mpi_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/exchange.h"
#include "codec/error.h"
#include "digestd/tool/command.h"
#include "tests/codec/alloc.h"
#include "tests/mpi/played.h"
#include "tests/os/call_faults.h"
#include "tests/unit.h"

enum { RANKS = 3, WRONG = 50, TOO_MUCH = 5 * MPI_PROCESS_CHUNK / 2 };

static struct played_end ends[PLAYED_RANKS];

static int gather(const void *mine, size_t n, struct sim_gathered *out)
{
	const struct sim_exchange *x = mpi_process_exchange();

	return x->gather(x->arg, mine, n, out);
}

/* What a rank gives: so many bytes of its own letter. */
static char *letters(unsigned rank, size_t n)
{
	char *text = malloc(n + 1);

	if (text)
		memset(text, 'a' + (int)rank, n + 1);
	return text;
}

static int is_right(const struct sim_gathered *all, const size_t sizes[RANKS])
{
	for (unsigned r = 0; r < RANKS; r++) {
		char *wanted = letters(r, sizes[r]);
		const size_t n = all->start[r + 1] - all->start[r];
		const int same =
			n == sizes[r] && wanted &&
			!memcmp(all->bytes + all->start[r], wanted, n);

		free(wanted);
		if (!same)
			return 0;
	}
	return 1;
}

/* In the ranks, a mistake is an exit code, as cmocka is in the first process
 * only. */

static int exchange_of_all_sizes(unsigned rank)
{
	static const size_t rounds[][RANKS] = {
		{ 1, 2, 3 },
		{ 0, 0, 0 },
		{ 0, 5, 0 },
		{ MPI_PROCESS_CHUNK / 2, MPI_PROCESS_CHUNK / 4, 1 },
		{ TOO_MUCH, 0, 7 },
		{ MPI_PROCESS_CHUNK, MPI_PROCESS_CHUNK, MPI_PROCESS_CHUNK },
		{ 3, 2, 1 },
	};

	if (mpi_process_begin() || mpi_process_here() != 2 ||
	    mpi_process_is_first() != (rank == 0) ||
	    mpi_process_is_another() != (rank != 0))
		return WRONG;
	if (mpi_process_exchange()->rank != rank ||
	    mpi_process_exchange()->nranks != RANKS)
		return WRONG;
	for (size_t i = 0; i < NROWS(rounds); i++) {
		char *mine = letters(rank, rounds[i][rank]);
		struct sim_gathered all;

		if (gather(mine, rounds[i][rank], &all) ||
		    !is_right(&all, rounds[i]))
			return WRONG + (int)i;
		free(mine);
	}
	return mpi_process_failed() ? WRONG : mpi_process_end(TOOL_OK);
}

static void what_each_gives_arrives(void **state)
{
	(void)state;
	played_run(RANKS, exchange_of_all_sizes, ends);
	for (unsigned r = 0; r < RANKS; r++) {
		assert_int_equal(ends[r].code, 0);
		assert_string_equal(ends[r].said, "");
	}
}

/* One fails, with words or without, while the others go on. */
static unsigned failing;
static const char *words;

static int one_fails(unsigned rank)
{
	struct sim_gathered all;

	if (mpi_process_begin() || gather("x", 1, &all))
		return WRONG;
	if (rank == failing) {
		fputs(words, stderr);
		return mpi_process_end(TOOL_NO);
	}
	if (gather("x", 1, &all) != SCD_EINVAL || !mpi_process_failed())
		return WRONG;
	fprintf(stderr, "the others say nothing\n");
	return mpi_process_end(TOOL_OK);
}

static void who_fails_is_heard(void **state)
{
	static const struct {
		unsigned rank;
		const char *words, *said; /* by the first rank */
	} rows[] = {
		{ 1, "no trace\n", "the others say nothing\n"
				   "process 1 on machine1: no trace\n" },
		{ 2, "", "the others say nothing\n"
			 "process 2 on machine2: ended by itself\n" },
		{ 0, "no trace\n", "no trace\n" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		failing = rows[i].rank;
		words = rows[i].words;
		played_run(RANKS, one_fails, ends);
		for (unsigned r = 0; r < RANKS; r++) {
			assert_int_equal(ends[r].code, TOOL_NO);
			assert_string_equal(ends[r].said,
					    r ? "" : rows[i].said);
		}
	}
}

/* Two fail at once, in their ends: the lower one is told of. */
static int two_fail(unsigned rank)
{
	if (mpi_process_begin())
		return WRONG;
	fprintf(stderr, "I am %u\n", rank);
	return mpi_process_end(rank ? TOOL_NO + (int)rank : TOOL_OK);
}

static void the_first_failure_counts(void **state)
{
	(void)state;
	played_run(RANKS, two_fail, ends);
	for (unsigned r = 0; r < RANKS; r++)
		assert_int_equal(ends[r].code, TOOL_NO + 1);
	assert_string_equal(ends[0].said, "I am 0\n"
					  "process 1 on machine1: I am 1\n");
}

/* Without a place for what it says, a rank says it at once. */
static int said_at_once(unsigned rank)
{
	if (rank)
		call_fail_at("memfd_create", 1, EMFILE);
	if (mpi_process_begin())
		return WRONG;
	fprintf(stderr, "I am %u\n", rank);
	return mpi_process_end(rank == 1 ? TOOL_NO : TOOL_OK);
}

static void words_without_a_place_are_said_at_once(void **state)
{
	(void)state;
	played_run(2, said_at_once, ends);
	assert_int_equal(ends[0].code, TOOL_NO);
	assert_string_equal(ends[1].said, "I am 1\n");
	assert_string_equal(ends[0].said, "I am 0\nprocess 1 on machine1: "
					  "ended by itself\n");
}

/* A rank without memory ends them all, and says so. */
static unsigned allocation;

static int lacks_memory(unsigned rank)
{
	char *mine = letters(rank, TOO_MUCH);
	struct sim_gathered all;
	int err;

	if (rank)
		alloc_fail_at(allocation);
	err = mpi_process_begin() || gather(mine, TOO_MUCH, &all);
	free(mine);
	return err ? WRONG : mpi_process_end(TOOL_OK);
}

static void a_rank_without_memory_ends_all(void **state)
{
	unsigned n = 1;

	(void)state;
	for (;; n++) {
		allocation = n;
		played_run(2, lacks_memory, ends);
		if (!ends[1].code)
			break;
		assert_int_equal(ends[1].code, TOOL_IO);
		assert_non_null(strstr(ends[1].said, "out of memory\n"));
		assert_int_equal(ends[0].code, PLAYED_ABORTED);
	}
	assert_int_equal(ends[0].code, TOOL_OK);
	assert_true(n > 5);
}

/* Not started by mpirun; or as one process; or by what does not say how many
 * there are. */
static void one_process_is_alone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		if (i) {
			setenv("PMI_RANK", "0", 1);
			setenv("PMI_SIZE", "1", 1);
		}
		assert_false(mpi_process_is_another());
		assert_int_equal(mpi_process_begin(), TOOL_OK);
		assert_null(mpi_process_exchange());
		assert_int_equal(mpi_process_here(), 1);
		assert_true(mpi_process_is_first());
		assert_false(mpi_process_failed());
		assert_int_equal(mpi_process_end(TOOL_NO), TOOL_NO);
	}
	unsetenv("PMI_RANK");
	unsetenv("PMI_SIZE");
}

static int number_is_not_told(unsigned rank)
{
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("OMPI_COMM_WORLD_SIZE");
	setenv("PMIX_RANK", rank ? "1" : "0", 1);
	if (mpi_process_is_another() != (rank == 1) || mpi_process_begin() ||
	    mpi_process_exchange()->nranks != 2)
		return WRONG;
	return mpi_process_end(TOOL_OK);
}

static void other_launchers_start_ranks(void **state)
{
	(void)state;
	played_run(2, number_is_not_told, ends);
	assert_int_equal(ends[0].code, TOOL_OK);
	assert_int_equal(ends[1].code, TOOL_OK);
}

int main(void)
{
	static const char *const told[] = {
		"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
		"PMIX_SIZE", "PMI_RANK", "PMI_SIZE",
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_process_is_alone),
		cmocka_unit_test(what_each_gives_arrives),
		cmocka_unit_test(who_fails_is_heard),
		cmocka_unit_test(the_first_failure_counts),
		cmocka_unit_test(words_without_a_place_are_said_at_once),
		cmocka_unit_test(a_rank_without_memory_ends_all),
		cmocka_unit_test(other_launchers_start_ranks),
	};

	for (size_t i = 0; i < NROWS(told); i++)
		unsetenv(told[i]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
