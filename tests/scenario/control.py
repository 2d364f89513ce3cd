"""digestctl at the control sockets of running nodes."""

import json
import os
import subprocess

import cluster as scd

CTL = os.path.join(scd.BUILD, "digestd", "ctl", "digestctl")


def socket_of(node):
    return os.path.join(node.cluster.dir, node.name + ".sock")


def with_sockets(cluster):
    """The cluster, whose nodes have control sockets."""
    for node in cluster.nodes:
        node.options["control"] = socket_of(node)
    return cluster


def ctl(node, *args, path=None, timeout=60):
    """Exit code, standard output and standard error of a command."""
    r = subprocess.run([CTL, args[0], "--control", path or socket_of(node),
                        *args[1:]], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       check=False, text=True, timeout=timeout)
    return r.returncode, r.stdout, r.stderr


def ctl_json(node, *args):
    code, out, err = ctl(node, *args, "--json")
    assert (code, err) == (0, ""), (args, code, out, err)
    return json.loads(out)
