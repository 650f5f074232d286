#!/usr/bin/env python3
"""Times training on a hop stack that is a file, in a memory cgroup of at most a third of its size, and
training with the stack in memory.

    tests/out_of_core.py                                     # 300,000 nodes, d = 512: 2.5 GB in 782 MiB
    tests/out_of_core.py --nodes 400000 --dim 256 --k 8 --q 16

Draws a graph of a mean degree of 4 and 10 classes, and trains paper++ on its nodes: with `--features host`, with `--features
disk`, and with that in the cgroup, in turn; the file is out of the page cache when a run begins. The cgroup counts the
process's memory and the pages of the file that the system keeps for it, and has no swap. Per run: steps per second
after the first steps, the most that the cgroup held, and what was read from the disk per step. The weights of all runs
must be the same bits.

The cgroup is made below this process's own, or below a group nearer to the root, of version 2 or 1; or in the folder
--cgroup. Exit status: 77 where none can be made, with a line that says why; 1 where weights differ, a run fails, or the
ratio of the medians is less than --least."""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent

SKIPPED = 77
CLASSES = 10
FIRST = 3  # first steps that the times leave out
MIB = 1 << 20
ENTER = 'echo $$ > "$0" && exec "$@"'  # a shell joins the group, then executes the program
SIDES = {"in memory": ("host", False), "on disk": ("disk", False), "on disk, limited": ("disk", True)}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


# ---- the group ----

def mounts():
    """Lists the mounted cgroup hierarchies that can count memory: (version, folder)."""
    for line in open("/proc/self/mounts"):
        _, folder, kind, options = line.split()[:4]
        if kind == "cgroup2":
            yield 2, pathlib.Path(folder)
        elif kind == "cgroup" and "memory" in options.split(","):
            yield 1, pathlib.Path(folder)


def own_group(version):
    """Returns the path of this process's group in a hierarchy."""
    for line in open("/proc/self/cgroup"):
        _, controllers, path = line.rstrip("\n").split(":", 2)
        if (controllers == "") if version == 2 else ("memory" in controllers.split(",")):
            return path.strip("/")
    return ""


def parents():
    for version, folder in mounts():
        at = folder / own_group(version)
        while at != folder and folder in at.parents:
            yield at
            at = at.parent
        yield folder


class Group:
    """A memory cgroup for one run."""

    def __init__(self, parent, limit):
        self.folder = parent / f"mochi-{os.getpid()}"
        self.folder.mkdir()
        try:
            self.second = (self.folder / "memory.max").exists()
            if not self.second and not (self.folder / "memory.limit_in_bytes").exists():
                raise OSError(f"{parent} counts no memory")
            self.put("memory.max" if self.second else "memory.limit_in_bytes", limit)
            for swap, most in {"memory.swap.max": 0, "memory.memsw.limit_in_bytes": limit}.items():
                if (self.folder / swap).exists():
                    self.put(swap, most)
        except OSError:
            self.folder.rmdir()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for _ in range(50):
            try:
                return self.folder.rmdir()
            except OSError:  # the last process has not ended yet
                time.sleep(0.1)
        return print(f"out_of_core: {self.folder} stays behind")

    def put(self, name, value):
        (self.folder / name).write_text(str(value))

    def line(self, words):
        return ["/bin/sh", "-c", ENTER, self.folder / "cgroup.procs", *words]

    def peak(self):
        """Returns the most memory that the group held, in bytes; None on systems that do not say."""
        with contextlib.suppress(OSError):
            return int((self.folder / ("memory.peak" if self.second else "memory.max_usage_in_bytes")).read_text())
        return None


def choose_parent(a):
    reasons = []
    for parent in [a.cgroup] if a.cgroup else parents():
        try:
            with Group(parent, a.limit) as group:
                run = subprocess.run([str(w) for w in group.line(["true"])], capture_output=True, text=True, check=False)
            if run.returncode == 0:
                return parent
            reasons.append(f"{parent}: {run.stderr.strip()}")
        except OSError as error:
            reasons.append(str(error))
    return skip("no memory cgroup can be made: " + (reasons[0] if reasons else "none is mounted"))


# ---- runs ----

def draw(a, folder):
    r, n = random.Random(1), a.nodes
    folder.mkdir()
    (folder / "edges.txt").write_text("".join(f"{i} {(i + 1) % n}\n{i} {r.randrange(n)}\n" for i in range(n)))
    (folder / "labels.txt").write_text("".join(f"{i % CLASSES}\n" for i in range(n)))


def words(a, place, out, where, steps):
    line = [a.build / "tools" / "mochi", "train", "--out", out, "--recipe", "paper++", "--dim", a.dim, "--hops", a.hops,
            "--pool", f"{place / 'graph'}:nc", "--features", where, "--cache", a.cache, "--steps", steps,
            "--checkpoint-every", "0", "--quiet"]
    for name in ("k", "q", "threads"):
        line += [f"--{name}", getattr(a, name)] if getattr(a, name) else []
    return [str(word) for word in line]


