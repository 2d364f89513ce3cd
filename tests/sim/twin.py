"""A cluster of caching proxies, simulated slowly and obviously.

The second implementation of what cachesim/sim/cluster.h says, for LRU and the
protocols none, icp, htcp and directory: dictionaries, sets and lists, every
request walked through in full. test_twin.py compares its counters with those
of the fast one.
"""

from collections import Counter, OrderedDict

KEEP, SECOND, SINGLE, SINGLE_SEEN, SINGLE_SHARED = range(5)
MASK = (1 << 64) - 1

DEFAULTS = {
    "proxies": 4, "capacity": 0, "objects": 0, "size_limit": 0,
    "placement": KEEP, "tries": 1, "peer_use": 0, "share_ppm": 10000,
    "period_s": 0, "delay_s": 0, "delay_requests": 0, "loss_ppm": 0,
    "epoch": 1, "warmup_ppm": 0, "warmup_s": 0,
    "modify_s": 0, "seed": 1, "protocol": "none",
}

# bytes of a query, a reply, a fetch in vain, around an update
SIZES = {
    "none": (0, 0, 0, 0),
    "icp": (70, 70, 600, 0),
    "htcp": (198, 200, 600, 0),
    "directory": (70, 70, 600, 20),
}
ENTRY_BYTES = 16
LOCAL_US, PEER_US, ORIGIN_US = 1000, 2000, 100000


def mix(x):
    """The last steps of splitmix64."""
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def name_hash(name):
    """FNV-1a of 64 bits."""
    x = 0xcbf29ce484222325
    for byte in name.encode():
        x = (x ^ byte) * 0x100000001b3 & MASK
    return x


class Trace:
    """Columns, as cluster_dump prints them."""

    def __init__(self, text):
        self.sizes, self.requests, self.changes = [], [], {}
        self.hashes, self.passes = [], []
        for line in text.splitlines():
            kind, *rest = line.split()
            numbers = [int(x) for x in rest]
            if kind == "o":
                self.sizes.append(numbers[0])
                self.hashes.append(numbers[1])
            elif kind == "r":
                self.requests.append(tuple(numbers))
            elif kind == "p":
                self.passes.append(tuple(numbers))
            else:
                self.changes[numbers[0]] = numbers[1]


