#!/usr/bin/env python3
"""The packages of Debian: what "make install" installs is in one of them, and
what their control files say is so. With SCD_TEST_LONG they are built, from a
tarball that "make dist" writes twice the same, and lintian has nothing to say.
TAP.
"""

import email.utils
import fnmatch
import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
DEBIAN = os.path.join(SOURCE, "debian")
LONG = bool(os.environ.get("SCD_TEST_LONG"))
MAKE = os.environ.get("MAKE", "make")
QUIET = {"MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402

# What debhelper puts where it belongs, by the file that debian/rules makes of
# the one that "make install" installs.
BY_DEBHELPER = {
    "systemd/system/digestd.service": "digestd.service",
    "systemd/system/digestd.socket": "digestd.socket",
    "sysusers.d/digestd.conf": "digestd.sysusers",
    "tmpfiles.d/digestd.conf": "digestd.tmpfiles",
}


MODULES = ("usr/lib/nginx/modules/", "usr/lib/*/varnish/vmods/")


def text_of(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def output(*command, cwd=BUILD, env=None):
    r = subprocess.run(command, cwd=cwd, check=False, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env={**os.environ, **QUIET, **(env or {})})
    assert r.returncode == 0, (command, r.stdout[-4000:])
    return r.stdout


def stanzas(text):
    """Of a control file: field by field, what it says."""
    found = []
    for block in re.split(r"\n\n+", text.strip()):
        fields = {}
        for line in block.splitlines():
            if re.match(r"[ \t]\S", line):
                fields[name] += "\n" + line.strip()
            else:
                m = re.fullmatch(r"([A-Z][A-Za-z-]*):(?: (.*))?", line)
                assert m and m[1] not in fields, line
                name = m[1]
                fields[name] = m[2] or ""
        found.append(fields)
    return found


def control():
    """The source, and package by package what is said of it."""
    source, *others = stanzas(text_of("debian", "control"))
    return source, {p["Package"]: p for p in others}


def configured(variable):
    with open(os.path.join(BUILD, "Makefile"), encoding="utf-8") as f:
        return re.search(rf"^{variable} = *(.*)$", f.read(), re.M)[1]


def version():
    return re.search(r"^AC_INIT\(\[summary-cache\], \[(.*)\]\)",
                     text_of("configure.ac"), re.M)[1]


def control_says_what_is_needed():
    source, packages = control()
    for field in ("Maintainer", "Standards-Version", "Build-Depends"):
        assert source[field], field
    assert email.utils.parseaddr(source["Maintainer"])[1]
    assert set(packages) == {"digestd", "digestctl", "cachesim", "libscd0",
                             "libscd-dev", "libnginx-mod-http-scd",
                             "libvmod-scd"}
    for name, p in packages.items():
        synopsis, *rest = p["Description"].splitlines()
        assert 10 < len(synopsis) <= 80 and rest, name
        assert "${misc:Depends}" in p["Depends"], name
        assert p["Architecture"] == "linux-any", name
        assert os.path.exists(os.path.join(DEBIAN, f"{name}.install")), name
    needs = {w for w in re.findall(r"^([a-z0-9.+-]+),?$",
                                   source["Build-Depends"], re.M)}
    build = re.search(r'^build_packages="(.*?)"$', text_of("bootstrap"),
                      re.M | re.S)[1].split()
    # debhelper has the tools that make a configure
    wanted = set(build) - {"build-essential", "autoconf", "automake",
                           "libtool", "python3"}
    # a build without them leaves the modules out; the packages have them
    wanted |= {"nginx-dev", "libvarnishapi-dev"}
    assert needs - {"dh-sequence-installsysusers"} == wanted, needs ^ wanted


def version_is_that_of_configure():
    head, *rest = text_of("debian", "changelog").splitlines()
    m = re.fullmatch(r"summary-cache \((.*)\) unstable; urgency=medium", head)
    assert m and m[1] == version(), head
    signed = [line for line in rest if line.startswith(" -- ")]
    source = control()[0]
    when = email.utils.parsedate(signed[0].partition(">  ")[2])
    assert when and source["Maintainer"] in signed[0], signed


def scripts_are_scripts():
    """Without a mistake that a shell sees; rules can be run."""
    assert os.stat(os.path.join(DEBIAN, "rules")).st_mode & stat.S_IXUSR
    for name in ("postinst", "prerm", "postrm"):
        path = os.path.join(DEBIAN, f"digestd.{name}")
        output("sh", "-n", path)
        assert "\n#DEBHELPER#\n" in text_of(path)
        if shutil.which("shellcheck"):
            output("shellcheck", path)


def no_key_is_shipped():
    conf = text_of("debian", "etc", "digestd.conf")
    path = re.search(r'^cluster_key_file = "(.*)"$', conf, re.M)[1]
    assert f"(umask 077; openssl rand -hex 16 >{path})" in conf
    assert not re.search(r"[0-9a-f]{32}", conf)
    shipped = " ".join(text_of(path) for path in
                       glob.glob(os.path.join(DEBIAN, "*.install")))
    assert "digestd.key" not in shipped


def patterns():
    """Pattern by pattern of the packages, whose it is; "": nobody's."""
    found = []
    for package in control()[1]:
        for line in text_of("debian", f"{package}.install").splitlines():
            found.append((line.split()[0], package))
    found += [(line, "") for line
              in text_of("debian", "not-installed").splitlines()]
    return found


def is_of(path, pattern):
    return (fnmatch.fnmatchcase(path, pattern)
            or fnmatch.fnmatchcase(path, pattern + "/*"))


def installed():
    """All that "make install" installs, by where the packages have it."""
    root = tempfile.TemporaryDirectory(prefix="scd-install-")
    where = {"prefix": "/usr", "sbindir": "/usr/sbin", "bindir": "/usr/bin",
             "libdir": "/usr/lib/any", "includedir": "/usr/include",
             "docdir": "/usr/share/doc/digestd",
             "datadir": "/usr/share", "mandir": "/usr/share/man"}
    with root:
        output(MAKE, "-s", "install", f"DESTDIR={root.name}",
               *(f"{name}={path}" for name, path in where.items()))
        return sorted(os.path.relpath(os.path.join(folder, name), root.name)
                      for folder, _, names in os.walk(root.name)
                      for name in names)


def everything_is_in_one_package():
    """Or debhelper installs it, or it is named as what nobody gets."""
    rules, rows = text_of("debian", "rules"), patterns()
    files, unused = installed(), {pattern for pattern, _ in rows}
    assert len(files) > 60, files
    for path in files:
        short = path.split("usr/lib/", 1)[-1]
        if short in BY_DEBHELPER:
            name = os.path.basename(short)
            assert f"{name} debian/" in rules or BY_DEBHELPER[short] in rules
            continue
        whose = [(pattern, p) for pattern, p in rows if is_of(path, pattern)]
        assert len(whose) == 1, (path, whose)
        unused.discard(whose[0][0])
    # a build need not have the static library, nor the modules; these are of
    # the packages alone
    unused -= {p for p in unused if p.startswith(MODULES)}
    assert unused <= {"usr/lib/*/libscd.a", "debian/etc/digestd.conf",
                      "debian/etc/mod-http-scd.conf"}, unused


def folder_is_distributed():
    """All of it, so that the tarball makes packages."""
    listed = set(re.findall(r"^\tdebian/(\S+)", text_of("docs/Makefile.inc"),
                            re.M))
    made = set(text_of("debian", "clean").split())
    there = {os.path.relpath(os.path.join(folder, name), DEBIAN)
             for folder, _, names in os.walk(DEBIAN) for name in names}
    ignored = text_of("debian", ".gitignore").split() \
        if os.path.exists(os.path.join(DEBIAN, ".gitignore")) else []
    there = {name for name in there if not any(
        fnmatch.fnmatch("/" + name, p + "*") for p in ignored)}
    assert there - {".gitignore"} == listed, there ^ listed
    assert all(name.startswith("debian/digestd.") for name in made)


def container_is_of_the_packages():
    text = text_of("docs", "examples", "Containerfile")
    assert re.findall(r"^FROM (\S+)", text, re.M) \
        == ["debian:12-slim"] * 2
    copied = re.search(r"^COPY --from=build (.*) /tmp/$", text, re.M)[1]
    for pattern in copied.split():
        assert any(fnmatch.fnmatch(f"/{name}_{version()}_amd64.deb", pattern)
                   for name in control()[1]), pattern
    number = re.search(r"useradd --system --uid (\d+) --gid \1 ", text)[1]
    assert re.search(rf"^USER {number}:{number}$", text, re.M)
    pods = text_of("docs", "examples", "kubernetes.yaml")
    assert re.findall(r"(?:runAs\w+|fsGroup): (\d+)", pods) == [number] * 3
    assert f"image: digestd:{version()}\n" in pods
    conf = text_of("debian", "etc", "digestd.conf")
    ports = re.findall(r'^listen_\w+ = ".*:(\d+)"$', conf, re.M)
    assert re.search(r"^EXPOSE (.*)$", text, re.M)[1].split() == ports
    entry = re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1]
    assert entry == '["/usr/sbin/digestd", "-c", "/etc/digestd.conf"]'


# With SCD_TEST_LONG

def skipped():
    for program in ("dpkg-buildpackage", "dh", "lintian"):
        if not shutil.which(program):
            return f"{program} is missing"
    return None


def distributed(folder):
    """The tarball, moved there."""
    output(MAKE, "-s", "dist")
    name = f"summary-cache-{version()}.tar.gz"
    return shutil.move(os.path.join(BUILD, name),
                       os.path.join(folder, name))


def bytes_of(path):
    with open(path, "rb") as f:
        return f.read()


def packages_are_built():
    if skipped():
        return skipped()
    with tempfile.TemporaryDirectory(prefix="scd-debian-") as folder:
        tarball = distributed(folder)
        first = bytes_of(tarball)
        os.utime(os.path.join(SOURCE, "README.md"))
        assert bytes_of(distributed(folder)) == first, "another tarball"
        with tarfile.open(tarball) as f:
            f.extractall(folder)
        top = tarball[:-len(".tar.gz")]
        output("dpkg-buildpackage", "-us", "-uc", "-b", cwd=top)
        changes = glob.glob(os.path.join(folder, "*.changes"))
        said = output("lintian", "--pedantic", "--allow-root",
                      "--fail-on", "error,warning,pedantic", *changes)
        assert not re.search(r"^[EWP]:", said, re.M), said
        packages_work(folder)
    return None


def packages_work(folder):
    """Unpacked, as they need not be installed for that."""
    root = os.path.join(folder, "root")
    for path in glob.glob(os.path.join(folder, "*.deb")):
        output("dpkg", "-x", path, root)
    libraries = os.path.dirname(glob.glob(f"{root}/usr/lib/*/libscd.so")[0])
    for program in ("sbin/digestd", "bin/digestctl", "bin/cachesim",
                    "bin/scd-origin", "bin/scd-replay"):
        said = output(os.path.join(root, "usr", program), "--version",
                      env={"LD_LIBRARY_PATH": libraries})
        assert version() in said, said
    r = subprocess.run([f"{root}/usr/sbin/digestd", "-t", "-c",
                        f"{root}/etc/digestd.conf"], check=False,
                       stderr=subprocess.PIPE, text=True)
    assert r.returncode == 1 and "make one" in r.stderr, r.stderr


TESTS = (control_says_what_is_needed, version_is_that_of_configure,
         scripts_are_scripts, no_key_is_shipped, everything_is_in_one_package,
         folder_is_distributed, container_is_of_the_packages,
         *((packages_are_built,) if LONG else ()))


if __name__ == "__main__":
    run(TESTS)
