/*
 * Built without MPI: a process is alone, and says so if mpirun wanted more.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachesim/mpi/launch.h"
#include "cachesim/mpi/mpi_process.h"
#include "digestd/tool/command.h"

bool mpi_process_is_another(void)
{
	return launch_is_another();
}

int mpi_process_begin(void)
{
	if (launch_processes() < 2 && !launch_is_another())
		return TOOL_OK;
	if (!launch_is_another())
		fprintf(stderr,
			"%s: built without MPI (configure --with-mpi): "
			"mpirun cannot divide its work\n",
			program_invocation_short_name);
	return TOOL_USAGE;
}

const struct sim_exchange *mpi_process_exchange(void)
{
	return NULL;
}

unsigned mpi_process_here(void)
{
	return 1;
}

bool mpi_process_is_first(void)
{
	return true;
}

bool mpi_process_failed(void)
{
	return false;
}

int mpi_process_end(int code)
{
	return code;
}