class Cache:
    """LRU by size. An entry has the version that was stored, and its size."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = OrderedDict()
        self.used = 0

    def use(self, key):
        if key in self.entries:
            self.entries.move_to_end(key)

    def drop(self, key):
        _, size = self.entries.pop(key)
        self.used -= size

    def put(self, key, version, size):
        """Returns what was evicted: pairs of key and size."""
        evicted = []
        while self.used + size > self.capacity:
            old, (_, old_size) = self.entries.popitem(last=False)
            self.used -= old_size
            evicted.append((old, old_size))
        self.entries[key] = (version, size)
        self.used += size
        return evicted


class Proxy:
    def __init__(self, number, options):
        each = options["capacity"] // options["proxies"]
        self.number = number
        self.name_hash = name_hash(f"n{number + 1}")
        self.cache = Cache(each)
        self.count = Counter()
        self.before = Counter()
        self.seen = set()        # objects it was asked for
        self.told = set()        # what it published last
        self.fresh = 0           # stored since then
        self.active = False      # something changed in this epoch
        self.sent = 0            # publications
        self.summary = {}        # by peer: what it is known to have
        self.missed = set()      # peers of which a publication was lost
        # what others see of it, as the epoch began
        self.shown = {}          # object: version
        self.shown_seen = set()
        period = options["period_s"]
        self.next_s = period * (number + 1) // options["proxies"]


class Cluster:
    def __init__(self, trace, options):
        self.trace = trace
        self.o = {**DEFAULTS, **options}
        self.proxies = [Proxy(i, self.o) for i in range(self.o["proxies"])]
        for p in self.proxies:
            p.summary = {q.number: set() for q in self.proxies if q is not p}
        self.version = [0] * len(trace.sizes)
        self.size = list(trace.sizes)
        self.used_at_peers = []
        self.under_way = []      # publications: (request, time, ...)
        self.now_s = 0
        self.clock = 0           # of the latest request
        self.last = {}           # by object: the clock at its last request
        (self.query_bytes, self.reply_bytes, self.fetch_bytes,
         self.update_bytes) = SIZES[self.o["protocol"]]

    def run(self):
        warm = len(self.trace.requests) * self.o["warmup_ppm"] // 1000000
        late = [at for at, (_, time, _) in enumerate(self.trace.requests)
                if time >= self.o["warmup_s"]]
        warm = max(warm, late[0])
        for at, (key, time, client) in enumerate(self.trace.requests):
            if at % self.o["epoch"] == 0:
                self.between_epochs(at, time)
            if at == warm:
                for p in self.proxies:
                    p.before = p.count.copy()
            self.clock = max(self.clock, time)
            if at in self.trace.changes:
                self.version[key] += 1
                self.size[key] = self.trace.changes[at]
            elif self.is_modified(key):
                self.version[key] += 1
            self.last[key] = self.clock
            self.request(self.proxies[client % len(self.proxies)], key)
        for before, size, client in self.trace.passes:
            if not warm or before > warm:
                self.pass_on(self.proxies[client % len(self.proxies)], size)
        return self.result()

    def pass_on(self, p, size):
        """A request that no cache has any part in."""
        for name in "requests", "origin", "uncacheable":
            p.count[name] += 1
        for name in "bytes", "origin_bytes", "uncacheable_bytes":
            p.count[name] += size
        p.count["latency_us"] += LOCAL_US + ORIGIN_US

    def is_modified(self, key):
        """Whether its moment of an interval came since its last request."""
        every = self.o["modify_s"]
        if not every or key not in self.last:
            return False
        moment = (-mix(self.trace.hashes[key])) % every
        return any(s % every == moment
                   for s in range(self.last[key] + 1, self.clock + 1))

    # A request

    def request(self, p, key):
        size = self.size[key]
        p.count["requests"] += 1
        p.count["bytes"] += size
        p.count["latency_us"] += LOCAL_US
        if key in p.cache.entries:
            if p.cache.entries[key][0] == self.version[key]:
                p.count["local_hits"] += 1
                p.count["local_bytes"] += size
                p.cache.use(key)
                return
            p.count["local_stale"] += 1
            p.cache.drop(key)
            p.active = True
        remote = self.ask_peers(p, key)
        if remote:
            p.count["remote_hits"] += 1
            p.count["remote_bytes"] += size
        else:
            p.count["origin"] += 1
            p.count["origin_bytes"] += size
            p.count["latency_us"] += ORIGIN_US
        self.place(p, key, remote)

    def peers_of(self, p, key):
        """In the order in which they are asked: by rendezvous hashing."""
        return sorted((q for q in self.proxies if q is not p), reverse=True,
                      key=lambda q: mix(self.trace.hashes[key] ^ q.name_hash))

    def has_present(self, peer, key):
        return peer.shown.get(key) == self.version[key]

    def ask_peers(self, p, key):
        protocol = self.o["protocol"]
        peers = self.peers_of(p, key)
        if protocol == "none":
            return False
        if protocol in ("icp", "htcp"):
            candidates = peers
        else:
            candidates = [q for q in peers if key in p.summary[q.number]]
            p.count["candidates"] += len(candidates)
            p.count["false_candidates"] += sum(
                key not in q.shown for q in candidates)
        if candidates:
            p.count["queries"] += len(candidates)
            p.count["replies"] += len(candidates)
            p.count["latency_us"] += PEER_US
        got_old = False
        tries = 0
        for q in candidates:
            if key not in q.shown:
                continue
            if self.o["tries"] and tries == self.o["tries"]:
                break
            tries += 1
            p.count["latency_us"] += PEER_US
            if self.has_present(q, key):
                if self.o["peer_use"] or self.o["placement"] >= SINGLE:
                    self.used_at_peers.append((q, key))
                return True
            p.count["fetches"] += 1
            got_old = True
        if got_old:
            p.count["remote_stale"] += 1
        elif candidates and protocol == "directory":
            p.count["false_hits"] += 1
        others = [q for q in peers if q not in candidates]
        if any(self.has_present(q, key) for q in others):
            p.count["false_misses"] += 1
        if any(self.has_present(q, key) for q in candidates):
            p.count["untried"] += 1
        return False

    def place(self, p, key, remote):
        asked = key in p.seen
        asked_anywhere = asked or any(
            key in q.shown_seen for q in self.proxies if q is not p)
        if not asked:
            p.seen.add(key)
            p.active = True
        keep = {
            KEEP: True,
            SECOND: not remote or asked,
            SINGLE: not remote,
            SINGLE_SEEN: not remote and asked,
            SINGLE_SHARED: not remote and asked_anywhere,
        }[self.o["placement"]]
        if keep:
            self.store(p, key)
        elif not remote:
            p.count["refused"] += 1

    def store(self, p, key):
        size = 1 if self.o["objects"] else self.size[key]
        limit = self.o["size_limit"]
        if limit and self.size[key] > limit or size > p.cache.capacity:
            p.count["refused"] += 1
            return
        for _, old_size in p.cache.put(key, self.version[key], size):
            p.count["evicted"] += 1
            p.count["evicted_bytes"] += old_size
        p.count["writes"] += 1
        p.count["write_bytes"] += size
        p.fresh += 1
        p.active = True

    # Between two epochs

    def between_epochs(self, at, time):
        for peer, key in self.used_at_peers:
            peer.cache.use(key)
        self.used_at_peers = []
        for p in self.proxies:
            if p.active:
                p.shown = {k: v for k, (v, _) in p.cache.entries.items()}
                p.shown_seen = set(p.seen)
        self.now_s = max(self.now_s, time)
        if self.o["protocol"] == "directory":
            self.publish_by_time(at)
            self.publish_by_share(at)
            self.arrive(at)
        for p in self.proxies:
            p.active = False

    def publish_by_time(self, at):
        period = self.o["period_s"]
        for p in self.proxies:
            if period and self.now_s >= p.next_s:
                while p.next_s <= self.now_s:
                    p.next_s += period
                self.publish(p, at)

    def publish_by_share(self, at):
        share = self.o["share_ppm"]
        for p in self.proxies:
            if not p.active:
                continue
            held = len(p.cache.entries)
            reached = share and p.fresh and p.fresh * 1000000 >= share * held
            if reached or not share and not self.o["period_s"]:
                self.publish(p, at)

    def publish(self, p, at):
        now = set(p.cache.entries)
        changes = len(now ^ p.told)
        p.told = now
        p.fresh = 0
        if not changes:
            return
        receivers = len(self.proxies) - 1
        delta, full = changes * ENTRY_BYTES, len(now) * ENTRY_BYTES
        p.count["published"] += 1
        p.count["changes"] += changes
        p.count["updates"] += receivers
        p.count["update_bytes"] += receivers * (delta + self.update_bytes)
        p.count["full_raw"] += full
        p.count["delta_raw"] += delta
        self.under_way.append((at + self.o["delay_requests"],
                               self.now_s + self.o["delay_s"],
                               p, p.sent, now))
        p.sent += 1

    def arrive(self, at):
        while self.under_way:
            request, time, p, number, told = self.under_way[0]
            if request > at or time > self.now_s:
                return
            del self.under_way[0]
            for q in self.proxies:
                if q is not p:
                    self.arrive_at(q, p, number, told)

    def arrive_at(self, q, p, number, told):
        way = p.number << 32 | q.number
        drawn = mix((mix(self.o["seed"] ^ way) + number) & MASK)
        if (drawn >> 32) * 1000000 >> 32 < self.o["loss_ppm"]:
            p.count["lost"] += 1
            q.missed.add(p.number)
            return
        if p.number in q.missed:
            q.missed.remove(p.number)
            q.count["resyncs"] += 1
            q.count["resync_bytes"] += (len(told) * ENTRY_BYTES
                                        + self.update_bytes)
        q.summary[p.number] = told

    # The counters

    def result(self):
        found = {}
        held_before = set()
        for p in self.proxies:
            count = p.count.copy()
            count.subtract(p.before)
            count["query_bytes"] = count["queries"] * self.query_bytes
            count["reply_bytes"] = count["replies"] * self.reply_bytes
            count["fetch_bytes"] = count["fetches"] * self.fetch_bytes
            count["held"] = len(p.cache.entries)
            count["held_bytes"] = p.cache.used
            for key in p.cache.entries:
                if key in held_before:
                    count["duplicates"] += 1
                    count["duplicate_bytes"] += (
                        1 if self.o["objects"] else self.size[key])
            held_before |= set(p.cache.entries)
            count["own_memory"] = len(p.told) * ENTRY_BYTES
            count["peer_memory"] = sum(
                len(q.told) * ENTRY_BYTES
                for q in self.proxies if q is not p)
            found[str(p.number)] = count
        found["sum"] = sum(found.values(), Counter())
        return found
