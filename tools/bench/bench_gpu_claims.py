"""Checks each claim against the figures of tools/bench/bench_gpu: true, false, or null if it could not be measured."""

import os

# The programs that test the device of MOCHI_DEVICE; the suite cuda-host runs them on the emulated device too.
with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tests", "cuda_host", "programs.txt")) as listed:
    PROGRAMS = tuple(name if name == "golden" else "test_" + name for name in listed.read().split())
SMALL = ("nc15", "lp")  # up to 1,000 rows
LARGE = ("nc64", "gc_enzymes", "gc_dd")
PEERS = ("eager", "graph", "compile")
RATE_SHARE = {"fp32": 0.75, "tf32": 0.45, "bf16": 0.30}


def verdict(parts):
    """False if a part is false; else null if a part was not measured or there are no parts; else true."""
    return False if False in parts else None if not parts or None in parts else True


def milliseconds(row):
    return row.get("min_ms") if row else None


def fastest(row):
    """The faster of our direct and replayed steps; null if the step failed."""
    ours, replayed = milliseconds(row.get("ours")), milliseconds(row.get("ours_replayed"))
    return min(ours, replayed or ours) if ours else None


def all_known(condition, *values):
    return None if None in values else condition(*values)


def step_claims(found):
    small, share, large, memory = [], [], [], []
    steps = found.get("step", {})
    for case, math in ((case, math) for case in SMALL + LARGE for math in RATE_SHARE):
        row = steps.get((case, math), {})
        ours, rate = fastest(row), found.get("rate", {}).get(math)
        others = {k: v for k, v in row.items() if v and k in PEERS}
        theirs = min((t for t in map(milliseconds, others.values()) if t), default=None)
        if case in SMALL:
            small.append(all_known(lambda o: math == "fp32" or o <= 0.35, ours))
            small.append(all_known(lambda o, e: e >= 3 * o, ours, milliseconds(row.get("eager"))))
        else:
            large.append(all_known(lambda o, t: t >= 1.3 * o, ours, theirs))
            share.append(all_known(lambda o, r: row["ours"]["gflop"] / o * 1e3 >= RATE_SHARE[math] * r, ours, rate))
        peak = min((v["cuda_peak_mb"] for v in others.values() if v.get("cuda_peak_mb")), default=None)
        mib = row["ours"].get("peak_mb", 0) * 1e6 / 2**20 if row.get("ours") else None  # PyTorch reports MiB
        memory.append(all_known(lambda o, p: o <= 0.6 * p, mib, peak))
    bits = [all_known(lambda b: b == "repeat", (row.get("ours") or {}).get("bits")) for row in steps.values()]
    return {"1 bits of a step": verdict(bits), "2 small": verdict(small), "2 large": verdict(large), "2 share of the rate": verdict(share),
            "5 memory": verdict(memory)}


def solve_claim(found):
    """Whether we are at least as fast as PyTorch in every case, and twice as fast in one."""
    rows, peer = found.get("solve", ([], []))
    theirs, ratios = {row.get("case"): row for row in peer}, []
    for row in rows:
        other = theirs.get(row.get("case"), {})
        if row.get("variant") in ("solve+adjoint", "solve_spd+adjoint"):
            their = other.get(row["variant"].split("+")[0])
            ratios += [their / row["med_ms"]] if their else []
    return {"least": min(ratios), "most": max(ratios), "met": min(ratios) >= 1 and max(ratios) >= 2} if ratios else None


def train_claims(found):
    """The seconds of 10,000 steps, and whether weights are equal for all places of the features, with and without
    replay."""
    runs = found.get("train", {})

    def same(a, b):
        return verdict([runs[a]["weights"] == runs[b]["weights"]] if a in runs and b in runs and runs[a]["weights"] and runs[b]["weights"] else [])

    limits = {"one": 15, "three": 40}
    return {"3 training": verdict([all_known(lambda ms: 10 * ms <= limits[r], runs.get(r, {}).get("ms")) for r in limits]),
            "3 a second run has the weights": same("taken", "again"), "3 replay has the weights": same("taken", "replayed"), "3 disk has the weights of host": same("host", "disk")}


def claims(found):
    return {"1 suite": found.get("suite"), "1 brief suite": found.get("brief"), "1 memory": found.get("memcheck"),
            "1 sanitizer": found.get("sanitize"), **step_claims(found),
            "4 solves": solve_claim(found), **train_claims(found)}
