#!/usr/bin/env python3
"""digestctl: the examples of its manual, exit codes, and bad input, as TAP."""

import json
import os
import re
import tempfile

from harness import CTL, KEY, LIVE, SOURCE, ctl, run

BUILD_ARGS = ["build", "-k", KEY, "-b", "64K", "-H", "3"]


def examples_of_the_manual():
    with tempfile.TemporaryDirectory() as folder:
        blocks, said = ctl.examples(folder)
    for line in ("yes http://a.example/2", "delta.scd: OK", "a sibling has",
                 "in common", '"lines": 100000'):
        assert line in said, line
    used = set(re.findall(r"digestctl ([a-z]+)", "".join(blocks)))
    assert used == set(ctl.commands()) - set(LIVE)


def tune_as_json():
    code, out, _ = ctl("tune", "-n", "100000", "-f", "0.02", "--json")
    t = json.loads(out)
    assert code == 0 and t["fp"] <= 0.02 and t["nbits"] & (t["nbits"] - 1) == 0
    code, _, err = ctl("tune", "-n", "1000000", "-f", "1e-9", "-m", "1K")
    assert code == 1 and "goal" in err


HOUR = ("-P", "8", "-C", "1000", "-q", "1e6", "-r", "5e4", "-i", "3600")


def tune_tells_everything():
    args = ["tune", "-n", "1000000", "-N", "500000", *HOUR]
    code, out, _ = ctl(*args, "--json", "-u", "conditional")
    t = json.loads(out)
    assert code == 0 and t["updates"] == "conditional"
    assert t["goal"]["expected"] == 1000000 and t["goal"]["peers"] == 8
    assert 0 < t["share"] < 0.1 and t["fp_now"] < t["fp"] < t["cluster_fp"]
    assert t["memory_bytes"] == t["own_bytes"] + 7 * t["array_bytes"]
    assert abs(t["node_rate"] / t["link_rate"] - 14) < 1e-9
    assert t["candidates"][0]["verdict"] == "chosen"
    best = sum(t[k] for k in ("update_cost", "false_hit_cost", "stale_cost"))
    for c in t["candidates"][1:]:
        costs = c["update_cost"] + c["false_hit_cost"] + c["stale_cost"]
        assert costs >= best or "memory" in c["verdict"], c
    code, out, _ = ctl(*args, "--explain")
    lines = out.decode().splitlines()
    assert lines[-len(t["candidates"])].endswith("  chosen")
    for unit in ("bytes/s", "expected_objects", "publish_max", "staleness"):
        assert any(unit in line for line in lines), unit


def tune_settings_make_that_array():
    """What is printed for digestd.conf gives the array that was chosen."""
    for n, fp in ((1000, .01), (12345, .3), (1000000, .001), (7, .1)):
        code, out, _ = ctl("tune", "-n", str(n), "-f", str(fp))
        assert code == 0
        text = out.decode()
        found = dict(re.findall(r'^ +(\w+) = "(\d+)"', text, re.M))
        want = n * int(found["bits_per_object"])
        nbits = int(re.search(r"array +(\d+)", text).group(1))
        assert nbits // 2 < want <= nbits, text
        assert int(found["expected_objects"]) == n
        assert "filter_max" not in found and "digest_max_size" not in found
    text = ctl("tune", "-n", "1e9", "-f", "0.01")[1].decode()
    nbits = int(re.search(r"array +(\d+)", text).group(1))
    for option in ("filter_max", "digest_max_size"):  # 512M if not told
        size = re.search(f'^ +{option} = "(\\d+)M"$', text, re.M).group(1)
        assert int(size) << 20 == nbits // 8 > 512 << 20


def tune_names_what_is_out_of_range():
    for option, text in (("--objects", "0"), ("--fp", "0"), ("--fp", "1"),
                         ("--wire-bits", "0"), ("--hit-cost", "0"),
                         ("--lookups", "0"), ("--memory", "0")):
        code, _, err = ctl("tune", "-n", "1000", "-f", "0.1", option, text)
        assert code == 2 and f'{option}: "{text}" is ' in err, err


def tune_says_what_would_do():
    code, _, err = ctl("tune", "-n", "1000000", "-f", "1e-3", "-m", "1M")
    size = re.search(r"--memory (\d+)", err).group(1)
    assert code == 1
    assert ctl("tune", "-n", "1000000", "-f", "1e-3", "-m", size)[0] == 0
    less = str(int(size) - 1)
    assert ctl("tune", "-n", "1000000", "-f", "1e-3", "-m", less)[0] == 1
    code, _, err = ctl("tune", "-n", "1000", "-f", "1e-9", "-w", "4")
    assert code == 1 and "--memory" not in err
    # what readers would refuse, and what costs them 32 accesses a lookup
    assert ctl("tune", "-n", "1000000", "-w", "3")[0] == 1
    found = json.loads(ctl("tune", "-n", "1e6", "-f", "0.01", "-j")[1])
    assert found["nhash"] == 2
    for n in ("1e9", "1E9", "1000000000"):
        assert ctl("tune", "-n", n, "-f", "0.02")[0] == 0
    for n in ("1e", "1e-3", "1e99", "1e9e9", "e9"):
        code, _, err = ctl("tune", "-n", n, "-f", "0.02")
        assert code == 2 and "is not a number" in err


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def page_on_tuning_shows_what_comes_out():
    """Commands after "$" in TUNING.md, and all that stands below them."""
    page = read("docs", "TUNING.md")
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.M)
    shown = [b for b in blocks if b.lstrip().startswith("$ digestctl ")]
    assert len(shown) >= 2
    for block in shown:
        lines = [line[4:] for line in block.strip("\n").split("\n")]
        command = [lines.pop(0)]
        while command[-1].endswith("\\"):
            command.append(lines.pop(0))
        args = " ".join(c.rstrip("\\") for c in command).split()[2:]
        code, out, _ = ctl(*args)
        assert code == 0
        assert out.decode().rstrip() == "\n".join(lines), args


