"""Fixtures of the scenarios: what they start is ended whatever happens."""

import pytest

import cluster as scd
import servers


def pytest_runtest_makereport(item, call):
    if call.when == "call" and call.excinfo:
        item.failed_in_call = True


def show(process, length=6000):
    """The log of a process, where pytest shows it if the test fails."""
    print(f"--- {process.log}: exit code {process.popen.returncode}\n"
          + process.logged()[-length:])


@pytest.fixture
def make_cluster(request):
    """make_cluster(count, **options): a cluster, not started yet. Its nodes
    have time for their peers: a busy machine is no slow peer."""
    made = []

    def make(*args, **options):
        c = scd.Cluster(*args, **{**scd.PATIENT, **options})
        made.append(c)
        return c

    yield make
    bad = []
    for c in made:
        c.stop()
        # killed on purpose is -9; else it is a crash, or a sanitizer's finding
        failed = [p for p in c.processes if p.popen.returncode not in (0, -9)]
        bad += [(p.log, p.popen.returncode) for p in failed]
        in_call = getattr(request.node, "failed_in_call", False)
        for p in c.processes if in_call else failed:
            show(p)
        c.remove()
    assert not bad


@pytest.fixture
def origin():
    o = servers.Origin()
    yield o
    o.close()


@pytest.fixture
def node(make_cluster, origin):
    """One node in front of a programmable origin."""
    c = make_cluster(1)
    c.origin_url = origin.url
    return c.start().nodes[0]


@pytest.fixture
def serve():
    """serve(function): a server with any behaviour, see servers.py."""
    made = []

    def make(function, **args):
        made.append(servers.Server(function, **args))
        return made[-1]

    yield make
    for s in made:
        s.close()
