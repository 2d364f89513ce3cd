"""What a cluster is put through: an event is a trace, an origin, and steps. A
step is some requests of the trace and what happens before them.
"""

import collections
import contextlib
import csv
import dataclasses
import json
import os
import subprocess

import cluster

CACHESIM = os.path.join(cluster.BUILD, "cachesim", "cachesim")
BEGIN = 10 ** 9  # the first request's time: a second a request, see write()
HOT_BYTES = 10000
CROWD_BYTES = 20000
CROWD_CLIENTS = 8  # a node


@dataclasses.dataclass
class Step:
    requests: list  # (time, client, url, size)
    before: callable = None  # of the system
    counts: bool = True  # or it only prepares
    timed: bool = True  # its latencies count, too


@dataclasses.dataclass(frozen=True)
class Event:
    name: str
    text: str
    steps: callable  # of the load and the number of nodes
    origin_delay_ms: int = None  # if not the load's
    load: tuple = ()  # options of scd-replay, beside those of the load
    rate: float = None  # seconds of the trace a second, if not the load's
    clients: int = 0  # a node; at once, if more than the load's


@dataclasses.dataclass
class Load:
    """What the command line says."""

    requests: list
    rate: float = 0
    concurrency: int = 64
    partition: str = "client"
    hot: int = 0  # requests
    crowds: int = 0
    origin_delay_ms: int = 0


def read_trace(trace, limit):
    """[(client, url, size)]: an object has its largest size all the time."""
    done = subprocess.run(
        [CACHESIM, "convert", "-q", "-T", "csv", "-o", "-", trace,
         *(["-n", str(limit)] if limit else [])],
        stdout=subprocess.PIPE, check=True, text=True)
    rows = [(row.get("client") or "c", row["url"], int(row.get("size") or 1))
            for row in csv.DictReader(done.stdout.splitlines())]
    sizes = {}
    for _, url, size in rows:
        sizes[url] = max(sizes.get(url, 1), size)
    return [(client, url, sizes[url]) for client, url, _ in rows]