def forget(folder):
    """Drops the files of a folder from the page cache."""
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def watch(run, log, read):
    """Records, while the run takes its steps, how much it had read from the disk after each."""
    with contextlib.suppress(OSError):
        while run.returncode is None and not (log.parent / "weights.safetensors").exists():
            steps = log.read_bytes().count(b"\n") if log.exists() else 0
            if steps >= FIRST and steps not in read:
                counts = dict(line.split(": ") for line in open(f"/proc/{run.pid}/io").read().splitlines())
                read[steps] = int(counts["read_bytes"])
            time.sleep(0.005)


def timed(a, place, side, group):
    """Runs the program once: steps per second, the most memory of the group, bytes read per step, a digest of the
    weights."""
    out, read = place / "run", {}
    shutil.rmtree(out, ignore_errors=True)
    if a.cache.exists():
        forget(a.cache)
    line = words(a, place, out, SIDES[side][0], a.steps)
    run = subprocess.Popen([str(w) for w in (group.line(line) if group else line)])
    watcher = threading.Thread(target=watch, args=(run, out / "log.jsonl", read))
    watcher.start()
    run.wait()
    watcher.join()
    if run.returncode:
        sys.exit(f"out_of_core: {side}: the run ended with {run.returncode}" +
                 (", more than its group may hold" if run.returncode == -9 else ""))
    seconds = [json.loads(line)["seconds"] for line in open(out / "log.jsonl")][FIRST:]
    return {"rate": len(seconds) / sum(seconds), "peak": group.peak() if group else None,
            "read": (max(read.values()) - min(read.values())) / (max(read) - min(read)) if len(read) > 1 else None,
            "weights": hashlib.sha256((out / "weights.safetensors").read_bytes()).hexdigest()[:16]}


def timed_side(a, place, side, parent):
    if not SIDES[side][1]:
        return timed(a, place, side, None)
    with Group(parent, a.limit) as group:
        return timed(a, place, side, group)


def show(side, found):
    mib = {key: "-" if found[key] is None else f"{found[key] / MIB:.1f}" for key in ("peak", "read")}
    print(f"{side:<18}{found['rate']:>12.2f}{mib['peak']:>12}{mib['read']:>20}  {found['weights']}", flush=True)


def compare(a, place, parent):
    every = {side: [] for side in SIDES}
    print(f"paper++, d = {a.dim}, {a.hops} hops, {a.nodes} nodes: a stack of {a.stack / MIB:.0f} MiB, a limit of "
          f"{a.limit / MIB:.0f} MiB; {a.steps - FIRST} steps, {a.rounds} rounds\n"
          f"{'stack':<18}{'steps / s':>12}{'peak, MiB':>12}{'read / step, MiB':>20}  weights", flush=True)
    for _ in range(a.rounds):
        for side in SIDES:
            found = timed_side(a, place, side, parent)
            every[side].append(found)
            show(side, found)
    median = {side: statistics.median(found["rate"] for found in every[side]) for side in SIDES}
    ratio = median["on disk, limited"] / median["in memory"]
    same = len({found["weights"] for side in every.values() for found in side}) == 1
    print("medians: " + ", ".join(f"{side} {rate:.2f}" for side, rate in median.items()) + f" steps / s; limited {ratio:.2f} "
          f"of in memory; weights {'equal' if same else 'DIFFER'}")
    return 0 if same and ratio >= a.least else 1


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build", metavar="BUILD")
    p.add_argument("--nodes", type=int, default=300000)
    p.add_argument("--dim", type=int, default=512)
    p.add_argument("--hops", type=int, default=3)
    p.add_argument("--limit", type=int, metavar="MIB", help="of the cgroup; a third of the stack")
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--k")
    p.add_argument("--q")
    p.add_argument("--threads")
    p.add_argument("--least", type=float, default=0.6, help="the ratio below which the exit status is 1 (0.6)")
    p.add_argument("--cgroup", type=pathlib.Path, metavar="DIR", help="make the group there")
    p.add_argument("--scratch", metavar="DIR", help="a folder on a disk, for the graph, the stack and the runs")
    p.add_argument("--cache", type=pathlib.Path, metavar="DIR", help="of features, kept for the next time")
    a = p.parse_args()
    a.build = a.build.resolve()
    a.stack = (a.hops + 1) * a.nodes * a.dim * 4
    a.limit = a.limit * MIB if a.limit else a.stack // 3
    if a.steps <= FIRST or 3 * a.limit > a.stack:
        p.error(f"expected more than {FIRST} steps, and a limit of at most {a.stack / 3 / MIB:.0f} MiB")
    return a


def main():
    a = arguments()
    parent = choose_parent(a)
    with tempfile.TemporaryDirectory(prefix="mochi-out-of-core-", dir=a.scratch) as folder, \
            contextlib.suppress(KeyboardInterrupt):
        place = pathlib.Path(folder)
        a.cache = a.cache or place / "cache"
        draw(a, place / "graph")
        return compare(a, place, parent)  # the first run of each place has no limit, and computes the features


sys.exit(main())
