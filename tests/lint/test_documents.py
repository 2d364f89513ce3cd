#!/usr/bin/env python3
"""What the documents say of the tree is so: files that they link to, folders
that they name, the layers, and the figures of the first page. TAP.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("top_srcdir", ".")
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

import rules  # noqa: E402
import source  # noqa: E402
from taprun import run  # noqa: E402

DOCUMENTS = ("README.md", "HACKING.md", "SECURITY.md", "NEWS.md",
             "docs/ADMISSION.md", "docs/COMPARISON.md",
             "docs/CONFORMANCE.md", "docs/DESIGN.md",
             "docs/DISK.md", "docs/FORMAT.md", "docs/GLOSSARY.md",
             "docs/OPERATING.md",
             "docs/PERFORMANCE.md", "docs/PROTOCOL.md", "docs/REQUESTS.md",
             "docs/SIMULATOR.md",
             "docs/TRACE-FORMAT.md", "docs/TUNING.md", "docs/TUTORIAL.md")
# Folders below these are named without them where it is clear.
ABOVE = ("", "digestd/", "tests/", "docs/", "tests/vectors/")


def text_of(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return f.read()


def exists(path):
    return os.path.exists(os.path.join(SOURCE, path))


def links_lead_somewhere():
    found = 0
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", text_of(document)):
            found += 1
            path = os.path.normpath(os.path.join(os.path.dirname(document),
                                                 target))
            assert exists(path), (document, target)
    assert found > 10


def documents_are_distributed():
    listed = text_of("Makefile.am") + text_of("docs/Makefile.inc")
    for document in DOCUMENTS:
        assert document in listed, document


def folders_are_there():
    """`name/` is a folder."""
    for document in DOCUMENTS:
        for name in re.findall(r"`([a-z][\w/-]*/)`", text_of(document)):
            assert any(exists(above + name) for above in ABOVE), (document,
                                                                  name)


def files_and_functions_are_there():
    """`folder/name.c` is a file, and name() a function; news may be of what
    has gone since. NAME stands for a name."""
    files = source.read_tree(SOURCE)
    paths = {f.path for f in files} | rules.MADE
    words = {w for f in files if not f.path.endswith(".md")
             for w in re.findall(r"\w+", f.code())}
    found = 0
    for document in set(DOCUMENTS) - {"NEWS.md"}:
        text = text_of(document)
        for path in re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:[ch]|def|py))`",
                               text):
            found += 1
            path = re.sub(r"^scd/", "codec/", path)  # where it is installed
            assert "NAME" in path or any(
                ("/" + known).endswith("/" + path.removeprefix("../"))
                for known in paths), (document, path)
        for name in re.findall(r"\b([a-z]\w*_\w+)\(\)", text):
            found += 1
            assert name in words, (document, name)
    assert found > 300, found


def readme_opens_in_forty_lines():
    """What it is, a picture, for whom, the two commands, where to go next."""
    opening = text_of("README.md").split("\n## ")[0]
    assert len(opening.splitlines()) <= 40, len(opening.splitlines())
    for wanted in ("\n    ./bootstrap run ", "\n    ./bootstrap check ",
                   "\n    +---------+", "\nIt is for you if",
                   "(docs/TUTORIAL.md)", "(#documents)"):
        assert wanted in opening, wanted


def all_documents():
    """As the index of the README names them."""
    def found(pattern):
        paths = glob.glob(os.path.join(SOURCE, pattern))
        return {os.path.relpath(path, SOURCE) for path in paths}
    pages = {re.sub(r"docs/(.*)\.(\d)(\.in)?", r"\1(\2)", path)
             for path in found("docs/*.[0-9]") | found("docs/*.[0-9].in")}
    return (pages | found("*.md") | found("docs/*.md")
            | found("docs/examples/*") | found("docs/monitoring/*")
            ) - {"README.md"}


def index_has_all_documents():
    rows = table_after(text_of("README.md"), "## Documents", 2)
    named = [name for row in rows for name in
             re.findall(r"\]\(([^)]+)\)|([\w.-]+\(\d\))", row[0])]
    named = [link or page for link, page in named]
    assert len(named) == len(set(named)), named
    wanted = all_documents()
    assert len(wanted) > 20
    assert set(named) == wanted, set(named) ^ wanted


def documents_are_all_checked():
    """Here, for what they say."""
    assert set(DOCUMENTS) - {"README.md"} == \
        {name for name in all_documents() if name.endswith(".md")}


def table_after(text, words, columns):
    """The rows of the first table behind these words, without its head."""
    lines = text.split(words, 1)[1].split("\n|", 1)[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")]
            for line in lines.splitlines()[2:]]
    assert all(len(row) == columns for row in rows), \
        [row for row in rows if len(row) != columns]
    return rows


def glossary_is_in_order():
    """Each word once, by the alphabet, in a line or two, with its source."""
    rows = table_after(text_of("docs/GLOSSARY.md"), "# Glossary", 3)
    words = [row[0].lower() for row in rows]
    assert words == sorted(set(words)), words
    long = [row[0] for row in rows if len(row[1]) > 160]
    assert not long, long


def glossary_has_the_words_that_it_uses():
    """What is in italics has a row; what is a source is a paper of the list, a
    document of the IETF, or this project."""
    text = text_of("docs/GLOSSARY.md")
    rows = table_after(text, "# Glossary", 3)
    words = {word for row in rows for word in re.split(", ", row[0])}
    used = {w for row in rows for w in re.findall(r"\*([^*]+)\*", row[1])}
    assert len(used) > 10
    missing = {w for w in used if not {w, w.removesuffix("s")} & words}
    assert not missing, missing
    papers = [row[0] for row in table_after(text, "## Papers", 2)]
    sources = re.compile("|".join(["here", r"RFC \d+", "Internet-Draft",
                                   *map(re.escape, papers)]))
    bad = [row for row in rows if not sources.match(row[2])]
    assert not bad, bad
    cited = " ".join(row[2] for row in rows)
    assert not [p for p in papers if p not in cited]


def layers(text):
    """The table of HACKING.md: a folder, and what it may include."""
    table = text.split("## Layers")[1].split("\n\n")[1]
    rows = re.findall(r"^\| `([\w/]+)` \| (.*) \|$", table, re.M)
    found = {folder: set(re.findall(r"`([\w/]+)`", others))
             for folder, others in rows}
    return {folder: others - {"core"} | (rules.CORE if "core" in others
                                         else set())
            for folder, others in found.items()}


def layers_are_those_of_lint():
    wanted = {folder: others - {folder}
              for folder, others in rules.LAYERS.items()}
    found = layers(text_of("HACKING.md"))
    assert found == wanted, [f for f in {*found, *wanted}
                             if found.get(f) != wanted.get(f)]


def layers_are_in_their_order():
    """A folder includes only what stands above it."""
    above = set()
    for folder, others in layers(text_of("HACKING.md")).items():
        assert others <= above, (folder, others - above)
        above.add(folder)


def handled(source, prefix):
    """The machine's table: each state, and the events that it handles."""
    rows = re.findall(r"^\t\[NODE_(\w+)\] = \{\n(.*?)\n\t\},",
                      text_of(source), re.S | re.M)
    pairs = {state: set(re.findall(rf"\[NODE_(\w+)\] +=\s+{prefix}", row))
             for state, row in rows}
    assert pairs
    return pairs