def write(path, requests):
    with open(path, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(("time", "client", "url", "size"))
        out.writerows(requests)


def timed(requests):
    """A request a second of the trace, so that its speed is a rate."""
    return [(BEGIN + i, *r) for i, r in enumerate(requests)]


def halves(load):
    middle = len(load.requests) // 2
    requests = timed(load.requests)
    return requests[:middle], requests[middle:]


def steps_of_trace(load, _):
    first, second = halves(load)
    return [Step(first, timed=False), Step(second)]


def steps_of_loss(load, nodes):
    first, second = halves(load)
    return [Step(first, counts=False),
            Step(second, lambda system: system.lose(nodes - 1))]


def steps_of_restart(load, nodes):
    """Each node in turn ends as it is told to, is away for a quarter of its
    part of the second half, and comes back."""
    first, second = halves(load)
    steps = [Step(first, counts=False)]
    each = len(second) / nodes
    for i in range(nodes):
        part = second[int(i * each):int((i + 1) * each)]
        away = len(part) // 4
        steps += [
            Step(part[:away], lambda system, i=i: system.lose(i, kill=False)),
            Step(part[away:], lambda system, i=i: system.bring_back(i))]
    return steps


def steps_of_hot(load, nodes):
    """One object, which all nodes are asked for by turns."""
    def asked(first, n):
        return [(BEGIN + first + i, f"c{i}", "http://www.example.com/hot",
                 HOT_BYTES) for i in range(n)]
    warm = 32 * nodes
    return [Step(asked(0, 1), counts=False), Step(asked(1, warm),
                                                  counts=False),
            Step(asked(warm + 1, load.hot))]


def steps_of_flash(load, nodes):
    """New objects, one after the other, a second of the trace each: all of its
    requests come at once, at all nodes."""
    requests = [(BEGIN + crowd, f"c{i}",
                 f"http://www.example.com/new{crowd}", CROWD_BYTES)
                for crowd in range(load.crowds)
                for i in range(CROWD_CLIENTS * nodes)]
    return [Step(requests)]


ORIGIN_DELAY_MS, CROWD_S = 100, .5
STEP_S = 3600  # for any step
ROUND_ROBIN = ("--partition", "round-robin")

EVENTS = (
    Event("trace", "the whole trace, from empty caches on; latencies of its "
          "second half", steps_of_trace),
    Event("loss", "its second half; a node was killed before it, and stays "
          "away", steps_of_loss),
    Event("restart", "its second half, in which each node is restarted once",
          steps_of_restart),
    Event("hot", "one object, as fast as 64 clients get it", steps_of_hot,
          load=ROUND_ROBIN, rate=0),
    Event("flash", f"new objects, each asked for by {CROWD_CLIENTS} clients a "
          f"node at once, from an origin that takes {ORIGIN_DELAY_MS} ms",
          steps_of_flash, clients=CROWD_CLIENTS,
          origin_delay_ms=ORIGIN_DELAY_MS, load=ROUND_ROBIN,
          rate=1 / CROWD_S),
)


class Origin:
    """scd-origin in a folder, with what the steps ask for."""

    def __init__(self, folder, delay_ms, steps):
        self.holder = cluster.Cluster(0)
        path = os.path.join(folder, "origin.csv")
        write(path, [r for step in steps for r in step.requests])
        self.holder.start_origin("--trace", path, "--delay-ms", str(delay_ms))
        self.port = self.holder.origin_port

    def stats(self):
        return self.holder.origin_stats()

    def end(self):
        self.holder.stop()
        self.holder.remove()


def replay(system, folder, event, load, requests):
    """What scd-replay reports of these requests."""
    path = os.path.join(folder, "step.csv")
    write(path, requests)
    rate = load.rate if event.rate is None else event.rate
    clients = max(load.concurrency, event.clients * system.plan.nodes)
    args = ["--partition", load.partition, *event.load, "--concurrency",
            str(clients)]
    if rate:
        args += ["--speed", str(rate)]
    for port in system.doors():
        args += ["--node", f"http://127.0.0.1:{port}"]
    done = subprocess.run(
        [cluster.REPLAY, "--json", "--quiet", *args, path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        timeout=STEP_S)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise RuntimeError("scd-replay: " + done.stderr.decode(
            errors="replace")) from None


KINDS = ("local", "remote", "collapsed", "origin", "unknown")


SUMS = ("requests", "errors", "bytes", "verified", "fetches", "fetched_bytes",
        "between", "seconds", "planned_s")


class Seen:
    """What a step came to, or the steps of a run in sum."""

    def __init__(self):
        for name in SUMS:
            setattr(self, name, 0)
        self.failures = collections.Counter()  # by kind of error
        self.kinds = collections.Counter()  # by where answers came from
        self.cpu = collections.Counter()  # seconds, by process
        self.p50_ms = self.p99_ms = 0  # of the slowest step
        self.last_hit_ratio = None  # of the last step
        self.errors_before = 0  # of steps that do not count

    @property
    def hit_ratio(self):
        """An answer that is wrong or missing is no hit."""
        return 1 - (self.fetches + self.errors) / self.requests

    def add_replay(self, report, rate, timed):
        total = report["total"]
        failures = dict(total["errors"])
        self.errors += failures.pop("total")
        self.failures.update(failures)
        self.requests += total["requests"]
        self.bytes += total["bytes"]
        self.verified += total["verified"]
        self.seconds += report["seconds"]
        self.planned_s += total["requests"] / rate if rate else 0
        self.kinds.update({kind: total[kind] for kind in KINDS})
        if timed:
            self.p50_ms = total["latency_ms"]["p50"]
            self.p99_ms = total["latency_ms"]["p99"]

    def add_origin(self, before, after):
        self.fetches += after["requests"] - before["requests"]
        self.fetched_bytes += after["bytes"] - before["bytes"]

    def add_between(self, before, after):
        self.between += after["between"] - before["between"]

    def add_cpu(self, before, after):
        self.cpu.update({name: seconds - before[name]
                         for name, seconds in after.items()})

    def add(self, step):
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(step, name))
        for name in ("failures", "kinds", "cpu"):
            getattr(self, name).update(getattr(step, name))
        self.p50_ms = max(self.p50_ms, step.p50_ms)
        self.p99_ms = max(self.p99_ms, step.p99_ms)
        self.last_hit_ratio = step.hit_ratio


def take_step(system, origin, folder, event, load, step, seen):
    if step.before:
        step.before(system)
    asked, nodes, cpu = origin.stats(), system.node_counts(), system.cpu()
    report = replay(system, folder, event, load, step.requests)
    if not step.counts:
        seen.errors_before += report["total"]["errors"]["total"]
        return
    part = Seen()
    part.add_cpu(cpu, system.cpu())
    part.add_replay(report, load.rate if event.rate is None else 0, step.timed)
    part.add_origin(asked, origin.stats())
    if nodes is not None:
        part.add_between(nodes, system.node_counts())
    seen.add(part)


def unexplained(mine, served):
    """By how many fetches, and bytes, the nodes' counts differ from the
    origin's. A fetch beside a peer that then answers is given up: the origin
    may never hear of it, or may have sent more than the node has read."""
    unheard = mine["fetches"] - served["requests"]
    unread = served["bytes"] - mine["bytes"]
    return (max(-unheard, unheard - mine["given_up"], 0),
            0 if unread > 0 and mine["given_up"] else abs(unread))


def unaccounted(system, origin):
    """Killed nodes are counted up to their end."""
    mine = system.node_counts()
    return unexplained(mine, origin.stats()) if mine is not None else (0, 0)


def run(make, plan_of, folder, event, load, nodes):
    """One system through one event, from its start to its end."""
    steps = event.steps(load, nodes)
    seen = Seen()
    with contextlib.ExitStack() as ends:
        origin = Origin(folder, load.origin_delay_ms
                        if event.origin_delay_ms is None
                        else event.origin_delay_ms, steps)
        ends.callback(origin.end)
        system = make(plan_of(origin.port), folder)
        ends.callback(system.end)
        for step in steps:
            take_step(system, origin, folder, event, load, step, seen)
        if system.front:
            seen.between += seen.bytes
        seen.unaccounted = unaccounted(system, origin)
    return seen
