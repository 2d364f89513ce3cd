#!/usr/bin/env python3
"""Plants faults of the kind that programs like this have had, one at a time,
and has worlds find them: a test that never fails tests nothing.

Each fault is a piece of text in a source that another takes the place of. The
changed source is compiled beside the build, linked into a world of its own and
run, seed after seed, until a world fails, or until the time is up. Each run
looks for the pieces of all faults in their files: one that is not there any
more is an error, as the fault has to be planted anew.

    planted.py [NAME ...]

prints TAP. A few take part in each run; all with SCD_TEST_LONG or by name.
"""

import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile

SECONDS = 60  # of a core, within which a fault must be found
SHORT = {"cookie-shared", "waiters-hang"}

# name: file, what stands there, what takes its place, and more such pairs
FAULTS = {
    "purged-fill-joined": (
        "digestd/proxy/collapse.c",
        "other && collapse_is_purged(other, miss)", "0"),
    "purge-stamp-ignored": (
        "digestd/cache/cache_purge.c",
        "cache_purge_newest(cache, fill->key, c).added >", "0 >"),
    "renewal-undoes-purge": (
        "digestd/proxy/fill_store.c",
        "f->stale_since, f->stale }", "f->purges, NULL }"),
    "purge-forgets": (
        "digestd/cache/cache_purge.c",
        "n = store_remove_key(shard->main.store, key);", "n = 1;"),
    "purge-undone-by-restart": (
        "digestd/cache/cache_disk.c",
        """	else
		disk_remove(cache->disk, e);""", """	else
		disk_entry_free(e);"""),
    "purge-acknowledged-early": (
        "digestd/peers/purge.c",
        "if (!cache_sync(p->purger->cache, &p->sync))", "if (1)"),
    "purge-acknowledged-untold": (
        "digestd/peers/teller.c",
        "p->told >= w->seq && teller_is_sure(p, now_ms)", "1"),
    "streamed-purge-acknowledged-as-sent": (
        "digestd/peers/teller_stream.c",
        "	p->ticket = ++t->tickets;", """	t->tickets++;
	p->told = p->telling;
	p->sure_ms = p->sent_ms;"""),
    "streamed-purge-acknowledged-unapplied": (
        "digestd/peers/teller_stream.c",
        "	h = teller_hearing_new(t, note);",
        """	h = teller_hearing_new(t, note);
	char *text = invalidation_api_answer(&t->by, 0);
	teller_hearing_answer(h, text);
	free(text);
	heard_free(&h->heard);
	teller_hearing_free(h);
	h = NULL;"""),
    "strict-serves-without-a-lease": (
        "digestd/proxy/request.c",
        "r->serves = from_peer || serving_desk_may_serve(w->shared.serving);",
        "r->serves = true;"),
    "strict-fence-is-open": (
        "digestd/peers/teller_fence.c",
        "	case SERVING_FENCE_OPEN:\n		return false;",
        "	case SERVING_FENCE_OPEN:\n		return true;"),
    "strict-grants-end-early": (
        "digestd/mesh/serving_lease.c",
        "now_ms + SERVING_TERM_MS + SERVING_TERM_MS / SERVING_DRIFT + 1;",
        "now_ms + SERVING_TERM_MS / 2;"),
    "strict-renewal-unapplied": (
        "digestd/peers/renewer.c",
        "	else if (!m.nsections) {", "	else if (1) {"),
    "h2-body-not-woken": (
        "digestd/server/h2_reply.c",
        "(void)nghttp2_session_resume_data(c->h2->session, fx->h2.id);", ";"),
    "h2-upload-not-resumed": (
        "digestd/server/h2_reply.c",
        "c->h2->resumed = c->h2->stirred = true;",
        "c->h2->stirred = true;"),
    "h2-broken-body-ends-whole": (
        "digestd/server/h2_output.c",
        "	if (!n && stream->failed)\n", "	if (0)\n",
        "	if (stream->ended && !stream->failed) {",
        "	if (stream->ended) {"),
    "peer-does-not-look-at-needs": (
        "digestd/proxy/request_purge.c",
        "!cache_has_applied(cache, &position))", "0)"),
    "sector-begins-late": (
        "digestd/mesh/sector.c",
        "return (all * s->number + s->count - 1) / s->count;",
        "return (all * s->number + all / 64) / s->count;"),
    "copy-of-a-copy": (
        "digestd/proxy/request_node.c",
        "!r->node.from_peer || !c->unvouched ||", "1 ||"),
    "copy-published": (
        "digestd/cache/cache.c",
        "return !((const struct cached *)entry)->unvouched;", "return 1;"),
    "post-does-not-invalidate": (
        "digestd/node/node_keep.c",
        "if (c->unsafe && c->status < 400)", "if (c->status < 100)"),
    "unsafe-repeated": (
        "digestd/node/node_retry.c",
        "!r->sent || (r->safe && !r->body)", "!r->body"),
    "vary-ignored-in-joining": (
        "digestd/node/node_request.c",
        "vary_match(selecting, request) &&", ""),
    "vary-ignored-in-the-store": (
        "digestd/http/vary.c",
        "if (!vary_same(fields_at(selecting, i), request))", "if (0)"),
    "private-stored": (
        "digestd/http/storable.c", "if (cc->private)", "if (0)"),
    "no-store-stored": (
        "digestd/http/storable.c",
        "if (asked.no_store || (cc->no_store && !cc->must_understand))",
        "if (0)"),
    "cookie-shared": (
        "digestd/part_settings.c",
        "setcookie_read(c->set_cookie, &out->set_cookie)",
        'setcookie_read("allow", &out->set_cookie)'),
    "always-fresh": (
        "digestd/http/freshness.c", "if (left_s > 0)\n\t\treturn REUSE_FRESH",
        "if (left_s > -100)\n\t\treturn REUSE_FRESH"),
    "clock-back-makes-fresh": (
        "digestd/proxy/request_node.c",
        ".now_s = worker_now_s(r->worker) };\n\n\tr->found_as",
        ".now_s = worker_wall_s(r->worker) };\n\n\tr->found_as"),
    "no-cache-ignored": (
        "digestd/http/freshness.c",
        "if (f->always_validate || request->no_cache ||",
        "if (f->always_validate ||"),
    "slices-of-two-versions": (
        "digestd/http/slices.c", "if (!is || strcmp(is, validator))", "if (0)"),
    "slices-outlive-their-head": (
        "digestd/proxy/fill_cut.c", "return key.lo;", "return 1;"),
    "slice-not-whole": (
        "digestd/proxy/fill_cut.c",
        "cut->skip = cut->part.first - part.first;", "cut->skip = 0;"),
    "truncated-body-served": (
        "digestd/proxy/fill_node.c",
        "if (done->result != FETCH_COMPLETE) {",
        "if (done->result != FETCH_COMPLETE &&\n"
        "\t    done->result != FETCH_TRUNCATED) {"),
    "waiters-hang": (
        "digestd/proxy/collapse.c",
        "		loop_post(r->loop, &r->call);",
        "		if (!c->readers)\n\t\t\tloop_post(r->loop, &r->call);"),
    "fetch-never-resumed": (
        "digestd/proxy/fill_node.c", "fetch_resume(d->f->fetch);", ";"),
    "rejoin-uncompared": (
        "digestd/proxy/fill_node.c",
        "!memcmp(f->body.data + node->rejoined, data, n);", "true;"),
    "repeated-twice": (
        "digestd/node/node_fill.c", "	f->skip = n;\n", ""),
    "upload-cut-short": (
        "digestd/proxy/request_upload.c",
        "return r->upload_ended ? FETCH_EOF : FETCH_MORE;",
        "return FETCH_EOF;"),
    "buffer-not-moved": (
        "digestd/proxy/buffer.c", "b->len -= b->taken;", ""),
    "range-one-short": (
        "digestd/http/range.c",
        "part->len = (last < len ? last + 1 : len) - first;",
        "part->len = (last < len ? last : len) - first;"),
    "range-from-the-start": (
        "digestd/proxy/reply.c", "bytes ? bytes + part->first : NULL,",
        "bytes,"),
    "any-tag-matches": (
        "digestd/http/conditional.c",
        "return !conditional_none_match(request, stored);", "return true;"),
    "any-304-confirms": (
        "digestd/http/conditional.c",
        """	for (size_t i = 0; i < NPRECONDITIONS; i++)
		fields_remove(request, preconditions[i]);
	if (tag""",
        """	if (tag"""),
    "peers-ask-the-origin": (
        "digestd/proxy/request.c", "request_start(w, x, true);",
        "request_start(w, x, false);"),
    "head-is-stored": (
        "digestd/proxy/fill_store.c",
        ".get = f->q->cacheable && f->q->get,",
        ".get = f->q->cacheable,"),
    "variant-of-another": (
        "digestd/proxy/fill_store.c",
        "err = vary_select(&f->in, &f->response, &f->selecting);",
        "err = 0; fields_init(&f->selecting);"),
    "eviction-untold": (
        "digestd/cache/cache_catalog.c",
        "catalog_remove(cache->catalog, &change->key);",
        "change->key.lo % 8 ? catalog_remove(cache->catalog, &change->key) :\n"
        "			     (void)0;"),
    "probation-told-twice": (
        "digestd/cache/cache_catalog.c",
        "(t != &c->ram && cache_catalog_has_key(&c->ram, key)) ||", ""),
    "digest-lags-behind": (
        "digestd/mesh/catalog.c",
        """	scd_counting_add(c->filter, key);
	if""", """	if (key->lo % 64)
		scd_counting_add(c->filter, key);
	if"""),
    "delta-not-applied": (
        "digestd/mesh/peer_digest.c",
        "	return scd_delta_apply(in->at, in->len, in->limits, &base, "
        "info, bloom);",
        """	int err = scd_delta_apply(in->at, in->len, in->limits, &base,
				  info, bloom);

	if (err)
		return err;
	scd_bloom_free(bloom);
	return scd_bloom_copy(base.bloom, bloom);"""),
    "breaker-stays-open": (
        "digestd/mesh/peer_health.c",
        """	case HEALTH_BROKEN:
		h->state = HEALTH_HALF_OPEN;
		return true;""", """	case HEALTH_BROKEN:
		return false;"""),
    "breaker-never-opens": (
        "digestd/mesh/peer_health.c",
        "return h->failures >= policy->failures ||", "return false &&"),
    "liar-never-quarantined": (
        "digestd/mesh/peer_health.c",
        "if (h->score < HEALTH_PATIENCE)", "if (h->score < 1e9)"),
    "follower-gives-up": (
        "digestd/mesh/fetch_schedule.c",
        "int64_t wait_ms = backoff_ms(",
        "int64_t wait_ms = f->failures > 2 ? 3600000 : backoff_ms("),
    "ledger-without-limit": (
        "digestd/store/ledger.c",
        """there > limit || bytes > limit - there ||
		    leave > limit - there - bytes""", "0"),
    "record-unchecked": (
        "digestd/disk/segment_record.c",
        """	    XXH3_64bits_withSeed(bytes + PREFIX_BYTES,
				 size - PREFIX_BYTES, seed) != sum)""",
        "	    !sum || !seed)"),
    "removals-unwritten": (
        "digestd/disk/disk_write.c",
        "	disk_write_remove(d, b->removals);\n",
        "	while (b->removals) {\n"
        "		struct disk_entry *next = b->removals->next;\n"
        "		disk_entry_free(b->removals);\n"
        "		b->removals = next;\n	}\n"
        "	(void)disk_write_remove;\n"),
    "block-unchecked": (
        "digestd/disk/disk_read.c",
        """	if (!err &&
	    disk_block_sum(file->id, block, to, len) != file->sums[block])
		err = -EBADMSG;""", ""),
    "reload-drops-a-peer": (
        "digestd/peers/peer_follower.c",
        "	f->npeers = npeers;",
        "	f->npeers = npeers > 1 ? npeers - 1 : npeers;"),
    "key-taken-by-reload": (
        "digestd/config/configuration.c",
        "	if (other) {\n		next->nkeys",
        "	if (0) {\n		next->nkeys"),
    "upload-not-resumed": (
        "digestd/proxy/fill_node.c",
        "fetch_resume_upload(d->f->fetch);", ";"),
    "age-lost": (
        "digestd/http/freshness.c",
        "spans.born_s = times->response_s - corrected_s;",
        "spans.born_s = times->response_s;"),
    "upload-window-stays-full": (
        "digestd/proxy/request_upload.c",
        "exchange_resume_body(r->x);", ";"),
    "takeover-from-elsewhere": (
        "digestd/node/node_fill.c",
        "f->cut = f->received;", "f->cut = f->received / 2;",
        "	if (!in->same)\n", "	if (0)\n"),
    "takeover-uncompared": (
        "digestd/node/node_fill.c", "	if (!in->same)\n", "	if (0)\n"),
    "store-overweight": (
        "digestd/store/store_room.c",
        "room->stats.weight + weight > room->stats.max_weight)",
        "room->stats.weight + weight > room->stats.max_weight + 5000)"),
}


