"""The unit of docs/systemd: what systemd says of it offline, and the daemon as
the unit runs it, with its notifications, credentials and system calls."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import cluster as scd
import seccomp
from cluster import request

BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
UNIT = os.path.join(BUILD, "docs", "systemd", "digestd.service")
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SOCKET = os.path.join(SOURCE, "docs", "systemd", "digestd.socket")
TMPFILES = os.path.join(SOURCE, "docs", "systemd", "tmpfiles.d",
                        "digestd.conf")
SYSUSERS = os.path.join(SOURCE, "docs", "systemd", "digestd.conf")
MOST_EXPOSED = 14  # tenths, of 100


def analyze(*args):
    """Runs systemd-analyze; what it says, or a skipped test."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is missing")
    r = subprocess.run(["systemd-analyze", *args], check=False, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env={**os.environ, "SYSTEMD_PAGER": "cat"})
    return r.returncode, r.stdout


def unit():
    with open(UNIT, encoding="ascii") as f:
        return f.read()


def settings(name):
    """The values of a setting of the unit, in their order."""
    return re.findall(rf"^{name}=(.*)$", unit(), re.M)


@pytest.fixture
def runnable(tmp_path):
    """The unit with the program of the build folder."""
    path = tmp_path / "digestd.service"
    text, count = re.subn(r"=\S+/digestd -", f"={scd.DIGESTD} -", unit())
    assert count == 2, text  # it starts, and it checks before a reload
    path.write_text(text)
    return str(path)


def test_unit_is_one(runnable):
    code, said = analyze("verify", "--man=no", runnable)
    assert (code, said) == (0, "")


def test_socket_unit_is_one(runnable, tmp_path):
    """With the service beside it."""
    path = shutil.copy(SOCKET, tmp_path)
    assert analyze("verify", "--man=no", path) == (0, "")
    with open(path, "a", encoding="ascii") as f:
        f.write("[Socket]\nNonsense=yes\n")
    assert "Nonsense" in analyze("verify", "--man=no", path)[1]


def test_folders_are_those_of_the_unit():
    with open(TMPFILES, encoding="ascii") as f:
        rows = [shlex.split(line, comments=True) for line in f]
    found = {row[1]: row[2:5] for row in rows if row}
    user = settings("User")[0]
    wanted = {}
    for name, below in (("State", "lib"), ("Cache", "cache"), ("Logs", "log")):
        mode = settings(f"{name}DirectoryMode")[0]
        wanted[f"/var/{below}/" + settings(f"{name}Directory")[0]] = [
            mode, user, user]
    assert found == wanted


def test_a_fault_in_the_unit_is_found(runnable):
    with open(runnable, "a", encoding="ascii") as f:
        f.write("[Service]\nType=notify-relaod\nNonsense=yes\n")
    said = analyze("verify", "--man=no", runnable)[1]
    assert "notify-relaod" in said and "Nonsense" in said


def test_unit_is_for_systemd_252():
    assert settings("Type") == ["notify"], "notify-reload begins with 253"


def exposed(path, most=MOST_EXPOSED):
    return analyze("security", "--offline=true", f"--threshold={most}", path)


def test_unit_is_hardened(runnable):
    code, said = exposed(runnable)
    assert code == 0, said
    assert exposed(runnable, 1)[0] != 0


def test_what_weakens_the_unit_is_found(runnable):
    with open(runnable, "a", encoding="ascii") as f:
        f.write("[Service]\nPrivateUsers=no\nNoNewPrivileges=no\n"
                "CapabilityBoundingSet=CAP_SYS_ADMIN\n")
    assert exposed(runnable)[0] != 0


def test_user_of_the_unit_is_made():
    with open(SYSUSERS, encoding="ascii") as f:
        rows = [shlex.split(line, comments=True) for line in f]
    users = [row[1] for row in rows if row and row[0] == "u"]
    assert users == settings("User") == settings("Group")


def sanitized():
    """Sanitizers need system calls of their own."""
    with open(scd.DIGESTD, "rb") as f:
        program = f.read()
    return b"__asan_init" in program or b"__tsan_init" in program


class Service:
    """A node as the unit starts it: the key in the folder of credentials, a
    socket for notifications, and no system calls but the unit's."""

    def __init__(self, node, folder):
        self.node, self.folder = node, folder
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "notify"))
        self.socket.settimeout(20 * scd.SLOW)
        node.options["cluster_key"] = None

    def credential(self, content):
        id_, path = settings("LoadCredential")[0].split(":")
        assert path == "/etc/digestd.key"
        (self.folder / id_).touch(mode=0o600)
        (self.folder / id_).write_text(content)
        (self.folder / id_).chmod(0o400)  # as systemd has it

    def start(self):
        self.node.write()
        env = {**os.environ, "NOTIFY_SOCKET": str(self.folder / "notify"),
               "CREDENTIALS_DIRECTORY": str(self.folder)}
        argv = shlex.split(settings("ExecStart")[0])
        argv[0] = scd.DIGESTD
        argv[argv.index("/etc/digestd.conf")] = self.node.path
        if not sanitized():
            calls = seccomp.allowed(settings("SystemCallFilter"))
            argv = [sys.executable, seccomp.__file__, ",".join(calls), *argv]
        self.node.process = scd.Process(argv, str(self.folder / "log"), env)
        self.node.cluster.processes.append(self.node.process)

    def told(self):
        """The next notification: name by name."""
        text = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in text.splitlines())


