/*
 * What cachesim/mpi takes of MPI, between processes that a test has forked:
 * enough to run it where there is no MPI, and in milliseconds.
 */
#ifndef TESTS_MPI_PLAYED_MPI_H
#define TESTS_MPI_PLAYED_MPI_H

enum {
	MPI_MAX_PROCESSOR_NAME = 256,
	MPI_THREAD_FUNNELED = 1,
	MPI_COMM_TYPE_SHARED = 1,
	MPI_INFO_NULL = 0,
};

typedef enum { MPI_COMM_WORLD, PLAYED_MACHINE } MPI_Comm;
typedef enum { MPI_BYTE = 1, MPI_LONG_LONG = 8 } MPI_Datatype; /* their size */

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *has);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Comm_rank(MPI_Comm comm, int *out);
int MPI_Comm_size(MPI_Comm comm, int *out);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, int info,
			MPI_Comm *out);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Get_processor_name(char *out, int *len);
int MPI_Bcast(void *bytes, int n, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Allgather(const void *mine, int n, MPI_Datatype type, void *all,
		  int nall, MPI_Datatype all_type, MPI_Comm comm);
int MPI_Allgatherv(const void *mine, int n, MPI_Datatype type, void *all,
		   const int *counts, const int *at, MPI_Datatype all_type,
		   MPI_Comm comm);

#endif
