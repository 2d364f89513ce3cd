"""What nobody has touched: a Debian made from this machine's package mirror, in
which the packages are built, and installed with apt, up to the first hit at a
peer; and the image of docs/examples/Containerfile, from its build to SIGTERM.

Some minutes of a processor, a network, and root: with SCD_TEST_LONG.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import cluster as scd
import test_operating as operating
import test_tutorial as tutorial
from cluster import until

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CONTAINERFILE = os.path.join("docs", "examples", "Containerfile")
BASE = "debian:12-slim"
FIRST_HIT_S = 60
USER = 990  # of the Containerfile

# The service manager of a root that has none: it runs the unit's command as its
# user, with its credential.
SYSTEMCTL = r"""#!/bin/sh
case "$*" in
"enable --now digestd")
	install -d -o digestd -m 700 /run/credentials
	install -o digestd -m 400 /etc/digestd.key /run/credentials/cluster.key
	CREDENTIALS_DIRECTORY=/run/credentials setpriv --reuid digestd \
		--regid digestd --init-groups \
		/usr/sbin/digestd -c /etc/digestd.conf 2>/mnt/journal &
	echo $! >/run/digestd.pid ;;
*) exit 1 ;;
esac
"""


def why_not():
    if os.geteuid():
        return "not root"
    for program in ("buildah", "mmdebstrap"):
        if not shutil.which(program):
            return f"{program} is missing"
    with open("/etc/os-release", encoding="utf-8") as f:
        if "VERSION_CODENAME=bookworm" not in f.read():
            return "this is another release than the Containerfile's"
    return None


pytestmark = pytest.mark.skipif(bool(why_not()), reason=str(why_not()))


def output(*argv, **options):
    r = subprocess.run(argv, check=False, text=True, errors="replace",
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, **options)
    assert r.returncode == 0, (argv, r.stdout[-6000:])
    return r.stdout


class Store:
    """Images and containers, in a folder of their own. Commands run without
    namespaces that a machine may refuse: in a chroot, in its network."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.options = ["buildah", "--root", f"{folder}/root", "--runroot",
                        f"{folder}/run", "--storage-driver", "vfs"]
        self.apt = ["-v", "/etc/apt/apt.conf.d:/etc/apt/apt.conf.d:ro"]

    def __call__(self, *args):
        return output(*self.options, *args).strip()

    def container(self, image):
        return self("from", "--pull-never", image).splitlines()[-1]

    def command(self, container, *argv, options=()):
        return [*self.options, "run", "--isolation", "chroot", *options,
                container, "--", *argv]


def sources():
    return [p for p in ["/etc/apt/sources.list",
                        *glob.glob("/etc/apt/sources.list.d/*.sources"),
                        *glob.glob("/etc/apt/sources.list.d/*.list")]
            if os.path.exists(p)]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """With the base image, of the mirror that apt uses here."""
    folder = tmp_path_factory.mktemp("image")
    s = Store(folder)
    tar = str(folder / "base.tar")
    output("mmdebstrap", "--variant=apt", "bookworm", tar, *sources())
    container = s("from", "scratch")
    s("add", container, tar, "/")
    s("commit", container, BASE)
    s("rm", container)
    os.unlink(tar)
    yield s
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def images(store, tmp_path_factory):
    """(what builds, what runs), of a tarball's contents."""
    source = tmp_path_factory.mktemp("source")
    output(os.environ.get("MAKE", "make"), "-s", "dist", cwd=scd.BUILD)
    tarball, = glob.glob(os.path.join(scd.BUILD, "summary-cache-*.tar.gz"))
    output("tar", "xzf", tarball, "--strip-components=1", "-C", str(source))
    os.unlink(tarball)
    build = ["bud", "--isolation", "chroot", "--pull-never", "--layers",
             *store.apt, "-f", str(source / CONTAINERFILE)]
    store(*build, "--target", "build", "-t", "localhost/scd-build",
          str(source))
    store(*build, "-t", "localhost/scd", str(source))
    return "localhost/scd-build", "localhost/scd"


@pytest.fixture
def packages(store, images, tmp_path):
    """A folder with what was built."""
    container = store.container(images[0])
    root = store("mount", container).splitlines()[-1]
    for path in glob.glob(f"{root}/*.deb"):
        shutil.copy(path, tmp_path)
    store("rm", container)
    assert len(glob.glob(f"{tmp_path}/*.deb")) >= 5
    return tmp_path