def page_on_tuning_has_true_tables():
    page = read("docs", "TUNING.md")
    args = re.search(r"`digestctl (tune [^`]*) -m SIZE`", page).group(1)
    rows = re.findall(r"^\| `-m (\w+)` \|(.*)\|$", page, re.M)
    assert len(rows) == 3
    for size, cells in rows:
        t = json.loads(ctl(*args.split(), "-m", size, "-j")[1])
        want = (f" {t['nbits'] / 1e6:.1f} | {t['nhash']} "
                f"| {t['fp'] * 100:.1f} % | {t['full_bytes']:,.0f} bytes "
                f"| {t['delta_bytes']:,.0f} bytes ")
        assert cells == want, (cells, want)
    for plot in re.findall(r"\]\((plots/\w+\.svg)\)", page):
        assert read("docs", *plot.split("/")).startswith("<?xml")


def build_info_query():
    urls = b"HTTP://A.example:80/x\r\n\nhttp://b.example\n"
    code, digest, _ = ctl(*BUILD_ARGS, "-g", "5", data=urls)
    assert code == 0
    code, out, _ = ctl("info", "--json", "-", data=digest)
    info = json.loads(out)
    assert code == 0 and info["nkeys"] == 2 and info["generation"] == 5
    assert info["bytes"] == len(digest) and info["kind"] == "full"
    query = ["query", "--key", KEY, "-"]
    code, out, _ = ctl(*query, "http://a.example/x", "http://b.example/",
                       data=digest)
    assert (code, out.count(b"yes ")) == (0, 2)
    code, out, _ = ctl(*query, "http://a.example/y", data=digest)
    assert code == 1 and out.startswith(b"no ")
    other = ["query", "--key", "f" * 32, "-", "http://a.example/x"]
    assert ctl(*other, data=digest)[0] == 1


def same_input_same_bytes():
    urls = b"".join(b"http://h/%d\n" % i for i in range(1000))
    assert ctl(*BUILD_ARGS, data=urls)[1] == ctl(*BUILD_ARGS, data=urls)[1]


def bad_lines_are_named():
    code, digest, err = ctl(*BUILD_ARGS, data=b"http://a/\nftp://b/\n\nx y\n")
    assert code == 1 and digest
    assert "-:2: " in err and "-:4: " in err and "-:1" not in err


def bad_digests_are_refused():
    _, digest, _ = ctl(*BUILD_ARGS, data=b"http://a/\n")
    for bad in (b"", digest[:-1], digest + b"x", b"x" + digest[1:]):
        code, _, err = ctl("info", "-", data=bad)
        assert code == 1 and err.startswith("digestctl: -: "), bad[:8]
        assert ctl("query", "-k", KEY, "-", "http://a/", data=bad)[0] == 1
    code, _, err = ctl("info", "/nonexistent/file")
    assert code == 3 and "/nonexistent/file" in err


def wrong_usage():
    for args in ([], ["nonsense"], ["tune"], ["tune", "-n", "x"],
                 ["tune", "-n", "1", "-f", "2"], ["tune", "--nonsense"],
                 ["tune", "-n", "10", "-C", "10"],
                 ["tune", "-n", "10", "-f", ".1", "-u", "stored"],
                 ["tune", "-n", "10", "-f", ".1", "-u", ""],
                 ["tune", "-n", "10", "-f", ".1", "-H", "2"],
                 ["tables"], ["bench"], ["build"],
                 [*BUILD_ARGS[:-1], "33"], ["build", "-k", "12"],
                 ["build", "-k", KEY, "-b", "2048G", "-H", "3"],
                 ["info"], ["info", "a", "b"], ["query", "-k", KEY, "-"]):
        code, out, err = ctl(*args)
        assert (code, out) == (2, b"") and err, args


def help_and_version():
    assert ctl("--version")[:2][0] == 0
    code, out, _ = ctl("--help")
    assert code == 0
    for name in ("tune", "build", "info", "query", "diff", "apply",
                 "convert", "merge", "overlap", "verify"):
        assert name.encode() in out
        code, text, _ = ctl(name, "--help")
        assert code == 0 and text.startswith(b"usage: digestctl " +
                                             name.encode())


TESTS = (examples_of_the_manual, tune_as_json,
         tune_tells_everything, tune_settings_make_that_array,
         tune_says_what_would_do, tune_names_what_is_out_of_range,
         page_on_tuning_shows_what_comes_out, page_on_tuning_has_true_tables,
         build_info_query, same_input_same_bytes, bad_lines_are_named,
         bad_digests_are_refused, wrong_usage, help_and_version)


if __name__ == "__main__":
    run(TESTS)