def has_place(name, top):
    """Whether each piece of text that a fault changes stands in its file, once:
    one that does not would be planted nowhere, and nobody would notice."""
    path, *texts = FAULTS[name]
    source = (top / path).read_text()
    gone = [old for old in texts[::2] if source.count(old) != 1]
    for old in gone:
        print(f"# {name}: not once in {path}: {old!r}")
    return not gone


def plant(name, top, folder):
    """Compiles the source with the fault. Returns the object, or None."""
    path, *texts = FAULTS[name]
    source = (top / path).read_text()
    if not has_place(name, top):
        return None
    for old, new in zip(texts[::2], texts[1::2]):
        source = source.replace(old, new)
    changed = folder / f"{name}.c"
    changed.write_text(source)
    target = folder / f"{name}.o"
    build = os.environ["top_builddir"]
    command = [*shlex.split(os.environ.get("CC", "cc")),
               *shlex.split(os.environ.get("CFLAGS", "-O1 -g")),
               "-std=gnu11", "-w", "-DHAVE_CONFIG_H", f"-I{build}", f"-I{top}",
               "-c", str(changed), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print("# " + done.stderr.replace("\n", "\n# "))
        return None
    return target


def link(name, target, folder):
    """Links a world in which the object takes the place of the archive's."""
    program = folder / f"world-{name}"
    done = subprocess.run(
        ["make", "-s", "-C", os.environ["top_builddir"],
         "tests/world/planted", f"PLANTED_OBJECT={target}",
         f"PLANTED_PROGRAM={program}"], capture_output=True, text=True)
    if done.returncode:
        print("# " + (done.stdout + done.stderr).replace("\n", "\n# "))
        return None
    return program


def build(name, top, folder):
    """Makes a world with the fault. Returns its program, or None."""
    target = plant(name, top, folder)
    return target and link(name, target, folder)


def run(program, *options):
    """Returns the world's status, what it printed, and how to see that again:
    None, or the options."""
    done = subprocess.run([program, *options], capture_output=True, text=True)
    again = re.search(r"^# again: \S+ (.*)", done.stdout, re.M)
    return done.returncode, done.stdout, again and again[1].split()


def shrinks(top, folder):
    """Whether a world that fails becomes a small one, which fails again, with
    the same message each time."""
    program = build("cookie-shared", top, folder)
    if not program:
        return False
    _, text, least = run(program, "--worlds", "10", "--requests", "200",
                         "--shrink")
    print("# " + text.strip().replace("\n", "\n# "))
    if not least or "--only" not in least:
        return False
    first, second = (run(program, *least) for _ in range(2))
    return first[0] == 1 and first == second and \
        "somebody else's cookie" in first[1] and \
        least[least.index("--only") + 1].count(",") < 5


def is_found(name, top, folder):
    program = build(name, top, folder)
    if not program:
        return False
    seconds = SECONDS * int(os.environ.get("SCD_TEST_SLOW", 1))
    done = subprocess.run([program, "--worlds", "100000", "--requests", "2000"],
                          capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_CPU, (seconds, seconds)))
    if done.returncode == -signal.SIGKILL:
        print(f"# {name}: not found within {SECONDS} seconds")
        return False
    last = done.stdout.strip().rpartition("not ok")[2].split("\n")[0]
    print(f"# {name}: {done.stdout.count('ok ') - 1} worlds,{last}"
          if last else f"# {name}: status {done.returncode}")
    return done.returncode != 0


def main():
    # an exception, upon which a world that runs is ended
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    top = pathlib.Path(os.environ["top_srcdir"]).absolute()
    names = sys.argv[1:] or [n for n in FAULTS if n in SHORT or
                             os.environ.get("SCD_TEST_LONG")]
    print(f"1..{len(names) + 2}", flush=True)
    placed = all([has_place(name, top) for name in FAULTS])
    print(f"{'ok' if placed else 'not ok'} 1 - every fault has its place",
          flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(names, 2):
            found = is_found(name, top, pathlib.Path(folder))
            print(f"{'ok' if found else 'not ok'} {i} - {name} is found",
                  flush=True)
        small = shrinks(top, pathlib.Path(folder))
        print(f"{'ok' if small else 'not ok'} {len(names) + 2} - a world that "
              "fails becomes small", flush=True)


main()
