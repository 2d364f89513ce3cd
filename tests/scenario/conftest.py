"""Fixtures of the scenarios: what they start is ended whatever happens."""

import os

import pytest

import cluster as scd
import servers

# TSan and ASan builds are slower; what is measured in time gets more of it.
SLOW = float(os.environ.get("SCD_TEST_SLOW", "1"))


def pytest_runtest_makereport(item, call):
    if call.when == "call" and call.excinfo:
        item.failed_in_call = True


@pytest.fixture
def make_cluster(request):
    """make_cluster(count, **options): a cluster, not started yet."""
    made = []

    def make(*args, **options):
        c = scd.Cluster(*args, **options)
        made.append(c)
        return c

    yield make
    codes = []
    for c in made:
        c.stop()
        codes += [(p.popen.args[0], p.popen.returncode) for p in c.processes]
        if getattr(request.node, "failed_in_call", False):
            for node in c.nodes:
                if node.process:
                    print(f"--- {node.name}\n{node.process.logged()[-4000:]}")
        c.remove()
    # killed on purpose is -9; anything else but 0 is a crash or a sanitizer
    bad = [code for code in codes if code[1] not in (0, -9)]
    assert not bad, f"processes ended badly: {bad}"


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

    def make(function):
        made.append(servers.Server(function))
        return made[-1]

    yield make
    for s in made:
        s.close()