def install_and_ask(ports):
    """The page's blocks, up to the hit at the peer, as they stand there."""
    blocks = tutorial.BLOCK.findall(operating.page())
    last = next(i for i, b in enumerate(blocks) if "peer=cache1" in b[2])
    text = "".join(b[0] for b in blocks[:last + 1])
    assert text.startswith("apt install ")
    text = text.replace("apt install ", "apt-get install -y -qq "
                        "--no-install-recommends ", 1)
    text = re.sub(r"\b(8\d\d\d)\b", lambda m: ports.get(m[0], m[0]), text)
    return text + "kill $second $(cat /run/digestd.pid)\nwait\n"


def test_from_apt_install_to_the_first_remote_hit(store, packages, origin):
    """In a root that has curl and openssl, and nothing else of what is used:
    the origin is another machine."""
    ports = operating.free_ports()
    ports["8000"] = str(origin.port)
    origin.set("/logo", body=b"x" * 3000, fields={
        "Cache-Control": "max-age=600"})
    (packages / "systemctl").write_text(SYSTEMCTL)
    (packages / "scd-origin").write_text("#!/bin/sh\n")
    (packages / "script").write_text(install_and_ask(ports))
    container = store.container(BASE)
    options = [*store.apt, "-v", f"{packages}:/mnt:rw"]

    def run(command):
        return output(*store.command(container, "sh", "-ec", command,
                                     options=options))
    run("apt-get update -qq; apt-get install -y -qq --no-install-recommends "
        "curl openssl >/dev/null 2>&1; cd /mnt; "
        "install systemctl scd-origin /usr/local/bin")
    began = time.monotonic()
    said = run("cd /mnt; sh script 2>&1")
    took = time.monotonic() - began
    store("rm", container)
    assert 'cache2; fwd=uri-miss; fwd-status=200; ' in said, said
    assert 'detail="peer=cache1"' in said, said
    assert origin.count("/logo") == 1
    assert took < FIRST_HIT_S * scd.SLOW, (took, said)
    print(f"from apt install to the first remote hit: {took:.1f} s")


def user_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^Uid:\s+(\d+)", f.read(), re.M)[1])


def children(pid):
    """Of all its threads, and theirs."""
    below = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path, encoding="ascii") as f:
            below += [int(p) for p in f.read().split()]
    return below + [c for p in below for c in children(p)]


def test_the_image_serves(store, images, make_cluster, origin, tmp_path):
    """By its own command and user; SIGTERM drains it, and what it has on its
    volume outlives it."""
    said = json.loads(store("inspect", "--type", "image", images[1]))
    config = said["OCIv1"]["config"]
    assert config["User"] == f"{USER}:{USER}"
    assert list(config["Volumes"]) == ["/var/cache/digestd"]
    assert config.get("StopSignal") == "SIGTERM"

    c = make_cluster(1, listen_peer=None, cluster_key=None, control="none",
                     disk_path="/var/cache/digestd/objects", disk_size="64M",
                     admission="none")
    c.origin_url = origin.url
    node = c.nodes[0]
    node.write()
    os.chmod(node.path, 0o644)
    origin.set("/a", body=b"a" * 5000, fields={
        "Cache-Control": "max-age=600"})
    container = store.container(images[1])
    argv = store.command(container, *config["Entrypoint"], options=[
        "-v", f"{node.path}:/etc/digestd.conf:ro"])
    for source in (["origin", "hit"], ["hit", "hit"]):
        run = scd.Process(argv, str(tmp_path / "log"))
        until(lambda run=run: not run.alive() or scd.connectable(node.data),
              60, what="the container")
        assert run.alive(), run.logged()
        assert [node.get("/a").source for _ in range(2)] == source
        until(lambda: node.status()["disk"]["objects"] == 1, what="its disk")
        own = [p for p in children(run.popen.pid)
               if os.readlink(f"/proc/{p}/exe").endswith("/digestd")]
        assert len(own) == 1 and user_of(own[0]) == USER
        os.kill(own[0], signal.SIGTERM)
        assert run.wait(60) == 0, run.logged()
        assert "draining" in run.logged()
    assert origin.count("/a") == 1
    store("rm", container)


if not os.environ.get("SCD_TEST_LONG"):
    del test_from_apt_install_to_the_first_remote_hit, test_the_image_serves
