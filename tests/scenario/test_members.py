"""Who the peers are, where no node's configuration says so."""

import os
import re

from cluster import until


def peers_of(node):
    return sorted(p["name"] for p in node.status()["peers"])


def without_sections(cluster, **options):
    for node in cluster.nodes:
        node.peers = []
        node.options.update(options)


def test_one_list_for_all_nodes(make_cluster):
    """A node is there within two seconds of its line, and gone so soon
    without it; a list with a fault says which line, and changes nothing."""
    c = make_cluster(3)
    c.start_origin()
    path = os.path.join(c.dir, "members")
    without_sections(c, members=f"file:{path}")

    def name(nodes, more=""):
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write("# the cluster\n" + "".join(
                f"{n.name} http://127.0.0.1:{n.peer}\n" for n in nodes) + more)
        os.rename(path + ".new", path)

    a, b, late = c.nodes
    name([a, b])
    a.start()
    b.start()
    until(lambda: peers_of(a) == ["n2"] and peers_of(b) == ["n1"],
          what="two are listed")

    # a node that is not listed introduces itself to those that are
    late.start()
    until(lambda: peers_of(a) == ["n2", "n3"], 2, what="n3 is known")
    assert a.status()["members"]["introduced"] == 1
    assert "is a member, by the list of members" in a.process.logged()
    assert "is a member, as it has introduced itself" in a.process.logged()

    name(c.nodes)
    for node in (a, b):
        until(lambda n=node: n.status()["members"]["found"] == 3, 2,
              what="n3 is listed")
    late.get("/a")
    until(lambda: late.status()["digest"]["keys"] and a.knows(late),
          what="/a is known")
    a.get("/a")
    assert a.counters()["remote_hits"] == 1

    name([a, b], "n4\n")
    until(lambda: 'line 4: "n4" has no URL' in a.process.logged(), 3,
          what="the fault in the log")
    assert peers_of(a) == ["n2", "n3"]
    assert a.status()["members"]["readable"] is False

    name([a, b])
    until(lambda: peers_of(a) == ["n2"], 2, what="n3 is not listed")
    until(lambda: peers_of(b) == ["n1"], 2, what="nor by n2")


def test_a_name_that_stands_for_all(make_cluster):
    """Each node finds itself under the name, and leaves itself out."""
    c = make_cluster(2)
    c.start_origin()
    first, second = c.nodes
    without_sections(c, members=f"dns:localhost:{first.peer}")
    c.start()
    until(lambda: "is this node itself" in first.process.logged(),
          what="n1 finds itself")
    until(lambda: any(p["url"].endswith(f":{second.peer}")
                      for p in first.status()["peers"]), 3,
          what="n2 has introduced itself")

    def peers():
        """Where localhost has an address of IPv6 too, nobody listens there."""
        return [p for p in first.status()["peers"] if "[::1]" not in p["url"]]
    until(lambda: len(peers()) == 1, what="n1 has one peer")
    assert peers()[0]["name"] == "n2"

    # gone: nobody asks it for objects any more, long before its digest is old
    until(lambda: peers()[0]["usable"], what="n2 is usable")
    second.process.kill()
    until(lambda: not peers()[0]["usable"], 2, what="n2 is gone")


def test_a_reload_takes_another_list(make_cluster):
    """And a command's output is one, too."""
    c = make_cluster(2)
    c.start_origin()
    a, b = c.nodes
    without_sections(c)
    c.start()
    assert a.status()["members"] is None and peers_of(a) == []
    a.options["members"] = "command:echo it is slow today >&2; " \
        f"echo n2 http://127.0.0.1:{b.peer}"
    a.options["members_interval"] = "100ms"
    a.write()
    a.process.signal(1)
    until(lambda: peers_of(a) == ["n2"], what="the command has named n2")
    a.options["members"] = "command:exit 3"
    a.write()
    a.process.signal(1)
    until(lambda: "ended with status 3" in a.process.logged(),
          what="the fault in the log")
    assert peers_of(a) == ["n2"]
    assert a.process.logged().count("says: it is slow today") == 1
    a.options["members"] = "command:head -c 1000 /dev/urandom"
    a.write()
    a.process.signal(1)
    until(lambda: a.status()["members"]["readable"] is False and
          re.search("has printed a NUL byte|line [0-9]+: ",
                    a.process.logged()), what="nor does garbage")
    assert peers_of(a) == ["n2"]
    del a.options["members"]
    a.write()
    a.process.signal(1)
    until(lambda: peers_of(a) == [], what="nobody is named")


def test_a_command_leaves_nothing_behind(make_cluster, tmp_path):
    """One that hangs holds up nobody, and ends with the daemon; what one
    starts in the background ends with it."""
    c = make_cluster(1)
    c.start_origin()
    node = c.nodes[0]
    hangs, started = tmp_path / "hangs", tmp_path / "started"
    without_sections(c, members="command:sleep 600 >/dev/null 2>&1 & "
                     f"echo $! >{started}; test -e {hangs} || exit 0; "
                     f"echo $$ >{hangs}; exec sleep 600",
                     members_interval="100ms")

    def number(path):
        return path.exists() and path.read_text(encoding="ascii").strip()

    def runs(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                return ") Z " not in f.read()
        except FileNotFoundError:
            return False

    c.start()
    until(lambda: number(started), what="the command has run")
    hangs.touch()
    until(lambda: number(hangs), what="it hangs")
    hanging = number(hangs)
    assert node.get("/a").status == 200
    assert runs(hanging)
    background = number(started)
    node.process.end()
    for pid in (hanging, background):
        until(lambda p=pid: not runs(p), 5, what="nothing runs any more")
