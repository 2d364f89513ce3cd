#!/usr/bin/env python3
"""mpirun cachesim: what several processes print is what one prints, to the
byte, for all protocols; only the first prints; and when one fails, all end,
and it is told why. Without MPI (configure --with-mpi) only that is told.
"""

import os
import re
import shutil
import subprocess

from harness import SOURCE, cachesim, folder_of, run
from program import BUILD

TRACE = cachesim("generate", "upisa,requests=4000,seed=5")[1]
OTHER = cachesim("generate", "upisa,requests=4000,seed=6")[1]

# The second process gets another trace, the first argument.
SWAP = b"""#!/bin/sh
other=$1 trace=$2
shift 2
[ "$OMPI_COMM_WORLD_RANK" != 1 ] || trace=$other
exec "$CACHESIM" run "$trace" "$@"
"""
FOLDER = folder_of({"t.csv": TRACE, "other.csv": OTHER, "swap": SWAP})
AT = FOLDER.name
os.chmod(os.path.join(AT, "swap"), 0o755)

# As root, with more processes than processors, no network but loopback and no
# ssh; copied by way of shared memory, as containers forbid to read from others.
ENVIRONMENT = {**os.environ, "CACHESIM": cachesim.path,
               "OMPI_MCA_plm_rsh_agent": "sh"}
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe",
          "--mca", "btl", "self,vader",
          "--mca", "btl_vader_single_copy_mechanism", "none",
          "--mca", "mpi_yield_when_idle", "1")

DATA = ("--json", "--per-proxy", "--counters")


def mpirun(n, *program):
    r = subprocess.run([*MPIRUN, "-n", str(n), *program], check=False, cwd=AT,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=900, env=ENVIRONMENT)
    return r.returncode, r.stdout, r.stderr.decode()


def same(n, *args):
    """That n processes say what one says; what they say beside it."""
    code, want, err = cachesim(*args, *DATA, cwd=AT)
    assert code == 0 and want, err
    code, got, err = mpirun(n, cachesim.path, *args, *DATA)
    assert code == 0, err
    assert got == want, (n, args)
    return err


def protocols():
    """All of them, from their table."""
    with open(os.path.join(SOURCE, "cachesim", "protocol", "protocol.c"),
              encoding="ascii") as f:
        names = re.findall(r"^\t&protocol_(\w+),", f.read(), re.M)
    assert len(names) > 10, names
    return names


def every_protocol_is_the_same():
    for i, name in enumerate(protocols()):
        n = 1 + (i + 1) % 4
        said = same(n, "run", "t.csv", "-k", name, "-p", "5",
                    "--loss", "20%", "--warmup", "10%")
        alone = name == "global" and n > 1
        assert ("cannot be divided" in said) == alone, said


def placements_are_the_same():
    args = ("run", "t.csv", "-k", "icp", "-p", "4", "--placement", "single")
    assert "cannot be divided" in same(2, *args)
    assert "cannot" not in same(3, *args, "--epoch", "100")


def sweeps_are_the_same():
    same(3, "sweep", "t.csv", "-k", "none,bloom,carp", "-p", "1,4",
         "-s", "1%,10%")


def other_traces_are_refused():
    code, out, err = mpirun(3, "./swap", "other.csv", "t.csv", "-k", "bloom")
    assert (code, out) == (1, b""), (code, out)
    assert re.search("process 1 on .* has another trace than the first", err)


def failures_end_all():
    code, out, err = mpirun(3, "./swap", "nosuch.csv", "t.csv", "-k", "bloom")
    assert (code, out) == (3, b""), (code, out)
    assert re.search("process 1 on .*nosuch.csv: No such file", err), err
    code, out, err = mpirun(2, cachesim.path, "run", "t.csv", "-k", "nosuch")
    assert (code, out) == (2, b""), (code, out)
    assert err.count("--protocol") == 1, err


def others_are_left_to_the_first():
    code, out, err = mpirun(2, cachesim.path, "info", "t.csv")
    assert (code, out) == (0, cachesim("info", "t.csv", cwd=AT)[1]), err


def started_as(**environment):
    return subprocess.run([cachesim.path, "run", "t.csv"], check=False,
                          cwd=AT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          env={**os.environ, **environment})


def without_mpi_that_is_told():
    first = started_as(OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2")
    assert first.returncode == 2 and not first.stdout, first
    assert b"built without MPI" in first.stderr, first
    other = started_as(OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="2")
    assert other.returncode == 2, other
    assert not other.stdout and not other.stderr, other


def a_single_process_goes_on():
    for names in ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
                  {"PMIX_RANK": "0"}):
        r = started_as(**names)
        assert r.returncode == 0 and r.stdout and not r.stderr, r


TESTS = (every_protocol_is_the_same, placements_are_the_same,
         sweeps_are_the_same, other_traces_are_refused, failures_end_all,
         others_are_left_to_the_first)


def built_with_mpi():
    with open(os.path.join(BUILD, "config.h"), encoding="ascii") as f:
        return "#define HAVE_MPI 1" in f.read()


def no_mpirun():
    return "no mpirun (package openmpi-bin)"


if not built_with_mpi():
    print("# Configured without --with-mpi: NOTHING is tested with mpirun.")
    run((without_mpi_that_is_told, a_single_process_goes_on))
elif not shutil.which("mpirun"):
    run((no_mpirun,))
else:
    run(TESTS)
