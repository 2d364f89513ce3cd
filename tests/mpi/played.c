/*
 * MPI by shared memory: every call that is made by all ranks copies what they
 * give there, and all wait until it is there, and until all have read it.
 */
#include "config.h"

#include "tests/mpi/played.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit.h"

enum { ROOM = 1 << 20 };

static struct shared {
	atomic_uint arrived, rounds;
	atomic_bool aborted;
	uint8_t bytes[ROOM];
} *shared;

static unsigned played_rank, played_ranks;

/* Until all ranks are here. */
static void played_meet(void)
{
	const unsigned round = atomic_load(&shared->rounds);

	if (atomic_fetch_add(&shared->arrived, 1) + 1 == played_ranks) {
		atomic_store(&shared->arrived, 0);
		atomic_fetch_add(&shared->rounds, 1);
		return;
	}
	while (atomic_load(&shared->rounds) == round) {
		if (atomic_load(&shared->aborted))
			exit(PLAYED_ABORTED);
		sched_yield();
	}
}

static void played_put(size_t at, const void *bytes, size_t n)
{
	if (at + n > ROOM)
		abort();
	if (n)
		memcpy(shared->bytes + at, bytes, n);
}

/* What lies there, once all have put their part. */
static void played_get(size_t at, void *bytes, size_t n)
{
	played_meet();
	if (n)
		memcpy(bytes, shared->bytes + at, n);
	played_meet();
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *has)
{
	(void)argc;
	(void)argv;
	*has = wanted;
	return 0;
}

int MPI_Finalize(void)
{
	played_meet();
	return 0;
}

int MPI_Abort(MPI_Comm comm, int code)
{
	(void)comm;
	atomic_store(&shared->aborted, true);
	exit(code);
}

int MPI_Comm_rank(MPI_Comm comm, int *out)
{
	(void)comm;
	*out = (int)played_rank;
	return 0;
}

/* Two ranks are on this machine, however many there are. */
int MPI_Comm_size(MPI_Comm comm, int *out)
{
	*out = comm == PLAYED_MACHINE ? 2 : (int)played_ranks;
	return 0;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, int info,
			MPI_Comm *out)
{
	(void)comm;
	(void)type;
	(void)key;
	(void)info;
	*out = PLAYED_MACHINE;
	return 0;
}

int MPI_Comm_free(MPI_Comm *comm)
{
	*comm = MPI_COMM_WORLD;
	return 0;
}

int MPI_Get_processor_name(char *out, int *len)
{
	*len = sprintf(out, "machine%u", played_rank);
	return 0;
}

int MPI_Bcast(void *bytes, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
	(void)comm;
	if (root == (int)played_rank)
		played_put(0, bytes, (size_t)n * type);
	played_get(0, bytes, (size_t)n * type);
	return 0;
}

int MPI_Allgather(const void *mine, int n, MPI_Datatype type, void *all,
		  int nall, MPI_Datatype all_type, MPI_Comm comm)
{
	const size_t bytes = (size_t)n * type;

	(void)nall;
	(void)all_type;
	(void)comm;
	played_put(played_rank * bytes, mine, bytes);
	played_get(0, all, played_ranks * bytes);
	return 0;
}

int MPI_Allgatherv(const void *mine, int n, MPI_Datatype type, void *all,
		   const int *counts, const int *at, MPI_Datatype all_type,
		   MPI_Comm comm)
{
	const unsigned last = played_ranks - 1;

	(void)all_type;
	(void)comm;
	played_put((size_t)at[played_rank] * type, mine, (size_t)n * type);
	played_get(0, all, (size_t)(at[last] + counts[last]) * type);
	return 0;
}

static void played_child(int (*run)(unsigned rank), int said)
{
	char text[16];

	dup2(said, STDERR_FILENO);
	snprintf(text, sizeof(text), "%u", played_rank);
	setenv("OMPI_COMM_WORLD_RANK", text, 1);
	snprintf(text, sizeof(text), "%u", played_ranks);
	setenv("OMPI_COMM_WORLD_SIZE", text, 1);
	exit(run(played_rank)); /* as coverage is counted there */
}

static void played_end(pid_t child, int said, struct played_end *out)
{
	ssize_t n;
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	out->code = WEXITSTATUS(status);
	n = pread(said, out->said, PLAYED_SAID - 1, 0);
	assert_true(n >= 0);
	out->said[n] = '\0';
	close(said);
}

void played_run(unsigned n, int (*run)(unsigned rank),
		struct played_end ends[PLAYED_RANKS])
{
	pid_t children[PLAYED_RANKS];
	int said[PLAYED_RANKS];

	assert_in_range(n, 1, PLAYED_RANKS);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	played_ranks = n;
	fflush(NULL); /* or what is printed already, each prints, too */
	for (played_rank = 0; played_rank < n; played_rank++) {
		said[played_rank] = memfd_create("said", MFD_CLOEXEC);
		assert_true(said[played_rank] >= 0);
		children[played_rank] = fork();
		assert_true(children[played_rank] >= 0);
		if (!children[played_rank])
			played_child(run, said[played_rank]);
	}
	for (unsigned i = 0; i < n; i++)
		played_end(children[i], said[i], &ends[i]);
	munmap(shared, sizeof(*shared));
}
