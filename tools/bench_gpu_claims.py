"""What the figures of tools/bench_gpu say of each claim: true, false, or null where it could not be measured."""

import os

# The programs that run on the device of MOCHI_DEVICE: the emulated device runs the same (suite cuda-host).
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "cuda_host", "programs.txt")) as listed:
    PROGRAMS = tuple(name if name == "golden" else "test_" + name for name in listed.read().split())
SMALL = ("nc15", "lp")  # up to 1,000 rows
LARGE = ("nc64", "gc_enzymes", "gc_dd")
RATE_SHARE = {"fp32": 0.75, "tf32": 0.45, "bf16": 0.30}


def verdict(parts):
    return all(parts) if parts else None


def milliseconds(row):
    return row.get("min_ms") if row else None


def step_claims(found):
    small, share, large, memory = [], [], [], []
    for (case, math), row in found.get("step", {}).items():
        ours = milliseconds(row["ours"])
        if milliseconds(row.get("ours_replayed")):
            ours = min(ours or row["ours_replayed"]["min_ms"], row["ours_replayed"]["min_ms"])
        theirs = [t for t in map(milliseconds, (v for k, v in row.items() if not k.startswith("ours"))) if t]
        rate = found.get("rate", {}).get(math)
        if ours and case in SMALL:
            eager = milliseconds(row.get("eager"))
            small.append((math == "fp32" or ours <= 0.35) and (not eager or eager >= 3 * ours))
        if ours and case in LARGE and theirs:
            large.append(min(theirs) >= 1.3 * ours)
        if ours and case in LARGE and rate and row["ours"]:
            share.append(row["ours"]["gflop"] / ours * 1e3 >= RATE_SHARE[math] * rate)
        peaks = [v["cuda_peak_mb"] for v in row.values() if v and v.get("cuda_peak_mb")]
        if row["ours"] and peaks:
            memory.append(row["ours"]["peak_mb"] <= 0.6 * min(peaks))
    return {"2 small": verdict(small), "2 large": verdict(large), "2 share of the rate": verdict(share),
            "5 memory": verdict(memory)}


def solve_claim(found):
    """At least as fast as PyTorch everywhere, twice as fast somewhere."""
    rows, peer = found.get("solve", ([], []))
    theirs, ratios = {row.get("case"): row for row in peer}, []
    for row in rows:
        other = theirs.get(row.get("case"), {})
        if row.get("variant") in ("solve+adjoint", "solve_spd+adjoint"):
            their = other.get(row["variant"].split("+")[0])
            ratios += [their / row["med_ms"]] if their else []
    return {"least": min(ratios), "most": max(ratios), "met": min(ratios) >= 1 and max(ratios) >= 2} if ratios else None


def train_claims(found):
    """Seconds of 10,000 steps; and that neither where features are kept nor a replay changes the weights."""
    runs = found.get("train", {})

    def same(a, b):
        return verdict([runs[a]["weights"] == runs[b]["weights"]] if a in runs and b in runs and runs[a]["weights"] and runs[b]["weights"] else [])

    limits = {"one": 15, "three": 40}
    return {"3 training": verdict([10 * runs[r]["ms"] <= limits[r] for r in limits if r in runs and runs[r]["ms"]]),
            "3 replay has the weights": same("taken", "replayed"), "3 disk has the weights of host": same("host", "disk")}


def claims(found):
    return {"1 suite": found.get("suite"), "1 sanitizer": found.get("sanitize"), **step_claims(found),
            "4 solves": solve_claim(found), **train_claims(found)}