@pytest.fixture
def service(make_cluster, origin, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is missing")
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.options.update(disk_path=str(tmp_path / "disk"), disk_size="64M")
    made = Service(node, tmp_path)
    yield made
    made.socket.close()


def test_service_from_start_to_stop(service, origin):
    node = service.node
    service.credential(scd.KEY + "\n")
    service.start()
    assert service.told() == {"READY": "1"}
    assert request(node.admin, "/readyz").status == 200
    origin.set("/a", body=b"x" * 300000, fields={
        "Cache-Control": "max-age=600"})
    for _ in range(2):
        assert node.get("/a").body == b"x" * 300000
    assert request(node.peer, "/scd/v1/digest").status in (401, 403)

    node.process.signal(signal.SIGHUP)
    told = service.told()
    assert told["RELOADING"] == "1" and int(told["MONOTONIC_USEC"]) > 0
    assert service.told() == {"READY": "1"}

    node.process.signal(signal.SIGTERM)
    assert service.told() == {"STOPPING": "1"}
    assert node.process.wait(20 * scd.SLOW) == 0, node.process.logged()


def test_refused_call_is_found():
    """The filter does end what makes another call than those it lists."""
    def end(*calls):
        return subprocess.run([sys.executable, seccomp.__file__,
                               ",".join(calls), "/bin/true"], check=False,
                              stderr=subprocess.PIPE).returncode
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is missing")
    calls = seccomp.allowed(["@system-service"])
    assert end(*calls) == 0
    assert end(*(set(calls) - {"mmap"})) == -signal.SIGSYS


def test_service_without_a_key(service):
    """What stands for the missing file is no key; whoever has no peers needs
    none."""
    service.credential(settings("SetCredential")[0].split(":")[1] + "\n")
    service.start()
    refused = service.node.process
    assert refused.wait(20 * scd.SLOW) == 1
    service.node.cluster.processes.remove(refused)
    assert ("cluster.key: has no key; make one, the same for all nodes: "
            "(umask 077; openssl rand -hex 16 >/etc/digestd.key)"
            ) in refused.logged()
    service.node.options["listen_peer"] = None
    service.start()
    assert service.told() == {"READY": "1"}


class Activated:
    """A node whose sockets a service manager has opened: it has them by their
    names, or by their addresses."""

    def __init__(self, node, names=None):
        self.node = node
        ports = [node.data, node.peer, node.admin]
        argv = ["systemd-socket-activate", "-E", "ASAN_OPTIONS"]
        for port in ports[:len(names or ports)]:
            argv += ["-l", f"127.0.0.1:{port}"]
        if names:
            argv.append("--fdname=" + ":".join(names))
        node.write()
        node.process = scd.Process([*argv, scd.DIGESTD, "-c", node.path],
                                   node.path + ".log")
        node.cluster.processes.append(node.process)
        scd.until(lambda: scd.connectable(ports[0]), what="activation")


@pytest.fixture
def activated(make_cluster, origin):
    if not shutil.which("systemd-socket-activate"):
        pytest.skip("systemd-socket-activate is missing")

    def make(names=None, **options):
        c = make_cluster(1, threads="3", **options)
        c.origin_url = origin.url
        return Activated(c.nodes[0], names).node
    return make


def serves(node, origin):
    origin.set("/a", body=b"x" * 3000, fields={"Cache-Control": "max-age=60"})
    node.wait_ready()
    for _ in range(20):
        assert node.get("/a").body == b"x" * 3000
    assert request(node.peer, "/scd/v1/digest").status in (401, 403)
    assert node.process.logged().count("listen_") == 0, node.process.logged()


def test_sockets_are_known_by_their_addresses(activated, origin):
    """Three workers share each: none of them has SO_REUSEPORT."""
    serves(activated(), origin)


def test_sockets_are_known_by_their_names(activated, origin):
    """Whatever the configuration says of addresses."""
    serves(activated(("data", "peer", "admin"),
                     listen_data=f"127.0.0.1:{scd.free_port()}",
                     listen_peer=f"127.0.0.1:{scd.free_port()}",
                     listen_admin=f"127.0.0.1:{scd.free_port()}"), origin)


def test_some_sockets_are_the_nodes_own(activated, origin):
    node = activated(("data",))
    serves(node, origin)
    assert node.status()["node"] == node.name


def test_a_socket_of_nobody_is_refused(activated):
    node = activated(("http",), listen_data=f"127.0.0.1:{scd.free_port()}")
    assert node.process.wait(20 * scd.SLOW) == 1
    node.cluster.processes.remove(node.process)
    assert (f'socket "http" of the service manager, on port {node.data}, is '
            "for no listener") in node.process.logged()


def test_a_socket_that_does_not_listen_is_refused(tmp_path):
    """LISTEN_FDS as systemd has it; the descriptor is a file."""
    path = tmp_path / "d.conf"
    path.write_text('listen_data = "127.0.0.1:0"\nforward = true\n')
    run = ('exec 3<"$0"; LISTEN_FDS=1 LISTEN_PID=$$ exec "$1" -c "$0"')
    r = subprocess.run(["sh", "-c", run, str(path), scd.DIGESTD], check=False,
                       stderr=subprocess.PIPE, text=True)
    assert r.returncode == 1 and "LISTEN_FDS" in r.stderr, r.stderr


def test_the_journal_gets_priorities(tmp_path):
    """What systemd says is the journal is a file here."""
    path, log = tmp_path / "d.conf", tmp_path / "log"
    path.write_text('listen_data = "192.0.2.1:1"\nforward = true\n')
    with open(log, "wb") as f:
        st = os.fstat(f.fileno())
        subprocess.run([scd.DIGESTD, "-c", str(path)], check=False, stderr=f,
                       env={**os.environ,
                            "JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"})
    lines = [line for line in log.read_text().splitlines()
             if "listen_data" in line]
    assert any(line.startswith("<3>error service: listen_data: 192.0.2.1:1: ")
               for line in lines), lines
