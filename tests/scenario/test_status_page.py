"""The status page in a real browser: a cluster under load, as one of its nodes
shows it, on a desk and on a phone. SCREENSHOTS=FOLDER keeps the pictures."""

import contextlib
import os
import re
import threading

import pytest

import servers
from browser import Browser, program
from cluster import free_port, request, until

# What browsers may load: nothing but what is in the page, and the status.
POLICY = ("default-src 'none'; connect-src 'self'; style-src 'nonce-{0}'; "
          "script-src 'nonce-{0}'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'")


def test_is_whole_by_itself(node):
    """No address but of this node, and no element without the nonce."""
    first, second = (request(node.admin, path) for path in ("/", "/status"))
    text = first.body.decode()
    nonce = re.search("script-src 'nonce-([0-9a-f]{32})'",
                      first.get("Content-Security-Policy"))[1]
    assert first.get("Content-Security-Policy") == POLICY.format(nonce)
    assert first.get("Content-Type") == "text/html; charset=utf-8"
    assert first.get("Cache-Control") == "no-store"
    assert nonce not in second.body.decode()  # each answer has another one
    assert re.sub("nonce=\"[0-9a-f]+\"", "", text) == \
        re.sub("nonce=\"[0-9a-f]+\"", "", second.body.decode())
    assert text.count(f'nonce="{nonce}"') == 2 and "@" not in \
        re.sub("@media", "", text)
    assert re.findall("<(?:script|style|link|img|iframe)[^>]*>", text) == [
        f'<style nonce="{nonce}">', f'<script nonce="{nonce}">']
    assert not re.search(r"\bon\w+=|style=|src=|url\(|@import|javascript:",
                         text)
    assert set(re.findall(r'https?://[^"\s]+', text)) <= {
        "http://www.w3.org/2000/svg"}


@contextlib.contextmanager
def load(nodes):
    """Some hits, misses and errors, until the end."""
    over = threading.Event()

    def ask(node, first):
        i = first
        while not over.wait(0.004):
            i += 1
            page = f"/p{i % 60}" if i % 5 else f"/rare{i}"
            with contextlib.suppress(OSError):
                node.get(page if i % 31 else "/private")
            if i % 97 == 0 and node is nodes[0]:  # peers know no such origin
                with contextlib.suppress(OSError):
                    node.get("/", host="gone.example")
    threads = [threading.Thread(target=ask, args=(n, 1000 * i))
               for i, n in enumerate(nodes)]
    for t in threads:
        t.start()
    try:
        yield
    finally:
        over.set()
        for t in threads:
            t.join()


def busy_cluster(make_cluster, serve, tmp_path):
    def answer(r, _connection):
        control = "private" if r.target == "/private" else "max-age=600"
        return servers.response(200, {"Cache-Control": control},
                                b"x" * 20000)
    nobody = free_port()
    c = make_cluster(3)
    c.origin_url = serve(answer).url
    c.nodes[0].options.update(disk_path=tmp_path / "disk", disk_size="64M")
    c.nodes[0].lines = [
        f'origin "gone.example" {{ url = "http://127.0.0.1:{nobody}" }}',
        'peer "that-is-down" { location = "elsewhere" '
        f'url = "http://127.0.0.1:{free_port()}" }}']
    c.nodes[0].options["location"] = "here"
    c.start()
    c.wait_settled()
    return c


def cells(browser, table):
    return browser.ask(
        f"[...document.querySelectorAll('#{table} tr')].map("
        "r => [...r.cells].map(c => c.textContent.trim()))")


SIZES = ((1280, 800, False), (390, 844, False), (1280, 800, True))


def look(browser, folder):
    """At each size: nothing beyond the window's width, and pictures."""
    for width, height, dark in SIZES:
        browser.size(width, height, dark)
        browser.wait(0.3)
        assert browser.ask("document.documentElement.scrollWidth <= "
                           "innerWidth"), (width, height)
        assert browser.ask("innerWidth") == width
        wide = browser.ask(
            "[...document.querySelectorAll('.scroll')].filter(e => "
            "e.scrollWidth > e.clientWidth).map(e => e.textContent)")
        assert not wide, (width, wide)
        name = f"status-{width}x{height}{'-dark' if dark else ''}.png"
        browser.picture(os.path.join(folder, name))
        assert os.path.getsize(os.path.join(folder, name)) > 10000


def check_figures(browser):
    tiles = browser.ask("[...document.querySelectorAll('.tile p')].map("
                        "p => p.textContent)")
    assert len(tiles) == 6 and "–" not in "".join(tiles), tiles
    peers = cells(browser, "peers")
    assert sorted(p[:2] for p in peers) == [
        ["n2", "good"], ["n3", "good"],
        ["that-is-down elsewhere", "unreachable"]], peers
    assert browser.ask("document.getElementById('states').textContent") == \
        "2 good, 1 unreachable"
    sources = {row[0]: row[3] for row in cells(browser, "sources")}
    assert sources["memory"] not in ("0", "–"), sources
    assert sources["an origin"] not in ("0", "–"), sources
    origins = cells(browser, "origins")
    assert {o[5] for o in origins} >= {"0"} and len(origins) == 2, origins
    assert "private" in [r[0] for r in cells(browser, "reasons")]
    # peers may have been too, before all had started
    trouble = [t for t in cells(browser, "trouble-rows")
               if "refused" in t[1] and "origin" in "".join(t)][0]
    assert "it refuses connections" in trouble[1] and "start it" in trouble[2]
    assert browser.ask("document.getElementById('alert').hidden")
    assert browser.ask("document.querySelectorAll('#tiles path.line').length"
                       ) == 6


def test_shows_a_cluster(make_cluster, serve, tmp_path):
    if not program():
        pytest.skip("Chromium is not installed: nobody has looked at the "
                    "status page")
    c = busy_cluster(make_cluster, serve, tmp_path)
    here = f"http://127.0.0.1:{c.nodes[0].admin}"
    browser = Browser(str(tmp_path))
    try:
        with load(c.nodes):
            browser.size(1280, 800)
            browser.open(here + "/")
            browser.wait(float(os.environ.get("SECONDS_OF_PAGE", 6)))
            check_figures(browser)
            look(browser, os.environ.get("SCREENSHOTS", str(tmp_path)))
        assert len(browser.requests()) > 5
        assert all(url.startswith(here + "/") for url in browser.requests()
                   if not url.startswith("about:")), browser.requests()
        assert not browser.complaints(), browser.complaints()
        c.nodes[0].process.end()
        until(lambda: browser.wait(0.2) or not browser.ask(
            "document.getElementById('alert').hidden"), what="an alert")
    finally:
        browser.close()
