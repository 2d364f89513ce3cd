"""A real browser, Chromium without a window, driven over its own protocol by
a pair of pipes: https://chromedevtools.github.io/devtools-protocol/"""

import base64
import json
import os
import select
import shutil
import subprocess
import time


def program():
    """None: there is no browser here."""
    return shutil.which("chromium")


class Browser:
    def __init__(self, folder):
        read, theirs_out = os.pipe()
        theirs_in, write = os.pipe()
        self.read, self.write = read, write
        self.number, self.rest, self.events = 0, b"", []

        def place():
            for fd, to in ((os.dup(theirs_in), 3), (os.dup(theirs_out), 4)):
                os.dup2(fd, to)
        self.log = open(os.path.join(folder, "browser.log"), "wb")
        self.popen = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars",
             "--disable-component-update", "--disable-background-networking",
             "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
             "about:blank"], close_fds=False, preexec_fn=place,
            stdout=self.log, stderr=self.log)
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.call("Target.getTargets")["targetInfos"]
        target = next(t for t in target if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=target["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def receive(self, seconds):
        """The next message; None: there is none within that time."""
        until = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if not select.select([self.read], [], [], max(0, left))[0]:
                return None
            more = os.read(self.read, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(30)
            assert answer, f"{method}: no answer"
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.events.append(answer)

    def wait(self, seconds):
        """Collects what happens meanwhile."""
        until = time.monotonic() + seconds
        while until > time.monotonic():
            event = self.receive(until - time.monotonic())
            if event:
                self.events.append(event)

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def ask(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png",
                         captureBeyondViewport=False)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def requests(self):
        """URLs that the page has asked for, or wanted to."""
        return [e["params"]["request"]["url"] for e in self.events
                if e["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """Exceptions, and what the log of the page says of errors."""
        return [e["params"] for e in self.events
                if e["method"] == "Runtime.exceptionThrown" or
                e["method"] == "Log.entryAdded" and
                e["params"]["entry"]["level"] == "error"]

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        finally:
            os.close(self.write)
            os.close(self.read)
            try:
                self.popen.wait(10)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
            self.log.close()