def machines_are_in_the_design():
    """Each state of a request and of a fill, with the events that it handles,
    and no other names of states; LEFT stands below the tables."""
    design = text_of("docs/DESIGN.md")
    for name in ("request", "fill"):
        pairs = handled(f"digestd/node/node_{name}.c", f"node_{name}_on_")
        events = set.union(*pairs.values())
        rows = table_after(design, f"\nThe {name}", 3)
        assert {row[0] for row in rows} == set(pairs), name
        for state, _, text in rows:
            words = set(re.findall(r"\b[A-Z_]{2,}\b", text))
            named = words & events | pairs[state] & {"LEFT"}
            assert named == pairs[state], (state, named ^ pairs[state])
            unknown = words - events - set(pairs)
            assert not unknown, (state, unknown)


def states_of_a_peer_are_in_the_manual():
    """The values of health in /status.json, digestd(8)."""
    function = text_of("digestd/mesh/peer_health.c").partition(
        "peer_health_state_text(")[2]
    states = re.findall(r'return "([a-z ]+)"', function)
    assert states[-1:] == ["unknown"] and len(states) > 4, states
    for state in states[:-1]:
        assert f".It Ql {state}\n" in text_of("docs/digestd.8"), state


def digestctl(*args, data=None):
    program = os.path.join(BUILD, "digestd", "ctl", "digestctl")
    return subprocess.run([program, *args], check=True, input=data,
                          stdout=subprocess.PIPE).stdout


def digest_of(folder, numbers, generation):
    path = os.path.join(folder, str(generation))
    urls = "".join(f"http://www.example.com/{n}\n" for n in numbers)
    # 32 bits an object, 3 hash functions: the default
    digestctl("build", "-k", "00" * 16, "-b", "4M", "-H", "3", "-g",
              str(generation), "-o", path, data=urls.encode())
    return path


def digests_cost_what_documents_say():
    """As README.md, DESIGN.md and digestd(8) say of lists, DESIGN.md of arrays
    as well; some 1 % is replaced."""
    for document, words in (
            ("README.md", "about a byte and a half an object"),
            ("README.md", "about four bytes for each"),
            ("docs/DESIGN.md", "about a byte and a half an object"),
            ("docs/DESIGN.md", "array of bits two and seven"),
            ("docs/digestd.8", "about a byte and a half for each")):
        assert words in text_of(document), (document, words)
    count = 1 << 17
    program = os.path.join("tests", "bench", "bench_list")
    subprocess.run(["make", "-s", program], cwd=BUILD, check=True,
                   stdout=subprocess.PIPE)
    said = subprocess.run([os.path.join(BUILD, program), str(count)],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    size = int(re.search(r"^list: +(\d+) bytes", said, re.M)[1]) / count
    change = int(re.search(r"^ +1000 \| +(\d+) ", said, re.M)[1]) / 1000
    assert 1.4 < size < 1.7, size
    assert 3 < change < 4.5, change
    with tempfile.TemporaryDirectory() as folder:
        old = digest_of(folder, range(count), 1)
        new = digest_of(folder, range(count // 100, count + count // 100), 2)
        delta = digestctl("diff", "-F", "smallest", old, new)
        size = os.path.getsize(old) / count
        change = len(delta) / (count // 100)
    assert 1.7 < size < 2.1, size
    assert 6 < change < 8, change


TESTS = (readme_opens_in_forty_lines, index_has_all_documents,
         documents_are_all_checked, links_lead_somewhere,
         documents_are_distributed, folders_are_there,
         files_and_functions_are_there, glossary_is_in_order,
         glossary_has_the_words_that_it_uses, layers_are_those_of_lint,
         layers_are_in_their_order, machines_are_in_the_design,
         states_of_a_peer_are_in_the_manual,
         digests_cost_what_documents_say)


if __name__ == "__main__":
    run(TESTS)
