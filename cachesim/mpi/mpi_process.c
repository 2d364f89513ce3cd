/*
 * Ranks by MPI. Every exchange begins with a number of each rank: the bytes
 * that follow, or that it has ended and how; so that none waits for one that
 * will not come. MPI's own errors end all processes with MPI's message.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cachesim/mpi/launch.h"
#include "cachesim/mpi/mpi_process.h"
#include "codec/error.h"
#include "digestd/tool/command.h"

/* Bytes of one call: MPI counts with int. A test has not as many. */
#ifndef MPI_PROCESS_CHUNK
#define MPI_PROCESS_CHUNK (1 << 30)
#endif

enum {
	TEXT = 4000, /* of what a rank said, at most */
	CHUNK = MPI_PROCESS_CHUNK,
};

/* What the first rank tells of one that failed. */
struct report {
	char host[MPI_MAX_PROCESSOR_NAME];
	char text[TEXT];
};

static struct {
	struct sim_exchange exchange;
	unsigned here;
	bool begun, failed;
	int code;	  /* of the first rank that failed */
	unsigned failing; /* its number */
	int said;	  /* where standard error goes */
	int stderr_was;
	long long *head; /* of the ranks: bytes, or -1 - the exit code */
	size_t *start;	 /* nranks + 1 */
	int *count, *at; /* for MPI */
	uint8_t *bytes;
	size_t room;
} all = { .here = 1, .said = -1 };

bool mpi_process_is_another(void)
{
	return launch_is_another();
}

const struct sim_exchange *mpi_process_exchange(void)
{
	return all.exchange.nranks > 1 ? &all.exchange : NULL;
}

unsigned mpi_process_here(void)
{
	return all.here;
}

bool mpi_process_is_first(void)
{
	return all.exchange.rank == 0;
}

bool mpi_process_failed(void)
{
	return all.failed;
}

/* For want of memory nothing can be agreed on. */
static void mpi_process_out_of_memory(void)
{
	if (all.said >= 0)
		dup2(all.stderr_was, STDERR_FILENO);
	fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
	MPI_Abort(MPI_COMM_WORLD, TOOL_IO);
}

/* The ranks' numbers; notes who has ended. */
static void mpi_process_exchange_heads(long long mine)
{
	MPI_Allgather(&mine, 1, MPI_LONG_LONG, all.head, 1, MPI_LONG_LONG,
		      MPI_COMM_WORLD);
	for (unsigned r = 0; r < all.exchange.nranks; r++) {
		int code = all.head[r] < 0 ? (int)(-1 - all.head[r]) : 0;

		if (code && !all.code) {
			all.failing = r;
			all.code = code;
		}
		all.failed |= all.head[r] < 0;
	}
}

static void mpi_process_make_room(size_t bytes)
{
	uint8_t *at;

	if (bytes <= all.room)
		return;
	at = realloc(all.bytes, bytes + bytes / 2);
	if (!at)
		mpi_process_out_of_memory();
	all.bytes = at;
	all.room = bytes + bytes / 2;
}

/* When the whole is more than MPI counts: one rank after the other. */
static void mpi_process_gather_much(const void *mine)
{
	for (unsigned r = 0; r < all.exchange.nranks; r++) {
		size_t end = all.start[r + 1];

		if (r == all.exchange.rank && all.head[r])
			memcpy(all.bytes + all.start[r], mine,
			       (size_t)all.head[r]);
		for (size_t at = all.start[r]; at < end; at += CHUNK) {
			size_t n = end - at < CHUNK ? end - at : CHUNK;

			MPI_Bcast(all.bytes + at, (int)n, MPI_BYTE, (int)r,
				  MPI_COMM_WORLD);
		}
	}
}

static void mpi_process_gather_bytes(const void *mine, size_t n)
{
	for (unsigned r = 0; r < all.exchange.nranks; r++) {
		all.count[r] = (int)all.head[r];
		all.at[r] = (int)all.start[r];
	}
	MPI_Allgatherv(mine, (int)n, MPI_BYTE, all.bytes, all.count, all.at,
		       MPI_BYTE, MPI_COMM_WORLD);
}

static int mpi_process_gather(void *arg, const void *mine, size_t n,
			      struct sim_gathered *out)
{
	size_t total = 0;

	(void)arg;
	mpi_process_exchange_heads((long long)n);
	if (all.failed)
		return SCD_EINVAL;
	for (unsigned r = 0; r < all.exchange.nranks; r++) {
		all.start[r] = total;
		total += (size_t)all.head[r];
	}
	all.start[all.exchange.nranks] = total;
	mpi_process_make_room(total + 1);
	if (total > CHUNK)
		mpi_process_gather_much(mine);
	else
		mpi_process_gather_bytes(mine, n);
	*out = (struct sim_gathered){ all.bytes, all.start };
	return 0;
}

/* From now on, what this rank says is kept. */
static void mpi_process_keep_stderr(void)
{
	all.said = memfd_create("stderr", MFD_CLOEXEC);
	if (all.said < 0)
		return;
	all.stderr_was = dup(STDERR_FILENO);
	dup2(all.said, STDERR_FILENO);
}

static unsigned mpi_process_count_here(void)
{
	MPI_Comm machine;
	int n = 1;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
			    MPI_INFO_NULL, &machine);
	MPI_Comm_size(machine, &n);
	MPI_Comm_free(&machine);
	return (unsigned)n;
}

int mpi_process_begin(void)
{
	int rank, n, has;

	if (!launch_rank() || launch_processes() == 1)
		return TOOL_OK;
	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &has);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	all.begun = true;
	all.exchange = (struct sim_exchange){(unsigned)rank, (unsigned)n,
					     mpi_process_gather, NULL};
	all.here = mpi_process_count_here();
	all.head = calloc((size_t)n, sizeof(*all.head));
	all.start = calloc((size_t)n + 1, sizeof(*all.start));
	all.count = calloc((size_t)n, sizeof(*all.count));
	all.at = calloc((size_t)n, sizeof(*all.at));
	if (!all.head || !all.start || !all.count || !all.at)
		mpi_process_out_of_memory();
	if (rank)
		mpi_process_keep_stderr();
	return TOOL_OK;
}

static void mpi_process_read_report(struct report *r)
{
	ssize_t n = 0;
	int len;

	memset(r, 0, sizeof(*r));
	MPI_Get_processor_name(r->host, &len);
	fflush(stderr);
	if (all.said >= 0)
		n = pread(all.said, r->text, TEXT - 1, 0);
	if (n <= 0)
		snprintf(r->text, TEXT, "ended by itself\n");
}

/* The first rank tells what the one said that failed first; its own words
 * stand there already. */
static void mpi_process_tell_failure(void)
{
	struct report r;
	int first = (int)all.failing;

	mpi_process_read_report(&r);
	if (!all.failing)
		return;
	MPI_Bcast(&r, sizeof(r), MPI_BYTE, first, MPI_COMM_WORLD);
	if (mpi_process_is_first())
		fprintf(stderr, "process %d on %s: %s", first, r.host, r.text);
}

int mpi_process_end(int code)
{
	if (!all.begun)
		return code;
	if (!all.failed)
		mpi_process_exchange_heads(-1 - (long long)code);
	if (all.code)
		mpi_process_tell_failure();
	MPI_Finalize();
	free(all.head);
	free(all.start);
	free(all.count);
	free(all.at);
	free(all.bytes);
	all.begun = false;
	return all.code;
}
