"""docs/OPERATING.md: its commands, as they stand there, print what it says; and
what it has of metrics, log lines and probes is there.

The blocks marked sh run in one shell. Ports are replaced by free ones, folders
of the system by one of the test's, and systemctl and apt by stand-ins: nobody
may change this machine.
"""

import glob
import os
import re
import shutil
import subprocess
import textwrap
import time

import pytest

import cluster as scd
import test_tutorial as tutorial

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
PROGRAMS = ("curl", "openssl", "haproxy", "nginx")
PORTS = ("8000", "8080", "8081", "8082", "8083", "8084", "8085", "8086",
         "8090", "8091", "8092", "8099", "8443")
FIRST_HIT_S = 60
LIMIT_S = 60

# The service manager, as far as the page needs one: it starts the unit's
# command, ends it, and has its log.
SYSTEMCTL = r"""#!/bin/sh
# after a hand-over the main process is another one
main() { sed -n 's/.*process \([0-9]*\) has taken over.*/\1/p' \
	$T/journal | tail -n 1 | grep . || cat $T/pid; }
case "$*" in
"enable --now digestd")
	digestd -c $T/etc/digestd.conf 2>>$T/journal & echo $! >$T/pid ;;
"enable --now digestd.socket") ;;
"reload digestd") digestd -t -c $T/etc/digestd.conf >/dev/null &&
	kill -HUP $(main) ;;
"kill --kill-whom=main --signal=USR2 digestd") kill -USR2 $(main) ;;
"status digestd") cat $T/journal ;;
"stop digestd") kill $(main) ;;
*) echo "systemctl: $*" >&2; exit 1 ;;
esac
"""

# It installs packages of this source, which are there already.
APT = r"""#!/bin/sh
[ "$1" = install ] || exit 1
shift
for path in "$@"; do
	name=$(basename "$path" | sed 's/_.*//')
	grep -q "^Package: $name$" $ROOT/debian/control || exit 1
done
"""


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def page():
    return text_of("docs", "OPERATING.md")


def stand_ins(folder):
    os.makedirs(folder / "bin")
    for name in ("etc", "cache", "log", "run", "work"):
        os.makedirs(folder / name)
    for name, text in (("systemctl", SYSTEMCTL), ("apt", APT)):
        path = folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)


def preface(folder):
    built = [os.path.join(os.path.abspath(scd.BUILD), p) for p in
             ("digestd", "digestd/ctl", "cachesim", "cachesim/live")]
    return (f"export T={folder} ROOT={os.path.abspath(ROOT)}\n"
            f"PATH={folder}/bin:{':'.join(built)}:/usr/sbin:$PATH\n"
            f"cd {folder}/work\n")


def replaced(text, ports, folder):
    """For this machine."""
    for old, new in (("/etc/digestd", f"{folder}/etc/digestd"),
                     ("/var/cache/digestd", f"{folder}/cache"),
                     ("/run/digestd", f"{folder}/run"),
                     ("/var/log/digestd", f"{folder}/log")):
        text = text.replace(old, new)
    if os.geteuid():  # only root can be somebody else
        text = text.replace('user = "nobody"\n', "")
    return re.sub(r"\b(8\d\d\d)\b", lambda m: ports.get(m[0], m[0]), text)


def free_ports():
    """In the order of those of the page, which sorts lines that have them."""
    found = []
    while len(found) < len(PORTS):
        port = scd.free_port()
        if tutorial.port_is_free(port):
            found.append(port)
    return dict(zip(PORTS, map(str, sorted(found))))


def blocks_of(folder, ports):
    return [[replaced(b, ports, folder) for b in block]
            for block in tutorial.BLOCK.findall(page())]


def attempt(folder, times):
    stand_ins(folder)
    blocks = blocks_of(folder, free_ports())
    script = preface(folder) + "".join(
        tutorial.slower(commands, times) + f"echo '{tutorial.MARK}'\n"
        for commands, _, _ in blocks)
    found = tutorial.differences(blocks, tutorial.run(script, folder))
    if found:
        found += [f"--- {p}\n{open(p, encoding='utf-8').read()}" for p in
                  [str(folder / "journal"), *glob.glob(f"{folder}/work/*.log")]
                  if os.path.exists(p)]
    return found


def missing():
    if not shutil.which("hitch"):
        return ["hitch"]
    return [p for p in PROGRAMS if not shutil.which(p)]


@pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}")
def test_the_page_prints_what_it_says(tmp_path):
    """Once more with longer pauses if it does not, as in the tutorial."""
    found = attempt(tmp_path / "1", 1)
    if found:
        found = attempt(tmp_path / "2", 4)
    assert not found, "\n".join(found)


def first_remote_hit(folder):
    """All commands of "Install", to the hit at the peer: what they print."""
    stand_ins(folder)
    blocks = blocks_of(folder, free_ports())
    last = next(i for i, b in enumerate(blocks) if "peer=cache1" in b[2])
    return tutorial.run(preface(folder) + "".join(
        b[0] for b in blocks[:last + 1]) + "kill $second $origin\n"
        "systemctl stop digestd\n", folder)


@pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}")
def test_the_first_remote_hit_comes_within_a_minute(tmp_path):
    """Once more if the origin, asked beside a peer that stood still for a
    moment, was the first to answer."""
    for attempted in range(3):
        began = time.monotonic()
        said = first_remote_hit(tmp_path / str(attempted))
        if 'detail="hedge"' not in said:
            break
    assert 'detail="peer=cache1"' in said, said
    assert time.monotonic() - began < FIRST_HIT_S * scd.SLOW


def test_the_page_hides_no_command():
    """What is no block that runs, needs a build of packages or a cluster."""
    text = page()
    blocks = tutorial.BLOCK.findall(text)
    assert len(blocks) == text.count("```sh\n") > 10
    assert sum(1 for b in blocks if b[2]) == text.count("```text\n")
    rest = re.sub(tutorial.BLOCK, "", text)
    assert [line.split()[0] for line in re.findall(r"^    (\S.*)$", rest, re.M)
            ] == ["apt", "kubectl", "kubectl"]


# The table of what is seen

def rows():
    table = page().split("| what you see |")[1].split("\n\n")[0]
    found = [[c.strip() for c in line.strip("|").split(" | ")]
             for line in table.splitlines()[2:]]
    assert len(found) > 20 and all(len(row) == 3 for row in found), found
    return found


def literals():
    """All strings of the daemon, those that stand side by side as one."""
    text = ""
    for path in glob.glob(os.path.join(ROOT, "digestd", "**", "*.[ch]"),
                          recursive=True):
        with open(path, encoding="utf-8") as f:
            text += re.sub(r'"\s*"', "", f.read())
    return text


def words_of(row):
    """What it says of log lines, and of metrics."""
    lines = re.findall(r"log: `([^`]+)`", " ".join(row))
    return lines, re.findall(r"`(digestd_\w+)`", " ".join(row))


def test_metrics_and_log_lines_of_the_table_are_there():
    said = subprocess.run([scd.DIGESTD, "--metrics"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    metrics = {line.split()[0] for line in said.splitlines()}
    system = {os.strerror(n) for n in range(1, 134)}
    strings, seen = literals(), 0
    for row in rows():
        lines, names = words_of(row)
        seen += len(lines) + len(names)
        assert lines or names or "Cache-Status" in row[1], row
        for name in names:
            assert name in metrics, name
        for line in lines:
            text = line.partition(": ")[2] or line
            assert line in strings or text in system, line
    assert seen > 30


def options_of(text):
    return re.findall(r"`([a-z_0-9]+) = ", text)


def test_options_of_the_page_are_options(tmp_path):
    said = subprocess.run([scd.DIGESTD, "--options"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    known = set(re.findall(r"\b[a-z][a-z_0-9]+\b", said))
    assert set(options_of(page())) <= known, set(options_of(page())) - known


# Kubernetes

def pods():
    return text_of("docs", "examples", "kubernetes.yaml")


def configuration_of_pods():
    text = re.search(r"^  digestd\.conf: \|\n((?:    .*\n)+)", pods(), re.M)[1]
    return textwrap.dedent(text)


def test_configuration_of_pods_is_right(tmp_path):
    (tmp_path / "key").write_text(scd.KEY.replace("5", "6") + "\n")
    (tmp_path / "key").chmod(0o440)
    text = configuration_of_pods()
    for folder in ("/run/secrets/digestd", "/var/cache/digestd"):
        assert folder in text
        text = text.replace(folder, str(tmp_path))
    (tmp_path / "d.conf").write_text(text)
    r = subprocess.run([scd.DIGESTD, "-t", "-c", str(tmp_path / "d.conf")],
                       check=False, text=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    assert (r.returncode == 0) == (os.geteuid() == 0), r.stdout


def seconds(pattern, text):
    return int(re.search(pattern, text)[1])


def test_pods_have_time_and_ports():
    text, conf = pods(), configuration_of_pods()
    ports = dict(re.findall(r'^listen_(\w+) = ":(\d+)"$', conf, re.M))
    assert re.findall(r"containerPort: (\d+)", text) == list(ports.values())
    assert re.findall(r"path: (\S+)\n +port: (\d+)", text) == [
        ("/readyz", ports["admin"]), ("/healthz", ports["admin"])]
    assert f"targetPort: {ports['data']}\n" in text
    assert f'members = "dns:digestd:{ports["peer"]}"' in conf
    grace = seconds(r"terminationGracePeriodSeconds: (\d+)", text)
    stops = seconds(r'command: \["sleep", "(\d+)"\]', text)
    assert grace >= stops + seconds(r'drain = "(\d+)s"', conf) + 5


def test_probes_are_served(node):
    assert [scd.request(node.admin, path).status
            for path in ("/healthz", "/readyz")] == [200, 200]
